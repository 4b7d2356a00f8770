"""The families of tensor-core instructions, each behind one function from a product to its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import MemorySpace, MmaOp, PlanAttr, ProductPlan
from tirx.passes.plan import mma_product, tcgen05_product
from tirx.passes.plan.product import ILLEGAL, Product

FAMILIES: Mapping[MemorySpace, Callable[[Product], ProductPlan]] = MappingProxyType(
    {MemorySpace.TENSOR: tcgen05_product.match, MemorySpace.REGISTER: mma_product.match}
)
"""Memory space of the accumulator -> the family that multiplies there. Each raises one of `ILLEGAL` for a product that
its instructions do not do."""


def match(mma: MmaOp) -> ProductPlan:
    """
    Chooses the instructions for a product whose tiles all have layouts.

    Raises LocatedError, saying what is legal, when the hardware does not do this product, and for a written plan that
    is not one of those that it can do it by.
    """
    product = Product.of(mma)
    try:
        plan = FAMILIES[product.accumulator.memory](product)
    except ILLEGAL as e:
        raise LocatedError(mma, str(e)) from e
    if product.plan is not None and product.plan != plan:
        raise LocatedError(mma, f"expected the plan {PlanAttr(plan).body()}, found {PlanAttr(product.plan).body()}")
    return plan
