"""Exceptions that come from the engine itself: they say nothing about the launch."""

from __future__ import annotations

import dis
from pathlib import Path
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

from sgcheck.interp.access import ENGINE as _ENGINE
from sgcheck.interp.access import MARK
from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.names import PREFIX
from sgcheck.values.kinds import is_a
from sgcheck.values.unknown import find_unknown

_TRACEBACK: Any = vars(BaseException)["__traceback__"]
_ARGS: Any = vars(BaseException)["args"]
_NAME: Any = vars(type)["__name__"]
_OURS = (AttributeError, TypeError, NameError, AssertionError, NotImplementedError)
"""Kinds of exceptions by which a mistake of the engine shows, and which its models raise on purpose."""
_RAISE = dis.opmap["RAISE_VARARGS"]
_FOR_THE_TREE = str(Path("interp"))
"""Where the engine does what the tree has asked for: what fails there fails in Python as well."""


def traceback_of(error: BaseException) -> TracebackType | None:
    """Where an exception was raised, whatever its class says about itself."""
    found: TracebackType | None = _TRACEBACK.__get__(error)
    return found


def arguments_of(error: BaseException) -> tuple[Any, ...]:
    """What an exception was made with, whatever its class says about itself."""
    found: tuple[Any, ...] = _ARGS.__get__(error)
    return found


def name_of(cls: type) -> str:
    """The name of a class, whatever its metaclass says about it."""
    found: str = _NAME.__get__(cls)
    return str.__str__(found)


def fault_of(error: BaseException) -> Reason | None:
    """Why an exception is none that the tree would raise in Python; None where it may be one.

    A world model that is called in a way that nobody taught it fails with a TypeError that the real
    thing would not raise; a mistake of the engine looks for names and attributes that are not there;
    and the library fails on an unknown, which is no value of Python's.
    """
    trace = _last(traceback_of(error))
    if trace is None:
        return None
    frame = trace.tb_frame
    inside = frame.f_code.co_filename.startswith(_ENGINE)
    if is_a(error, NameError) and (inside or str(error.name).startswith(PREFIX)):
        return Reason("engine", detail=str(error))
    if is_a(error, AttributeError):
        owner: Any = error.obj
        if is_a(owner, ModuleType) and owner.__name__.split(".", 1)[0] == "sgcheck":
            return Reason("engine", detail=str(error))
    if is_a(error, TypeError) and inside:
        called = _called(frame)
        if called is not None and "argument" in str(error):
            name = called.__qualname__.rpartition("<locals>.")[2]
            return Reason(f"not-modelled({name} with these arguments)", detail=str(error))
    if inside:
        return _mistake(error, trace)
    return _met_unknown(traceback_of(error))


def _mistake(error: BaseException, trace: TracebackType) -> Reason | None:
    """An exception of a world model that it does not raise itself."""
    code = trace.tb_frame.f_code
    performing = str(Path(code.co_filename).relative_to(_ENGINE)).startswith(_FOR_THE_TREE)
    on_purpose = code.co_code[trace.tb_lasti] == _RAISE and not is_a(error, AssertionError)
    if performing or on_purpose or not is_a(error, _OURS):
        return None
    if is_a(error, AttributeError) and error.name not in code.co_names:
        # The name came from the tree: a model's own look-up of attributes found none.
        return None
    name = f"{code.co_qualname.rpartition('<locals>.')[2]}: {name_of(type(error))}"
    return Reason("engine", detail=name)


def _met_unknown(trace: TracebackType | None) -> Reason | None:
    """Why an unknown is one that a function of the library had in its hands when it failed."""
    held: list[Any] = []
    while trace is not None:
        frame = trace.tb_frame
        foreign = MARK not in frame.f_builtins
        if not foreign:
            held = []
        elif not frame.f_code.co_filename.startswith(_ENGINE):
            held.extend(frame.f_locals.values())
        trace = trace.tb_next
    found = find_unknown(held, 2)
    if found is None:
        return None
    reason: Reason = object.__getattribute__(found, "reason")
    return reason


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _called(frame: FrameType) -> FunctionType | None:
    """The function of the engine that a guard was about to call."""
    func: Any = frame.f_locals.get("func")
    if issubclass(type(func), MethodType):
        func = func.__func__
    if is_a(func, FunctionType) and func.__code__.co_filename.startswith(_ENGINE):
        return func
    return None
