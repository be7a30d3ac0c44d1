"""Call each distinct layer once, on activations without values, and see which kernel it ends in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sgcheck.interp import guards
from sgcheck.resolve.resolution import Because, Cell, LaunchError, Reason
from sgcheck.resolve.run import failure_of, stopped
from sgcheck.start.certain import is_certain
from sgcheck.start.layers import attribute
from sgcheck.values.signals import EngineSignal
from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors.dtypes import DTYPES
from sgcheck.world.tensors.modules import Module
from sgcheck.world.tensors.recorder import RECORDER, Call
from sgcheck.world.tensors.tensor import Tensor, make

TOKENS = 32
"""Rows of the activations that a layer is called with."""

_LARGE = 1 << 60
"""Bytes of a weight whose shape is not known: it was the result of a library's layout function."""

Link = Callable[[str | None, int | None], str | None]


class Probe:
    """Calls layers of one model; `modules` are all of it by name, `load` imports by name."""

    def __init__(self, modules: dict[str, Any], dtype: Any, load: Callable[[str], Any], link: Link):
        self._modules = modules
        self._dtype = dtype
        self._load = load
        self._link = link

    def kernel(self, name: str) -> Cell:
        """The kernel that gets the layer's weight, or why it is not known."""
        module = self._modules[name]
        kinds = {cls.__name__ for cls in type(module).__mro__}
        method = attribute(module, "quant_method")
        error: LaunchError | None = None
        reason: Reason | None = None
        with RECORDER.listening() as calls:
            try:
                if "FusedMoE" in kinds:
                    self._experts(name, module)
                elif "LinearBase" in kinds or "ParallelLMHead" in kinds:
                    self._linear(module, method)
                else:
                    return Cell("decided", None)
            except EngineSignal as signal:
                reason = stopped(signal)
            except KeyboardInterrupt:
                raise
            except Exception as problem:
                failure = failure_of(problem)
                if is_certain(problem) and _is_of_the_layer(problem):
                    error = LaunchError(
                        failure.type, failure.message, failure.file, failure.line, failure.function,
                        url=self._link(failure.file, failure.line),
                    )  # fmt: skip
                else:
                    detail = f"{failure.type}: {failure.message}"
                    reason = Reason("tensor-operation", failure.file, failure.line, detail)
        if error is not None:
            return Cell("decided", None, raises=error)
        chosen = self._chosen(module, calls)
        if chosen is not None:
            place = self._link(chosen.file, chosen.line)
            step = Because(
                "write", chosen.name, chosen.file, chosen.line, chosen.function, url=place
            )
            return Cell("decided", chosen.name, because=(step,))
        return Cell("unknown", reason=reason or Reason("no-kernel-seen"))

    # -- calling ---------------------------------------------------------------------

    def _tensor(self, *shape: int, dtype: Any = None) -> Tensor:
        return make(shape, dtype or self._dtype, "cuda")

    def _linear(self, module: Any, method: Any) -> None:
        width = (
            attribute(module, "input_size_per_partition")
            or attribute(module, "input_size")
            or attribute(module, "embedding_dim")
        )
        guards.method(method, "apply", module, self._tensor(TOKENS, width), None)

    def _experts(self, name: str, module: Any) -> None:
        fused = attribute(module, "num_fused_shared_experts") or 0
        experts, top = module.num_experts - fused, attribute(module, "top_k") or 2
        hidden = self._tensor(TOKENS, module.hidden_size)
        float32, int32 = DTYPES["float32"], DTYPES["int32"]
        logits = self._tensor(TOKENS, experts, dtype=float32)
        output = None
        topk = self._modules.get(name.rpartition(".")[0] + ".topk")
        if topk is not None:
            with quiet():
                output = guards.call(topk, hidden, logits)
        if output is None:
            standard = self._load("sglang.srt.layers.moe.topk").StandardTopKOutput
            weights = self._tensor(TOKENS, top, dtype=float32)
            ids = self._tensor(TOKENS, top, dtype=int32)
            output = guards.call(standard, weights, ids, logits)
        guards.method(module, "forward", hidden, output)

    # -- choosing --------------------------------------------------------------------

    def _chosen(self, module: Any, calls: list[Call]) -> Call | None:
        """The last call that is given the largest of the layer's weights that any call is given."""
        weights = dict(_sizes(module))
        best: tuple[int, Call] | None = None
        for call in calls:
            size = max((weights.get(s, 0) for s in call.storages), default=0)
            if size and (best is None or size >= best[0]):
                best = (size, call)
        return best[1] if best is not None else None


def _sizes(module: Any) -> Iterator[tuple[int, int]]:
    """What a layer holds that may be a weight, by the identity of its memory, with its size in bytes."""
    for space in (
        module.__dict__,
        *(module.__dict__.get(s, {}) for s in ("_parameters", "_buffers")),
    ):
        for name, value in list(space.items()):
            if isinstance(value, Unknown):
                if "scale" not in name:
                    yield id(value), _LARGE
            elif isinstance(value, Tensor):
                if "_reason" in value.__dict__:
                    yield id(value._storage), _LARGE if "scale" not in name else 0
                elif value.ndim > 1:
                    yield id(value._storage), value._storage.size


def _is_of_the_layer(error: Exception) -> bool:
    """Whether a call fails for what the layer is, not for want of a batch around it.

    A forward says beforehand how its batch is laid out: what is missing of that, or asserted of it, is no
    failure of the layer.
    """
    if isinstance(error, AttributeError):
        return issubclass(type(error.obj), Module)
    return not isinstance(error, AssertionError)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing of the block is a kernel of the layer."""
    lists, RECORDER._lists = RECORDER._lists, []
    try:
        yield
    finally:
        RECORDER._lists = lists
