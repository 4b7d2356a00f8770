"""Requirements of a kernel on its launch beyond the types of its arguments, and its variants, as attributes of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from tirx.dialects.formula import Formula, Requirement
from tirx.dialects.formula_attr import FormulaAttr
from tirx.rules import LaunchParameterError
from tirx.values import dataclass

REQUIRES = "tirx.requires"
"""The attribute: a list of `[value, test, bound, message]`, value and bound formulas. Entries keep it."""

VARIANTS = "tirx.variants"
"""The attribute: a list of `[entry, cost, requirement, ...]`, where the cost is a formula, 0 if there is none. Of the
entries whose requirements a launch passes the first one with the least cost runs."""


def add_requirement(op: Operation, requirement: Requirement) -> None:
    """Adds a requirement to a kernel that does not have it yet."""
    found, added = op.attributes.get(REQUIRES), _attribute(requirement)
    if not isinstance(found, ArrayAttr):
        requirements(op)  # which says what is wrong
    listed = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
    if added not in listed:
        op.attributes[REQUIRES] = ArrayAttr([*listed, added])


def requirements(op: Operation) -> tuple[Requirement, ...]:
    """The requirements of a kernel or an entry. Raises LocatedError for an attribute of another form."""
    attribute = op.attributes.get(REQUIRES)
    if attribute is None:
        return ()
    if not isinstance(attribute, ArrayAttr):
        raise LaunchParameterError(
            op, f"expected {REQUIRES} as a list of [value, test, bound, message], found {attribute}"
        )
    return tuple(_requirement(op, each, REQUIRES) for each in cast("ArrayAttr[Any]", attribute))


@dataclass(frozen=True)
class Variant:
    """Another kernel of the module, which does the same, for launches that pass all of `conditions`."""

    entry: str
    conditions: tuple[Requirement, ...]
    cost: Formula = 0


def set_variants(op: Operation, found: Sequence[Variant]) -> None:
    """Lets a kernel have variants, of which a launch takes the one with the least cost."""
    op.attributes[VARIANTS] = ArrayAttr(
        [
            ArrayAttr([StringAttr(each.entry), FormulaAttr(each.cost), *map(_attribute, each.conditions)])
            for each in found
        ]
    )


def variants(op: Operation) -> tuple[Variant, ...]:
    """The variants of a kernel or an entry. Raises LocatedError for an attribute of another form."""
    found: list[Variant] = []
    match op.attributes.get(VARIANTS, ArrayAttr[Attribute]([])):
        case ArrayAttr(data=listed):
            pass
        case attribute:
            listed = (attribute,)
    for attribute in listed:
        match attribute:
            case ArrayAttr(data=(StringAttr(data=entry), *conditions)):
                costs = [each.data for each in conditions[:1] if isinstance(each, FormulaAttr)]
                asked = tuple(_requirement(op, each, VARIANTS) for each in conditions[len(costs) :])
                found.append(Variant(entry, asked, *costs))
            case _:
                raise LaunchParameterError(op, f"expected [entry, requirement, ...] in {VARIANTS}, found {attribute}")
    return tuple(found)


@lru_cache(maxsize=1024)
def _attribute(requirement: Requirement) -> Attribute:
    return ArrayAttr(
        [
            FormulaAttr(requirement.value),
            StringAttr(requirement.test),
            FormulaAttr(requirement.bound),
            StringAttr(requirement.message),
        ]
    )


def _requirement(op: Operation, attribute: Any, where: str) -> Requirement:
    match attribute:
        case ArrayAttr(
            data=(
                FormulaAttr(data=value),
                StringAttr(data=test),
                FormulaAttr(data=bound),
                StringAttr(data=message),
            )
        ):
            return Requirement(value, test, bound, message)
        case _:
            raise LaunchParameterError(op, f"expected [value, test, bound, message] in {where}, found {attribute}")
