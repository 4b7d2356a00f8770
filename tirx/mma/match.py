"""Finds the `mma.sync` instructions that multiply register tiles, from the ownership of their registers.

Nothing is matched on the form of a layout: each operand becomes the table of the elements in every register of
every thread, and an instruction is used only where all lanes of all warps hold exactly the elements that its
fragments ask for, up to any order of the rows, columns and k that the operands agree on.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrays import BoolArray, IntArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.ownership import describe_element, held_elements
from tirx.mma.fragments import Fragment, FragmentError, MmaVariant, variants_for
from tirx.values import dataclass, replace

ScaleTile: TypeAlias = tuple[TileLayout, Sequence[int]]
"""The layout and the shape of scale factors, or of the metadata of a sparse A, in registers."""


@dataclass(frozen=True)
class MmaStep:
    """One `mma.sync` per warp: `c += a * b` on fragments of three register tiles.

    Each number is the first register (axis `m`, in elements) of the consecutive registers of the fragment. `scales`:
    those of the scale factors of A and of B. `metadata`: that of the codes of a sparse A, and their sparsity selector.
    """

    c_reg: int
    a_reg: int
    b_reg: int
    variant: MmaVariant
    scales: tuple[int, int] | None = None
    metadata: tuple[int, int] | None = None


_At: TypeAlias = "tuple[np.intp, ...]"


@dataclass(frozen=True)
class _Operand:
    """A register tile: `held` is (warps, lanes, registers), flat indices of `shape`, -1 for nothing."""

    name: str
    layout: TileLayout
    shape: tuple[int, ...]
    held: IntArray

    @property
    def rows(self) -> int:
        """Rows of all batches together: a row number tells the batch, too."""
        return prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        return self.shape[-1]

    def fragment_elements(self, fragment: Fragment, register: int) -> IntArray:
        """(warps, products, rows, columns): what the lanes hold where the instruction looks for each element."""
        lanes, slots = fragment.places
        return self.held[:, lanes, register + slots]


@dataclass(frozen=True)
class _Window:
    """Consecutive registers that hold one fragment: (warps, products, n) row and column numbers of the tile.

    `rows` count through all batches. A window is a fragment of any rows and columns, not only of neighbours.
    """

    register: int
    fragment: Fragment
    rows: IntArray
    columns: IntArray


def _table(name: str, layout: TileLayout, shape: Sequence[int], threads: int) -> _Operand:
    try:
        held = held_elements(layout, shape, threads)
    except LayoutError as e:
        raise FragmentError(f"{name}: {e}") from e
    return _Operand(name, layout, tuple(shape), held.reshape(threads // WARP_SIZE, WARP_SIZE, -1))


def _starts(operand: _Operand, fragments: Sequence[Fragment]) -> list[tuple[int, Fragment]]:
    """The first register of every fragment-sized piece in which any thread holds anything, in register order.

    Pieces follow each other from the first register in use, at whole hardware registers. Raises FragmentError when
    the registers are no whole number of the smallest fragment.
    """
    _, _, registers = operand.held.shape
    used: BoolArray = np.any(operand.held >= 0, axis=(0, 1))
    first = int(np.argmax(used))
    smallest = min(fragment.elements for fragment in fragments)
    found: list[tuple[int, Fragment]] = []
    for fragment in fragments:
        for register in range(first - first % fragment.elements_per_register, registers, fragment.elements):
            if not used[register : register + fragment.elements].any():
                continue
            if register + fragment.elements <= registers:
                found.append((register, fragment))
            elif fragment.elements == smallest:
                raise FragmentError(
                    f"expected registers of {operand.name} in whole fragments of {fragment.elements} elements per "
                    f"thread, found {registers} with {operand.layout}"
                )
    return sorted(found, key=lambda start: start[0])


def _first_place(operand: _Operand, fragment: Fragment, register: int, wrong: BoolArray) -> tuple[_At, str]:
    """The first place of `wrong` (warps, products, rows, columns) by thread and register, and a text about it."""
    lanes, slots = fragment.places
    _, _, registers = operand.held.shape
    warps = np.arange(wrong.shape[0], dtype=np.int64).reshape(-1, 1, 1, 1)
    threads: IntArray = warps * WARP_SIZE + lanes
    places: IntArray = threads * registers + register + slots
    at = tuple(np.argwhere(wrong)[np.argmin(places[wrong])])
    thread, slot = divmod(int(places[at]), registers)
    return at, f"register {slot} of thread {thread}"


def _first_mismatch(operand: _Operand, fragment: Fragment, register: int, expected: IntArray) -> tuple[int, str]:
    """Counts the elements that differ from `expected` (warps, products, rows, columns); a text tells the first."""
    found = operand.fragment_elements(fragment, register)
    wrong: BoolArray = found != expected
    if not wrong.any():
        return 0, ""
    at, place = _first_place(operand, fragment, register, wrong)
    has = "nothing" if found[at] < 0 else describe_element(int(found[at]), operand.shape)
    wanted = describe_element(int(expected[at]), operand.shape)
    return int(wrong.sum()), f"expected element {wanted} of {operand.name} in {place}, found {has}"


def _named_columns(operand: _Operand, found: IntArray, row: IntArray) -> IntArray:
    """The columns that the first row of a fragment holds, where that is `row`; neighbours where it is not."""
    first: IntArray = np.maximum(found[:, :, 0, :], 0)  # -1 stands for nothing, and names no column
    columns: IntArray = first % operand.columns
    if (found[:, :, 0, :] // operand.columns != row).any():
        columns = (columns[:, :, :1] + np.arange(columns.shape[2], dtype=np.int64)) % operand.columns
    return columns


def _spanned(operand: _Operand, fragment: Fragment, register: int) -> _Window | str:
    """The window of rows and columns that its first column and row name, or how the elements differ from it."""
    found = operand.fragment_elements(fragment, register)
    empty: BoolArray = found < 0
    if empty.any():
        _, place = _first_place(operand, fragment, register, empty)
        return f"expected an element of {operand.name} in {place}, found nothing"
    rows: IntArray = found[:, :, :, 0] // operand.columns
    if (found[:, :, :, 0] % operand.columns != found[:, :, :1, 0] % operand.columns).any():
        # The elements of the first column are not one column, so they name no rows: ask for neighbours.
        rows = (rows[:, :, :1] + np.arange(rows.shape[2], dtype=np.int64)) % operand.rows
    columns = _named_columns(operand, found, rows[:, :, :1])
    expected: IntArray = rows[:, :, :, None] * operand.columns + columns[:, :, None, :]
    count, text = _first_mismatch(operand, fragment, register, expected)
    if count:
        return text
    batches = rows // operand.shape[-2]
    split: BoolArray = np.broadcast_to((batches != batches[:, :, :1])[:, :, :, None], found.shape)
    if split.any():
        at, place = _first_place(operand, fragment, register, split)
        other = describe_element(int(found[at]), operand.shape)
        return f"expected each product within one batch, found element {other} of {operand.name} in {place}"
    return _Window(register, fragment, rows, columns)


def _windows(operand: _Operand, fragments: Sequence[Fragment]) -> list[_Window]:
    """Every piece of the registers that is a fragment, in register order."""
    found = [_spanned(operand, fragment, register) for register, fragment in _starts(operand, fragments)]
    return [window for window in found if isinstance(window, _Window)]


def _accumulator_windows(c: _Operand, fragment: Fragment, supported: str) -> list[_Window]:
    windows: list[_Window] = []
    for register, _ in _starts(c, (fragment,)):
        window = _spanned(c, fragment, register)
        if isinstance(window, str):
            raise FragmentError(f"{window}; {supported}")
        windows.append(window)
    return windows


def _closest(
    operand: _Operand, fragments: Sequence[Fragment], rows: IntArray, missing: BoolArray, supported: str
) -> FragmentError:
    """The error about the registers nearest to a fragment of `rows` with a k in `missing` (warps, products, K).

    Every piece of the registers is compared with the fragment that its own first row of k makes it.
    """
    best: tuple[int, str] | None = None
    for register, fragment in _starts(operand, fragments):
        ks = _named_columns(operand, operand.fragment_elements(fragment, register), rows[:, :, :1])
        if best is not None and not np.take_along_axis(missing, ks, axis=2).any():
            continue
        expected = rows[:, :, :, None] * operand.columns + ks[:, :, None, :]
        count, text = _first_mismatch(operand, fragment, register, expected)
        if count and (best is None or count < best[0]):
            best = count, text
    if best is not None:
        return FragmentError(f"{best[1]}; {supported}")
    warp, product, k = (int(x) for x in np.argwhere(missing)[0])
    row = int(rows[warp, product, 0]) * operand.columns + k
    return FragmentError(
        f"expected a fragment with element {describe_element(row, operand.shape)} of {operand.name} in the lanes of "
        f"product {product} of warp {warp}, found none; {supported}"
    )


def _covered(windows: Sequence[_Window], missing: BoolArray) -> BoolArray:
    """The still missing k, less those of the windows."""
    left = missing.copy()
    for window in windows:
        np.put_along_axis(left, window.columns, False, axis=2)
    return left


def _check_shapes(a: Sequence[int], b: Sequence[int], c: Sequence[int], sparse: bool) -> None:
    if len(a) < 2 or not len(a) == len(b) == len(c):
        raise FragmentError(f"expected tiles of one rank of 2 or more, found {tuple(a)}, {tuple(b)} and {tuple(c)}")
    expected_b = (*a[:-2], c[-1], a[-1] * (2 if sparse else 1))
    expected_c = (*a[:-2], a[-2], b[-2])
    if tuple(b) != expected_b or tuple(c) != expected_c:
        raise FragmentError(
            f"expected A (..., M, K{' / 2' if sparse else ''}), B (..., N, K) and C (..., M, N), found {tuple(a)}, "
            f"{tuple(b)} and {tuple(c)}"
        )


def _supported(variants: Sequence[MmaVariant]) -> str:
    by_instruction: dict[str, list[MmaVariant]] = {}
    for variant in variants:
        by_instruction.setdefault(variant.instruction, []).append(variant)
    texts = [
        f"{name} ({found[0].products} per warp, {', '.join(f'{x.a_orientation}.{x.b_orientation}' for x in found)})"
        for name, found in by_instruction.items()
    ]
    operands = " x ".join(dict.fromkeys((variants[0].operand_type, variants[0].b.dtype)))
    types = f"{operands} with {variants[0].accumulator_type} accumulators"
    return f"mma.sync on {types} has fragments for {', '.join(texts)}, as in tirx.mma.VARIANTS"


def plan_mma(
    a: TileLayout,
    b: TileLayout,
    c: TileLayout,
    a_shape: Sequence[int],
    b_shape: Sequence[int],
    c_shape: Sequence[int],
    operand_types: tuple[str, str],
    accumulator_type: str,
    threads: int,
    variants: Sequence[MmaVariant] | None = None,
    scales: tuple[ScaleTile, ScaleTile] | None = None,
    metadata: ScaleTile | None = None,
) -> tuple[MmaStep, ...]:
    """The instructions for `c[..., m, n] += sum_k a[..., m, k] * b[..., n, k]` over `threads` threads.

    Shapes are (..., M, K), (..., N, K) and (..., M, N); layouts map to thread axes and to the register `m`. Every
    register of C receives each k exactly once, also where several threads or registers hold copies. Steps are
    ordered by k, then by the register of C, so the order of each sum is fixed; a step runs in all warps.

    `variants`: those to choose from, all of one pair of types, the preferred first; by default all of these types in
    the order of the table. Registers that fit several instructions get the first: f64 layouts for m16n8 are also
    pairs of m8n8k4 fragments. `scales`: the layouts and shapes (M or more, blocks of K) of the scale factors of A and B
    for block-scaled variants, which are `variants` then. `metadata`: those of the codes (M, codes of a row) of a sparse
    A, of which a_shape is the stored half, for sparse `variants`.

    Raises FragmentError that names the first register that does not fit, with the element expected and found.
    """
    _check_shapes(a_shape, b_shape, c_shape, metadata is not None)
    operand_type, other = operand_types
    if variants is None and operand_type != other:
        raise FragmentError(f"expected A and B of one type, found {operand_type} and {other}")
    known = variants_for(operand_type, accumulator_type) if not variants else variants
    variants = known if variants is None else variants
    if not variants:
        raise FragmentError(f"expected one of {', '.join(v.name for v in known)} to choose from, found none")
    if threads <= 0 or threads % WARP_SIZE:
        raise FragmentError(f"expected a multiple of {WARP_SIZE} threads, found {threads}")
    operands = tuple(
        _table(name, layout, shape, threads)
        for name, layout, shape in (("A", a, a_shape), ("B", b, b_shape), ("C", c, c_shape))
    )
    families: dict[Fragment, list[MmaVariant]] = {}
    for variant in variants:
        families.setdefault(variant.c, []).append(variant)
    supported = _supported(variants)
    problems: list[FragmentError] = []
    for accumulator, family in families.items():
        try:
            targets = _accumulator_windows(operands[2], accumulator, supported)
        except FragmentError as error:
            problems = problems or [error]
            continue
        try:
            steps = _plan_family(operands[0], operands[1], targets, family, (a_shape[-2], b_shape[-2]), supported)
            if metadata is not None:
                codes = _table("the metadata", *metadata, threads)
                return tuple(replace(step, metadata=_codes(a, codes, step.variant)) for (a, _), step in steps)
            if scales is None:
                return tuple(step for _, step in steps)
            factors = [_table(f"SF{name}", *each, threads) for name, each in zip("AB", scales, strict=True)]
            return tuple(replace(step, scales=_scales(windows, factors, step.variant)) for windows, step in steps)
        except FragmentError as error:
            # Where the accumulator fits, what is wrong with A and B is the better thing to say.
            problems = [error]
    raise problems[0]


def _plan_family(
    left: _Operand,
    right: _Operand,
    targets: Sequence[_Window],
    variants: Sequence[MmaVariant],
    extents: tuple[int, int],
    supported: str,
) -> list[tuple[tuple[_Window, _Window], MmaStep]]:
    """The instructions that fill `targets`, the windows of C, with their windows of A and B, by variants of one
    fragment of C; `extents` is (M, N).
    """
    a_fragments = tuple(dict.fromkeys(v.a for v in variants))
    b_fragments = tuple(dict.fromkeys(v.b for v in variants))
    by_fragments = {(v.a, v.b): v for v in variants}
    a_windows: dict[bytes, list[_Window]] = {}
    for window in _windows(left, a_fragments):
        a_windows.setdefault(window.rows.tobytes(), []).append(window)
    b_windows: dict[tuple[bytes, bytes], list[_Window]] = {}
    b_rows: dict[bytes, list[_Window]] = {}
    for window in _windows(right, b_fragments):
        b_windows.setdefault((window.rows.tobytes(), window.columns.tobytes()), []).append(window)
        b_rows.setdefault(window.rows.tobytes(), []).append(window)

    m, n = extents
    k = left.columns
    steps: list[tuple[tuple[int, ...], tuple[_Window, _Window], MmaStep]] = []
    for target in targets:
        # The rows of B, counted through all batches, that belong to the columns of C.
        columns = target.rows[:, :, :1] // m * n + target.columns
        a_found = a_windows.get(target.rows.tobytes(), [])
        missing: BoolArray = np.ones((*target.rows.shape[:2], k), dtype=np.bool_)
        for x in a_found:
            if not np.take_along_axis(missing, x.columns, axis=2).all():
                continue  # a copy of a k that has been added
            for y in b_windows.get((columns.tobytes(), _whole(x, variants[0]).tobytes()), []):
                if (variant := by_fragments.get((x.fragment, y.fragment))) is not None:
                    np.put_along_axis(missing, x.columns, False, axis=2)
                    order = tuple(int(k) for k in x.columns[0, 0])
                    steps.append((order, (x, y), MmaStep(target.register, x.register, y.register, variant)))
                    break
        if not missing.any():
            continue
        full: BoolArray = np.ones(missing.shape, dtype=np.bool_)
        if (left_over := _covered(a_found, full)).any():
            raise _closest(left, a_fragments, target.rows, left_over, supported)
        full = np.ones((*missing.shape[:2], right.columns), dtype=np.bool_)
        if (left_over := _covered(b_rows.get(columns.tobytes(), []), full)).any():
            raise _closest(right, b_fragments, columns, left_over, supported)
        warp, product, at = (int(i) for i in np.argwhere(missing)[0])
        raise FragmentError(
            f"expected fragments of A and B with the same k, found none that share k = {at} for registers "
            f"{target.register}..{target.register + target.fragment.elements - 1} of C (product {product} of warp "
            f"{warp}); {supported}"
        )
    return [(windows, step) for _, windows, step in sorted(steps, key=lambda item: (item[0], item[2].c_reg))]


def _whole(window: _Window, variant: MmaVariant) -> IntArray:
    """The k of the columns of a window of A: all of each chunk of a sparse A, half of which is stored."""
    if variant.codes is None:
        return window.columns
    chunk = variant.codes.chunk
    stored: IntArray = window.columns.reshape(*window.columns.shape[:2], -1, chunk // 2)
    k = stored[..., :1] * 2 + np.arange(chunk, dtype=np.int64)
    whole: BoolArray = stored == stored[..., :1] // (chunk // 2) * (chunk // 2) + np.arange(chunk // 2)
    return np.where(whole.all(axis=-1, keepdims=True), k, -1).reshape(*window.columns.shape[:2], -1)


def _codes(window: _Window, operand: _Operand, variant: MmaVariant) -> tuple[int, int]:
    """The first register and the sparsity selector of the codes of a window of A. Raises FragmentError without."""
    assert variant.codes is not None
    fragment, chunk = variant.codes.fragment, variant.codes.chunk
    codes = _whole(window, variant)[..., ::chunk] // chunk
    expected: IntArray = window.rows[..., None] * operand.columns + codes[:, :, None, :]
    lanes, slots = fragment.places
    for start in range(0, operand.held.shape[2] - int(slots.max()), fragment.elements_per_register):
        for selector, further in enumerate(variant.codes.selector_lanes):
            if (operand.held[:, lanes + further, start + slots] == expected).all():
                return start, selector
    first = describe_element(int(expected[0, 0, 0, 0]), operand.shape)
    raise FragmentError(
        f"expected the metadata in the lanes of their fragment, as tirx-pick-layouts has them, found no register with "
        f"code {first} and those of its instruction in {operand.layout}"
    )


def _scales(windows: tuple[_Window, _Window], factors: Sequence[_Operand], variant: MmaVariant) -> tuple[int, int]:
    """The first registers of the scale factors of windows of A and B. Raises FragmentError where there are none."""
    assert variant.scales is not None
    found: list[int] = []
    for window, operand, fragment in zip(windows, factors, (variant.scales.a, variant.scales.b), strict=True):
        *_, count = fragment.shape
        blocks = window.columns.reshape(*window.columns.shape[:2], count, -1) // variant.scales.block
        if (blocks != blocks[..., :1]).any():
            raise FragmentError(
                f"expected {variant.scales.block} elements along K of one scale factor in a fragment, found several"
            )
        expected: IntArray = window.rows[..., None] * operand.columns + blocks[:, :, None, :, 0]
        starts = range(0, operand.held.shape[2] - count + 1, count)
        at = next((i for i in starts if (operand.fragment_elements(fragment, i) == expected).all()), None)
        if at is None:
            first = describe_element(int(expected[0, 0, 0, 0]), operand.shape)
            raise FragmentError(
                f"expected {operand.name} in the lanes of its fragment, as tirx-pick-layouts has it, found no register "
                f"with element {first} and those of its instruction in {operand.layout}"
            )
        found.append(at)
    return found[0], found[1]
