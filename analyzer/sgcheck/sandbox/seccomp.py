"""The system calls of a process that only computes, reads files and talks through its pipes (Linux).

Everything else is refused with EPERM: writing opens, starting programs and processes, sockets,
looking into other processes, changing files, limits and privileges. The list says what is allowed,
so that a call which a later kernel adds is refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_X32 = 0x40000000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | 0o20000000
"""Flags of an open that changes something; the last one is that of O_TMPFILE."""
_RLIMIT_AS = 9
_IOCTLS = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what Python asks of a file that it opens."""

# Numbers of system calls: x86-64, and the generic table that AArch64 has (None: it lacks the call).
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "stat": (4, None),
    "lstat": (6, None), "poll": (7, None), "ppoll": (271, 73), "lseek": (8, 62),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "pread64": (17, 67), "readv": (19, 65), "writev": (20, 66), "access": (21, None),
    "select": (23, None), "pselect6": (270, 72), "sched_yield": (24, 124),
    "mremap": (25, 216), "madvise": (28, 233), "nanosleep": (35, 101), "getitimer": (36, 102),
    "setitimer": (38, 103), "getpid": (39, 172), "exit": (60, 93), "exit_group": (231, 94),
    "uname": (63, 160), "getcwd": (79, 17), "readlink": (89, None), "gettimeofday": (96, 169),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153),
    "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getppid": (110, 173), "sigaltstack": (131, 132), "gettid": (186, 178), "time": (201, None),
    "futex": (202, 98), "sched_getaffinity": (204, 123), "getdents64": (217, 61),
    "restart_syscall": (219, 128), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "newfstatat": (262, 79), "readlinkat": (267, 78),
    "faccessat": (269, 48), "faccessat2": (439, 439), "set_robust_list": (273, 99),
    "getrandom": (318, 278), "membarrier": (324, 283), "statx": (332, 291), "rseq": (334, 293),
    "dup": (32, 23), "getcpu": (309, 168), "fadvise64": (221, 223),
}  # fmt: skip
_OPENAT = (257, 56)
_OPEN = (2, None)
_IOCTL = (16, 29)
_FCNTL = (72, 25)
_PRLIMIT = (302, 261)
_TGKILL = (234, 131)
_NOT_THERE = {"clone3": (435, 435), "openat2": (437, 437)}
"""Calls whose absence the C library knows how to deal with."""
_FCNTLS = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC."""

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "arm64": (0xC00000B7, 1)}


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def _refuse(number: int = errno.EPERM) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def program(machine: str, pid: int) -> bytes | None:
    """The filter for a machine, for the process `pid`; None where its numbers are not known here."""
    if machine not in _MACHINES:
        return None
    arch, column = _MACHINES[machine]
    allow = _step(_RETURN, _ALLOW)
    steps = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, arch, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _refuse()]
    for pair in _CALLS.values():
        number = pair[column]
        if number is not None:
            steps += [_step(_EQUAL, number, 0, 1), allow]
    for pair in _NOT_THERE.values():
        steps += [_step(_EQUAL, pair[column], 0, 1), _refuse(errno.ENOSYS)]

    def special(pair: tuple[int | None, int | None], body: list[bytes]) -> None:
        number = pair[column]
        if number is not None:
            steps.append(_step(_EQUAL, number, 0, len(body)))
            steps.extend(body)

    def one_of(argument: int, values: tuple[int, ...]) -> list[bytes]:
        body = [_step(_LOAD, _ARGS + 8 * argument)]
        for value in values:
            body += [_step(_EQUAL, value, 0, 1), allow]
        return [*body, _refuse()]

    def reading(argument: int) -> list[bytes]:
        test = [_step(_LOAD, _ARGS + 8 * argument), _step(_ANY_BIT, _WRITES, 0, 1)]
        return [*test, _refuse(errno.EACCES), allow]

    special(_OPENAT, reading(2))
    special(_OPEN, reading(1))
    special(_IOCTL, one_of(1, _IOCTLS))
    special(_FCNTL, one_of(1, _FCNTLS))
    own = [_step(_LOAD, _ARGS), _step(_EQUAL, 0, 1, 0), _refuse()]
    special(_PRLIMIT, [*own, *one_of(1, (_RLIMIT_AS,))])
    special(_TGKILL, one_of(0, (pid,)))
    steps.append(_refuse())
    return b"".join(steps)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def forbid_privileges(libc: ctypes.CDLL) -> bool:
    """No program that this process starts may have more rights than it (none may be started either)."""
    return bool(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def allow_few_calls(libc: ctypes.CDLL) -> str:
    """From here on only the calls above; empty, or why that cannot be had."""
    content = program(platform.machine(), os.getpid())
    if content is None:
        return f"the system calls of {platform.machine()} are not known to sgcheck"
    held = _Program(len(content) // 8, content)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(held), 0, 0) != 0:
        return f"seccomp: {os.strerror(ctypes.get_errno())}"
    return ""
