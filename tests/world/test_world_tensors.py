"""A torch without values: shapes, strides, dtypes, known elements, and device memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.values.unknown import Unknown
from sgcheck.world.tensors import operators, shapes
from sgcheck.world.tensors.dtypes import DTYPES, device, promoted
from sgcheck.world.tensors.factories import FACTORIES
from sgcheck.world.tensors.ledger import LEDGER
from sgcheck.world.tensors.modules import Module, Parameter
from sgcheck.world.tensors.torch_layers import LAYERS

empty: Any = FACTORIES["empty"]
tensor: Any = FACTORIES["tensor"]
torch: Any = operators.FUNCTIONS


def test_views_share_memory_and_know_their_strides() -> None:
    base = empty(4, 6, dtype=DTYPES["bfloat16"], device="cuda")
    turned = base.t()
    assert (turned.shape, turned.stride()) == ((6, 4), (1, 6))
    assert not turned.is_contiguous()
    assert turned.contiguous().stride() == (4, 1)
    assert turned._storage is base._storage
    with pytest.raises(RuntimeError):
        turned.view(24)
    assert turned.reshape(24).shape == (24,)
    assert base[:, 1::2].stride() == (6, 2)
    assert base.view(DTYPES["uint8"]).shape == (4, 12)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x.unsqueeze(0).expand(5, -1, -1), (5, 2, 6)),
        (lambda x: x.transpose(-1, 0), (6, 2)),
        (lambda x: x.flatten(), (12,)),
        (lambda x: x.chunk(4, dim=1)[2], (2, 2)),
        (lambda x: x.repeat(2, 3), (4, 18)),
        (lambda x: x.sum(dim=1, keepdim=True), (2, 1)),
        (lambda x: x.max(dim=0).values, (6,)),
        (lambda x: x @ x.t(), (2, 2)),
        (lambda x: x[None, ..., 3], (1, 2)),
    ],
)
def test_operations_give_the_shapes_of_torch(function: Any, shape: tuple[int, ...]) -> None:
    assert function(empty(2, 6)).shape == shape


def test_elements_of_constants_are_known_until_something_writes() -> None:
    known = tensor([1, 2, 3])
    assert (known * 2).tolist() == [2, 4, 6]
    assert known[1].item() == 2
    view = known.view(3, 1)
    known.add_(empty(3, dtype=DTYPES["int64"]))
    assert isinstance(view.tolist(), Unknown)
    assert isinstance(empty(1).item(), Unknown)


def test_device_memory_is_booked_and_given_back() -> None:
    LEDGER.reset()
    held = empty(1000, dtype=DTYPES["float32"], device=device("cuda"))
    assert LEDGER.allocated == 4096
    view = held[10:]
    del held
    assert LEDGER.allocated == 4096
    del view
    assert (LEDGER.allocated, LEDGER.peak) == (0, 4096)


def test_modules_hold_parameters_as_torch_does() -> None:
    outer = Module()
    outer.inner = LAYERS["Linear"](4, 8, bias=False, dtype=DTYPES["float16"])
    assert [name for name, _ in outer.named_parameters()] == ["inner.weight"]
    with pytest.raises(TypeError):
        outer.inner.weight = 3
    del outer.inner.weight
    assert not hasattr(outer.inner, "weight")
    with pytest.raises(AttributeError):
        Module().no_such_thing  # noqa: B018
    assert isinstance(Parameter(empty(3)), Parameter)


def test_dtypes_are_promoted_as_torch_does() -> None:
    kinds = {
        name: DTYPES[name] for name in ("bool", "uint8", "int8", "int64", "float16", "bfloat16")
    }
    assert promoted(kinds["uint8"], kinds["int8"]) is DTYPES["int16"]
    assert promoted(kinds["float16"], kinds["bfloat16"]) is DTYPES["float32"]
    assert promoted(kinds["int64"], kinds["float16"]) is kinds["float16"]
    assert (tensor([1], dtype=kinds["int8"]) + 1).dtype is kinds["int8"]
    assert (tensor([1]) / 2).dtype is DTYPES["float32"]


sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(sizes)
def test_a_view_of_a_contiguous_tensor_is_contiguous(shape: list[int]) -> None:
    base = empty(*shape)
    assert base.view(-1).view(*reversed(shape)).is_contiguous()


@given(sizes, st.randoms())
def test_a_permuted_view_has_the_strides_of_its_source(shape: list[int], random: Any) -> None:
    order = list(range(len(shape)))
    random.shuffle(order)
    turned = empty(*shape).permute(*order)
    expected = shapes.contiguous(shape)
    assert turned.stride() == tuple(expected[i] for i in order)
    assert turned.shape == tuple(shape[i] for i in order)
