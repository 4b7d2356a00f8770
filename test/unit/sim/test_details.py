"""Small things that each take one kernel to see: names of threads, races of one thread, products that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry, run_threads
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap, entries
from tirx.sim.core.traffic import Traffic
from tirx.sim.core.types import TYPES
from tirx.sim.hazards.global_order import GlobalOrder
from tirx.sim.hazards.global_shadow import GlobalShadow, ReadLog, silent_of
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.isa import bulk_tensor, compression, tensor_maps
from tirx.sim.isa.bulk_tensor import _check_barrier, _Part  # pyright: ignore[reportPrivateUsage]
from tirx.sim.isa.decoder import single, uniform
from tirx.sim.isa.deferred import Products, defer
from tirx.sim.isa.mma_sync import multiply_and_add
from tirx.sim.isa.special import SPECIAL_REGISTERS
from tirx.sim.isa.wmma import _Matrix  # pyright: ignore[reportPrivateUsage]
from tirx.sim.numerics.combine import combine_function, running_function
from tirx.sim.numerics.tensor_cores import find_rule, multiplier
from tirx.sim.tensor.memory import TensorMemory
from tirx.sim.tensor.shared_descriptor import SharedDescriptor


@together(
    ("condition", "named"),
    [
        ("setp.eq.u32 %p0, %r0, 5;", "thread 5"),
        ("setp.ge.u32 %p0, %r0, 28;", "threads 28-31"),
        ("and.b32 %r1, %r0, 7; setp.eq.u32 %p0, %r1, 1;", "threads 1, 9, 17, 25"),
        ("and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 1;", "threads 1, 3, 5, 7, 9, 11, ..."),
        ("setp.ne.u32 %p0, %r0, 2; @!%p0 mov.u32 %r1, 0; setp.lt.and.u32 %p0, %r0, 6, %p0;", "threads 0, 1, 3, 4, 5"),
        ("setp.ne.u32 %p0, %r0, 2; setp.lt.and.u32 %p0, %r0, 7, %p0;", "threads 0, 1, 3, 4, 5, 6"),
    ],
)
def test_threads_have_names(condition: str, named: str) -> None:
    with pytest.raises(SimError) as caught:
        run(entry(f"mov.u32 %r0, %tid.x; {condition} @%p0 trap;", ()), "k", 1, 32, [])
    assert caught.value.where == f"warp 0 ({named}), CTA (0, 0, 0)"


def test_a_race_of_one_thread() -> None:
    """Thread 0 reads a word that thread 32 writes."""
    body = """
      mov.u32 %r0, %tid.x; mov.b32 %r1, s; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 32;
      @%p0 st.shared.b32 [%r1+4], 1; @%p0 ld.shared.b32 %r2, [%r1+4];
      bar.sync 0; @%p0 ld.shared.b32 %r2, [%r1+4]; bar.arrive 1, 64; @%p1 st.shared.b32 [%r1+4], 2;"""
    with pytest.raises(SimError) as caught:
        run(entry(body, (), ".shared .b32 s[4];"), "k", 1, 64, [])
    assert caught.value.message == (
        "shared address 0x404 is written by thread 32 though the read by thread 0 is not ordered before that: data race"
    )


def test_products_of_two_shapes_wait_together() -> None:
    """Neither reads what the other one writes, so both are computed when they are stored."""
    first, second = ("{" + ", ".join(f"%f{each}" for each in four) + "}" for four in ((0, 1, 2, 3), (4, 5, 6, 7)))
    types = "row.col.f32.f16.f16.f32"
    wide = f"mma.sync.aligned.m16n8k16.{types} {first}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {first};"
    narrow = f"mma.sync.aligned.m16n8k8.{types} {second}, {{%r1, %r1}}, {{%r1}}, {second};"
    body = f"""
      mov.b32 %r1, 0x3c003c00; mov.b32 %f0, 0f00000000; mov.b32 %f1, %f0; mov.b32 %f2, %f0; mov.b32 %f3, %f0;
      mov.b32 %f4, 0f40000000; mov.b32 %f5, %f4; mov.b32 %f6, %f4; mov.b32 %f7, %f4;
      {wide}
      {narrow}
      {wide}
      mov.b32 %o0, %f3; mov.b32 %o1, %f4;"""
    found = run_threads(body, np.zeros((32, 4), np.uint32), 2).view(np.float32)
    assert (found == [32, 10]).all()


def test_operands_that_are_literals() -> None:
    body = (
        "mov.b32 %r1, 0x01010101; "
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%o0, %o1}, {%r1}, {0x02020202}, {5, 7};"
    )
    assert (run_threads(body, np.zeros((32, 4), np.uint32), 2) == [37, 39]).all()


def test_predicates_that_are_literals() -> None:
    """The lowest bit counts."""
    body = "mov.pred %p0, 3; mov.pred %p1, 2; selp.b32 %o0, 5, 6, %p0; selp.b32 %o1, 5, 6, %p1;"
    assert run_threads(body, np.zeros((1, 4), np.uint32), 2).tolist() == [[5, 6]]


def test_single_cells_of_tensor_memory() -> None:
    """Accesses of one cell, and of cells of which only the first or the last has another owner."""
    memory = TensorMemory(Monitor(), 0, Traffic())
    assert (memory.allocate(64, 1), memory.allocate(32, 1)) == (448, 416)
    lane = np.array([[5]])
    memory.check_cells(lane, np.array([[448]]), "a read")
    for columns in ((447, 448), (447, 448, 448), (446, 447, 448)):
        with pytest.raises(SimError) as caught:
            memory.check_cells(lane, np.array([columns]), "a read")
        assert caught.value.message == f"a read: columns {columns[0]}-{columns[-1]} are of several allocations"
    with pytest.raises(SimError) as caught:
        memory.check_cells(lane, np.array([[415, 416]]), "a read")
    assert caught.value.message == "a read: columns 415-416, but the allocated columns are 32 at 0x1a0, 64 at 0x1c0"


def test_products_of_elements_of_two_types() -> None:
    """The smallest exponent of a subnormal number is that of its own type, which decides what is cut off."""
    decoder = Mock(symbols=Mock(target="sm_89", arithmetic="hardware"))
    rule = find_rule("mma.sync", "sm_89", "e4m3")
    a, b, c = (
        np.full((1, 32), 2.0**-9, np.float32),
        np.full((1, 32), 2.0**-16, np.float32),
        np.zeros((1, 1), np.float32),
    )
    a[0, 1:], b[0, 1:] = 2.0**-6 + 2.0**-9, 2.0**-14 + 2.0**-16
    for first, second, left, right in (("e4m3", "e5m2", a, b), ("e5m2", "e4m3", b, a)):
        found = multiply_and_add(decoder, ("f32", first, second, "f32"), None)(left, right, c)
        assert np.array_equal(found, multiplier(rule, (first, second), "f32")(left, right, c))


def test_lanes_that_agree() -> None:
    """Only the lanes of the mask count."""
    values = np.array([9, 7, 8, 7], np.uint32)
    assert uniform(values, np.array([False, True, False, True]), "it") == 7
    assert uniform(values, np.array([False, False, True, False]), "it") == 8
    assert single(np.array([False, False, True]), "it") == 2
    with pytest.raises(SimError) as caught:
        uniform(values, np.array([False, True, True, True]), "the address")
    assert caught.value.message == "expected the address to be the same in all lanes, found 7 and 8"
    with pytest.raises(SimError) as caught:
        single(np.array([True, False, True]), "tcgen05.cp")
    assert caught.value.message == "expected one thread to issue tcgen05.cp, found 2 lanes of the warp"


class _Group:
    """Part of a thread group that `defer` uses."""

    def __init__(self) -> None:
        self.mask, self.deferred = np.ones(1, np.bool_), None

    def finish_deferred(self) -> None:
        waiting, self.deferred = self.deferred, None
        if waiting is not None:
            waiting.finish(self)


@together(
    ("forms", "expected"),
    [
        ([("k", True, (1,), (1,))] * 3, [(3, 1)]),  # sums of three
        ([("k", True, (1,), (1,)), ("k", True, (2,), (2,)), ("k", True, (1,), (1,))], [(2, 1), (1, 1)]),
        ([("k", True, (1,), (1,)), ("k", True, (2,), (2,))], [(1, 2)]),  # two at once
        ([("k", False, (1,), (1,))] * 2, [(1, 1), (1, 1)]),  # which may not be one sum
        ([("k", True, (1,), (2,))] * 2, [(1, 1), (1, 1)]),  # D is overwritten
        ([("k", True, (3,), (1,)), ("k", True, (1,), (2,))], [(1, 1), (1, 1)]),  # C is a D before
        ([("k", True, (3,), (1,)), ("k", True, (3,), (2,))], [(1, 2)]),  # and here it is not
        ([("k", True, None, (1,)), ("k", True, None, (2,))], [(1, 1), (1, 1)]),  # C is a literal
        ([("k", True, (1,), (1,)), ("l", True, (1,), (1,))], [(1, 1), (1, 1)]),  # of another shape
        ([("k", True, (1,), (1,))] * 257, [(256, 1), (1, 1)]),
    ],
)
def test_products_that_wait(forms: list[tuple[Any, ...]], expected: list[tuple[int, int]]) -> None:
    """The steps of the sums that are computed together, and how many sums there are; each adds 1 to its C."""
    group: Any = _Group()
    registers = {number: 10 * number for number in range(4)}
    computed: list[tuple[int, int]] = []

    def compute(_group: Any, _mask: Any, a: Any, b: Any, c: Any) -> Any:
        computed.append(a.shape[:2])
        return c + a.sum(axis=0) * b[0]

    wanted = dict(registers)
    for key, chains, c, d in forms:
        form = Products(key, compute, chains, c, d)
        one = np.ones((1, 1))
        wanted[d[0]] = 1 + (5 if c is None else wanted[c[0]])
        read = lambda c=c: np.full((1, 1), 5 if c is None else registers[c[0]])  # noqa: E731

        def write(_group: Any, _mask: Any, words: Any, target: int = d[0]) -> None:
            registers[target] = int(words[0, 0])

        defer(group, form, group.mask, lambda one=one: one, lambda one=one: one, read, write)
    group.finish_deferred()
    assert (computed, registers) == (expected, wanted)


def test_special_registers() -> None:
    """Two warps of the third CTA of a cluster of 2 x 3, at an instant that takes more than 32 bits."""
    instant, workspace = 0x5_89ABCDEF, 0x7_FEDCBA98
    launch = Mock(
        block=(64, 2, 1),
        grid=(8, 9, 5),
        cluster=(2, 3, 1),
        executed=instant,
        grid_workspace=workspace,
        dynamic_shared=77,
        program=Mock(shared_end=1099),
    )
    ids = np.arange(384, dtype=np.uint32).reshape(3, 128)
    cta = Mock(
        launch=launch, index=(5, 7, 4), rank=2, linear_index=301, lanes=np.arange(128), thread_ids=ids, cluster=Mock()
    )
    cta.cluster.ctas = [cta] * 6
    group: Any = Mock(cta=cta, lanes=np.arange(32, 96), first=32, last=96, warps=2)
    lane = np.arange(64) % 32
    below = (1 << lane) - 1
    full = 0xFFFFFFFF
    expected: dict[str, Any] = {
        "%laneid": lane, "%warpid": 1 + np.arange(64) // 32, "%nwarpid": 4, "%smid": 37, "%nsmid": 132,
        "%tid.x": ids[0, 32:96], "%tid.y": ids[1, 32:96], "%tid.z": ids[2, 32:96], "%ntid.x": 64, "%ntid.y": 2,
        "%ctaid.x": 5, "%ctaid.y": 7, "%ctaid.z": 4, "%nctaid.x": 8, "%nctaid.y": 9, "%nctaid.z": 5,
        "%clusterid.x": 2, "%clusterid.y": 2, "%nclusterid.x": 4, "%nclusterid.y": 3, "%nclusterid.z": 5,
        "%cluster_ctaid.x": 1, "%cluster_ctaid.y": 1, "%cluster_ctaid.z": 0, "%cluster_nctaid.y": 3,
        "%cluster_ctarank": 2, "%cluster_nctarank": 6, "%is_explicit_cluster": True,
        "%lanemask_eq": 1 << lane, "%lanemask_lt": below, "%lanemask_le": below | 1 << lane,
        "%lanemask_gt": full & ~(below | 1 << lane), "%lanemask_ge": full & ~below,
        "%dynamic_smem_size": 77, "%total_smem_size": 1099, "%aggr_smem_size": 1099,
        "%clock": 0x89ABCDEF, "%clock_hi": 5, "%clock64": instant, "%globaltimer": instant,
        "%globaltimer_lo": 0x89ABCDEF, "%globaltimer_hi": 5, "%envreg1": 7, "%envreg2": 0xFEDCBA98,
        "%envreg0": 0, "%envreg31": 0, "%gridid": 0, "%pm7": 0, "%pm7_64": 0, "%current_graph_exec": 0,
    }  # fmt: skip
    for name, values in expected.items():
        kind, read = SPECIAL_REGISTERS[name]
        found = read(group)
        assert found.dtype == kind.dtype and found.shape == (64,), name
        assert np.array_equal(found, np.broadcast_to(values, 64)), name
    for ctas in (1, 2):
        cta.cluster.ctas = [cta] * ctas
        assert (SPECIAL_REGISTERS["%is_explicit_cluster"][1](group) == (ctas > 1)).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;"
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32; bar.sync 0; ld.shared.b32 %r1, [%r1];"
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32; bar.sync 0; ld.shared.b32 %r1, [s];"
            "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;",
            "tcgen05.dealloc of 32 columns at 0x1e0, but the allocated columns are none",
        ),
        (
            "mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; add.u32 %r1, %r1, 1; bar.sync %r1, 32; bar.sync %r1, 64;",
            "deadlock",
        ),
    ],
)
def test_warps_that_run_together_are_told_apart(body: str, message: str) -> None:
    """Each of two warps allocates and frees, and has a barrier of its own."""
    with pytest.raises(SimError) as caught:
        run(entry(body, (), ".shared .b32 s[4];"), "k", 1, 64, [])
    assert caught.value.message.startswith(message), caught.value.message


def test_atomic_sums_of_f64_are_rounded_to_nearest() -> None:
    add = combine_function("add", TYPES["f64"], ftz=False)
    one = np.array([1.0, 1.0, 1.0])
    assert add(one, np.array([2.0**-54, 2.0**-53, 1.5 * 2.0**-53])).tolist() == [1.0, 1.0, 1.0 + 2.0**-52]


def test_ties_of_tf32() -> None:
    """13 bits are cut off: ties go to the even neighbour, away from zero (rna), or towards zero."""
    rows = [
        (0x3F801000, 0x3F800000, 0x3F802000, 0x3F800000),
        (0x3F803000, 0x3F804000, 0x3F804000, 0x3F802000),
        (0xBF801000, 0xBF800000, 0xBF802000, 0xBF800000),
        (0x3F801001, 0x3F802000, 0x3F802000, 0x3F800000),
        (0x3F800FFF, 0x3F800000, 0x3F800000, 0x3F800000),
        (0x3F7FF000, 0x3F800000, 0x3F800000, 0x3F7FE000),
    ]
    body = "".join(f"cvt.{mode}.tf32.f32 %o{index}, %a0; " for index, mode in enumerate(("rn", "rna", "rz")))
    found = run_threads(body, np.array(rows, np.uint32), 3)
    assert [[f"{word:x}" for word in row] for row in found] == [[f"{word:x}" for word in row[1:]] for row in rows]


@pytest.mark.parametrize("votes", ["lt", "ge"])
def test_votes_of_lanes_whose_others_have_gone(votes: str) -> None:
    """Half of the lanes exit behind the branch; the others wait for them, and then are all that is left."""
    body = f"""
      mov.b32 %o0, 0; setp.{votes}.u32 %p0, %thread, 16; @!%p0 bra GONE;
      vote.sync.ballot.b32 %o0, 1, -1; bra END;
      GONE: add.u32 %r1, %thread, 1; st.global.b32 [%out], %r1; exit;
      END:"""
    found = run_threads(body, np.zeros((32, 4), np.uint32))[:, 0].tolist()
    ballot = 0xFFFF if votes == "lt" else 0xFFFF0000
    assert found == [ballot if (lane < 16) == (votes == "lt") else lane + 1 for lane in range(32)]


@together("operands", ["{%r1}, {%r9}", "{%r9}, {%r1}", "{%r2}, {%r9}", "{%r9}, {%r2}"])
def test_products_of_sums(operands: str) -> None:
    """A sum that waits is computed before it is A or B of the next product: its 16 is the lowest of four bytes."""
    form = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
    zeros = "mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r9, 0x01010101;"
    first = f"{form} {{%r1, %r2}}, {{%r9}}, {{%r9}}, {{%r3, %r4}};"
    body = f"{zeros} {first} {form} {{%o0, %o1}}, {operands}, {{%r5, %r6}};"
    assert (run_threads(body, np.zeros((32, 4), np.uint32), 2) == 64).all()


@together(
    ("to", "at", "own", "pair", "multicast", "message"),
    [
        (1, 1, False, False, False, None),
        (
            1,
            0,
            False,
            False,
            False,
            "expected the mbarrier in the CTA of the target without .cta_group::2, found CTAs 0 and 1",
        ),
        (2, 3, False, True, False, None),
        (0, 2, False, True, False, "expected the mbarrier in the pair of CTAs of the target, found CTAs 2 and 0"),
        (2, 1, False, True, False, "expected the mbarrier in the pair of CTAs of the target, found CTAs 1 and 2"),
        (2, 1, False, True, True, None),
        (1, 1, True, False, False, None),
        (0, 0, True, False, False, "found those of CTAs 0 and 0 in CTA 1"),
        (1, 0, True, False, False, "found those of CTAs 1 and 0 in CTA 1"),
    ],
)
def test_where_the_mbarrier_of_a_copy_is(
    to: int, at: int, own: bool, pair: bool, multicast: bool, message: str | None
) -> None:
    def check() -> None:
        cta: Any = Mock(rank=1)
        _check_barrier(cta, to << 24 | 5, at << 24 | 7, in_pair=pair, is_own=own, multicast=multicast)

    if message is None:
        check()
        return
    with pytest.raises(SimError) as caught:
        check()
    assert caught.value.message.startswith("cp.async.bulk.tensor: expected") and caught.value.message.endswith(message)


def test_bytes_of_boxes() -> None:
    tiles = TensorMap(np.zeros((16, 32), np.float16), (8, 4))
    sizes = [_Part(tiles, mode, [0] * 5, column).size for mode, column in (
        ("tile", None), ("tile::gather4", None), ("im2col", np.zeros((3, 2)))
    )]  # fmt: skip
    assert sizes == [64, 256, 192]


@pytest.mark.usefixtures("shares_in_turn")
@pytest.mark.parametrize(("jobs", "source"), [(1, ".loc 2 40 7"), (2, ".loc 2 40 7"), (1, "")])
def test_errors_name_the_line_of_the_program(jobs: int, source: str) -> None:
    """The last one in front of the instruction, of the same function."""
    head = '.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "a.mlir"\n.file 2 "b.mlir"\n'
    other = ".func g()\n{\n.loc 1 3 1\nret;\n}\n"
    ptx = f"{head}{other}.visible .entry f()\n{{\n{source}\n.loc_intermediate 1 9 9\ntrap;\n.loc 1 50 1\nret;\n}}\n"
    with pytest.raises(SimError) as found:
        run(ptx, "f", 2, 32, [], jobs=jobs)
    assert found.value.source == ("b.mlir:40:7" if source else "")
    assert str(found.value).startswith(f"PTX line 15{' (b.mlir:40:7)' if source else ''}: ")
    nowhere = SimError("of the launch")
    nowhere.find_source(ptx)
    assert nowhere.source == ""


def test_counters_that_wrap_one_after_another() -> None:
    values = np.array([[[9], [9], [5], [0], [3], [3]]], np.uint32)
    for name, found in {"dec": [9, 8, 5, 0, 3, 2], "inc": [9, 0, 1, 0, 1, 2]}.items():
        function = running_function(name, TYPES["u32"], False)
        assert function is not None
        answer = function(values)
        assert answer is not None and answer[0, :, 0].tolist() == found


def test_errors_without_a_line_have_no_source() -> None:
    error = SimError("wrong")
    error.find_source('.file 1 "k.py"\n.loc 1 3 5\nret;\n')
    assert (error.source, f"{error}") == ("", "wrong")
    error.at(3).find_source('.file 1 "k.py"\n.loc 1 3 5\nret;\n')
    assert error.source == "k.py:3:5"


def test_fields_of_tensor_maps_have_limits() -> None:
    for field, index, most in (("rank", None, 255), ("box_dim", 2, (1 << 16) - 1), ("global_stride", 1, (1 << 64) - 1)):
        raw = np.zeros(tensor_maps.SIZE, np.uint8)
        tensor_maps._set(raw, field, index, most)  # pyright: ignore[reportPrivateUsage]
        record = raw.view(tensor_maps.FIELDS)[0]
        assert int(record[field] if index is None else record[field][index]) == most
        assert record["magic"] == tensor_maps.MAGIC
        with pytest.raises(SimError, match=f"^expected a value of .{field} up to {most}, found {most + 1}$"):
            tensor_maps._set(raw, field, index, most + 1)  # pyright: ignore[reportPrivateUsage]


def test_which_elements_of_wmma_are_packed() -> None:
    packed = {each: _Matrix(8, 32, each, 1).is_packed for each in ("s4", "u4", "b1", "s8", "u8", "f16")}
    assert packed == {"s4": True, "u4": True, "b1": True, "s8": False, "u8": False, "f16": False}


def test_writes_that_change_nothing_behind_no_others() -> None:
    """Who has written such a place first is forgotten where nobody has written it any more."""
    shadow = GlobalShadow(64, ReadLog())
    places = np.arange(2)
    shadow.writes, shadow.write_hows = np.zeros(2, np.int64), np.zeros(2, np.int32)
    shadow.firsts = np.array([7, 7])
    GlobalOrder._set(Mock(), Mock(), shadow, places, places, np.array([5, 6]), np.array([True, False]), 0)  # pyright: ignore
    assert (shadow.firsts.tolist(), shadow.writes.tolist()) == ([7, 0], [5, 6])
    assert silent_of(shadow.write_hows).tolist() == [False, True]


def test_absolute_addresses_are_for_rows_along_k() -> None:
    """A descriptor of a B200 and later: bit 52 makes the leading dimension offset an address."""
    bits = 1 << 46 | 2 << 61 | 64 << 32 | 1 << 52
    descriptor = SharedDescriptor(bits, "A", "sm_107a")
    with pytest.raises(SimError, match=r"absolute leading dimension addresses \(bit 52\) are for K-major operands$"):
        descriptor.mn_major(np.arange(8), 8, 2)
    assert descriptor == SharedDescriptor(bits, "A", "sm_107a") and descriptor != bits
    assert descriptor != SharedDescriptor(bits, "B", "sm_107a")


def _said(call: Callable[..., object], *arguments: Any) -> str | None:
    try:
        call(*arguments)
    except SimError as error:
        return error.message
    return None


def test_columns_of_tensor_memory() -> None:
    memory = TensorMemory(Monitor(), 0, Traffic())
    for count in (32, 64, 512):
        assert _said(memory.check_count, count) is None
    for count in (16, 0, 48, 96, 1024):
        assert _said(memory.check_count, count) == (f"expected a power of two from 32 to 512 columns, found {count}")
    for count, wrong in ((32, False), (96, False), (576, False), (0, True), (16, True), (48, True), (608, True)):
        found = _said(memory.check_count, count, 576)
        assert found == (f"expected a multiple of 32 columns up to 576, found {count}" if wrong else None)
    column = memory.allocate(32, 1)
    assert column == 480 and memory.allocate(32, 1) == 448
    for address, count in ((column, 64), (column + 32, 32), (1 << 16 | column, 32)):
        assert _said(memory.free, address, count, 0, 1) == (
            f"tcgen05.dealloc of {count} columns at {address:#x}, but the allocated columns are 32 at 0x1c0, "
            "32 at 0x1e0"
        )
    for lanes, columns, wrong in (
        ((0, 127), (480, 511), False), ((-1, 0), (480, 511), True), ((0, 128), (480, 511), True),
        ((0, 1), (-1, 480), True), ((0, 1), (480, 512), True),
    ):  # fmt: skip
        found = _said(memory.check_cells, np.array(lanes), np.array(columns), "x")
        assert (found is not None and "are not in tensor memory (128 lanes, 512 columns)" in found) is wrong
    memory.free(column, 32, 0, 1)
    found = _said(memory.check_cells, np.array([0]), np.array([column]), "x")
    assert found == "x: columns 480-480, but the allocated columns are 32 at 0x1c0"


def test_descriptors_of_compression() -> None:
    for bits, types in compression._TYPES.items():  # pyright: ignore[reportPrivateUsage]
        elements = np.zeros((1, 1, 4), f"u{bits // 8}")
        for descriptor in (0, 3, len(types) - 1 << 2 | 3, len(types) << 2, 32, 64):
            found = _said(compression._keys, elements, descriptor, bits)  # pyright: ignore[reportPrivateUsage]
            is_legal = descriptor < len(types) << 2
            assert (found is None) is is_legal, (bits, descriptor)
            assert is_legal or found == (
                f"expected a descriptor of spcompress of {', '.join(types)}, found {descriptor:#x}"
            )


def test_entries_are_defined_here() -> None:
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry a();\n.func b() { ret; }\n.visible .entry c() { ret; }"
    )
    assert entries(text) == ("c",)
    for name in ("a", "b", "d"):
        assert _said(run, text, name, 1, 32, []) == (
            f"expected the name of an entry of the module (a, c), found {name!r}"
        )


def test_boxes_of_stores_lie_in_their_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    for lower, upper, wrong in (((0, 0), (0, 0), False), ((-1, 0), (0, 0), True), ((0, 0), (0, 1), True)):
        columns = Mock(lower=lower, upper=upper)
        tensor_map = Mock(swizzle="none", element="f16", columns=columns)
        part, stored = Mock(at=(0, 0), tensor_map=tensor_map, column=3), Mock()
        monkeypatch.setattr(bulk_tensor, "store_column", stored)
        found = _said(_Part.store, part, np.zeros(2), None)
        assert (found is not None and "expected a bounding box within the tensor in a store" in found) is wrong
        assert stored.call_count == (not wrong)


@together(
    ("statement", "message"),
    [
        ("lop3.b32 %r0, %r1, %r2, %r3, 0f3F800000;", "expected the look-up table as a literal"),
        ("lop3.b32 %r0, %r1, %r2, %r3, %r4;", "expected the look-up table as a literal"),
        ("mov.f32 %f0, 1;", "expected a floating-point literal for .f32, found 1"),
        ("mov.u32 %r0, 1.0;", "expected an integer literal for .u32, found 1.0"),
        ("mov.u32 %r0, 4294967296;", "expected a literal of 32 bits, found 0x100000000"),
        ("mov.u32 %r0, -2147483649;", "expected a literal of 32 bits, found -0x80000001"),
        ("mov.u32 %r0, 0d3FF0000000000000;", "expected a literal of .u32, found one of f64"),
        ("mov.u32 %r0, 0f3F800000; mov.b32 %r1, 0f3F800000;", "expected a literal of .u32, found one of f32"),
    ],
)
def test_literals_that_do_not_fit(statement: str, message: str) -> None:
    found = _said(run, entry(statement, ()), "k", 1, 32, [])
    assert found is not None and found.endswith(message), found
