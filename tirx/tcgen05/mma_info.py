"""One tcgen05.mma as plain data, and the facts that follow from it: what the rules of `tirx.tcgen05.check` look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TypeVar

from tirx.hw.dtypes import find_dtype
from tirx.hw.features import FEATURES
from tirx.hw.rules import choices, reason, result, unless_one_is_legal
from tirx.hw.targets import PtxVersion
from tirx.layout import Iter, TileLayout
from tirx.smem.aliasing import aliased_operand
from tirx.smem.smem_descriptor import K_SEGMENTS, SEGMENTED_BYTES, SmemDescriptor, possible_descriptors
from tirx.smem.swizzle_modes import MAJORS, Major
from tirx.symbolic.integers import Integers
from tirx.tcgen05.block_scale import SCALE_VECTORS, ScaleVector, find_scale_vector
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.kinds import KINDS, Kind
from tirx.tcgen05.packing import smem_packing
from tirx.tcgen05.scale_factors import BLOCK_ROWS, PER_COLUMN, SCALE_FACTOR_IDS, WIDE_SCALE_FACTOR_IDS
from tirx.tcgen05.sparse_metadata import CODE_BITS, sparse_metadata
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS, DataPath, data_path
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.values import dataclass, field

SCALE_FACTOR_ROWS = 32
"""Rows whose scale factors share a column of tensor memory."""

LANE_BITS = 0x3FFF
"""Bits of the lane of an address that scale factors have; the two above are those of their id in the descriptor."""

K_BITS = 256
"""Bits of K that a dense instruction reads of each row of an operand."""

TABLE_K = 64
"""K of a product with a table of B: 24 bytes of indices of 3 bits."""

TABLE_COLUMNS = 2
"""Columns of a table of B: eight e4m3 for each eight rows of B, in a lane of their own."""

FORM_FEATURES = (
    *(feature for kind in KINDS if (feature := f"tcgen05.kind::{kind}") in FEATURES),
    *("tcgen05.scale_input_d", "tcgen05.collector::b", "tcgen05.sparse_mxf4"),
    *("tcgen05.decompress::lut::b", "tcgen05.decompress::lut::b.scale_vec::1X"),
    *dict.fromkeys(vector.feature for vector in SCALE_VECTORS),
)
"""Rows of `tirx.hw.features` that some forms need besides `tcgen05`."""

READ_AS: dict[str, tuple[str, ...]] = {"tf32": ("tf32", "f32")}
"""Element type of an instruction -> the types in memory that it reads as such, where there are more than itself: tf32
takes the upper bits of an f32."""


@dataclass(frozen=True)
class SmemOperand:
    """An operand in shared memory. None where something is not known.

    `descriptor`: the matrix descriptor, or its 64 bits, as far as they are known. `rows`: rows of the tile (M of A, N
    of B) that the shared memory of one CTA holds from the start address on. `dtype`, `major`: what lies there. `k`:
    stored elements along K that the descriptor was made for. `container_bits`: what one element takes (see
    `SmemPacking`).
    """

    descriptor: SmemDescriptor | Integers | int | None = None
    rows: int | None = None
    dtype: str | None = None
    major: Major | None = None
    k: int | None = None
    container_bits: int | None = None


@dataclass(frozen=True)
class TmemOperand:
    """An operand in tensor memory. None where something is not known.

    `column`: its first 32-bit column, counted from the start of its allocation; `lane`: the first lane, bits 16-31 of
    its address; `allocated`: columns of the allocation. `dtype`: element type of what lies there; `layout`: where
    it lies, with any offsets, counting columns in elements; `rows`: of the matrix with this layout. `base`: what the
    column counts from; operands of one base can be compared.
    """

    column: int | None = None
    lane: int | None = None
    allocated: int | None = None
    dtype: str | None = None
    layout: TileLayout | None = None
    rows: int | None = None
    base: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Mma:
    """One tcgen05.mma, as plain data. None: not known here (and then not checked), or, where noted, left out.

    - `kind`, `cta_group`, `ws`, `sparse` (`.sp`): from the name of the instruction; `scale_vector`: as PTX writes it
      (`scale_vec::2X`, `block16`), None when left out;
    - `a`, `b`, `d`, `sparse_metadata`, `lut_b`, `scale_a`, `scale_b`: the operands; with a table
      `lut_b` B has indices;
    - `descriptor`: the instruction descriptor, or its 32 bits;
    - `masked`: whether there is a zero-column mask operand; `mask`: its value, or its 64 bits;
    - `collector_buffer` (`a`, `b0` to `b3`) and `collector_usage`, `collector_b` (the usage of the buffer of B without
      `ws`), None when left out; `ashift`;
    - `disable_output_lane`: number of registers of that operand, None when left out;
    - `scale_input_d`: exponent, None when left out;
    - `target` (`sm_100a`) and `ptx`, the version of the module.
    """

    kind: str
    cta_group: int = 1
    ws: bool = False
    sparse: bool = False
    scale_vector: str | None = None
    a: SmemOperand | TmemOperand | None = None
    b: SmemOperand | None = None
    d: TmemOperand | None = None
    descriptor: InstructionDescriptor | int | None = None
    masked: bool = False
    mask: ZeroColumnMask | int | None = None
    sparse_metadata: TmemOperand | None = None
    lut_b: TmemOperand | None = None
    scale_a: TmemOperand | None = None
    scale_b: TmemOperand | None = None
    collector_buffer: str | None = None
    collector_usage: str | None = None
    collector_b: str | None = None
    ashift: bool = False
    disable_output_lane: int | None = None
    scale_input_d: int | None = None
    target: str | None = None
    ptx: PtxVersion | None = None


ValueT = TypeVar("ValueT")


def _decoded(value: ValueT | int | None, decode: Callable[[int], ValueT]) -> ValueT | None:
    """Decodes a descriptor that may be given as its bits. Returns None if it is unknown or the bits have no meaning."""
    return result(lambda: decode(value)) if isinstance(value, int) else value


@lru_cache(maxsize=256)
def needed_features(
    kind: str, scale_vector: str | None, *, sparse: bool, scaled_d: bool, collected_b: bool, has_table: bool
) -> tuple[str, ...]:
    """Rows of `tirx.hw.features` that the form of an instruction needs, from what its text says."""
    extra = {
        f"tcgen05.kind::{kind}": f"tcgen05.kind::{kind}" in FEATURES,
        "tcgen05.scale_input_d": scaled_d,
        "tcgen05.collector::b": collected_b,
        "tcgen05.sparse_mxf4": sparse and KINDS[kind].is_packed,
        "tcgen05.decompress::lut::b": has_table,
    }
    found = result(lambda: find_scale_vector(kind, scale_vector))
    scaling = () if found is None else (found.feature,)
    if has_table and scale_vector == "scale_vec::1X":
        scaling = (*scaling, "tcgen05.decompress::lut::b.scale_vec::1X")
    return ("tcgen05", *(feature for feature, needed in extra.items() if needed), *scaling)


class MmaInfo:
    """Properties derived from the description of an instruction; None where something they need is not known."""

    def __init__(self, mma: Mma):
        self.mma = mma
        self.kind: Kind = KINDS[mma.kind]
        self.idesc = _decoded(mma.descriptor, self.decode)
        self.mask = _decoded(mma.mask, ZeroColumnMask.decode)
        self.masked = mma.masked or mma.mask is not None
        self.in_tmem = mma.a if isinstance(mma.a, TmemOperand) else None
        self.a_smem = mma.a if isinstance(mma.a, SmemOperand) else None
        self.m = None if self.idesc is None else self.idesc.m
        self.n = None if self.idesc is None else self.idesc.n
        self.variant = f"tcgen05.mma{'.ws' if mma.ws else ''}{'.sp' if mma.sparse else ''}.cta_group::{mma.cta_group}"

    def decode(self, word: int) -> InstructionDescriptor:
        return InstructionDescriptor.decode(word, self.mma.kind)

    @property
    def features(self) -> tuple[str, ...]:
        """Rows of `tirx.hw.features` that the form of the instruction needs."""
        return needed_features(
            self.mma.kind,
            self.mma.scale_vector,
            sparse=self.mma.sparse,
            scaled_d=self.mma.scale_input_d is not None,
            collected_b=self.mma.collector_b is not None,
            has_table=self.mma.lut_b is not None,
        )

    @property
    def collector_usages(self) -> str:
        """Usages of the collectors, as they are written."""
        return " and ".join(usage for usage in (self.mma.collector_usage, self.mma.collector_b) if usage is not None)

    @cached_property
    def scale_vector(self) -> ScaleVector | None:
        return result(lambda: find_scale_vector(self.mma.kind, self.mma.scale_vector))

    @cached_property
    def scale_factor_ids(self) -> tuple[int, ...] | None:
        """Legal first bytes; None where nothing is known."""
        count = self.scale_factors
        return None if count is None else {**SCALE_FACTOR_IDS, **WIDE_SCALE_FACTOR_IDS}[count]

    @property
    def scale_factors(self) -> int | None:
        """Scale factors of each row that the instruction reads."""
        if self.scale_vector is None or self.idesc is None:
            return None
        return self.scale_vector.factors_of(self.idesc.k_code)

    @property
    def scale_factor_id_choices(self) -> str:
        return choices(self.scale_factor_ids or ())

    @property
    def scale_types(self) -> str:
        return choices(() if self.scale_vector is None else self.scale_vector.types)

    @cached_property
    def path(self) -> DataPath | None:
        if self.idesc is None:
            return None
        m, mma = self.idesc.m, self.mma
        return result(lambda: data_path(m, mma.cta_group, mma.ws, mma.sparse))

    @property
    def lanes(self) -> tuple[int, ...]:
        """First lanes that D may have."""
        return (0, 16) if self.path is not None and self.path.half_lanes else (0,)

    @property
    def lane_choices(self) -> str:
        return choices(self.lanes)

    @property
    def d_lane(self) -> int | None:
        return None if self.mma.d is None else self.mma.d.lane

    def misplaced(self, operand: TmemOperand | None) -> bool:
        """Returns True if an operand that lies beside D has other lanes than D."""
        if operand is None or operand.lane is None or self.path is None:
            return False
        return operand.lane not in self.lanes or (self.d_lane in self.lanes and operand.lane != self.d_lane)

    @staticmethod
    def off_lane_0(operand: TmemOperand | None) -> bool:
        """Returns True if scale factors start at another lane. Upper bits of an address may hold their id (CUTLASS)."""
        return operand is not None and operand.lane is not None and operand.lane & LANE_BITS != 0

    @property
    def metadata_columns(self) -> int | None:
        """Columns from the address of sparsity metadata to the last that is read (`sparse_metadata_layout`)."""
        if self.idesc is None:
            return None
        if self.kind.has_sparsity_selector:
            return self.idesc.sparsity_selector + 1
        elements = sparse_metadata(self.kind.name, self.idesc.sparsity_version).elements
        return self.idesc.k * CODE_BITS // (elements * COLUMN_BITS)

    @property
    def d_columns(self) -> int | None:
        return None if self.path is None or self.n is None else self.n // self.path.column_groups

    @property
    def container_bits(self) -> int:
        """Bits from one element of an operand to the next."""
        return K_BITS // self.kind.k

    def stored_k(self, which: str) -> int | None:
        """Stored elements of K that one instruction reads of a row of `which`, A or B: half of them of a sparse A."""
        if self.idesc is None:
            return None
        return self.idesc.k // 2 if which == "A" and self.idesc.sparse else self.idesc.k

    def bytes_of_k(self, which: str) -> int | None:
        """Bytes of K that one instruction reads of a row of `which`, A or B."""
        if which == "B" and self.mma.lut_b is not None:
            return K_SEGMENTS[1]
        elements = self.stored_k(which)
        return None if elements is None else elements * self.container_bits // 8

    @property
    def a_columns(self) -> int | None:
        """Columns of A in tensor memory: 4 bytes of K each."""
        size = self.bytes_of_k("A")
        return None if size is None else size // 4

    def scale_columns(self, rows: int, factor_id: int) -> int | None:
        """Columns of scale factors. More than four of a row go on in a column behind those of all blocks of rows."""
        columns = -(-rows // SCALE_FACTOR_ROWS)
        if self.idesc is None or not self.idesc.k_code:
            return columns
        if self.scale_factors is None:
            return None
        block = -(-rows // BLOCK_ROWS) * BLOCK_ROWS // SCALE_FACTOR_ROWS
        return (factor_id + self.scale_factors - 1) // PER_COLUMN * block + columns

    @property
    def sfa_columns(self) -> int | None:
        """Columns of A's factors: with 128 lanes each row has its own lane, and a column is a word of all rows."""
        if self.idesc is None or self.scale_factors is None:
            return None
        if self.idesc.a_scale_lanes == BLOCK_ROWS:
            return (self.idesc.sf_a_id + self.scale_factors - 1) // PER_COLUMN + 1
        return self.scale_columns(self.idesc.m // self.mma.cta_group, self.idesc.sf_a_id)

    @property
    def sfb_columns(self) -> int | None:
        """Each half of the lanes has half of N where D has its columns in two groups of lanes (a pair, M = 128)."""
        if self.n is None or self.path is None or self.idesc is None:
            return None
        return self.scale_columns(self.n // self.path.column_groups, self.idesc.sf_b_id)

    @staticmethod
    def overflow(operand: TmemOperand | None, columns: int | None) -> str | None:
        """Explains why `columns` columns do not fit at the operand's first column. Returns None if they may."""
        if operand is None or operand.column is None or columns is None:
            return None
        limit = COLUMNS if operand.allocated is None else operand.allocated
        if 0 <= operand.column and operand.column + columns <= limit:
            return None
        place = "of tensor memory" if operand.allocated is None else "allocated"
        return f"{columns} columns from column {operand.column} on, of {limit} {place}"

    @property
    def overlap_reason(self) -> str | None:
        """Names an operand whose columns the instruction overwrites. Returns None if no overlap is known."""
        d, written = self.mma.d, self.d_columns
        operands = (
            ("A", self.in_tmem, self.a_columns),
            ("the sparsity metadata", self.mma.sparse_metadata, self.metadata_columns),
            ("the table of B", self.mma.lut_b, TABLE_COLUMNS),
            ("the scale factors of A", self.mma.scale_a, self.sfa_columns),
            ("the scale factors of B", self.mma.scale_b, self.sfb_columns),
        )
        if d is None or d.column is None or d.base is None or written is None:
            return None
        for name, operand, read in operands:
            if operand is None or operand.base is not d.base or operand.column is None or read is None:
                continue
            if operand.column < d.column + written and d.column < operand.column + read:
                return (
                    f"expected {name} beside D, found columns {operand.column} to {operand.column + read - 1} and D in "
                    f"{d.column} to {d.column + written - 1}"
                )
        return None

    def packing_reason(self, operand: SmemOperand | None, which: str) -> str | None:
        """Explains why an operand has another element spacing than the kind reads. Returns None if it may fit."""
        if operand is None or operand.dtype is None or operand.container_bits is None:
            return None
        dtype = operand.dtype
        packing = result(lambda: smem_packing(self.kind.name, dtype))
        if packing is None or packing.container_bits == operand.container_bits:
            return None
        return (
            f"expected {which} of {dtype} in slots of {packing.container_bits} bits, as kind::{self.kind.name} reads "
            f"it, found {operand.container_bits}"
        )

    @property
    def a_rows(self) -> int | None:
        return None if self.m is None else self.m // self.mma.cta_group

    @property
    def shift(self) -> int:
        return 0 if self.mask is None else self.mask.shift

    @property
    def b_rows(self) -> int | None:
        """Rows of B that the shared memory of one CTA must hold: its share of N, and the columns shifted in."""
        return None if self.n is None else self.n // self.mma.cta_group + self.shift

    def type_reason(self, operand: SmemOperand | TmemOperand | None, which: str) -> str | None:
        """Explains why an operand has another element type than the instruction descriptor. None if it may fit."""
        if operand is None or operand.dtype is None or self.idesc is None:
            return None
        expected = {"A": self.idesc.a, "B": self.idesc.b, "D": self.idesc.d}[which]
        if operand.dtype in READ_AS.get(expected, (expected,)):
            return None
        return f"expected {which} of {expected}, as in the instruction descriptor, found {operand.dtype}"

    def major_reason(self, operand: SmemOperand | None, which: str) -> str | None:
        """Explains why an operand has another major-ness than the instruction descriptor. None if it may fit."""
        if operand is None or operand.major is None or self.idesc is None:
            return None
        expected = self.idesc.a_major if which == "A" else self.idesc.b_major
        if operand.major == expected:
            return None
        return f"expected {expected}-major {which}, as in the instruction descriptor, found {operand.major}-major"

    def k_reason(self, operand: SmemOperand | None, which: str) -> str | None:
        """Explains why an operand's descriptor is for another K than the instruction reads. None if it may fit."""
        if operand is None or operand.k is None or self.idesc is None:
            return None
        expected = self.stored_k(which)
        if operand.k == expected:
            return None
        half = " (the stored half)" if expected != self.idesc.k else ""
        return f"expected slices of {which} of {expected} elements along K{half}, found slices of {operand.k}"

    @property
    def d_layout_reason(self) -> str | None:
        """Explains why D (of both CTAs or of one) is not where the instruction writes it. None if it may be."""
        d, idesc, path = self.mma.d, self.idesc, self.path
        if d is None or d.layout is None or idesc is None or path is None:
            return None
        offsets = d.layout.offsets
        base_lane = next((lane for lane in self.lanes if lane == offsets.get("TLane")), 0)
        rows = path.rows if d.layout.size() == idesc.m * idesc.n else path.cta_rows
        expected = result(lambda: path.layout(idesc.n, base_lane=base_lane, dtype=idesc.d, rows=rows))
        if expected is None:
            return None
        moved = TileLayout(expected.shard, expected.replica, {**offsets, **expected.offsets})
        if d.layout.equivalent(moved):
            return None
        return (
            f"data path {path.letter}: expected the {idesc.m}x{idesc.n} D where {self.variant} writes it, {expected} "
            f"(plus any column offset), found {d.layout}"
        )

    @property
    def a_layout_reason(self) -> str | None:
        """Explains why A in tensor memory has another layout than the instruction reads. None if it may fit."""
        a, idesc, path = self.in_tmem, self.idesc, self.path
        if a is None or a.layout is None or a.rows is None or a.dtype is None or idesc is None or path is None:
            return None
        iters = {TileLayout(each).size(): each for each in (path.cta_rows, path.rows)}.get(a.rows)
        k, needed = a.layout.size() // a.rows, self.stored_k("A")
        assert needed is not None
        if iters is None or k < needed:
            return (
                f"expected A of {idesc.m // self.mma.cta_group} rows in each CTA and {needed} elements of K or more, "
                f"found {a.rows}x{k}"
            )
        slots = smem_packing(self.kind.name, idesc.a).container_bits // find_dtype(a.dtype).storage_bits
        offsets = a.layout.offsets
        expected = TileLayout((*iters, Iter(k, slots, "TCol")), path.lane_groups)
        if a.layout.equivalent(TileLayout(expected.shard, expected.replica, offsets)):
            return None
        return (
            f"data path {path.letter}: expected A where {self.variant}.kind::{self.kind.name} reads it, {expected} "
            f"(plus any offset), found {a.layout}"
        )

    @property
    def late_starts(self) -> tuple[str, ...]:
        """Names sub-masks of the zero-column mask that start behind their first run."""
        return () if self.mask is None else self.mask.late_starts(self.m)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Names elements of A or B that share bytes of shared memory: legal, and nearly always a mistake."""
        if self.idesc is None:
            return ()
        assert self.a_rows is not None and self.b_rows is not None
        found: list[str] = []
        operands: list[tuple[str, SmemOperand | None, Major, int]] = [
            ("A", self.a_smem, self.idesc.a_major, self.a_rows),
            ("B", self.mma.b, self.idesc.b_major, self.b_rows),
        ]
        for name, operand, major, rows in operands:
            k = SEGMENTED_BYTES if name == "B" and self.mma.lut_b is not None else self.stored_k(name)
            if operand is None or k is None:
                continue
            if (text := aliased_operand(operand.descriptor, major, (rows, k), self.container_bits)) is not None:
                found.append(f"descriptor of {name}: {text}")
        return tuple(found)

    def descriptor_reason(self, operand: SmemOperand | None, which: str) -> str | None:
        """Explains why a shared-memory descriptor does not serve an operand. Returns None if it may.

        Where that is not known, why it serves none that the kind has.
        """
        if operand is None or operand.descriptor is None:
            return None
        operands: list[tuple[str, Major]]
        if self.idesc is None:
            operands = [(dtype, major) for dtype, _ in self.kind.operands for major in reversed(MAJORS)]
        else:
            operands = [(self.idesc.a, self.idesc.a_major) if which == "A" else (self.idesc.b, self.idesc.b_major)]
        k_bytes, target = self.bytes_of_k(which), self.mma.target

        def refused(possible: SmemDescriptor, dtype: str, major: Major) -> str | None:
            return reason(lambda: possible.verify(dtype, major, k_bytes=k_bytes, target=target))

        return unless_one_is_legal(
            refused(possible, dtype, major)
            for possible in possible_descriptors(operand.descriptor)
            for dtype, major in operands
        )
