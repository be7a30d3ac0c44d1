"""Run the supervisor on another host through the system's own ssh."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence

from sgcheck.confirm.session import BOOT
from sgcheck.errors import UsageError

CONNECT_TIMEOUT = 20
ALIVE_EVERY = 15

_HOST = re.compile(r"(?:[\w.+-]+@)?[\w.:\[\]%-]+\Z")


def ssh_command(host: str, python: str, options: Sequence[str] = ()) -> list[str]:
    """The command line. The user's configuration says the rest: names, keys, ports, jumps.

    `options` are further words for ssh. Raises UsageError for a host that is none, or without ssh.
    """
    if not _HOST.match(host) or host.startswith("-"):
        raise UsageError(f"--ssh {host}: give a host as ssh takes it, such as user@host")
    program = shutil.which("ssh")
    if program is None:
        raise UsageError("--ssh needs the program ssh, which is not on the path")
    # Nobody can answer a question here: without a key that works, ssh has to say so at once.
    settings = [
        "BatchMode=yes",
        f"ConnectTimeout={CONNECT_TIMEOUT}",
        f"ServerAliveInterval={ALIVE_EVERY}",
        "ServerAliveCountMax=4",
    ]
    words = [program, "-T", *(word for setting in settings for word in ("-o", setting)), *options]
    far = ["exec", shlex.quote(python), "-u", "-c", shlex.quote(BOOT)]
    return [*words, "--", host, " ".join(far)]
