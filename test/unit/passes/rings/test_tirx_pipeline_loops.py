"""Options of the pass, and the names of what it makes."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed
from xdsl.dialects.builtin import IntegerAttr

from tirx.dialects.tirx import AcquireOp, FillOp, KernelOp, LoadOp, ReleaseOp, RingOp
from tirx.passes.rings.tirx_pipeline_loops import TirxPipelineLoopsPass
from tirx.rules import ScheduleOptionError

KERNEL = """
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @k(%a: memref<64x4096xf16>, %e: memref<64x4096xf16>, %n: index)
    target("sm_90a") threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  {loops}
  tirx.return
}}
"""
LOOP = """
  %{tile} = tirx.alloc : !s
  scf.for %{index} = %c0 to %n step %c64 {{
    %g = tirx.view %a[%c0, %{index}] : memref<64x4096xf16> -> !g
    tirx.copy %g, %{tile} engine tma : !g, !s
    %f = tirx.load %{tile} : !s -> !f
    %d = tirx.view %e[%c0, %{index}] : memref<64x4096xf16> -> !g
    tirx.store %f, %d : !f, !g
  }} {attributes}
"""


def _run(stages: int | str, loops: str) -> list[tuple[str | None, int, str | None]]:
    """The rings that the pass makes: names, slots, names of the loops."""
    module = parsed(KERNEL.format(loops=loops))
    TirxPipelineLoopsPass(stages).apply(context(), module)
    loops_of = [op.loop.data for op in module.walk() if op.name == "tirx.for"]  # pyright: ignore
    rings = [op for op in module.walk() if isinstance(op, RingOp)]
    return [(ring.result.name_hint, ring.num_slots, name) for ring, name in zip(rings, loops_of, strict=True)]  # pyright: ignore


def test_stages() -> None:
    loop = LOOP.format(tile="s", index="k", attributes="")
    assert _run(2, loop) == [("s", 2, "k")]
    assert _run(5, loop) == [("s", 5, "k")]
    assert _run(1, loop) == []
    assert _run("auto", loop)[0][1] in range(3, 7)
    assert _run("auto", LOOP.format(tile="s", index="k", attributes="{tirx.stages = 1 : i32}")) == []
    assert _run(1, LOOP.format(tile="s", index="k", attributes="{tirx.stages = 2 : i32}")) == [("s", 2, "k")]
    for stages in (0, -1, "many"):
        with pytest.raises(ScheduleOptionError) as error:
            _run(stages, loop)
        assert error.value.message == f"expected stages to be auto or 1 or more, found {stages}"
    for found in ("0 : i32", '"2"'):
        with pytest.raises(ScheduleOptionError) as error:
            _run("auto", LOOP.format(tile="s", index="k", attributes=f"{{tirx.stages = {found}}}"))
        assert error.value.message == f"expected tirx.stages to be an integer of 1 or more, found {found}"


def test_loops_have_names_of_their_own() -> None:
    loops = "".join(LOOP.format(tile=f"s{i}", index="k", attributes="") for i in range(3))
    assert _run(2, loops) == [("s0", 2, "k"), ("s1", 2, "k_1"), ("s2", 2, "k_2")]


def test_attributes_of_loops_stay() -> None:
    attributes = "{tirx.stages = 2 : i32, my.loop = 3 : i32}"
    module = parsed(KERNEL.format(loops=LOOP.format(tile="s", index="k", attributes=attributes)))
    TirxPipelineLoopsPass("auto").apply(context(), module)
    (loop,) = (op for op in module.walk() if op.name == "tirx.for")
    assert loop.attributes == {"my.loop": IntegerAttr(3, 32)}


def test_labels_are_names() -> None:
    """A tile whose name is none in the syntax of rings has no label there."""
    module = parsed(KERNEL.format(loops=LOOP.format(tile="s.t", index="k", attributes="")))
    TirxPipelineLoopsPass(2).apply(context(), module)
    (ring,) = (op for op in module.walk() if isinstance(op, RingOp))
    assert ring.result.name_hint is None
    assert [view.label.data for tile in ring.result.type.contents for view in tile] == [""]


def test_accumulators_are_held_around_all_fills_and_reads() -> None:
    module = parsed("""
!a = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
!b = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x64xf32, tensor>
!r = !tirx.tile<128x64xf32, register>
tirx.kernel @k(%a: memref<128x4096xf16>, %b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !t
  tirx.fill %acc, %zero : f32, !t
  tirx.fill %acc, %zero : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !ga
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %gb, %sb : !gb, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !t
  }
  %r = tirx.load %acc : !t -> !r
  "test.op"(%r) : (!r) -> ()
  %q = tirx.load %acc : !t -> !r
  "test.op"(%q) : (!r) -> ()
  tirx.return
}
""")
    TirxPipelineLoopsPass(2).apply(context(), module)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    told: list[str] = []
    for op in kernel.body.block.ops:
        if isinstance(op, AcquireOp | ReleaseOp):
            told.append(f"{op.name} {op.station.data}")
        elif isinstance(op, FillOp | LoadOp):
            tile = op.tile if isinstance(op, FillOp) else op.source
            assert isinstance(tile.owner, AcquireOp)
            told.append(f"{op.name} {tile.owner.station.data}")
    assert told == [
        *("tirx.acquire init", "tirx.fill init", "tirx.fill init", "tirx.release init", "tirx.acquire sum"),
        *("tirx.release sum", "tirx.acquire read", "tirx.load read", "tirx.load read", "tirx.release read"),
    ]
    rings = {op.result.name_hint: op.num_slots for op in kernel.walk() if isinstance(op, RingOp)}
    assert rings == {"sa_sb": 2, "acc": 1}
