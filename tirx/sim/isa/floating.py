"""Floating-point arithmetic of all widths (PTX ISA, sections 9.7.3 to 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from tirx.sim.core.types import (
    B32,
    B64,
    BF16,
    F16,
    F32,
    F64,
    PRED,
    TYPES,
    Array,
    Binary,
    Function,
    PtxType,
    Ternary,
    Unary,
)
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics import modular, rounding
from tirx.sim.numerics.formats import OOB_NAN
from tirx.sim.numerics.functions import Name, rounded_function
from tirx.sim.numerics.rounding import (
    Rounding,
    bits_of,
    canonical,
    extremum_of,
    flush,
    odd_sum,
    propagated,
    rectified,
    round_to,
    saturate_unit,
)
from tirx.sim.program.code import Step

# Type names: the type of an element and that of the register that holds one or two of them.
ELEMENTS = {
    "f16": (F16, F16),
    "bf16": (BF16, BF16),
    "f32": (F32, F32),
    "f64": (F64, F64),
    "f16x2": (F16, TYPES["f16x2"]),
    "bf16x2": (BF16, TYPES["bf16x2"]),
    "f32x2": (F32, TYPES["f32x2"]),
}
_ROUNDINGS = ("rn", "rz", "rm", "rp")
_MODES: dict[str | None, Rounding] = {None: "rn", "rn": "rn", "rz": "rz", "rm": "rm", "rp": "rp"}


@dataclass(frozen=True, slots=True)
class Operation:
    """Element type, register type and modifiers of a floating-point instruction."""

    element: PtxType
    container: PtxType
    mode: Rounding
    flush: bool
    saturate: bool
    relu: bool


def operation(decoder: Decoder, *elements: PtxType) -> Operation:
    """Takes the type (of `elements`, if given), the rounding mode, .ftz, .sat and .relu."""
    name = decoder.modifiers.pop() if decoder.modifiers else ""
    if name not in ELEMENTS or (elements and ELEMENTS[name][0] not in elements):
        raise decoder.error(f"expected a floating-point type of '{decoder.root}', found .{name}")
    element, container = ELEMENTS[name]
    mode = _MODES[decoder.take(*_ROUNDINGS)]
    if mode != "rn" and element in (F16, BF16):
        raise decoder.error(f"expected .rn for {container}, found .{mode}")
    return Operation(element, container, mode, decoder.flag("ftz"), decoder.flag("sat"), decoder.flag("relu"))


def emit(decoder: Decoder, asked: Operation, elements: Function, operands: int) -> Step:
    """A step for a function of elements: flushes, saturates, makes NaNs canonical, unpacks and packs registers."""
    function = cast("Callable[..., Array]", elements)
    if decoder.symbols.arithmetic == "modular":
        return elementwise(
            decoder, packed(_modular(decoder, asked), asked), asked.container, *[asked.container] * operands
        )

    def complete(*values: Array) -> Array:
        if asked.flush:
            values = tuple(flush(value) for value in values)
        result = function(*values)
        if asked.flush:
            result = flush(result)
        if asked.saturate:
            return saturate_unit(result)
        if asked.relu:
            result = rectified(result)
        return canonical(result)

    return elementwise(decoder, packed(complete, asked), asked.container, *[asked.container] * operands)


def _modular(decoder: Decoder, asked: Operation) -> Callable[..., Array]:
    """The function of residues that an instruction is (`tirx.sim.numerics.modular`)."""
    decoder.refuse_modular(asked.saturate)
    function = modular.FUNCTIONS["fma" if decoder.root == "mad" else decoder.root]

    def complete(*values: Array) -> Array:
        if len(values) == 3 and decoder.root in ("min", "max"):
            values = function(*values[:2]), values[2]
        result = function(*values)
        return (rectified(result) if asked.relu else result).astype(asked.element.dtype)

    return complete


def packed(function: Callable[..., Array], asked: Operation) -> Function:
    """Returns `function` of elements as a function of registers."""
    if asked.element.bits == asked.container.bits:
        return function
    element, container = asked.element.dtype, asked.container.dtype

    def unpacked(*values: Array) -> Array:
        return function(*[np.ascontiguousarray(value).view(element) for value in values]).view(container)

    return unpacked


# Sums, products, quotients


def _widened(exact: Function, asked: Operation) -> Callable[..., Array]:
    """A function of f64 values (exact or rounded to odd) for narrower elements, rounded once."""
    function = cast("Callable[..., Array]", exact)
    dtype, mode = asked.element.dtype, asked.mode

    def widened(*values: Array) -> Array:
        return round_to(function(*[value.astype(np.float64) for value in values]), dtype, mode)

    return widened


def _negated_second(function: Binary) -> Binary:
    return lambda a, b: function(a, -b)


def _signed_zero_sum(asked: Operation) -> Binary:
    """Sums of f64 values, where x + (-x) is -0 if rounded down."""

    def add(a: Array, b: Array) -> Array:
        total = odd_sum(a, b)
        if asked.mode != "rm":
            return total
        return np.where((total == 0) & ((a != 0) | (np.signbit(a) != np.signbit(b))), -0.0, total)

    return add


def binary_function(root: str, asked: Operation) -> Binary:
    """add, sub, mul or div of elements."""
    mode = asked.mode
    if asked.element is F64:
        functions: dict[str, Binary] = {
            # Of two NaNs GPUs take the second, but the first of a quotient.
            "add": lambda a, b: propagated(rounding.sum_f64(a, b, mode), b, a),
            "sub": lambda a, b: propagated(rounding.sum_f64(a, -b, mode), b, a),
            "mul": lambda a, b: propagated(rounding.product_f64(a, b, mode), b, a),
            "div": lambda a, b: propagated(rounding.quotient_f64(a, b, mode), a, b),
        }
        return functions[root]
    if mode == "rn":
        native: dict[str, Binary] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
        return native[root]
    # Quotients of f32 are never so close to a tie that f64 cannot tell.
    sums = _signed_zero_sum(asked)
    wide: dict[str, Binary] = {"add": sums, "sub": _negated_second(sums), "mul": np.multiply, "div": np.divide}
    return _widened(wide[root], asked)


def _mixed(decoder: Decoder, halves: int) -> Step | None:
    """
    Decodes add, sub and fma of .f32 whose first operands (`halves` of them) are .f16 or .bf16. Returns None for other
    types.
    """
    if decoder.modifiers[-2:-1] != ["f32"] or decoder.modifiers[-1] not in ("f16", "bf16"):
        return None
    half = ELEMENTS[decoder.modifiers.pop()][0]
    asked = operation(decoder, F32)
    decoder.finish(2 + halves)
    if asked.flush or asked.relu:
        raise decoder.error("expected neither .ftz nor .relu with operands of two types")
    function = cast(
        "Callable[..., Array]", fused_function(asked) if decoder.root == "fma" else binary_function(decoder.root, asked)
    )
    if decoder.symbols.arithmetic == "modular":
        function = _modular(decoder, asked)

    def widened(*values: Array) -> Array:
        result = function(*[value.astype(np.float32) for value in values])
        return saturate_unit(result) if asked.saturate else canonical(result)

    return elementwise(decoder, widened, F32, *[half] * halves, F32)


_PAIRS = {"f16x2": 2, "bf16x2": 2, "f32x2": 4}
"""Pairs, with the bytes of an element."""


def _mixed_pairs(decoder: Decoder) -> Step | None:
    """
    Decodes add, sub, mul and fma of pairs, of two types. Returns None for other types.

    Each result is rounded once. No text says more than the forms; ptxas makes one instruction of each (nvdisasm shows
    FHADD2, FHMUL2, HMUL2 or FHFMA2), so that NaN and zeros are taken to be those of other instructions on pairs.
    """
    types = decoder.modifiers[-4 if decoder.root == "fma" else -3 :]
    if not {*types} <= _PAIRS.keys() or len({*types}) == 1:
        return None
    decoder.need_feature("packed.mixed", f".{types[1]} with .{types[0]}", "here")
    del decoder.modifiers[-len(types) :]
    element = ELEMENTS[types[0]][0]
    mode = _MODES[decoder.take(*_ROUNDINGS)]
    flushes = decoder.flag("ftz")
    asked = Operation(element, element, mode, False, False, False)
    decoder.finish(len(types))
    decoder.refuse_modular(True)
    add, multiply = _signed_zero_sum(asked), cast("Binary", np.multiply)
    exact: dict[str, Function] = {
        "add": add,
        "sub": _negated_second(add),
        "mul": multiply,
        "fma": lambda a, b, c: add(a * b, c),
    }
    function = _widened(exact[decoder.root], asked)
    registers = [B64 if _PAIRS[name] == 4 else B32 for name in types]

    def pairs(*values: Array) -> Array:
        numbers = [
            np.ascontiguousarray(value).view(ELEMENTS[name][0].dtype)
            for value, name in zip(values, types[1:], strict=True)
        ]
        result = canonical(function(*[flush(each) if flushes else each for each in numbers]))
        return (flush(result) if flushes else result).view(registers[0].dtype)

    return elementwise(decoder, pairs, registers[0], *registers[1:])


def arithmetic(decoder: Decoder) -> Step:
    """add, sub, mul, div"""
    mixed = (decoder.root in ("add", "sub") and _mixed(decoder, 1)) or (decoder.root != "div" and _mixed_pairs(decoder))
    if mixed:
        return mixed
    if decoder.root == "div":
        # The approximations are exact here: within their error bounds.
        approximate = decoder.take("approx", "full")
        asked = operation(decoder, F32, F64)
        if approximate and asked.element is not F32:
            raise decoder.error(f"expected .f32 with .{approximate}")
    else:
        asked = operation(decoder)
    decoder.finish(3)
    return emit(decoder, asked, binary_function(decoder.root, asked), 2)


@instruction("fma")
def fused(decoder: Decoder) -> Step:
    """fma, and mad of floating-point types"""
    mixed = (_mixed(decoder, 2) or _mixed_pairs(decoder)) if decoder.root == "fma" else None
    if mixed is not None:
        return mixed
    oob = decoder.root == "fma" and decoder.flag("oob")
    decoder.refuse_modular(oob)
    asked = operation(decoder, *((F16, BF16) if oob else ()))
    decoder.finish(4)
    function = fused_function(asked)
    if not oob:
        return emit(decoder, asked, function, 3)
    marker = OOB_NAN[asked.element.dtype]

    def unless_outside(a: Array, b: Array, c: Array) -> Array:
        """0 where an operand is the NaN that tensor maps fill with."""
        outside = (bits_of(a) == marker) | (bits_of(b) == marker) | (bits_of(c) == marker)
        return np.where(outside, asked.element.dtype.type(0), function(a, b, c)).astype(asked.element.dtype)

    return emit(decoder, asked, unless_outside, 3)


def fused_function(asked: Operation) -> Ternary:
    """a * b + c of elements, rounded once."""
    if asked.element is F64:
        return lambda a, b, c: propagated(rounding.fused_f64(a, b, c, asked.mode), b, c, a)
    add = _signed_zero_sum(asked)
    return _widened(lambda a, b, c: add(a * b, c), asked)


# Minimum, maximum, signs


def extremum(decoder: Decoder) -> Step:
    """min and max of floating-point types, of two or (sm_100) three operands"""
    propagate, swap_sign = decoder.flag("NaN"), decoder.flag("xorsign")
    magnitude = decoder.flag("abs")
    asked = operation(decoder)
    decoder.refuse_modular(magnitude)
    decoder.finish(*((3, 4) if asked.element is F32 else (3,)))
    smaller = decoder.root == "min"
    if swap_sign != magnitude and not (magnitude and len(decoder.operands) == 4):
        raise decoder.error("expected .xorsign.abs")

    def choose(a: Array, b: Array) -> Array:
        sign = np.signbit(a) ^ np.signbit(b)
        if magnitude:
            a, b = np.abs(a), np.abs(b)
        result = extremum_of(a, b, smaller=smaller, propagate=propagate)
        if asked.element is F64:
            result = propagated(result, result)
        return np.where(sign, -np.abs(result), np.abs(result)).astype(a.dtype) if swap_sign else result

    if len(decoder.operands) == 4:
        return emit(decoder, asked, lambda a, b, c: choose(choose(a, b), c), 3)
    return emit(decoder, asked, choose, 2)


def sign(decoder: Decoder) -> Step:
    """neg and abs of floating-point types: the sign bit, except of NaN, which GPUs treat as in other arithmetic"""
    asked = operation(decoder)
    decoder.finish(2)
    if decoder.symbols.arithmetic == "modular":
        return emit(decoder, asked, np.negative, 1)
    bit = 1 << (asked.element.bits - 1)
    negate = decoder.root == "neg"

    def change(a: Array) -> Array:
        if asked.flush:
            a = flush(a)
        bits = bits_of(np.ascontiguousarray(a))
        mask = bits.dtype.type(bit)
        result = (bits ^ mask if negate else bits & ~mask).view(a.dtype)
        return propagated(result, a) if asked.element is F64 else canonical(result)

    return elementwise(decoder, packed(change, asked), asked.container, asked.container)


@instruction("copysign")
def _copysign(decoder: Decoder) -> Step:
    """The magnitude of b with the sign of a."""
    value_type = decoder.type(F32, F64)
    decoder.refuse_modular()
    decoder.finish(3)
    return elementwise(decoder, lambda a, b: np.copysign(b, a), value_type, value_type, value_type)


def _is_normal(a: Array) -> Array:
    """Zeros are normal (section 9.7.3.2)."""
    return np.isfinite(a) & ((np.abs(a) >= np.finfo(a.dtype).smallest_normal) | (a == 0))


_TESTS: dict[str, Unary] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": _is_normal,
    "subnormal": lambda a: np.isfinite(a) & ~_is_normal(a),
}


@instruction("testp")
def _testp(decoder: Decoder) -> Step:
    test = decoder.need(*_TESTS)
    value_type = decoder.type(F32, F64)
    decoder.refuse_modular()
    decoder.finish(2)
    return elementwise(decoder, _TESTS[test], PRED, value_type)


# Functions of one operand. Where the hardware approximates, the result here is the exact one, rounded.


@instruction("rcp")
def _rcp(decoder: Decoder) -> Step:
    approximate = decoder.flag("approx")
    asked = operation(decoder, F32, F64)
    decoder.finish(2)
    if approximate and asked.element is F64 and decoder.symbols.arithmetic != "modular":
        return elementwise(decoder, _coarse(lambda a: 1.0 / a), F64, F64)
    divide = binary_function("div", asked)
    return emit(decoder, asked, lambda a: divide(np.ones_like(a), a), 1)


def _coarse(function: Unary) -> Unary:
    """
    Decodes rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper 32 bits of the result, from the upper 32 of the
    operand.
    """
    not_a_number = np.uint64(0x7FFFFFFF00000000).view(np.float64)
    high = np.uint64(0xFFFFFFFF00000000)

    def approximate(a: Array) -> Array:
        result = flush(function(flush((a.view(np.uint64) & high).view(np.float64))))
        return np.where(np.isnan(result), not_a_number, (result.view(np.uint64) & high).view(np.float64))

    return approximate


@instruction("sqrt")
def _sqrt(decoder: Decoder) -> Step:
    decoder.take("approx")
    asked = operation(decoder, F32, F64)
    decoder.finish(2)
    if asked.element is F64:
        return emit(decoder, asked, lambda a: propagated(rounding.root_f64(a, asked.mode), a), 1)
    return emit(decoder, asked, _widened(np.sqrt, asked), 1)


def _reciprocal_root(a: Array) -> Array:
    return 1.0 / np.sqrt(a)


@instruction("rsqrt")
def _rsqrt(decoder: Decoder) -> Step:
    decoder.need("approx")
    asked = operation(decoder, F32, F64)
    decoder.finish(2)
    if asked.element is F64 and asked.flush and decoder.symbols.arithmetic != "modular":
        return elementwise(decoder, _coarse(_reciprocal_root), F64, F64)
    if asked.element is F64:
        return emit(decoder, asked, lambda a: propagated(_reciprocal_root(a), a), 1)
    return emit(decoder, asked, _widened(_reciprocal_root, asked), 1)


_TRANSCENDENTAL: dict[str, Name] = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}


# These reduce their operand first, which flushes subnormal numbers even without .ftz.
_FLUSHING = ("sin", "cos")


@instruction(*_TRANSCENDENTAL)
def _transcendental(decoder: Decoder) -> Step:
    decoder.need("approx")
    asked = operation(decoder, F32, *((F16, BF16) if decoder.root in ("ex2", "tanh") else ()))
    decoder.finish(2)
    function = rounded_function(_TRANSCENDENTAL[decoder.root], asked.element.dtype)
    if decoder.root in _FLUSHING:
        return emit(decoder, asked, lambda a: function(flush(a)), 1)
    return emit(decoder, asked, function, 1)
