"""Integers of each thread, as far as they are known: compared with integers modulo 2^32 and 2^64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i1, i16, i32, i64
from xdsl.ir import Operation, SSAValue

from tirx.dialects.ptx import (
    AddOp,
    AndOp,
    ConstantOp,
    CvtOp,
    DivOp,
    ElectSyncOp,
    EntryOp,
    MaxOp,
    MinOp,
    MulLoOp,
    MulWideOp,
    NotOp,
    OrOp,
    ReadSpecialOp,
    RemOp,
    RetOp,
    SelpOp,
    SetpOp,
    SharedAllocOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.dialects.ptx.core import entries
from tirx.passes.checks.thread_values import (
    Symbol,
    ThreadValue,
    ThreadValues,
    arithmetic,
    is_integer,
    mask_of,
    wrapped,
)
from tirx.passes.ir.control_flow import ControlFlow

THREADS = 64


def signed(bits: int, number: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> bits - 1 else number


def unsigned(number: int, bits: int = 32) -> int:
    return number & (1 << bits) - 1


BINARY: tuple[tuple[Callable[[SSAValue, SSAValue], Operation], Callable[[int, int], int | None]], ...] = (
    (AddOp, lambda a, b: signed(32, a + b)),
    (SubOp, lambda a, b: signed(32, a - b)),
    (MulLoOp, lambda a, b: signed(32, a * b)),
    (AndOp, lambda a, b: a & b),
    (OrOp, lambda a, b: a | b),
    (XorOp, lambda a, b: a ^ b),
    (lambda a, b: DivOp(a, b, unsigned=True), lambda a, b: signed(32, unsigned(a) // unsigned(b)) if b else None),
    (lambda a, b: RemOp(a, b, unsigned=True), lambda a, b: signed(32, unsigned(a) % unsigned(b)) if b else None),
    (MinOp, min),
    (MaxOp, max),
    (lambda a, b: MinOp(a, b, unsigned=True), lambda a, b: signed(32, min(unsigned(a), unsigned(b)))),
    (lambda a, b: MaxOp(a, b, unsigned=True), lambda a, b: signed(32, max(unsigned(a), unsigned(b)))),
    (ShlOp, lambda a, b: signed(32, a << b) if 0 <= b < 32 else None),
    (ShrOp, lambda a, b: a >> b if 0 <= b < 32 else None),
    (lambda a, b: ShrOp(a, b, unsigned=True), lambda a, b: signed(32, unsigned(a) >> b) if 0 <= b < 32 else None),
)
"""Operations on i32 -> what they give; None where that is not defined."""

PREDICATES: tuple[tuple[str, bool, Callable[[int, int], bool]], ...] = (
    ("eq", False, lambda a, b: a == b),
    ("lt", False, lambda a, b: a < b),
    ("ge", False, lambda a, b: a >= b),
    ("lt", True, lambda a, b: unsigned(a) < unsigned(b)),
    ("gt", True, lambda a, b: unsigned(a) > unsigned(b)),
)

WIDE: tuple[tuple[Callable[[SSAValue, SSAValue], Operation], Callable[[int, int], int]], ...] = (
    (lambda a, b: CvtOp(a, i64), lambda a, b: a),
    (lambda a, b: CvtOp(a, i64, unsigned=True), lambda a, b: unsigned(a)),
    (lambda a, b: MulWideOp(a, b), lambda a, b: a * b),
    (lambda a, b: MulWideOp(a, b, unsigned=True), lambda a, b: signed(64, unsigned(a) * unsigned(b))),
)
"""Operations on i32 that give i64."""

MAY_BE_UNKNOWN = (DivOp, RemOp)
"""Of negative numbers nothing is said."""


@given(
    constants=st.lists(st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(0, 33)), min_size=1, max_size=3),
    choices=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 9)), max_size=8),
    last=st.integers(0, 99),
)
def test_integers(constants: list[int], choices: list[tuple[int, int, int]], last: int) -> None:
    """A chain of operations on thread numbers and constants: what is known is right, and known wherever defined."""
    entry = EntryOp("k", [], "sm_90a", reqntid=[THREADS])
    operations: list[Operation] = []
    results: list[SSAValue] = []
    expected: list[list[int | None]] = []

    def add(op: Operation, numbers: list[int | None]) -> None:
        operations.append(op)
        results.append(op.results[0])
        expected.append(numbers)

    def of_both(function: Callable[[int, int], int | None], i: int, j: int) -> list[int | None]:
        pairs = zip(expected[i], expected[j], strict=True)
        return [None if a is None or b is None else function(a, b) for a, b in pairs]

    add(ReadSpecialOp("tid.x"), list(range(THREADS)))
    for constant in constants:
        add(ConstantOp.integer(constant, i32), [constant] * THREADS)
    for which, first, second in choices:
        i, j = first % len(results), second % len(results)
        if which < 20:
            name, is_unsigned, compare = PREDICATES[which % len(PREDICATES)]
            predicate = SetpOp(name, results[i], results[j], unsigned=is_unsigned)
            operations.append(predicate)
            chosen = of_both(lambda a, b, compare=compare: a if compare(a, b) else b, i, j)
            add(SelpOp(predicate, results[i], results[j]), chosen)
        else:
            build, compute = BINARY[which % len(BINARY)]
            add(build(results[i], results[j]), of_both(compute, i, j))
    build, compute = WIDE[last % len(WIDE)]
    add(build(results[-1], results[0]), of_both(compute, len(results) - 1, 0))
    entry.body.block.add_ops([*operations, RetOp()])

    values = ThreadValues(ControlFlow(entry))

    def is_known(value: SSAValue) -> bool:
        found = values.get(value)
        return found is not None and found.is_known

    for result, numbers in zip(results, expected, strict=True):
        value = values.get(result)
        if value is not None and value.is_known:
            found = value.numbers.tolist()  # 0 & x is 0, whatever x is
            assert [each if wanted is None else wanted for each, wanted in zip(found, numbers, strict=True)] == found
        elif None not in numbers:
            op = result.owner
            assert isinstance(op, Operation)
            assert isinstance(op, MAY_BE_UNKNOWN) or not all(map(is_known, op.operands))


ALLOCATION = SharedAllocOp("s", 64, 32)
SHARED, DESCRIPTOR = Symbol("shared", ALLOCATION), Symbol("descriptor", ALLOCATION)


def known(text: str, *, align: int = 32, clauses: str = "reqntid(64)") -> dict[str, ThreadValue | None]:
    """Known values of an entry, by their names."""
    text = f"""ptx.entry @k(n : u32, a : u64) target("sm_100a") {clauses} {{
      %tid = ptx.read_special tid.x
      %n = ptx.ld.param @n : i32
      %0 = ptx.constant 0 : i32
      %4 = ptx.constant 4 : i32
      %s = ptx.shared_alloc @s bytes 64 align {align}
      {text}
      ptx.ret
    }}"""
    (entry,) = entries(parsed(text))
    values = ThreadValues(ControlFlow(entry))
    return {name: values.get(each) for op in entry.walk() for each in op.results if (name := each.name_hint)}


def test_addresses_and_descriptors():
    """16-byte units of an aligned address are the low bits of a descriptor; where bits are lost, it is unknown."""
    found = known("""
      %16 = ptx.constant 16 : i32
      %8 = ptx.constant 8 : i32
      %3 = ptx.constant 3 : i32
      %low = ptx.constant 0x3FFFF : i32
      %less = ptx.constant 0x1FFFF : i32
      %pairs = ptx.constant 0x3FFFE : i32
      %units = ptx.constant 0x3FFF : i32
      %few = ptx.constant 0x1FFF : i32
      %high = ptx.constant 0x8000 : i32
      %clash = ptx.constant 0x2000 : i32
      %second = ptx.add %s, %16 : i32
      %third = ptx.add %s, %8 : i32
      %row = ptx.shr unsigned %second, %4 : i32
      %by3 = ptx.shr unsigned %second, %3 : i32
      %odd = ptx.shr unsigned %third, %4 : i32
      %all = ptx.and %second, %low : i32
      %lost = ptx.and %second, %less : i32
      %even = ptx.and %second, %pairs : i32
      %kept = ptx.and %row, %units : i32
      %cut = ptx.and %row, %few : i32
      %made = ptx.or %row, %high : i32
      %wrong = ptx.or %row, %clash : i32
      %back = ptx.sub %second, %16 : i32
      %twice = ptx.add %s, %s : i32
      %minus = ptx.sub %16, %s : i32
      %wide = ptx.cvt unsigned %second : i32 -> i64
      %negated = ptx.neg %s : i32
    """)

    def shape(name: str) -> tuple[list[str], int] | None:
        value = found[name]
        assert value is None or value.number is not None
        return None if value is None else ([symbol.kind for symbol in value.symbols], value.first)

    assert {name: shape(name) for name in found if name not in ("tid", "n") and not name.isdigit()} == {
        "s": (["shared"], 0),
        "low": ([], 0x3FFFF),
        "less": ([], 0x1FFFF),
        "pairs": ([], 0x3FFFE),
        "units": ([], 0x3FFF),
        "few": ([], 0x1FFF),
        "high": ([], 0x8000),
        "clash": ([], 0x2000),
        "second": (["shared"], 16),
        "third": (["shared"], 8),
        "row": (["descriptor"], 1),
        "by3": (["value"], 0),
        "odd": (["value"], 0),
        "all": (["shared"], 16),
        "lost": (["value"], 0),
        "even": (["value"], 0),
        "kept": (["descriptor"], 1),
        "cut": (["value"], 0),
        "made": (["descriptor"], 0x8001),
        "wrong": (["value"], 0),
        "back": (["shared"], 0),
        "twice": (["shared", "shared"], 0),
        "minus": (["value"], 0),
        "wide": (["shared"], 16),
        "negated": (["value"], 0),
    }
    start = found["made"]
    assert start is not None and (address := start.descriptor_start()) is not None
    assert ([symbol.kind for symbol in address.symbols], address.first) == (["shared"], 16)
    assert (found["twice"] or start).descriptor_start() is None
    assert (plain := ThreadValue((), 0x7FFF8001, 4).descriptor_start()) is not None
    assert (plain.symbols, plain.given, plain.count) == ((), 16, 4)
    row = known("%row = ptx.shr unsigned %s, %4 : i32", align=8)["row"]
    assert row is not None and [symbol.kind for symbol in row.symbols] == ["value"]


def test_what_threads_differ_in():
    found = known(
        """
      %1 = ptx.constant 1 : i32
      %lane = ptx.read_special laneid
      %y = ptx.read_special tid.y
      %block = ptx.read_special ctaid.x
      %sum = ptx.add %tid, %block : i32
      %product = ptx.mul.lo %tid, %block : i32
      %even = ptx.and %tid, %1 : i32
      %odd = ptx.setp eq %even, %1 : i32
      %unlike = ptx.not %odd : i1
      %inverse = ptx.not %tid : i32
      %total = ptx.mad.lo %tid, %4, %1 : i32
      %elected = ptx.elect.sync
      %some = ptx.setp eq %n, %0 : i32
      %none = ptx.and %some, %never : i1
    """.replace("%some = ", "%never = ptx.setp lt %tid, %0 : i32\n      %some = ")
    )

    def numbers(name: str) -> list[int] | None:
        value = found[name]
        return None if value is None else value.numbers.tolist()

    assert numbers("lane") == [i % 32 for i in range(64)] and numbers("y") == [0] * 64
    assert numbers("odd") == [i % 2 for i in range(64)] and numbers("unlike") == [1 - i % 2 for i in range(64)]
    assert numbers("inverse") == [-1 - i for i in range(64)] and numbers("total") == [4 * i + 1 for i in range(64)]
    assert numbers("elected") == [int(i % 32 == 0) for i in range(64)]
    assert numbers("none") == [0] * 64
    value = found["sum"]
    assert value is not None and [s.kind for s in value.symbols] == ["value"] and value.number is None
    assert value.numbers.tolist() == list(range(64)) and not value.is_known
    assert found["product"] is None
    block = found["block"]
    assert block is not None and block.number is not None and block.symbols[0].key == "ctaid.x"


def test_blocks_of_several_dimensions_are_not_looked_at():
    for clauses, count in (
        ("reqntid(64)", 64),
        ("reqntid(64, 1, 1)", 64),
        ("reqntid(64, 1, 2)", 0),
        ("reqntid(64, 2)", 0),
        ("", 1),
    ):
        value = known("", clauses=clauses)["tid"]
        assert (None if value is None else value.numbers.tolist()) == (list(range(count)) if count else None)
    assert ThreadValues(ControlFlow(EntryOp("k", [], "sm_90a"))).count == 1


def test_numbers_of_threads():
    same, other = ThreadValue((), 7, 4), ThreadValue((), np.full(4, 7), 4)
    rising, by_six = ThreadValue((), np.arange(4), 4), ThreadValue((), np.array([5, 17, -1, 11]), 4)
    assert same.equals(same) and same.equals(other) and other.equals(same)
    assert rising.equals(ThreadValue((), np.arange(4), 4))
    assert not rising.equals(ThreadValue((), np.array([0, 1, 2, 4]), 4))
    assert not rising.equals(same) and not same.equals(ThreadValue((), 8, 4))
    assert not same.equals(ThreadValue((SHARED,), 7, 4)) and not rising.equals(ThreadValue((), 0, 4))
    assert [each.number for each in (same, other, rising)] == [7, 7, None]
    assert [each.first for each in (same, other, rising, by_six)] == [7, 7, 0, 5]
    assert [each.bounds for each in (same, other, rising, by_six)] == [(7, 7), (7, 7), (0, 3), (-1, 17)]
    assert [each.divisor for each in (same, other, rising, by_six)] == [0, 0, 1, 6]
    assert [each.distances for each in (same, other)] == [b"", b""]
    assert rising.distances == ThreadValue((), np.arange(4) + 9, 4).distances != by_six.distances
    assert mask_of(np.array([True, False, False, True, False, False, False, False, True])) == 0b100001001


def test_what_wraps():
    for number, bits, expected in (
        (2**31 - 1, 32, 2**31 - 1),
        (2**31, 32, -(2**31)),
        (-(2**31) - 1, 32, 2**31 - 1),
        (2**63, 64, -(2**63)),
        (3, 1, 1),
        (2, 1, 0),
    ):
        assert wrapped(number, bits) == expected
        if bits < 64:
            assert wrapped(np.array([number]), bits).tolist() == [expected]
    assert [is_integer(each) for each in (i1, i32, i64, i16, f32, IntegerType(32, Signedness.UNSIGNED))] == [
        *(True, True, True),
        *(False, False, False),
    ]


def test_addresses_that_are_loaded():
    """Of tensor memory: from a slot to which one allocation, and no other, writes it."""
    found = known("""
      %16 = ptx.constant 16 : i32
      %m1 = ptx.constant -1 : i32
      %next = ptx.add %s, %16 : i32
      %third = ptx.add %next, %16 : i32
      tcgen05.alloc %s columns 32
      tcgen05.alloc %next columns 32
      tcgen05.alloc %next columns 32
      %base = ptx.ld shared %s : i32 -> i32
      %behind = ptx.ld shared %s offset 4 : i32 -> i32
      %twice = ptx.ld shared %next : i32 -> i32
      %never = ptx.ld shared %third : i32 -> i32
      %elsewhere = ptx.ld global %s : i32 -> i32
      %all = ptx.and %never, %m1 : i32
      %none = ptx.and %never, %0 : i32
    """)
    loaded = ("base", "behind", "twice", "never", "elsewhere", "all", "none")
    symbols = {name: [each.kind for each in value.symbols] for name in loaded if (value := found[name]) is not None}
    assert symbols == {"base": ["tensor"], "none": []}
    none = found["none"]
    assert none is not None and none.number == 0


def test_long_sums_are_unknown_numbers():
    """Of 16 unknown numbers all are kept; with another one the sum is unknown itself."""
    lines = "\n".join(f"%s{i + 1} = ptx.add %s{i}, %n : i32" for i in range(17)).replace("%s0", "%n")
    found = known(lines)
    sizes = [len(value.symbols) if (value := found[f"s{i}"]) is not None else None for i in (1, 14, 15, 16, 17)]
    assert sizes == [2, 15, 16, 1, 2]


def test_arithmetic_number_by_number():
    a, b = ConstantOp.integer(6, i32), ConstantOp.integer(4, i32)

    def on_each(op: Operation, operands: Sequence[Sequence[int]]) -> list[int] | None:
        found = arithmetic(op, [np.array(numbers, np.int64) for numbers in operands])
        return None if found is None else np.asarray(wrapped(found, 32)).tolist()

    assert on_each(AddOp(a, b), [(2**31 - 1, 5), (1, -7)]) == [-(2**31), -2]
    assert on_each(DivOp(a, b), [(7, 9), (2, 4)]) == [3, 2]
    assert on_each(DivOp(a, b), [(7, 9), (2, 0)]) is None
    assert on_each(RemOp(a, b), [(7, 0), (2, 4)]) == [1, 0]
    assert on_each(RemOp(a, b), [(7, -1), (2, 4)]) is None
    assert on_each(RemOp(a, b), [(7, 1), (2, 0)]) is None
    assert on_each(ShlOp(a, b), [(1, 1), (31, 0)]) == [-(2**31), 1]
    assert on_each(ShlOp(a, b), [(1,), (32,)]) is None and arithmetic(ShlOp(a, b), (1, -1)) is None
    assert on_each(SetpOp("ltu", a, b), [(1,), (2,)]) is None
    assert arithmetic(ElectSyncOp(), ()) is None and on_each(ElectSyncOp(), ()) is None
    wide = ConstantOp.integer(4, i64)
    assert arithmetic(ShrOp(wide, b, unsigned=True), (-1, 4)) is None
    assert arithmetic(ShrOp(wide, b, unsigned=True), (32, 4)) == 2
    assert arithmetic(SetpOp("lt", wide, wide, unsigned=True), (-1, 4)) is None
    assert arithmetic(SetpOp("lt", wide, wide, unsigned=True), (4, -1)) is None
    assert arithmetic(SetpOp("lt", wide, wide, unsigned=True), (3, 4)) == 1
    assert arithmetic(SetpOp("lt", wide, wide), (-1, 4)) == 1
    predicate = ConstantOp.integer(1, i1)
    assert [arithmetic(NotOp(predicate), (each,)) for each in (0, 1)] == [1, 0]
    assert [arithmetic(NotOp(a), (each,)) for each in (0, 1, -1)] == [-1, -2, 0]
    choice = SelpOp(predicate, a, b)
    assert [arithmetic(choice, (each, 6, 5)) for each in (0, 1)] == [5, 6]
    chosen = arithmetic(choice, (np.array([0, 1, 1]), np.array([6, 7, 8]), np.array([-6, -7, -8])))
    assert np.asarray(chosen).tolist() == [-6, 7, 8]
    assert on_each(choice, [(0, 1), (6, 7), (-6, -7)]) == [-6, 7]


_EDGES = (-(2**31), -33, -5, -1, 0, 1, 2, 5, 31, 32, 2**31 - 1)


def test_every_operation_at_its_edges():
    """One number and several give the same; of what divides nothing is said where a number reads as negative."""
    x, y = (ConstantOp.integer(0, i32).result for _ in range(2))
    rows: list[tuple[Operation, Callable[[int, int], int | None]]] = [
        *((build(x, y), compute) for build, compute in (*BINARY, *WIDE)),
        *((SetpOp(name, x, y, unsigned=wrong), compare) for name, wrong, compare in PREDICATES),
    ]
    for op, compute in rows:
        bits = {i1: 1, i32: 32, i64: 64}[op.results[0].type]  # pyright: ignore[reportArgumentType]
        for a in _EDGES:
            for b in _EDGES:
                known = not isinstance(op, MAY_BE_UNKNOWN) or (a >= 0 and b > 0)
                expected = compute(a, b) if known else None
                operands = (a, b)[: len(op.operands)]
                one = arithmetic(op, operands)
                assert (one if one is None else wrapped(one, bits)) == expected, (op.name, a, b)
                several = arithmetic(op, [np.array([1, number]) for number in operands])
                found = None if several is None else wrapped(np.asarray(several), min(bits, 32) if bits < 64 else bits)
                assert (None if found is None else found.tolist()[1]) == expected, (op.name, a, b)


def test_predicates_that_hold():
    entry = """ptx.entry @k(n : u32) target("sm_90a") reqntid(40) {
      %tid = ptx.read_special tid.x
      %n = ptx.ld.param @n : i32
      %0 = ptx.constant 0 : i32
      %3 = ptx.constant 3 : i32
      %all = ptx.setp ge %tid, %0 : i32
      %none = ptx.setp lt %tid, %0 : i32
      %few = ptx.setp lt %tid, %3 : i32
      %given = ptx.setp eq %n, %0 : i32
      %some = ptx.and %few, %given : i1
      %swapped = ptx.and %given, %few : i1
      %either = ptx.and %given, %given : i1
      %loaded = ptx.ld shared %0 : i32 -> i32
      %differs = ptx.setp eq %loaded, %0 : i32
      %unclear = ptx.and %differs, %few : i1
      %again = ptx.and %few, %differs : i1
      ptx.ret
    }"""
    (op,) = entries(parsed(entry))
    values = ThreadValues(ControlFlow(op))
    found = {each.name_hint: values.holds(each) for one in op.walk() for each in one.results if each.type == i1}
    everyone = (1 << 40) - 1
    assert found == {
        "all": (everyone, True),
        "none": (0, True),
        "few": (0b111, True),
        "given": None,
        "some": (0b111, False),
        "swapped": (0b111, False),
        "either": None,
        "differs": None,
        "unclear": None,
        "again": None,
    }
