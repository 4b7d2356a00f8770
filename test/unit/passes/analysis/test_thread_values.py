"""What integers are in each thread, as far as that is known: compared with integers modulo 2^32 and 2^64."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from tirx.dialects.ptx import (
    AddOp,
    AndOp,
    ConstantOp,
    CvtOp,
    DivOp,
    EntryOp,
    MulLoOp,
    MulWideOp,
    OrOp,
    ReadSpecialOp,
    RemOp,
    RetOp,
    SelpOp,
    SetpOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.passes.analysis.control_flow import ControlFlow
from tirx.passes.analysis.thread_values import ThreadValues

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
            assert value.numbers.tolist() == numbers
        elif None not in numbers:
            op = result.owner
            assert isinstance(op, Operation)
            assert isinstance(op, MAY_BE_UNKNOWN) or not all(map(is_known, op.operands))
