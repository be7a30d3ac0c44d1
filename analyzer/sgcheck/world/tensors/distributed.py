"""`torch.distributed` for one rank of many in one process: groups are lists of ranks.

Collectives change nothing: every element that they would exchange is unknown anyhow. What they
exchange of Python objects is what this rank itself gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from sgcheck.world.tensors.recorder import record
from sgcheck.world.tensors.tensor import Tensor, written


class ProcessGroup:
    """Ranks that talk to each other."""

    __module__ = "torch.distributed"

    def __init__(self, ranks: Sequence[int] = (0,), rank: int = 0) -> None:
        self._ranks, self._rank = list(ranks), rank

    def rank(self) -> int:
        """This process's place in the group; -1 outside."""
        return self._ranks.index(self._rank) if self._rank in self._ranks else -1

    def size(self) -> int:
        """The number of ranks."""
        return len(self._ranks)

    @property
    def bound_device_id(self) -> None:
        return None


class Work:
    """What an asynchronous collective gives: it is done."""

    __module__ = "torch.distributed"

    def wait(self, *args: Any) -> bool:
        """Done."""
        return True

    def is_completed(self) -> bool:
        """Done."""
        return True


ReduceOp = IntEnum(
    "ReduceOp", ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"], start=0
)
"""`torch.distributed.ReduceOp`, as far as it is named."""


class Backend(str):
    """`torch.distributed.Backend`."""

    __module__ = "torch.distributed"
    __slots__ = ()
    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl"


class Processes:
    """The state of `torch.distributed` in this process."""

    def __init__(self) -> None:
        self.world: ProcessGroup | None = None

    def reset(self) -> None:
        """As a process starts."""
        self.world = None

    def _group(self, group: Any) -> ProcessGroup:
        found = group if isinstance(group, ProcessGroup) else self.world
        if found is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        return found

    def init(self, *args: Any, world_size: int = -1, rank: int = -1, **kwargs: Any) -> None:
        """`init_process_group`."""
        if self.world is not None:
            raise ValueError("trying to initialize the default process group twice!")
        count = max(world_size, 1)
        self.world = ProcessGroup(range(count), max(rank, 0))

    def destroy(self, group: Any = None) -> None:
        """`destroy_process_group`."""
        if group is None or group is self.world:
            self.world = None

    def new_group(self, ranks: Any = None, *args: Any, **kwargs: Any) -> ProcessGroup:
        """`new_group`."""
        world = self._group(None)
        return ProcessGroup(world._ranks if ranks is None else list(ranks), world._rank)

    def all_reduce(self, tensor: Any, op: Any = None, group: Any = None, **kwargs: Any) -> Any:
        """All ranks hold what this one holds: the least and the greatest of it are the same."""
        record("torch.distributed.all_reduce", (tensor,), {})
        if op not in (ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG) and self._group(group).size() > 1:
            written(tensor)
        return Work() if kwargs.get("async_op") else None

    def names(self) -> dict[str, Any]:
        """What the module offers."""
        return {
            "is_available": lambda: True,
            "is_nccl_available": lambda: True,
            "is_gloo_available": lambda: True,
            "is_initialized": lambda: self.world is not None,
            "init_process_group": self.init,
            "destroy_process_group": self.destroy,
            "new_group": self.new_group,
            "get_rank": lambda group=None: self._group(group).rank(),
            "get_world_size": lambda group=None: self._group(group).size(),
            "get_backend": lambda group=None: "nccl",
            "get_process_group_ranks": lambda group=None: list(self._group(group)._ranks),
            "get_group_rank": lambda group, rank: self._group(group)._ranks.index(rank),
            "get_global_rank": lambda group, rank: self._group(group)._ranks[rank],
            "barrier": _collective("barrier"),
            "monitored_barrier": _collective("monitored_barrier"),
            **{name: _collective(name) for name in _COLLECTIVES},
            "all_reduce": self.all_reduce,
            "broadcast": _collective("broadcast", keeps=True),
            "all_gather_object": _gathered,
            "gather_object": _gathered,
            "broadcast_object_list": lambda *a, **k: None,
            "scatter_object_list": lambda *a, **k: None,
            "ProcessGroup": ProcessGroup,
            "Work": Work,
            "Backend": Backend,
            "ReduceOp": ReduceOp,
            "group": type("group", (), {"__module__": "torch.distributed", "WORLD": None}),
        }


PROCESSES = Processes()


_COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
    "all_to_all_single", "send", "recv", "isend", "irecv", "gather", "scatter", "_all_gather_base", "_reduce_scatter_base",
)  # fmt: skip


def _collective(name: str, keeps: bool = False) -> Callable[..., Any]:
    """`keeps`: the elements that this rank has are those that all get."""

    def run(*args: Any, **kwargs: Any) -> Any:
        record(f"torch.distributed.{name}", args, {})
        for value in () if keeps else args:
            if isinstance(value, Tensor):
                written(value)
        return Work() if kwargs.get("async_op") else None

    run.__name__ = name
    return run


def _gathered(target: Any, given: Any, *args: Any, **kwargs: Any) -> None:
    """Each rank gives what this one gives."""
    first, second = target, given
    if isinstance(second, list) and not isinstance(first, list):
        first, second = second, first  # gather_object(object, list)
    if isinstance(first, list):
        first[:] = [second] * len(first)
