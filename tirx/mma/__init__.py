"""`mma.sync` on register tiles: fragments as layouts, planning of instructions, choice of layouts."""

from tirx.mma.fragments import VARIANTS, WIDENING, Fragment, FragmentError, MmaVariant, is_preferred, variants_for
from tirx.mma.match import MmaStep, plan_mma
from tirx.mma.pick import (
    ROW_ORDERS,
    PickedFragments,
    RowOrder,
    choose_variant,
    pick_fragments,
    pick_metadata,
    pick_scales,
)

__all__ = [
    "ROW_ORDERS",
    "VARIANTS",
    "WIDENING",
    "Fragment",
    "FragmentError",
    "MmaStep",
    "MmaVariant",
    "PickedFragments",
    "RowOrder",
    "choose_variant",
    "is_preferred",
    "pick_fragments",
    "pick_metadata",
    "pick_scales",
    "plan_mma",
    "variants_for",
]
