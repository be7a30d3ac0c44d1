"use strict";
// The data holds every text once (packing.py); this makes nodes and edges of it.
function unpack(data) {
  const { keys, pool, base, edgeKinds, nodes, edges } = data.packed;
  const guards = new Map();
  const guardsOf = (number) => {
    if (!guards.has(number)) {
      guards.set(number, pool[number].map((each) => ({ holds: pool[each][0] === 1, text: pool[each][1] })));
    }
    return guards.get(number);
  };
  data.nodes = nodes.map((parts) => {
    const node = {};
    keys.forEach((key, index) => {
      const number = parts[index + 1];
      if (number) node[key] = key === "guards" ? guardsOf(number) : pool[number];
    });
    node.id = (node.kind === "rule" ? "rule:" + node.file + ":" + node.line + ":" : node.kind + ":") + pool[parts[0]];
    if (node.url === 1) node.url = base + node.file + "#L" + node.line;
    if (node.short === 1) {
      node.short = node.rule === "raise" || node.rule === "log" ? node.label : node.label + "\n" + node.file.split("/").pop() + ":" + node.line;
    }
    return node;
  });
  data.edges = [];
  for (let at = 0; at < edges.length; at += 3) {
    data.edges.push({ source: data.nodes[edges[at]].id, target: data.nodes[edges[at + 1]].id, kind: edgeKinds[edges[at + 2]] });
  }
  delete data.packed;
  return data;
}
(function () {
  const data = unpack(JSON.parse(document.getElementById("data").textContent));
  const nodes = new Map(data.nodes.map((node) => [node.id, node]));
  const into = new Map(), outOf = new Map();
  for (const node of data.nodes) { into.set(node.id, []); outOf.set(node.id, []); }
  for (const edge of data.edges) {
    outOf.get(edge.source).push(edge);
    into.get(edge.target).push(edge);
  }
  const SOURCES = ["field", "flag", "probe", "env", "model"];
  const KINDS = {
    write: "writes", default: "defaults", raise: "errors", log: "log lines", flag: "flags",
    field: "fields", probe: "hardware", env: "environment", model: "model facts",
    overwrites: "overwrites",
  };
  const OFF = new Set(["raise", "log", "overwrites"]);
  const COLOURS = {
    decided: ["#b7e4c7", "gave the final value"], fired: ["#e4f5ea", "fired"],
    failed: ["#f5b5b5", "stopped the start"], given: ["#cfe2ff", "flag of the launch"],
    "not-fired": ["#f1f1f1", "did not fire"], "not-reached": ["#fafafa", "not reached"],
    "not-seen": ["#fff3cd", "may fire"], dead: ["#d9d9d9", "cannot fire on this machine"],
  };
  const SHAPES = {
    field: "round-rectangle", flag: "tag", probe: "hexagon", env: "barrel", model: "cut-rectangle",
    rule: "rectangle", function: "round-rectangle", stage: "round-rectangle",
  };
  const FILLS = {
    field: "#dbe9ff", flag: "#ffffff", probe: "#ffe2c7", env: "#ece3fb", model: "#fdf0c2",
    rule: "#ffffff", stage: "#eef1f5",
  };
  const state = {
    focus: data.focus.slice(), direction: "in", fold: data.fold, probe: "",
    kinds: new Set(Object.keys(KINDS).filter((kind) => !OFF.has(kind))), open: new Set(),
  };
  const byId = (id) => document.getElementById(id);
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const isRule = (id) => nodes.get(id).kind === "rule";
  const probesOf = new Map();
  for (const node of data.nodes) {
    if (node.kind === "rule") {
      const asked = into.get(node.id).map((e) => nodes.get(e.source)).filter((n) => n.kind === "probe");
      probesOf.set(node.id, new Set(asked.map((n) => n.label)));
    }
  }

  function el(tag, text, attributes) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    return made;
  }
  function place(node) {
    const text = node.file ? node.file + ":" + node.line : "";
    if (node.url && node.url.startsWith("https://")) {
      return el("a", text, { href: node.url, target: "_blank", rel: "noopener noreferrer", class: "code" });
    }
    return el("span", text, { class: "code" });
  }
  const guardText = (guard) => (guard.holds ? guard.text : "not (" + guard.text + ")");
  const ruleKind = (node) => (node.rule === "declare" || node.rule === "env" ? "write" : node.rule);

  // -- what is shown ----------------------------------------------------------------
  function rulesShown() {
    const found = new Set();
    if (!state.focus.length) {
      for (const node of data.nodes) if (node.kind === "rule" && node.rule !== "default") found.add(node.id);
    }
    for (const id of state.focus) {
      if (state.direction !== "out" || !SOURCES.includes(nodes.get(id).kind)) {
        for (const edge of into.get(id)) if (isRule(edge.source)) found.add(edge.source);
      }
      if (state.direction !== "in" || nodes.get(id).kind !== "field") {
        for (const edge of outOf.get(id)) {
          if (isRule(edge.target)) found.add(edge.target);
          else if (edge.kind === "sets") for (const next of into.get(edge.target)) if (isRule(next.source)) found.add(next.source);
        }
      }
    }
    for (const id of data.always) found.add(id);
    return [...found].filter((id) => {
      const node = nodes.get(id);
      return state.kinds.has(ruleKind(node)) || (node.colour && node.colour.name === "failed");
    }).filter((id) => !state.probe || probesOf.get(id).has(state.probe))
      .sort((a, b) => nodes.get(a).order - nodes.get(b).order || compare(a, b));
  }
  function stageOf(id) {
    const node = nodes.get(id);
    if (node.kind !== "rule" || state.fold === "none" || node.rule === "default") return id;
    const stage = state.fold === "file" ? "stage:" + node.file : "stage:" + node.file + ":" + node.function;
    return state.open.has(stage) ? id : stage;
  }
  function elements() {
    const rules = rulesShown(), shown = new Set(rules), made = new Map(), edges = new Map();
    const overview = !state.focus.length;
    if (!overview) {
      for (const id of state.focus) shown.add(id);
      for (const rule of rules) {
        for (const edge of into.get(rule)) if (state.kinds.has(nodes.get(edge.source).kind)) shown.add(edge.source);
        if (state.direction !== "in") for (const edge of outOf.get(rule)) if (edge.kind === "writes") shown.add(edge.target);
      }
      for (const id of state.focus) {
        for (const edge of into.get(id)) if (edge.kind === "sets" && state.kinds.has("flag")) shown.add(edge.source);
        for (const edge of outOf.get(id)) if (edge.kind === "sets") shown.add(edge.target);
      }
    }
    for (const id of [...shown].sort(compare)) {
      const stage = stageOf(id);
      if (!made.has(stage)) made.set(stage, []);
      made.get(stage).push(id);
    }
    const add = (source, target, kind) => {
      if (source === target || !made.has(source) || !made.has(target)) return;
      const key = source + "\n" + target + "\n" + kind;
      if (!edges.has(key)) edges.set(key, { id: key, source, target, kind });
    };
    if (overview) {
      for (const call of data.stageCalls) {
        const [a, b] = [call[0], call[1]].map((name) => "stage:" + (state.fold === "file" ? name.split("\n")[0] : name.replace("\n", ":")));
        add(a, b, "calls");
      }
    } else {
      for (const edge of data.edges) {
        if (!shown.has(edge.source) || !shown.has(edge.target)) continue;
        if (edge.kind === "overwrites" && !state.kinds.has("overwrites")) continue;
        add(stageOf(edge.source), stageOf(edge.target), edge.kind);
      }
    }
    return { rules, made, edges: [...edges.values()] };
  }
  function stageData(stage, members) {
    if (!stage.startsWith("stage:")) {
      const node = nodes.get(stage), found = node.colour;
      const alone = state.focus.length === 1 && state.focus[0] === "field:" + node.field;
      const label = node.kind !== "rule" ? node.label : alone && node.value ? cut(node.value) + "\n" + node.short.split("\n").pop() : node.short;
      const fill = found && COLOURS[found.name] && found.name !== "given" && node.kind === "rule" ? COLOURS[found.name][0]
        : found && found.name === "given" ? COLOURS.given[0] : FILLS[node.kind];
      const answer = node.kind === "field" && found ? "\n= " + found.text : "";
      return { id: stage, label: label + answer, kind: node.kind, fill, shape: SHAPES[node.kind], focus: state.focus.includes(stage) ? 1 : 0 };
    }
    const colours = members.map((id) => (nodes.get(id).colour || {}).name);
    const best = ["failed", "decided", "fired", "not-seen"].find((name) => colours.includes(name));
    const first = nodes.get(members[0]);
    const name = state.fold === "file" ? first.file.split("/").slice(-2).join("/") : first.function.split(".").pop() || first.file.split("/").pop();
    const count = members.length === 1 ? "1 rule" : members.length + " rules";
    return { id: stage, label: name + "\n" + count, kind: "stage", fill: best ? COLOURS[best][0] : FILLS.stage, shape: SHAPES.stage, focus: 0 };
  }

  // -- drawing ----------------------------------------------------------------------
  const cy = cytoscape({
    container: byId("cy"), minZoom: 0.05, maxZoom: 3, boxSelectionEnabled: false,
    style: [
      { selector: "node", style: {
        label: "data(label)", shape: "data(shape)", "background-color": "data(fill)", "border-width": 1, "border-color": "#6b7480",
        "font-size": 12, "font-family": "system-ui, sans-serif", color: "#1b1f24", "text-wrap": "wrap", "text-max-width": 230,
        "text-valign": "center", "text-halign": "center", width: (n) => Math.min(250, 24 + 7 * longest(n.data("label"))),
        height: (n) => 14 + 16 * lines(n.data("label")), padding: 2 } },
      { selector: "node[focus = 1]", style: { "border-width": 3, "border-color": "#0b57d0", "font-weight": 600 } },
      { selector: "edge", style: { width: 1.2, "line-color": "#9aa4b1", "target-arrow-color": "#9aa4b1", "target-arrow-shape": "triangle", "curve-style": "bezier", "arrow-scale": 0.8 } },
      { selector: 'edge[kind = "guards"]', style: { "line-style": "dashed" } },
      { selector: 'edge[kind = "writes"], edge[kind = "sets"]', style: { width: 2, "line-color": "#4d5b6b", "target-arrow-color": "#4d5b6b" } },
      { selector: 'edge[kind = "overwrites"]', style: { "line-style": "dotted", "line-color": "#b3261e", "target-arrow-color": "#b3261e" } },
      { selector: ".dim", style: { opacity: 0.13 } },
      { selector: "node.path", style: { "border-width": 3, "border-color": "#c2410c" } },
      { selector: "edge.path", style: { width: 3, "line-color": "#c2410c", "target-arrow-color": "#c2410c" } },
      { selector: "node:selected", style: { "border-width": 3, "border-color": "#c2410c" } },
    ],
  });
  const cut = (text) => (text.length > 66 ? text.slice(0, 65) + "…" : text);
  const lines = (text) => text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 33)), 0);
  const longest = (text) => Math.max(...text.split("\n").map((line) => Math.min(line.length, 33)));

  function draw() {
    const { rules, made, edges } = elements();
    cy.elements().remove();
    cy.add([...made].map(([stage, members]) => ({ data: stageData(stage, members) })));
    cy.add(edges.map((edge) => ({ data: edge })));
    for (const [stage, members] of made) cy.getElementById(stage).scratch("members", members);
    if (state.focus.length) columns(); else grid();
    frame();
    list(rules);
    side();
    const count = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
    byId("note").textContent = count(cy.nodes().length, "node") + ", " + count(cy.edges().length, "edge") + ", " + count(rules.length, "rule")
      + ". Click: what it is, and its path. Double-click: open a folded stage, or go to a field.";
  }
  const READABLE = 0.8;
  // What a rule reads of the field that it writes would bend the columns; it is drawn, but not laid out.
  function columns() {
    const back = cy.edges().filter((edge) => edge.source().data("focus") === 1 && edge.target().outgoers("edge").targets().contains(edge.source()));
    cy.elements().not(back).layout({ name: "dagre", rankDir: "LR", nodeSep: 12, rankSep: 70, edgeSep: 4, animate: false, fit: false }).run();
  }
  // The overview: stages in the order in which they run, row by row.
  function grid() {
    const order = (node) => Math.min(...node.scratch("members").map((id) => nodes.get(id).order));
    const sorted = cy.nodes().toArray().sort((a, b) => order(a) - order(b) || compare(a.id(), b.id()));
    const across = Math.max(1, Math.floor(cy.width() / READABLE / 275));
    sorted.forEach((node, index) => {
      node.data("label", (index + 1) + "  " + node.data("label"));
      node.position({ x: (index % across) * 275, y: Math.floor(index / across) * 74 });
    });
  }
  function frame() {
    cy.fit(undefined, 24);
    if (cy.zoom() > 1.1) { cy.zoom(1.1); cy.center(); }
    if (cy.zoom() >= READABLE) return;
    cy.zoom(READABLE);
    const heart = cy.nodes("[focus = 1]");
    const box = cy.elements().boundingBox();
    if (heart.length) {
      cy.center(heart);
      const spare = cy.width() - 24 - heart.renderedBoundingBox().x2;
      if (state.direction === "in" && box.w * READABLE > cy.width()) cy.panBy({ x: spare, y: 0 });
      else if (box.w * READABLE <= cy.width()) cy.panBy({ x: cy.width() / 2 - (box.x1 + box.x2) / 2 * READABLE - cy.pan().x, y: 0 });
    } else cy.pan({ x: 24 - box.x1 * READABLE, y: 56 - box.y1 * READABLE });
  }
  function showPath(id) {
    clearPath();
    const node = cy.getElementById(id);
    if (!node.length) return;
    const goals = cy.nodes("[focus = 1]");
    let path = node.union(node.predecessors());
    if (goals.length && !goals.same(node)) {
      const way = node.successors().intersection(goals.union(goals.predecessors()));
      const back = node.predecessors().intersection(goals.union(goals.successors()));
      if (way.length || back.length) path = node.union(way).union(back);
    }
    cy.elements().addClass("dim");
    path.removeClass("dim").addClass("path");
  }
  function clearPath() { cy.elements().removeClass("dim path"); }

  // -- the panels ---------------------------------------------------------------------
  function go(id) {
    state.focus = [id]; state.open.clear();
    const node = nodes.get(id);
    state.direction = node.kind === "field" ? "in" : "out";
    const count = (node.kind === "field" ? into : outOf).get(id).length;
    state.fold = count > 40 ? "function" : "none";
    sync(); draw(); details(id);
    history.replaceState(null, "", "#" + encodeURIComponent(id));
  }
  function link(id, text) {
    const button = el("button", text, { type: "button", class: "to" });
    button.addEventListener("click", () => {
      const node = nodes.get(id);
      if (node.kind === "rule") { details(id); showPath(stageOf(id)); } else go(id);
    });
    return button;
  }
  function items(target, title, ids, text, ordered) {
    if (!ids.length) return;
    target.append(el("h2", title));
    const made = el(ordered ? "ol" : "ul");
    for (const id of ids) { const item = el("li"); item.append(link(id, text(nodes.get(id)))); made.append(item); }
    target.append(made);
  }
  function details(id, members) {
    const box = byId("details");
    box.replaceChildren();
    if (!id) {
      box.append(el("h2", data.title));
      box.append(el("p", "Search a field on the left, or click a node. The table below the graph lists the same rules in the order in which SGLang runs them."));
      for (const line of data.notes) box.append(el("p", line, { class: "soft" }));
      return;
    }
    if (members) {
      box.append(el("h2", id.slice("stage:".length)));
      const buttons = el("div", null, { class: "bar-buttons" });
      const open = el("button", "Open", { type: "button", id: "open-stage" });
      open.addEventListener("click", () => { state.open.add(id); draw(); });
      buttons.append(open); box.append(buttons);
      items(box, members.length + " rules", members, (n) => n.line + " " + n.label, false);
      return;
    }
    const node = nodes.get(id);
    box.append(el("h2", node.label));
    const row = (name, value) => {
      if (value === undefined || value === null || value === "") return;
      const line = el("div", null, { class: "row" });
      line.append(el("span", name + " ", { class: "soft" }), value instanceof Node ? value : el("span", String(value), { class: "code" }));
      box.append(line);
    };
    row("kind", node.kind === "rule" ? node.rule + (node.form ? " (" + node.form + ")" : "") : node.kind);
    if (node.file) row("where", place(node));
    if (node.kind === "rule") {
      row("in", node.function);
      row("value", node.value);
      if (node.colour) {
        row("this launch", el("span", COLOURS[node.colour.name][1], { class: node.colour.name }));
        row("when", node.colour.when);
        row("held back by", node.colour.blocked_by);
      }
      if (node.guards.length) {
        box.append(el("h2", "Conditions"));
        const list = el("ol");
        for (const guard of node.guards) list.append(el("li", guardText(guard), { class: "code" }));
        box.append(list);
      }
      items(box, "Depends on", into.get(id).filter((e) => e.kind !== "holds" && e.kind !== "overwrites").map((e) => e.source)
        .filter((v, i, all) => all.indexOf(v) === i), (n) => n.label, false);
      items(box, "Can replace", outOf.get(id).filter((e) => e.kind === "overwrites").map((e) => e.target), (n) => n.short, false);
    } else {
      row("default", node.default);
      if (node.colour && node.colour.text !== undefined) row("this launch", node.colour.text);
      const buttons = el("div", null, { class: "bar-buttons" });
      const show = el("button", "Show alone", { type: "button" });
      show.addEventListener("click", () => go(id));
      const path = el("button", "Highlight path", { type: "button", id: "highlight" });
      path.addEventListener("click", () => showPath(id));
      buttons.append(show, path); box.append(buttons);
      items(box, "Flags", into.get(id).filter((e) => e.kind === "sets").map((e) => e.source), (n) => n.label, false);
      items(box, "Set by", into.get(id).filter((e) => e.kind === "writes").map((e) => e.source)
        .sort((a, b) => nodes.get(a).order - nodes.get(b).order), (n) => n.short, true);
      items(box, "Decides", outOf.get(id).map((e) => e.target).filter((v, i, all) => all.indexOf(v) === i)
        .filter((n) => nodes.get(n).kind !== "function"), (n) => n.short || n.label, false);
    }
  }
  function side() {
    const box = byId("focus");
    box.replaceChildren();
    for (const id of state.focus) {
      const chip = el("button", nodes.get(id).label, { type: "button", class: "chip", title: "remove" });
      chip.append(el("span", "×"));
      chip.addEventListener("click", () => { state.focus = state.focus.filter((f) => f !== id); if (!state.focus.length) state.fold = data.overview; sync(); draw(); });
      box.append(chip);
    }
    if (!state.focus.length) box.append(el("p", "Overview: the stages of the whole resolution.", { class: "soft" }));
    else {
      const all = el("button", "Overview", { type: "button", id: "overview" });
      all.addEventListener("click", () => { state.focus = []; state.fold = data.overview; state.open.clear(); sync(); draw(); details(null); });
      box.append(all);
    }
  }
  function list(rules) {
    const body = byId("rules");
    body.replaceChildren();
    const names = state.focus.map((id) => nodes.get(id).label).join(", ");
    byId("list-title").textContent = names ? "Rules around " + names + ", in order" : "Rules, in order";
    for (const [index, id] of rules.slice(0, 400).entries()) {
      const node = nodes.get(id), row = el("tr");
      const status = node.colour ? node.colour.name : "";
      const where = el("td"); where.append(place(node), el("div", node.function, { class: "soft code" }));
      const conditions = el("td", null, { class: "conditions" });
      for (const guard of node.guards) conditions.append(el("div", guardText(guard), { class: "code" }));
      const name = el("td"); name.append(link(id, (node.field || node.target || "") + " (" + node.rule + ")"));
      if (status) name.append(el("div", COLOURS[status][1], { class: status }));
      row.append(el("td", String(index + 1), { class: "nowrap" }), name, el("td", node.value || "", { class: "code" }), conditions, where);
      body.append(row);
    }
    if (rules.length > 400) {
      const row = el("tr"); row.append(el("td", "… and " + (rules.length - 400) + " more: choose a field", { colspan: "5" })); body.append(row);
    }
  }
  function sync() {
    byId("direction").value = state.direction; byId("fold").value = state.fold; byId("probe").value = state.probe;
  }
  function search(text) {
    const box = byId("results");
    box.replaceChildren();
    const words = text.trim().toLowerCase().replace(/-/g, "_").split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = data.nodes.filter((n) => SOURCES.includes(n.kind))
      .map((n) => [n, n.label.toLowerCase().replace(/-/g, "_")])
      .filter(([, label]) => words.every((word) => label.includes(word)))
      .sort(([a, x], [b, y]) => (x === words[0] ? 0 : 1) - (y === words[0] ? 0 : 1) || (a.kind === "field" ? 0 : 1) - (b.kind === "field" ? 0 : 1) || x.length - y.length || compare(a.id, b.id));
    for (const [node] of found.slice(0, 12)) {
      const item = el("li"), button = el("button", node.label, { type: "button", "data-id": node.id });
      button.append(el("span", node.kind, { class: "soft" }));
      button.addEventListener("click", () => go(node.id));
      item.append(button); box.append(item);
    }
    if (!found.length) box.append(el("li", "nothing of that name", { class: "soft" }));
    else if (found.length > 12) box.append(el("li", "… " + (found.length - 12) + " more", { class: "soft" }));
    return found.map(([node]) => node.id);
  }

  // -- events -------------------------------------------------------------------------
  for (const [kind, name] of Object.entries(KINDS)) {
    const label = el("label"), input = el("input", null, { type: "checkbox", value: kind });
    input.checked = state.kinds.has(kind);
    input.addEventListener("change", () => { if (input.checked) state.kinds.add(kind); else state.kinds.delete(kind); draw(); });
    label.append(input, " " + name); byId("kinds").append(label);
  }
  for (const node of data.nodes.filter((n) => n.kind === "probe").sort((a, b) => compare(a.label, b.label))) {
    byId("probe").append(el("option", node.label, { value: node.label }));
  }
  const legend = data.coloured ? Object.entries(COLOURS).map(([, [fill, text]]) => [fill, text])
    : [["#dbe9ff", "field"], ["#ffffff", "rule, flag"], ["#ffe2c7", "question to the hardware"], ["#ece3fb", "environment"], ["#fdf0c2", "model fact"], ["#eef1f5", "folded stage"]];
  for (const [fill, text] of legend) {
    const swatch = el("i"); swatch.style.background = fill;
    byId("legend").append(swatch, el("span", text));
  }
  byId("legend").append(el("span"), el("span", "dashed: a condition; thick: sets the field"));
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { const found = search(event.target.value); if (found.length) go(found[0]); }
  });
  for (const id of ["direction", "fold", "probe"]) {
    byId(id).addEventListener("change", (event) => { state[id] = event.target.value; state.open.clear(); draw(); });
  }
  byId("fit").addEventListener("click", () => cy.fit(undefined, 24));
  const zoom = (factor) => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  byId("closer").addEventListener("click", () => zoom(1.3));
  byId("farther").addEventListener("click", () => zoom(1 / 1.3));
  byId("clear").addEventListener("click", clearPath);
  byId("print").addEventListener("click", () => window.print());
  window.addEventListener("beforeprint", () => { cy.resize(); cy.fit(undefined, 10); });
  window.addEventListener("afterprint", () => { cy.resize(); frame(); });
  cy.on("tap", "node", (event) => {
    const id = event.target.id(), members = event.target.scratch("members");
    if (id.startsWith("stage:")) details(id, members); else details(id);
    showPath(id);
  });
  cy.on("dbltap", "node", (event) => {
    const id = event.target.id();
    if (id.startsWith("stage:")) { state.open.add(id); draw(); } else if (nodes.get(id).kind !== "rule") go(id);
  });
  cy.on("tap", (event) => { if (event.target === cy) { clearPath(); details(null); } });

  window.sgcheckGraph = { data, cy, state, go, showPath, clearPath, search };
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (nodes.has(wanted) && SOURCES.includes(nodes.get(wanted).kind)) go(wanted);
  else { sync(); draw(); details(state.focus.length === 1 ? state.focus[0] : null); }
})();
