"""Enter a start as the launcher does: publish the arguments, then construct the scheduler."""

from __future__ import annotations

import inspect
from typing import Any

from sgcheck.interp import guards
from sgcheck.interp.interpreter import Interpreter
from sgcheck.world.start_models import WorkersBuilt
from sgcheck.world.tensors.distributed import PROCESSES
from sgcheck.world.tensors.dtypes import DEFAULTS
from sgcheck.world.tensors.ledger import LEDGER

SCHEDULER = "sglang.srt.managers.scheduler"
_RANKS = ("gpu_id", "tp_rank", "moe_ep_rank", "pp_rank", "attn_cp_rank", "moe_dp_rank")


class Ports:
    """Ports and socket names of the processes: any free one does, and nothing is decided by it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 50000 if name.endswith("port") else f"ipc:///tmp/{name}"


def enter(interpreter: Interpreter, record: Any) -> None:
    """Build the workers of rank 0 from resolved arguments. Raises what the tree raises."""
    interpreter.world.started.reset()
    PROCESSES.reset()
    DEFAULTS.reset()
    LEDGER.reset()
    interpreter.loader.see_registrations()
    module = interpreter.module(SCHEDULER)
    scheduler = module.Scheduler
    given: dict[str, Any] = {
        "server_args": record,
        "port_args": Ports(),
        **dict.fromkeys(_RANKS, 0),
    }
    given["dp_rank"] = 0 if getattr(record, "dp_size", 1) > 1 else None
    wanted = inspect.signature(scheduler.__init__).parameters
    if hasattr(module, "publish") and not hasattr(module, "SpawnRanks"):
        guards.call(module.publish, record, role="scheduler")
    elif hasattr(module, "publish"):
        rank = guards.call(module.spawn_world_rank, record, tp_rank=0, pp_rank=0)
        ranks = guards.call(module.SpawnRanks, world_rank=rank, dp_rank=None, gpu_id=0)
        guards.call(module.publish, record, role="scheduler", ranks=ranks)
    elif hasattr(module, "set_global_server_args_for_scheduler"):
        guards.call(module.set_global_server_args_for_scheduler, record)
    try:
        guards.call(scheduler, **{name: given[name] for name in given if name in wanted})
    except WorkersBuilt:
        return
