"""Products whose K the blocks of a cluster share out: equal to numpy at every size, the same bits in every run."""

from __future__ import annotations

import numpy as np
import pytest

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.passes.rings.tirx_split_k import TirxSplitKPass
from tirx.ptx.ptxas import assemble

PRODUCT = """
!a = !tirx.tile<{rows}x{depth}x{type}, shared>
!b = !tirx.tile<{columns}x{depth}x{type}, shared>
!acc = !tirx.tile<{rows}x{columns}x{sums}, accumulator>
tirx.kernel @k(%a: memref<{m}x{k}x{type}>, %b: memref<{n}x{k}x{type}>, %d: memref<{m}x{n}x{sums}>)
    target("sm_90a") grid({across}, {down}) threads({threads}) {{
  %zero = arith.constant {zero} : {sums}
  %c0 = arith.constant 0 : index
  %step = arith.constant {depth} : index
  %end = arith.constant {k} : index
  %c = arith.constant {columns} : index
  %r = arith.constant {rows} : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %r : index
  %n = arith.muli %j, %c : index
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : {sums}, !acc
  scf.for %k = %c0 to %end step %step {{
    %ga = tirx.view %a[%m, %k] clipped : memref<{m}x{k}x{type}> -> !tirx.tile<{rows}x{depth}x{type}, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<{n}x{k}x{type}> -> !tirx.tile<{columns}x{depth}x{type}, global>
    tirx.copy %ga, %sa : !tirx.tile<{rows}x{depth}x{type}, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<{columns}x{depth}x{type}, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }}
  %gd = tirx.view %d[%m, %n] clipped : memref<{m}x{n}x{sums}> -> !tirx.tile<{rows}x{columns}x{sums}, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<{rows}x{columns}x{sums}, global>
  tirx.return
}}"""


def _product(size: tuple[int, int, int], rows: int, columns: int, type_: str = "f16") -> str:
    m, n, k = size
    of = {"rows": rows, "columns": columns, "m": m, "n": n, "k": k, "type": type_, "threads": max(128, 2 * rows)}
    sums, zero, depth = ("i32", "0", 128) if type_ == "si8" else ("f32", "0.0", 64)
    return PRODUCT.format(
        **of, sums=sums, zero=zero, depth=depth, across=-(-n // columns), down=-(-m // rows)
    )  # fmt: skip


def _operands(rng: np.random.Generator, size: tuple[int, int, int], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    m, n, k = size
    a, b = (rng.integers(-3, 4, (rows, k)).astype(dtype) for rows in (m, n))
    return a, b


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("size", "rows", "columns", "parts"),
    [
        ((16, 64, 512), 64, 64, 8),
        ((1, 72, 264), 64, 64, 4),  # one row; steps of K that four blocks do not get equally, and a part of one
        ((70, 64, 128), 64, 64, 4),  # fewer steps than blocks: most sums are zero
        ((130, 72, 320), 128, 128, 2),
        ((64, 200, 192), 64, 256, 2),
        ((128, 256, 192), 128, 256, 8),  # no room for a ring: blocks without a step of K meet nobody in the loop
        ((17, 40, 576), 64, 24, 4),  # one share of the columns, that of the first block
        ((70, 48, 264), 64, 16, 8),  # two
    ],
)
def test_every_size(size: tuple[int, int, int], rows: int, columns: int, parts: int) -> None:
    program = tirx.build(_product(size, rows, columns), options=f"parts={parts}")
    kernel = program.kernels["k"]
    assert kernel.launch.cluster == (parts, 1, 1)
    a, b = _operands(np.random.default_rng(0), size, "float16")
    d = np.full((size[0], size[1]), np.nan, np.float32)
    kernel.simulate(a, b, d)
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


def test_integers_and_plain_loops() -> None:
    """
    Without rings and roles all threads of a block meet, in loops only those of one block, as others have fewer trips.

    Sums of i32.
    """
    for size, options in (
        ((16, 64, 384), "parts=2 roles=none"),
        ((33, 64, 777), "parts=4"),
    ):
        text = _product(size, 64, 64, "si8")
        a, b = _operands(np.random.default_rng(0), size, "int8")
        d = np.zeros(size[:2], np.int32)
        tirx.build(text, options=options).kernels["k"].simulate(a, b, d)
        np.testing.assert_array_equal(d, a.astype(np.int32) @ b.astype(np.int32).T)


def test_the_same_bits_in_every_order_of_blocks_and_threads() -> None:
    """Sums of random numbers, which are rounded, and which other orders would round otherwise."""
    size = (16, 64, 768)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((rows, size[2])).astype(np.float16) for rows in size[:2])
    kernel = tirx.build(_product(size, 64, 64), options="parts=4").kernels["k"]
    runs = [np.zeros(size[:2], np.float32) for _ in range(2)]
    for seed, d in enumerate(runs):
        kernel.simulate(a, b, d, seed=seed)
        assert d.tobytes() == runs[0].tobytes()
    np.testing.assert_allclose(runs[0], a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-2)


def test_every_pass_keeps_the_meaning_and_ptxas_takes_it() -> None:
    program = tirx.build(_product((40, 64, 192), 64, 64), options="parts=2", verify=True)
    assert "barrier.cluster" in program.ptx
    assemble(program.ptx, "sm_90a")


def test_more_tiles_than_clusters_run_at_once() -> None:
    """Blocks do not loop over tiles: the warps that load ahead would not meet the others."""
    text = _product((64, 64 * 67, 256), 64, 64)
    launch = tirx.build(text, options="parts=2").kernels["k"].launch
    assert (launch.grid, launch.cluster) == ((134, 1, 1), (2, 1, 1))
    with pytest.raises(LocatedError, match="found that all warps of a cluster meet where it adds its sums"):
        tirx.compile(text, options="parts=2 order=group")


def test_registers_of_a_share_are_neighbours() -> None:
    """A warpgroup with two tiles of 64 rows has columns of both between those of one."""
    with pytest.raises(LocatedError, match="expected 2 shares of the columns that are one after the other"):
        tirx.compile(_product((128, 128, 256), 128, 128).replace("threads(256)", "threads(128)"), options="parts=2")


_WITH_A_GRID = "expected a kernel without clusters, with a grid, for a target that has wgmma for parts=4, found @k"
_FROM_ZERO = "expected sums that begin at zero, and are read behind the loop for parts=4, found "
_FILL, _LOOP = "tirx.fill %acc, %zero : f32, !acc", "scf.for %k = %c0 to %end step %step {"


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"grid(1, 1)": ""}, _WITH_A_GRID),
        ({"threads(128)": "threads(128) in_order"}, _WITH_A_GRID),
        ({"sm_90a": "sm_80"}, _WITH_A_GRID),
        ({_FILL: ""}, "expected sums that begin at zero for parts=4, found 'scf.for'"),
        ({_FILL: f"%p = arith.cmpi eq, %n, %c0 : index\n  scf.if %p {{\n  {_FILL}\n  }}"}, f"{_FROM_ZERO}'tirx.fill'"),
        ({_FILL: f"tirx.fill %acc, %one : f32, !acc\n  {_FILL}"}, f"{_FROM_ZERO}'tirx.fill'"),
        (
            {"tirx.mma %sa, %sb, %acc : !a, !b, !acc": "tirx.mma %sa, %sb, %acc : !a, !b, !acc\n"
             "    tirx.mma %sa, %sb, %other : !a, !b, !acc"},
            "expected one loop that adds products to one tile of sums for parts=4, found @k",
        ),
        (
            {"tirx.copy %acc, %gd": "%part = tirx.subview %acc[%c0, %c0] : !acc -> !tirx.tile<64x32xf32, accumulator>\n"
             "  tirx.copy %acc, %gd"},
            "expected only elementwise operations on what the loop has summed up for parts=4, found 'tirx.subview'",
        ),
    ],
)  # fmt: skip
def test_kernels_that_cannot_share(edits: dict[str, str], said: str) -> None:
    text = _product((64, 64, 256), 64, 64)
    text = text.replace(_FILL, f"%one = arith.constant 1.0 : f32\n  %other = tirx.alloc : !acc\n  {_FILL}")
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(LocatedError) as caught:
        embed.run(embed.parse(text, "k.mlir"), [TirxSplitKPass(parts=4)])
    assert said in str(caught.value)


def test_rows_and_columns_of_other_tiles() -> None:
    """A factor of each row stays whole; of a bias for each column a block takes its share."""
    text = _product((64, 64, 256), 64, 64).replace(
        "%d: memref<64x64xf32>", "%x: memref<64x1xf32>, %y: memref<1x64xf32>, %d: memref<64x64xf32>"
    )
    columns, rows, r = ("!tirx.tile<{}xf32, {}>".format(dims, "register") for dims in ("64x1", "1x64", "64x64"))
    text = text.replace(
        "  tirx.copy %acc, %gd : !acc,",
        f"""  %vx = tirx.view %x[%c0, %c0] : memref<64x1xf32> -> !tirx.tile<64x1xf32, global>
  %vy = tirx.view %y[%c0, %n] clipped : memref<1x64xf32> -> !tirx.tile<1x64xf32, global>
  %scale = tirx.load %vx : !tirx.tile<64x1xf32, global> -> {columns}
  %bias = tirx.load %vy : !tirx.tile<1x64xf32, global> -> {rows}
  %wide = tirx.broadcast %scale : {columns} -> {r}
  %z = tirx.map ins(%acc, %wide, %bias : !acc, {r}, {rows}) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    %t = arith.addf %s, %o : f32
    tirx.yield %t : f32
  }} -> {r}
  tirx.store %z, %gd : {r},""",
    )
    kernel = tirx.build(text, options="parts=4").kernels["k"]
    rng = np.random.default_rng(0)
    a, b = _operands(rng, (64, 64, 256), "float16")
    x, y = (rng.integers(1, 4, shape).astype(np.float32) for shape in ((64, 1), (1, 64)))
    kernel.simulate(a, b, x, y, d := np.zeros((64, 64), np.float32))
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T * x + y)
