"""`mma.sync` on register tiles: fragments as layouts, planning of instructions, choice of layouts."""

from tirx.mma.fragments import VARIANTS, Fragment, FragmentError, MmaVariant, variants_for
from tirx.mma.match import MmaStep, plan_mma
from tirx.mma.pick import PickedFragments, choose_variant, pick_fragments

__all__ = [
    "VARIANTS",
    "Fragment",
    "FragmentError",
    "MmaStep",
    "MmaVariant",
    "PickedFragments",
    "choose_variant",
    "pick_fragments",
    "plan_mma",
    "variants_for",
]
