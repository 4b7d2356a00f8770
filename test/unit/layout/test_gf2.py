"""Bit matrices against brute force over all bit strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx.layout import BitMatrix, LayoutError
from tirx.layout.gf2 import reduce_by, reduced_basis, span_table


def matrices(rows: int, columns: int) -> st.SearchStrategy[BitMatrix]:
    column = st.integers(0, (1 << rows) - 1)
    return st.lists(column, min_size=columns, max_size=columns).map(lambda found: BitMatrix(tuple(found), rows))


sizes = st.integers(0, 6)
squares = sizes.flatmap(lambda bits: matrices(bits, bits))
any_matrices = st.tuples(sizes, sizes).flatmap(lambda size: matrices(*size))


def images(matrix: BitMatrix) -> list[int]:
    """All images, by the definition."""
    found: list[int] = []
    for x in range(1 << len(matrix.columns)):
        image = 0
        for i, column in enumerate(matrix.columns):
            image ^= column if x >> i & 1 else 0
        found.append(image)
    return found


@given(any_matrices)
def test_apply_is_the_xor_of_the_columns(matrix: BitMatrix) -> None:
    expected = images(matrix)
    assert [matrix.apply(x) for x in range(len(expected))] == expected
    assert matrix.apply(np.arange(len(expected), dtype=np.int64)).tolist() == expected
    assert span_table(matrix.columns).tolist() == expected


@given(any_matrices)
def test_rank_kernel_and_solutions(matrix: BitMatrix) -> None:
    found = images(matrix)
    assert 1 << matrix.rank == len(set(found))
    assert sorted(span_table(matrix.kernel).tolist()) == [x for x, image in enumerate(found) if image == 0]
    assert matrix.is_injective == (len(set(found)) == len(found))
    assert matrix.is_surjective == (len(set(found)) == 1 << matrix.rows)
    for image in range(1 << matrix.rows):
        source = matrix.solve(image)
        if image in found:
            assert source is not None and found[source] == image
        else:
            assert source is None


@given(sizes, sizes, sizes, st.data())
def test_composition(a: int, b: int, c: int, data: st.DataObject) -> None:
    outer, inner = data.draw(matrices(a, b)), data.draw(matrices(b, c))
    assert images(outer @ inner) == [outer.apply(image) for image in images(inner)]


@given(squares)
def test_inverse(matrix: BitMatrix) -> None:
    bits = matrix.rows
    if len(set(images(matrix))) == 1 << bits:
        assert matrix @ matrix.inverse() == matrix.inverse() @ matrix == BitMatrix.identity(bits)
    else:
        with pytest.raises(LayoutError, match="the matrix is singular: it maps 0b"):
            matrix.inverse()


@given(st.lists(st.integers(0, 63), max_size=6), st.permutations(range(6)), st.integers(0, 63))
def test_reduced_bases_are_unique(vectors: list[int], order: list[int], other: int) -> None:
    basis = reduced_basis(vectors)
    span = set(span_table(vectors).tolist())
    assert set(span_table(basis).tolist()) == span
    assert len(span) == 1 << len(basis)
    # The same span, given by other vectors in another order.
    mixed = [vectors[i] ^ (vectors[0] if i else 0) for i in order if i < len(vectors)]
    assert reduced_basis(mixed) == basis
    rest = reduce_by(other, basis)
    assert rest ^ other in span
    assert all(reduce_by(other ^ x, basis) == rest for x in span)


def test_wide_arrays_use_several_tables() -> None:
    """Multiplying by x is a shift: 30 columns need three tables."""
    shift = BitMatrix(tuple(1 << (i + 1) for i in range(30)), 31)
    assert shift.apply(np.array([[0, 1], [0x2AAAAAAA, 0x3FFFFFFF]], dtype=np.int64)).tolist() == [
        [0, 2],
        [0x55555554, 0x7FFFFFFE],
    ]


def test_text_is_rows_of_bits() -> None:
    assert str(BitMatrix((0b01, 0b10, 0b11), 2)) == "1 0 1\n0 1 1"


def test_numbers_of_numpy_become_integers() -> None:
    matrix = BitMatrix([np.int64(1), 3], np.int64(2))  # type: ignore[arg-type]
    assert (matrix, hash(matrix)) == (BitMatrix((1, 3), 2), hash(BitMatrix((1, 3), 2)))
    assert [type(value) for value in (matrix.columns, *matrix.columns, matrix.rows)] == [tuple, int, int, int]
    for wrong in (((1.0,), 1), ((1,), 1.0)):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            BitMatrix(*wrong)  # type: ignore[arg-type]


def test_errors() -> None:
    with pytest.raises(LayoutError, match="column 1 must have at most 2 bits, found 0b100"):
        BitMatrix((1, 4), 2)
    with pytest.raises(LayoutError, match="column 0 must have at most 2 bits, found -0b1$"):
        BitMatrix((-1, 1), 2)
    with pytest.raises(LayoutError, match="expected 0 or more rows of a matrix, found -1$"):
        BitMatrix((), -1)
    with pytest.raises(LayoutError, match="expected a string of 2 bits, found 4"):
        BitMatrix.identity(2).apply(4)
    with pytest.raises(LayoutError, match=r"expected strings of 2 bits, found 0\.\.5"):
        BitMatrix.identity(2).apply(np.array([0, 5], dtype=np.int64))
    widest = BitMatrix((1 << 61,), 62)
    assert widest.apply(np.array([0, 1])).tolist() == [0, 1 << 61] and not widest.apply(np.zeros(0, np.int64)).size
    with pytest.raises(LayoutError, match="^a matrix applies to arrays when it has at most 62 rows, found 63$"):
        BitMatrix.identity(63).apply(np.array([0], dtype=np.int64))
    with pytest.raises(LayoutError, match="cannot apply a map of 3 bits to images of 2 bits"):
        _ = BitMatrix.identity(3) @ BitMatrix.identity(2)
    with pytest.raises(LayoutError, match="only a square matrix has an inverse, found 2 rows, 1 columns"):
        BitMatrix((1,), 2).inverse()


def test_bits_at_the_ends() -> None:
    """No strings have no images; columns have no bits above the rows, and are not negative."""
    matrix = BitMatrix((1, 3), 2)
    assert matrix.apply(np.zeros((0, 3), np.int64)).shape == (0, 3)
    for columns in ((-1,), (4,), (0, -4)):
        with pytest.raises(LayoutError, match=rf"^column {len(columns) - 1} must have at most 2 bits, found -?0b1"):
            BitMatrix(columns, 2)
