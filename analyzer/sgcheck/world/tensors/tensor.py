"""`torch.Tensor`: shape, strides, dtype, device and the storage that views share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.facade import not_modelled
from sgcheck.world.tensors.dtypes import DEFAULTS, device, device_of, dtype
from sgcheck.world.tensors.shapes import Size, axis, contiguous, nested, reshaped, sizes, viewed
from sgcheck.world.tensors.storage import Storage, StorageFace, known_names

KNOWN_ELEMENTS = 4096
"""Tensors made from constants keep their values up to this many elements."""

MAX_ITERATED = 100_000


def value_reason(tensor: Tensor) -> Reason:
    """Why an element is not known: the weights and the inputs of a start are none."""
    return Reason("tensor-value", detail=f"an element of {tensor!r}")


class Tensor:
    """A tensor of which everything is known but its elements."""

    __module__ = "torch"

    _shape: tuple[int, ...]
    _strides: tuple[int, ...]
    _offset: int
    _dtype: dtype
    _device: device
    _storage: Storage
    _known: tuple[int, list[Any]] | None
    grad = None
    requires_grad = False
    is_meta = False
    is_sparse = is_quantized = is_nested = False
    is_leaf = True
    layout = "torch.strided"
    grad_fn = None

    def __getattr__(self, name: str) -> Any:
        if name in known_names("Tensor"):
            return not_modelled(f"torch.Tensor.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __init__(self, *shape: Any, **kwargs: Any) -> None:
        fill(self, sizes(shape) if shape else [0], DEFAULTS.dtype, device_of(None))

    # -- what it is ----------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size(self._shape)

    @property
    def dtype(self) -> dtype:
        return self._dtype

    @property
    def device(self) -> device:
        return self._device

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def is_cuda(self) -> bool:
        return self._device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self._device.type == "cpu"

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        return math.prod(self._shape) * self._dtype.itemsize

    @property
    def data(self) -> Tensor:
        return view(self, self._shape, self._strides, kind=Tensor)

    @data.setter
    def data(self, other: Tensor) -> None:
        take_over(self, other)

    def dim(self) -> int:
        return len(self._shape)

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self._shape[axis(dim, len(self._shape))]

    def stride(self, dim: int | None = None) -> Any:
        return self._strides if dim is None else self._strides[axis(dim, len(self._shape))]

    def numel(self) -> int:
        return math.prod(self._shape)

    nelement = numel

    def element_size(self) -> int:
        return self._dtype.itemsize

    def storage_offset(self) -> int:
        return self._offset

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        expected = contiguous(self._shape)
        return all(
            size <= 1 or have == want
            for size, have, want in zip(self._shape, self._strides, expected, strict=True)
        )

    def is_floating_point(self) -> bool:
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        return self._dtype.is_signed

    def is_pinned(self, *args: Any) -> bool:
        return False

    def get_device(self) -> int:
        return self._device.index or 0 if self.is_cuda else -1

    def data_ptr(self) -> int:
        return 16 * (id(self._storage) // 16) + self._offset * self._dtype.itemsize

    def untyped_storage(self) -> StorageFace:
        return StorageFace(self._storage)

    storage = untyped_storage

    # -- values --------------------------------------------------------------------

    def item(self) -> Any:
        found = values(self)
        if math.prod(self._shape) != 1:
            raise RuntimeError(
                f"a Tensor with {math.prod(self._shape)} elements cannot be converted to Scalar"
            )
        return found[0] if found is not None else Unknown(value_reason(self), "an element")

    def tolist(self) -> Any:
        found = values(self)
        if found is None:
            return Unknown(value_reason(self), "elements")
        return nested(found, self._shape)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        return not_modelled("torch.Tensor.numpy()")

    def __bool__(self) -> bool:
        found = self.item()
        return ASK[-1].truth(found) if isinstance(found, Unknown) else bool(found)

    def _number(self) -> Any:
        found = self.item()
        if isinstance(found, Unknown):
            raise Escape(found.reason)
        return found

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __index__(self) -> int:
        return int(self._number())

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d tensor")
        return self._shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._shape:
            raise TypeError("iteration over a 0-d tensor")
        if self._shape[0] > MAX_ITERATED:
            raise Escape(Reason("limit(size)"))
        return iter([self[index] for index in range(self._shape[0])])

    def __contains__(self, element: Any) -> bool:
        found = values(self)
        if found is None:
            raise Escape(value_reason(self))
        return element in found

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"tensor({list(self._shape)}, dtype={self._dtype}, device='{self._device}')"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __deepcopy__(self, memo: Any) -> Tensor:
        made = like(self, self._shape, carried=values(self))
        made.__class__ = type(self)
        extra = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        made.__dict__.update(extra)
        return made

    # -- views ---------------------------------------------------------------------

    def view(self, *shape: Any) -> Tensor:
        if len(shape) == 1 and isinstance(shape[0], dtype):
            from sgcheck.world.tensors.indexing import retyped

            return retyped(self, shape[0])
        wanted = reshaped(self._shape, sizes(shape))
        strides = viewed(self._shape, self._strides, wanted)
        if strides is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one "
                "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            )
        return view(self, wanted, strides, keep=True)

    def reshape(self, *shape: Any) -> Tensor:
        wanted = reshaped(self._shape, sizes(shape))
        strides = viewed(self._shape, self._strides, wanted)
        if strides is None:
            return like(self, wanted, carried=values(self))
        return view(self, wanted, strides, keep=True)

    def view_as(self, other: Tensor) -> Tensor:
        return self.view(*other._shape)

    def reshape_as(self, other: Tensor) -> Tensor:
        return self.reshape(*other._shape)

    def transpose(self, first: int, second: int) -> Tensor:
        a, b = axis(first, self.ndim), axis(second, self.ndim)
        order = list(range(self.ndim))
        if order:
            order[a], order[b] = order[b], order[a]
        return self.permute(*order)

    swapaxes = swapdims = transpose

    def t(self) -> Tensor:
        if self.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
            )
        return self.transpose(0, 1) if self.ndim == 2 else view(self, self._shape, self._strides)

    @property
    def T(self) -> Tensor:
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        return self.transpose(-2, -1)

    def permute(self, *dims: Any) -> Tensor:
        order = [axis(d, self.ndim) for d in sizes(dims)]
        if sorted(order) != list(range(self.ndim)):
            raise RuntimeError("permute(dims): the dimensions do not match the tensor's")
        shape = tuple(self._shape[d] for d in order)
        return view(self, shape, tuple(self._strides[d] for d in order))

    def unsqueeze(self, dim: int) -> Tensor:
        where = axis(dim, self.ndim + 1)
        inner = math.prod(self._shape[where:]) if where < self.ndim else 1
        shape = (*self._shape[:where], 1, *self._shape[where:])
        strides = (*self._strides[:where], inner, *self._strides[where:])
        return view(self, shape, strides, keep=True)

    def squeeze(self, dim: Any = None) -> Tensor:
        if dim is None:
            gone = {i for i, size in enumerate(self._shape) if size == 1}
        else:
            given = dim if isinstance(dim, (tuple, list)) else (dim,)
            gone = {a for a in (axis(d, self.ndim) for d in given) if self._shape[a] == 1}
        left = [i for i in range(self.ndim) if i not in gone]
        shape = tuple(self._shape[i] for i in left)
        return view(self, shape, tuple(self._strides[i] for i in left), keep=True)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        if not self._shape:
            return self.reshape(1)
        a, b = axis(start_dim, self.ndim), axis(end_dim, self.ndim)
        inner = math.prod(self._shape[a : b + 1])
        return self.reshape(*self._shape[:a], inner, *self._shape[b + 1 :])

    def unflatten(self, dim: int, into: Sequence[int]) -> Tensor:
        where = axis(dim, self.ndim)
        part = reshaped((self._shape[where],), into)
        return self.reshape(*self._shape[:where], *part, *self._shape[where + 1 :])

    def ravel(self) -> Tensor:
        return self.reshape(-1)

    def expand(self, *shape: Any) -> Tensor:
        wanted = sizes(shape)
        lead = len(wanted) - self.ndim
        if lead < 0:
            raise RuntimeError(
                "expand: the number of sizes must be greater or equal to the tensor's"
            )
        out, strides = [], []
        for index, size in enumerate(wanted):
            have = self._shape[index - lead] if index >= lead else 1
            size = have if size == -1 else size
            if have not in (1, size):
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) must match the existing size ({have}) "
                    f"at non-singleton dimension {index}."
                )
            out.append(size)
            same = index >= lead and have == size
            strides.append(self._strides[index - lead] if same else 0)
        return view(self, tuple(out), tuple(strides))

    def expand_as(self, other: Tensor) -> Tensor:
        return self.expand(*other._shape)

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        where = axis(dim, self.ndim)
        index = [slice(None)] * where + [slice(start, start + length)]
        if start + length > self._shape[where]:
            raise RuntimeError(
                f"start ({start}) + length ({length}) exceeds dimension size ({self._shape[where]})."
            )
        made: Tensor = self[tuple(index)]
        return made

    def select(self, dim: int, index: int) -> Tensor:
        made: Tensor = self[(*(slice(None),) * axis(dim, self.ndim), index)]
        return made

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        return tuple(self.select(dim, i) for i in range(self._shape[axis(dim, self.ndim)]))

    def split(self, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
        where = axis(dim, self.ndim)
        total = self._shape[where]
        if isinstance(size, int):
            if size <= 0:
                raise RuntimeError(f"split expects split_size be non-negative, but got {size}")
            parts = [min(size, total - start) for start in range(0, total, size)] or [0]
        else:
            parts = [int(s) for s in size]
            if sum(parts) != total:
                raise RuntimeError(
                    f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's "
                    f"size at dimension {where}), but got split_sizes={parts}"
                )
        out, start = [], 0
        for part in parts:
            out.append(self.narrow(where, start, part))
            start += part
        return tuple(out)

    split_with_sizes = split

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        total = self._shape[axis(dim, self.ndim)]
        return self.split(max(-(-total // chunks), 1), dim)

    def tensor_split(self, parts: int, dim: int = 0) -> tuple[Tensor, ...]:
        total = self._shape[axis(dim, self.ndim)]
        each, more = divmod(total, parts)
        return self.split([each + (i < more) for i in range(parts)], dim)

    def as_strided(self, size: Sequence[int], stride: Sequence[int], offset: Any = None) -> Tensor:
        return view(self, tuple(size), tuple(stride))

    def detach(self) -> Tensor:
        return view(self, self._shape, self._strides, kind=Tensor, keep=True)

    def alias(self) -> Tensor:
        return self.detach()

    def __getitem__(self, index: Any) -> Any:
        from sgcheck.world.tensors.indexing import indexed

        return indexed(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from sgcheck.world.tensors.indexing import indexed

        indexed(self, index)
        written(self)


# -- making tensors ----------------------------------------------------------------------


def fill(
    tensor: Tensor,
    shape: Sequence[int],
    kind: dtype,
    where: device,
    elements: list[Any] | None = None,
) -> None:
    """Give a new tensor its storage."""
    shape = tuple(shape)
    if any(size < 0 for size in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(shape)}")
    tensor._shape, tensor._strides, tensor._offset = shape, contiguous(shape), 0
    tensor._dtype, tensor._device = kind, where
    on_device = where.type == "cuda"
    tensor._storage = Storage(math.prod(shape) * kind.itemsize, on_device)
    tensor._known = (0, elements) if elements is not None else None


def make(
    shape: Sequence[int],
    kind: dtype | None = None,
    where: Any = None,
    elements: list[Any] | None = None,
    cls: type[Tensor] = Tensor,
) -> Tensor:
    """A tensor of its own memory."""
    made = object.__new__(cls)
    fill(made, shape, kind or DEFAULTS.dtype, device_of(where), elements)
    return made


def like(
    tensor: Tensor,
    shape: Sequence[int] | None = None,
    kind: dtype | None = None,
    where: Any = None,
    carried: list[Any] | None = None,
) -> Tensor:
    """A new tensor of the same dtype and device unless said otherwise."""
    return make(
        tensor._shape if shape is None else shape,
        kind or tensor._dtype,
        tensor._device if where is None else where,
        carried,
    )


def view(
    base: Tensor,
    shape: Sequence[int],
    strides: Sequence[int],
    *,
    offset: int | None = None,
    kind: type[Tensor] | None = None,
    keep: bool = False,
) -> Tensor:
    """A tensor over the storage of another. `keep`: its elements are the same in the same order."""
    made = object.__new__(kind or Tensor)
    made._shape, made._strides = tuple(shape), tuple(strides)
    made._offset = base._offset if offset is None else offset
    made._dtype, made._device, made._storage = base._dtype, base._device, base._storage
    made._known = base._known if keep or made._shape == base._shape else None
    return made


def take_over(tensor: Tensor, other: Any) -> None:
    """`tensor.data = other`."""
    reason = other.reason if isinstance(other, Unknown) else getattr(other, "_reason", None)
    if reason is not None:
        from sgcheck.world.tensors.opaque import become_opaque

        become_opaque(tensor, reason)
        return
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    for name in ("_shape", "_strides", "_offset", "_dtype", "_device", "_storage", "_known"):
        setattr(tensor, name, getattr(other, name))


def values(tensor: Tensor) -> list[Any] | None:
    """The elements, row by row, where they are known."""
    known = tensor._known
    if known is None or known[0] != tensor._storage.version:
        return None
    return known[1]


def written(tensor: Tensor) -> None:
    """Something writes to the tensor: what its memory holds is not known any more."""
    tensor._storage.version += 1
