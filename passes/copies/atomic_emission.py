"""Atomic operations on single elements: `atom`, or a loop of `atom.cas` where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, Signedness, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.ptx.atomics import Atomic, AtomOp, LdStrongOp, Order, Scope
from tirx.dialects.ptx.conversion import PackOp, UnpackOp
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.values import dataclass

_RAISES = {Atomic.MIN: (Atomic.MIN, Atomic.MAX), Atomic.MAX: (Atomic.MAX, Atomic.MIN)}
"""Of f32: the operation on the bits of positive numbers, signed, and on those of negative ones, unsigned."""


@dataclass(frozen=True)
class AtomicEmission:
    """An operation on elements of a type in memory, of threads of a target, with its order and scope."""

    kind: Atomic
    element: Attribute
    target: Target
    order: Order = Order.RELAXED
    scope: Scope = Scope.GPU

    def emit(self, emit: Emitter, address: SSAValue, offset: int, data: Sequence[SSAValue]) -> SSAValue:
        """Combines the element at `address + offset` (bytes, i32: shared) with one register, or two of `cas`: what is
        expected, then what takes its place. Returns the register that memory had, of the type of these.
        """
        type_ = data[0].type
        if self.kind in _RAISES and type_ == f32:
            return self._by_bits(emit, address, offset, data[0])
        if isinstance(self.element, BFloat16Type) and not supports(self.target, "red.bf16"):
            return self._by_cas(emit, address, offset, data[0])
        if self.kind in _RAISES and isinstance(self.element, Float16Type | BFloat16Type | type(f64)):
            return self._by_cas(emit, address, offset, data[0])
        match self.element:
            case IntegerType(signedness=sign):
                unsigned = sign.data is Signedness.UNSIGNED and self.kind in _RAISES
            case _:
                unsigned = False
        return self._atom(emit, self.kind, address, offset, data, unsigned=unsigned)

    def _atom(
        self,
        emit: Emitter,
        kind: Atomic,
        address: SSAValue,
        offset: int,
        data: Sequence[SSAValue],
        *,
        unsigned: bool = False,
    ) -> SSAValue:
        order = self.order, self.scope
        return emit(AtomOp(*order, address, kind, data, data[0].type, offset, unsigned=unsigned)).result

    def _by_bits(self, emit: Emitter, address: SSAValue, offset: int, value: SSAValue) -> SSAValue:
        """Compares f32 as integers: bits of positive numbers are in their order, those of negative ones in reverse."""
        same, other = _RAISES[self.kind]
        bits = emit(arith.BitcastOp(value, i32)).result
        # A NaN gets the sign by which nothing combines it away.
        nan = emit(arith.ConstantOp(bit_pattern(0x7FFFFFFF if self.kind is Atomic.MAX else 0xFFFFFFFF, 32))).result
        bits = emit.select(emit(arith.CmpfOp(value, value, "uno")).result, nan, bits)
        positive = emit.compare(bits, emit.constant(0, i32), "sge")
        (old,) = emit.either(
            positive,
            lambda inside: [self._atom(inside, same, address, offset, [bits])],
            lambda inside: [self._atom(inside, other, address, offset, [bits], unsigned=True)],
        )
        return emit(arith.BitcastOp(old, f32)).result

    def _by_cas(self, emit: Emitter, address: SSAValue, offset: int, value: SSAValue) -> SSAValue:
        """Combines what a load has seen until memory has still that."""
        bits = i64 if value.type == f64 else i16
        first = emit(LdStrongOp(Order.RELAXED, self.scope, address, bits, offset)).result
        yes = emit(arith.ConstantOp.from_int_and_width(1, 1)).result
        before, body = Block(arg_types=[bits, i1]), Block(arg_types=[bits])
        head = Emitter(InsertPoint.at_end(before), emit.location)
        head(scf.ConditionOp(before.args[1], before.args[0]))
        inside = Emitter(InsertPoint.at_end(body), emit.location)
        (old,) = body.args
        new = self._combined(inside, old, value)
        seen = self._atom(inside, Atomic.CAS, address, offset, [old, new])
        inside(scf.YieldOp(seen, inside.compare(seen, old, "ne")))
        loop = emit(scf.WhileOp([first, yes], [bits], Region(before), Region(body)))
        return _of_bits(emit, loop.results[0], value.type)

    def _combined(self, emit: Emitter, old: SSAValue, value: SSAValue) -> SSAValue:
        """The bits of a combination, which is exact or rounded once: f32 has room for sums of 16-bit elements."""
        kinds = {Atomic.ADD: arith.AddfOp, Atomic.MIN: arith.MinimumfOp, Atomic.MAX: arith.MaximumfOp}
        combine, old = kinds[self.kind], _of_bits(emit, old, value.type)
        if value.type == f64:
            return emit(arith.BitcastOp(emit(combine(old, value)).result, i64)).result
        a, b = (emit(arith.ExtFOp(each, f32)).result for each in (old, value))
        narrow = emit(arith.TruncFOp(emit(combine(a, b)).result, value.type)).result
        pair = emit(PackOp(narrow, narrow)).result
        return emit(UnpackOp(pair, i16)).low


def _of_bits(emit: Emitter, bits: SSAValue, type_: Attribute) -> SSAValue:
    """The number with these bits, of a type of 16 or 64 bits."""
    if type_ == f64:
        return emit(arith.BitcastOp(bits, f64)).result
    return emit(UnpackOp(emit(PackOp(bits, bits)).result, type_)).low
