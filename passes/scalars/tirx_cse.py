"""`tirx-cse`: what is computed twice is computed once, and what nothing uses is not computed at all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove, IsTerminator, MemoryEffect, MemoryReadEffect, NoMemoryEffect

from tirx.dialects.nesting import operations
from tirx.dialects.ptx.core import entries
from tirx.dialects.tirx import kernels
from tirx.dialects.xdsl_private import blocks, operands_of
from tirx.passes.ir.emitter import erase, replace_uses


class TirxCsePass(ModulePass):
    """Common subexpression and dead code elimination in one pass over operations whose traits say that they do nothing
    but compute (NoMemoryEffect) or read memory (MemoryReadEffect).

    xDSL's `cse` and `dce` do the same, in five times the time: they ask what an operation does, and hash it, again at
    every step. Operations with regions stay, and so does what regions of several blocks compute twice.
    """

    name = "tirx-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in (*kernels(op), *entries(op)):
            _merge_equal(kernel.body, {}, _Numbers())
            _remove_unused(kernel.body)


@cache
def _reads(op: type[Operation]) -> bool | None:
    """Returns True for operations that read memory and do nothing else, False if not even that, None for others."""
    effects = {type(trait) for trait in op.traits if isinstance(trait, MemoryEffect)}
    if not effects or any(not issubclass(effect, NoMemoryEffect | MemoryReadEffect) for effect in effects):
        return None
    if any(isinstance(trait, IsTerminator) for trait in op.traits):
        return None
    return not all(issubclass(effect, NoMemoryEffect) for effect in effects)


class _Numbers(dict[int, int]):
    """Identity of an attribute -> the same number, from 1 on, for equal ones. They are hashed in Python, all that they
    consist of: once each.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_equal: dict[Attribute, int] = {}
        self._kept: list[Attribute] = []
        """Those that have a number: their identities are nobody else's."""

    def add(self, attribute: Attribute) -> int:
        """Returns the number of an attribute that has none yet."""
        self._kept.append(attribute)
        number = self[id(attribute)] = self._of_equal.setdefault(attribute, len(self._of_equal) + 1)
        return number

    def of_all(self, named: Mapping[str, Attribute]) -> Hashable:
        return frozenset([(name, self.get(id(each)) or self.add(each)) for name, each in named.items()])


def _merge_equal(region: Region, known: dict[Hashable, Operation], numbers: _Numbers) -> list[Hashable]:
    """Replaces operations by equal ones of `known`, which lie around and before them, and adds the others to it.

    Returns their keys there.
    """
    added: list[Hashable] = []
    if region.first_block is None or region.first_block is not region.last_block:
        return added
    written = object()  # stands for the contents of memory
    for op in operations(region.first_block):
        if op.regions:
            isolated = op.has_trait(IsolatedFromAbove)
            for inner in op.regions:
                for key in _merge_equal(inner, {} if isolated else known, numbers):
                    if not isolated:
                        del known[key]
        if op.regions or (reads := _reads(type(op))) is None:
            written = object()
            continue
        parts: list[Hashable] = [type(op), operands_of(op)]
        for result in op.results:
            type_ = result.type
            parts.append(numbers.get(id(type_)) or numbers.add(type_))
        if len(op.properties) == 1:
            for name, each in op.properties.items():
                parts += name, numbers.get(id(each)) or numbers.add(each)
        elif op.properties:
            parts.append(numbers.of_all(op.properties))
        if op.attributes or reads:
            parts += None, numbers.of_all(op.attributes), written if reads else None
        key = tuple(parts)
        earlier = known.setdefault(key, op)
        if earlier is op:
            added.append(key)
            continue
        for result, other in zip(op.results, earlier.results, strict=True):
            replace_uses(result, other)
        erase(op)
    return added


def _remove_unused(region: Region) -> None:
    """Removes operations without effects whose results are not used, users before what they use."""
    for block in reversed(blocks(region)):
        for op in reversed(operations(block)):
            if op.regions:
                for inner in op.regions:
                    _remove_unused(inner)
                continue
            for result in op.results:
                if result.first_use is not None:
                    break
            else:
                if _reads(type(op)) is not None:
                    erase(op)
