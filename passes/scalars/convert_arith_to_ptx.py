"""Lowers `arith` inside `ptx.entry` to instructions; `index` becomes i64 everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError, operation_name
from tirx.dialects import ptx
from tirx.dialects.definition import UNIT
from tirx.dialects.nesting import walk
from tirx.dialects.ptx.base import PTXInstruction, register_class, width
from tirx.dialects.ptx.core import ConstantOp, EntryOp, entries, integer_attr, integer_of
from tirx.dialects.ptx.table import TableInstruction
from tirx.dialects.xdsl_private import become, operands_of, set_type, type_of
from tirx.passes.ir.emitter import Emitter, erase, replace_uses
from tirx.passes.ir.rule_tables import Rules
from tirx.passes.scalars.bf16_numbers import has, negated, rounded, rounded_integer, widened
from tirx.passes.scalars.fast_math import may_approximate
from tirx.passes.scalars.narrow_numbers import defined_values, narrow_type, types_of, widen_narrow
from tirx.rules import NoFormError


class ConvertArithToPtxPass(ModulePass):
    """Replaces every `arith` op inside a `ptx.entry` by instructions that compute the same bits.

    Index values, arguments of blocks included, become i64, and casts between index and i64 vanish. Integers of 4
    and 8 bits and floats of at most 8 (in registers of 16), integers of 16, 32 and 64 bits, predicates (i1) and f16,
    bf16, f32, f64 are supported. Raises LocatedError for anything else.
    """

    name = "convert-arith-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            convert_entry(entry)


_KNOWN_DIALECTS = ("arith.", "scf.", "ptx.")
"""Dialects of what an entry may hold besides instructions; index values of other operations cannot be converted."""


def convert_entry(entry: EntryOp) -> None:
    """Applies the pass to one entry."""
    ops = walk(entry)
    kinds = {*map(type, ops)}
    if not all(map(_is_known, kinds)):
        op = next(op for op in ops if not _is_known(type(op)))
        raise NoFormError(
            op, f"no PTX form for '{operation_name(op)}'; kernels may use tirx, arith, scf.for and scf.if"
        )
    types = types_of(values := defined_values(ops)).values()
    if any(map(narrow_type, types)) and widen_narrow(ops, values):
        ops = walk(entry)
        kinds = {*map(type, ops)}
        types = types_of(values := defined_values(ops)).values()
    if IndexType in map(type, types):
        for value in values:
            if type(type_of(value)) is IndexType:
                set_type(value, i64)
    # By class and type, of which there are few, and not by operation.
    is_held = all(type(type_) is IndexType or register_class(type_) is not None for type_ in types)
    if not (is_held and kinds.isdisjoint(_WITHOUT_RULE)):
        _check_forms(ops)
    del values
    constants: dict[tuple[int, int, int], tuple[SSAValue, Attribute, Attribute]] = {}
    """Identities of a block, of a number and of a type -> the constant, and both, which stay what their identity is."""
    ops.reverse()
    while ops:
        kind = type(op := ops.pop())  # which is gone when it is lowered, and its memory is that of the next one
        if kind is arith.ConstantOp:
            (result,), number = op.results, op.properties["value"]
            key = id(op.parent), id(number), id(type_of(result))
            if (known := constants.get(key)) is None:
                constants[key] = _constant(op, None), number, type_of(result)
            else:
                replace_uses(result, known[0])
                erase(op)
        elif (rule := RULES.get(kind)) is not None:
            (result,) = op.results
            if (replacement := _at_once(op, result)) is None:
                replacement = rule(op, Emitter(op, op.location))
            if replacement is not result:
                replace_uses(result, replacement)
                erase(op)
        elif isinstance(op, UnrealizedConversionCastOp):
            _drop_identity_cast(op)


def _check_forms(ops: Iterable[Operation]) -> None:
    """Raises NoFormError at the first operation of `arith` that has no rule, or a value that no register holds."""
    for op in ops:
        if not op.name.startswith("arith."):
            continue
        if type(op) not in RULES:
            supported = ", ".join(sorted(t.name for t in RULES))
            raise NoFormError(op, f"no PTX form for '{op.name}'; convert-arith-to-ptx lowers {supported}")
        for value in (*operands_of(op), *op.results):
            if register_class(value.type) is None:
                raise NoFormError(op, f"'{op.name}': no PTX register holds {value.type}")


@cache
def _is_known(kind: type[Operation]) -> bool:
    return issubclass(kind, PTXInstruction | UnrealizedConversionCastOp) or kind.name.startswith(_KNOWN_DIALECTS)


def _drop_identity_cast(op: UnrealizedConversionCastOp) -> None:
    if op.operand_types != op.result_types:
        return
    for result, operand in zip(op.results, op.operands, strict=True):
        result.replace_all_uses_with(operand)
    erase(op)


RULES: Rules[SSAValue] = Rules()
"""Op -> its lowering, which emits instructions and gives the value that replaces its result, or makes the op an
instruction itself and gives its result."""

_rule = RULES.of


def _in_place(op: Operation, kind: type[Operation], properties: Mapping[str, Attribute]) -> SSAValue:
    """Makes an op the instruction of the same operands and result type, and returns its result."""
    (result,) = become(op, kind, dict(properties)).results
    return result


_UNSIGNED: Mapping[str, Attribute] = {"unsigned": UNIT}


def _integer(emit: Emitter, value: int, type_: Attribute) -> SSAValue:
    return emit.value(ConstantOp.integer(value, type_))


def _unsupported(op: Operation, *types: Attribute) -> LocatedError:
    return NoFormError(op, f"no PTX form for '{op.name}' on {' -> '.join(map(str, types))}")


@_rule(arith.ConstantOp)
def _constant(op: Operation, _emit: object) -> SSAValue:
    number = op.properties["value"]  # of a type that registers hold
    if isinstance(number, IntegerAttr):
        number = integer_attr(number.value.data, op.results[0].type)
    return _in_place(op, ConstantOp, {"value": number})


_Instruction = type[TableInstruction]

_BINARY: dict[type[Operation], _Instruction] = {
    arith.AddiOp: ptx.AddOp,
    arith.SubiOp: ptx.SubOp,
    arith.MuliOp: ptx.MulLoOp,
    arith.DivSIOp: ptx.DivOp,
    arith.DivUIOp: ptx.DivOp,
    arith.RemSIOp: ptx.RemOp,
    arith.RemUIOp: ptx.RemOp,
    arith.MinSIOp: ptx.MinOp,
    arith.MinUIOp: ptx.MinOp,
    arith.MaxSIOp: ptx.MaxOp,
    arith.MaxUIOp: ptx.MaxOp,
    arith.AndIOp: ptx.AndOp,
    arith.OrIOp: ptx.OrOp,
    arith.XOrIOp: ptx.XorOp,
    arith.AddfOp: ptx.AddOp,
    arith.SubfOp: ptx.SubOp,
    arith.MulfOp: ptx.MulOp,
    arith.MinnumfOp: ptx.MinOp,
    arith.MaxnumfOp: ptx.MaxOp,
}
"""Ops that are one instruction."""

_OF_UNSIGNED = frozenset((arith.DivUIOp, arith.RemUIOp, arith.MinUIOp, arith.MaxUIOp))
"""Those of which the instruction has the flag `unsigned`."""

_BINARY_I1: dict[type[Operation], _Instruction] = {
    arith.AddiOp: ptx.XorOp,
    arith.SubiOp: ptx.XorOp,
    arith.MuliOp: ptx.AndOp,
    arith.MinUIOp: ptx.AndOp,
    arith.MaxUIOp: ptx.OrOp,
    arith.MinSIOp: ptx.OrOp,
    arith.MaxSIOp: ptx.AndOp,
    arith.AndIOp: ptx.AndOp,
    arith.OrIOp: ptx.OrOp,
    arith.XOrIOp: ptx.XorOp,
}
"""The same on predicates; as a signed integer, true is -1."""


_NEUTRAL: dict[type[Operation], int] = {
    **dict.fromkeys(
        (arith.AddiOp, arith.OrIOp, arith.XOrIOp, arith.SubiOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp), 0
    ),
    arith.MuliOp: 1,
}
"""Operations on integers, and the second operand with which they give the first."""

_COMMUTATIVE = (arith.AddiOp, arith.OrIOp, arith.XOrIOp, arith.MuliOp)


def _is_predicate(type_: Attribute) -> bool:
    """As `type_ == i1` of a register type, without a comparison of all that the types consist of."""
    return type(type_) is IntegerType and type_.width.data == 1


def _folded(kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue | None:
    """The operand that is the result of an operation on integers but predicates, None where there is none."""
    for value, other in ((lhs, rhs), (rhs, lhs)) if kind in _COMMUTATIVE else ((lhs, rhs),):
        if type(other.owner) is ConstantOp:
            constant = integer_of(other)
            if constant == _NEUTRAL[kind]:
                return value
            if constant == 0 and kind is arith.MuliOp:
                return other
    return None


_FLOOR_DIVISIONS = (arith.RemUIOp, arith.DivUIOp, arith.FloorDivSIOp)
"""Divisions and remainders that a shift or a mask rounds as they do."""


def _by_power_of_two(op: Operation, lhs: SSAValue, rhs: SSAValue, emit: Emitter) -> SSAValue | None:
    """Emits a division of 64 bits by a power of two, or its remainder, as a shift or a mask; None elsewhere.

    `ptxas` may call its subroutine for divisions of 64 bits where a kernel has others, too.
    """
    divisor = integer_of(rhs) if type(op) in _FLOOR_DIVISIONS and width(lhs.type) == 64 else None
    if divisor is None or divisor < 1 or divisor & (divisor - 1):
        return None
    if isinstance(op, arith.RemUIOp):
        return emit.value(ptx.AndOp(lhs, _integer(emit, divisor - 1, lhs.type)))
    amount = _integer(emit, divisor.bit_length() - 1, i32)
    return emit.value(ptx.ShrOp(lhs, amount, unsigned=isinstance(op, arith.DivUIOp)))


@_rule(*_BINARY)
def _binary(op: Operation, emit: Emitter) -> SSAValue:
    """Lowers what is not one instruction in the place of the operation (see `_AT_ONCE`)."""
    (lhs, rhs), kind = operands_of(op), type(op)
    instruction = (_BINARY_I1 if _is_predicate(lhs.type) else _BINARY).get(kind)
    if instruction is None:
        raise _unsupported(op, lhs.type)
    if (shifted := _by_power_of_two(op, lhs, rhs, emit)) is not None:
        return shifted
    if type(lhs.type) is BFloat16Type and kind in _AS_FMA and not has(op, "bf16.arith"):
        if not has(op, "bf16.fma"):
            return _in_f32(op, instruction, lhs, rhs, emit)
        return emit.value(ptx.FmaOp(*_AS_FMA[kind](lhs, rhs, partial(_bf16, emit))))
    if isinstance(op, arith.MinnumfOp | arith.MaxnumfOp) and lhs.type in _MINMAX and not has(op, _MINMAX[lhs.type]):
        return _in_f32(op, instruction, lhs, rhs, emit)
    return _in_place(op, instruction, _UNSIGNED if kind in _OF_UNSIGNED else {})


def _bf16(emit: Emitter, value: float) -> SSAValue:
    return emit(ConstantOp(FloatAttr(value, bf16))).result


_Constant = Callable[[float], SSAValue]

_AS_FMA: dict[type[Operation], Callable[[SSAValue, SSAValue, _Constant], tuple[SSAValue, SSAValue, SSAValue]]] = {
    arith.AddfOp: lambda a, b, constant: (a, constant(1.0), b),
    arith.SubfOp: lambda a, b, constant: (b, constant(-1.0), a),
    arith.MulfOp: lambda a, b, constant: (a, b, constant(-0.0)),
}
"""Arithmetic on bf16 as an fma with the same result, for sm_80 to sm_89, which have no other."""

_MINMAX: dict[Attribute, str] = {f16: "f16.minmax", bf16: "bf16.minmax"}


def _in_f32(op: Operation, instruction: _Instruction, lhs: SSAValue, rhs: SSAValue, emit: Emitter) -> SSAValue:
    """An operation on 16-bit floats in f32, which has more than twice their digits: rounding twice is rounding once."""
    wide = instruction(widened(op, emit, lhs), widened(op, emit, rhs))
    return rounded(op, emit, emit.value(wide), lhs.type)


@_rule(arith.DivfOp)
def _divf(op: arith.DivfOp, emit: Emitter) -> SSAValue:
    type_ = op.result.type
    if type_ == f32 and may_approximate(op):
        return _in_place(op, ptx.DivFullOp, {})
    if type_ not in (f16, bf16):
        return _in_place(op, ptx.DivOp, {})
    return _in_f32(op, ptx.DivOp, op.lhs, op.rhs, emit)


@_rule(arith.MinimumfOp, arith.MaximumfOp)
def _nan_minmax(op: arith.MinimumfOp | arith.MaximumfOp, emit: Emitter) -> SSAValue:
    instruction = ptx.MinOp if isinstance(op, arith.MinimumfOp) else ptx.MaxOp
    type_, lhs, rhs = op.result.type, op.lhs, op.rhs
    if type_ != f64 and has(op, "minmax.NaN"):
        return emit.value(instruction(lhs, rhs, nan=True))
    if type_ in (f16, bf16):
        lhs, rhs = (widened(op, emit, value) for value in (lhs, rhs))
    # f64, and all types before sm_80, have no .NaN; a NaN operand makes the sum a NaN.
    number = emit.value(instruction(lhs, rhs))
    nan = emit.value(ptx.AddOp(lhs, rhs))
    result = emit.value(ptx.SelpOp(emit.value(ptx.SetpOp(ptx.Comparison.NAN, lhs, rhs)), nan, number))
    return result if lhs is op.lhs else rounded(op, emit, result, type_)


@_rule(arith.NegfOp)
def _negf(op: arith.NegfOp, emit: Emitter) -> SSAValue:
    if op.operand.type == bf16 and not has(op, "bf16.neg"):
        return negated(emit, op.operand)
    return _in_place(op, ptx.NegOp, {})


def _check_not_predicate(op: Operation) -> None:
    if op.results[0].type == i1:
        raise _unsupported(op, i1)


@_rule(arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp)
def _rounding_division(op: arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp, emit: Emitter) -> SSAValue:
    _check_not_predicate(op)
    if (shifted := _by_power_of_two(op, op.lhs, op.rhs, emit)) is not None:
        return shifted
    type_, unsigned = op.result.type, isinstance(op, arith.CeilDivUIOp)
    quotient = emit.value(ptx.DivOp(op.lhs, op.rhs, unsigned=unsigned))
    remainder = emit.value(ptx.SubOp(op.lhs, emit.value(ptx.MulLoOp(quotient, op.rhs))))
    zero = _integer(emit, 0, type_)
    adjust = emit.value(ptx.SetpOp(ptx.Comparison.NE, remainder, zero))
    if not unsigned:
        # The remainder has the dividend's sign: a different sign from the divisor's means a negative quotient.
        floor = isinstance(op, arith.FloorDivSIOp)
        comparison = ptx.Comparison.LT if floor else ptx.Comparison.GE
        sign = emit.value(ptx.SetpOp(comparison, emit.value(ptx.XorOp(remainder, op.rhs)), zero))
        adjust = emit.value(ptx.AndOp(adjust, sign))
    step = _integer(emit, -1 if isinstance(op, arith.FloorDivSIOp) else 1, type_)
    return emit.value(ptx.AddOp(quotient, emit.value(ptx.SelpOp(adjust, step, zero))))


_SHIFTS: Mapping[type[Operation], tuple[type[Operation], Mapping[str, Attribute]]] = {
    arith.ShLIOp: (ptx.ShlOp, {}),
    arith.ShRSIOp: (ptx.ShrOp, {}),
    arith.ShRUIOp: (ptx.ShrOp, _UNSIGNED),
}


@_rule(*_SHIFTS)
def _shift(op: Operation, emit: Emitter) -> SSAValue:
    _check_not_predicate(op)
    value, amount = operands_of(op)
    if (folded := _folded(type(op), value, amount)) is not None:
        return folded
    if amount.type != i32:
        number = integer_of(amount)
        narrow = ptx.CvtOp(amount, i32, unsigned=True) if number is None else ConstantOp.integer(number, i32)
        op.operands = value, emit.value(narrow)
    return _in_place(op, *_SHIFTS[type(op)])


_COMPARISONS: tuple[Mapping[str, Attribute], ...] = tuple(
    {"comparison": ptx.ComparisonAttr(ptx.Comparison(name[-2:])), **(_UNSIGNED if name.startswith("u") else {})}
    for name in arith.CMPI_COMPARISON_OPERATIONS
)
"""The properties of the comparison of each number: `eq`, `slt` or `ult`."""


@_rule(arith.CmpiOp)
def _cmpi(op: arith.CmpiOp, emit: Emitter) -> SSAValue:
    comparison = _COMPARISONS[op.predicate.value.data]
    if _is_predicate(op.lhs.type):
        op.operands = [_number_of(value, i32, emit, unsigned="unsigned" in comparison) for value in operands_of(op)]
    return _in_place(op, ptx.SetpOp, comparison)


@_rule(arith.CmpfOp)
def _cmpf(op: arith.CmpfOp, emit: Emitter) -> SSAValue:
    name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if name in ("false", "true"):
        return _integer(emit, name == "true", i1)
    lhs, rhs = op.lhs, op.rhs
    if lhs.type == bf16 and not has(op, "bf16.setp"):
        lhs, rhs = (widened(op, emit, value) for value in (lhs, rhs))
    # `olt` is `lt`, `ult` (or unordered) `ltu`.
    comparison = {"ord": "num", "uno": "nan"}.get(name) or name[1:] + "u" * name.startswith("u")
    return emit.value(ptx.SetpOp(comparison, lhs, rhs))


@_rule(arith.SelectOp)
def _select(op: arith.SelectOp, emit: Emitter) -> SSAValue:
    if not _is_predicate(op.result.type):
        return _in_place(op, ptx.SelpOp, {})
    on_true = emit.value(ptx.AndOp(op.cond, op.lhs))
    on_false = emit.value(ptx.AndOp(emit.value(ptx.NotOp(op.cond)), op.rhs))
    return emit.value(ptx.OrOp(on_true, on_false))


def _number_of(predicate: SSAValue, type_: Attribute, emit: Emitter, *, unsigned: bool) -> SSAValue:
    """Emits an integer of the type: 0 or, where the predicate holds, 1, which a signed one reads as -1."""
    return emit.value(ptx.SelpOp(predicate, _integer(emit, 1 if unsigned else -1, type_), _integer(emit, 0, type_)))


def _extended(op: Operation, emit: Emitter, *, unsigned: bool) -> SSAValue:
    (value,), (result,) = operands_of(op), op.results
    if _is_predicate(value.type):
        return _number_of(value, result.type, emit, unsigned=unsigned)
    return _in_place(op, ptx.CvtOp, _UNSIGNED if unsigned else {})


def _truncated(op: Operation, emit: Emitter) -> SSAValue:
    (value,), (result,) = operands_of(op), op.results
    if not _is_predicate(result.type):
        return _in_place(op, ptx.CvtOp, _UNSIGNED)
    bit = emit.value(ptx.AndOp(value, _integer(emit, 1, value.type)))
    return emit.value(ptx.SetpOp(ptx.Comparison.NE, bit, _integer(emit, 0, value.type)))


@_rule(arith.ExtSIOp, arith.ExtUIOp)
def _exti(op: arith.ExtSIOp | arith.ExtUIOp, emit: Emitter) -> SSAValue:
    return _extended(op, emit, unsigned=isinstance(op, arith.ExtUIOp))


@_rule(arith.TruncIOp)
def _trunci(op: arith.TruncIOp, emit: Emitter) -> SSAValue:
    return _truncated(op, emit)


@_rule(arith.IndexCastOp)
def _index_cast(op: arith.IndexCastOp, emit: Emitter) -> SSAValue:
    found, wanted = width(op.input.type), width(op.result.type)
    if found == wanted:
        return op.input
    return _extended(op, emit, unsigned=False) if found < wanted else _truncated(op, emit)


@_rule(arith.ExtFOp)
def _extf(op: arith.ExtFOp, emit: Emitter) -> SSAValue:
    if op.input.type != bf16:
        return _in_place(op, ptx.CvtOp, {})
    value = widened(op, emit, op.input)
    return value if value.type == op.result.type else emit.value(ptx.CvtOp(value, op.result.type))


@_rule(arith.TruncFOp)
def _truncf(op: arith.TruncFOp, emit: Emitter) -> SSAValue:
    if op.input.type == f64 and op.result.type == bf16:
        raise _unsupported(op, f64, bf16)
    if op.result.type == bf16:
        return rounded(op, emit, op.input, bf16)
    return _in_place(op, ptx.CvtOp, {})


@_rule(arith.SIToFPOp, arith.UIToFPOp)
def _itofp(op: arith.SIToFPOp | arith.UIToFPOp, emit: Emitter) -> SSAValue:
    unsigned, value = isinstance(op, arith.UIToFPOp), op.input
    if value.type == i1:
        value = _number_of(value, i16, emit, unsigned=unsigned)
    if op.result.type == bf16:
        return rounded_integer(op, emit, value, unsigned=unsigned)
    return emit.value(ptx.CvtOp(value, op.result.type, unsigned=unsigned))


@_rule(arith.FPToSIOp, arith.FPToUIOp)
def _fptoi(op: arith.FPToSIOp | arith.FPToUIOp, emit: Emitter) -> SSAValue:
    _check_not_predicate(op)
    value = widened(op, emit, op.input) if op.input.type == bf16 else op.input
    return emit.value(ptx.CvtOp(value, op.result.type, unsigned=isinstance(op, arith.FPToUIOp)))


@_rule(arith.BitcastOp)
def _bitcast(op: arith.BitcastOp, emit: Emitter) -> SSAValue:
    if width(op.input.type) != width(op.result.type):  # an index has as many bits as a pointer
        raise _unsupported(op, op.input.type, op.result.type)
    return _in_place(op, ptx.MovOp, {})


_WITHOUT_RULE = {*arith.Arith.operations}.difference(RULES)
"""Operations that have no PTX form."""


# Operations that are one instruction, by their type: most of them.

_FLOATS = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.MinnumfOp, arith.MaxnumfOp)

_Form = tuple[type[Operation], Mapping[str, Attribute]]


def _forms() -> Iterator[tuple[type[Operation], object, _Form]]:
    """Operations, kinds of the types of their results, and the instructions of the same operands and results."""
    for kind, instruction in _BINARY_I1.items():
        yield kind, 1, (instruction, {})
    for kind, instruction in _BINARY.items():
        if kind in _FLOATS:
            halves = () if kind in (arith.MinnumfOp, arith.MaxnumfOp) else (Float16Type,)
            for type_ in (Float32Type, Float64Type, *halves):
                yield kind, type_, (instruction, {})
            continue
        for bits in (16, 32, 64):
            if bits < 64 or kind not in _FLOOR_DIVISIONS:
                yield kind, bits, (instruction, _UNSIGNED if kind in _OF_UNSIGNED else {})
    for kind, form in _SHIFTS.items():
        yield kind, 32, form
    for type_ in (16, 32, 64, Float16Type, BFloat16Type, Float32Type, Float64Type):
        yield arith.SelectOp, type_, (ptx.SelpOp, {})
    for type_ in (Float16Type, Float32Type, Float64Type):
        yield arith.NegfOp, type_, (ptx.NegOp, {})


_AT_ONCE: dict[type[Operation], dict[object, _Form]] = {}
"""Operation -> of the bits of an integer, or the class of a float, the instruction that stands in its place."""

for _kind, _type, _form in _forms():
    _AT_ONCE.setdefault(_kind, {})[_type] = _form


def _at_once(op: Operation, result: SSAValue) -> SSAValue | None:
    """Lowers an operation for which nothing is emitted, None for others.

    Returns the operand that is its result, or its own result, where it becomes one instruction.
    """
    kind, type_ = type(op), type_of(result)
    bits = type_.width.data if type(type_) is IntegerType else None
    if kind is arith.IndexCastOp:
        (operand,) = operands_of(op)
        return operand if width(type_of(operand)) == bits else None
    if (forms := _AT_ONCE.get(kind)) is None:
        return None
    if (form := forms.get(bits or type(type_))) is None:
        return None
    if kind in _NEUTRAL and bits != 1 and (folded := _folded(kind, *operands_of(op))) is not None:
        return folded
    become(op, form[0], {**form[1]})
    return result
