"""Blocks that read or overwrite what their own bulk copies have written, or that copy what their threads have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from unit.passes.parsed import context, parsed
from unit.sim.assembled import assembled
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import tirx
from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.sync import BarSyncOp, FenceProxyAsyncOp
from tirx.hw import targets
from tirx.passes.checks.synchronization_rules import check_synchronization
from tirx.passes.pipeline import lower_to_ptx_passes
from tirx.ptx.printer import print_ptx
from tirx.rules import SynchronizationError
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.describe import describe
from tirx.runtime.simulation import simulate
from tirx.sim import SimError

ROWS = 64
ORDERS = ("order=row", "order=group", "order=hilbert")
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
SCHEDULES = [
    *((target, options) for target in TARGETS for options in ("", "pipeline=off", *ORDERS)),
    ("sm_90a", "order=row roles=none"),
    ("sm_100a", "order=hardware"),
    ("sm_103a", "order=row"),
]


@dataclass(frozen=True)
class Kernel:
    """Use that a block makes of its rows of %d and %e behind a product y = a b^T, as text and in numpy."""

    text: str

    def build(self, target: str, options: str, blocks: int) -> tirx.Program:
        n = ROWS * blocks
        return tirx.build(_FRAME.format(n=n, blocks=blocks, target=target, epilogue=self.text), None, options)


_FRAME = """
!out = !tirx.tile<64x64xf16, register>
!g = !tirx.tile<64x64xf16, global>
!h = !tirx.tile<32x32xf16, global>
!s = !tirx.tile<32x32xf16, shared>
!stage = !tirx.tile<64x16xf16, shared>
!source = !tirx.tile<64x16xf16, global>
!m = memref<{n}x64xf16>
tirx.kernel @k(%a: !m, %b: memref<64x64xf16>, %d: !m, %e: !m) target("{target}") grid({blocks}) threads(128) {{
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %seven = arith.constant 7.0 : f16
  %zero = arith.constant 0.0 : f32
  %block = tirx.block_id x
  %m = arith.muli %block, %c64 : index
  %m8 = arith.addi %m, %c8 : index
  %sa = tirx.alloc : !stage
  %sb = tirx.alloc : !stage
  %t = tirx.alloc : !s
  %sevens = tirx.alloc : !s
  %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
  %gd = tirx.view %d[%m, %c0] : !m -> !g
  %hd = tirx.view %d[%m8, %c16] : !m -> !h
  %he = tirx.view %e[%m, %c0] : !m -> !h
  tirx.fill %sevens, %seven : f16, !s
  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, accumulator>
  scf.for %k = %c0 to %c64 step %c16 {{
    %ga = tirx.view %a[%m, %k] : !m -> !source
    %gb = tirx.view %b[%c0, %k] : memref<64x64xf16> -> !source
    tirx.copy %ga, %sa : !source, !stage
    tirx.copy %gb, %sb : !source, !stage
    tirx.mma %sa, %sb, %acc : !stage, !stage, !tirx.tile<64x64xf32, accumulator>
  }}
  %y = tirx.map ins(%acc : !tirx.tile<64x64xf32, accumulator>) {{
  ^bb0(%x: f32):
    %r = arith.truncf %x : f32 to f16
    tirx.yield %r : f16
  }} -> !out
  {epilogue}
  tirx.return
}}
"""

_PLUS_ONE = """%{to} = tirx.map ins(%{of} : !tirx.tile<{shape}xf16, register>) {{
  ^bb0(%v: f16):
    %one = arith.constant 1.0 : f16
    %sum = arith.addf %v, %one : f16
    tirx.yield %sum : f16
  }} -> !tirx.tile<{shape}xf16, register>
"""

READ_BACK = Kernel("""
  tirx.store %y, %gd : !out, !g
  tirx.copy %hd, %t : !h, !s
  tirx.copy %t, %he engine ld_st : !s, !h
""")
"""A part of the stored tile is copied to %e."""

OVERWRITTEN = Kernel("""
  tirx.store %y, %gd : !out, !g
  tirx.copy %sevens, %hd engine ld_st : !s, !h
""")
"""A part of it is overwritten at once."""

STORED_BEFORE = Kernel("""
  tirx.copy %sevens, %hd engine ld_st : !s, !h
  tirx.store %y, %gd : !out, !g
""")
"""It overwrites what a smaller tile has stored."""

IN_PLACE = Kernel(
    "%old = tirx.load %gd : !g -> !out\n  "
    + _PLUS_ONE.format(to="new", of="old", shape="64x64")
    + """
  %z = tirx.map ins(%new, %y : !out, !out) {
  ^bb0(%p: f16, %q: f16):
    %sum = arith.addf %p, %q : f16
    tirx.yield %sum : f16
  } -> !out
  tirx.store %z, %gd : !out, !g
"""
)
"""The product is added to what is there."""

IN_TURNS = Kernel("""
  tirx.store %y, %gd : !out, !g
  %c2 = arith.constant 2 : index
  %odd = arith.remui %block, %c2 : index
  %is_even = arith.cmpi eq, %odd, %c0 : index
  scf.if %is_even {
    tirx.copy %hd, %t : !h, !s
    tirx.copy %t, %he engine ld_st : !s, !h
  }
  tirx.copy %sevens, %hd engine ld_st : !s, !h
""")
"""Every second block reads it, then all overwrite it."""

KERNELS = {
    "read_back": READ_BACK,
    "overwritten": OVERWRITTEN,
    "stored_before": STORED_BEFORE,
    "in_place": IN_PLACE,
    "in_turns": IN_TURNS,
}


def _expected(name: str, y: np.ndarray, d: np.ndarray, e: np.ndarray, blocks: int) -> None:
    for block in range(blocks):
        rows = slice(ROWS * block, ROWS * (block + 1))
        part = slice(ROWS * block + 8, ROWS * block + 40), slice(16, 48)
        corner = slice(ROWS * block, ROWS * block + 32), slice(0, 32)
        d[rows] = d[rows] + 1 + y[rows] if name == "in_place" else y[rows]
        if name == "read_back" or (name == "in_turns" and block % 2 == 0):
            e[corner] = d[part]
        if name in ("overwritten", "in_turns"):
            d[part] = 7


def _check(name: str, target: str, options: str, blocks: int = 3) -> str:
    program = KERNELS[name].build(target, options, blocks)
    rng = np.random.default_rng(len(name))
    a, b = (rng.integers(-2, 3, (n, 64)).astype(np.float16) for n in (ROWS * blocks, 64))
    d, e = (rng.integers(-3, 4, a.shape).astype(np.float16) for _ in range(2))
    expected = d.copy(), e.copy()
    _expected(name, (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16), *expected, blocks)
    program.kernels["k"].simulate(a, b, d, e, check="strict", seed=1)
    np.testing.assert_array_equal(d, expected[0])
    np.testing.assert_array_equal(e, expected[1])
    return program.ptx


@pytest.mark.parametrize(("target", "options"), SCHEDULES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.sample(2)
def test_each_access_waits_for_the_one_before(name: str, target: str, options: str) -> None:
    _check(name, target, options)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_103a", "sm_107a"])
@pytest.mark.sample(1)
def test_more_tiles_than_multiprocessors_at_default_options(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.TARGETS, target, replace(targets.TARGETS[target], multiprocessors=2))
    ptx = _check("read_back", target, "", 5)
    assert "cp.async.bulk.wait_group.read 0;" in ptx  # a bulk store that a tile leaves unfinished


def test_only_who_may_touch_the_same_elements_waits() -> None:
    """The tile that is stored in place is another one in every round; its store still ends while the next tile runs."""
    built = {name: kernel.build("sm_90a", "order=row", 3).ptx for name, kernel in KERNELS.items()}
    waits = {name: ptx.count("cp.async.bulk.wait_group 0;") for name, ptx in built.items()}
    assert waits == {"read_back": 2, "overwritten": 2, "stored_before": 1, "in_place": 1, "in_turns": 3}
    assert built["in_place"].count("fence.proxy.async;") == 1  # the accelerator overwrites what threads have read
    assembled(built["in_place"])


def test_a_store_by_hand_and_then_a_load() -> None:
    program = tirx.build("""
!s = !tirx.tile<64x32xf16, shared>
!g = !tirx.tile<64x32xf16, global>
!r = !tirx.tile<64x32xf16, register>
tirx.kernel @k(%a: memref<128x32xf16>, %d: memref<128x32xf16>) target("sm_90a") grid(1) threads(128)
    attributes {tirx.order = "row"} {
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7.0 : f16
  %nine = arith.constant 9.0 : f16
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x32xf16> -> !g
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf16> -> !g
  %r = tirx.splat %seven : f16 -> !r
  tirx.copy %r, %s : !r, !s
  tirx.copy %s, %ga engine tma_store : !s, !g
  %q = tirx.load %ga : !g -> !r
  tirx.store %q, %gd : !r, !g
  %n = tirx.splat %nine : f16 -> !r
  tirx.store %n, %ga : !r, !g
  tirx.return
}
""")
    a, d = np.ones((128, 32), np.float16), np.zeros((128, 32), np.float16)
    program.kernels["k"].simulate(a, d, check="strict")
    assert set(a[:64].ravel().tolist()) == {9} and set(d[:64].ravel().tolist()) == {7}


_LOADED = """
!s = !tirx.tile<{rows}x32xf16, shared>
!g = !tirx.tile<{rows}x32xf16, global>
!r = !tirx.tile<{rows}x32xf16, register>
!m = memref<192x32xf16, strided<[{stride}, 1]>>
tirx.kernel @k(%a: !m, %d: memref<{rows}x32xf16>) target("sm_90a") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %stored = arith.constant {stored} : index
  %loaded = arith.constant {loaded} : index
  %seven = arith.constant 7.0 : f16
  %s = tirx.alloc : !s
  %r = tirx.splat %seven : f16 -> !r
  %ga = tirx.view %a[%stored, %c0] : !m -> !g
  %gl = tirx.view %a[%loaded, %c0] : !m -> !g
  %gd = tirx.view %d[%c0, %c0] : memref<{rows}x32xf16> -> !g
  tirx.store %r, %ga : !r, !g
  tirx.copy %gl, %s engine tma : !g, !s
  tirx.copy %s, %gd engine ld_st : !s, !g
  tirx.return
}}
"""
"""Threads store rows from `stored` on, and a bulk copy loads rows from `loaded` on."""


def _loaded(stored: int, loaded: int, rows: int = 64, stride: int = 32) -> tuple[ModuleOp, EntryOp]:
    module = parsed(_LOADED.format(stored=stored, loaded=loaded, rows=rows, stride=stride))
    lower_to_ptx_passes().apply(context(), module)
    (entry,) = (op for op in module.walk() if isinstance(op, EntryOp))
    check_synchronization(entry)
    return module, entry


def _fence(entry: EntryOp) -> FenceProxyAsyncOp:
    (fence,) = (op for op in entry.walk() if isinstance(op, FenceProxyAsyncOp))
    return fence


_FENCE = FenceProxyAsyncOp, "expected fence.proxy.async between"
_BARRIER = BarSyncOp, "expected a barrier between"


@pytest.mark.parametrize(
    ("deleted", "missing", "stored", "loaded", "rows", "stride"),
    [
        *((*each, 0, 0, 64, 32) for each in (_FENCE, _BARRIER)),
        (*_FENCE, 0, 63, 64, 32),
        (*_BARRIER, 127, 64, 64, 32),
        (*_FENCE, 3, 70, 1, 0),
        (*_FENCE, 70, 0, 1, 0),
    ],
)
def test_what_orders_a_store_and_a_bulk_load_is_missed(
    deleted: type[FenceProxyAsyncOp | BarSyncOp], missing: str, stored: int, loaded: int, rows: int, stride: int
) -> None:
    """Wherever the views start, and where all rows are one; the simulator sees it, too."""
    module, entry = _loaded(stored, loaded, rows, stride)
    found: Operation | None = _fence(entry)
    while not isinstance(found, deleted):
        assert found is not None
        found = found.next_op
    found.detach()
    with pytest.raises(SynchronizationError, match=missing):
        check_synchronization(entry)
    a, d = np.ones((192, 32), np.float16), np.zeros((rows, 32), np.float16)
    (launch,) = describe(module)
    if not stride:
        a = np.lib.stride_tricks.as_strided(a, strides=(0, 2))
        with pytest.raises(ArgumentError, match="expected elements that do not overlap"):
            simulate(print_ptx(module), launch, [a, d])
        return
    with pytest.raises(SimError, match="data race"):
        simulate(print_ptx(module), launch, [a, d])


@pytest.mark.parametrize(("stored", "loaded"), [(0, 64), (64, 0), (128, 64)])
def test_rows_that_nobody_stores_need_no_order(stored: int, loaded: int) -> None:
    """Order of shared memory alone is enough here: nobody has touched the rows."""
    module, entry = _loaded(stored, loaded)
    _fence(entry).detach()
    check_synchronization(entry)
    a, d = np.arange(192 * 32, dtype=np.float16).reshape(192, 32), np.zeros((64, 32), np.float16)
    expected = a[loaded : loaded + 64].copy()
    (launch,) = describe(module)
    simulate(print_ptx(module), launch, [a, d], check="strict")
    assert np.array_equal(d, expected)
