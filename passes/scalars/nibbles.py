"""Integers of 4 bits in maps: eight of them in a register, and as floats two at a time."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, bf16, f16, i16
from xdsl.ir import Attribute, SSAValue

from tirx.dialects.ptx.arith import LogicAndXorOp, PrmtOp
from tirx.dialects.ptx.packed import PairFormat, PairOp, PairOperation
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout.arrays import np
from tirx.passes.ir.emitter import Emitter, bit_pattern, constant_value
from tirx.values import dataclass

NIBBLE_BITS = 4
NIBBLE = IntegerType(NIBBLE_BITS)


@dataclass(frozen=True)
class _Magic:
    """
    A float format whose numbers from `2^digits` on have integers in their low bits.

    `shift`: the bits by which the second element of a byte may lie further left among them, where those of `2^(digits -
    shift)` have integers; `needs`: rows of `FEATURES`.
    """

    format: PairFormat
    digits: int
    shift: int
    needs: tuple[str, ...] = ()

    def bits(self, number: float) -> int:
        """Returns the bits of a number that the format has."""
        if self.format is PairFormat.F16X2:
            return int(np.float16(number).view(np.uint16))
        return int(np.float32(number).view(np.uint32)) >> 16


_MAGIC: Mapping[Attribute, _Magic] = {
    f16: _Magic(PairFormat.F16X2, 10, 4),
    bf16: _Magic(PairFormat.BF16X2, 7, 0, ("bf16.fma",)),
}


def nibble(emit: Emitter, register: SSAValue, at: int) -> SSAValue:
    """Returns element `at` of a register (i32) of eight, as an i4."""
    return emit(arith.TruncIOp(emit.div(register, 1 << 4 * at), NIBBLE)).result


def has_pairs(target: Target, type_: Attribute) -> bool:
    """Returns True if `pair_of_floats` makes elements of a type."""
    return type_ in _MAGIC and supports(target, *_MAGIC[type_].needs)


def _origin(register: SSAValue, byte: int) -> tuple[SSAValue, int]:
    """Returns the register and its byte that a byte of another one is, as far as selectors are constants."""
    while isinstance(made := register.owner, PrmtOp) and (digits := constant_value(made.operands[2])) is not None:
        digit = digits >> 4 * byte & 7
        register, byte = made.operands[digit // 4], digit % 4
    return register, byte


def _two_bytes(emit: Emitter, low: tuple[SSAValue, int], high: tuple[SSAValue, int]) -> SSAValue:
    """Returns a register (i32) with one byte in its low half and another one in its high half, twice each."""
    (first, byte), (second, other) = _origin(*low), _origin(*high)
    if first is second and (byte, other) == (0, 2):
        return first  # the bytes beside them do not count
    if (first, byte) == (second, other) and isinstance(made := first.owner, PrmtOp):
        digit = emit.mod(emit.div(made.operands[2], 1 << 4 * byte), 16)  # of a selector that threads compute
        return emit(PrmtOp(made.operands[0], made.operands[1], emit.mul(digit, 0x1111))).result
    other += 0 if first is second else 4  # bytes 0 to 3 are those of the first register, 4 to 7 of the second
    selector = emit(arith.ConstantOp(bit_pattern(byte * 0x11 | other * 0x1100, 32))).result
    return emit(PrmtOp(first, second, selector)).result


def pair_of_floats(
    emit: Emitter, low: tuple[SSAValue, int], high: tuple[SSAValue, int], type_: Attribute, *, signed: bool
) -> SSAValue:
    """Returns two elements, each a register (i32) and a place there, as a pair of f16 or bf16, which have all of them.

    Bytes that have them, one in each half, get the exponents behind which integers are digits; what these add is taken
    off: three instructions, and in bf16 a shift of registers. Halves of one register whose bytes are there already take
    two. Constants of both halves that `ptxas` would move to a register for each use are none: additions of f16 have
    theirs in the instruction, and bf16, whose addition is newer than its fma, multiplies by one.
    """
    magic = _MAGIC[type_]

    def source(register: SSAValue, at: int) -> tuple[tuple[SSAValue, int], int]:
        """The byte with an element, and by how many bits the element lies further left in it than digits may."""
        odd = at % 2 * NIBBLE_BITS
        register = register if magic.shift or not odd else emit.div(register, 1 << odd)
        return (register, at // 2), odd if magic.shift else 0

    (first, left), (second, right) = source(*low), source(*high)
    bytes_ = _two_bytes(emit, first, second)
    sign = 8 if signed else 0  # of two's complement, the number is (n ^ 8) - 8
    bases = 2.0 ** (magic.digits - left), 2.0 ** (magic.digits - right)

    def pair(low: float, high: float, bits: int = 0) -> SSAValue:
        return emit(arith.ConstantOp(bit_pattern(magic.bits(low) | magic.bits(high) << 16 | bits, 32))).result

    mask = emit(arith.ConstantOp(bit_pattern(0xF << left | 0xF << 16 + right, 32))).result
    digits = emit(LogicAndXorOp(bytes_, mask, pair(*bases, sign << left | sign << 16 + right))).result
    less = pair(-bases[0] - sign, -bases[1] - sign)
    if type_ == f16:
        return emit(PairOp(PairOperation.ADD, magic.format, [digits, less])).result
    return emit(PairOp(PairOperation.FMA, magic.format, [digits, pair(1.0, 1.0), less])).result


def packed_nibbles(emit: Emitter, low: SSAValue, high: SSAValue) -> SSAValue:
    """Returns two elements (i4) in the low byte of an i16."""
    first, second = (emit.extend(value, i16) for value in (low, high))
    return emit.bit_or(first, emit.mul(second, 1 << 4))
