"""The families of tensor-core instructions, each behind one function from a product to its plan."""

from __future__ import annotations

from collections.abc import Callable

from tirx.dialects.tirx import AsyncMmaOp, MemorySpace, MmaOp, PlanAttr, ProductPlan
from tirx.passes.match import mma_product, tcgen05_product, wgmma_product
from tirx.passes.match.product import Product, legal
from tirx.rules import WrittenChoiceError
from tirx.values import dataclass


@dataclass(frozen=True)
class Family:
    """A family of instructions. `multiplies`: whether it is the one for a product, by memories, types and target;
    `match`: the plan of a product whose tiles have layouts, or one of `ILLEGAL`, saying what is legal.
    """

    multiplies: Callable[[Product], bool]
    match: Callable[[Product], ProductPlan]


TCGEN05 = Family(lambda product: product.accumulator.memory is MemorySpace.TENSOR, tcgen05_product.match)
WGMMA = Family(wgmma_product.is_done_by_wgmma, wgmma_product.match)
MMA_SYNC = Family(lambda _: True, mma_product.match)

FAMILIES: tuple[Family, ...] = (TCGEN05, WGMMA, MMA_SYNC)
"""The families in the order in which they are asked."""


def family_of(product: Product) -> Family:
    """The first family that is the one for a product, whether its tiles have layouts or not."""
    return next(family for family in FAMILIES if family.multiplies(product))


def match(mma: MmaOp | AsyncMmaOp, product: Product) -> ProductPlan:
    """Chooses the instructions for the `product` of an operation, whose tiles all have layouts.

    Raises LocatedError, saying what is legal, when the hardware does not do this product, and for a written plan that
    is not one of those that it can do it by.
    """
    with legal(mma):
        plan = family_of(product).match(product)
    if product.plan is not None and product.plan != plan:
        raise WrittenChoiceError(
            mma, f"expected the plan {PlanAttr(plan).body()}, found {PlanAttr(product.plan).body()}"
        )
    return plan
