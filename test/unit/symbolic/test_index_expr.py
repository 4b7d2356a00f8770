"""Index expressions: every simplification keeps the value, and the ones that address arithmetic needs happen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.cases import together

from tirx.symbolic.index_expr import Add, Const, FloorDiv, IndexExpr, Mod, Mul, Var, Xor, add, const, var

T, U = var("t", 48), var("u", 7)
GRID = {"t": np.arange(48, dtype=np.int64)[:, None], "u": np.arange(7, dtype=np.int64)[None, :]}

SMALL = st.integers(1, 24)
CONSTANT = st.integers(-40, 40)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Programs in Python syntax: run on expressions they build and simplify, run on arrays they are the truth."""
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-^"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, CONSTANT).map(lambda p: f"({p[0]} * ({p[1]}))"),
        st.tuples(inner, CONSTANT).map(lambda p: f"({p[0]} + ({p[1]}))"),
        st.tuples(inner, st.sampled_from(["//", "%"]), SMALL).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.integers(0, 70)).map(lambda p: f"({p[0]} & {p[1]})"),
        st.tuples(inner, st.integers(0, 70)).map(lambda p: f"({p[0]} ^ {p[1]})"),
    )


PROGRAMS = st.recursive(st.sampled_from(["t", "u"]), _grow, max_leaves=8)


def nodes(x: IndexExpr) -> list[IndexExpr]:
    return [x, *(inner for operand in x.operands for inner in nodes(operand))]


@given(PROGRAMS)
def test_simplified_expressions_have_the_value_of_the_program(program: str) -> None:
    expr: IndexExpr = eval(program, {"t": T, "u": U})
    truth = np.broadcast_to(eval(program, dict(GRID)), (48, 7))
    assert (np.broadcast_to(expr.evaluate(GRID), (48, 7)) == truth).all()
    assert expr.evaluate({"t": 5, "u": 3}) == truth[5, 3]
    # The text is Python, too.
    assert (np.broadcast_to(eval(str(expr), dict(GRID)), (48, 7)) == truth).all()


@example("((t * (-8)) ^ 2)", [3])  # of a sum more is known than of its terms
@given(PROGRAMS, st.lists(SMALL, min_size=1, max_size=4))
def test_the_digits_of_a_number_are_the_number(program: str, radices: list[int]) -> None:
    number: IndexExpr = eval(program, {"t": T, "u": U})
    digits: list[IndexExpr] = []
    weight, rest = 1, number
    for radix in radices:
        digits.append(rest % radix * weight)
        rest, weight = rest // radix, weight * radix
    assert (add([*digits, rest * weight]).evaluate(GRID) == number.evaluate(GRID)).all()


@given(PROGRAMS)
def test_what_is_known_holds_for_every_value_of_every_part(program: str) -> None:
    for part in nodes(eval(program, {"t": T, "u": U})):
        values, known = part.evaluate(GRID), part.known
        assert known.least <= values.min()
        assert values.max() <= known.greatest
        assert not (values % known.divisor).any() if known.divisor else not values.any()
        assert not (values & ~known.possible_bits).any()
        # Whoever emits a division may do it unsigned.
        assert not isinstance(part, FloorDiv | Mod) or part.operand.known.least >= 0


@given(PROGRAMS)
def test_split_const_keeps_the_sum_and_leaves_no_constant(program: str) -> None:
    expr: IndexExpr = eval(program, {"t": T, "u": U})
    rest, constant = expr.split_const()
    assert rest + constant == expr
    assert rest.split_const() == (rest, 0)


@given(st.lists(PROGRAMS, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_sums_and_exclusive_ors_do_not_depend_on_the_order(programs: list[str], random: object) -> None:
    terms: list[IndexExpr] = [eval(program, {"t": T, "u": U}) for program in programs]
    assert add(terms) == add(terms[::-1])
    forward, backward = terms[0], terms[-1]
    for a, b in zip(terms[1:], terms[-2::-1], strict=True):
        forward, backward = forward ^ a, backward ^ b
    assert (forward.evaluate(GRID) == backward.evaluate(GRID)).all()


LANE = var("tid", 128)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        pytest.param((LANE * 8 + 5) // 8, "tid", id="a rest below the divisor goes"),
        pytest.param((LANE * 8 + 5) % 8, "5", id="a multiple of the modulus goes"),
        pytest.param((LANE % 4 * 8 + 3) % 64, "8*(tid%4) + 3", id="a modulus above the range goes"),
        pytest.param((LANE % 4 + 4) // 8, "0", id="a quotient of one value is a constant"),
        pytest.param(LANE // 4 // 8, "tid//32", id="quotients join"),
        pytest.param(LANE % 32 % 8, "tid%8", id="remainders join"),
        pytest.param(LANE % 32 // 8, "(tid//8)%4", id="digits have one form"),
        pytest.param(LANE // 8 % 16, "tid//8", id="the last digit needs no remainder"),
        pytest.param(LANE // 8 * 8 + LANE % 8, "tid", id="two digits join to the number"),
        pytest.param(LANE // 8 % 4 * 8 + LANE % 8, "tid%32", id="two digits join to a longer digit"),
        pytest.param((U * 2 + 1) // 5 * 5 + (U * 2 + 1) % 5, "2*u + 1", id="digits of a sum join to the sum"),
        pytest.param(LANE * 12 // 8, "(3*tid)//2", id="common factors cancel"),
        pytest.param(LANE * 12 % 8, "4*(tid%2)", id="common factors of a remainder move out, the rest reduces"),
        pytest.param((LANE * 64 + U * 8 + 3) // 16, "4*tid + u//2", id="a sum splits at the divisor"),
        pytest.param((U * 8 - 8) // 8, "u - 1", id="negative constants floor"),
        pytest.param((U + 13) // 4, "(u + 1)//4 + 3", id="whole parts of a constant move out"),
        pytest.param(LANE * 8 ^ 3, "8*tid + 3", id="an exclusive or of disjoint bits is a sum"),
        pytest.param((LANE * 8 + 3) ^ (LANE * 8), "3", id="equal terms of an exclusive or cancel"),
        pytest.param(LANE & 7, "tid%8", id="a mask of low bits is a remainder"),
        pytest.param((LANE & 0x18) // 8, "(tid//8)%4", id="a quotient goes into a mask"),
        pytest.param(LANE & 255, "tid", id="a mask of all possible bits goes"),
        pytest.param(LANE * 8 & 7, "0", id="a mask of impossible bits"),
        pytest.param(var("block", 1) + LANE, "tid", id="a variable of one value is 0"),
        pytest.param(5 - LANE, "-1*tid + 5", id="subtraction"),
        pytest.param(const(6) // 4 + const(6) % 4, "3", id="constants fold"),
    ],
)
def test_simplifications(expr: IndexExpr, text: str) -> None:
    assert str(expr) == text


def test_a_constant_below_the_bits_of_an_exclusive_or_is_an_addend() -> None:
    # 32 carries into the bits of tid and has to stay inside; 2 lies below all of them.
    swizzled = (LANE * 8 + 34) ^ LANE // 8 % 8 * 8
    rest, constant = swizzled.split_const()
    assert constant == 2
    assert isinstance(rest, Xor)
    tids = np.arange(128, dtype=np.int64)
    assert (swizzled.evaluate({"tid": tids}) == (tids * 8 + 34) ^ (tids // 8 % 8 * 8)).all()


def test_a_swizzle_splits_into_a_thread_part_and_register_constants() -> None:
    thread = LANE * 64  # one row of 64 elements per thread, a period of 512
    parts = [(thread + r * 8) ^ ((thread + r * 8) // 64 % 8 * 8) for r in range(8)]
    assert parts[0] == Add((Mul(LANE, 64), Mul(Mod(LANE, 8), 8)))
    assert all(x == Xor((Mul(LANE, 64), Mul(Mod(LANE, 8), 8), Const(r * 8))) for r, x in enumerate(parts) if r)


def test_expressions_are_values() -> None:
    assert Var("tid", 128) == var("tid", 128)
    assert len({LANE + 1, 1 + LANE, LANE}) == 2
    assert (LANE * 4 + U).variables == {"tid", "u"}


@together(
    ("build", "message"),
    [
        (lambda: var("tid", 0), "expected a positive extent for tid, found 0"),
        (lambda: LANE // 0, "expected a positive divisor, found 0"),
        (lambda: LANE % -2, "expected a positive modulus, found -2"),
        (lambda: LANE & -2, "expected a mask of 0 or more, found -2"),
    ],
)
def test_errors(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=f"^{message}$"):
        build()


def test_a_variable_needs_a_value() -> None:
    with pytest.raises(KeyError, match="tid"):
        LANE.evaluate({"t": 1})


def test_a_constant_has_the_shape_of_the_arrays() -> None:
    assert const(3).evaluate({"t": np.arange(4, dtype=np.int64)}).tolist() == [3, 3, 3, 3]


def test_variables_and_kinds_of_values() -> None:
    assert [str(var("x", extent)) for extent in (1, 2)] == ["0", "x"]
    with pytest.raises(ValueError, match="^expected a positive extent for x, found 0$"):
        var("x", 0)
    assert type(const(5).evaluate({"x": 3})) is int
    assert const(5).evaluate({"x": np.arange(2), "y": np.arange(3)[:, None]}).tolist() == [[5, 5]] * 3
    assert (var("x", 4) * 3).evaluate({"x": np.arange(2), "y": np.arange(3)[:, None]}).tolist() == [0, 3]
