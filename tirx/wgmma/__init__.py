"""Facts of Hopper's warpgroup products (wgmma) as data: forms, fragments, descriptors, legality, instruction plans."""

from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.wgmma.fragments import accumulator_layout, metadata_layout, operand_a_layout

__all__ = ["WgmmaDescriptor", "accumulator_layout", "metadata_layout", "operand_a_layout"]
