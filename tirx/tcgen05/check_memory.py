"""Are these tensor-memory instructions legal? Allocation, copies, loads, stores and shifts, one instruction at a time.

What spans instructions (an allocation after `relinquish_alloc_permit`, a `dealloc` of what was not allocated, missing
waits) is not judged here. The rules are the rows of one table for each instruction; `check_memory` raises for the first
violation, `find_memory_violations` lists them all. None in a description: not known here, or, where noted, left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from tirx.hw.features import supporting_targets
from tirx.hw.rules import Finding, Rule, all_findings, choices, raise_first, reason, unless_one_is_legal, unsupported
from tirx.hw.targets import PtxVersion
from tirx.smem.smem_descriptor import SmemDescriptor, meaningless, possible_descriptors
from tirx.symbolic.integers import Integers
from tirx.tcgen05.tmem import ALLOCATION_SIZES, COLUMNS, CTA_GROUPS, EXCLUSIVE_SIZES, LANES
from tirx.tcgen05.tmem_access import LD_SHAPES, THREADS, LdShape
from tirx.values import dataclass

ROW_LANES = 32
"""Lanes that one warp reaches, and that tcgen05.shift moves together."""


@dataclass(frozen=True)
class Alloc:
    """tcgen05.alloc or tcgen05.dealloc: `columns` of 32 bits; `exclusive`: all that the block has."""

    columns: int | None = None
    cta_group: int = 1
    target: str | None = None
    ptx: PtxVersion | None = None
    exclusive: bool = False


class _InAllocation:
    """An instruction whose address lies in an allocation of `allocated` columns, where that is known."""

    allocated: int | None

    @property
    def limit(self) -> int:
        return COLUMNS if self.allocated is None else self.allocated


@dataclass(frozen=True)
class LdSt(_InAllocation):
    """tcgen05.ld, .st or (with `reduce`) .ld.red.

    - `shape`, `num`: `.16x64b`, `.x4`; `registers`: those passed, `packed`: `.pack::16b` or `.unpack::16b`;
    - `split`: immHalfSplitoff in columns, None when left out;
    - `lane`, `column`: of the address, the column counted from the start of an allocation of `allocated` columns;
    - `warp`: number of the warp in its warpgroup;
    - `reduce`: `min` or `max`, of `type` f32, u32 or s32, None when it is none; `modified`: with `.abs` or `.NaN`.
    """

    shape: str
    num: int
    registers: int | None = None
    packed: bool = False
    split: int | None = None
    lane: int | None = None
    column: int | None = None
    allocated: int | None = None
    warp: int | None = None
    reduce: str | None = None
    type: str | None = None
    modified: bool = False
    target: str | None = None
    ptx: PtxVersion | None = None

    @property
    def row(self) -> LdShape | None:
        return {str(name): row for name, row in LD_SHAPES.items()}.get(self.shape)

    @property
    def expected_registers(self) -> int:
        assert self.row is not None
        return self.num * self.row.registers_per_repeat

    @property
    def nums(self) -> str:
        return "none" if self.row is None else f"a power of two up to {self.row.max_num}"

    @property
    def columns(self) -> int | None:
        """Columns from the first to the last that are touched."""
        if self.row is None:
            return None
        own = self.num * self.row.columns * (2 if self.packed else 1)
        return own + (self.split or 0) if self.row.halves else own

    @property
    def lanes(self) -> tuple[int, ...]:
        """First lanes of the address that the warp may use."""
        step = THREADS if self.row is None else self.row.lanes
        warps = range(LANES // ROW_LANES) if self.warp is None else (self.warp % (LANES // ROW_LANES),)
        return tuple(lane for warp in warps for lane in range(warp * ROW_LANES, (warp + 1) * ROW_LANES, step))

    @property
    def lane_choices(self) -> str:
        return choices(self.lanes)

    @property
    def whose(self) -> str:
        return "any warp" if self.warp is None else f"warp {self.warp}"


@dataclass(frozen=True)
class CpShape:
    """One shape of tcgen05.cp: `columns` of tensor memory that it writes, the multicasts that it needs (None: none),
    and the last lane at which it may start; the first is 0."""

    name: str
    columns: int
    multicasts: tuple[str | None, ...]
    last_lane: int = 0

    @property
    def rows(self) -> int:
        """Rows of the source."""
        return int(self.name.partition("x")[0])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, in shared memory as well: what is widened is padded there."""
        return self.columns * 4

    @property
    def multicast_choices(self) -> str:
        return choices(self.multicasts)


CP_SHAPES: dict[str, CpShape] = {
    row.name: row
    for row in (
        CpShape("128x256b", 8, (None,)),
        CpShape("128x128b", 4, (None,)),
        # One row for each 32 lanes: with lane 31, the row that tcgen05.shift leaves free.
        CpShape("4x256b", 8, (None,), last_lane=31),
        CpShape("64x128b", 4, ("warpx2::02_13", "warpx2::01_23")),
        CpShape("32x128b", 4, ("warpx4",)),
    )
}
"""Shapes of tcgen05.cp (PTX ISA "tcgen05.cp")."""

CP_SOURCES = ("b6x16_p32", "b4x16_p64")
"""Source formats that tcgen05.cp widens to 8-bit containers, `.b8x16`."""


@dataclass(frozen=True)
class Cp(_InAllocation):
    """tcgen05.cp from shared memory. `multicast` and `source` (a format that is widened): None when left out; `lane`
    and `column`: of the address, the column counted from the start of an allocation of `allocated` columns;
    `descriptor`: the K-major matrix descriptor, or its 64 bits, as far as they are known."""

    shape: str
    multicast: str | None = None
    source: str | None = None
    cta_group: int = 1
    lane: int | None = None
    column: int | None = None
    allocated: int | None = None
    target: str | None = None
    ptx: PtxVersion | None = None
    descriptor: SmemDescriptor | Integers | int | None = None

    @property
    def row(self) -> CpShape | None:
        return CP_SHAPES.get(self.shape)

    @property
    def descriptor_reason(self) -> str | None:
        """Explains why the descriptor does not serve the rows of this shape. Returns None if it may."""
        if self.descriptor is None or self.row is None:
            return None
        k_bytes = self.row.row_bytes
        return unless_one_is_legal(
            reason(lambda possible=possible: possible.verify_place("K", k_bytes=k_bytes, target=self.target))
            for possible in possible_descriptors(self.descriptor)
        )


@dataclass(frozen=True)
class Shift(_InAllocation):
    """tcgen05.shift.down of the 32-byte rows at `lane` and `column`."""

    lane: int | None = None
    column: int | None = None
    allocated: int | None = None
    cta_group: int = 1
    target: str | None = None
    ptx: PtxVersion | None = None


SHIFT_COLUMNS = 8
"""Columns that tcgen05.shift moves: 32 bytes."""

REDUCTIONS = ("min", "max")
REDUCTION_TYPES = ("f32", "u32", "s32")
REDUCTION_SHAPES = ("32x32b", "16x32bx2")


def _overflows(at: LdSt | Cp | Shift, columns: int | None) -> bool:
    return at.column is not None and columns is not None and not 0 <= at.column <= at.limit - columns


_ALLOC = "tcgen05.alloc, tcgen05.dealloc"
_LD = "tcgen05.ld, tcgen05.st"
_LD_RED = "tcgen05.ld.red"
_CP = "tcgen05.cp"
_SHIFT = "tcgen05.shift"
_SMEM = "Shared memory descriptor"
_TARGET = "Target ISA Notes"
_OTHER_TARGET = "compile for a target and PTX version that have it"

_Grouped = TypeVar("_Grouped", Alloc, Cp, Shift)


def _of_cta_group(name: str, section: str) -> Rule[_Grouped]:
    """The rule of the CTA group of an instruction."""
    return Rule(
        name,
        section,
        lambda i: i.cta_group not in CTA_GROUPS,
        "expected cta_group 1 or 2, found {i.cta_group}",
        "use 1, or 2 for a pair of CTAs",
    )


ALLOC_RULES: tuple[Rule[Alloc], ...] = (
    Rule[Alloc](
        "alloc-columns",
        _ALLOC,
        lambda i: i.columns is not None and not i.exclusive and i.columns not in ALLOCATION_SIZES,
        "expected a power of two of columns from 32 to 512, found {i.columns}",
        "round up with allocation_columns",
    ),
    Rule[Alloc](
        "alloc-exclusive-columns",
        _ALLOC,
        lambda i: i.columns is not None and i.exclusive and i.columns not in EXCLUSIVE_SIZES,
        "expected a multiple of 32 columns from 32 to 576 with .exclusive, found {i.columns}",
        "round up",
    ),
    Rule[Alloc](
        "alloc-exclusive-target",
        _TARGET,
        lambda i: (i.columns or 0) > COLUMNS and unsupported(("tensor_memory.576_columns",), i.target, i.ptx),
        "{reason}",
        "use at most 512 columns",
    ),
    _of_cta_group("alloc-cta-group", _ALLOC),
    Rule[Alloc](
        "alloc-target", _TARGET, lambda i: unsupported(("tcgen05",), i.target, i.ptx), "{reason}", _OTHER_TARGET
    ),
)

LD_ST_RULES: tuple[Rule[LdSt], ...] = (
    Rule[LdSt](
        "ld-shape",
        _LD,
        lambda i: i.row is None,
        "expected a shape out of " + ", ".join(LD_SHAPES) + ", found {i.shape}",
        "use one of them",
    ),
    Rule[LdSt](
        "ld-num",
        _LD,
        lambda i: i.row is not None and (i.num < 1 or i.num & (i.num - 1) != 0 or i.num > i.row.max_num),
        "expected the repeats of .{i.shape} to be {i.nums}, found {i.num}",
        "split the access",
    ),
    Rule[LdSt](
        "ld-registers",
        _LD,
        lambda i: i.row is not None and i.registers is not None and i.registers != i.expected_registers,
        "expected {i.expected_registers} registers for .{i.shape}.x{i.num}, found {i.registers}",
        "pass as many as the shape moves",
    ),
    Rule[LdSt](
        "ld-split",
        _LD,
        lambda i: i.row is not None and i.row.halves != (i.split is not None),
        "expected immHalfSplitoff with .16x32bx2 and only there, found {i.split} with .{i.shape}",
        "say where the upper threads read, for .16x32bx2",
    ),
    Rule[LdSt](
        "ld-split-range",
        _LD,
        lambda i: i.split is not None and not 0 <= i.split < COLUMNS,
        "expected immHalfSplitoff from 0 to 511 columns, found {i.split}",
        "both halves are columns of tensor memory",
    ),
    Rule[LdSt](
        "ld-lane",
        _LD,
        lambda i: i.row is not None and i.lane is not None and i.lane not in i.lanes,
        "expected an address at lane {i.lane_choices} for .{i.shape} of {i.whose}, found {i.lane}",
        "a warp reaches the 32 lanes from 32 * (warp % 4) on",
    ),
    Rule[LdSt](
        "ld-columns",
        _LD,
        lambda i: _overflows(i, i.columns),
        "expected {i.columns} columns from column {i.column} on, of {i.limit}, to be inside",
        "allocate more columns, start further left, or use fewer repeats",
    ),
    Rule[LdSt](
        "ld-reduce",
        _LD_RED,
        lambda i: (
            i.reduce is not None
            and (i.reduce not in REDUCTIONS or i.shape not in REDUCTION_SHAPES or i.num < 2 or i.packed)
        ),
        "expected min or max of .32x32b or .16x32bx2, .x2 or more, not packed, found {i.reduce} of .{i.shape}.x{i.num}",
        "load first and reduce in registers",
    ),
    Rule[LdSt](
        "ld-reduce-type",
        _LD_RED,
        lambda i: i.reduce is not None and i.type is not None and i.type not in REDUCTION_TYPES,
        "expected a reduction of f32, u32 or s32, found {i.type}",
        "load first and reduce in registers",
    ),
    Rule[LdSt](
        "ld-reduce-modifier",
        _LD_RED,
        lambda i: i.modified and (i.reduce is None or i.type not in (None, "f32")),
        "expected .abs and .NaN on a reduction of f32 only, found one with {i.reduce} of {i.type}",
        "leave it out",
    ),
    Rule[LdSt](
        "ld-target",
        _TARGET,
        lambda i: unsupported(("tcgen05",) if i.reduce is None else ("tcgen05.ld.red",), i.target, i.ptx),
        "{reason}",
        _OTHER_TARGET,
    ),
)

CP_RULES: tuple[Rule[Cp], ...] = (
    Rule[Cp](
        "cp-shape",
        _CP,
        lambda i: i.row is None,
        "expected a shape out of " + ", ".join(CP_SHAPES) + ", found {i.shape}",
        "use one of them",
    ),
    Rule[Cp](
        "cp-multicast",
        _CP,
        lambda i: i.row is not None and i.multicast not in i.row.multicasts,
        "expected multicast {i.row.multicast_choices} with .{i.shape}, found {i.multicast}",
        "64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated",
    ),
    Rule[Cp](
        "cp-source",
        _CP,
        lambda i: i.source is not None and i.source not in CP_SOURCES,
        "expected a source format out of " + ", ".join(CP_SOURCES) + ", found {i.source}",
        "leave it out where nothing is widened",
    ),
    Rule[Cp](
        "cp-descriptor-bits",
        _SMEM,
        lambda i: meaningless(i.descriptor),
        "descriptor: {reason}",
        "encode it with SmemDescriptor",
    ),
    Rule[Cp](
        "cp-descriptor",
        _CP,
        lambda i: i.descriptor_reason,
        "descriptor: {reason}",
        "start at the first byte of a row of a K-major layout",
    ),
    Rule[Cp](
        "cp-lane",
        _CP,
        lambda i: i.row is not None and i.lane is not None and not 0 <= i.lane <= i.row.last_lane,
        "expected an address from lane 0 to {i.row.last_lane} with .{i.shape}, found lane {i.lane}",
        "the shape says which lanes are written",
    ),
    Rule[Cp](
        "cp-columns",
        _CP,
        lambda i: i.row is not None and _overflows(i, i.row.columns),
        "expected {i.row.columns} columns from column {i.column} on, of {i.limit}, to be inside",
        "allocate more columns or start further left",
    ),
    _of_cta_group("cp-cta-group", _CP),
    Rule[Cp]("cp-target", _TARGET, lambda i: unsupported(("tcgen05",), i.target, i.ptx), "{reason}", _OTHER_TARGET),
)

SHIFT_RULES: tuple[Rule[Shift], ...] = (
    Rule[Shift](
        "shift-lane",
        _SHIFT,
        lambda i: i.lane is not None and (i.lane % ROW_LANES != 0 or not 0 <= i.lane < LANES),
        "expected an address at lane 0, 32, 64 or 96, found lane {i.lane}",
        "rows move inside groups of 32 lanes",
    ),
    Rule[Shift](
        "shift-columns",
        _SHIFT,
        lambda i: _overflows(i, SHIFT_COLUMNS),
        "expected 8 columns from column {i.column} on, of {i.limit}, to be inside",
        "allocate more columns or start further left",
    ),
    _of_cta_group("shift-cta-group", _SHIFT),
    Rule[Shift](
        "shift-target",
        _TARGET,
        lambda i: unsupported(("tcgen05.shift",), i.target, i.ptx),
        "{reason}",
        f"compile for an arch-specific target ({', '.join(supporting_targets('tcgen05.shift'))})",
    ),
)


@lru_cache(maxsize=256)
def find_memory_violations(instruction: Alloc | LdSt | Cp | Shift) -> tuple[Finding, ...]:
    """Every rule that the instruction breaks, in the order of its table; empty when it is legal."""
    match instruction:
        case Alloc():
            return tuple(all_findings(ALLOC_RULES, instruction))
        case LdSt():
            return tuple(all_findings(LD_ST_RULES, instruction))
        case Cp():
            return tuple(all_findings(CP_RULES, instruction))
        case Shift():
            return tuple(all_findings(SHIFT_RULES, instruction))


def check_memory(instruction: Alloc | LdSt | Cp | Shift) -> None:
    """Raises LegalityError, with the fix and the name of the rule, for the first rule that the instruction breaks."""
    raise_first(find_memory_violations(instruction))
