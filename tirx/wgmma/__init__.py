"""Facts of Hopper's warpgroup products (wgmma) as data: forms, fragments, descriptors, legality, instruction plans."""

from tirx.smem.swizzle_modes import WGMMA_OPERANDS
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.wgmma.check import WGMMA_RULES, RegisterOperand, SmemOperand, Wgmma, check_wgmma, find_violations
from tirx.wgmma.fragments import (
    CODE_BITS,
    SPARSE_METADATA,
    SparseMetadata,
    Warpgroups,
    accumulator_layout,
    metadata_layout,
    operand_a_layout,
)
from tirx.wgmma.kinds import FORM_RULES, KINDS, MAX_PENDING, ROWS, Form, Kind, check_form, find_kind, split_n
from tirx.wgmma.match import (
    Product,
    SmemRead,
    Tile,
    WgmmaInstructions,
    WgmmaStep,
    accumulator_part,
    check_product,
    match,
    pick_warpgroups,
)

__all__ = [
    "CODE_BITS",
    "FORM_RULES",
    "KINDS",
    "MAX_PENDING",
    "ROWS",
    "SPARSE_METADATA",
    "WGMMA_OPERANDS",
    "WGMMA_RULES",
    "Form",
    "Kind",
    "Product",
    "RegisterOperand",
    "SmemOperand",
    "SmemRead",
    "SparseMetadata",
    "Tile",
    "Warpgroups",
    "Wgmma",
    "WgmmaDescriptor",
    "WgmmaInstructions",
    "WgmmaStep",
    "accumulator_layout",
    "accumulator_part",
    "check_form",
    "check_product",
    "check_wgmma",
    "find_kind",
    "find_violations",
    "match",
    "metadata_layout",
    "operand_a_layout",
    "pick_warpgroups",
    "split_n",
]
