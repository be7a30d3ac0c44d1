"""An interpreter made ready for one machine, which many launches may share."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import Any

from sgcheck.interp.access import module_names
from sgcheck.interp.interpreter import Interpreter
from sgcheck.interp.loader import TreeModule
from sgcheck.resolve.parser_memo import ParserMemo
from sgcheck.resolve.places import Place
from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.cache import CodeCache
from sgcheck.values.signals import Escape
from sgcheck.world import unknown_inputs
from sgcheck.world.facade import Facade
from sgcheck.world.target import TargetSpec
from sgcheck.world.world import Packages, World

BASE_ENVIRONMENT: dict[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/home/user",
    # The model lies on the local disk: nothing of the prediction may depend on a hub.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


class Machine:
    """One target with one set of packages. What module bodies read of the environment is fixed.

    `stand_in` is the transformers release whose facts stand for a pinned one that is not recorded;
    `one_of_many` says that there have been other machines, so that it will serve many launches.
    """

    def __init__(
        self,
        code: CodeCache,
        target: TargetSpec,
        packages: Packages,
        env: Mapping[str, str | None],
        pins: Mapping[str, str],
        stand_in: str | None = None,
        *,
        one_of_many: bool = False,
    ) -> None:
        self.env = launch_environment(env)
        self.fields: dict[str, Any] | None = None
        """Fields of the record class with their defaults, once its module has run."""
        self.record: type | None = None
        self.entry: Any = None
        """The module of the record class, once it has run and can be entered."""
        self.places: dict[str, Place] | None = None
        """Where the fields are declared, once somebody has asked."""
        self.world = World(
            target,
            packages,
            self.env,
            torch_version=pins.get("torch", ""),
            transformers=self._transformers,
        )
        self.world.files.tree = code.tree
        self.world.transformers_version = pins.get("transformers", "")
        self._pins = pins
        self._stand_in = stand_in
        self.interpreter = Interpreter(code, self.world)
        self.interpreter.loader.environ = self.world.environ
        self.parser = ParserMemo(self.world, self.interpreter.loader.modules, at_once=one_of_many)

    def fits(self, env: Mapping[str, str | None], unknown_env: Sequence[str] = ()) -> bool:
        """Whether module bodies would have read the same under another launch's environment."""
        return self.world.environ.fits(launch_environment(env), unknown_env)

    def forget_environment(self, names: Sequence[str]) -> None:
        """Let environment variables be unknown to the module bodies that run from here on."""
        for name in names:
            self.world.environ.content[name] = unknown_inputs.environment(name)

    def env_for(self, launch: Any) -> dict[str, str]:
        """The environment at the start of a launch."""
        return launch_environment(launch.env)

    def close(self) -> None:
        """Let the garbage collector have the memory; the machine answers no launch any more.

        It would not find it otherwise: factories of msgspec's fields refer to functions
        without telling it, and the standard library remembers `Optional[X]` by the class in it.
        """
        for module in self.interpreter.loader.modules.values():
            if isinstance(module, TreeModule):
                module_names(module).clear()
        for forget in getattr(typing, "_cleanups", ()):
            forget()

    def _transformers(self, world: World) -> Mapping[str, Any]:
        from sgcheck.world import transformers, unknown_transformers
        from sgcheck.world.tensors.dtypes import DTYPES, dtype

        logging: Facade = world.import_module("logging")
        modules = transformers.build_modules(
            self._pins.get("transformers", ""),
            world.files,
            dtype_of=lambda name: _dtype(DTYPES, name),
            is_dtype=lambda value: isinstance(value, dtype),
            get_logger=logging.getLogger,
            remote_code=self._remote_code,
            lacks_code=world.files.lacks_code,
            stand_in=self._stand_in,
        )
        unknown_transformers.install(
            modules["transformers"], world.files, self._pins.get("transformers", "")
        )
        return modules

    def _remote_code(self, folder: str, file: str, name: str) -> type:
        """The configuration class that a checkpoint brings along, run under the same guards."""
        try:
            source = self.world.files.read(f"{folder}/{file}")
        except OSError:
            source = None
        if source is None:
            raise Escape(Reason(f"not-modelled(remote-code {file}:{name})", detail=folder))
        module = self.interpreter.loader.run_source(
            f"transformers_modules.{file.removesuffix('.py')}", file, source
        )
        found: type = getattr(module, name)
        return found


def _dtype(dtypes: Mapping[str, Any], name: str) -> Any:
    try:
        return dtypes[name]
    except KeyError:
        raise AttributeError(name) from None


def launch_environment(env: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of a launch: a bare one, changed by what the user says."""
    result = dict(BASE_ENVIRONMENT)
    for name, value in env.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result
