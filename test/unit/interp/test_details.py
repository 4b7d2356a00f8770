"""Rules of the interpreter at their bounds: parts of memory, bits of others, what residues and functions refuse."""

from __future__ import annotations

import numpy as np
import pytest
from unit.interp.test_run import error_of, kernel_of, run_on
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, f32, f64, i32
from xdsl.ir import Operation
from xdsl.utils.test_value import create_ssa_value

from tirx.interp import products
from tirx.interp.formats import DTYPES
from tirx.interp.memory import SEVERAL, Groups, Mark, Numbers, Scattered, Tile, reinterpreted
from tirx.interp.numbers import Near, UndefinedValue, constant, evaluate, extended_product, undefined_by
from tirx.interp.parties import Parties

_PART = """
%p = memref.subview %a[%start] [%size] [%step] : memref<8xf32> to memref<?xf32, strided<[?], offset: ?>>
%x = memref.load %p[%c0] : memref<?xf32, strided<[?], offset: ?>>
memref.store %x, %d[%c0] : memref<8xf32>
"""


@pytest.mark.parametrize(
    ("start", "size", "step", "found"),
    [
        (0, 8, 1, None),
        (7, 1, 5, None),
        (1, 4, 2, None),
        (-1, 2, 1, "elements -1 to 0"),
        (1, 8, 1, "elements 1 to 8"),
        (2, 4, 2, "elements 2 to 8"),
        (2, 2, 0, "element 2"),
        (4, 3, -1, "element 4"),
        (2, -1, 1, "element 2"),
        (9, 0, 1, "element 0"),  # an empty part, which has no element to load
        (2, 0, 1, "element 0"),
    ],
)
def test_parts_lie_in_their_memory(start: int, size: int, step: int, found: str | None) -> None:
    numbers = f"%start = arith.constant {start} : index\n%size = arith.constant {size} : index\n"
    kernel = kernel_of(f"{numbers}%step = arith.constant {step} : index{_PART}", clauses="grid(1)")
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    if found is None:
        run_on(kernel, a, d)
        assert d[0] == start
    else:
        kind, text = error_of(kernel, a, d)
        assert (kind, text.partition("found ")[2]) == ("bounds", found)


@pytest.mark.parametrize(
    ("dims", "dtype", "known", "error"),
    [
        ((2, 4), np.uint8, [[True] * 4, [False] * 4], [[0.0] * 4, [np.inf] * 4]),
        ((2, 2), np.uint16, [[True] * 2, [False] * 2], [[0.0] * 2, [np.inf] * 2]),
        ((2, 1), np.uint32, [[True], [False]], [[0.0], [np.inf]]),
    ],
)
def test_bits_of_what_is_partly_known(dims: tuple[int, int], dtype: type, known: list[object], error: object) -> None:
    own = Numbers(np.array([[1], [2]], np.int32), np.array([[True], [False]]), np.array([[0.0], [0.5]]))
    found = reinterpreted(own, dims, np.dtype(dtype))
    assert found.known is not None and found.error is not None
    assert (found.data.shape, found.known.tolist(), found.error.tolist()) == (dims, known, error)
    back = reinterpreted(found, (2, 1), np.dtype(np.int32))
    assert back.known is not None and back.error is not None
    assert back.data.tolist() == [[1], [2]] and back.known.tolist() == [[True], [False]]
    assert back.error.tolist() == [[0.0], [np.inf]]
    one = Numbers(np.zeros((1, 2), np.int16), np.array([[True, False]]), np.array([[0.0, 1.0]]))
    joined = reinterpreted(one, (1, 1), np.dtype(np.int32))
    assert joined.known is not None and joined.error is not None
    assert joined.known.tolist() == [[False]] and joined.error.tolist() == [[np.inf]]


def test_comparisons_that_do_not_compare() -> None:
    nan = np.array([1.0, np.nan], np.float32)
    for predicate in ("false", "true"):
        op = arith.CmpfOp(create_ssa_value(f32), create_ssa_value(f32), predicate)
        found, _ = evaluate(op, [nan, nan], bounds=False)
        assert np.asarray(found).tolist() == [predicate == "true"] * 2


def test_constants_of_several_numbers() -> None:
    op = arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(i32, [2]), [1, 2]))
    with pytest.raises(UndefinedValue, match="expected a constant of one number, found dense<"):
        constant(op)


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (math.Exp2Op(create_ssa_value(f64)), "'math.exp2' on f64"),
        (math.SinOp(create_ssa_value(f64)), "'math.sin' on f64"),
        (math.ErfOp(create_ssa_value(f32)), "'math.erf'"),
        (math.FmaOp(create_ssa_value(f64), create_ssa_value(f64), create_ssa_value(f64)), None),
        (math.Exp2Op(create_ssa_value(f32)), None),
    ],
)
def test_functions_of_residues(op: Operation, said: str | None) -> None:
    operands = [np.ones(2, np.float64 if op.operands[0].type == f64 else np.float32)] * len(op.operands)
    if said is None:
        evaluate(op, operands, bounds=False, modular=True)
        return
    with pytest.raises(UndefinedValue, match=f"^expected operations that residues have, found {said}$"):
        evaluate(op, operands, bounds=False, modular=True)


def test_bits_of_residues() -> None:
    tile = "!tirx.tile<8x{}, {}>"
    body = f"""
    %ga = tirx.view %a[%c0] : memref<8xf32> -> {tile.format("f32", "global")}
    %x = tirx.load %ga : {tile.format("f32", "global")} -> {tile.format("f32", "register")}
    %y = tirx.bitcast %x : {tile.format("f32", "register")} -> {tile.format("i32", "register")}
    %z = tirx.bitcast %y : {tile.format("i32", "register")} -> {tile.format("f32", "register")}
    %gd = tirx.view %d[%c0] : memref<8xf32> -> {tile.format("f32", "global")}
    tirx.store %z, %gd : {tile.format("f32", "register")}, {tile.format("f32", "global")}
    """
    kernel = kernel_of(body, clauses="grid(1)")
    a, d = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run_on(kernel, a, d)
    assert np.array_equal(a, d)
    _, text = error_of(kernel, a, d, modular=True)
    assert text.endswith("expected operations that residues have, found 'tirx.bitcast'")


def test_tiles_in_another_shape() -> None:
    """Views of memory where they can be, also of a part of it; elements outside are 0, and are not written."""
    whole, mark = np.arange(24, dtype=np.float32).reshape(4, 6), Mark(0)
    tiles = {
        "plain": Tile((4, 6), Numbers(whole.copy())),
        "turned": Tile((6, 4), Numbers(whole.copy().T)),
        "clipped": Tile((5, 6), Numbers(whole.copy()), inside=(slice(1, 5), slice(0, 6))),
    }
    shown = {"plain": whole, "turned": whole.T, "clipped": np.vstack([np.zeros((1, 6), np.float32), whole])}
    for name, tile in tiles.items():
        count = shown[name].size
        flat = tile.reshaped((count // 2, 2))
        assert np.array_equal(flat.read(mark).data, shown[name].reshape(-1, 2)), name
        assert flat.outside.sum() == (6 if name == "clipped" else 0), name
        flat.write(Numbers(np.full((count // 2, 2), 7, np.float32)), mark)
        assert (tile.numbers.data == 7).all(), name


def test_factors_that_are_not_known_make_their_rows_unknown() -> None:
    data = np.arange(12, dtype=np.float64).reshape(3, 4)
    factors = np.array([[2.0, -1.0], [1.0, 1.0], [0.5, 4.0], [9.0, 9.0]])
    wide = np.repeat(factors[:3], 2, 1)
    for known, own, expected in (
        (None, None, None),
        ([[True] * 2] * 3 + [[False] * 2], None, None),
        ([[True, True], [True, False], [True, True], [True, True]], None, [True, False, True]),
        ([[True, True], [True, False], [True, True], [True, True]], [False, True, True], [False, False, True]),
        (None, [False, True, True], [False, True, True]),
    ):
        operand = products._Operand(data, None if own is None else np.array(own), np.ones((3, 4)))  # pyright: ignore[reportPrivateUsage]
        scales = Numbers(factors, None if known is None else np.array(known))
        found = products._scaled(operand, scales)  # pyright: ignore[reportPrivateUsage]
        assert np.array_equal(found.data, data * wide)
        assert found.error is not None and np.array_equal(found.error, np.abs(wide))
        assert (None if found.known is None else found.known.tolist()) == expected


def test_tiles_whose_elements_may_be_anywhere() -> None:
    """Elements written at unknown places may be anywhere in the argument: none of it is known then."""
    mark, at = Mark(0), (np.array([1, 2]),)
    for anywhere, error in ((None, None), ([False, False], None), ([True, False], None), ([False, False], 0.0),
                            ([True, False], 0.0)):  # fmt: skip
        numbers = Numbers(np.zeros(4, np.float32), None, None if error is None else np.zeros(4))
        exists = np.array([True, True])
        tile = Scattered((2,), numbers, at=at, exists=exists, anywhere=None if anywhere is None else np.array(anywhere))
        tile.write(Numbers(np.array([5.0, 6.0], np.float32)), mark)
        assert numbers.data.tolist() == [0.0, 5.0, 6.0, 0.0]
        is_lost = anywhere == [True, False] and error is not None
        assert numbers.error is None or numbers.error.tolist() == [np.inf if is_lost else 0.0] * 4
        read = tile.read(mark)
        assert read.data.tolist() == [5.0, 6.0] and read.known is None
        if anywhere is None:
            assert read.error is None
        else:
            assert read.error is not None
            assert read.error.tolist() == [np.inf if anywhere[0] or is_lost else 0.0, np.inf if is_lost else 0.0]


def test_groups_of_marks() -> None:
    groups = Groups()
    one, two = groups.number(frozenset((1, 2))), groups.number(frozenset((3,)))
    assert (one, two) == (SEVERAL - 1, SEVERAL - 2) and groups.number(frozenset((2, 1))) == one
    assert [groups.members(each) for each in (one, two, SEVERAL, 7)] == [{1, 2}, {3}, {SEVERAL}, {7}]


class _Half:
    """A generator whose random numbers are the first ones that pass the turn on."""

    def random(self) -> float:
        return 0.5

    def choice(self, able: list[object]) -> object:
        return able[-1]


@pytest.mark.parametrize(("rng", "order"), [(None, "aabb"), (_Half(), "bbaa")])
def test_turns(rng: object, order: str) -> None:
    """Without a generator a party goes on as far as it can; with one it may pass its turn on where it waits."""
    found, parties = list[str](), Parties(rng)  # pyright: ignore[reportArgumentType]
    at = arith.ConstantOp.from_int_and_width(1, 1)

    def party(name: str) -> None:
        for _ in range(2):
            found.append(name)
            parties.wait(lambda: True, at)

    parties.wait(lambda: True, at)
    parties.run([lambda: party("a"), lambda: party("b")])
    assert "".join(found) == order


def test_integers_of_four_bits() -> None:
    op = arith.FPToSIOp(create_ssa_value(f32), IntegerType(4))
    for number, said in ((7.9, None), (-8.9, None), (8.0, "expected floats from -8 to 7, found others")):
        assert undefined_by(op, [np.array([number], np.float32)]) == said
    shift = arith.ShLIOp(create_ssa_value(IntegerType(4)), create_ssa_value(IntegerType(4)))
    assert undefined_by(shift, [np.array([1], DTYPES["i4"]), np.array([4], DTYPES["i4"])]) == (
        "expected shifts by 0 to 3 bits, found others"
    )


def test_what_is_undefined_of_residues() -> None:
    """A residue is a number that fits; shifts are those of the integers that they are."""
    wide = np.array([509.0 * 2**40], np.float32)
    op = arith.FPToSIOp(create_ssa_value(f32), i32)
    assert undefined_by(op, [wide]) is not None and undefined_by(op, [wide], modular=True) is None
    shift = arith.ShLIOp(create_ssa_value(i32), create_ssa_value(i32))
    assert undefined_by(shift, [np.array([1], np.int32), np.array([509], np.int32)], modular=True) is not None


def test_halves_of_products_that_are_known_for_sure() -> None:
    a = Near(np.array([1 << 20], np.int32), np.zeros(1))
    low, high = extended_product(a, np.array([1 << 20], np.int32), signed=True)
    assert (np.asarray(low).tolist(), np.asarray(high).tolist()) == ([0], [256])
