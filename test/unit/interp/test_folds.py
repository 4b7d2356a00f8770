"""Scans and reductions that the interpreter computes, against their definition."""

from __future__ import annotations

from itertools import product
from string import Template
from typing import Any

import numpy as np
import pytest
from unit.folded import Array, affine, named, neutral, scanned

from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_DTYPES: dict[str, Any] = {"i32": np.int32, "ui16": np.uint16, "i16": np.int16, "f32": np.float32, "f64": np.float64}
_AFFINE = """{
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %e = arith.muli %a, %c : i32
    %f = arith.muli %b, %c : i32
    %g = arith.addi %f, %d : i32
    tirx.yield %e, %g : i32, i32
  }"""


def _types(shapes: list[tuple[int, ...]], element: str, memory: str) -> list[str]:
    return [f"!tirx.tile<{'x'.join(map(str, shape))}x{element}, {memory}>" for shape in shapes]


def _run(op: str, element: str, ins: list[Array], inits: list[Array], results: list[tuple[int, ...]]) -> list[Array]:
    """Runs an operation: its text has %i0, %i1 ... for tiles, $ins, $inits, $res for types."""
    arrays = [*ins, *inits, *(np.zeros(shape, ins[0].dtype) for shape in results)]
    shapes = [each.shape for each in arrays]
    memrefs = [f"memref<{'x'.join(map(str, shape))}x{element}>" for shape in shapes]
    views, tiles = _types(shapes, element, "global"), _types(shapes, element, "register")
    count = len(ins) + len(inits)
    lines = ["%z = arith.constant 0 : index"]
    for n, (shape, memref, view) in enumerate(zip(shapes, memrefs, views, strict=True)):
        lines.append(f"%g{n} = tirx.view %m{n}[{', '.join(['%z'] * len(shape))}] : {memref} -> {view}")
    lines += [f"%i{n} = tirx.load %g{n} : {views[n]} -> {tiles[n]}" for n in range(count)]
    made = ", ".join(f"%r{n}" for n in range(count, len(arrays)))
    types = {"ins": tiles[: len(ins)], "inits": tiles[len(ins) : count], "res": tiles[count:]}
    text = Template(op).substitute({name: ", ".join(each) for name, each in types.items()})
    lines.append(f"{made} = {text}")
    lines += [f"tirx.store %r{n}, %g{n} : {tiles[n]}, {views[n]}" for n in range(count, len(arrays))]
    arguments = ", ".join(f"%m{n}: {memref}" for n, memref in enumerate(memrefs))
    kernel = "\n  ".join([f"tirx.kernel @k({arguments}) grid(1) threads(32) {{", *lines, "tirx.return"])
    (found,) = kernels(embed.parse(kernel + "\n}", "k.mlir"))
    run_kernel(found, arrays)
    return arrays[count:]


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Array:
    dtype = np.dtype(_DTYPES[element])
    if dtype.kind == "f":
        return rng.integers(-4, 4, shape).astype(dtype)
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.sample(8)
@pytest.mark.parametrize("element", _DTYPES)
@pytest.mark.parametrize("how", ["add", "mul", "max", "min"])
def test_scans_by_name(element: str, how: str) -> None:
    for exclusive, reverse, has_init in product((False, True), repeat=3):
        rng = np.random.default_rng(8 * exclusive + reverse)
        x, init = _numbers(rng, (3, 5), element), _numbers(rng, (3, 1), element)
        inits = [init] if has_init else [np.full((3, 1), neutral(how, x.dtype), x.dtype)] if exclusive else []
        clauses = "exclusive" * exclusive + " reverse" * reverse + " init(%i1 : $inits)" * has_init
        op = f"tirx.scan %i0 dim(1) {how} {clauses} : $ins -> $res"
        with np.errstate(over="ignore"):
            wanted, totals = scanned([x], 1, named(how), inits, exclusive=exclusive, reverse=reverse)
        found = _run(op, element, [x], [init] * has_init, [(3, 5), (3, 1)])
        assert [each.tobytes() for each in found] == [each.tobytes() for each in (*wanted, *totals)], clauses


@pytest.mark.parametrize("d", [0, 1, 2])
@pytest.mark.parametrize(("exclusive", "has_init"), [(False, False), (False, True), (True, True)])
def test_scans_by_region(d: int, exclusive: bool, has_init: bool) -> None:
    shape = (4, 3, 2)
    part = tuple(1 if i == d else n for i, n in enumerate(shape))
    for reverse in (False, True):
        rng = np.random.default_rng(d)
        ins = [_numbers(rng, shape, "i32") for _ in range(2)]
        inits = [_numbers(rng, part, "i32") for _ in range(2 * has_init)]
        clauses = "exclusive" * exclusive + " reverse" * reverse + " init(%i2, %i3 : $inits)" * has_init
        op = f"tirx.scan ins(%i0, %i1 : $ins) dim({d}) {clauses} {_AFFINE} -> $res"
        with np.errstate(over="ignore"):
            wanted, totals = scanned(ins, d, affine, inits, exclusive=exclusive, reverse=reverse)
        found = _run(op, "i32", ins, inits, [shape, shape, part, part])
        assert all((a == b).all() for a, b in zip(found, (*wanted, *totals), strict=True)), clauses


def test_reductions_by_region() -> None:
    """Elements are combined in the order of their indices, of one tile or several, along one dimension or more."""
    ins = [_numbers(np.random.default_rng(n), (2, 3, 4), "i32") for n in range(2)]
    for dims in ((0,), (2,), (0, 2), (0, 1, 2)):
        part = tuple(1 if d in dims else n for d, n in enumerate(ins[0].shape))
        lines = [np.moveaxis(each, dims, range(len(dims))).reshape(-1, *(n for n in part if n > 1)) for each in ins]
        with np.errstate(over="ignore"):
            _, wanted = scanned(lines, 0, affine, [], exclusive=False, reverse=False)
        along = ", ".join(map(str, dims))
        found = _run(f"tirx.reduce ins(%i0, %i1 : $ins) dim({along}) {_AFFINE} -> $res", "i32", ins, [], [part, part])
        assert all((a.ravel() == b.ravel()).all() for a, b in zip(found, wanted, strict=True)), dims
        first = "{\n^bb0(%a: i32, %b: i32):\n%c = arith.subi %b, %a : i32\ntirx.yield %c : i32\n}"
        (one,) = _run(f"tirx.reduce ins(%i0 : $ins) dim({along}) {first} -> $res", "i32", ins[:1], [], [part])
        with np.errstate(over="ignore"):
            _, (wanted_one,) = scanned(lines[:1], 0, lambda a, b: (b[0] - a[0],), [], exclusive=False, reverse=False)
        assert (one.ravel() == wanted_one.ravel()).all(), dims


def test_the_first_scan_has_errors_too() -> None:
    """Brackets that differ are known at the end of a scan; elements before the first difference have errors, too."""
    text = """
tirx.kernel @k(%a: memref<64xf32>, %d: memref<64xf32>) grid(1) threads(32) {
  %x = tirx.load %a[0] : memref<64xf32> -> !tirx.tile<64xf32, register>
  %y = tirx.scan ins(%x : !tirx.tile<64xf32, register>) dim(0) (%p, %q) { %p + %q } -> !tirx.tile<64xf32, register>
  tirx.store %y, %d[0] : !tirx.tile<64xf32, register>, memref<64xf32>
}"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    numbers = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    ran = run_kernel(kernel, [numbers, np.zeros(64, np.float32)], bounds=True)
    errors = ran.errors[1]
    assert not ran.exact and errors is not None and (errors[2:] > 0).all() and errors.max() < 1e-3
    # The first accumulators cancel; sums in between, of other brackets, do not.
    numbers[:2] = -1000, 1000
    errors = run_kernel(kernel, [numbers, np.zeros(64, np.float32)], bounds=True).errors[1]
    assert errors is not None and (errors[1:] > np.spacing(np.float32(1000))).all() and errors.max() < 1


def test_errors_count_the_operations_of_a_step() -> None:
    """Four units in the last place of the largest number, for each operation that rounds."""
    numbers, least = np.random.default_rng(0).random(64).astype(np.float32), np.finfo(np.float32).eps
    for body, roundings in (("%p + %q", 1), ("%p * 1.0 + %q", 2), ("%p * 1.0 * 1.0 + %q", 3)):
        text = f"""
tirx.kernel @k(%a: memref<64xf32>, %d: memref<64xf32>) grid(1) threads(32) {{
  %x = tirx.load %a[0] : memref<64xf32> -> !tirx.tile<64xf32, register>
  %y = tirx.scan ins(%x : !tirx.tile<64xf32, register>) dim(0) (%p, %q) {{ {body} }} -> !tirx.tile<64xf32, register>
  tirx.store %y, %d[0] : !tirx.tile<64xf32, register>, memref<64xf32>
}}"""
        (kernel,) = kernels(embed.parse(text, "k.mlir"))
        errors = run_kernel(kernel, [numbers, np.zeros(64, np.float32)], bounds=True).errors[1]
        assert 0.5 < numbers[:2].sum() < 1 and errors is not None and errors[1] == 4 * roundings * least / 2, body


def test_a_nan_that_comparisons_see() -> None:
    """The largest of numbers by a region with `>`: which one it is depends on the brackets behind a NaN only."""
    text = """
tirx.kernel @k(%a: memref<2x8xf32>, %d: memref<2x8xf32>) grid(1) threads(32) {
  %x = tirx.load %a[0, 0] : memref<2x8xf32> -> !tirx.tile<2x8xf32, register>
  %y = tirx.scan ins(%x : !tirx.tile<2x8xf32, register>) dim(1) (%p, %q) { select(%p > %q, %p, %q) }
    -> !tirx.tile<2x8xf32, register>
  tirx.store %y, %d[0, 0] : !tirx.tile<2x8xf32, register>, memref<2x8xf32>
}"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    numbers = np.array([[8, 7, 6, 5, 4, 3, 2, 1], [8, 7, 6, np.nan, 4, 3, 2, 1]], np.float32)
    ran = run_kernel(kernel, [numbers, np.zeros((2, 8), np.float32)], bounds=True)
    assert not ran.exact and ran.errors[1] is not None
    assert np.isinf(ran.errors[1]).tolist() == [[False] * 8, [False] * 3 + [True] * 5]
    assert run_kernel(kernel, [numbers[:1].repeat(2, 0), np.zeros((2, 8), np.float32)]).exact


def test_infinities_that_brackets_see() -> None:
    """`y = a * y + b`: factors 0 and infinity in a row are a NaN in brackets of their own, which a scan may make."""
    text = """
!x = !tirx.tile<4xf32, register>
tirx.kernel @k(%a: memref<4xf32>, %b: memref<4xf32>, %d: memref<4xf32>) grid(1) threads(32) {
  %x = tirx.load %a[0] : memref<4xf32> -> !x
  %y = tirx.load %b[0] : memref<4xf32> -> !x
  %r:2 = tirx.scan ins(%x, %y : !x, !x) dim(0) (%p, %q, %s, %t) { %p * %s, %q * %s + %t } -> !x, !x
  tirx.store %r#1, %d[0] : !x, memref<4xf32>
}"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    sums = np.zeros(4, np.float32)
    ran = run_kernel(kernel, [np.array([1, 2, 0, np.inf], np.float32), np.ones(4, np.float32), sums], bounds=True)
    assert ran.errors[2] is not None
    assert not ran.exact and np.isinf(ran.errors[2]).tolist() == [False] * 3 + [True]
