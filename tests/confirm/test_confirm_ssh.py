"""`--ssh` against a real sshd on the loopback address, `--container` against what is there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confirm_fake import Fake

from sgcheck.confirm import container
from sgcheck.confirm.ssh import ssh_command
from sgcheck.errors import UsageError

Confirm = Callable[..., tuple[int, str, str]]

SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if Path("/usr/sbin/sshd").exists() else None)
needs_sshd = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh-keygen") is None or shutil.which("ssh") is None,
    reason="there is no OpenSSH server here (package openssh-server)",
)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a host that the system's ssh reaches with a throw-away key."""
    assert SSHD is not None
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    shutil.copy(folder / "user.pub", folder / "authorized")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL
    )
    (folder / "config").write_text(
        f"Host gpubox\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n"
        f"Host closed\n  HostName 127.0.0.1\n  Port 1\n"
    )
    # The user's own configuration, without touching that of whoever runs the tests.
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{shutil.which("ssh")}" -F "{folder}/config" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield "gpubox"
    server.terminate()
    server.wait()


@needs_sshd
def test_a_launch_over_ssh(confirm: Confirm, fake: Fake, host: str) -> None:
    pids = ("--env", f"FAKE_PIDS={fake.pids}")
    code, out, err = confirm(
        "--live", "--ssh", host, "--server-python", str(fake.python), "--format", "json", *pids
    )
    assert code == 0, err
    document = json.loads(out)
    assert (document["verdict"], document["agree"], document["output"]["verdict"]) == (
        "agrees",
        18,
        "plausible",
    )
    assert f"starts on {host}" in err


@needs_sshd
def test_the_time_limit_over_ssh_leaves_nothing(confirm: Confirm, fake: Fake, host: str) -> None:
    options = ("--env", f"FAKE_PIDS={fake.pids}", "--env", "FAKE_MODE=never", "--time-limit", "4")
    code, out, err = confirm(
        "--live", "--ssh", host, "--server-python", str(fake.python), "--format", "json", *options
    )
    assert code == 0, err
    assert "not ready within 4 s" in json.loads(out)["outcome"]["observed"]["ending"]
    assert fake.pids.exists() and fake.left() == []


@needs_sshd
@pytest.mark.parametrize("name", ["closed", "nobody@gpubox"])
def test_ssh_refuses(confirm: Confirm, fake: Fake, host: str, name: str) -> None:
    code, out, err = confirm("--live", "--ssh", name, "--server-python", str(fake.python))
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert f"{name} cannot be used (" in last and "nothing was started" in last


@needs_sshd
def test_no_such_python_over_ssh(confirm: Confirm, fake: Fake, host: str) -> None:
    code, _, err = confirm("--live", "--ssh", host, "--server-python", "/no/such/python")
    assert code == 2 and "nothing was started" in err and "/no/such/python" in err


def test_the_command_line_of_ssh() -> None:
    if shutil.which("ssh") is None:
        pytest.skip("there is no ssh here")
    words = ssh_command("me@box", "/opt/my python/bin/python")
    assert words[-3:-1] == ["--", "me@box"] and "'/opt/my python/bin/python' -u -c" in words[-1]
    for bad in ("-oProxyCommand=x", "a b", "a;b", ""):
        with pytest.raises(UsageError, match="give a host"):
            ssh_command(bad, "python3")


# -- containers ------------------------------------------------------------------------

RECORDER = """#!/bin/sh
printf '%s\\n' "$@" >> "{log}"
echo -- >> "{log}"
[ "$1" = run ] || exit 0
[ -n "$FAIL" ] && {{ echo "Cannot connect to the daemon" >&2; exit 125; }}
# The words from the interpreter on are what would run in the container.
while [ "$1" != --entrypoint ]; do shift; done
python="$2"; shift 3
exec "$python" "$@"
"""


@pytest.fixture
def docker(tmp_path: Path) -> tuple[str, Path]:
    """A program that writes down how it was called, and runs the command without a container."""
    log = tmp_path / "calls"
    program = tmp_path / "docker"
    program.write_text(RECORDER.format(log=log))
    program.chmod(0o755)
    return str(program), log


def test_a_launch_in_a_container(confirm: Confirm, fake: Fake, docker: tuple[str, Path]) -> None:
    program, log = docker
    secret = ("--env", "HF_TOKEN=hf_verysecrettoken")
    words = (
        "--live",
        "--container",
        "acme/sglang:v1",
        "--engine",
        program,
        "--server-python",
        str(fake.python),
    )
    code, out, err = confirm(*words, "--format", "json", *secret)
    assert code == 0, err
    assert json.loads(out)["verdict"] == "agrees"
    run_words, remove_words = (part.split("\n") for part in log.read_text().split("\n--\n")[:2])
    name = run_words[run_words.index("--name") + 1]
    assert run_words[:3] == ["run", "--rm", "--interactive"]
    assert f"{fake.model}:{fake.model}:ro" in run_words and "acme/sglang:v1" in run_words
    assert "hf_verysecrettoken" not in log.read_text()
    assert remove_words == ["rm", "--force", name]


def test_an_engine_that_does_not_run(
    confirm: Confirm, fake: Fake, docker: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "1")
    words = ("--live", "--container", "acme/sglang:v1", "--engine", docker[0])
    code, _, err = confirm(*words)
    assert code == 2 and "Cannot connect to the daemon" in err and "nothing was started" in err


def test_the_command_line_of_a_container() -> None:
    command = container.container_command("/usr/bin/podman", "img", "python3", [], "n1")
    assert command[:7] == [
        "/usr/bin/podman",
        "run",
        "--rm",
        "--interactive",
        "--name",
        "n1",
        "--init",
    ]
    assert "nvidia.com/gpu=all" in command
    assert "--gpus" in container.container_command("docker", "img", "python3", [], "n1")
    for bad in ("", "-v", "a b"):
        with pytest.raises(UsageError, match="name of an image"):
            container.container_command("docker", bad, "python3", [], "n1")
    with pytest.raises(UsageError, match="not on the path"):
        container.find_engine("no-such-engine")


def test_a_real_container_engine(confirm: Confirm, fake: Fake) -> None:
    engine = next((found for name in container.ENGINES if (found := shutil.which(name))), None)
    if (
        engine is None
        or subprocess.run([engine, "info"], capture_output=True, check=False).returncode
    ):
        pytest.skip("there is no docker or podman that runs containers here")
    code, _, err = confirm(
        "--live", "--container", "sgcheck-no-such-image:never", "--engine", engine
    )
    assert code == 2 and "nothing was started" in err
