"""Exceptions that come from the engine itself: they say nothing about the launch."""

from __future__ import annotations

from pathlib import Path
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.names import PREFIX
from sgcheck.values.kinds import is_a

_ENGINE = str(Path(__file__).parent.parent)


def fault_of(error: BaseException) -> Reason | None:
    """Why an exception is none that the tree would raise in Python; None where it may be one.

    A world model that is called in a way that nobody taught it fails with a TypeError that the real
    thing would not raise; a mistake of the engine looks for names that are not there.
    """
    frame = _innermost(error.__traceback__)
    if frame is None:
        return None
    inside = frame.f_code.co_filename.startswith(_ENGINE)
    if is_a(error, NameError) and (inside or str(error.name).startswith(PREFIX)):
        return Reason("engine", detail=str(error))
    if is_a(error, AttributeError):
        owner: Any = error.obj
        if issubclass(type(owner), ModuleType) and owner.__name__.split(".", 1)[0] == "sgcheck":
            return Reason("engine", detail=str(error))
    if issubclass(type(error), TypeError) and inside:
        called = _called(frame)
        if called is not None and "argument" in str(error):
            name = called.__qualname__.rpartition("<locals>.")[2]
            return Reason(f"not-modelled({name} with these arguments)", detail=str(error))
    return None


def _innermost(trace: TracebackType | None) -> FrameType | None:
    frame = None
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
    return frame


def _called(frame: FrameType) -> FunctionType | None:
    """The function of the engine that a guard was about to call."""
    func: Any = frame.f_locals.get("func")
    if issubclass(type(func), MethodType):
        func = func.__func__
    if is_a(func, FunctionType) and func.__code__.co_filename.startswith(_ENGINE):
        return func
    return None
