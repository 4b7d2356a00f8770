"""tcgen05.ld and tcgen05.st: which thread and register see which lane and column of tensor memory.

Source: PTX ISA "Matrix fragments for tcgen05.ld/.st". Warp w of a warpgroup reaches lanes 32w to 32w + 31. A shape of
32 lanes covers them at once; the shapes of 16 lanes cover the lower or the upper half, at lane 32w or 32w + 16.

Instructions move 32-bit columns to 32-bit registers. Layouts count elements: 32 / bits of them in a column, on `TCol`,
and in a register, on `m`, the first in the low bits. With `.pack::16b` (ld) and `.unpack::16b` (st) a register holds
the low halves of two neighbouring columns, which is how a 16-bit D becomes packed registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product, takewhile
from math import prod
from typing import Literal

from tirx.hw.errors import TensorMemoryError
from tirx.layout import Iter, TileLayout
from tirx.layout.arrays import NDArray, np
from tirx.layout.caching import bounded_cache
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS, DATA_PATHS, LANES, check_element_bits, tmem_columns
from tirx.values import dataclass, replace

LdShapeName = Literal["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"]
WarpAxis = Literal["warpid", "wid_in_wg"]
Shape = tuple[int, ...]

THREADS = 32
MAX_REGISTERS = 128
"""32-bit registers per thread that one tcgen05.ld or st moves at most."""


@dataclass(frozen=True)
class LdShape:
    """One shape of tcgen05.ld and tcgen05.st, `.xNUM` repeats of a block.

    `lanes`: lanes of tensor memory that a warp touches. `columns`: columns from one repeat to the next.
    `threads`, `registers`: how the thread of the warp and the register inside one repeat split into modes, outermost
    first, and where each mode goes on TLane and TCol. `halves`: whether threads 16 to 31 read the columns that start
    `immHalfSplitoff` after those of threads 0 to 15.
    """

    name: LdShapeName
    lanes: int
    columns: int
    threads: tuple[Iter, ...]
    registers: tuple[Iter, ...] = ()
    halves: bool = False

    @property
    def registers_per_repeat(self) -> int:
        """32-bit registers per thread of `.x1`."""
        return TileLayout(self.registers).size() if self.registers else 1

    @property
    def max_num(self) -> int:
        """The largest `.xNUM`; every smaller power of two is legal too."""
        return MAX_REGISTERS // self.registers_per_repeat

    def column_step(self, pack: bool = False) -> int:
        """Columns from one repeat to the next."""
        return self.columns * (2 if pack else 1)

    def check_num(self, num: int) -> None:
        """Raises LegalityError for a NUM that does not exist."""
        if num < 1 or num & (num - 1) or num > self.max_num:
            raise TensorMemoryError(
                f"tcgen05.ld.{self.name}: expected NUM a power of two up to {self.max_num}, found {num}"
            )

    def register_map(
        self, num: int, split: int = 0, *, element_bits: int = COLUMN_BITS, pack: bool = False
    ) -> TileLayout:
        """(thread of the warp, element of its registers) -> (TLane, TCol), relative to the address of the instruction.

        `num` is the NUM of `.xNUM`, `split` the immHalfSplitoff in columns, for the shape that has it. The layout has
        shape (32, num * registers_per_repeat * 32 / element_bits); TCol counts elements. Raises LegalityError for a
        NUM that does not exist, and for `pack` with elements that are not 16 bits wide.
        """
        self.check_num(num)
        unit = _Unit.of(element_bits, pack)
        repeat = Iter(num, self.columns, "TCol")
        inside = unit.on_columns((repeat, *self.registers))
        return TileLayout((*self._thread_modes(split, unit), *inside, unit.elements))

    def _thread_modes(self, split: int, unit: _Unit) -> tuple[Iter, ...]:
        threads = unit.on_columns(self.threads)
        return (Iter(2, split * unit.per_column, "TCol"), *threads) if self.halves else threads

    def modes(self, columns: int, warp_axis: WarpAxis, unit: _Unit) -> dict[str, tuple[_Mode, ...]]:
        """The inverse of the register map of a warpgroup over `columns` columns: what each mode of the lane and of the
        column means for the warp, the lane id and the register. Registers of the upper half follow those of the
        lower."""
        split = columns // 2 if self.halves else 0
        repeats = (split if self.halves else columns) // self.column_step(unit.pack)
        found = _inverse(self._thread_modes(split, unit), 1, "laneid")
        found += _inverse((*unit.on_columns(self.registers), unit.elements), 1, "m")
        registers = self.registers_per_repeat * unit.elements.extent
        (repeat,) = unit.on_columns((Iter(repeats, self.columns, "TCol"),))
        found.append(_Mode(repeats, repeat, registers, "m"))
        if self.lanes < THREADS:
            found.append(_Mode(2, Iter(2, 16, "TLane"), repeats * registers, "m"))
        found.append(_Mode(LANES // THREADS, Iter(LANES // THREADS, THREADS, "TLane"), 1, warp_axis))
        found.sort(key=lambda mode: mode.source.stride)
        return {axis: tuple(mode for mode in found if mode.source.axis == axis) for axis in ("TLane", "TCol")}


@dataclass(frozen=True)
class _Unit:
    """The packing of elements in the columns and registers of one instruction.

    `per_column`: elements in a column. `pack`: whether a register holds the halves of two columns.
    """

    per_column: int
    pack: bool

    @classmethod
    def of(cls, element_bits: int, pack: bool) -> _Unit:
        if pack and element_bits != 16:
            raise TensorMemoryError(f".pack::16b and .unpack::16b: expected elements of 16 bits, found {element_bits}")
        return cls(check_element_bits(element_bits), pack)

    @property
    def elements(self) -> Iter:
        """The elements of one register, on TCol."""
        return Iter(2, self.per_column, "TCol") if self.pack else Iter(self.per_column, 1, "TCol")

    def on_columns(self, iters: Iterable[Iter]) -> tuple[Iter, ...]:
        """Modes that count the columns of registers as modes that count elements."""
        step = self.per_column * (2 if self.pack else 1)
        return tuple(Iter(it.extent, it.stride * step, it.axis) if it.axis == "TCol" else it for it in iters)


@dataclass(frozen=True)
class _Mode:
    """A mode of the lane or column (`source`, with its place value as stride) that moves to `target` at `place`."""

    extent: int
    source: Iter
    place: int
    target: str


def _inverse(iters: Iterable[Iter], place: int, target: str) -> list[_Mode]:
    found: list[_Mode] = []
    for it in reversed(tuple(iters)):
        found.append(_Mode(it.extent, it, place, target))
        place *= it.extent
    return found


LD_SHAPES: dict[LdShapeName, LdShape] = {
    shape.name: shape
    for shape in (
        LdShape("32x32b", lanes=32, columns=1, threads=(Iter(32, 1, "TLane"),)),
        LdShape("16x64b", lanes=16, columns=2, threads=(Iter(8, 1, "TLane"), Iter(2, 1, "TCol"), Iter(2, 8, "TLane"))),
        LdShape(
            "16x128b",
            lanes=16,
            columns=4,
            threads=(Iter(8, 1, "TLane"), Iter(4, 1, "TCol")),
            registers=(Iter(2, 8, "TLane"),),
        ),
        LdShape(
            "16x256b",
            lanes=16,
            columns=8,
            threads=(Iter(8, 1, "TLane"), Iter(4, 2, "TCol")),
            registers=(Iter(2, 8, "TLane"), Iter(2, 1, "TCol")),
        ),
        LdShape("16x32bx2", lanes=16, columns=1, threads=(Iter(16, 1, "TLane"),), halves=True),
    )
}
"""The shapes of tcgen05.ld and tcgen05.st."""


@dataclass(frozen=True)
class TmemAccess:
    """One tcgen05.ld or st of every warp of a warpgroup.

    Its address is lane 32 * (warp % 4) + `lane`, column (column of the tile) + `column`; it moves `registers` registers
    from `first_register` of the fragment on, both counted in 32 bits. `split`: immHalfSplitoff in columns, None
    where the shape has none. `pack`: with `.pack::16b`, or `.unpack::16b` for st.
    """

    shape: LdShapeName
    num: int
    lane: int
    column: int
    first_register: int
    registers: int
    split: int | None
    pack: bool = False

    def shifted(self, columns: int, registers: int) -> TmemAccess:
        """The instruction so many columns further on, with registers that are as many further on."""
        return replace(self, column=self.column + columns, first_register=self.first_register + registers)

    def columns(self) -> tuple[range, ...]:
        """The columns of 32 bits that the instruction moves: two runs for the shape with `split`."""
        run = range(self.column, self.column + self.num * LD_SHAPES[self.shape].column_step(self.pack))
        return (run,) if self.split is None else (run, range(run.start + self.split, run.stop + self.split))


@dataclass(frozen=True)
class TmemAccessPlan:
    """The instructions by which a warpgroup moves a tensor-memory tile.

    `fragment`: the layout of the tile in registers, over (warp, laneid, m), m in elements. `registers`: 32-bit
    registers per thread. `accesses`: the instructions, in register order.
    """

    shape: LdShapeName
    fragment: TileLayout
    registers: int
    accesses: tuple[TmemAccess, ...]


def find_ld_shape(name: str) -> LdShape:
    """The shape of that name; raises LegalityError for an unknown one."""
    for shape in LD_SHAPES.values():
        if shape.name == name:
            return shape
    raise TensorMemoryError(f"expected a tcgen05.ld shape ({', '.join(LD_SHAPES)}), found '{name}'")


@bounded_cache
def register_fragment(
    tmem_layout: TileLayout,
    shape: Shape,
    ld_shape: str,
    warp_axis: WarpAxis = "warpid",
    *,
    element_bits: int = COLUMN_BITS,
    pack: bool = False,
) -> TileLayout:
    """The layout in registers of all columns of a tile, as tcgen05.ld leaves it and tcgen05.st takes it.

    `tmem_layout` maps `shape` to TLane and TCol (and maybe axes of other scopes, which stay). The fragment maps the
    same shape to `warp_axis`, `laneid` and `m`, the element of the registers, 32 / `element_bits` to each; TCol offsets
    go into the address of the instruction, so that registers count from 0. With a 16-lane shape, the registers of the
    upper half follow those of the lower when both are in use; `16x32bx2` reads the second half of the columns with
    threads 16 to 31. `pack`: `.pack::16b` (ld) or `.unpack::16b` (st) on 16-bit elements in the low halves of columns.
    A tile with columns of several accumulators has registers for those alone, one accumulator behind the other.

    Raises LegalityError when the tile does not factor into the modes of the shape.
    """
    kind = find_ld_shape(ld_shape)
    unit = _Unit.of(element_bits, pack)
    stages, stage = _stages(tmem_layout)
    if stages:
        inner = register_fragment(stage, (stage.size(),), ld_shape, warp_axis, element_bits=element_bits, pack=pack)
        steps = _row_major(stages, inner.span("m"))
        outer = tuple(Iter(it.extent, step, "m") for it, step in zip(stages, steps, strict=True))
        return TileLayout((*outer, *inner.shard), inner.replica, inner.offsets)
    _lanes(tmem_layout)  # a lane that does not exist is the clearest thing to say first
    columns = _columns(tmem_layout, unit)
    step = kind.column_step(pack) * (2 if kind.halves else 1)
    if columns % step:
        raise TensorMemoryError(f"tcgen05.ld.{kind.name}: expected columns in steps of {step}, found {columns}")
    _first_column(tmem_layout, unit)
    modes = kind.modes(columns, warp_axis, unit)
    shard = [part for it in tmem_layout.shard for part in _refine(it, modes, kind.name)]
    replica = [part for it in tmem_layout.replica for part in _refine(it, modes, kind.name)]
    offset = {name: value for name, value in tmem_layout.offset if name not in modes}
    lane_base = tmem_layout.offsets.get("TLane", 0) - _base_lane(tmem_layout, kind)
    for mode in modes["TLane"]:
        value = lane_base // mode.source.stride % mode.extent * mode.place
        offset[mode.target] = offset.get(mode.target, 0) + value
    fragment = TileLayout(tuple(shard), tuple(replica), offset)
    _check_fragment(fragment, tmem_layout, shape, kind, modes)
    return fragment


def ld_fragment(
    ld_shape: str,
    num: int,
    rows: int | None = None,
    *,
    element_bits: int = COLUMN_BITS,
    pack: bool = False,
    warp_axis: WarpAxis = "wid_in_wg",
) -> TileLayout:
    """The registers of a warpgroup after one tcgen05.ld.SHAPE.xNUM, as a layout of shape (rows, columns) elements.

    Row r is lane r of tensor memory with 128 `rows`, which take two instructions of a 16-lane shape, the second 16
    lanes further; with 64, which those shapes load by default, it is lane 32 * (r / 16) + r % 16. Columns follow each
    other, for 16x32bx2 with an immHalfSplitoff of half of them; they are packed elements, or with `pack` one element
    in each 32-bit column.

    Raises LegalityError for a shape, NUM or number of rows that does not exist.
    """
    kind = find_ld_shape(ld_shape)
    kind.check_num(num)
    legal = (LANES,) if kind.lanes == THREADS else (LANES // 2, LANES)
    rows = legal[0] if rows is None else rows
    if rows not in legal:
        raise TensorMemoryError(f"tcgen05.ld.{kind.name}: expected {' or '.join(map(str, legal))} rows, found {rows}")
    columns = num * kind.column_step(pack) * (2 if kind.halves else 1)
    unit = _Unit.of(element_bits, pack)
    elements = Iter(columns, unit.per_column, "TCol") if pack else Iter(columns * unit.per_column, 1, "TCol")
    lanes = DATA_PATHS["D" if rows == LANES else "F"].rows
    tile = TileLayout((*lanes, elements))
    return register_fragment(tile, (rows, elements.extent), kind.name, warp_axis, element_bits=element_bits, pack=pack)


@bounded_cache
def plan_tmem_access(
    tmem_layout: TileLayout,
    shape: Shape,
    ld_shape: str | None = None,
    *,
    max_registers: int = MAX_REGISTERS,
    warp_axis: WarpAxis = "warpid",
    element_bits: int = COLUMN_BITS,
    pack: bool = False,
) -> TmemAccessPlan:
    """The tcgen05.ld (or st) instructions that move a whole tile, at most `max_registers` at a time.

    `ld_shape`: by default what `pick_ld_shape` says. `element_bits` and `pack` as in `register_fragment`. To move some
    columns only, slice the layout first. Raises LegalityError when no shape fits.
    """
    kind = find_ld_shape(ld_shape or pick_ld_shape(tmem_layout, element_bits))
    stages, stage = _stages(tmem_layout)
    if stages:
        plan = plan_tmem_access(
            stage,
            (stage.size(),),
            kind.name,
            max_registers=max_registers,
            warp_axis=warp_axis,
            element_bits=element_bits,
            pack=pack,
        )
        fragment = register_fragment(tmem_layout, shape, kind.name, warp_axis, element_bits=element_bits, pack=pack)
        per_column = COLUMN_BITS // element_bits
        places = product(*(range(0, it.extent * it.stride // per_column, it.stride // per_column) for it in stages))
        shifts = [(sum(place), i * plan.registers) for i, place in enumerate(places)]
        return TmemAccessPlan(
            kind.name,
            fragment,
            len(shifts) * plan.registers,
            tuple(access.shifted(*shift) for shift in shifts for access in plan.accesses),
        )
    if max_registers < kind.registers_per_repeat:
        raise TensorMemoryError(
            f"tcgen05.ld.{kind.name}: expected room for {kind.registers_per_repeat} registers, found {max_registers}"
        )
    fragment = register_fragment(tmem_layout, shape, kind.name, warp_axis, element_bits=element_bits, pack=pack)
    unit = _Unit.of(element_bits, pack)
    columns = _columns(tmem_layout, unit)
    split = columns // 2 if kind.halves else None
    repeats = (columns if split is None else split) // kind.column_step(pack)
    limit = min(kind.max_num, max_registers // kind.registers_per_repeat)
    accesses: list[TmemAccess] = []
    register, first_column = 0, _first_column(tmem_layout, unit)
    for lane in _half_lanes(tmem_layout, kind):
        done = 0
        while done < repeats:
            num = 1 << (min(limit, repeats - done).bit_length() - 1)
            count = num * kind.registers_per_repeat
            column = first_column + done * kind.column_step(pack)
            accesses.append(TmemAccess(kind.name, num, lane, column, register, count, split, pack))
            register, done = register + count, done + num
    return TmemAccessPlan(kind.name, fragment, register, tuple(accesses))


def written_cells(
    layout: TileLayout, shape: Shape, ld_shape: str, *, element_bits: int = COLUMN_BITS, pack: bool = False
) -> NDArray[np.bool_]:
    """The cells that tcgen05.st of a tile writes, warp by warp: booleans of (4 warps, 32 lanes, columns of 32 bits).

    Every warp of the warpgroup writes all lanes of the shape, whether the tile has them or not. Raises LegalityError
    as `plan_tmem_access` does.
    """
    cells = np.zeros((LANES // THREADS, THREADS, COLUMNS), dtype=np.bool_)
    lanes = find_ld_shape(ld_shape).lanes
    for access in plan_tmem_access(layout, shape, ld_shape, element_bits=element_bits, pack=pack).accesses:
        for columns in access.columns():
            cells[:, access.lane : access.lane + lanes, columns.start : columns.stop] = True
    return cells


@bounded_cache
def pick_ld_shape(tmem_layout: TileLayout, element_bits: int = COLUMN_BITS) -> LdShapeName:
    """The shape that moves a tile with the fewest idle threads: 32x32b, or 16x32bx2 when half of every 32 lanes is in
    use.

    An odd number of columns has no second half: then 32x32b, with half the threads idle.
    """
    full = len(_half_lanes(tmem_layout, LD_SHAPES["16x32bx2"])) == 2
    stage = _stages(tmem_layout)[1]
    return "32x32b" if full or _columns(stage, _Unit.of(element_bits, False)) % 2 else "16x32bx2"


def _stages(tmem_layout: TileLayout) -> tuple[tuple[Iter, ...], TileLayout]:
    """Splits a layout with columns of several accumulators, and others between them, into those and one of them."""
    stages = tuple(takewhile(lambda it: it.axis == "TCol" and it.extent > 1, tmem_layout.shard))
    stage = TileLayout(tmem_layout.shard[len(stages) :], tmem_layout.replica, tmem_layout.offsets)
    spans = _row_major(stages, stage.span("TCol"))
    holes = stages and all(it.stride >= span for it, span in zip(stages, spans, strict=True))
    if not holes or all(it.stride == span for it, span in zip(stages, spans, strict=True)):
        return (), tmem_layout
    return stages, stage


def _row_major(iters: Sequence[Iter], step: int) -> tuple[int, ...]:
    """The strides of a dense array of parts of `step`, the last of these extents the fastest."""
    return tuple(prod(it.extent for it in iters[i + 1 :]) * step for i in range(len(iters)))


def _columns(tmem_layout: TileLayout, unit: _Unit) -> int:
    """`tmem_columns`; a part that is one column wide may have lost the axis in normal form."""
    return tmem_columns(tmem_layout, COLUMN_BITS // unit.per_column) if "TCol" in tmem_layout.axes else 1


def _first_column(tmem_layout: TileLayout, unit: _Unit) -> int:
    """The column that goes into the address of the instruction."""
    column, rest = divmod(tmem_layout.offsets.get("TCol", 0), unit.per_column)
    if rest:
        raise TensorMemoryError(
            f"expected a TCol offset of whole 32-bit columns, in steps of {unit.per_column} elements, found "
            f"{tmem_layout.offsets['TCol']}"
        )
    return column


def _lanes(tmem_layout: TileLayout) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Every lane in use."""
    lanes = tmem_layout.flat_table().get("TLane")
    if lanes is None:
        raise TensorMemoryError(f"expected a tensor-memory layout with axis TLane, found {tmem_layout}")
    lanes = np.unique([lanes + replica.get("TLane", 0) for replica in tmem_layout.replicas()])
    if lanes.min() < 0 or lanes.max() >= LANES:
        raise TensorMemoryError(f"expected lanes 0 to {LANES - 1}, found {lanes.min()} to {lanes.max()}")
    return lanes


def _half_lanes(tmem_layout: TileLayout, kind: LdShape) -> tuple[int, ...]:
    """First lanes, inside the 32 of a warp, of the instructions that cover the tile."""
    if kind.lanes == THREADS:
        return (0,)
    upper = _lanes(tmem_layout) % THREADS >= 16
    return tuple(lane for lane, used in ((0, not upper.all()), (16, upper.any())) if used)


def _base_lane(tmem_layout: TileLayout, kind: LdShape) -> int:
    """The lane, 0 or 16, that goes into the address because no register tells the halves apart."""
    halves = _half_lanes(tmem_layout, kind)
    return halves[0] if len(halves) == 1 else 0


def _refine(it: Iter, modes: dict[str, tuple[_Mode, ...]], name: LdShapeName) -> list[Iter]:
    """An iter over lanes or columns as iters over warp, lane id and register, outermost first."""
    if it.axis not in modes or it.extent == 1 or it.stride == 0:
        return [it if it.axis not in modes else Iter(it.extent, 0, "m")]
    parts: list[Iter] = []
    left, step = it.extent, it.stride
    for mode in modes[it.axis]:
        within, rest = divmod(step, mode.source.stride)
        if left == 1 or within >= mode.extent:
            continue
        if step < mode.source.stride or rest or mode.extent % within:
            break
        taken = min(mode.extent // within, left)
        if left % taken:
            break
        parts.append(Iter(taken, within * mode.place, mode.target))
        left, step = left // taken, step * taken
    if left > 1:
        raise TensorMemoryError(
            f"tcgen05.ld.{name}: expected {'lanes' if it.axis == 'TLane' else 'columns'} that the threads of a warp "
            f"and their registers count, in steps of "
            f"{', '.join(dict.fromkeys(f'{d.source.stride}' for d in modes[it.axis]))} on {it.axis}, found {it}"
        )
    return parts[::-1]


def _check_fragment(
    fragment: TileLayout, tmem_layout: TileLayout, shape: Shape, kind: LdShape, modes: dict[str, tuple[_Mode, ...]]
) -> None:
    """Follows every element through the instruction. Only modes that overlap, and carry, can fail here."""
    registers, memory = fragment.table(shape), tmem_layout.table(shape)
    zero = np.zeros(shape, dtype=np.int64)
    expected = (memory.get("TLane", zero), memory.get("TCol", zero) - tmem_layout.offsets.get("TCol", 0))
    lane, column = np.full_like(zero, _base_lane(tmem_layout, kind)), zero.copy()
    for axis, total in (("TLane", lane), ("TCol", column)):
        for mode in modes[axis]:
            total += registers.get(mode.target, zero) // mode.place % mode.extent * mode.source.stride
    bad = (lane != expected[0]) | (column != expected[1])
    if bad.any():
        where = tuple(int(x) for x in np.argwhere(bad)[0])
        raise TensorMemoryError(
            f"tcgen05.ld.{kind.name} has no register fragment of {tmem_layout}: element {where} is at lane "
            f"{expected[0][where]}, column {expected[1][where]} and would be read from lane {lane[where]}, "
            f"column {column[where]}"
        )
