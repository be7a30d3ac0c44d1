"""The world of one interpreter: every module outside the tree, for one target and environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any, Protocol

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world import (
    compressed_tensors_,
    function_models,
    installed_,
    model_registry,
    numpy_,
    packages_,
    start_models,
    torch_,
    unknown_inputs,
)
from sgcheck.world.class_names import class_names
from sgcheck.world.facade import Facade, LazyFacade
from sgcheck.world.files import Files
from sgcheck.world.libraries import Libraries
from sgcheck.world.stdlib import (
    argparse_,
    contextvars_,
    dataclasses_,
    files_,
    functools_,
    futures_,
    language,
    logging_,
    pkgutil_,
    pure,
    system,
)
from sgcheck.world.stdlib.environment import Environ
from sgcheck.world.target import TargetSpec
from sgcheck.world.tensors.torch_layers import Activations, PreTrainedModel, RopeFunctions
from sgcheck.world.unknown_model import UnknownModels


class Packages(Protocol):
    """What is installed beside SGLang."""

    def has_module(self, top: str) -> bool | None: ...

    def has_dist(self, dist: str) -> bool | None: ...

    def version(self, dist: str) -> str | None: ...


_BESIDE: dict[str, dict[str, Any]] = {
    "transformers": {"PreTrainedModel": PreTrainedModel, "ROPE_INIT_FUNCTIONS": RopeFunctions()},
    "transformers.modeling_utils": {"PreTrainedModel": PreTrainedModel},
    "transformers.modeling_rope_utils": {"ROPE_INIT_FUNCTIONS": RopeFunctions()},
    # Nothing lies in the cache of the hub: models are folders on the disk.
    "huggingface_hub": {"try_to_load_from_cache": lambda *a, **k: None},
}
"""What a start uses of transformers and the hub beside configurations."""


class World:
    """Modules by name, built when they are first imported."""

    def __init__(
        self,
        target: TargetSpec,
        packages: Packages,
        env: Mapping[str, str],
        *,
        torch_version: str,
        transformers: Callable[[World], Mapping[str, Any]] | None = None,
    ) -> None:
        self.target = target
        self.packages = packages
        self.files = Files()
        self.started = start_models.Started()
        self.environ = Environ(dict(env))
        self.log = logging_.Log(lambda: self.environ.importing)
        self.argv = ["sglang.launch_server"]
        self.argv_looks = 0
        """How often `sys.argv` was looked at."""
        self.argv_known = False
        """Whether the body of a module has looked, which may have kept it."""
        self.transformers_version = ""
        self._torch_version = torch_version
        self._transformers = transformers
        self._transformers_modules: Mapping[str, Any] | None = None
        self._ready: dict[str, Any] = {}
        self._libraries = Libraries(packages, self.import_module, target.capability)

    def attach(
        self,
        load: Callable[[str], Any],
        loaded: dict[str, Any],
        evaluate: Any,
        modules: dict[str, Any],
        locate: Any,
        compiled: dataclasses_.Compiled,
    ) -> None:
        """Connect to the interpreter that asks; its loader answers imports by name."""
        self._load = load
        path_modules = files_.build(self.files)
        ready: dict[str, Any] = {
            **language.build(evaluate, modules),
            **logging_.build(self.log),
            **path_modules,
            **system.build_machine_modules(),
            **system.build_importlib(load, self._present, self._version, loaded, locate),
            "functools": functools_.build(),
            **futures_.build(),
            **numpy_.build(),
            "dataclasses": dataclasses_.build(compiled),
            "argparse": argparse_.build(),
            "contextvars": contextvars_.build(),
            "pkgutil": pkgutil_.build(load, self.files),
            "os": system.build_os(self.environ, self.files, path_modules["os.path"]),
            "sys": system.build_sys(loaded, self.argv, self._argv_looked),
            "subprocess": system.build_subprocess(self._run_command),
            **packages_.build(self.target.capability, self._torch_version),
        }
        ready["shutil"].__dict__["which"] = lambda name, *a, **k: (
            f"/usr/bin/{name}" if name == "nvidia-smi" else None
        )
        self._ready = ready

    def _argv_looked(self) -> None:
        self.argv_looks += 1
        self.argv_known = self.argv_known or self.environ.importing

    def enter(self, launch: Any, env: Mapping[str, str], argv: list[str]) -> None:
        """Begin a launch (inside a session): its environment, its arguments, its files."""
        from sgcheck.interp.runtime import RUNTIME

        journal = RUNTIME.journal
        assert journal is not None
        for container in (
            self.argv,
            self.files.content,
            self.files.folders,
            self.files.unrecorded,
            self.files.mounted,
            self.log.records,
        ):
            journal.container(container)
        self.environ.enter(env)
        for name in launch.unknown_env:
            self.environ.content[name] = unknown_inputs.environment(name)
        self.argv[1:] = argv
        self.log.records.clear()
        if launch.model.path is not None:
            self.files.mount(launch.model.path, launch.model.files, launch.model.listing)
        for path, facts in launch.folders.items():
            self.files.mount(path, facts.files, facts.listing)
        self.files.unrecorded.update(
            (self.files.absolute(path), True)
            for path, facts in ((launch.model.path, launch.model), *launch.folders.items())
            if path is not None and not facts.code_recorded
        )
        for path, data in launch.files.items():
            self.files.write(path, data)
        texts = [*argv, *(value for value in launch.env.values() if value is not None)]
        texts += [data.decode("utf-8", "replace") for data in launch.files.values()]
        self.files.host.enter(texts, self.files.absolute, launch.host)

    def forget_models(
        self,
        paths: Mapping[str, str],
        code: Iterable[CodeType],
        given: Mapping[str, Any] | None = None,
    ) -> None:
        """Let the models at these paths be unknown (`{}`: none), but for what is `given` of them."""
        models = UnknownModels() if paths else None
        if models is not None:
            models.roots = {self.files.absolute(path): label for path, label in paths.items()}
            models.names = class_names(code)
            models.base = self.config_base()
            models.given = {f"model.{name}": value for name, value in (given or {}).items()}
        self.files.unknown = models

    def adapt(self, name: str, space: dict[str, Any]) -> None:
        """Replace functions of a module that are modelled (see `function_models`)."""
        function_models.adapt(name, space, self.files, self.transformers_version)
        start_models.adapt(name, space, self.started)

    def intercept(self, name: str) -> Callable[[str, Any], Any] | None:
        """What the top level of a module binds goes through this, where it is modelled."""
        if name.endswith(".models.registry") and self.files.tree is not None:
            return model_registry.binding(self.files.tree, self._load)
        return None

    def config_base(self) -> type:
        """transformers' base class of configurations."""
        found: type = self.import_module("transformers").PretrainedConfig
        return found

    # -- modules -------------------------------------------------------------------

    def import_module(self, name: str) -> Any:
        """A module of the world; raises ModuleNotFoundError for what is not installed."""
        found = self._ready.get(name)
        if found is not None:
            return found
        top = name.split(".", maxsplit=1)[0]
        module: Any = pure.build(name)
        if module is None and top == "torch":
            for key, value in torch_.build(self.target, self._torch_version).items():
                self._ready.setdefault(key, value)
            module = self._ready.get(name)
        if module is None and top in ("transformers", "huggingface_hub"):
            module = self._transformers_module(name)
        if module is None:
            present = self._present(name)
            if present is None:
                raise Escape(Reason(f"package-not-known({top})"))
            if not present:
                raise ModuleNotFoundError(f"No module named {top!r}", name=top)
            library = self._libraries.of(top)
            if top == "compressed_tensors":
                for key, value in compressed_tensors_.build().items():
                    self._ready.setdefault(key, value)
            module = self._ready.get(name)
            if module is None and library is not None:
                module = library.module(name)
                module.__dict__.update(installed_.names_of(name, self.target))
            if module is None:
                module = installed_.build(name, self.target)
            if name in _BESIDE:
                module.__dict__.update(_BESIDE[name])
            if name == "transformers.activations":
                module.__dict__["ACT2FN"] = Activations()
            if name == "huggingface_hub.utils":
                module.__dict__["logging"] = self._hub_logging()
            if name == top:
                module.__dict__.setdefault("__version__", self._version_of(top))
        self._ready[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            holder = self.import_module(parent)
            if isinstance(holder, Facade):
                holder.__dict__.setdefault(child, module)
        return module

    def _transformers_module(self, name: str) -> Any:
        if self._transformers is None:
            return None
        if self._transformers_modules is None:
            self._transformers_modules = self._transformers(self)
        if name not in self._transformers_modules:
            return None
        names = self._transformers_modules[name]
        if names is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        modules = self._transformers_modules
        made = LazyFacade(
            name,
            names,
            lambda full: self.import_module(full) if modules.get(full) is not None else None,
        )
        made.__dict__.update(_BESIDE.get(name, {}))
        return made

    def _hub_logging(self) -> Facade:
        """The hub's own logging: it decides nothing."""
        logging: Facade = self.import_module("logging")
        names = {
            "get_logger": lambda name="huggingface_hub": logging.getLogger(name),
            **dict.fromkeys(
                ("enable_propagation", "disable_propagation", "set_verbosity"), lambda *a: None
            ),
        }
        return Facade("huggingface_hub.utils.logging", names)

    # -- what is installed ---------------------------------------------------------

    def _present(self, name: str) -> bool | None:
        top = name.split(".", maxsplit=1)[0]
        return (
            top in self._ready
            or top in pure.PURE
            or top in sys.stdlib_module_names
            or self.packages.has_module(top)
        )

    def _version(self, dist: str) -> str:
        found = self.packages.version(dist)
        if found is not None:
            return found
        if self.packages.has_dist(dist) is False:
            raise LookupError(dist)
        raise Escape(Reason(f"package-version-not-known({dist})"))

    def _version_of(self, top: str) -> Any:
        """`__version__` of an installed package; its distribution may have another name."""
        for dist in (top, f"{top}-python", top.replace("_", "-")):
            found = self.packages.version(dist)
            if found is not None:
                return found
        return Unknown(Reason(f"package-version-not-known({top})"), f"{top}.__version__")

    def _run_command(self, words: list[str]) -> tuple[int, Any]:
        """`nvidia-smi` answers memory and capability; other programs are not there."""
        if not words or words[0].rsplit("/", 1)[-1] != "nvidia-smi":
            raise FileNotFoundError(2, "No such file or directory", words[0] if words else "")
        text = " ".join(words[1:])
        target = self.target
        capability = "{}.{}".format(*target.capability) if target.capability else ""
        answers = {
            "memory.total": target.nvidia_smi_memory or "",
            "compute_cap": capability,
            "name": target.gpu_name or "",
        }
        for key, value in answers.items():
            if f"--query-gpu={key} " in text + " ":
                return 0, self._per_gpu(f"{value}\n".__mul__)
        if "-L" in words or "--list-gpus" in words:
            line = f"GPU {{}}: {target.gpu_name} (UUID: GPU-0)\n"
            return 0, self._per_gpu(lambda count: "".join(map(line.format, range(count))))
        return 1, ""

    def _per_gpu(self, text: Callable[[int], str]) -> Any:
        """What a program prints for each GPU, also where their number is not known."""
        count = unknown_inputs.gpu_count(self.target)
        if isinstance(count, Unknown):
            return ASK[-1].apply(text, (count,), {})
        return text(count or 0)
