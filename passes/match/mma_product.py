"""Products of register tiles: which variants of `mma.sync` do them, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tirx.dialects.tirx import MemorySpace, MmaSyncPlan, TileType
from tirx.hw.features import UnsupportedFeature, required_version, supports
from tirx.hw.targets import Target
from tirx.layout import LayoutError, TileLayout
from tirx.mma.fragments import VARIANTS, WIDENING, FragmentError, MmaVariant, is_preferred, variants_for
from tirx.mma.match import MmaStep, plan_mma
from tirx.mma.pick import choose_variant
from tirx.passes.match.product import Product


class UnpreparedOperandError(FragmentError):
    """An operand as it is before the pass that prepares it for `mma.sync`."""

    rule = "stage-skipped"


def product_variants(product: Product, target: Target | None) -> tuple[MmaVariant, ...]:
    """Returns the variants of `mma.sync` for the types of a product, the preferred first: those that the target has,
    those that it emulates last. Without a target, or where it has none, all of them. An `instruction` clause leaves its
    shape only, a written plan its variants.

    Raises FragmentError when there is none.
    """
    types = product.a.dtype.name, product.accumulator.dtype.name
    if product.scale_a is not None:
        assert product.scale_b is not None
        scales = product.scale_a.dtype.name, product.scale_b.dtype.name
        if scales[0] != scales[1]:
            raise FragmentError(f"expected scale factors of one type, found {scales[0]} and {scales[1]}")
        block = product.k // product.scale_a.dims[-1]
        variants = variants_for(*types, product.b.dtype.name, (scales[0], block))
    elif product.a.dtype != product.b.dtype:
        raise FragmentError(f"expected A and B of one type, found {types[0]} and {product.b.dtype.name}")
    else:
        variants = variants_for(*types, sparse=product.is_sparse)
        _check_metadata(product, variants)
    if product.instruction is not None:
        shapes = dict.fromkeys(v.instruction for v in variants)
        variants = tuple(v for v in variants if v.instruction == product.instruction)
        if not variants:
            raise FragmentError(
                f"expected {' or '.join(shapes)} for {types[0]} x {types[0]} + {types[1]}, found instruction "
                f'"{product.instruction}"'
            )
    if product.start is not None:
        variants = tuple(v for v in variants if v.name in WIDENING)
    if isinstance(product.plan, MmaSyncPlan):
        names = ", ".join(v.name for v in variants)
        variants = tuple(v for v in variants if v.name in product.plan.variants)
        if len(variants) < len(product.plan.variants):
            raise FragmentError(f"expected a plan of {names}, found one of {', '.join(product.plan.variants)}")
    if target is None:
        return variants
    available = [v for v in variants if supports(target, v.feature)]
    return tuple(sorted(available, key=lambda v: is_emulated(v, target))) or variants


def _check_metadata(product: Product, variants: Sequence[MmaVariant]) -> None:
    if product.metadata is not None and (codes := variants[0].codes) is not None:
        dims = product.a.dims[-2], product.k // codes.chunk
        if product.metadata.dims != dims or product.metadata.dtype.name != codes.fragment.dtype:
            raise FragmentError(
                f"expected metadata of {dims[0]}x{dims[1]} i4, a code for every {codes.chunk} elements along K of a "
                f"matrix A, found {product.metadata}"
            )


def fastest_variants(product: Product) -> tuple[MmaVariant, ...]:
    """`product_variants` of the product's target, those in front that it multiplies fastest (`PREFERENCES`)."""
    target = product.target
    variants = product_variants(product, target)
    return variants if target is None else tuple(sorted(variants, key=lambda v: not is_preferred(v, target)))


def why_widened(product: Product) -> str | None:
    """Why a product of floats of 8 bits is one of f16: which instruction the target lacks. None where it stays."""
    written = product.instruction is not None or product.plan is not None
    written |= any(tile.memory is MemorySpace.REGISTER and tile.layout is not None for tile in (product.a, product.b))
    if product.target is None or product.a.dtype.name not in WIDENED or written:
        return None
    if product.scale_a is not None or product.is_sparse or product.a.dtype != product.b.dtype:
        return None
    try:
        required_version(product_variants(product, product.target)[0].feature, product.target)
    except UnsupportedFeature as e:
        return str(e)
    except FragmentError:
        pass  # `match` says which types there are
    return None


WIDENED = ("e4m3", "e5m2")
"""Elements that f16 has all numbers of."""


def is_emulated(variant: MmaVariant, target: Target) -> bool:
    """Returns True if the target does the instruction without tensor cores."""
    return variant.emulation is not None and supports(target, variant.emulation)


@lru_cache(maxsize=256)
def match(product: Product) -> MmaSyncPlan:
    """Chooses variants of `mma.sync` for a product of register tiles: those that the target has, where fragments of any
    fit.

    Raises FragmentError or LayoutError when the fragments do not fit, UnsupportedFeature when they are those of other
    targets.
    """
    available, known = product_variants(product, product.target), product_variants(product, None)
    try:
        steps = mma_steps(product, available)
    except FragmentError:
        # Fragments of an instruction of other targets: that it does not exist here is the thing to say.
        if len(available) == len(known):
            raise
        steps = mma_steps(product, known)
    start_slots(product, steps)
    used = {step.variant for step in steps}
    if product.target is not None:
        for variant in used:
            required_version(variant.feature, product.target)
    return MmaSyncPlan(tuple(v.name for v in dict.fromkeys((*available, *known)) if v in used))


def planned_steps(product: Product, plan: MmaSyncPlan) -> tuple[MmaStep, ...]:
    """The instructions of a product with this plan, in order."""
    return mma_steps(product, [VARIANTS[name] for name in plan.variants])


def start_slots(product: Product, steps: Sequence[MmaStep]) -> tuple[int | None, ...]:
    """For each instruction the first slot of its C in the f16 tile that a product starts from; None where C is a sum.

    Without such a tile all are sums. Raises FragmentError if the tile does not have the fragments of C in f16.
    """
    if product.start is None:
        return (None,) * len(steps)
    half = replace(product, accumulator=product.start, start=None)
    found = mma_steps(half, tuple(dict.fromkeys(WIDENING[step.variant.name] for step in steps)))
    slots = {(step.a_reg, step.b_reg): step.c_reg for step in found}
    missing = [step for step in steps if (step.a_reg, step.b_reg) not in slots]
    if missing:
        raise FragmentError(
            f"expected the fragments of one product in the accumulator of f16 and the result of f32, found no "
            f"{WIDENING[missing[0].variant.name].name} of A from slot {missing[0].a_reg} and B from slot "
            f"{missing[0].b_reg} on"
        )
    first: dict[int, int] = {}
    for index, step in enumerate(steps):
        first.setdefault(step.c_reg, index)
    return tuple(
        slots[step.a_reg, step.b_reg] if first[step.c_reg] == index else None for index, step in enumerate(steps)
    )


def has_widening_form(product: Product) -> bool:
    """True for a product by mma.sync of an f16 accumulator with an f32 result that an instruction does as it is.

    Its tiles all have layouts, or none has. `tirx-mem2reg` converts the accumulators of others.
    """
    tiles = product.a, product.b, product.accumulator, product.start
    placed = [tile is not None and tile.layout is not None for tile in tiles]
    *_, m, n = product.accumulator.dims
    try:
        if all(placed):
            match(product)
        elif any(placed):
            return False
        else:
            wide = replace(product, start=None)
            return choose_variant(m, n, product.k, fastest_variants(wide)).name in WIDENING
    except (FragmentError, LayoutError, UnsupportedFeature):
        return False
    return True


_plan_mma = lru_cache(maxsize=256)(plan_mma)


def mma_steps(product: Product, variants: Sequence[MmaVariant]) -> tuple[MmaStep, ...]:
    """The instructions of a product by these variants, the preferred first. Raises FragmentError for none that fit."""
    a, b, acc = product.a, product.b, product.accumulator
    scales = None
    if product.scale_a is not None and product.scale_b is not None:
        pairs = ("SFA", product.scale_a), ("SFB", product.scale_b)
        of_a, of_b = ((_layout(name, tile), tile.dims) for name, tile in pairs)
        scales = of_a, of_b
    codes = product.metadata
    return _plan_mma(
        _layout("A", a),
        _layout("B", b),
        _layout("the accumulator", acc),
        a.dims,
        b.dims,
        acc.dims,
        (a.dtype.name, b.dtype.name),
        acc.dtype.name,
        product.threads,
        tuple(variants),
        scales,
        None if codes is None else (_layout("the metadata", codes), codes.dims),
    )


def _layout(name: str, type_: TileType) -> TileLayout:
    if type_.memory is not MemorySpace.REGISTER:
        raise UnpreparedOperandError(
            f"expected {name} in registers for mma.sync, found it in {type_.memory.place}; tirx-load-operands loads it "
            "(wgmma on sm_90a reads it there)"
        )
    if not isinstance(type_.layout, TileLayout):
        raise UnpreparedOperandError(f"expected a tile layout on {name}; tirx-pick-layouts chooses one")
    return type_.layout
