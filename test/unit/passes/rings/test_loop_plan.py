"""Slots of pipelined loops: as many as there is shared memory for, to the byte. Products that stay unfinished."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import scf

from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.tirx import AllocOp, CopyOp, KernelOp, MmaOp, Queue
from tirx.hw.targets import Target
from tirx.passes.match.slots import BARRIER_BYTES
from tirx.passes.rings.loop_plan import plan_loops
from tirx.passes.rings.tensor_exchanges import SharedTile, Turn, held_metadata

WARPS = "!tirx.tile<192x5xf32, register, #tirx.tile_layout<S[(6, 32, 5) : (1@warpid, 1@laneid, 1)]>>"
LANES = "!tirx.tile<192x5xf32, register, #tirx.tile_layout<S[(32, 6, 5) : (1@laneid, 1@warpid, 1)]>>"
SLOT = 64 * 64 * 2
SWIZZLED = "#tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>"
SHARED = f"!tirx.tile<64x64xf16, shared, {SWIZZLED}>"

KERNEL = f"""
!g = !tirx.tile<64x64xf16, global>
!s = {SHARED}
tirx.kernel @k(%a: memref<64x4096xf16>, %n: index) target("sm_90a") threads(192) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %other = tirx.alloc : !tirx.tile<OTHERxi8, shared, #tirx.tile_layout<S[OTHER]>>
  MORE
  %s = tirx.alloc : !s
  scf.for %i = %c0 to %n step %c64 {{
    %g = tirx.view %a[%c0, %i] : memref<64x4096xf16> -> !g
    tirx.copy %g, %s : !g, !s
    %r = tirx.load %s : !s -> !tirx.tile<64x64xf16, register>
  }} {{ASKED}}
  tirx.return
}}
"""
CONVERT = f"%z = tirx.zero : {WARPS}\n  %t = tirx.convert %z : {WARPS} -> {LANES}"
RING = f"%ring = tirx.ring slots(3) stations(x, y) : !tirx.ring<t: {SHARED}>"


@together(
    ("more", "used", "asked", "room", "slots"),
    [
        # A loop without products has 3 slots, or 4, or stays as it is.
        ("", 0, "", 3 * SLOT - 128, None),
        ("", 0, "", 3 * SLOT, 3),
        ("", 0, "", 4 * SLOT - 128, 3),
        ("", 0, "", 4 * SLOT, 4),
        ("", 0, "", 5 * SLOT, 4),
        # Beside what a change of layout across warps takes, and the slots of a ring.
        (CONVERT, 192 * 5 * 4, "", 3 * SLOT - 128, None),
        (CONVERT, 192 * 5 * 4, "", 3 * SLOT, 3),
        (RING, 3 * SLOT, "", 3 * SLOT - 128, None),
        (RING, 3 * SLOT, "", 3 * SLOT, 3),
        # As many as the loop asks for, if these are more than one.
        ("", 0, "tirx.stages = 2", 2 * SLOT, 2),
        ("", 0, "tirx.stages = 5", 6 * SLOT, 5),
        ("", 0, "tirx.stages = 1", 6 * SLOT, None),
    ],
)
def test_slots(more: str, used: int, asked: str, room: int, slots: int | None) -> None:
    target = Target.parse("sm_90a")
    other = target.shared_limit - BARRIER_BYTES - used - room
    module = parsed(KERNEL.replace("OTHER", str(other)).replace("MORE", more).replace("ASKED", asked))
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    plans = plan_loops(kernel, target, None)
    assert [plan.slots for plan in plans] == ([] if slots is None else [slots])
    assert all((plan.pending, plan.skew) == (0, plan.slots - 1) for plan in plans)


SUMS = f"""
!g = !tirx.tile<64x64xf16, global>
!s = {SHARED}
!c = !tirx.tile<64x64xf32, register>
tirx.kernel @k(%a: memref<64x4096xf16>, %b: memref<64xSTRIDExf16>, %n: index, %p: i1) target("sm_90a") threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zeros = tirx.zero : !c
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %gb = tirx.view %b[%c0, %c0] : memref<64xSTRIDExf16> -> !g
  %behind = tirx.view %b[%c64, %c0] clipped : memref<64xSTRIDExf16> -> !g
  BEFORE
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%q = %c0, %c = %zeros) -> (index, !c) {{
    %ga = tirx.view %a[%c0, %i] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    INSIDE
    %d = tirx.mma %sa, %sb, %c : !s, !s, !c -> !c
    BEHIND
    scf.yield %i, SUM : index, !c
  }}
  tirx.return
}}
"""
TOUCH = '\n  "test.op"({}) : (!g) -> ()\n  '
FILL = "tirx.copy %gb, %sb : !g, !s"
NEEDED = "each product is awaited: '{}' needs the sum of 'tirx.mma' in the same iteration"


@together(
    ("replaced", "products", "held", "notes"),
    [
        ({"INSIDE": FILL}, 1, 0, []),
        # A product adds to the sum of another one.
        ({"INSIDE": FILL, "BEHIND": "%e = tirx.mma %sb, %sa, %d : !s, !s, !c -> !c", "SUM": "%e"}, 2, 0, []),
        # One slot holds what a bulk copy fills before the loop, but not what threads fill.
        ({"BEFORE": FILL}, 1, 1, []),
        (
            {"BEFORE": FILL, "STRIDE": "65"},
            0,
            0,
            ["each product is awaited: 'tirx.mma' reads %sb, which is in no ring"],
        ),
        # Nothing overwrites what the copy still reads; what stands before it may write there, and elsewhere.
        ({"BEFORE": TOUCH.format("%gb") + FILL + TOUCH.format("%behind")}, 1, 1, []),
        (
            {"BEFORE": FILL + TOUCH.format("%gb")},
            0,
            0,
            ["each product is awaited: 'tirx.mma' reads %sb, which is in no ring"],
        ),
        # Something else uses the sum, or the loop carries on another one.
        ({"INSIDE": FILL, "BEHIND": '"test.op"(%d) : (!c) -> ()'}, 0, 0, [NEEDED.format("test.op")]),
        (
            {
                "INSIDE": FILL,
                "BEHIND": "%e = scf.if %p -> (!c) { scf.yield %d : !c } else { scf.yield %zeros : !c }",
                "SUM": "%e",
            },
            0,
            0,
            [NEEDED.format("scf.yield")],
        ),
        ({"INSIDE": FILL, "SUM": "%c"}, 0, 0, [NEEDED.format("tirx.mma")]),
    ],
)
def test_products(replaced: dict[str, str], products: int, held: int, notes: list[str]) -> None:
    text = SUMS
    for name, by in ({"STRIDE": "64", "BEFORE": "", "INSIDE": "", "BEHIND": "", "SUM": "%d"} | replaced).items():
        text = text.replace(name, by)
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    (plan,) = plan_loops(kernel, Target.parse("sm_90a"), None)
    assert (len(plan.products), len(plan.held), [plan.note] if plan.note else []) == (products, held, notes)
    assert products == 0 or set(plan.products) == {op for op in kernel.walk() if isinstance(op, MmaOp)}


STORE = "%f = tirx.zero : !tirx.tile<64x64xf16, register>\n tirx.store %f, %sb : !tirx.tile<64x64xf16, register>, !s\n"


@together(
    ("replaced", "awaited"),
    [
        # What threads have stored stays as it is until the next iteration.
        ({"INSIDE": STORE}, 1),
        ({"INSIDE": f"scf.if %p {{ {STORE} }}", "BEHIND": '"test.op"(%d) : (!c) -> ()'}, 1),
        # Something may write the tile while the product would run.
        ({"INSIDE": STORE, "BEHIND": STORE.replace("%f", "%h")}, 0),
        ({"BEHIND": f"scf.if %p {{ {STORE} }}"}, 0),
        ({"INSIDE": STORE, "BEHIND": '"test.op"(%sb) : (!s) -> ()'}, 0),
        # Threads read a slot that would be passed on when the product has read it.
        ({"INSIDE": FILL, "BEHIND": "%f = tirx.load %sb : !s -> !tirx.tile<64x64xf16, register>"}, 0),
    ],
)
def test_awaited_products(replaced: dict[str, str], awaited: int) -> None:
    """Products that read tiles in no ring are asynchronous where the tiles stay as they are until the end."""
    text = SUMS
    for name, by in ({"STRIDE": "64", "BEFORE": "", "INSIDE": "", "BEHIND": "", "SUM": "%d"} | replaced).items():
        text = text.replace(name, by)
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    (plan,) = plan_loops(kernel, Target.parse("sm_90a"), None)
    assert (len(plan.products), len(plan.awaited)) == (0, awaited)


def test_metadata_of_several_products() -> None:
    """Each tile is stored before the first product that reads it, and free behind the last one."""
    text = """
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x128xf16, shared>
!e = !tirx.tile<128x32xi4, tensor>
!c = !tirx.tile<128x64xf32, tensor>
!g = !tirx.tile<128x32xi4, global>
tirx.kernel @k(%x: memref<128x1024xi4>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %e = tirx.alloc : !e
  %f = tirx.alloc : !e
  %c = tirx.alloc : !c
  scf.for %i = %c0 to %n step %c32 {
    %g = tirx.view %x[%c0, %i] : memref<128x1024xi4> -> !g
    tirx.copy %g, %e : !g, !e
    tirx.copy %g, %f : !g, !e
    tirx.mma %a, %b, %c metadata(%e) : !a, !b, !c, !e
    tirx.mma %a, %b, %c metadata(%f) : !a, !b, !c, !e
    tirx.mma %a, %b, %c metadata(%e) : !a, !b, !c, !e
    tirx.mma %b, %b, %c : !b, !b, !c
  }
  tirx.return
}
"""
    module = parsed(text)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
    copies = [op for op in loop.walk() if isinstance(op, CopyOp)]
    products = [op for op in loop.walk() if isinstance(op, MmaOp)]
    assert held_metadata(loop, products) == (
        SharedTile(
            allocs[2],
            (Turn("fill", (copies[0],)), Turn("use", (products[0], products[2]), Queue.TCGEN05, directly=True)),
            slots=2,
        ),
        SharedTile(
            allocs[3],
            (Turn("fill", (copies[1],)), Turn("use", (products[1],), Queue.TCGEN05, directly=True)),
            slots=2,
        ),
    )


STAYS = f"""
!g = !tirx.tile<64x64xf16, global>
!s = {SHARED}
!r = !tirx.tile<64x64xf16, register>
!c = !tirx.tile<64x64xf32, TO>
tirx.kernel @k(%a: memref<64x4096xf16>, %b: memref<64x4096xf16>, %m: memref<4096xi32>, %n: index,
               %p: i1, %v: i32, %s2: !s) target("TARGET") threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %c = tirx.alloc : !c
  %once = tirx.view %b[%c0, %c0] : memref<64x4096xf16> -> !g
  BEFORE
  scf.for %i = %c0 to %n step %c64 {{
    %g = tirx.view %a[%c0, %i] : memref<64x4096xf16> -> !g
    %h = tirx.view %b[%c0, %i] : memref<64x4096xf16> -> !g
    INSIDE
  }}
  BEHIND
  tirx.return
}}
"""
COPY, ALSO = "tirx.copy %g, %s : !g, !s", "tirx.copy %h, %t : !g, !s"
LOAD, PRODUCT = "%r = tirx.load %s : !s -> !r", "tirx.mma %s, %t, %c : !s, !s, !c"
ANEW = "%no = arith.constant false\n  tirx.mma %s, %t, %c accumulate(%no) : !s, !s, !c"
BOTH = f"{COPY}\n{ALSO}\n"
READ = "%d = tirx.load %c : !c -> !tirx.tile<64x64xf32, register>"
ZERO = "%z = arith.constant 0.0 : f32\n  tirx.fill %c, %z : f32, !c"


@together(
    ("inside", "before", "behind", "target", "said"),
    [
        (f"{COPY}\n{LOAD}\nmemref.store %v, %m[%i] : memref<4096xi32>", "", "", "sm_90a",
         "the loop stays sequential: one thread does 'memref.store' in it"),
        (f"{COPY}\n{LOAD}\ntirx.signal %m[%i], %v : memref<4096xi32>", "", "", "sm_90a",
         "the loop stays sequential: 'tirx.signal' in it orders what blocks do"),
        (COPY, "", LOAD, "sm_90a", "%s keeps one buffer: 'tirx.load' uses it outside of the loop"),
        (COPY, "", "", "sm_90a", "%s keeps one buffer: the loop does not both fill and read it"),
        (f"{COPY}\n{LOAD}\n%z = arith.constant 0.0 : f16\ntirx.fill %s, %z : f16, !s", "", "", "sm_90a",
         "%s keeps one buffer: 'tirx.fill' writes it, which is no copy to it"),
        (f"scf.if %p {{\n{COPY}\n}}\n{LOAD}", "", "", "sm_90a",
         "%s keeps one buffer: 'tirx.copy' fills it inside of 'scf.if'"),
        (f"{LOAD}\n{COPY}", "", "", "sm_90a",
         "%s keeps one buffer: 'tirx.copy' writes it behind 'tirx.load', which reads it"),
        (f"{COPY}\ntirx.copy %h, %s : !g, !s\n{LOAD}", "", "", "sm_90a",
         "%s keeps one buffer: 'tirx.copy' writes elements that another copy fills"),
        (f"{COPY}\n{LOAD}", "", "", "sm_75",
         "%s keeps one buffer: nothing fills it asynchronously, no tma: expected sm_90 or later, found sm_75; "
         "no cp_async: expected sm_80 or later, found sm_75"),
        (f"{BOTH}scf.if %p {{\n{PRODUCT}\n}}", ZERO, READ, "sm_100a",
         "each product is awaited: 'tirx.mma' does not run in every iteration"),
        (f"{BOTH}{PRODUCT}\n{READ}", ZERO, "", "sm_100a",
         "each product is awaited: %c is neither overwritten in each iteration and then read, nor filled before the "
         "loop, changed in front of the products and read behind the loop"),
        (f"{BOTH}{PRODUCT}", READ, READ.replace("%d", "%d2"), "sm_100a",
         "each product is awaited: 'tirx.load' uses the accumulator %c before the loop"),
        (f"{BOTH}{PRODUCT}", ZERO, "", "sm_100a",
         "each product is awaited: nothing reads the accumulator %c behind the loop"),
        (f"{BOTH}{PRODUCT}\n{LOAD}", ZERO, READ, "sm_100a",
         "each product is awaited: 'tirx.load' reads %s beside the products"),
        (f"{BOTH}{PRODUCT}", ZERO, f"scf.if %p {{\ntirx.mma %s2, %s2, %c : !s, !s, !c\n}}\n{READ}", "sm_100a",
         "each product is awaited: 'scf.if' may add nothing to the accumulator"),
    ],
)  # fmt: skip
def test_loops_that_stay(inside: str, before: str, behind: str, target: str, said: str) -> None:
    text = STAYS.replace("TARGET", target).replace("TO", "tensor" if target == "sm_100a" else "register")
    for name, by in (("BEFORE", before), ("INSIDE", inside), ("BEHIND", behind)):
        text = text.replace(name, by)
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    reported: list[Diagnostic] = []
    with diagnostic_handler(reported.append, remarks=True):
        plans = plan_loops(kernel, Target.parse(target), None)
    assert said in [*(each.message for each in reported), *(plan.note for plan in plans)]


LAST = READ.replace("%d", "%d2")


@pytest.mark.parametrize(
    ("inside", "before", "behind"),
    [
        (f"{ANEW}\n{READ}\n{PRODUCT}", "", ""),
        (f"{READ}\n{ANEW}\n{LAST}", "", ""),
        (f"{ANEW}\n{READ}", "", LAST),
        (f"{ANEW}\n{READ}\n{ZERO}", "", ""),
        (f"{READ}\n{PRODUCT}\n{LAST}", ZERO, LAST),
        (f"{PRODUCT}\n{READ}\n{PRODUCT}", ZERO, LAST),
        (f"{READ}\n{PRODUCT}", ZERO, ""),
        (f"{READ}\n{PRODUCT}", "", LAST),
    ],
)
def test_sums_that_are_not_exchanged(inside: str, before: str, behind: str) -> None:
    """Threads read or change sums between products, on both sides of them, or where nobody gave or wants them."""
    text = STAYS.replace("TARGET", "sm_100a").replace("TO", "tensor")
    for name, by in (("BEFORE", before), ("INSIDE", BOTH + inside), ("BEHIND", behind)):
        text = text.replace(name, by)
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    assert [plan.note for plan in plan_loops(kernel, Target.parse("sm_100a"), None)] == [
        "each product is awaited: %c is neither overwritten in each iteration and then read, nor filled before the "
        "loop, changed in front of the products and read behind the loop"
    ]
