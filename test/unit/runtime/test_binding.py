"""Values that a launch computes from its arguments, and arrays and numbers that it takes: both sides of each limit."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.dialects.formula import Call, FormulaError
from tirx.runtime.arrays import (
    ArgumentError,
    ArrayView,
    StrideError,
    check_address,
    check_array,
    flat_bytes,
    restrided,
    storage_of,
    view_of_numpy,
)
from tirx.runtime.binding import BoundLaunch, bind, check_preconditions, scalar_bytes, tensor_of_map
from tirx.runtime.launch import (
    Access,
    Argument,
    ComputedArgument,
    Launch,
    PointerArgument,
    Precondition,
    ScalarArgument,
    TensorMapArgument,
)
from tirx.runtime.torch_op import schema_of


def _launch(*arguments: Argument, grid: Any = (1, 1, 1), cluster: Any = (1, 1, 1)) -> Launch:
    return Launch("k", "sm_90a", grid, (32, 2, 1), cluster, 0, arguments)


def _pointer(
    shape: tuple[int | None, ...], strides: tuple[int | None, ...], element: str = "f32", access: Access = "read"
) -> PointerArgument:
    return PointerArgument("x", element, shape, strides, 16, access)


def _view(shape: tuple[int, ...], strides: tuple[int, ...], dtype: str = "float32", size: int = 4) -> ArrayView:
    return ArrayView(4096, shape, strides, dtype, size)


@together(
    ("value", "expected"),
    [(1e300, np.inf), (-1e300, -np.inf), (10**400, np.inf), (-(10**400), -np.inf), (2**1024 - 1, np.inf), (3, 3.0)],
)
def test_numbers_that_are_too_large_are_infinite(value: int | float, expected: float):
    assert scalar_bytes("x", "f32", value) == struct.pack("<f", expected)


@together("size", [1, 2, 4, 8])
@together("kind", "usb")
def test_integers(size: int, kind: str):
    """A parameter takes what fits with or without a sign: -2^(n-1) to 2^n - 1."""
    bits = 8 * size
    for value in (-(1 << (bits - 1)), -3, 0, 5, (1 << bits) - 1):
        expected = (value % (1 << bits)).to_bytes(size, "little")
        assert scalar_bytes("n", f"{kind}{bits}", value) == expected
    for value in (-(1 << (bits - 1)) - 1, 1 << bits, 0.5):
        with pytest.raises(ArgumentError) as found:
            scalar_bytes("n", f"{kind}{bits}", value)
        assert str(found.value) == f"argument 'n': expected an integer of {bits} bits, found {value!r}"


def test_floats_and_other_types():
    assert scalar_bytes("x", "f32", 1.5) == struct.pack("<f", 1.5)
    assert scalar_bytes("x", "f64", -3) == struct.pack("<d", -3.0)
    assert scalar_bytes("x", "f32", -1e39) == struct.pack("<f", -np.inf)
    with pytest.raises(ArgumentError) as found:
        scalar_bytes("x", "f16", 1)
    types = "u8, u16, u32, u64, s8, s16, s32, s64, b8, b16, b32, b64, f32, f64"
    assert str(found.value) == f"argument 'x': expected a type of {types}, found 'f16'"


def test_numbers_of_a_launch():
    """Sizes and strides are those of the kernel's elements, of which a byte may hold several."""
    launch = _launch(
        ScalarArgument("n", "s32"),
        _pointer((None, None), (None, 1), "e2m3"),
        ComputedArgument("m", "u32", Call("size", (1, 1))),
        PointerArgument("raw", None, None, None, 1),
        grid=(Call("size", (1, 0)), Call("stride", (1, 0)), Call("sm_count")),
    )
    packed = _view((5, 9), (30, 1), "uint8", 1)
    raw = _view((3, 7), (11, 1), "float64", 8)
    bound = bind(launch, [7, packed, raw], 99)
    assert bound == BoundLaunch(launch, (7, packed, None, raw), bound.sizes, (5, 40, 99), (32, 2, 1))
    # 6 bits: 9 bytes hold 12 elements, 30 bytes 40.
    assert [tuple(each) for each in bound.sizes.shapes] == [(), (5, 12), (), (3, 7)]
    assert [tuple(each) for each in bound.sizes.strides] == [(), (40, 1), (), (11, 1)]
    assert bound.sizes.sm_count == 99


def test_strides_of_bytes():
    """Only elements that share a byte have to be contiguous."""
    launch = _launch(_pointer((4, 3), (None, None), "s8"), _pointer((), (), "u8"))
    bound = bind(launch, [_view((4, 3), (9, 2), "int8", 1), _view((), (), "uint8", 1)], 1)
    assert [tuple(each) for each in bound.sizes.shapes] == [(4, 3), ()]
    assert [tuple(each) for each in bound.sizes.strides] == [(9, 2), ()]


@together(
    ("grid", "cluster", "given", "found"),
    [
        (None, (1, 1, 1), (7,), (7, 1, 1)),
        (None, (1, 1, 1), (7, 5), (7, 5, 1)),
        (None, (1, 1, 1), [7, 5, 3], (7, 5, 3)),
        (None, (1, 1, 1), (0, 0, 0), (0, 0, 0)),
        (None, (1, 1, 1), (2**31 - 1, 65535, 65535), (2**31 - 1, 65535, 65535)),
        ((6, 4, 9), (2, 4, 3), None, (6, 4, 9)),
        (None, (1, 1, 1), (), "expected a grid of 1 to 3 extents, found ()"),
        (None, (1, 1, 1), (1, 2, 3, 4), "expected a grid of 1 to 3 extents, found (1, 2, 3, 4)"),
        (None, (1, 1, 1), None, "expected grid=(x, y, z): the kernel has no clause grid(...)"),
        ((1, 1, 1), (1, 1, 1), (1,), "expected no grid: the kernel has a clause grid(...)"),
        *(
            (None, (1, 1, 1), grid, f"expected a grid of at most (2147483647, 65535, 65535), found {grid}")
            for grid in ((2**31, 1, 1), (1, 65536, 1), (1, 1, 65536), (1, -1, 1))
        ),
        *(
            (grid, (2, 4, 3), None, f"expected a grid that is a multiple of the cluster (2, 4, 3), found {grid}")
            for grid in ((7, 4, 9), (6, 6, 9), (6, 4, 8))
        ),
    ],
)
def test_grids(grid: Any, cluster: Any, given: Any, found: Any):
    launch = _launch(grid=grid, cluster=cluster)
    if isinstance(found, tuple):
        assert bind(launch, [], 1, given).grid == found
        return
    with pytest.raises(ArgumentError) as error:
        bind(launch, [], 1, given)
    assert str(error.value) == f"'k': {found}"


def test_the_first_broken_precondition():
    conditions = tuple(
        Precondition(Call("size", (0, 0)), test, bound, f"{test} {{bound}}: {{value}}")
        for test, bound in (("multiple_of", 3), ("at_most", 12), ("at_least", 6), ("equal", 9))
    )
    broken: dict[int, tuple[type, str]] = {}
    for rows in (3, 6, 9, 12, 13, 15):
        launch = Launch("k", "sm_80", (1, 1, 1), (32, 1, 1), (1, 1, 1), 0, (_pointer((None,), (1,)),), conditions)
        try:
            check_preconditions(bind(launch, [_view((rows,), (1,))], 1))
        except ArgumentError as error:
            broken[rows] = type(error), str(error)[5:]
    others = {
        rows: (ArgumentError, f"{test}: {rows}")
        for rows, test in ((3, "at_least 6"), (6, "equal 9"), (12, "equal 9"), (15, "at_most 12"))
    }
    assert broken == {**others, 13: (StrideError, "multiple_of 3: 13")}


@together(
    ("argument", "view", "message"),
    [
        (_pointer((4, None), (None, 1)), _view((4, 9), (40, 1)), None),
        (_pointer((4, None), (None, 1)), _view((4, 1), (40, 3)), None),
        (_pointer((4, 0), (3, 2)), _view((4, 0), (9, 7)), None),
        (_pointer((1, 3), (7, 2)), _view((1, 3), (9, 2)), None),
        (PointerArgument("x", None, (1,), (1,)), _view((4, 9), (40, 2), "int64", 8), None),
        (PointerArgument("x", "f32", None, (1,)), _view((4, 9), (40, 2), "int64", 8), None),
        (PointerArgument("x", "f32", (1,), None), _view((4, 9), (40, 2), "int64", 8), None),
        (_pointer((4,), (1,)), _view((4, 1), (1, 1)), "expected shape (4), found (4, 1)"),
        (_pointer((4, None), (None, 1)), _view((5, 9), (40, 1)), "expected shape (4, ?), found (5, 9)"),
        (
            _pointer((4, None), (None, 1)),
            _view((4, 2), (40, 2)),
            "expected strides (?, 1) in elements, found (40, 2)",
        ),
        (
            _pointer((4, None), (None, 1), "bf16"),
            _view((4, 2), (40, 1), "float16", 2),
            "expected dtype bfloat16 or uint16 or int16 for elements of type bf16, found float16",
        ),
        (
            _pointer((2, 3, 5), (15, 5, 1)),
            _view((2, 3, 5), (16, 5, 1)),
            "expected strides (15, 5, 1) in elements, found (16, 5, 1) (.contiguous() makes a copy that fits)",
        ),
        (
            _pointer((None, 3, 5), (15, 5, 1)),
            _view((2, 3, 5), (15, 6, 1)),
            "expected strides (15, 5, 1) in elements, found (15, 6, 1)",
        ),
        (
            _pointer((2, 3), (4, 1)),
            _view((2, 3), (3, 1)),
            "expected strides (4, 1) in elements, found (3, 1)",
        ),
        (_pointer((3,), (1,)), _view((3,), (-1,)), "expected strides of 0 or more, found (-1,)"),
        (_pointer((3, 2), (0, 1)), _view((3, 2), (0, 1)), None),
        # 12 elements of 6 bits are 9 bytes, 8 of 4 bits are 4.
        (_pointer((5, 12), (40, 1), "e2m3"), _view((5, 9), (30, 1), "uint8", 1), None),
        (_pointer((5, None), (None, 1), "e2m3"), _view((5, 10), (30, 1), "uint8", 1), None),
        (
            _pointer((5, 12), (40, 1), "e2m3"),
            _view((5, 12), (30, 1), "uint8", 1),
            "expected shape (5, 9) (e2m3, packed in bytes), found (5, 12)",
        ),
        (
            _pointer((5, 12), (40, 1), "e2m3"),
            _view((5, 9), (40, 1), "uint8", 1),
            "expected strides (30, 1) in elements, found (40, 1)",
        ),
        (
            _pointer((5, 8), (7, 1), "e2m1"),
            _view((5, 4), (4, 1), "uint8", 1),
            "expected rows of whole bytes, found 7 elements of 4 bits",
        ),
        (
            _pointer((8, 8), (1, 8), "e2m1"),
            _view((8, 4), (4, 1), "uint8", 1),
            "expected e2m1 elements that are contiguous in the last dimension",
        ),
        (
            _pointer((), (), "e2m1"),
            _view((), (), "uint8", 1),
            "expected e2m1 elements that are contiguous in the last dimension",
        ),
        (_pointer((5, 8), (8, 1), "s8"), _view((5, 8), (8, 1), "int8", 1), None),
    ],
)
def test_arrays_of_a_kernel(argument: PointerArgument, view: ArrayView, message: str | None):
    if message is None:
        check_array(argument, view)
        return
    with pytest.raises(ArgumentError) as found:
        check_array(argument, view)
    assert str(found.value) == f"argument 'x': {message}"


def test_read_only_arrays_may_be_read():
    view = ArrayView(0, (4,), (1,), "float32", 4, writable=False)
    check_array(_pointer((4,), (1,)), view)
    for access in ("write", "read_write"):
        with pytest.raises(ArgumentError, match=r"^argument 'x': expected an array that can be written, found a read-"):
            check_array(_pointer((4,), (1,), access=access), view)


@together(("device", "address", "fits"), [(1, 48, True), (1, 40, False), (0, 8, False), (None, 40, True), (1, 0, True)])
def test_addresses(device: int | None, address: int, fits: bool):
    view = ArrayView(address, (4,), (1,), "float32", 4, device)
    if fits:
        check_address(_pointer((4,), (1,)), view)
        return
    with pytest.raises(ArgumentError) as found:
        check_address(_pointer((4,), (1,)), view)
    expected = f"argument 'x': expected an address that is a multiple of 16 bytes, found {address:#x}"
    assert str(found.value) == expected


@together(
    ("shape", "strides", "span"),
    [
        ((3, 5), (5, 1), 60),
        ((3, 5), (7, 1), 76),
        ((3, 5), (1, 3), 60),
        ((3, 0), (5, 1), 0),
        ((), (), 4),
        ((3,), (2,), 20),
    ],
)
def test_spans(shape: tuple[int, ...], strides: tuple[int, ...], span: int):
    assert _view(shape, strides).span == span


def test_views_of_numpy():
    whole = np.arange(60, dtype=np.int16).reshape(5, 12)
    part = whole[1:4, 2:9:3]
    part.flags.writeable = False
    view = view_of_numpy(part)
    start = whole.__array_interface__["data"][0]
    assert view == ArrayView(start + 2 * (12 + 2), (3, 3), (12, 3), "int16", 2, None, False)
    assert flat_bytes(part).tolist() == whole.ravel()[14 : 14 + view.span // 2].tolist()
    assert restrided(part, (2, 2), (48, 2)).tolist() == [[14, 15], [38, 39]]
    with pytest.raises(ArgumentError) as found:
        view_of_numpy(np.zeros((8, 2), "V6,f4")["f1"])
    assert str(found.value) == "expected strides of whole elements of 4 bytes, found strides (20, 10)"


def test_elements_that_arrays_do_not_hold():
    with pytest.raises(ArgumentError, match=re.escape("argument 'x': expected elements of f16, bf16, tf32, f32, f64,")):
        storage_of("x", "f128")


def test_schemas_of_operators():
    launch = _launch(
        _pointer((None,), (1,)),
        ScalarArgument("n", "s32"),
        PointerArgument("y", None, None, None, 16, "write"),
        ScalarArgument("scale", "f32"),
        ComputedArgument("m", "u32", 1),
        PointerArgument("z", None, None, None, 16, "none"),
    )
    assert schema_of(launch) == "(Tensor x, int n, Tensor(a2!) y, float scale, Tensor z) -> ()"


@together(
    ("shape", "strides", "good"),
    [
        ((8, 4), (32,), True),
        ((8, 5), (32,), False),
        ((9, 4), (32,), False),
        ((8, 4), (33,), False),
        ((0, 9), (32,), True),
        ((8, Call("size", (0, 0))), (Call("mul", (4, Call("stride", (0, 0)))),), True),
        ((-8, -4), (-32,), False),
    ],
)
def test_tensors_of_maps_stay_within_their_arrays(shape: Any, strides: Any, good: bool):
    """Copies through a map whose tensor is larger would read and write what lies behind the array."""
    tensor_map = TensorMapArgument("map", 0, "f32", shape, strides, (8, 4))
    bound = bind(_launch(_pointer((4, 8), (8, 1)), tensor_map), [_view((4, 8), (8, 1))], 1)
    if good:
        sizes, steps = tensor_of_map(bound, tensor_map)
        assert (sizes, steps) == ([8, 4], [32]) or 0 in sizes
    else:
        with pytest.raises(ArgumentError, match="^tensor map 'map': expected a tensor within the 128 bytes of arg"):
            tensor_of_map(bound, tensor_map)


def test_multiples_of_zero_and_quotients_by_zero_are_no_conditions():
    launch = _launch(_pointer((4, None), (8, 1)), grid=(Call("ceildiv", (8, Call("size", (0, 1)))), 1, 1))
    with pytest.raises(FormulaError, match="^expected a positive divisor in "):
        bind(launch, [_view((4, 0), (8, 1))], 1)
    condition = Precondition(Call("size", (0, 0)), "multiple_of", Call("size", (0, 1)), "")
    sizes = bind(_launch(_pointer((4, None), (8, 1))), [_view((4, 0), (8, 1))], 1).sizes
    with pytest.raises(FormulaError, match=r"of which size\(0, 0\) is a multiple, found size\(0, 1\)"):
        condition.holds(sizes)
