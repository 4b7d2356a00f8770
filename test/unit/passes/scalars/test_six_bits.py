"""Bit by bit: which bits of four registers the three words of 16 elements have."""

from __future__ import annotations

import numpy as np
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.passes.ir.emitter import Emitter
from tirx.passes.scalars.six_bits import pack_words, unpack_words


def test_sixteen_elements_are_three_words():
    """Eight registers are two groups; the words of any bits give registers whose bytes have nothing else in them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (32, 8 * 4 * 6), np.uint8)
    elements = np.packbits(bits.reshape(32, -1, 6), axis=2, bitorder="little")[..., 0]
    registers = elements.view(np.uint32)
    words = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
    for function, given, expected in ((pack_words, registers, words), (unpack_words, words, registers)):
        block = Block(arg_types=[i32] * given.shape[1])
        found = function(Emitter(InsertPoint.at_end(block), UnknownLoc()), block.args)
        values: dict[SSAValue, Lanes] = {arg: given[:, i] for i, arg in enumerate(block.args)}
        evaluated(block.ops, values)
        np.testing.assert_array_equal(np.stack([values[each] for each in found], axis=1), expected)
