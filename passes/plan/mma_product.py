"""How one `tirx.mma` on registers becomes `mma.sync` instructions: shared by the check and the lowering."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import MmaOp, TileType
from tirx.hw.features import FEATURES
from tirx.hw.targets import Target
from tirx.layout import LayoutError, TileLayout
from tirx.mma import FragmentError, MmaStep, MmaVariant, plan_mma, variants_for


def _layout(mma: MmaOp, name: str, type_: TileType) -> TileLayout:
    if not isinstance(type_.placement, TileLayout):
        raise LocatedError(mma, f"expected a tile layout on {name}; tirx-pick-layouts chooses one")
    return type_.placement


def product_variants(mma: MmaOp, target: Target | None) -> tuple[MmaVariant, ...]:
    """
    The variants of `mma.sync` for the types of `mma`, the preferred first: those that the target has, those that it
    emulates last. Without a target, or where it has none, all of them. An `instruction` clause leaves its shape only.

    Raises FragmentError when there is none.
    """
    types = mma.a_type.dtype.name, mma.accumulator_type.dtype.name
    if mma.a_type.dtype != mma.b_type.dtype:
        raise FragmentError(f"expected A and B of one type, found {types[0]} and {mma.b_type.dtype.name}")
    variants = variants_for(*types)
    if mma.instruction is not None:
        shapes = dict.fromkeys(v.instruction for v in variants)
        variants = tuple(v for v in variants if v.instruction == mma.instruction.data)
        if not variants:
            raise FragmentError(
                f"expected {' or '.join(shapes)} for {types[0]} x {types[0]} + {types[1]}, found instruction "
                f'"{mma.instruction.data}"'
            )
    if target is None:
        return variants
    available = [v for v in variants if FEATURES[v.feature].version(target) is not None]
    return tuple(sorted(available, key=lambda v: is_emulated(v, target))) or variants


def is_emulated(variant: MmaVariant, target: Target) -> bool:
    """Whether the target does the instruction without tensor cores."""
    return variant.emulated_since is not None and target.cc >= variant.emulated_since


def plan_register_product(mma: MmaOp, threads: int, target: Target | None) -> tuple[MmaStep, ...]:
    """
    The instructions for `mma` over `threads` threads, in order: those that the target has, where fragments of any fit.

    LocatedError when the fragments do not fit.
    """
    a, b, acc = mma.a_type, mma.b_type, mma.accumulator_type
    a_layout, b_layout = _layout(mma, "A", a), _layout(mma, "B", b)
    acc_layout = _layout(mma, "the accumulator", acc)

    def plan(variants: Sequence[MmaVariant]) -> tuple[MmaStep, ...]:
        return plan_mma(
            a_layout,
            b_layout,
            acc_layout,
            a.dims,
            b.dims,
            acc.dims,
            (a.dtype.name, b.dtype.name),
            acc.dtype.name,
            threads,
            variants,
        )

    try:
        available, known = product_variants(mma, target), product_variants(mma, None)
        try:
            return plan(available)
        except FragmentError:
            # Fragments of an instruction of other targets: that it does not exist here is the thing to say.
            if len(available) < len(known):
                return plan(known)
            raise
    except (FragmentError, LayoutError) as e:
        raise LocatedError(mma, str(e)) from e
