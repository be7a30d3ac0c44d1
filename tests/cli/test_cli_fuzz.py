"""`sgcheck` in processes of their own over mutated input: deployment files, and the source of SGLang.

Seeded and bounded: the same inputs in every run. What must hold is no traceback, an exit code from 0 to 3, less
than 30 s of processor time and 1 GB of memory a process; the system enforces the last two.
`SGCHECK_FUZZ=N` tries N inputs of each kind, from another seed for each N.
"""

from __future__ import annotations

import ast
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("SGCHECK_FUZZ", "0"))
RUNS = ROUNDS or 12
FILES_OF_A_RUN = 12
MOST_SECONDS = 30
MOST_BYTES = 1_000_000_000
ROOTS = os.pathsep.join(str(Path(__file__).parents[2] / name) for name in ("analyzer", "rules"))
LAUNCH = "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct"

SEEDS = {
    "compose.yml": "services:\n  a:\n    image: lmsysorg/sglang:v0.5.9\n    env_file: [a.env]\n"
    f"    environment: {{TP: '2'}}\n    command: {LAUNCH} --tp ${{TP:-4}} $$X\n"
    "    deploy: {resources: {reservations: {devices: [{count: 2, capabilities: [gpu]}]}}}\n",
    "pod.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n"
    "    spec:\n      containers:\n      - name: a\n        image: lmsysorg/sglang:v0.5.9\n"
    "        env: [{name: TP, value: '2'}]\n        command: [python3, -m, sglang.launch_server]\n"
    "        args: [--model-path, x, --tp, $(TP), --nosuch]\n---\nkind: ConfigMap\ndata:\n"
    f"  run.sh: |\n    {LAUNCH} --tp 2\n",
    "values.yaml": "a: &a {sglang: x}\nb: {<<: *a}\ncommand: sglang serve --model-path x --tp 2\n",
    "chart.yaml": "{{- if .Values.on }}\ncommand: [sglang, serve, --tp, {{ .Values.tp }}]\n{{- end }}\n",
    "run.sh": f'#!/bin/bash\nTP=${{1:-2}}\nA=(--tp "$TP" --ep {{1,2}})\nf() {{ {LAUNCH} "${{A[@]}}" "$@"; }}\n'
    'if [ -n "$X" ]; then A+=(--dp 2); fi\nfor i in 1 2; do f --port $((30000 + i)); done\n'
    f"cat <<EOF | bash\n{LAUNCH} --tp $TP\nEOF\n# sgcheck: ignore[forced] why\n",
    "Dockerfile": "ARG V=v0.5.9\nFROM lmsysorg/sglang:${V} AS base\nENV TP=2 X=$TP$TP\nRUN pip install sglang==0.5.9\n"
    f'FROM base\nCOPY <<E /run.sh\n{LAUNCH}\nE\nENTRYPOINT ["python3", "-m"]\nCMD ["sglang.launch_server", "--tp", "2"]\n',
    "a.service": f"[Service]\nEnvironment=TP=2\nEnvironmentFile=-a.env\nExecStart=/usr/bin/{LAUNCH} \\\n  --tp ${{TP}} %i\n",
    "run.py": "import subprocess\nargs = ['python', '-m', 'sglang.launch_server', '--model-path', 'x']\n"
    "for i in range(3):\n    args += ['--tp', str(i)]\nsubprocess.run(args + [f'--dp={i}'])\n",
    "cell.jsx": "const c = [{match: {hardware: 'h200'}, env: ['A=1'], flags: ['--model-path x', '--tp 2']}]\n",
    "README.md": f"```sh\n{LAUNCH} --tp 2\n```\n```yaml\ncommand: [sglang, serve]\n```\n",
    "a.env": "SM_SGLANG_MODEL_PATH=x\nSM_SGLANG_TP_SIZE=2\nTOKEN='a b'\n",
    "sgcheck.toml": 'gpu = "b200"\nsglang = "0.5.9"\nignore = ["forced"]\n[[per-path]]\npaths = ["*.sh"]\ngpu = "h200"\n',
    ".gitignore": "*.log\n/build/\n!keep*\n**/x/**\n",
}
TOKENS = (
    *(
        "$X",
        "${X:-",
        "$(",
        "$((",
        "`",
        "}",
        ")",
        "]",
        "[",
        "{",
        '"',
        "'",
        "\\",
        "\n",
        "\t",
        "\r",
        " ",
    ),
    *(
        "<<E\n",
        "&a ",
        "*a",
        "<<: *a",
        "? ",
        "- ",
        ": ",
        "!!python/object:os.system ",
        "|\n",
        ">-\n",
    ),
    *("---\n", "{{ .x }}", "{% if x %}", "${{ a }}", "\0", "\x1b[31m", "\x07", "\u202e", "\ufeff"),
    *(
        "\udc80",
        "::error::x\n",
        "##[error]",
        "9" * 5000,
        "-1",
        "1e999",
        "0x",
        "*" * 9,
        "../",
        "/dev/zero",
    ),
    *(
        "~",
        "--tp",
        "--model-path",
        "sglang",
        "FROM ",
        "ENV X=$X$X\n",
        "X=$X$X\n",
        "if ",
        "fi\n",
        "#",
    ),
)


def mutated(text: str, source: random.Random, tokens: Sequence[str] = TOKENS) -> str:
    """A text with some pieces cut, doubled, moved, or replaced by what such languages trip over."""
    for _ in range(source.randint(1, 12)):
        at = source.randrange(len(text) + 1)
        to = min(len(text), at + source.randint(0, source.choice((3, 30, 300))))
        piece = text[at:to]
        match source.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + piece * source.choice((1, 2, 60)) + text[to:]
            case 2:
                into = source.randrange(len(text) + 1)
                text = text[:into] + piece + text[into:]
            case _:
                text = text[:at] + source.choice(tokens) + text[source.choice((at, to)) :]
    return text[:400_000]


def limited() -> None:
    """In the child: what the promise allows. Where memory ends, what wants more is a fault that is seen."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder: Path, *args: str, before: Callable[[], None] = limited) -> None:
    environ = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "SGCHECK_CACHE_DIR", "LANG")
        if name in os.environ
    }
    done = subprocess.run(
        [sys.executable, "-m", "sgcheck", *args],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        timeout=10 * MOST_SECONDS,
        check=False,
        preexec_fn=before,
        env={**environ, "PYTHONPATH": ROOTS},
    )
    said = done.stderr.decode("utf-8", "replace")
    shown = f"{args} in {folder}: {done.returncode}\n{said[-2000:]}"
    assert done.returncode in (0, 1, 2, 3), shown
    assert "Traceback" not in said and "internal fault" not in said, shown
    assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout, shown


TREE_TOKENS = (
    *(
        "None",
        "0",
        "-1",
        "''",
        "[]",
        "{}",
        "lambda: 0",
        "...",
        "self",
        "1/0",
        "9" * 5000,
        "9**9**9",
    ),
    *(
        "while True: pass\n",
        "raise ValueError('\x1b[31m')\n",
        "yield",
        "await x",
        "async ",
        "return ",
    ),
    *(
        "def f():\n",
        "class A:\n",
        "    ",
        "\n",
        "(",
        ")",
        ":",
        ",",
        "=",
        "@property\n",
        "del self\n",
    ),
    *(
        "__class__",
        "__dict__",
        "__globals__",
        "import os\n",
        "os.environ",
        "open('/etc/passwd')",
        "*",
        "**",
    ),
    *(
        "[0] * 10**10",
        "'a' * 10**10",
        "f()",
        "\0",
        "\t",
        "\udc80",
        "if ",
        "else:\n",
        "not ",
        " is ",
    ),
)


EXPRESSIONS = (
    *(
        "None",
        "0",
        "-1",
        "''",
        "[]",
        "{}",
        "...",
        "self",
        "1 / 0",
        "9**9**9",
        "'9' * 5000",
        "int('9' * 5000)",
    ),
    *(
        "lambda *a, **k: a",
        "[0] * 10**10",
        "'a' * 10**10",
        "type('X', (), {})",
        "object()",
        "super()",
        "globals()",
    ),
    *(
        "(yield)",
        "f'{self!r:>1000000000}'",
        "self.__class__",
        "print('\\x1b[31m::error::x')",
        "dict(self.__dict__)",
    ),
    *(
        "[x for x in iter(int, 1)]",
        "open('/etc/passwd').read()",
        "__import__('os').environ",
        "exec('1')",
    ),
    *(
        "setattr(self, '\\n', 1)",
        "'%1000000000d' % 1",
        "'::error::\\x07' + str(self)",
        "float('nan')",
        "{1: {}}",
    ),
)
STATEMENTS = (ast.Assign, ast.Expr, ast.Return, ast.If, ast.Raise)


def mutated_code(text: str, source: random.Random) -> str:
    """Code that still parses, with some expressions replaced and some statements put somewhere else."""
    for _ in range(source.randint(1, 6)):
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.expr | ast.stmt)]
        node = source.choice(nodes)
        lines = text.encode().splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        new = source.choice(EXPRESSIONS)
        if isinstance(node, ast.stmt) and source.random() < 0.5:
            other = source.choice([n for n in nodes if isinstance(n, STATEMENTS)])
            new = "; ".join(ast.unparse(other).splitlines()[:1])
        raw = text.encode()
        changed = (raw[:begin] + new.encode() + raw[end:]).decode()
        try:
            ast.parse(changed)
        except (SyntaxError, ValueError):
            continue
        text = changed
    return text


@pytest.mark.release
@pytest.mark.parametrize("number", range(RUNS))
def test_source_of_sglang(number: int, tmp_path: Path) -> None:
    from sgcheck.source import open_tree

    source = random.Random(f"tree {number} {ROUNDS}")
    tree = open_tree("0.5.9", offline=True)
    folder = "sglang/srt"
    places = ["sglang/srt/server_args.py"] * 3
    places += [f"{folder}/{n}" for n in tree.listdir(folder) if n.endswith(".py")]
    places += ["sglang/srt/configs/model_config.py", "sglang/srt/utils/common.py"]
    changed = {place for place in (source.choice(places) for _ in range(3)) if tree.exists(place)}
    wanted = {p for p in (*places, "sglang/__init__.py", "sglang/version.py") if tree.exists(p)}
    for place in sorted(wanted):
        text = tree.read(place).decode("utf-8")
        if place in changed:
            broken = source.random() < 0.2
            text = mutated(text, source, TREE_TOKENS) if broken else mutated_code(text, source)
        target = tmp_path / "t" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
    words = (
        "--arch",
        source.choice(("sm90", "sm120")),
        "--format",
        source.choice(("json", "text")),
    )
    model = () if source.random() < 0.3 else ("--model", "llama-3.1-8b-instruct")
    run(tmp_path, "check", "--sglang", "t", *words, *model, "--", "--tp", "2")
