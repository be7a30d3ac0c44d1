"""`torch.cuda` while a start runs: streams, events, and the memory that is free."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from sgcheck.world.tensors.ledger import LEDGER


class Stream:
    """`torch.cuda.Stream`: work on it is done at once."""

    __module__ = "torch.cuda"
    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def wait_stream(self, *args: Any) -> None:
        """Nothing to wait for."""

    wait_event = synchronize = wait_stream

    def record_event(self, *args: Any) -> Event:
        """An event that has happened."""
        return Event()

    def query(self) -> bool:
        """Done."""
        return True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


class Event:
    """`torch.cuda.Event`."""

    __module__ = "torch.cuda"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, *args: Any) -> None:
        """Happens at once."""

    wait = synchronize = record

    def query(self) -> bool:
        """Done."""
        return True


def names(free: int, total: int) -> dict[str, Any]:
    """Streams and memory; `free` and `total` are bytes of an idle GPU."""
    current = Stream()

    def info(*args: Any, **kwargs: Any) -> tuple[int, int]:
        return max(free - LEDGER.allocated, 0), total

    return {
        "Stream": Stream,
        "Event": Event,
        "ExternalStream": Stream,
        "current_stream": lambda *a, **k: current,
        "default_stream": lambda *a, **k: current,
        "set_stream": lambda *a, **k: None,
        "stream": lambda *a, **k: nullcontext(),
        "device": lambda *a, **k: nullcontext(),
        "memory_allocated": lambda *a, **k: LEDGER.allocated,
        "memory_reserved": lambda *a, **k: LEDGER.allocated,
        "max_memory_allocated": lambda *a, **k: LEDGER.peak,
        "max_memory_reserved": lambda *a, **k: LEDGER.peak,
        "reset_peak_memory_stats": lambda *a, **k: None,
        "reset_max_memory_allocated": lambda *a, **k: None,
        "memory_stats": lambda *a, **k: {},
        "ipc_collect": lambda *a, **k: None,
        "manual_seed": lambda *a, **k: None,
        "manual_seed_all": lambda *a, **k: None,
        "_lazy_init": lambda *a, **k: None,
        "is_current_stream_capturing": lambda *a, **k: False,
        "mem_get_info": info,
    }
