"""What the rules of model families share."""

from collections.abc import Callable
from typing import Any

from ..steps import Run

Rule = Callable[[Run], None]


def read(run: Run, name: str) -> Any:
    """A keyword of the constructor if the class has one (transformers 4 to 5.3), or the attribute."""
    return run.args[name] if name in run.args else getattr(run.instance, name)


def write(run: Run, name: str, value: Any) -> None:
    """Change what `read` gives."""
    if name in run.args:
        run.args[name] = value
    else:
        setattr(run.instance, name, value)


def above(instance: Any, class_name: str) -> Any:
    """`super()` as a method of the named class would see it."""
    for cls in type(instance).__mro__:
        if cls.__name__ == class_name and cls.__module__.startswith("transformers."):
            return super(cls, instance)
    raise AttributeError(class_name)


def make(run: Run, class_name: str, given: dict[str, Any] | None = None) -> Any:
    """A configuration of the named class."""
    return run.classes.config_class(class_name)(**(given or {}))


def refuse_unless(condition: Any, message: str) -> None:
    """Raise `ValueError` if the condition does not hold."""
    if not condition:
        raise ValueError(message)
