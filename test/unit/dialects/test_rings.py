"""Building rings, queues, loops and roles from Python, and what their types and operations derive."""

from __future__ import annotations

from io import StringIO

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import IndexType, ModuleOp, f16, f32, i1, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.tirx import (
    ASYNC_ENGINES,
    AcquireOp,
    Across,
    AsyncCopyOp,
    AsyncMmaOp,
    AsyncNextOp,
    AtOp,
    AwaitOp,
    Engine,
    ForOp,
    KernelOp,
    MemorySpace,
    PendingType,
    Queue,
    ReleaseOp,
    ReturnOp,
    RingOp,
    RingType,
    RoleOp,
    RolesOp,
    TileIdType,
    TileOrder,
    TilesOp,
    TileType,
    Unit,
    YieldOp,
)
from tirx.dialects.tirx.thread_sets import ThreadSet
from tirx.dialects.tirx.threads import WarpgroupOp
from tirx.text.verification import verify_located

A = TileType.get((128, 64), f16, MemorySpace.SHARED)
B = TileType.get((256, 64), f16, MemorySpace.SHARED)
REGISTERS = TileType.get((128, 256), f32, MemorySpace.REGISTER)
TENSOR = TileType.get((128, 256), f32, MemorySpace.TENSOR)


def value(type_: Attribute) -> SSAValue:
    return AnyOp(result_types=[type_]).results[0]


def text(op: Operation) -> str:
    """The operation alone, without the values that it uses."""
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


def test_slots_are_as_large_as_the_largest_view_of_their_bytes():
    scores, weights = (
        TileType.get((128, 128), f32, MemorySpace.TENSOR),
        TileType.get((128, 128), f16, MemorySpace.TENSOR),
    )
    assert RingType.get([("a", A)], [("b", B)]).slot_bytes == (128 + 256) * 64 * 2
    assert RingType.get([("s", scores), ("p", weights)]).slot_bytes == 128 * 128 * 4
    assert RingType.get().slot_bytes == 0


@together(
    ("type_", "first", "later"),
    [
        (RingType.get([("a", A)], [("b", B)]), (A, B), (A, B)),
        (RingType.get(), (), ()),
        (RingType.get([("", TileIdType())]), (), (i1, IndexType(), IndexType())),
        (RingType.get([("n", i32)]), (), (i32,)),
    ],
)
def test_types_of_an_acquire(type_: RingType, first: tuple[Attribute, ...], later: tuple[Attribute, ...]):
    ring = RingOp(1, ("write", "read"), type_).result
    assert tuple(AcquireOp(ring, "write").result_types) == first
    assert tuple(AcquireOp(ring, "read").result_types) == later


def test_a_tile_without_views_is_no_part_of_a_slot():
    with pytest.raises(VerifyException, match="expected at least one view of every tile of a slot, found none"):
        RingType.get([])


def test_pending_tiles_are_in_registers():
    assert PendingType.tile_of(value(PendingType(REGISTERS))) == PendingType.tile_of(value(REGISTERS)) == REGISTERS
    for wrong in (A, i32):
        with pytest.raises(VerifyException, match="expected a register tile that is pending, found"):
            PendingType(wrong)


def test_engines_join_queues():
    queues = {engine: properties.queue for engine, properties in ASYNC_ENGINES.items()}
    assert queues[Engine.TMA] is queues[Engine.TMA_MULTICAST] is Queue.TMA
    assert queues[Engine.TMA_STORE] is queues[Engine.TMA_REDUCE] is Queue.STORE
    assert (queues[Engine.CP_ASYNC], queues[Engine.TCGEN05_CP]) == (Queue.CP_ASYNC, Queue.TCGEN05)
    shared, tensor = TileType.get((8, 16), f16, MemorySpace.SHARED), TileType.get((8, 16), f16, MemorySpace.TENSOR)
    assert AsyncCopyOp(value(shared), value(tensor), Engine.TCGEN05_CP).queue is Queue.TCGEN05
    assert AsyncMmaOp(value(A), value(B), value(TENSOR)).queue is Queue.TCGEN05
    assert AsyncMmaOp(value(A), value(B), value(REGISTERS), result_type=PendingType(REGISTERS)).queue is Queue.WGMMA
    assert AsyncNextOp(RingOp(1, ("ask", "read"), RingType.get([("", TileIdType())])).result).queue is Queue.TMA
    assert AwaitOp(value(PendingType(REGISTERS))).awaited_queue is Queue.WGMMA
    assert AwaitOp(queue=Queue.STORE, pending=1).awaited_queue is Queue.STORE


def test_roles_get_the_warps_in_order():
    roles = [
        RoleOp("load", 4, Region(), 40, Unit.THREAD),
        RoleOp("math", 8, Region(), 232),
        RoleOp("store", 1, Region()),
    ]
    assert RolesOp(Region(Block(roles))).roles == tuple(roles)
    assert [role.thread_set for role in roles] == [ThreadSet(0, 128, 1), ThreadSet(128, 256, 2), ThreadSet(384, 32, 3)]


def test_warpgroups_count_from_their_role():
    second = WarpgroupOp(1)
    RolesOp(Region(Block([RoleOp("load", 4, Region()), RoleOp("math", 8, Region(Block([second])))])))
    assert second.thread_set == ThreadSet(256, 128, barrier=None)


def test_a_kernel_built_from_python_verifies_and_prints():
    kernel = KernelOp("gemm", [IndexType()], 32)
    body, trips = kernel.body.block, kernel.body.block.args[0]
    ring = RingOp(3, ("fill", "use"), RingType.get([("a", A)]))
    late, early = Block(), Block()
    acquired = AcquireOp(ring.result, "fill")
    early.add_ops([acquired, ReleaseOp(ring.result, "fill", Queue.TMA), YieldOp()])
    late.add_ops([AcquireOp(ring.result, "use"), ReleaseOp(ring.result, "use")])
    loop = ForOp(
        "k", trips, Region(Block([AtOp(2, Region(late)), AtOp(0, Region(early))], arg_types=[IndexType()])), skew=2
    )
    tiles = TilesOp(
        "tile", TileOrder.GROUP, Region(Block([loop], arg_types=[IndexType()] * 2)), [trips, trips], group=8
    )
    body.add_ops([ring, tiles, ReturnOp()])
    verify_located(ModuleOp([kernel]))
    assert [part.offset for part in loop.parts] == [2, 0]
    assert text(tiles).startswith("tirx.tiles @tile %0, %1 = order(group 8) of (%2, %2) {")
    assert "tirx.for @k %3 = 0 to %2 skew(2) {" in text(tiles)


def test_across_needs_a_cluster():
    ring = RingOp(1, ("a",), RingType.get(), Across.PAIR)
    KernelOp("k", [], 32, Region(Block([ring, ReturnOp()])), cluster=2).verify()
    ring = RingOp(1, ("a",), RingType.get(), Across.PAIR)
    with pytest.raises(VerifyException, match=r"expected a kernel with a cluster for across\(pair\)"):
        KernelOp("k", [], 32, Region(Block([ring, ReturnOp()]))).verify()


@together(("blocks", "problem"), [(2, True), (3, True), (4, False), (5, True), (8, False)])
def test_rings_across_pairs(blocks: int, problem: bool) -> None:
    """A cluster of several whole pairs has them."""
    module = parsed(f"""tirx.kernel @k() target("sm_100a") cluster({blocks}) per_cta threads(128) {{
      %r = tirx.ring slots(2) stations(a) across(pairs) : !tirx.ring<>
      tirx.return
    }}""")
    (ring,) = (op for op in module.walk() if isinstance(op, RingOp))
    try:
        ring.verify_()
    except VerifyException as error:
        assert problem and str(error) == (
            f"expected a kernel with a cluster of several pairs for across(pairs), found cluster({blocks})"
        )
    else:
        assert not problem
