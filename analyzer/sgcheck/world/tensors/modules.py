"""`torch.nn`: modules that hold parameters, buffers and other modules, as torch's do."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.unknown import Unknown
from sgcheck.world.facade import not_modelled
from sgcheck.world.tensors.dtypes import DTYPES, FLOAT32, dtype
from sgcheck.world.tensors.dtypes import device as torch_device
from sgcheck.world.tensors.storage import known_names
from sgcheck.world.tensors.tensor import Tensor, make, take_over, view

_STORES = ("_parameters", "_buffers", "_modules")


class _ParameterMeta(type):
    """A tensor that was marked as a parameter counts as one."""

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(cls, value) or (
            cls is Parameter
            and issubclass(type(value), Tensor)
            and value.__dict__.get("_is_param") is True
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """`torch.nn.Parameter`: a tensor over the memory of the one that it is made of."""

    __module__ = "torch.nn"
    requires_grad = True

    def __new__(cls, data: Any = None, requires_grad: bool = True, **kwargs: Any) -> Any:
        if data is None:
            data = make((0,))
        if isinstance(data, Unknown):
            from sgcheck.world.tensors.opaque import OpaqueParameter, opaque

            return opaque(OpaqueParameter, data.reason)
        made = view(data, data._shape, data._strides, kind=cls, keep=True)
        made.requires_grad = requires_grad
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __repr__(self) -> str:
        return f"Parameter containing: {Tensor.__repr__(self)}"


class UninitializedParameter(Parameter):
    """`torch.nn.parameter.UninitializedParameter`."""

    __module__ = "torch.nn"

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it memory."""
        take_over(self, make(shape, dtype, device))
        kind: Any = getattr(type(self), "cls_to_become", Parameter)
        self.__class__ = kind


class Module:
    """`torch.nn.Module`."""

    __module__ = "torch.nn"
    training = True
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        space = self.__dict__
        for name in _STORES:
            space[name] = {}
        space["training"] = True
        space["_non_persistent_buffers_set"] = set()
        space["_forward_hooks"] = OrderedDict()
        space["_forward_pre_hooks"] = OrderedDict()

    # -- attributes ------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        space = self.__dict__
        parameters = space.get("_parameters")
        kind = type(value)
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(space, name)
            parameters[name] = value
        elif parameters is not None and name in parameters:
            if value is not None and not isinstance(value, Unknown):
                raise TypeError(
                    f"cannot assign '{kind.__name__}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            parameters[name] = value
        elif isinstance(value, Module):
            modules = space.get("_modules")
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(space, name)
            modules[name] = value
        elif name in space.get("_modules", ()):
            space["_modules"][name] = value
        elif name in space.get("_buffers", ()):
            space["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        space = self.__dict__
        for store in _STORES:
            held = space.get(store)
            if held is not None and name in held:
                return held[name]
        if not name.startswith("__") and name in known_names("Module"):
            return not_modelled(f"torch.nn.Module.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for store in _STORES:
            if name in self.__dict__.get(store, ()):
                del self.__dict__[store][name]
                return
        object.__delattr__(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a subclass computes."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def extra_repr(self) -> str:
        """What a subclass shows of itself."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # -- registration ------------------------------------------------------------------

    def register_parameter(self, name: str, param: Any) -> None:
        """Hold a parameter (or None) under a name."""
        self.__dict__["_parameters"][name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Hold a tensor that is no parameter."""
        self.__dict__.pop(name, None)
        self.__dict__["_buffers"][name] = tensor

    def register_module(self, name: str, module: Any) -> None:
        """Hold another module."""
        self.__dict__["_modules"][name] = module

    add_module = register_module

    def register_forward_hook(self, hook: Any, *args: Any, **kwargs: Any) -> Any:
        """Hooks are kept, not run."""
        self._forward_hooks[len(self._forward_hooks)] = hook
        return Handle()

    def register_forward_pre_hook(self, hook: Any, *args: Any, **kwargs: Any) -> Any:
        """Hooks are kept, not run."""
        self._forward_pre_hooks[len(self._forward_pre_hooks)] = hook
        return Handle()

    def register_load_state_dict_post_hook(self, hook: Any) -> Any:
        """Hooks are not run."""
        return Handle()

    _register_load_state_dict_pre_hook = register_load_state_dict_post_hook

    # -- walking -------------------------------------------------------------------------

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Every module inside, itself first."""
        seen: set[int] = set() if memo is None else memo
        todo: list[tuple[str, Module]] = [(prefix, self)]
        while todo:
            name, module = todo.pop()
            if id(module) in seen and remove_duplicate:
                continue
            seen.add(id(module))
            yield name, module
            inner = [
                (f"{name}.{key}" if name else key, part)
                for key, part in module._modules.items()
                if part is not None
            ]
            todo.extend(reversed(inner))

    def modules(self) -> Iterator[Module]:
        """Every module inside."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules held directly."""
        for name, module in list(self._modules.items()):
            if module is not None:
                yield name, module

    def children(self) -> Iterator[Module]:
        """Modules held directly."""
        for _, module in self.named_children():
            yield module

    def _held(
        self, store: str, prefix: str, recurse: bool, once: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules: Iterable[tuple[str, Module]] = (
            self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        )
        for name, module in modules:
            for key, value in list(module.__dict__[store].items()):
                if value is None or (once and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{name}.{key}" if name else key), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Parameters inside, by dotted name."""
        return self._held("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Parameters inside."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Buffers inside, by dotted name."""
        return self._held("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Buffers inside."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def state_dict(self, *args: Any, prefix: str = "", **kwargs: Any) -> dict[str, Any]:
        """Parameters and buffers by dotted name."""
        return dict([*self.named_parameters(prefix), *self.named_buffers(prefix)])

    def get_submodule(self, target: str) -> Any:
        """A module inside by dotted name. AttributeError where there is none."""
        found: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(found, part):
                raise AttributeError(f"{type(found).__name__} has no attribute `{part}`")
            found = getattr(found, part)
        return found

    def get_parameter(self, target: str) -> Any:
        """A parameter inside by dotted name."""
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    # -- changes that keep the structure ---------------------------------------------------

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Call a function with every module inside, itself last."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def _each(self, change: Callable[[Tensor], Tensor]) -> Module:
        for module in self.modules():
            for store in ("_parameters", "_buffers"):
                for value in module.__dict__[store].values():
                    if isinstance(value, Tensor):
                        take_over(value, change(value))
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Move or convert everything inside (a dtype touches floating point only)."""
        kinds = [a for a in (*args, *kwargs.values()) if isinstance(a, dtype)]
        found = [a for a in (*args, *kwargs.values()) if isinstance(a, (str, torch_device))]
        places = {"device": found[0]} if found else {}

        def change(tensor: Any) -> Tensor:
            floating = tensor.is_floating_point()
            made: Tensor = tensor.to(dtype=kinds[0] if kinds and floating else None, **places)
            return made

        return self._each(change)

    def cuda(self, device: Any = None) -> Module:
        """Move everything to the GPU."""
        return self._each(lambda tensor: tensor.cuda())

    def cpu(self) -> Module:
        """Move everything to the host."""
        return self._each(lambda tensor: tensor.cpu())

    def half(self) -> Module:
        """Convert floating point."""
        return self.to(DTYPES["float16"])

    def bfloat16(self) -> Module:
        """Convert floating point."""
        return self.to(DTYPES["bfloat16"])

    def float(self) -> Module:
        """Convert floating point."""
        return self.to(FLOAT32)

    def train(self, mode: bool = True) -> Module:
        """Set the mode of everything inside."""
        for module in self.modules():
            module.__dict__["training"] = mode
        return self

    def eval(self) -> Module:
        """Set the mode of everything inside."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Gradients are no part of serving."""
        return self

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Gradients are no part of serving."""

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiling changes no answer."""

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Values are not known before either."""
        return Unknown(Reason("tensor-value"), "load_state_dict()")

    def __deepcopy__(self, memo: Any) -> Module:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made


def _forget(space: dict[str, Any], name: str) -> None:
    """A name is about to be held in one store: the others and the instance have it no more."""
    space.pop(name, None)
    for store in _STORES:
        held = space.get(store)
        if held is not None:
            held.pop(name, None)


class Handle:
    """What registering a hook gives."""

    __module__ = "torch.utils.hooks"

    def remove(self) -> None:
        """Take the hook away."""
