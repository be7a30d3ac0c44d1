"""Exceptions of the model of transformers and huggingface_hub."""

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape


class NotModelled(Escape):
    """The launch asks transformers something that this model does not know.

    It is no `Exception`: SGLang guards many of its calls with ``except Exception``, and a gap of
    the model must not be mistaken for a failure that SGLang handles.

    :ivar code: what is missing, such as ``transformers.FooConfig``.
    """

    def __init__(self, code: str) -> None:
        super().__init__(Reason(f"not-modelled({code})"))
        self.code = code


class StrictDataclassError(Exception):
    """Base of the errors that a validated configuration class raises (huggingface_hub's name)."""


class StrictDataclassDefinitionError(StrictDataclassError):
    """A class cannot be made a validated one."""


class StrictDataclassFieldValidationError(StrictDataclassError):
    """A value does not fit its field's type or validator."""

    def __init__(self, field: str, cause: Exception) -> None:
        kind = type(cause).__name__
        super().__init__(f"Validation error for field '{field}':\n    {kind}: {cause}")


class StrictDataclassClassValidationError(StrictDataclassError):
    """The values of a configuration contradict each other."""

    def __init__(self, validator: str, cause: Exception) -> None:
        kind = type(cause).__name__
        super().__init__(
            f"Class validation error for validator '{validator}':\n    {kind}: {cause}"
        )


class HFValidationError(ValueError):
    """A name cannot be a repository of the hub (huggingface_hub's name)."""
