"""Register tiles of 6-bit elements: a byte each in registers, packed words in memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tirx.passes.ir.emitter import Emitter

ELEMENTS = 4
"""Registers of four elements each that 16 neighbours take, which are three words."""

WORDS = 3


def pack_words(emit: Emitter, registers: Sequence[SSAValue]) -> list[SSAValue]:
    """The words of registers with four elements each in the low 6 bits of their bytes, the high ones 0."""
    words: list[SSAValue] = []
    for at in range(0, len(registers), ELEMENTS):
        a, b, c, d = (_packed(emit, register) for register in registers[at : at + ELEMENTS])
        words += [
            _or(emit, a, _left(emit, b, 24)),
            _or(emit, _right(emit, b, 8), _left(emit, c, 16)),
            _or(emit, _right(emit, c, 16), _left(emit, d, 8)),
        ]
    return words


def unpack_words(emit: Emitter, words: Sequence[SSAValue]) -> list[SSAValue]:
    """The registers whose `pack_words` these are."""
    registers: list[SSAValue] = []
    for at in range(0, len(words), WORDS):
        a, b, c = words[at : at + WORDS]
        packed = (
            a,
            _or(emit, _right(emit, a, 24), _left(emit, b, 8)),
            _or(emit, _right(emit, b, 16), _left(emit, c, 16)),
            _right(emit, c, 8),
        )
        registers += [_unpacked(emit, each) for each in packed]
    return registers


def _packed(emit: Emitter, register: SSAValue) -> SSAValue:
    """Four elements in the low 24 bits."""
    pairs = _or(emit, emit.bit_and(register, 0x003F003F), _right(emit, emit.bit_and(register, 0x3F003F00), 2))
    return _or(emit, emit.bit_and(pairs, 0xFFF), _right(emit, emit.bit_and(pairs, 0xFFF0000), 4))


def _unpacked(emit: Emitter, word: SSAValue) -> SSAValue:
    """The elements of the low 24 bits, a byte each."""
    pairs = _or(emit, emit.bit_and(word, 0xFFF), _left(emit, emit.bit_and(word, 0xFFF000), 4))
    return _or(emit, emit.bit_and(pairs, 0x003F003F), _left(emit, emit.bit_and(pairs, 0x0FC00FC0), 2))


def _or(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit(arith.OrIOp(a, b)).result


def _left(emit: Emitter, value: SSAValue, bits: int) -> SSAValue:
    return emit(arith.ShLIOp(value, emit.constant(bits, i32))).result


def _right(emit: Emitter, value: SSAValue, bits: int) -> SSAValue:
    return emit(arith.ShRUIOp(value, emit.constant(bits, i32))).result
