"""`mma.sync` on register tiles: fragments as layouts, planning of instructions, choice of layouts."""

from tirx.mma.fragments import VARIANTS, Fragment, FragmentError, MmaVariant

__all__ = ["VARIANTS", "Fragment", "FragmentError", "MmaVariant"]
