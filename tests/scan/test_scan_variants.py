"""Ways of writing the same launch that the fixtures do not show."""

from __future__ import annotations

import pytest

from sgcheck.scan import Launch, read_launches

START = "python3 -m sglang.launch_server"
LIST = ", ".join(f'"{w}"' for w in START.split())
POD = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: lmsysorg/sglang:v0.5.9\n"

TP2: list[list[str | None]] = [["--tp", "2"]]
CASES: dict[str, tuple[str, str, list[list[str | None]]]] = {
    "interpreter and module in different lists": (
        "a.yaml",
        f'{POD}    command: ["python3"]\n    args: ["-m", "sglang.launch_server", "--tp", "2"]\n',
        TP2,
    ),
    "folded scalar in the arguments": (
        "a.yaml",
        f'{POD}    command: [sh, -c]\n    args:\n      - >-\n        {START}\n        --tp "2"\n',
        TP2,
    ),
    "JSON with tabs": (
        "a.json",
        f'{{\n\t"kind": "Pod",\n\t"spec": {{"containers": [{{"command": [{LIST}, "--tp", "2"]}}]}}\n}}',
        TP2,
    ),
    "a list of manifests": (
        "a.yaml",
        f"kind: List\nitems:\n- kind: Pod\n  spec:\n    containers:\n    - args: [{LIST}, --tp, '2']\n",
        TP2,
    ),
    "a script in a ConfigMap": (
        "a.yaml",
        f"kind: ConfigMap\ndata:\n  run.sh: |\n    #!/bin/bash\n    {START} --tp 2\n",
        TP2,
    ),
    "a literal None is a word": (
        "a.yaml",
        f"{POD}    command: [{LIST}, --quantization, None]\n",
        [["--quantization", "None"]],
    ),
    "flag and value in one item stay one word": (
        "a.yaml",
        f"{POD}    command: [{LIST}, --tp 2]\n",
        [["--tp 2"]],
    ),
    "a mapping among the arguments": (
        "a.yaml",
        f"{POD}    command:\n      - sglang\n      - serve\n      - --x: 1\n      - --y\n",
        [[None, "--y"]],
    ),
    "an image's own entrypoint": (
        "compose.yml",
        "services:\n  a:\n    image: my/sglang:1\n    command: [--model-path, x, --tp, '2']\n",
        [["--model-path", "x", "--tp", "2"]],
    ),
    "compose with a shell in a string": (
        "compose.yml",
        "services:\n  a:\n    environment: [M=acme/x]\n"
        f'    command: bash -c "{START} --model-path $$M --tp 2"\n',
        [["--model-path", "acme/x", "--tp", "2"]],
    ),
    "a pasted script without a shell": (
        "compose.yml",
        f"services:\n  a:\n    command: |\n      pip install x &&\n      {START} --tp 2\n",
        TP2,
    ),
    "a step of a workflow": (
        "ci.yml",
        "on: push\njobs:\n  x:\n    steps:\n      - env: {M: acme/x}\n        run: |\n"
        f"          {START} --model-path $M &\n",
        [["--model-path", "acme/x"]],
    ),
    "a playbook": ("play.yml", f"- hosts: all\n  tasks:\n    - shell: {START} --tp 2\n", TP2),
    "a unit with a shell": (
        "a.service",
        f"[Service]\nEnvironment=N=2\nExecStart=/bin/bash -lc '. /x && exec {START} --tp $N'\n",
        TP2,
    ),
    "entrypoint and default arguments": (
        "Dockerfile",
        f'FROM x\nENTRYPOINT [{LIST}]\nCMD ["--tp", "2"]\n',
        TP2,
    ),
    "a command put together as text": (
        "a.sh",
        f'CMD="{START}"\nCMD="$CMD --tp"\nCMD+=" 2"\neval "$CMD"\n',
        TP2,
    ),
    "a function with arguments": (
        "a.sh",
        f'up() {{ local p=$1; shift; {START} --port $p "$@" & }}\nup 1 --x\nup 2\n',
        [["--port", "1", "--x"], ["--port", "2"]],
    ),
    "nested loops": (
        "a.sh",
        f"for t in 1 2; do for q in a b; do\n{START} --tp $t --q $q --p $((t * 10)) &\ndone; done",
        [["--tp", t, "--q", q, "--p", f"{t}0"] for t in ("1", "2") for q in ("a", "b")],
    ),
    "quotes in quotes in quotes": (
        "a.sh",
        f'ssh h "docker run img bash -c \'{START} --x \\"a b\\"\'"',
        [["--x", "a b"]],
    ),
    "a template of a script": (
        "run.sh.tpl",
        f"{{{{ if .x }}}}\nexec {START} --tp {{{{ .tp }}}} --x\n{{{{ end }}}}",
        [["--tp", None, "--x"]],
    ),
    "a list joined to text": (
        "a.py",
        f'c = [{LIST}, "--tp", str(2)]\nc += ["--x"] if True else []\nrun(" ".join(c), shell=True)\n',
        [["--tp", "2", "--x"]],
    ),
    "adjacent literals": (
        "a.py",
        f'def f(m):\n    c = (\n        f"{START} "\n        f"--model-path {{m}} "\n        "--tp 2"\n    )\n'
        "    Popen(shlex.split(c))\n",
        [["--model-path", None, "--tp", "2"]],
    ),
    "words as arguments of a call": (
        "a.py",
        'create_subprocess_exec("sglang", "serve", "--tp", "2")\n',
        TP2,
    ),
    "branches of a match statement": (
        "a.py",
        f'match gpu:\n    case "a":\n        t = 1\n    case _:\n        t = 2\nrun([{LIST}, "--tp", str(t)])',
        [["--tp", "1"], ["--tp", "2"]],
    ),
}


def found(name: str, text: str) -> tuple[Launch, ...]:
    reading = read_launches(text, name)
    assert reading.skipped == ()
    return reading.launches


@pytest.mark.parametrize("case", CASES)
def test_variants(case: str) -> None:
    name, text, expected = CASES[case]
    assert [[w.text for w in x.argv] for x in found(name, text)] == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", f'"""Run {START} --x"""\n'),
        ("a.py", f'print("{START} --x")\n'),
        ("a.py", f'log.info("start with {START} --x")\n'),
        ("a.yaml", f"description: start it with {START} --x\n"),
        ("a.yaml", f"kind: Pod\nspec:\n  containers:\n  - command: [echo, '{START} --x']\n"),
        ("a.yaml", "model: x\ntensor-parallel-size: 2\nmax-model-len: 5 # sglang\n"),
        ("a.json", '{"model-path": "x", "tp-size": 2}'),
        ("Dockerfile", f"FROM x\nRUN {START} --x\n"),
        ("Dockerfile", f"FROM x\nCMD [{LIST}]\nFROM y\n# CMD [{LIST}]\nCMD sleep 1\n"),
        ("a.service", f"[Service]\n# ExecStart={START}\nDescription={START}\n"),
    ],
)
def test_what_only_speaks_of_a_launch(name: str, text: str) -> None:
    launches = found(name, text)
    # A stage that is no longer the last one is still a launch of its own stage.
    assert [x for x in launches if x.argv] == []
