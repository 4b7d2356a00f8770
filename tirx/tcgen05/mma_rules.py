"""The rules of tcgen05.mma, as a table. `tirx.tcgen05.check` applies them.

Most of them `ptxas` lets through: it looks at the form of an instruction, not into descriptors, masks or addresses.
Source: the section of the PTX ISA that each row names.
"""

from __future__ import annotations

from collections.abc import Callable

from tirx.hw.rules import Rule, bad_bits, reason, unsupported
from tirx.hw.targets import TARGETS
from tirx.smem.smem_descriptor import meaningless
from tirx.tcgen05.block_scale import find_scale_vector
from tirx.tcgen05.mma_info import TABLE_COLUMNS, TABLE_K, MmaInfo, SmemOperand, TmemOperand
from tirx.tcgen05.zero_column_mask import MAX_COLUMN_SHIFT, ZeroColumnMask

COLLECTOR_USAGES = ("fill", "use", "lastuse", "discard")
ASHIFT_COLLECTOR_USAGES = ("lastuse", "discard")
COLLECTOR_BUFFERS = {False: ("a",), True: ("b0", "b1", "b2", "b3")}
"""Collector buffers by `.ws`."""

MAX_SCALE_INPUT_D = 15
SCALE_INPUT_D_KINDS = ("f16", "tf32")
TABLE_KINDS = ("f8f6f4", "mxf8f6f4")
ASHIFT_M = (128, 256)

_MMA = "tcgen05.mma"
_WS = "tcgen05.mma.ws"
_IDESC = "Instruction descriptor"
_MASK = "Zero-Column Mask Descriptor"
_SMEM = "Shared memory descriptor"
_SHAPES = "Matrix Shape"
_PATHS = "Data path layout organization"
_SCALING = "tcgen05.mma block scaling"
_SPARSE = "Sparse Matrices"

_Row = Rule[MmaInfo]
_Find = Callable[[MmaInfo], SmemOperand | None]

_IN_SMEM: tuple[tuple[str, _Find], ...] = (("A", lambda i: i.a_smem), ("B", lambda i: i.mma.b))
"""The operands that may be in shared memory, where they are."""


def _of_operand(
    which: str, operand: Callable[[MmaInfo], SmemOperand | TmemOperand | None], in_smem: _Find
) -> tuple[_Row, ...]:
    """The rules of the type and the descriptor of A or B."""
    name = which.lower()
    typed = f"name the type of {which} in the instruction descriptor"
    major = f"set {name}_major to that of the layout of {which}"
    sliced = "make one descriptor for each K of the instruction"
    canonical = f"give {which} a canonical layout of its type and major-ness"
    found = f"descriptor of {which}: {{reason}}"
    return (
        _Row(f"{name}-type", _IDESC, lambda i: i.type_reason(operand(i), which), "{reason}", typed),
        _Row(f"{name}-major", _IDESC, lambda i: i.major_reason(in_smem(i), which), "{reason}", major),
        _Row(f"{name}-k", _SHAPES, lambda i: i.k_reason(in_smem(i), which), "{reason}", sliced),
        _Row(f"{name}-descriptor", _SMEM, lambda i: i.descriptor_reason(in_smem(i), which), found, canonical),
    )


MMA_RULES: tuple[Rule[MmaInfo], ...] = (
    _Row(
        "cta-group",
        _MMA,
        lambda i: i.mma.cta_group not in (1, 2),
        "expected cta_group 1 or 2, found {i.mma.cta_group}",
        "use 1, or 2 for a pair of CTAs",
    ),
    _Row(
        "ws-cta-group",
        _WS,
        lambda i: i.mma.ws and i.mma.cta_group == 2,
        "expected cta_group 1 with .ws, found 2",
        "use cta_group 1, or leave out .ws",
    ),
    _Row(
        "ws-kind",
        _WS,
        lambda i: i.mma.ws and i.kind.block_scaled,
        "expected a kind without scale factors with .ws, found {i.mma.kind}",
        "use f16, tf32, f8f6f4 or i8, or leave out .ws",
    ),
    _Row(
        "target",
        "Target ISA Notes",
        lambda i: unsupported(i.features, i.mma.target, i.mma.ptx),
        "{reason}",
        "compile for a target and PTX version that have it",
    ),
    _Row(
        "scale-vector",
        _SCALING,
        lambda i: reason(lambda: find_scale_vector(i.mma.kind, i.mma.scale_vector)),
        "{reason}",
        "name a scale vector of this kind",
    ),
    # The instruction descriptor
    _Row(
        "descriptor-bits",
        _IDESC,
        lambda i: bad_bits(i.mma.descriptor, i.decode),
        "instruction descriptor: {reason}",
        "encode it with InstructionDescriptor",
    ),
    _Row(
        "descriptor-kind",
        _IDESC,
        lambda i: i.idesc is not None and i.idesc.kind != i.mma.kind,
        "expected an instruction descriptor of kind::{i.mma.kind}, found one of kind::{i.idesc.kind}",
        "the bits of a descriptor mean something else for each kind: encode it for kind::{i.mma.kind}",
    ),
    _Row(
        "descriptor-sparsity",
        _IDESC,
        lambda i: i.idesc is not None and i.idesc.sparse != i.mma.sparse,
        "expected sparse = {i.mma.sparse} in the instruction descriptor of {i.variant}, found {i.idesc.sparse}",
        "set bit 2 for .sp and only for .sp",
    ),
    _Row(
        "descriptor-fields",
        _IDESC,
        lambda i: None if (d := i.idesc) is None else reason(lambda: d.verify_fields(i.mma.ws)),
        "{reason}",
        "use a legal value",
    ),
    _Row(
        "shape",
        _SHAPES,
        lambda i: (
            None
            if (d := i.idesc) is None or i.mma.cta_group not in (1, 2)
            else reason(lambda: d.verify_shape(i.mma.cta_group, i.mma.ws))
        ),
        "{reason}",
        "use a shape of the ISA's table",
    ),
    _Row(
        "descriptor-target",
        _IDESC,
        lambda i: None if i.idesc is None or i.mma.target not in TARGETS else i.idesc.target_reason(i.mma.target),
        "instruction descriptor: {reason}",
        "use another value, or compile for another target",
    ),
    _Row(
        "scale-type",
        _SCALING,
        lambda i: (
            i.scale_vector is not None
            and i.idesc is not None
            and i.idesc.scale is not None
            and i.idesc.scale not in i.scale_vector.types
        ),
        "expected scale factors of {i.scale_types} with {i.scale_vector.name}, found {i.idesc.scale}",
        "use another scale vector, or ue8m0",
    ),
    _Row(
        "wide-k-scale-vector",
        _SCALING,
        lambda i: (
            i.idesc is not None and i.idesc.k_code > 0 and i.scale_vector is not None and i.scale_vector.by_factors
        ),
        "expected block16 or block32 with K = {i.idesc.k}, found {i.scale_vector.name}",
        "name the size of a block: no layout of scale factors is defined for another",
    ),
    _Row(
        "scale-factor-id",
        _SCALING,
        lambda i: (
            i.scale_factor_ids is not None
            and i.idesc is not None
            and not {i.idesc.sf_a_id, i.idesc.sf_b_id} <= set(i.scale_factor_ids)
        ),
        "expected scale-factor ids {i.scale_factor_id_choices} with {i.scale_vector.name} "
        "({i.scale_factors} factors of each row), found {i.idesc.sf_a_id} (A) and {i.idesc.sf_b_id} (B)",
        "start at a byte from which all factors fit the 32-bit column",
    ),
    # The zero-column mask
    _Row(
        "mask-bits",
        _MASK,
        lambda i: bad_bits(i.mma.mask, ZeroColumnMask.decode),
        "zero-column mask: {reason}",
        "encode it with ZeroColumnMask",
    ),
    _Row(
        "mask-needs-ws",
        _WS,
        lambda i: i.masked and not i.mma.ws,
        "expected no zero-column mask on {i.variant}, found one",
        "use tcgen05.mma.ws",
    ),
    _Row(
        "mask-shift",
        _MASK,
        lambda i: (
            i.mask is not None
            and i.m is not None
            and i.mask.shift > MAX_COLUMN_SHIFT.get(i.m, max(MAX_COLUMN_SHIFT.values()))
        ),
        "expected a column shift of at most 16 for M = 32 and 32 otherwise, found {i.mask.shift} for M = {i.m}",
        "start the descriptor of B further on instead",
    ),
    _Row(
        "mask-max-shift",
        _IDESC,
        lambda i: i.mma.ws and i.idesc is not None and i.shift > i.idesc.max_shift,
        "expected a column shift up to {i.idesc.max_shift}, max_shift of the instruction descriptor, found {i.shift}",
        "write smallest_max_shift({i.shift}) into the instruction descriptor",
    ),
    # Operands in shared memory
    *(
        _Row(
            f"{which.lower()}-descriptor-bits",
            _SMEM,
            lambda i, of=of: None if (operand := of(i)) is None else meaningless(operand.descriptor),
            f"descriptor of {which}: {{reason}}",
            "encode it with SmemDescriptor",
        )
        for which, of in _IN_SMEM
    ),
    *_of_operand("A", lambda i: i.mma.a, lambda i: i.a_smem),
    *_of_operand("B", lambda i: i.mma.b, lambda i: i.mma.b),
    *(
        _Row(
            f"{which.lower()}-packing",
            "Packing formats",
            lambda i, which=which, of=of: i.packing_reason(of(i), which),
            "{reason}",
            "pad it, or use the kind that reads it packed",
        )
        for which, of in _IN_SMEM
    ),
    _Row(
        "a-rows",
        _SHAPES,
        lambda i: (
            i.a_smem is not None and i.a_smem.rows is not None and i.a_rows is not None and i.a_smem.rows < i.a_rows
        ),
        "expected {i.a_rows} rows of A in the shared memory of each CTA (M = {i.m}, cta_group {i.mma.cta_group}), "
        "found {i.a_smem.rows}",
        "make the tile larger, or M smaller",
    ),
    _Row(
        "b-rows",
        _SHAPES,
        lambda i: i.mma.b is not None and i.mma.b.rows is not None and i.b_rows is not None and i.mma.b.rows < i.b_rows,
        "expected {i.b_rows} rows of B in the shared memory of each CTA (N = {i.n}, cta_group {i.mma.cta_group}, "
        "column shift {i.shift}), found {i.mma.b.rows}",
        "make the tile larger, or N or the shift smaller",
    ),
    # Operands in tensor memory
    _Row(
        "a-tmem-major",
        _MMA,
        lambda i: i.in_tmem is not None and i.idesc is not None and i.idesc.a_major != "K",
        "expected K-major A in tensor memory, found {i.idesc.a_major}-major",
        "write A to tensor memory with K along the columns",
    ),
    _Row(
        "a-tmem-lane",
        _PATHS,
        lambda i: i.misplaced(i.in_tmem),
        "data path {i.path.letter}: expected A in the lanes of D, from lane {i.lane_choices} on, "
        "found {i.in_tmem.lane} with D at {i.d_lane}",
        "put A where D starts",
    ),
    _Row(
        "a-tmem-columns",
        _MMA,
        lambda i: i.overflow(i.in_tmem, i.a_columns),
        "expected A inside its allocation, found {reason}",
        "allocate more columns or start further left",
    ),
    _Row(
        "a-layout",
        _PATHS,
        lambda i: i.a_layout_reason,
        "{reason}",
        "give A the layout of operand_a_layout; narrow elements of mixed kinds have 8 bits each",
    ),
    _Row(
        "d-lane",
        _PATHS,
        lambda i: i.path is not None and i.d_lane is not None and i.d_lane not in i.lanes,
        "data path {i.path.letter}: expected D from lane {i.lane_choices} on, found {i.d_lane}",
        "start D at lane 0",
    ),
    _Row("d-type", _IDESC, lambda i: i.type_reason(i.mma.d, "D"), "{reason}", "name the type of D in the descriptor"),
    _Row("d-layout", _PATHS, lambda i: i.d_layout_reason, "{reason}", "give D the layout of accumulator_layout"),
    _Row(
        "d-columns",
        _MMA,
        lambda i: i.overflow(i.mma.d, i.d_columns),
        "expected D inside its allocation, found {reason}",
        "allocate more columns, start further left, or make N smaller",
    ),
    _Row(
        "metadata-lane",
        _PATHS,
        lambda i: i.misplaced(i.mma.sparse_metadata),
        "data path {i.path.letter}: expected sparsity metadata in the lanes of D, from lane {i.lane_choices} on, found "
        "{i.mma.sparse_metadata.lane} with D at {i.d_lane}",
        "put the metadata where D starts",
    ),
    _Row(
        "metadata-column",
        _SPARSE,
        lambda i: (
            i.kind.has_sparsity_selector
            and (meta := i.mma.sparse_metadata) is not None
            and meta.column is not None
            and meta.column % 2 == 1
        ),
        "expected the sparsity metadata of kind::{i.mma.kind} to start at an even column, found "
        "{i.mma.sparse_metadata.column}",
        "choose the other column of a pair with the sparsity selector of the instruction descriptor",
    ),
    _Row(
        "metadata-columns",
        _SPARSE,
        lambda i: i.overflow(i.mma.sparse_metadata, i.metadata_columns),
        "expected the sparsity metadata inside its allocation, found {reason}",
        "allocate more columns or start further left",
    ),
    _Row(
        "scale-a-lane",
        _SCALING,
        lambda i: i.off_lane_0(i.mma.scale_a),
        "expected the scale factors of A from lane 0 on, found {i.mma.scale_a.lane}",
        "all lanes hold them, four times the same",
    ),
    _Row(
        "scale-b-lane",
        _SCALING,
        lambda i: i.off_lane_0(i.mma.scale_b),
        "expected the scale factors of B from lane 0 on, found {i.mma.scale_b.lane}",
        "all lanes hold them, four times the same",
    ),
    _Row(
        "scale-a-columns",
        _SCALING,
        lambda i: i.overflow(i.mma.scale_a, i.sfa_columns),
        "expected the scale factors of A inside their allocation, found {reason}",
        "allocate more columns or start further left",
    ),
    _Row(
        "scale-b-columns",
        _SCALING,
        lambda i: i.overflow(i.mma.scale_b, i.sfb_columns),
        "expected the scale factors of B inside their allocation, found {reason}",
        "allocate more columns or start further left",
    ),
    _Row(
        "d-overlap",
        _MMA,
        lambda i: i.overlap_reason,
        "{reason}",
        "the columns are read while D is written: move one of them",
    ),
    # Modifiers
    _Row(
        "ashift-form",
        _MMA,
        lambda i: i.mma.ashift and (i.mma.ws or i.kind.block_scaled),
        "expected no .ashift on {i.variant}.kind::{i.mma.kind}, found it",
        "only tcgen05.mma and .mma.sp without scale factors have it",
    ),
    _Row(
        "ashift-a",
        _MMA,
        lambda i: i.mma.ashift and i.a_smem is not None,
        "expected A in tensor memory with .ashift, found a shared-memory descriptor",
        "copy A to tensor memory, or leave out .ashift",
    ),
    _Row(
        "ashift-m",
        _MMA,
        lambda i: i.mma.ashift and i.m is not None and i.m not in ASHIFT_M,
        "expected M = 128 or 256 with .ashift, found {i.m}",
        "use M = 128 or 256, or leave out .ashift",
    ),
    _Row(
        "ashift-collector",
        _MMA,
        lambda i: i.mma.ashift and i.mma.collector_usage not in (None, *ASHIFT_COLLECTOR_USAGES),
        "expected .collector::a::lastuse or discard with .ashift, found {i.mma.collector_usage}",
        "leave out the collector usage",
    ),
    _Row(
        "collector-usage",
        _MMA,
        lambda i: not {i.mma.collector_usage, i.mma.collector_b} <= {None, *COLLECTOR_USAGES},
        "expected a collector usage fill, use, lastuse or discard, found {i.collector_usages}",
        "leave it out for discard",
    ),
    _Row(
        "collector-buffer",
        _MMA,
        lambda i: i.mma.collector_buffer is not None and i.mma.collector_buffer not in COLLECTOR_BUFFERS[i.mma.ws],
        "expected collector buffer a, or b0 to b3 with .ws, found {i.mma.collector_buffer} on {i.variant}",
        "name a buffer of this instruction",
    ),
    _Row(
        "collector-b",
        _MMA,
        lambda i: i.mma.collector_b is not None and i.mma.ws,
        "expected collector buffers b0 to b3 on {i.variant}, found .collector::b::{i.mma.collector_b}",
        "name one of them: the buffer b is that of tcgen05.mma without .ws",
    ),
    _Row(
        "table-form",
        _MMA,
        lambda i: (
            i.mma.lut_b is not None and (i.mma.ws or i.mma.sparse or i.mma.ashift or i.mma.kind not in TABLE_KINDS)
        ),
        "expected no table of B on {i.variant}.kind::{i.mma.kind}, found one",
        "only dense products of kinds f8f6f4 and mxf8f6f4 without .ws and .ashift have it",
    ),
    _Row(
        "table-operand",
        _MMA,
        lambda i: i.mma.lut_b is not None and i.mma.b is not None and i.mma.b.container_bits is not None,
        "expected a descriptor of indices of 3 bits for B with a table, found one of a tile of {i.mma.b.dtype}",
        "compute the descriptor of rows of 48 bytes",
    ),
    _Row(
        "table-product",
        _IDESC,
        lambda i: (
            i.mma.lut_b is not None
            and i.mma.kind in TABLE_KINDS
            and i.idesc is not None
            and (i.idesc.k, i.idesc.b, i.idesc.b_major) != (TABLE_K, "e4m3", "K")
        ),
        "expected K = 64 and a K-major B of e4m3 with a table of B, found K = {i.idesc.k} and a "
        "{i.idesc.b_major}-major B of {i.idesc.b}",
        "set wide_k, and b to the type of the entries",
    ),
    _Row(
        "table-column",
        _MMA,
        lambda i: i.mma.lut_b is not None and i.mma.lut_b.column is not None and i.mma.lut_b.column % 2 == 1,
        "expected the table of B to start at an even column, found {i.mma.lut_b.column}",
        "move it by one column",
    ),
    _Row(
        "table-columns",
        _MMA,
        lambda i: i.overflow(i.mma.lut_b, TABLE_COLUMNS),
        "expected the table of B inside its allocation, found {reason}",
        "allocate more columns or start further left",
    ),
    _Row(
        "disable-output-lane-form",
        _MMA,
        lambda i: i.mma.disable_output_lane is not None and (i.mma.ws or i.kind.block_scaled),
        "expected no disable-output-lane vector on {i.variant}.kind::{i.mma.kind}, found one",
        "only tcgen05.mma and .mma.sp without scale factors have it",
    ),
    _Row(
        "disable-output-lane-size",
        _MMA,
        lambda i: (
            i.mma.disable_output_lane is not None
            and i.mma.cta_group in (1, 2)
            and i.mma.disable_output_lane != 4 * i.mma.cta_group
        ),
        "expected 4 registers of disabled lanes with cta_group 1, 8 with 2, found {i.mma.disable_output_lane}",
        "pass one bit for each lane of each CTA",
    ),
    _Row(
        "scale-input-d-kind",
        _MMA,
        lambda i: i.mma.scale_input_d is not None and (i.mma.ws or i.mma.kind not in SCALE_INPUT_D_KINDS),
        "expected no scale-input-d on {i.variant}.kind::{i.mma.kind}, found {i.mma.scale_input_d}",
        "only kinds f16 and tf32 without .ws have it",
    ),
    _Row(
        "scale-input-d-range",
        _MMA,
        lambda i: i.mma.scale_input_d is not None and not 0 <= i.mma.scale_input_d <= MAX_SCALE_INPUT_D,
        "expected scale-input-d 0 to 15, found {i.mma.scale_input_d}",
        "D is scaled by two to the minus that",
    ),
)
"""Every rule of one tcgen05.mma, in the order in which violations are reported."""
