"""Python inside of shell, and functions that are called with arguments, in both."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.scan import Launch, read_launches


def found(text: str, name: str = "x.sh") -> tuple[Launch, ...]:
    reading = read_launches(textwrap.dedent(text), name)
    assert reading.skipped == ()
    return reading.launches


def words(launch: Launch) -> list[str | None]:
    return [word.text for word in launch.argv]


def assert_places(text: str, launch: Launch) -> None:
    """Each word that the text holds as it is stands where its span says."""
    whole = textwrap.dedent(text)
    for word in launch.argv:
        if word.text is not None and word.text in whole:
            place = word.origin or word.span
            assert word.text in whole[place.start : place.end]


QUOTED = """\
    export SGLANG_ENABLE_SPEC_V2=1
    python3 - <<'PY'
    import subprocess
    args = ["python3", "-m", "sglang.launch_server", "--model-path", "acme/T"]
    args += ["--tp-size", "2"]
    args.append("--trust-remote-code")
    subprocess.run(args, check=True)
    PY
    """


def test_python_in_a_quoted_here_document() -> None:
    (launch,) = found(QUOTED)
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", "2", "--trust-remote-code"]
    assert launch.env["SGLANG_ENABLE_SPEC_V2"].value.text == "1"
    assert launch.argv[0].span.line == 4 and launch.argv[2].span.line == 5
    assert_places(QUOTED, launch)


def test_the_shell_fills_an_open_here_document_before_python_reads_it() -> None:
    text = """\
    MODEL=acme/T
    python3 - "$@" <<PY > server.log 2>&1 &
    import subprocess, sys
    tp = $TP
    subprocess.Popen(["python3", "-m", "sglang.launch_server", "--model-path", "$MODEL",
                      "--tp-size", str(tp), "--host", "$HOST"])
    PY
    """
    (launch,) = found(text)
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", None, "--host", None]


def test_tabs_before_a_here_document_are_taken_away() -> None:
    text = (
        "if true; then\n"
        "\tuv run python - <<-'PY'\n"
        "\timport subprocess\n"
        '\tsubprocess.run(["sglang", "serve", "--model-path", "acme/T"])\n'
        "\tPY\n"
        "fi\n"
    )
    (launch,) = found(text)
    assert words(launch) == ["--model-path", "acme/T"]
    assert launch.argv[1].span.line == 4


@pytest.mark.parametrize(
    "command",
    [
        'python3 -c "$CODE"',
        'python3 <<< "$CODE"',
        'docker run --rm lmsysorg/sglang:v0.5.9 python3 -c "$CODE"',
    ],
)
def test_python_behind_c(command: str) -> None:
    text = f"""\
CODE='
import subprocess
subprocess.run(["sglang", "serve", "--model-path", "acme/T"])
'
{command}
"""
    (launch,) = found(text)
    assert words(launch) == ["--model-path", "acme/T"]
    assert launch.argv[1].span.line == 3


def test_a_python_file_that_a_script_writes() -> None:
    text = """\
    cat > /srv/run.py <<'EOF'
    import os
    os.execvp("sglang", ["sglang", "serve", "--model-path", "acme/T"])
    EOF
    python3 /srv/run.py
    """
    (launch,) = found(text)
    assert words(launch) == ["--model-path", "acme/T"]


def test_python_in_a_manifest() -> None:
    text = """\
    containers:
    - name: s
      image: lmsysorg/sglang:v0.5.9
      command: ["python3", "-c"]
      args:
      - |
        import subprocess
        subprocess.run(["sglang", "serve", "--model-path", "acme/T", "--tp", "2"])
    """
    (launch,) = found("kind: Pod\nspec:\n" + textwrap.indent(textwrap.dedent(text), "  "), "p.yaml")
    assert words(launch) == ["--model-path", "acme/T", "--tp", "2"]
    assert (launch.argv[1].span.line, launch.argv[1].span.column) == (10, 58)


def test_python_that_cannot_be_read_is_said() -> None:
    reading = read_launches("python3 - <<'PY'\nimport sglang.launch_server\nx = (\nPY\n", "x.sh")
    assert reading.launches == ()
    assert [s.reason for s in reading.skipped] == [
        "not readable as Python at line 3: '(' was never closed"
    ]


SHELL_FUNCTION = """\
    launch() {
      local role=$1 port=$2; shift 2
      CUDA_VISIBLE_DEVICES=0 python3 -m sglang.launch_server --model-path acme/T \\
        --port "$port" --disaggregation-mode "$role" "$@" &
    }
    launch prefill 30000 --tp 2
    launch decode 30001 --tp 4 --page-size "64"
    """


def test_a_shell_function_is_followed_with_what_it_is_given() -> None:
    first, second = found(SHELL_FUNCTION)
    head = ["--model-path", "acme/T", "--port"]
    mode = "--disaggregation-mode"
    assert words(first) == [*head, "30000", mode, "prefill", "--tp", "2"]
    assert words(second) == [*head, "30001", mode, "decode", "--tp", "4", "--page-size", "64"]
    assert (first.role, second.role) == ("prefill", "decode")
    assert first.argv[-1].span.line == 6 and second.argv[-1].span.line == 7
    assert_places(SHELL_FUNCTION, second)


def test_the_rest_of_a_functions_arguments() -> None:
    text = """\
    serve() {
      local model="$1" tp="${2:-1}" extra="${*:3}"
      exec sglang serve --model-path "$model" --tp "$tp" $extra
    }
    serve acme/T 4 --kv-cache-dtype fp8_e4m3 --enable-metrics
    """
    (launch,) = found(text)
    assert words(launch)[:4] == ["--model-path", "acme/T", "--tp", "4"]
    assert words(launch)[4:] == ["--kv-cache-dtype", "fp8_e4m3", "--enable-metrics"]


PYTHON_FUNCTIONS = """\
    import os, subprocess, sys

    def build(model, tp=1, spec=False, **more):
        cmd = [sys.executable, "-m", "sglang.launch_server", "--model-path", model]
        cmd += ["--tp-size", str(tp)]
        if spec:
            cmd.append("--speculative-algorithm")
            cmd.append("NGRAM")
        for name, value in more.items():
            cmd.extend([f"--{name}", value])
        return cmd

    def main():
        env = os.environ.copy()
        env["SGLANG_ENABLE_SPEC_V2"] = "1"
        subprocess.Popen(build("acme/A", tp=2), env=env)
        subprocess.Popen(build("acme/B", spec=True, host="0.0.0.0"))

    if __name__ == "__main__":
        main()
    """


def test_python_functions_are_followed_with_what_they_are_given() -> None:
    first, second = found(PYTHON_FUNCTIONS, "x.py")
    assert words(first) == ["--model-path", "acme/A", "--tp-size", "2"]
    spec, host = ["--speculative-algorithm", "NGRAM"], ["--host", "0.0.0.0"]
    assert words(second) == ["--model-path", "acme/B", "--tp-size", "1", *spec, *host]
    assert first.env["SGLANG_ENABLE_SPEC_V2"].value.text == "1" and not second.env
    assert first.assumptions == second.assumptions == ()


def test_a_list_that_grows_under_a_condition_is_followed_both_ways() -> None:
    text = """\
    import subprocess
    def serve(fp8):
        cmd = ["sglang", "serve", "--model-path", "acme/T"]
        if fp8:
            cmd += ["--quantization", "fp8"]
        else:
            cmd.extend(("--dtype", "bfloat16"))
        subprocess.run(cmd)
    """
    head = ["--model-path", "acme/T"]
    assert [words(launch) for launch in found(text, "x.py")] == [
        [*head, "--quantization", "fp8"],
        [*head, "--dtype", "bfloat16"],
    ]


@pytest.mark.parametrize(
    "loop",
    [
        "for key, value in load().items():\n    cmd += [f'--{key}', value]",
        "while more():\n    cmd.append(more())",
    ],
)
def test_a_list_that_grows_in_an_open_loop_keeps_its_beginning(loop: str) -> None:
    head = '["sglang", "serve", "--model-path", "acme/T"]'
    text = f"import subprocess\ncmd = {head}\n{loop}\nsubprocess.run(cmd)\n"
    (launch,) = found(text, "x.py")
    assert words(launch) == ["--model-path", "acme/T", None]
    assert launch.argv[-1].many == "any"


def test_a_list_handed_to_a_function_that_grows_it() -> None:
    text = """\
    import subprocess
    def add_parallel(cmd, tp):
        cmd += ["--tp-size", str(tp)]
    def other(cmd):
        cmd = []
        cmd.append("--gone")
    cmd = ["sglang", "serve", "--model-path", "acme/T"]
    add_parallel(cmd, 8)
    other(cmd)
    subprocess.run(cmd)
    """
    (launch,) = found(text, "x.py")
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", "8"]


def test_methods_share_their_object() -> None:
    text = """\
    import subprocess
    class Server:
        port = 30000
        def start(self):
            self._build("acme/T")
            subprocess.Popen(self.cmd)
        def _build(self, model):
            self.cmd = ["sglang", "serve", "--model-path", model, "--port", str(self.port)]
    """
    (launch,) = found(text, "x.py")
    assert words(launch) == ["--model-path", "acme/T", "--port", "30000"]


def test_arguments_of_a_server_in_this_process() -> None:
    text = """\
    from sglang.srt.server_args import prepare_server_args
    from sglang.srt.entrypoints.http_server import launch_server
    launch_server(prepare_server_args(["--model-path", "acme/T", "--tp", "4"]))
    """
    (launch,) = found(text, "x.py")
    assert words(launch) == ["--model-path", "acme/T", "--tp", "4"]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return f()\nf()\n",
        "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nf('sglang')\n",
        "return 1\n",
        "def f(*a, **k):\n    return a\nf(*x, **y)\nf(1, b=2)\n",
    ],
)
def test_functions_that_call_themselves_end(text: str) -> None:
    start = 'import subprocess\nsubprocess.run(["sglang", "serve", "--model-path", "m"])\n'
    assert len(found(start + text, "x.py")) == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_many_calls_end(calls: list[int]) -> None:
    body = "\n".join(f"    cmd += f{n}()" for n in calls)
    functions = "\n".join(
        f"def f{n}():\n    return ['--n{n}', str(v)] if x() else ['--m']" for n in range(4)
    )
    text = f"{functions}\ndef start():\n    cmd = ['sglang', 'serve']\n{body}\n    run(cmd)\n"
    assert read_launches(text, "x.py").launches


def test_many_ways_through_calls_are_one_launch_with_an_open_end() -> None:
    functions = "".join(
        f"def f{i}(c):\n    if x{i}(): c += ['--a{i}']\n    return f{i + 1}(c)\n" for i in range(6)
    )
    end = "def f6(c):\n    return c\nrun(f0(['sglang', 'serve', '--model-path', 'm']))\n"
    launches = found(functions + end, "x.py")
    assert 0 < len(launches) <= 16
    assert all(words(launch)[:2] == ["--model-path", "m"] for launch in launches)
