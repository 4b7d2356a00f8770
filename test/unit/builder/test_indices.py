"""Indices and slices: which sums of multiples they are, and which slices have an extent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects import arith

from tirx.builder import BuildError, KernelBuilder, f16, f32, kernel
from tirx.builder.index import Index
from tirx.builder.tiles import (
    Array,
    Scalar,
    _parts,  # pyright: ignore[reportPrivateUsage]
    _Slice,  # pyright: ignore[reportPrivateUsage]
    apply,
)
from tirx.dialects import tirx


def _write(function: Callable[..., None], *types: Any, **options: Any) -> Any:
    return kernel(*(types or (f32[64, 96],)), threads=128, **options)(function)


_CASES: list[tuple[Callable[[Index, Index], Index], dict[str, int] | None, int, bool, str]] = [
    (lambda i, j: i + 5, {"i": 1}, 5, True, "addi"),
    (lambda i, j: 5 + i, {"i": 1}, 5, True, "addi"),
    (lambda i, j: i + -1, {"i": 1}, -1, False, "addi"),
    (lambda i, j: i + j + i, {"i": 2, "j": 1}, 0, True, "addi"),
    (lambda i, j: i - 3, {"i": 1}, -3, False, "subi"),
    (lambda i, j: i - j, {"i": 1, "j": -1}, 0, False, "subi"),
    (lambda i, j: i - -3, {"i": 1}, 3, False, "subi"),
    (lambda i, j: 7 - i, {"i": -1}, 7, False, "subi"),
    (lambda i, j: i * 4 - j * 3 + 2, {"i": 4, "j": -3}, 2, False, "addi"),
    (lambda i, j: (i * 4 + 3) * 5, {"i": 20}, 15, True, "muli"),
    (lambda i, j: 5 * (i * 4 + 3), {"i": 20}, 15, True, "muli"),
    (lambda i, j: i * -2, {"i": -2}, 0, False, "muli"),
    (lambda i, j: i * j, None, 0, True, "muli"),
    (lambda i, j: i * (j - 1), None, 0, False, "muli"),
    (lambda i, j: i // 3, None, 0, True, "divui"),
    (lambda i, j: i // -3, None, 0, False, "floordivsi"),
    (lambda i, j: (i - 1) // 3, None, 0, False, "floordivsi"),
    (lambda i, j: i % 3, None, 0, True, "remui"),
    (lambda i, j: (i - 1) % 3, None, 0, True, "subi"),
    (lambda i, j: i % -3, None, 0, False, "subi"),
    (lambda i, j: i + 0, {"i": 1}, 0, True, ""),
]


@pytest.mark.parametrize(("compute", "terms", "offset", "is_natural", "op"), _CASES)
def test_sums(
    compute: Callable[[Index, Index], Index], terms: dict[str, int] | None, offset: int, is_natural: bool, op: str
) -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        i, j = k.block.x, k.block.y
        found = compute(i, j)
        names = {i.value: "i", j.value: "j"}
        known = {names[value]: count for value, count in found.terms.items() if value in names}
        if terms is None:
            assert dict(found.terms) == {found.value: 1} and not known
        else:
            assert known == terms and len(found.terms) == len(terms)
        assert (found.offset, found.is_natural) == (offset, is_natural)
        if op:
            assert getattr(found.value.owner, "name", None) == f"arith.{op}"
        else:
            assert found is i

    _write(body)


def test_distances() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        i, j = k.block.x, k.block.y
        pairs = [(i + 7, i), (i, i + 7), (i * 2 + 3, i + i), (i + j, i), (i, j), (i * 2, i), (j, j), (i - j, i - j - 4)]
        assert [first.distance(second) for first, second in pairs] == [7, -7, 3, None, None, None, 0, 4]
        assert Index.constant(k.point, 9).distance(Index.constant(k.point, 11)) == -2
        naturals = [Index.constant(k.point, n).is_natural for n in (-1, 0, 1)]
        assert naturals == [False, True, True]

    _write(body)


def test_comparisons() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        i = k.block.x
        found = [each.value.owner for each in (i < 3, i <= 3, i > 3, i >= 3, i.equals(3))]
        kinds = [each.predicate.value.data for each in found if isinstance(each, arith.CmpiOp)]
        assert kinds == [2, 3, 4, 5, 0]  # slt, sle, sgt, sge, eq
        assert [getattr(each.value.owner, "name", None) for each in ((i < 3) & (i > 1), (i < 3) | (i > 1))] == [
            "arith.andi", "arith.ori"
        ]  # fmt: skip

    _write(body)


def test_loops_that_start_at_0_or_later_count_up() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        found: list[bool] = []
        for start in (-1, 0, 1, k.block.x, k.block.x - 1):
            with k.loop(start, 9, 2) as i:
                found.append(i.is_natural)
                assert dict(i.terms) == {i.value: 1}
        assert found == [False, True, True, True, False]

    _write(body)


def test_parts_of_keys() -> None:
    whole = _Slice()
    assert _parts(..., 3) == [whole] * 3
    assert _parts((..., 5), 3) == [whole, whole, 5]
    assert _parts((5, ..., slice(1, 2)), 3) == [5, whole, _Slice(1, 2)]
    assert _parts((5, ..., 6, 7), 3) == [5, 6, 7]
    assert _parts((5, ..., 6), 4) == [5, whole, whole, 6]
    assert _parts(slice(1, 2, 3), 2) == [_Slice(1, 2, 3), whole]
    for key in ((1, 2, 3, 4), (1, ..., 2, 3, 4), (..., ...), (..., 1, ...)):
        with pytest.raises(BuildError) as found:
            _parts(key, 3)
        assert str(found.value) == f"expected at most 3 slices, found {len(key)}"


def _extents(k: KernelBuilder, a: Array) -> list[tuple[Any, tuple[int, ...]]]:
    i = k.block.x
    return [
        (a[0:64, 0:96], (64, 96)),
        (a[:, 5:6], (64, 1)),
        (a[63:64, :], (1, 96)),
        (a[i * 8 : i * 8 + 7, i + 3 : i + 8], (7, 5)),
        (a[i : i + 65, :], (65, 96)),  # which of them exist is known at the launch
        (a.clipped[0:65, 90:97], (65, 7)),
        (a[3, 1:4], (3,)),
        (a[i, :], (96,)),
    ]


def test_slices_of_arrays() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        for tile, shape in _extents(k, a):
            view = tile.value.owner
            assert isinstance(view, tirx.ViewOp) and tile.shape == shape
        assert a.clipped.is_clipped and a.clipped[0:1, 0:1].value.owner.clipped  # pyright: ignore
        assert not a[0:1, 0:1].value.owner.clipped  # pyright: ignore

    _write(body)


_WRONG: list[tuple[Callable[[KernelBuilder, Array], object], str]] = [
    (lambda k, a: a[0:65, :], "slices of fixed extents within f32[64, 96], found 0:65 in dimension 0"),
    (lambda k, a: a[:, 3:97], "slices of fixed extents within f32[64, 96], found 3:97 in dimension 1"),
    (lambda k, a: a[:, 5:5], "slices of fixed extents within f32[64, 96], found 0 elements in dimension 1"),
    (lambda k, a: a[7:5, :], "slices of fixed extents within f32[64, 96], found -2 elements in dimension 0"),
    (
        lambda k, a: a[0 : k.block.x, :],
        "slices of fixed extents within f32[64, 96], found one whose extent depends on the launch in dimension 0",
    ),
    (lambda k, a: a[0:64, 3], "indices in front of slices, found one behind"),
    (lambda k, a: a[0:64:2, :], "slices without a step, found 2"),
    (lambda k, a: k.shared(f32[8, 16])[0:9, :], "slices within 8 elements, found 0:9"),
    (lambda k, a: k.shared(f32[8, 16])[3:3, :], "slices within 8 elements, found 3:3"),
    (lambda k, a: k.shared(f32[8, 16])[-1:3, :], "slices within 8 elements, found -1:3"),
    (
        lambda k, a: k.shared(f32[8, 16])[(i := k.block.x) : i, :],
        "slices of a fixed extent of 1 to 8 elements, found 0 elements",
    ),
    (
        lambda k, a: k.shared(f32[8, 16])[(i := k.block.x) : i + 9, :],
        "slices of a fixed extent of 1 to 8 elements, found 9 elements",
    ),
]


@pytest.mark.parametrize(("slice_of", "message"), _WRONG)
def test_slices_that_have_no_extent(slice_of: Callable[[KernelBuilder, Array], object], message: str) -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        slice_of(k, a)

    with pytest.raises(BuildError) as found:
        _write(body)
    assert str(found.value).splitlines()[0].endswith(f"expected {message}")


def test_parts_of_tiles() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        i, tile = k.block.x, k.shared(f16[8, 16])
        assert tile[...] is tile and tile[:, :] is tile
        shapes = [tile[0:8, 15:16].shape, tile[7:8, :].shape, tile[i : i + 8, 1:3].shape, tile[:, i : i + 1].shape]
        assert shapes == [(8, 1), (1, 16), (8, 2), (8, 1)]

    _write(body)


def _sum(first: Scalar, *others: Scalar) -> Scalar:
    for each in others:
        first = first + each
    return first + first


def test_shapes_of_element_wise_results() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        rows, columns = k.registers(f32[64, 1]), k.registers(f32[1, 96])
        rows[:] = 1.0
        columns[:] = 2.0
        assert apply(_sum, rows, columns).shape == (64, 96)
        assert apply(_sum, rows).shape == (64, 1)
        assert apply(_sum, columns, 3.0, rows).shape == (64, 96)

    _write(body)


def test_extents_of_arrays() -> None:
    def body(k: KernelBuilder, a: Array) -> None:
        rows, columns = a.shape
        assert rows.is_natural and getattr(rows.value.owner, "name", None) == "memref.dim"
        assert (columns.offset, dict(columns.terms)) == (96, {})

    _write(body, f32[None, 96])


def test_names_of_arguments() -> None:
    def body(k: KernelBuilder, first: Array, second: Array) -> None:
        assert [each.value.name_hint for each in (first, second)] == ["first", "second"]

    _write(body, f32[4, 4], f32[4, 4])
