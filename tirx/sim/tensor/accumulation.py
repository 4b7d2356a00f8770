"""Products of tcgen05.mma to one accumulator, which are computed together when somebody reads tensor memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.numerics.chains import Chain
from tirx.sim.numerics.rounding import canonical
from tirx.sim.numerics.tensor_cores import find_rule
from tirx.sim.tensor.instruction_descriptor import InstructionDescriptor
from tirx.sim.tensor.memory import TensorMemory

_CHAINED = ("f32", "f16")  # types of D; integers wrap after each product


class Accumulation:
    """Products that wait: D are the cells `area` of one or two memories, which hold the rows of D one after another."""

    def __init__(self, key: tuple[object, ...], memories: Sequence[TensorMemory], accumulates: bool, chain: Chain):
        self.key = key
        self.chain = chain
        self._memories = memories
        self._area: tuple[slice, slice] = key[0]  # type: ignore[assignment]
        self._accumulates = accumulates

    def finish(self) -> None:
        """Computes and writes D."""
        for each in self._memories:
            each.deferred = None
        cells = [each.values[self._area] for each in self._memories]
        result = self.chain.key[2]
        if self._accumulates:
            c = words_to_numbers(cells[0] if len(cells) == 1 else np.concatenate(cells), result)
        else:
            c = np.zeros((sum(len(each) for each in cells), cells[0].shape[1]), np.float32)
        words = numbers_to_words(self.chain.plus(c), result)
        for each, own in zip(cells, np.split(words, len(cells)), strict=True):
            each[...] = own


def accumulate(
    memories: Sequence[TensorMemory],
    area: tuple[slice, slice],
    fields: InstructionDescriptor,
    target: str,
    a: Array,
    b: Array,
    accumulates: bool,
) -> bool:
    """Adds a product to those that wait, or lets it be the first. Returns False if it has to be computed at once."""
    rule = find_rule("tcgen05", target, fields.a)
    if rule is None or fields.d not in _CHAINED:
        return False
    key = (area, rule, fields.a, fields.b, fields.d, len(memories))
    waiting = memories[0].deferred
    if not (
        accumulates
        and isinstance(waiting, Accumulation)
        and waiting.key == key
        and all(each.deferred is waiting for each in memories)
        and not waiting.chain.is_full
    ):
        for each in memories:
            each.finish_deferred()
        waiting = Accumulation(key, memories, accumulates, Chain(rule, (fields.a, fields.b), fields.d))
        for each in memories:
            each.deferred = waiting
    waiting.chain.add(a, b)
    return True


def words_to_numbers(cells: Array, result: str) -> Array:
    """The numbers of f32 or f16 in cells of tensor memory (uint32, contiguous)."""
    if result == "f32":
        return np.ascontiguousarray(cells).view(np.float32)
    return (cells & 0xFFFF).astype(np.uint16).view(np.float16)


def numbers_to_words(total: Array, result: str) -> Array:
    """The inverse; every NaN has the bits that the hardware gives it."""
    if result == "f32":
        return canonical(total.astype(np.float32, copy=False)).view(np.uint32)
    return canonical(total.astype(np.float16)).view(np.uint16).astype(np.uint32)
