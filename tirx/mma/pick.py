"""The choice of register layouts for a product by `mma.sync`.

Warps, the products of one instruction, and the fragments of one thread split M, N and the batch. The operands
share these splits, so what A and B hold always meets in C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import gcd, prod
from typing import Literal, NamedTuple

from tirx.layout import Iter, TileLayout, element_type
from tirx.mma.fragments import Fragment, FragmentError, MmaVariant, Orientation, variants_for
from tirx.values import dataclass

Major = Literal["K", "MN"]
"""Along which dimension neighbours lie in the memory that an operand comes from."""

VECTOR_BITS = 128
"""The widest access of one thread."""


RowOrder = tuple[int, int, int]
"""For bits 2, 1 and 0 of a row within eight rows of the tile: which bit of the row of the fragment each is."""

ROW_ORDERS: tuple[RowOrder, ...] = ((2, 1, 0), (0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0))
"""All orders of the bits, the plain one first. Rows of A and C may be permuted alike, and rows of B with columns of C.
Loads of 64-bit elements from rows of 128 bytes that TMA swizzles have bank conflicts without. Of the orders that have
none, (0, 1, 2) also stores C to such rows without conflicts, and to global memory in whole sectors.
"""


class PickedFragments(NamedTuple):
    """Register layouts of A (..., M, K), B (..., N, K) and C (..., M, N)."""

    a: TileLayout
    b: TileLayout
    c: TileLayout


_A_ORIENTATION: dict[Major, Orientation] = {"K": "row", "MN": "col"}
_B_ORIENTATION: dict[Major, Orientation] = {"K": "col", "MN": "row"}


class _Grid(NamedTuple):
    """Over how many parts the batch, M and N are split; `copies` do the same work again."""

    batch: int
    m: int
    n: int
    copies: int

    def strides(self, step: int) -> dict[str, int]:
        """The weight of each part in a numbering of the workers by `step`; N is the fastest."""
        return {"batch": step * self.m * self.n, "m": step * self.n, "n": step}


@dataclass(frozen=True)
class _Modes:
    """One dimension of the product, outermost mode first: warps, outer, products, high, inner, low.

    `high * low` is the extent of the fragment; `outer * inner` fragments lie in the registers of one thread.
    `inner` of them are interleaved above the `low` innermost elements, which makes `inner * low` neighbours
    of the dimension neighbours in the registers.
    """

    warps: int
    outer: int
    products: int
    high: int
    inner: int
    low: int


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _grids(parts: int) -> Iterator[_Grid]:
    """All ways to split the batch, M and N over `parts` workers."""
    for batch, m, n in product(_divisors(parts), repeat=3):
        if parts % (batch * m * n) == 0:
            yield _Grid(batch, m, n, parts // (batch * m * n))


def _best_split(
    units: tuple[int, int, int], extents: tuple[int, int], warps: int, products: int, whole_rows: bool
) -> tuple[_Grid, _Grid]:
    """The grids of warps and of the products of one instruction over `units` = (batch, M, N) in fragments of `extents`
    (M, N) elements.

    As few copies as possible, then, for `whole_rows`, as few warps in a row, then as few elements of A and B per
    thread, then squares, larger along M.
    """

    def cost(pair: tuple[_Grid, _Grid]) -> tuple[int, ...]:
        w, p = pair
        batch, m, n = (u // (x * y) for u, x, y in zip(units, w[:3], p[:3], strict=True))
        return (
            w.copies * p.copies,
            w.n if whole_rows else 0,
            batch * (m * extents[0] + n * extents[1]),
            p.batch,
            abs(p.m - p.n),
            abs(w.m - w.n),
            w.n,
            p.n,
            w.copies,
        )

    legal = (
        (w, p)
        for w, p in product(_grids(warps), _grids(products))
        if all(u % (x * y) == 0 for u, x, y in zip(units, w[:3], p[:3], strict=True))
    )
    return min(legal, key=cost)


def _register_run(fragment: Fragment, dimension: int) -> int:
    """The number of neighbours along a dimension of the fragment in consecutive registers."""
    iters, seps = fragment.layout.group(fragment.shape)
    run = 1
    for it in reversed(iters.shard[seps[dimension] : seps[dimension + 1]]):
        if it.axis != "m" or it.stride != run:
            break
        run *= it.extent
    return run


def _modes(extent: int, fragment_extent: int, warps: int, products: int, low: int, vector: int) -> _Modes:
    """Splits a dimension. `low` neighbours are consecutive already; up to `vector` may become so."""
    fragments = extent // (fragment_extent * warps * products)
    inner = gcd(fragments, max(1, vector // low))
    return _Modes(warps, fragments // inner, products, fragment_extent // low, inner, low)


def _split_at(iters: Sequence[Iter], low: int) -> tuple[tuple[Iter, ...], tuple[Iter, ...]]:
    """The iters of a fragment's dimension above and within its `low` innermost elements."""
    grouped, seps = TileLayout(iters).group((prod(it.extent for it in iters) // low, low))
    return grouped.shard[: seps[1]], grouped.shard[seps[1] :]


def _register_strides(order: Sequence[tuple[str, int]], elements: int) -> dict[str, int]:
    """The stride on m of each register mode; `order` names them with their extents, outermost first."""
    strides: dict[str, int] = {}
    stride = elements
    for name, extent in reversed(order):
        strides[name] = stride
        stride *= extent
    return strides


def _reordered(iters: Sequence[Iter], order: RowOrder) -> tuple[Iter, ...]:
    """The iters of a fragment's dimension with the bits of its eight innermost rows in another order."""
    extent = prod(it.extent for it in iters)
    grouped, seps = TileLayout(iters).group((extent // 8, 2, 2, 2))
    bits = [grouped.shard[seps[3 - bit] : seps[4 - bit]] for bit in range(3)]
    return (*grouped.shard[: seps[1]], *(it for bit in order for it in bits[bit]))


@dataclass(frozen=True)
class _Plan:
    """The split of the dimensions "batch", "m", "n" and "k" over warps and over the products of an instruction."""

    variant: MmaVariant
    modes: dict[str, _Modes]
    warps: _Grid
    products: _Grid
    row_orders: dict[str, RowOrder]

    def layout(self, fragment: Fragment, rows: str, columns: str, register_order: tuple[str, str]) -> TileLayout:
        """The layout of one operand over (batch, rows, columns).

        `register_order` names the dimensions whose fragments follow each other in the registers, outer one first.
        """
        dims = {"batch": self.modes["batch"], rows: self.modes[rows], columns: self.modes[columns]}
        order = [("batch.outer", dims["batch"].outer)]
        for name in register_order:
            order += [(f"{name}.outer", dims[name].outer), (f"{name}.inner", dims[name].inner)]
        strides = _register_strides(order, fragment.elements)
        grouped, seps = fragment.layout.group(fragment.shape)
        product_step = grouped.shard[0].stride  # lanes from one product of the instruction to the next
        warp_strides = self.warps.strides(1)
        lane_strides = self.products.strides(product_step)
        shard: list[Iter] = []
        for index, (name, d) in enumerate(dims.items()):
            inside = () if name == "batch" else grouped.shard[seps[index] : seps[index + 1]]
            if (order := self.row_orders.get(name, ROW_ORDERS[0])) != ROW_ORDERS[0]:
                inside = _reordered(inside, order)
            high, low = _split_at(inside, d.low) if inside else ((), ())
            shard += [
                Iter(d.warps, warp_strides.get(name, 0), "warpid"),
                Iter(d.outer, strides[f"{name}.outer"]),
                Iter(d.products, lane_strides.get(name, 0), "laneid"),
                *high,
                Iter(d.inner, strides.get(f"{name}.inner", 0)),
                *low,
            ]
        # What the operand does not depend on is the same in all warps, and in all products, along it.
        replica = [*fragment.layout.replica, Iter(self.warps.copies, prod(self.warps[:3]), "warpid")]
        replica += [Iter(self.products.copies, product_step * prod(self.products[:3]), "laneid")]
        for name in warp_strides:
            if name not in dims:
                d = self.modes[name]
                replica += [Iter(d.warps, warp_strides[name], "warpid"), Iter(d.products, lane_strides[name], "laneid")]
        return TileLayout(shard, replica).canonicalize()


def choose_variant(
    m: int, n: int, k: int, variants: Sequence[MmaVariant], a_major: Major = "K", b_major: Major = "K"
) -> MmaVariant:
    """The first of `variants` whose shape divides M, N and K; of one shape, the one whose registers run along the
    dimensions asked for, or the first where there is no choice.

    Raises FragmentError when no shape divides, with the nearest sizes of the smallest.
    """
    wanted = _A_ORIENTATION[a_major], _B_ORIENTATION[b_major]
    by_shape: dict[tuple[int, int, int], list[MmaVariant]] = {}
    for variant in variants:
        by_shape.setdefault(variant.shape, []).append(variant)
    for shape, same in by_shape.items():
        if all(extent > 0 and extent % unit == 0 for extent, unit in zip((m, n, k), shape, strict=True)):
            return next((v for v in same if (v.a_orientation, v.b_orientation) == wanted), same[0])
    smallest = by_shape[min(by_shape, key=prod)][0]
    sizes = zip("MNK", (m, n, k), smallest.shape, strict=True)
    name, extent, unit = next((name, extent, unit) for name, extent, unit in sizes if extent < unit or extent % unit)
    below = extent // unit * unit
    nearest = f"{below} and {below + unit}" if below > 0 else f"{unit}"
    raise FragmentError(
        f"expected {name} to be a multiple of {unit} for {smallest.name}, found {extent}; nearest: {nearest}"
    )


def pick_fragments(
    m: int,
    n: int,
    k: int,
    operand_type: str,
    accumulator_type: str,
    warps: int,
    batch: Sequence[int] = (),
    a_major: Major = "K",
    b_major: Major = "K",
    variants: Sequence[MmaVariant] | None = None,
    row_orders: tuple[RowOrder, RowOrder] = (ROW_ORDERS[0], ROW_ORDERS[0]),
    vectors: bool = True,
    whole_rows: bool = False,
) -> PickedFragments:
    """Register layouts for `c[..., m, n] += sum_k a[..., m, k] * b[..., n, k]` that `plan_mma` accepts.

    Warps form a near-square grid over M and N (and over `batch` where there is one); A is replicated over the
    columns of that grid, B over its rows. The four f16 products of one instruction form a 2 x 2 grid of the
    same kind, a 16x16x4 unit, where M and N allow it. What cannot be split further is computed by several warps or
    products alike. `a_major` and `b_major` say along which dimension each operand lies contiguously in memory:
    registers follow it, up to 16 bytes, so that loads can be vectors; m16n8 has other registers in between, so that its
    operands are loaded one register at a time. `variants`: the instructions to choose from, as
    `choose_variant` does; by default all of these types in the order of the table. `row_orders`: those of the rows of A
    and of B within eight; only the plain one where rows are neighbours in the registers. `vectors`: whether registers
    follow the contiguous dimension beyond what the instruction asks for; `ldmatrix` does without. `whole_rows`: warps
    share out M before they share out N, for sums whose rows are reduced.

    Raises FragmentError when the types have no instruction, or when no instruction divides M, N and K, with the
    nearest sizes that the smallest does.
    """
    variants = variants_for(operand_type, accumulator_type) if variants is None else variants
    variant = choose_variant(m, n, k, variants, a_major, b_major)
    if warps < 1 or any(extent < 1 for extent in batch):
        raise FragmentError(f"expected 1 or more warps and positive batch extents, found {warps} and {tuple(batch)}")
    batches = prod(batch)
    (frag_m, frag_n, frag_k), (*_, stored) = variant.shape, variant.a.shape
    w, p = _best_split((batches, m // frag_m, n // frag_n), (frag_m, frag_n), warps, variant.products, whole_rows)
    vector = VECTOR_BITS // element_type(operand_type).bits

    def contiguous(fragment: Fragment, dimension: int) -> tuple[int, int]:
        """The neighbours in the registers that a dimension has and may get for one operand. It gets more only where all
        of a fragment is such a run: fragments behind each other then continue it.
        """
        run = _register_run(fragment, dimension)
        return run, vector if vectors and run == fragment.elements else run

    m_low, m_vector = contiguous(variant.a, 1) if a_major == "MN" else (1, 1)
    n_low, n_vector = contiguous(variant.b, 1) if b_major == "MN" else (1, 1)
    if (variant.scales or variant.codes) is not None and row_orders != (ROW_ORDERS[0], ROW_ORDERS[0]):
        raise FragmentError("expected the plain order of the rows of products with scale factors or metadata")
    for name, low, order in (("A", m_low, row_orders[0]), ("B", n_low, row_orders[1])):
        if low > 1 and order != ROW_ORDERS[0]:
            raise FragmentError(
                f"expected the plain order of rows of {name}, {low} of which are neighbours in registers"
            )
    along_k = [contiguous(x, 2) for x, major in ((variant.a, a_major), (variant.b, b_major)) if major == "K"]
    k_low = max((low for low, _ in along_k), default=1)
    k_vector = min((most for _, most in along_k), default=1)
    plan = _Plan(
        variant,
        {
            "batch": _modes(batches, 1, w.batch, p.batch, 1, 1),
            "m": _modes(m, frag_m, w.m, p.m, m_low, m_vector),
            "n": _modes(n, frag_n, w.n, p.n, n_low, n_vector),
            "k": _modes(k, frag_k, 1, 1, k_low, k_vector),
            "stored": _modes(k * stored // frag_k, stored, 1, 1, k_low, k_vector),
        },
        w,
        p,
        {"m": row_orders[0], "n": row_orders[1]},
    )
    return PickedFragments(
        plan.layout(variant.a, "m", "stored", ("m", "stored") if a_major == "K" else ("stored", "m")),
        plan.layout(variant.b, "n", "k", ("n", "k") if b_major == "K" else ("k", "n")),
        plan.layout(variant.c, "m", "n", ("m", "n")),
    )


def pick_scales(
    m: int, n: int, k: int, variant: MmaVariant, warps: int, rows_of_b: int, whole_rows: bool = False
) -> tuple[TileLayout, TileLayout]:
    """Register layouts of scale factors, (M, blocks of K) and (`rows_of_b`, blocks of K), that go with `pick_fragments`
    of a block-scaled variant.

    Rows of B from N on are nobody's. Raises FragmentError where all are no multiple of N.
    """
    factors = variant.scales
    assert factors is not None
    if rows_of_b % n:
        raise FragmentError(f"expected SFB of {n} rows, or a multiple of them, in registers, found {rows_of_b}")
    blocks = k // factors.block
    of_a, of_b = (
        _beside(m, n, variant, warps, whole_rows, *each, blocks) for each in ((factors.a, "m"), (factors.b, "n"))
    )
    more = Iter(rows_of_b // n, of_b.span("m"), "m")
    return of_a, TileLayout((more, *of_b.shard), of_b.replica).canonicalize()


def pick_metadata(m: int, n: int, k: int, variant: MmaVariant, warps: int, whole_rows: bool = False) -> TileLayout:
    """Register layout of the metadata, (M, codes of a row), that goes with `pick_fragments` of a sparse variant.

    Two steps along K share registers where their number is even.
    """
    codes = variant.codes
    assert codes is not None
    paired = codes.pair is not None and k // variant.shape[2] % 2 == 0
    fragment = codes.pair if codes.pair is not None and paired else codes.fragment
    return _beside(m, n, variant, warps, whole_rows, fragment, "m", k // codes.chunk)


def _beside(
    m: int, n: int, variant: MmaVariant, warps: int, whole_rows: bool, fragment: Fragment, rows: str, along_k: int
) -> TileLayout:
    """The layout of `along_k` numbers for each row of A, `rows` "m", or of B, "n", in the grid of `pick_fragments`."""
    frag_m, frag_n, _ = variant.shape
    w, p = _best_split((1, m // frag_m, n // frag_n), (frag_m, frag_n), warps, 1, whole_rows)
    modes = {
        "batch": _modes(1, 1, w.batch, 1, 1, 1),
        "m": _modes(m, frag_m, w.m, 1, 1, 1),
        "n": _modes(n, frag_n, w.n, 1, 1, 1),
        "beside": _modes(along_k, fragment.shape[2], 1, 1, 1, 1),
    }
    return _Plan(variant, modes, w, p, {}).layout(fragment, rows, "beside", (rows, "beside"))
