"""Finds the wgmma instructions that multiply the tiles of a product, from where their elements are.

Nothing is matched on the form of a layout: register tiles become tables of the elements that threads hold, and tiles in
shared memory are compared with the address walk of the hardware (`tirx.smem.operand_slices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import gcd
from typing import TypeVar

from tirx.hw.errors import LegalityError, WarpgroupProductError, expect_steps
from tirx.hw.rules import raise_first, unsupported
from tirx.layout import ComposeLayout, LayoutError, TileLayout
from tirx.layout.arrays import IntArray, np
from tirx.layout.ownership import MAX_THREADS, describe_element, held_elements
from tirx.smem.canonical import operand_slices
from tirx.smem.canonical_form import CanonicalLayout, OperandLayout, OperandSlice
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.values import dataclass
from tirx.wgmma.fragments import (
    CODES_PER_REGISTER,
    SPARSE_METADATA,
    Warpgroups,
    accumulator_layout,
    metadata_layout,
    operand_a_layout,
)
from tirx.wgmma.kinds import (
    ROWS,
    WARPGROUP_THREADS,
    WARPGROUP_WARPS,
    Form,
    check_form,
    find_kind,
    form_findings,
    split_n,
)

PlaceT = TypeVar("PlaceT")


@dataclass(frozen=True)
class Tile:
    """An operand of a product: A of (M, stored K), B of (N, K), D of (M, N), or metadata of (M, codes of a row).

    `dtype`: the PTX name (ignored for metadata). `registers`: whether it is in registers, over threads, or in shared
    memory.
    """

    layout: OperandLayout
    shape: tuple[int, int]
    dtype: str
    registers: bool = False


@dataclass(frozen=True)
class Product:
    """D[m, n] += sum over k of A[m, k] * B[n, k], by a block of `threads` threads.

    `metadata`: the codes of a sparse A, which is stored at half of its K. `target`: name of the target, None for any
    that has wgmma.
    """

    a: Tile
    b: Tile
    d: Tile
    threads: int
    metadata: Tile | None = None
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    target: str | None = None

    @property
    def sparse(self) -> bool:
        return self.metadata is not None

    @property
    def k(self) -> int:
        """Elements of K, those of A that are not stored included."""
        return self.b.shape[1]

    def form(self, n: int) -> Form:
        return Form(
            self.a.dtype, self.b.dtype, self.d.dtype, n, self.sparse, self.saturate, self.negate_a, self.negate_b
        )


@dataclass(frozen=True)
class SmemRead:
    """The way in which the warpgroups read an operand in shared memory.

    `canonical`: major-ness, swizzle, LBO and SBO of all descriptors. `bases`: for each warpgroup of the plan, bytes
    from the tile base to where its first instruction starts. Steps count from there.
    """

    canonical: CanonicalLayout
    bases: tuple[int, ...]

    @property
    def major(self) -> Major:
        return self.canonical.major

    def descriptor(self, tile_base: int, warpgroup: int = 0, step_bytes: int = 0) -> WgmmaDescriptor:
        """The descriptor of a step for a tile at byte address `tile_base`, by the number of the warpgroup in the plan.

        Raises LegalityError for a base off its alignment.
        """
        part = OperandSlice(self.bases[warpgroup] + step_bytes, self.canonical)
        return WgmmaDescriptor.of(part.descriptor(tile_base))


@dataclass(frozen=True)
class WgmmaStep:
    """One instruction, the same in all warpgroups of the plan.

    `d`: its first element of D on axis m of the accumulators. `a`: bytes from the warpgroup's base of A in shared
    memory to its start address, or its first element on axis m of A in registers. `b`: bytes from the warpgroup's base
    of B. `metadata`: its first code on axis m, and `selector`, of a sparse product.
    """

    form: Form
    d: int
    a: int
    b: int
    metadata: int | None = None
    selector: int | None = None


@dataclass(frozen=True)
class WgmmaInstructions:
    """The instructions of a product, in an order that goes through K once and through the parts of D for each step.

    `warpgroups`: numbers of the warpgroups that take part (warps 4 w to 4 w + 3). `a_read`: None for A in registers.
    """

    steps: tuple[WgmmaStep, ...]
    warpgroups: tuple[int, ...]
    a_read: SmemRead | None
    b_read: SmemRead

    @property
    def transposes(self) -> tuple[bool, bool]:
        """imm-trans-a and imm-trans-b."""
        return self.a_read is not None and self.a_read.major == "MN", self.b_read.major == "MN"

    @property
    def features(self) -> tuple[str, ...]:
        """Rows of `tirx.hw.features` that the plan needs."""
        return tuple(dict.fromkeys(feature for step in self.steps for feature in step.form.features))


def pick_warpgroups(m: int, n: int, count: int, first_warp: int = 0) -> Warpgroups:
    """The grid of `count` warpgroups over a D of `m` x `n`: along M as far as it divides, which shares all of B.

    Raises LegalityError when no grid divides D, with what would.
    """
    along_m = gcd(expect_steps(WarpgroupProductError, "expected M", m, ROWS), count)
    if n % (count // along_m * 8):
        raise WarpgroupProductError(
            f"expected M in steps of 64 and N in steps of 8 for each of {count} warpgroups, found D of {m}x{n}"
        )
    return Warpgroups(along_m, count // along_m, first_warp)


@dataclass(frozen=True)
class _Run:
    """Consecutive registers that hold columns of 64 rows of a fragment in every warpgroup.

    `register`: the first element on axis m. `origin`: (row, column) of its first element in each warpgroup.
    """

    register: int
    columns: int
    origin: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Unit:
    """The part of a fragment that is looked for: `layout` over (64, columns), as in `tirx.wgmma.fragments`.

    `registers`: elements of it in a thread. `lanes`: a number to add to the lanes of the layout.
    """

    layout: TileLayout
    columns: int
    registers: int
    lanes: int = 0

    def places(self) -> tuple[IntArray, IntArray]:
        """Thread of the warpgroup, and element on axis m: (64, columns) each."""
        table = self.layout.table((ROWS, self.columns))
        zero = np.zeros((ROWS, self.columns), dtype=np.int64)
        thread = table.get("warpid", zero) * 32 + table.get("laneid", zero) + self.lanes
        return np.asarray(thread, dtype=np.int64), np.asarray(table.get("m", zero), dtype=np.int64)


def _held(tile: Tile, threads: int, name: str) -> IntArray:
    """Flat index of the element in each register: (warpgroups, 128, registers), -1 for none."""
    if isinstance(tile.layout, ComposeLayout):
        raise WarpgroupProductError(f"expected a register layout of {name} without a swizzle, found {tile.layout}")
    try:
        held = held_elements(tile.layout, tile.shape, threads)
    except LayoutError as e:
        raise WarpgroupProductError(f"{name}: {e}") from e
    return held.reshape(threads // WARPGROUP_THREADS, WARPGROUP_THREADS, -1)


def _blocks(held: IntArray, tile: Tile, unit: _Unit, name: str, what: str) -> list[_Run]:
    """All units in the registers of the warpgroups, in register order.

    Raises LegalityError, with the first element that is elsewhere, when the registers hold anything else.
    """
    threads, slots = unit.places()
    columns = tile.shape[1]
    _, _, registers = held.shape
    if registers % unit.registers:
        raise WarpgroupProductError(
            f"expected registers of {name} in units of {unit.registers} elements, found {registers} with "
            f"{tile.layout}; use {what}"
        )
    wanted = np.arange(ROWS)[:, None] * columns + np.arange(unit.columns)
    found: list[_Run] = []
    for register in range(0, registers, unit.registers):
        block = held[:, threads, register + slots]
        if (held[:, :, register : register + unit.registers] < 0).all():
            continue
        first = block[:, :1, :1]
        inside = first % columns + unit.columns <= columns
        wrong = (block != first + wanted) | (first < 0) | ~inside
        if wrong.any():
            group, row, column = (int(x) for x in np.argwhere(wrong)[0])
            origin = first[group].item()
            value = int(block[group, row, column])
            thread = group * WARPGROUP_THREADS + int(threads[row, column])
            expected = divmod(max(origin, 0) + row * columns + column, columns)
            held_there = "nothing" if value < 0 else describe_element(value, tile.shape)
            raise WarpgroupProductError(
                f"expected element {expected} of {name} in register {register + int(slots[row, column])} of thread "
                f"{thread}, found {held_there} with {tile.layout}; use {what}"
            )
        origins = tuple(divmod(int(x), columns) for x in first.flat)
        found.append(_Run(register, unit.columns, origins))
    return found


def _by_place(blocks: Sequence[_Run]) -> dict[tuple[tuple[int, ...], int], int]:
    """The registers of the blocks that have one column in all warpgroups, by their rows there and this column."""
    found: dict[tuple[tuple[int, ...], int], int] = {}
    for block in blocks:
        rows, columns = zip(*block.origin, strict=True)
        if len(set(columns)) == 1:
            found.setdefault((rows, columns[0]), block.register)
    return found


def _runs(blocks: Sequence[_Run]) -> list[_Run]:
    """Merges 64x8 blocks that continue each other, in registers and in columns of all warpgroups."""
    runs: list[_Run] = []
    for block in blocks:
        last = runs[-1] if runs else None
        if (
            last is not None
            and block.register == last.register + last.columns // 2
            and block.origin == tuple((row, column + last.columns) for row, column in last.origin)
        ):
            runs[-1] = _Run(last.register, last.columns + block.columns, last.origin)
        else:
            runs.append(block)
    return runs


def _participating(held: IntArray) -> tuple[int, ...]:
    """The warpgroups that hold anything."""
    return tuple(int(x) for x in np.flatnonzero((held != -1).any(axis=(1, 2))))


class _Reader:
    """Byte offsets of parts of an operand in shared memory, all with one set of strides."""

    def __init__(self, tile: Tile, name: str, k_step: int):
        self.tile, self.name, self.k_step = tile, name, k_step
        self.parts: dict[tuple[int, int], tuple[OperandSlice, ...]] = {}

    def offsets(self, first: int, rows: int) -> tuple[int, ...]:
        """The starts of the K steps of `rows` rows from `first` on. Raises LegalityError if no descriptor reads it."""
        key = first, first + rows
        if key not in self.parts:
            try:
                self.parts[key] = operand_slices(
                    self.tile.layout, self.tile.shape, self.tile.dtype, self.k_step, rows=key, family=WGMMA_OPERANDS
                )
            except LegalityError as e:
                e.operand = self.name
                raise e.reworded(f"{self.name}: {e}") from e
        return tuple(part.offset_bytes for part in self.parts[key])

    def canonical(self) -> CanonicalLayout:
        """The strides of all parts that were read. Raises LegalityError when they differ."""
        all_parts = [part.canonical for parts in self.parts.values() for part in parts]
        best = max(all_parts, key=lambda each: (each.lbo is not None, each.sbo is not None, each.m))
        for part in all_parts:
            same = (part.major, part.swizzle) == (best.major, best.swizzle)
            if not same or part.lbo not in (None, best.lbo) or part.sbo not in (None, best.sbo):
                raise WarpgroupProductError(
                    f"{self.name}: expected one major-ness, swizzle, LBO and SBO in all parts, found {part} and {best}"
                )
        return best


def _relative(offsets: Sequence[tuple[int, ...]], name: str) -> tuple[tuple[int, ...], list[int]]:
    """Splits byte offsets, [step][warpgroup], into a base for each warpgroup and a common distance for each step."""
    bases = offsets[0]
    steps = [each[0] - bases[0] for each in offsets]
    for step, each in zip(steps, offsets, strict=True):
        if any(offset - base != step for offset, base in zip(each, bases, strict=True)):
            raise WarpgroupProductError(
                f"{name}: expected the same steps through shared memory in all warpgroups, found offsets {each} where "
                f"they start at {bases}"
            )
    return bases, steps


def check_product(p: Product) -> None:
    """Raises LegalityError, with the nearest legal choice, for types, memories and sizes that no instructions multiply.

    Layouts do not matter yet.
    """
    form = p.form(8)
    raise_first(form_findings(form))
    if (missing := unsupported(form.features, p.target)) is not None:
        raise WarpgroupProductError(missing)
    kind = find_kind(p.a.dtype, p.b.dtype)
    (m, k), (n, k_b), (d_m, d_n) = p.a.shape, p.b.shape, p.d.shape
    stored = k_b // 2 if p.sparse else k_b
    if (m, n, k) != (d_m, d_n, stored):
        raise WarpgroupProductError(
            f"expected A of MxK{' / 2 (stored)' if p.sparse else ''}, B of NxK and D of MxN, found A {m}x{k}, "
            f"B {n}x{k_b}, D {d_m}x{d_n}"
        )
    step = kind.instruction_k(p.sparse)
    for name, value, each in (("M", m, ROWS), ("N", n, 8), ("K", k_b, step)):
        expect_steps(WarpgroupProductError, f"expected {name}", value, each)
    if p.threads < WARPGROUP_THREADS or p.threads % WARPGROUP_THREADS:
        raise WarpgroupProductError(
            f"expected whole warpgroups of {WARPGROUP_THREADS} threads, found a block of {p.threads} threads"
        )
    if not p.d.registers or p.b.registers or (p.metadata is not None and not p.metadata.registers):
        raise WarpgroupProductError(
            "expected D (and sparsity metadata) in registers and B in shared memory, found "
            f"D in {_where(p.d)}, B in {_where(p.b)}"
            + ("" if p.metadata is None else f", metadata in {_where(p.metadata)}")
        )


def _where(tile: Tile) -> str:
    return "registers" if tile.registers else "shared memory"


def match(p: Product) -> WgmmaInstructions:
    """The wgmma instructions that compute a product on its tiles as they are.

    Raises LegalityError, naming the first element that does not fit and the nearest legal choice, when there are none.
    """
    check_product(p)
    held_d = _held(p.d, p.threads, "D")
    groups = _participating(held_d)
    advice = f"the layout {accumulator_layout(*p.d.shape, _grid(p, groups))}"
    unit = _Unit(accumulator_layout(ROWS, 8), 8, 4)
    runs = _runs(_blocks(held_d[list(groups)], p.d, unit, "D", advice))
    assert _is_complete(runs, p), p.d.layout
    k_step = find_kind(p.a.dtype, p.b.dtype).instruction_k(p.sparse)
    k_steps = p.k // k_step
    a_reader = None if p.a.registers else _Reader(p.a, "A", p.a.shape[1] // k_steps)
    b_reader = _Reader(p.b, "B", k_step)
    pieces = [piece for run in runs for piece in _split(run, p, b_reader)]
    a_found = _a_registers(p, groups) if a_reader is None else {}
    metadata = _metadata_registers(p, groups)

    b_offsets: list[tuple[int, ...]] = []
    a_offsets: list[tuple[int, ...]] = []
    chosen: list[tuple[Form, int, tuple[int, int] | None]] = []
    for step, piece in product(range(k_steps), pieces):
        form = check_form(p.form(piece.columns))
        rows = tuple(row for row, _ in piece.origin)
        b_offsets.append(tuple(b_reader.offsets(column, piece.columns)[step] for _, column in piece.origin))
        if a_reader is not None:
            a_offsets.append(tuple(a_reader.offsets(row, ROWS)[step] for row in rows))
        else:
            a_offsets.append((_find(a_found, rows, step * form.kind.k, "A", p.a),))
        place = None
        if p.metadata is not None:
            codes = SPARSE_METADATA[form.kind.bits].codes
            place = _find(metadata, rows, step * codes, "the metadata", p.metadata)
        chosen.append((form, piece.register, place))
    # Splits that were tried and given up have left parts behind.
    b_reader.parts = {key: b_reader.parts[key] for piece in pieces for key in _keys(piece)}
    b_bases, b_steps = _relative(b_offsets, "B")
    if a_reader is None:
        a_read, a_steps = None, [each[0] for each in a_offsets]
    else:
        a_bases, a_steps = _relative(a_offsets, "A")
        a_read = SmemRead(a_reader.canonical(), a_bases)
    steps = tuple(
        WgmmaStep(form, d, a, b, *(place or (None, None)))
        for (form, d, place), a, b in zip(chosen, a_steps, b_steps, strict=True)
    )
    return WgmmaInstructions(steps, groups, a_read, SmemRead(b_reader.canonical(), b_bases))


@lru_cache(maxsize=256)
def accumulator_part(
    layout: TileLayout, shape: tuple[int, int], register: int, n: int
) -> tuple[tuple[int, tuple[int, int]], ...]:
    """The warpgroups that hold D, each with the first row and column of a 64 x `n` part of it.

    `register`: where the part starts on axis m, in all of them. Raises LegalityError where the registers hold no such
    part, and for a layout that no products of wgmma write.
    """
    tile = Tile(layout, shape, "")
    held = _held(tile, MAX_THREADS, "D")
    groups = _participating(held)
    grid = f"the layout {accumulator_layout(*shape, pick_warpgroups(*shape, len(groups), groups[0] * WARPGROUP_WARPS))}"
    unit = _Unit(accumulator_layout(ROWS, 8), 8, 4)
    for run in _runs(_blocks(held[list(groups)], tile, unit, "D", grid)):
        start = register - run.register
        if start in range(0, (run.columns - n) // 2 + 1, 4):
            places = ((row, column + 2 * start) for row, column in run.origin)
            return tuple(zip(groups, places, strict=True))
    raise WarpgroupProductError(
        f"expected a 64x{n} part of D from register {register} on, in all warpgroups, found none with {layout}"
    )


def _keys(piece: _Run) -> list[tuple[int, int]]:
    return [(column, column + piece.columns) for _, column in piece.origin]


def _grid(p: Product, groups: Sequence[int]) -> Warpgroups:
    return pick_warpgroups(*p.d.shape, len(groups), groups[0] * WARPGROUP_WARPS)


def _is_complete(runs: Sequence[_Run], p: Product) -> bool:
    """Returns True if the warpgroups together hold all of D, as a layout has a register for every element."""
    missing = np.ones(p.d.shape, dtype=np.bool_)
    for run in runs:
        for row, column in run.origin:
            missing[row : row + ROWS, column : column + run.columns] = False
    return not missing.any()


def _split(run: _Run, p: Product, b_reader: _Reader) -> list[_Run]:
    """The instructions that cover a run of columns, as few as B can be read with."""
    problem: LegalityError | None = None
    for sizes in split_n(run.columns, p.a.dtype, p.b.dtype):
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        pieces = [
            _Run(run.register + start // 2, n, tuple((row, column + start) for row, column in run.origin))
            for start, n in zip(starts, sizes, strict=True)
        ]
        try:
            for piece in pieces:
                for _, column in piece.origin:
                    b_reader.offsets(column, piece.columns)
        except LegalityError as e:
            problem = problem or e
            continue
        return pieces
    assert problem is not None, run.columns  # every multiple of 8 columns has legal sizes
    raise problem


def _a_registers(p: Product, groups: Sequence[int]) -> dict[tuple[tuple[int, ...], int], int]:
    """First element on axis m of each instruction's A, by its rows in the warpgroups and its k."""
    kind = find_kind(p.a.dtype, p.b.dtype)
    layout = operand_a_layout(ROWS, kind.k, p.a.dtype, b=p.b.dtype)
    unit = _Unit(layout, kind.k, 4 * kind.elements_per_register)
    advice = f"the layout {operand_a_layout(*p.a.shape, p.a.dtype, _grid(p, groups), b=p.b.dtype)}"
    held = _held(p.a, p.threads, "A")[list(groups)]
    return _by_place(_blocks(held, p.a, unit, "A", advice))


def _metadata_registers(p: Product, groups: Sequence[int]) -> dict[tuple[tuple[int, ...], int], tuple[int, int]]:
    """First code on axis m and selector of each instruction, by its rows in the warpgroups and its first code."""
    if p.metadata is None:
        return {}
    kind = find_kind(p.a.dtype, p.b.dtype)
    facts = SPARSE_METADATA[kind.bits]
    if p.metadata.shape != (p.a.shape[0], p.k // facts.chunk):
        raise WarpgroupProductError(
            f"expected codes of {p.a.shape[0]}x{p.k // facts.chunk} for {p.k} elements of K, found "
            f"{p.metadata.shape[0]}x{p.metadata.shape[1]}"
        )
    held = _held(p.metadata, p.threads, "the metadata")[list(groups)]
    advice = f"the layout {metadata_layout(p.a.shape[0], p.k, p.a.dtype, _grid(p, groups))}"
    layout = metadata_layout(ROWS, kind.instruction_k(sparse=True), p.a.dtype)
    found: dict[tuple[tuple[int, ...], int], tuple[int, int]] = {}
    for selector in range(facts.selectors):
        unit = _Unit(layout, facts.codes, CODES_PER_REGISTER, lanes=selector * 4 // facts.selectors)
        lanes = np.unique(unit.places()[0])
        if (held[:, lanes] == -1).all():
            continue
        blocks = _blocks(held, p.metadata, unit, "the metadata", advice)
        found = {place: (register, selector) for place, register in _by_place(blocks).items()} | found
    return found


def _find(
    found: dict[tuple[tuple[int, ...], int], PlaceT], rows: tuple[int, ...], column: int, name: str, tile: Tile
) -> PlaceT:
    """The place of the instruction's part of a register tile. Raises LegalityError when no register has it."""
    place = found.get((rows, column))
    if place is None:
        wanted = ", ".join(f"[{row}, {row + ROWS})" for row in rows)
        raise WarpgroupProductError(
            f"expected {name} of rows {wanted} from column {column} on in the registers of the warpgroups that have "
            f"these rows of D, found it in none with {tile.layout}"
        )
    return place
