"""Atomic operations and flags between blocks, at several sizes, types and targets, against numpy."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import tirx
from tirx import embed
from tirx.dialects.requirements import requirements
from tirx.dialects.tirx import kernels
from tirx.interp import RunError, run_kernel
from tirx.passes.copies.tirx_expand_exchanges import TirxExpandExchangesPass
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.simulation import simulate
from tirx.sim import SimError
from tirx.universe import new_context


def _exchanged(_: Any, new: Any) -> Any:
    return new


_TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_100a")
_TYPES: dict[str, Any] = {
    "i32": np.int32,
    "i64": np.int64,
    "ui32": np.uint32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
_COMBINED: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _exchanged,
}
_KINDS = {
    "i32": (*_COMBINED, "cas"),
    "i64": (*_COMBINED, "cas"),
    "ui32": ("min", "max"),
    "f16": ("add",),
    "bf16": ("add",),
    "f32": ("add", "min", "max", "exch", "cas"),
    "f64": ("add", "exch", "cas"),
}


def _tile(shape: tuple[int, ...], element: str, memory: str) -> str:
    return f"!tirx.tile<{'x'.join(map(str, shape))}x{element}, {memory}>"


def _atomic(kind: str, element: str, memory: str, shape: tuple[int, ...], target: str) -> str:
    """A kernel that combines `%v` with `%p`, in global or shared memory, and stores what was there before in `%d`."""
    types = {each: _tile(shape, element, each) for each in ("global", "shared", "register")}
    g, s, x = types.values()
    source = f"memref<{'x'.join(map(str, shape))}x{element}>"
    where = ", ".join(["%c0"] * len(shape))
    views = "\n".join(f"  %g{name} = tirx.view %{name}[{where}] : {source} -> {g}" for name in ("v", "e", "p", "d"))
    ahead = f"  %s = tirx.alloc : {s}\n  tirx.copy %gp, %s : {g}, {s}\n" if memory == "shared" else ""
    behind = f"  tirx.copy %s, %gp : {s}, {g}\n" if memory == "shared" else ""
    place = "%s" if memory == "shared" else "%gp"
    head = ", ".join(f"%{name}: {source}" for name in ("v", "e", "p", "d"))
    return f"""tirx.kernel @k({head}) target("{target}") grid(1) threads(64) {{
  %c0 = arith.constant 0 : index
{views}
  %x = tirx.load %gv : {g} -> {x}
  %y = tirx.load %ge : {g} -> {x}
{ahead}  %old = tirx.atomic {kind}{"(%y)" if kind == "cas" else ""} %x, {place} : {x}, {types[memory]} -> {x}
  tirx.store %old, %gd : {x}, {g}
{behind}  tirx.return
}}
"""


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> NDArray[Any]:
    low = 0 if element[0] == "u" else -5
    return rng.integers(low, 6, shape).astype(_TYPES[element])


@pytest.mark.sample(12)
@pytest.mark.parametrize("shape", [(8, 16), (3,)], ids=str)
@pytest.mark.parametrize("memory", ["global", "shared"])
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize(("element", "kind"), [(element, kind) for element, kinds in _KINDS.items() for kind in kinds])
def test_tiles(element: str, kind: str, target: str, memory: str, shape: tuple[int, ...]) -> None:
    """Where threads hold each element once, and where several do, who all get what was there."""
    rng = np.random.default_rng(0)
    v, p = _numbers(rng, shape, element), _numbers(rng, shape, element)
    e = np.where(rng.random(shape) < 0.5, p, v).astype(p.dtype)
    expected = np.where(p == e, v, p) if kind == "cas" else _COMBINED[kind](p, v)
    text = _atomic(kind, element, memory, shape, target)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    for way in ("interpreted", "simulated"):
        found, d = p.copy(), np.zeros_like(p)
        if way == "interpreted":
            assert run_kernel(kernel, [v, e, found, d]).exact == (memory == "shared")
        else:
            tirx.build(text).kernels["k"].simulate(v, e, found, d, check="strict", seed=1)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(d, p)


_MOST = """
!g = !tirx.tile<64x{element}, global>
!x = !tirx.tile<64x{element}, register>
tirx.kernel @most(%ids: memref<?xi32>, %v: memref<?x{element}>, %p: memref<?x{element}>) target("{target}")
    grid(ceildiv(size(0, 0), 64)) threads(64) {{
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %i = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %gids = tirx.view %ids[%m] clipped : memref<?xi32> -> !tirx.tile<64xi32, global>
  %at = tirx.load %gids pad(%none) : !tirx.tile<64xi32, global> -> !tirx.tile<64xi32, register>
  %gv = tirx.view %v[%m] clipped : memref<?x{element}> -> !g
  %gp = tirx.view %p[[%at]] clipped : memref<?x{element}>, !tirx.tile<64xi32, register> -> !g
  %x = tirx.load %gv : !g -> !x
  tirx.store %x, %gp reduce({kind}) : !x, !g
  tirx.return
}}
"""


@pytest.mark.sample(6)
@pytest.mark.parametrize("size", [64, 200, 77])
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("kind", ["min", "max", "add"])
@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_reductions_of_floats(element: str, kind: str, target: str, size: int) -> None:
    """Several elements go to one place, from several blocks."""
    if (element, target) == ("bf16", "sm_75"):
        return
    rng = np.random.default_rng(size)
    ids, v, p = (
        rng.integers(-1, 9, size).astype(np.int32),
        _numbers(rng, (size,), element),
        _numbers(rng, (9,), element),
    )
    expected = p.astype(np.float64)
    _COMBINED[kind].at(expected, ids[ids >= 0], v[ids >= 0].astype(np.float64))
    program = tirx.build(_MOST.format(element=element, kind=kind, target=target))
    program.kernels["most"].simulate(ids, v, p, check="strict", seed=2)
    np.testing.assert_array_equal(p.astype(np.float64), expected)


def test_nan_stays() -> None:
    """A NaN of either sign that is combined with f32 is the result, whatever comes behind it."""
    for kind, sign in (("min", 1.0), ("min", -1.0), ("max", 1.0), ("max", -1.0)):
        program = tirx.build(_MOST.format(element="f32", kind=kind, target="sm_80"))
        v = np.array([3.0, np.copysign(np.nan, sign), -np.inf, np.inf, -0.0], np.float32)
        p = np.array([1.0], np.float32)
        program.kernels["most"].simulate(np.zeros(5, np.int32), v, p)
        assert np.isnan(p[0])


_SOMEWHERE = """
!i = !tirx.tile<{n}xi32, register>
!x = !tirx.tile<{shape}x{element}, register>
!s = !tirx.tile<{rows}x{element}, shared>
tirx.kernel @somewhere(%ids: memref<{n}xi32>, %e: memref<{shape}x{element}>, %v: memref<{shape}x{element}>,
    %p: memref<{rows}x{element}>, %d: memref<{shape}x{element}>) target("{target}") grid(1) threads(32) {{
  %at = tirx.load %ids[0] : memref<{n}xi32> -> !i
  %y = tirx.load %e[{zeros}] : memref<{shape}x{element}> -> !x
  %x = tirx.load %v[{zeros}] : memref<{shape}x{element}> -> !x
  %g = tirx.view %p[{zeros}] : memref<{rows}x{element}> -> !tirx.tile<{rows}x{element}, global>
  %s = tirx.alloc : !s
  tirx.copy %g, %s : !tirx.tile<{rows}x{element}, global>, !s
  %t = tirx.view {source}[{where}] clipped : {source_type}, !i -> !tirx.tile<{shape}x{element}, {memory}>
  %old = tirx.atomic {kind} %x, %t : !x, !tirx.tile<{shape}x{element}, {memory}> -> !x
  tirx.store %old, %d[{zeros}] : !x, memref<{shape}x{element}>
{behind}  tirx.return
}}
"""


def _at_index_tile(kind: str, element: str, memory: str, n: int, columns: tuple[int, ...], target: str) -> str:
    """A kernel that combines rows of `%v` with those of `%p`, or a copy in shared memory, that `%ids` names."""
    rows = "x".join(map(str, (9, *columns)))
    is_shared = memory == "shared"
    return _SOMEWHERE.format(
        n=n,
        shape="x".join(map(str, (n, *columns))),
        rows=rows,
        zeros=", ".join("0" * (1 + len(columns))),
        where=", ".join(["[%at]", *("0" for _ in columns)]),
        source="%s" if is_shared else "%p",
        source_type="!s" if is_shared else f"memref<{rows}x{element}>",
        behind=f"  tirx.copy %s, %g : !s, !tirx.tile<{rows}x{element}, global>\n" if is_shared else "",
        kind="cas(%y)" if kind == "cas" else kind,
        element=element,
        memory=memory,
        target=target,
    )


def _require_an_order(kind: str, old: NDArray[Any], new: NDArray[Any], before: Any, behind: Any) -> None:
    """Requires that elements, which went to one place in some order, found there what those before them left."""
    if kind == "cas":  # one finds what all expect
        (first,) = np.flatnonzero(old == before)
        assert behind == new[first] and (np.delete(old, first) == behind).all()
    elif kind == "exch":
        assert sorted([*old, behind]) == sorted([before, *new])
    else:
        order = np.argsort(old)
        np.testing.assert_array_equal(np.append(old[order], behind), before + np.append(0, np.cumsum(new[order])))


@pytest.mark.sample(3)
@pytest.mark.parametrize("columns", [(), (4,), (3,)], ids=str)
@pytest.mark.parametrize("memory", ["global", "shared"])
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize(("element", "kind"), [("i32", "add"), ("f16", "add"), ("i64", "exch"), ("i32", "cas")])
def test_index_tiles(element: str, kind: str, target: str, memory: str, columns: tuple[int, ...]) -> None:
    """Several elements go to one place, one after the other; some go nowhere, and give 0."""
    text = _at_index_tile(kind, element, memory, 64, columns, target)
    ids = np.random.default_rng(0).integers(-1, 11, 64).astype(np.int32)
    ids[:2] = 8, 0
    ids[2:][(ids[2:] == 8)] = -1  # one place that one element names
    exists, several = (ids >= 0) & (ids < 9), (ids >= 0) & (ids < 8)
    e = np.full((64, *columns), 100, _TYPES[element])
    v = np.arange(1, e.size + 1).reshape(e.shape).astype(e.dtype) + 100 * (kind != "add")
    p = np.full((9, *columns), 100, e.dtype)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    for way in ("interpreted", *range(3)):
        found, d = p.copy(), np.full_like(e, 7)
        if way == "interpreted":
            ran = run_kernel(kernel, [ids, e, v, found, d], bounds=True)
            assert not ran.exact and ran.errors[4] is not None and ran.errors[3] is not None
            np.testing.assert_array_equal(np.isinf(ran.errors[4]).reshape(64, -1).all(1), several)
            assert np.isinf(ran.errors[3][:8]).any() == (kind != "add") and not ran.errors[3][8].any()
        else:
            tirx.build(text).kernels["somewhere"].simulate(ids, e, v, found, d, check="strict", seed=way)
        assert not d[~exists].any()
        for row in range(9):
            for column in np.ndindex(*columns):
                there = ids == row
                _require_an_order(
                    kind, d[there][:, *column], v[there][:, *column], p[row, *column], found[row, *column]
                )


def test_a_number_at_an_index_tile() -> None:
    text = """
tirx.kernel @k(%ids: memref<1xi32>, %p: memref<8x4xi32>, %d: memref<64xi32>) target("sm_80") grid(1) threads(64) {
  %five = arith.constant 5 : i32
  %at = tirx.load %ids[0] : memref<1xi32> -> !tirx.tile<1xi32, register>
  %t = tirx.view %p[[%at], 2] clipped : memref<8x4xi32>, !tirx.tile<1xi32, register> -> !tirx.tile<1x1xi32, global>
  %n = tirx.atomic add %five, %t : i32, !tirx.tile<1x1xi32, global> -> i32
  %x = tirx.splat %n : i32 -> !tirx.tile<64xi32, register>
  tirx.store %x, %d[0] : !tirx.tile<64xi32, register>, memref<64xi32>
  tirx.return
}
"""
    for at, seen in ((3, 14), (8, 0), (-1, 0)):
        ids, p, d = np.array([at], np.int32), np.arange(32, dtype=np.int32).reshape(8, 4), np.ones(64, np.int32)
        tirx.build(text).kernels["k"].simulate(ids, p, d, check="strict")
        expected = np.arange(32).reshape(8, 4)
        expected[3, 2] += 5 * (at == 3)
        np.testing.assert_array_equal(p, expected)
        assert (d == seen).all()


_TICKETS = """
tirx.kernel @tickets(%count: memref<2x3xi32>, %d: memref<?x96xi32>) target("{target}") grid(size(1, 0)) threads(96) {{
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %i = tirx.block_id x
  %g = tirx.view %count[%c1, %c1] : memref<2x3xi32> -> !tirx.tile<1x1xi32, global>
  %s = tirx.alloc : !tirx.tile<1xi32, shared>
  tirx.fill %s, %one : i32, !tirx.tile<1xi32, shared>
  %n = tirx.atomic add %one, %g acq_rel : i32, !tirx.tile<1x1xi32, global> -> i32
  %m = tirx.atomic exch %n, %s cta : i32, !tirx.tile<1xi32, shared> -> i32
  %at = arith.index_cast %n : i32 to index
  %v = arith.addi %n, %m : i32
  %t = tirx.splat %v : i32 -> !tirx.tile<1x96xi32, register>
  tirx.store %t, %d[%at, 0] : !tirx.tile<1x96xi32, register>, memref<?x96xi32>
  tirx.return
}}
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", _TARGETS)
def test_numbers_are_combined_once_for_the_block(target: str) -> None:
    """All threads of a block get the number, from global and from shared memory."""
    count, d = np.zeros((2, 3), np.int32), np.zeros((7, 96), np.int32)
    tirx.build(_TICKETS.format(target=target)).kernels["tickets"].simulate(count, d, check="strict", seed=3)
    assert count.tolist() == [[0, 0, 0], [0, 7, 0]] and (d.T == range(1, 8)).all()


_CHAIN = """
!g = !tirx.tile<1x32xf32, global>
!x = !tirx.tile<1x32xf32, register>
tirx.kernel @chain(%flags: memref<?xi64>, %d: memref<?x32xf32>) target("{target}")
    grid({grid}) threads(64) {progress} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %unit = arith.constant 1.0 : f32
  %i = tirx.block_id {axis}
  %first = arith.cmpi eq, %i, %c0 : index
  %x = scf.if %first -> (!x) {{
    %z = tirx.zero : !x
    scf.yield %z : !x
  }} else {{
    %k = arith.{before} %i, %c1 : index
    %seen = tirx.wait_until %flags[%k] ugt, %one : memref<?xi64>
    %gk = tirx.view %d[%k, %c0] : memref<?x32xf32> -> !g
    %y = tirx.load %gk : !g -> !x
    scf.yield %y : !x
  }}
  %z = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %s = arith.addf %e, %unit : f32
    tirx.yield %s : f32
  }} -> !x
  %gd = tirx.view %d[%i, %c0] : memref<?x32xf32> -> !g
  tirx.store %z, %gd : !x, !g
  tirx.signal add %flags[%i], %one : memref<?xi64>
  tirx.signal add %flags[%i], %one : memref<?xi64>
  tirx.return
}}
"""


def _chain(target: str = "sm_90a", progress: str = "in_order", before: str = "subi", axis: str = "x") -> str:
    grid = {"x": "size(1, 0)", "y": "1, size(1, 0)", "z": "1, 1, size(1, 0)"}[axis]
    return _CHAIN.format(target=target, progress=progress, before=before, axis=axis, grid=grid)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("axis", "progress"), [("x", "in_order"), ("z", "in_order"), ("y", "cooperative")])
@pytest.mark.parametrize("target", _TARGETS)
def test_a_block_waits_for_the_one_before(target: str, progress: str, axis: str) -> None:
    flags, d = np.zeros(5, np.int64), np.zeros((5, 32), np.float32)
    program = tirx.build(_chain(target, progress, axis=axis))
    program.kernels["chain"].simulate(flags, d, check="strict", sm_count=5)
    np.testing.assert_array_equal(d, np.repeat(np.arange(1, 6, dtype=np.float32)[:, None], 32, 1))
    assert flags.tolist() == [2] * 5


def test_a_workspace_is_left_as_it_was_found() -> None:
    """A counter of blocks that does not return to zero would give the next launch other blocks."""
    program = tirx.build(_chain())
    launch = program.kernels["chain"].launch
    (last,) = re.findall(r"add\.s32 (?:%r\d+, )+-1;", program.ptx)
    arguments = lambda: (np.zeros(3, np.int64), np.zeros((3, 32), np.float32))  # noqa: E731
    simulate(program.ptx, launch, arguments())
    with pytest.raises(SimError, match="leaves zeros in the first 4096 bytes .* found byte 0 to be 3$"):
        simulate(program.ptx.replace(last, last.replace("-1;", "0;")), launch, arguments())


def test_blocks_wait_as_the_kernel_says() -> None:
    """In order for earlier blocks only; together no more than there is room for."""
    arguments = lambda: (np.zeros(3, np.int64), np.zeros((3, 32), np.float32))  # noqa: E731
    forward = _chain(before="addi")
    with pytest.raises(SimError, match="deadlock"):
        tirx.build(forward).kernels["chain"].simulate(*arguments())
    with pytest.raises(RunError, match="expected somebody to do what 'tirx.wait_until' waits for"):
        run_kernel(_kernel(forward), (np.zeros(4, np.int64), np.zeros((3, 32), np.float32)))
    with pytest.raises(ArgumentError, match=r"\(cooperative\), found 3 blocks and 2 multiprocessors$"):
        tirx.build(_chain(progress="cooperative")).kernels["chain"].simulate(*arguments(), sm_count=2)


def test_blocks_in_order_are_counted_in_32_bits() -> None:
    """Launches check a grid that only they know, or that has as many blocks as there are numbers."""
    for sizes, checks in (("size(1, 0)", 1), ("65537, 65535", 1), ("65535, 65535", 0)):
        kernel = _kernel(_chain().replace("size(1, 0)", sizes))
        TirxExpandExchangesPass().apply(new_context(), kernel.parent_op())
        found = [(each.bound, each.message) for each in requirements(kernel)]
        assert found.count((2**32 - 1, "expected at most 4294967295 blocks (in_order), found {value}")) == checks


def test_without_a_signal_blocks_race() -> None:
    text = _chain().replace("    %seen = tirx.wait_until %flags[%k] ugt, %one : memref<?xi64>\n", "")
    arguments = np.zeros(3, np.int64), np.zeros((3, 32), np.float32)
    with pytest.raises(RunError, match="changes to be used by no other"):
        run_kernel(_kernel(text), arguments)
    with pytest.raises(SimError, match="race"):
        tirx.build(text).kernels["chain"].simulate(*arguments, check="strict")


def _kernel(text: str) -> Any:
    module: ModuleOp = embed.parse(text, "k.mlir")
    (kernel,) = kernels(module)
    return kernel
