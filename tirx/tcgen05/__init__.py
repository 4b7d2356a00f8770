"""Facts of the fifth-generation tensor cores (tcgen05) as data: layouts, descriptors, masks, shapes, tensor memory."""

from tirx.hw.dtypes import DTYPES, DType, find_dtype
from tirx.hw.errors import LegalityError
from tirx.smem.atoms import atom_shape, smem_atom, smem_layout
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.canonical_form import CanonicalLayout, CanonicalLayoutError, OperandSlice
from tirx.smem.packing import SmemPacking
from tirx.smem.pick import pick_operand_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import SWIZZLE_MODES, SwizzleMode, legal_modes
from tirx.smem.walk import read_addresses
from tirx.tcgen05.block_scale import SCALE_VECTORS, ScaleVector, find_scale_vector
from tirx.tcgen05.check import Finding, Mma, SmemOperand, TmemOperand, check_mma, find_violations
from tirx.tcgen05.convolution import convolution_mask
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor, smallest_max_shift
from tirx.tcgen05.kinds import KINDS, Kind, find_kind
from tirx.tcgen05.packing import smem_packing
from tirx.tcgen05.scale_factors import (
    SCALE_FACTOR_IDS,
    SCALE_FACTOR_PATHS,
    ScaleFactorPath,
    ScaleFactorRead,
    scale_factor_a_layout,
    scale_factor_atom,
    scale_factor_b_layout,
    scale_factor_reads,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)
from tirx.tcgen05.shapes import check_shape, check_transposed_b, portable, shape_row
from tirx.tcgen05.sparse_metadata import SPARSE_METADATA, SparseMetadata, sparse_metadata_layout
from tirx.tcgen05.tmem import (
    DATA_PATHS,
    DataPath,
    accumulator_layout,
    allocation_columns,
    data_path,
    data_path_layout,
    operand_a_layout,
    tmem_columns,
)
from tirx.tcgen05.tmem_access import (
    LD_SHAPES,
    LdShape,
    TmemAccess,
    TmemAccessPlan,
    ld_fragment,
    pick_ld_shape,
    plan_tmem_access,
    register_fragment,
    warpgroup_local,
)
from tirx.tcgen05.zero_column_mask import ZeroColumnMask

__all__ = [
    "SCALE_VECTORS",
    "ScaleVector",
    "find_scale_vector",
    "Finding",
    "Mma",
    "SmemOperand",
    "TmemOperand",
    "check_mma",
    "find_violations",
    "smallest_max_shift",
    "SPARSE_METADATA",
    "SparseMetadata",
    "sparse_metadata_layout",
    "data_path_layout",
    "ld_fragment",
    "operand_a_layout",
    "warpgroup_local",
    "atom_shape",
    "smem_atom",
    "smem_layout",
    "smem_packing",
    "SCALE_FACTOR_IDS",
    "SCALE_FACTOR_PATHS",
    "ScaleFactorPath",
    "ScaleFactorRead",
    "scale_factor_a_layout",
    "scale_factor_atom",
    "scale_factor_b_layout",
    "scale_factor_reads",
    "scale_factor_smem_layout",
    "scale_factor_tmem_layout",
    "DATA_PATHS",
    "DTYPES",
    "KINDS",
    "LD_SHAPES",
    "SWIZZLE_MODES",
    "CanonicalLayout",
    "CanonicalLayoutError",
    "DType",
    "DataPath",
    "InstructionDescriptor",
    "Kind",
    "LdShape",
    "LegalityError",
    "OperandSlice",
    "SmemDescriptor",
    "SmemPacking",
    "SwizzleMode",
    "TmemAccess",
    "TmemAccessPlan",
    "ZeroColumnMask",
    "accumulator_layout",
    "allocation_columns",
    "canonical_layout",
    "check_shape",
    "check_transposed_b",
    "convolution_mask",
    "data_path",
    "find_dtype",
    "find_kind",
    "legal_modes",
    "operand_slices",
    "pick_ld_shape",
    "pick_operand_layout",
    "plan_tmem_access",
    "portable",
    "read_addresses",
    "register_fragment",
    "shape_row",
    "tmem_columns",
]
