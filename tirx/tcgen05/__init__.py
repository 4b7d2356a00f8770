"""Facts of the fifth-generation tensor cores (tcgen05) as data: layouts, descriptors, masks, shapes, tensor memory."""

from tirx.hw.errors import LegalityError
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical import canonical_layout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.convolution import convolution_mask
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.scale_factors import scale_factor_a_layout
from tirx.tcgen05.tmem import accumulator_layout, operand_a_layout
from tirx.tcgen05.tmem_access import ld_fragment
from tirx.tcgen05.zero_column_mask import ZeroColumnMask

__all__ = [
    "InstructionDescriptor",
    "LegalityError",
    "SmemDescriptor",
    "ZeroColumnMask",
    "accumulator_layout",
    "canonical_layout",
    "convolution_mask",
    "ld_fragment",
    "operand_a_layout",
    "scale_factor_a_layout",
    "smem_layout",
]
