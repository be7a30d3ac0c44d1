"use strict";
(() => {
  const entries = [...document.querySelectorAll(".entry")];
  const words = document.getElementById("words");
  const arch = document.getElementById("arch");
  const boxes = [...document.querySelectorAll(".category")];
  const shown = document.getElementById("shown");
  const texts = new Map(entries.map((entry) => [entry, entry.textContent.toLowerCase()]));
  function filter() {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of entries) {
      const archs = entry.dataset.archs.split(" ");
      const fits = wanted.has(entry.dataset.category)
        && (!arch.value || !entry.dataset.archs || archs.includes(arch.value))
        && asked.every((word) => texts.get(entry).includes(word));
      entry.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.textContent = `${count} of ${entries.length} shown`;
  }
  for (const control of [words, arch, ...boxes]) control.addEventListener("input", filter);
  filter();
})();
