"""Modules of torch that hold others: lists, sequences and dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sgcheck.world.tensors.modules import Module


class ModuleList(Module):
    """`torch.nn.ModuleList`."""

    __module__ = "torch.nn"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        for module in modules or ():
            self.append(module)

    def append(self, module: Any) -> ModuleList:
        """Add one at the end."""
        self._modules[str(len(self._modules))] = module
        return self

    def extend(self, modules: Any) -> ModuleList:
        """Add several."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> None:
        """Put one before another."""
        content = list(self._modules.values())
        content.insert(index, module)
        self.__dict__["_modules"] = {str(i): each for i, each in enumerate(content)}

    def _key(self, index: Any) -> str:
        count = len(self._modules)
        number = index.__index__()
        if not -count <= number < count:
            raise IndexError(f"index {number} is out of range")
        return str(number % count)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, module: Any) -> None:
        self._modules[self._key(index)] = module

    def __delitem__(self, index: Any) -> None:
        del self._modules[self._key(index)]
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __contains__(self, module: Any) -> bool:
        return any(module is each for each in self._modules.values())


class Sequential(ModuleList):
    """`torch.nn.Sequential`."""

    __module__ = "torch.nn"

    def __init__(self, *modules: Any) -> None:
        Module.__init__(self)
        if len(modules) == 1 and isinstance(modules[0], dict):
            self._modules.update(modules[0])
            return
        for module in modules:
            self.append(module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self._modules.values())[index])
        return super().__getitem__(index)

    def forward(self, value: Any) -> Any:
        """Each in turn."""
        for module in self:
            value = module(value)
        return value


class ModuleDict(Module):
    """`torch.nn.ModuleDict`."""

    __module__ = "torch.nn"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> None:
        """Hold several by name."""
        self._modules.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self._modules[key] = module

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._modules))

    def keys(self) -> Any:
        """Names."""
        return self._modules.keys()

    def values(self) -> Any:
        """Modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()


class ParameterList(ModuleList):
    """`torch.nn.ParameterList`."""

    __module__ = "torch.nn"

    def append(self, parameter: Any) -> ParameterList:
        """Add one at the end."""
        self._parameters[str(len(self._parameters))] = parameter
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))

    def __getitem__(self, index: Any) -> Any:
        return list(self._parameters.values())[index]
