"""mma.sync and mma.sp (PTX ISA, sections 9.7.14.5 and .6): products of the matrices in the registers of a warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, F64, WARP, Array, Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.fragments import Operand, from_matrices, matrix_fragment, quad_fragment, to_matrices
from tirx.sim.isa.mma_forms import read_form
from tirx.sim.isa.mma_scales import read_scales
from tirx.sim.isa.registry import instruction
from tirx.sim.isa.sparse import read_selector
from tirx.sim.numerics.formats import TABLES, decode_elements
from tirx.sim.numerics.products import product
from tirx.sim.numerics.rounding import canonical, fused_f64, odd_sum, round_to
from tirx.sim.numerics.tensor_cores import Multiply, Rule, find_rule, multiplier, multiply_scaled, multiply_values
from tirx.sim.program.code import Destination, Source, Step

# Bits of an element in the registers of A and B. Six- and four-bit floats are in bytes of their own (e2m1x2: packed).
_BITS = {
    **dict.fromkeys(("f64",), 64),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), 8),
    **dict.fromkeys(("s4", "u4", "e2m1x2"), 4),
    "b1": 1,
}
_OPERANDS: tuple[Operand, ...] = ("a", "b", "c", "c")
_ROUNDINGS = ("rn", "rz", "rm", "rp")


@instruction("mma")
def _mma(decoder: Decoder) -> Step:
    """d, a, b, c [, metadata, selector] [, factors of A, {byte, thread}, factors of B, {byte, thread}]"""
    form = read_form(decoder)
    decoder.take(*_ROUNDINGS)
    saturate = decoder.flag("satfinite")
    binary = decoder.take("and", "xor")
    if binary:
        decoder.need("popc")
    if (binary is None) == (form.types[1] == "b1"):
        raise decoder.error("expected .and.popc or .xor.popc with .b1, and only with it")
    if saturate and form.types[0] != "s32":
        raise decoder.error("expected .satfinite with integers only")
    decoder.finish(4 + 2 * form.sparse + 4 * bool(form.factors))
    types = form.operand_types
    if form.is_quads:
        layouts = (form.layouts[0], form.layouts[1], form.types[3], form.types[0])
        a, b, c, d = (quad_fragment(operand, layout) for operand, layout in zip(_OPERANDS, layouts, strict=True))
    else:
        bits = _BITS[types[1]]
        depths = (form.k // 2 if form.sparse else form.k, form.k, form.k)
        a, b, c = (
            matrix_fragment(operand, form.m, depth, bits) for operand, depth in zip(_OPERANDS[:3], depths, strict=True)
        )
        d = c
    read_a, read_b, read_c = (
        reader(decoder, index, fragment.elements, element)
        for index, fragment, element in ((1, a, types[1]), (2, b, types[2]), (3, c, types[3]))
    )
    stored = form.k // 2 if form.sparse else form.k
    metadata = read_selector(decoder, 5, types[1], form.k, form.ordered) if form.sparse else None
    words = decoder.source(4, B32) if form.sparse else None
    scale = read_scales(decoder, 4 + 2 * form.sparse, form) if form.factors else None
    write = writer(decoder, d.elements, form.types[0])
    count = 4 if form.is_quads else 1
    chained = form.is_quads or form.types[1] == "f64"
    multiply = _CHAINED[form.types[1]] if chained else multiply_and_add(decoder, form.types, binary)
    rule = mma_rule(decoder, form.types)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "mma.sync")
        left = to_matrices(a, read_a(group, mask), count, form.m, stored)
        right = to_matrices(b, read_b(group, mask), count, 8, form.k)
        old = to_matrices(c, read_c(group, mask), count, form.m, 8)
        kept: Mask | None = None
        if metadata is not None and words is not None:
            codes = words(group, mask).reshape(-1, WARP)
            kept = metadata.expand(np.ones_like(left[:, 0]), codes)[:, None] != 0
            left = metadata.expand(left[:, 0], codes)[:, None]
        group.cta.launch.observed.multiplied(left, right)
        if scale is not None:
            factors = scale(group, mask)
            total = multiply_scaled(rule, (left, right), factors, old, form.operand_types, form.factor_type, kept)
        elif rule is not None and kept is not None:
            total = multiply_values(rule, left, right, old, (types[1], types[2]), form.types[0], kept)
        else:
            total = multiply(left, right, old)
        write(group, mask, from_matrices(d, total), saturate)

    return step


def mma_rule(decoder: Decoder, types: tuple[str, ...]) -> Rule | None:
    """Returns the rule by which products of types (D, A, B, C) are added on the target; None: exactly."""
    symbols = decoder.symbols
    return find_rule("mma.sync", symbols.target, types[1]) if symbols.arithmetic == "hardware" else None


def multiply_and_add(decoder: Decoder, types: tuple[str, ...], binary: str | None) -> Multiply:
    """
    Returns the function that computes a times the transpose of b, plus c, for types (D, A, B, C).

    `binary` is the operation that is the product of single bits.
    """
    if binary != "xor":
        return multiplier(mma_rule(decoder, types), (types[1], types[2]), types[0])
    # The number of positions where the bits differ: ones of both, less twice the common ones.

    def differing(a: Array, b: Array, c: Array) -> Array:
        return a.sum(axis=-1)[..., :, None] + b.sum(axis=-1)[..., None, :] - 2 * product(a, b) + c

    return differing


def _chained_f32(a: Array, b: Array, c: Array) -> Array:
    total = np.zeros(c.shape)
    for k in range(a.shape[-1]):
        total = _round_f32(odd_sum(a[..., :, None, k] * b[..., None, :, k], total))
    return _round_f32(odd_sum(total, c))


def _round_f32(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)


def _chained_f64(a: Array, b: Array, c: Array) -> Array:
    total = c
    for k in range(a.shape[-1]):
        left, right = np.broadcast_arrays(a[..., :, None, k], b[..., None, :, k])
        total = fused_f64(left.ravel(), right.ravel(), total.ravel(), "rn").reshape(c.shape)
    return total


# f64 adds the products to C one after another, each fused. The four products of f16 m8n8k4 are emulated from sm_80 on:
# such a chain in f32 that begins with zero, then C. An H100 gives the same bits. Others are added exactly here and
# rounded once.
_CHAINED: dict[str, Multiply] = {"f16": _chained_f32, "f64": _chained_f64}


# The elements of an operand, as float64 (elements, warps, 32).
Reader: TypeAlias = Callable[[ThreadGroup, Mask], Array]
# Writes (elements, warps, 32) results (float64), rounded once or (with the flag, integers) saturated.
Writer: TypeAlias = Callable[[ThreadGroup, Mask, Array, bool], None]


def reader(decoder: Decoder, index: int, elements: int, element: str, registers: int | None = None) -> Reader:
    """Reads operand `index` of `elements` elements; `registers` may be more than they fill."""
    bits = _BITS[element]
    register_type = F64 if bits == 64 else B32
    items = decoder.vector(index, registers or elements // max(1, 32 // bits))
    sources: list[Source] = [decoder.source(item, register_type) for item in items]

    def read(group: ThreadGroup, mask: Mask) -> Array:
        words = np.stack([source(group, mask) for source in sources])
        return elements_of(words, element)[:elements].reshape(elements, -1, WARP)

    return read


def elements_of(words: Array, element: str) -> Array:
    """Registers (count, lanes) to float64 (count * elements of a register, lanes), the lowest bits first."""
    if element == "f64":
        return words
    if element == "f32":
        return words.view(np.float32).astype(np.float64)
    if element == "s32":
        return words.view(np.int32).astype(np.float64)
    bits = _BITS[element]
    count = 32 // bits
    if bits < 8:
        shifts = np.arange(0, 32, bits, dtype=np.uint32)[None, :, None]
        codes = (words[:, None, :] >> shifts & np.uint32((1 << bits) - 1)).reshape(-1, words.shape[1])
        if element == "e2m1x2":
            return TABLES["e2m1"][codes]
        values = codes.astype(np.float64)
        return np.where(values >= 8, values - 16, values) if element == "s4" else values
    raw = np.ascontiguousarray(words.swapaxes(0, 1)).view(np.uint8).reshape(words.shape[1], -1)
    if element == "e2m1":  # in bits 2-5 of the byte
        raw = raw >> 2
    return decode_elements(raw, element).swapaxes(0, 1).reshape(words.shape[0] * count, -1)


def writer(decoder: Decoder, elements: int, element: str) -> Writer:
    """Writes operand 0."""
    register_type = F64 if element == "f64" else B32
    items = decoder.vector(0, elements // (2 if element == "f16" else 1))
    puts: list[Destination] = [decoder.destination(item, register_type) for item in items]

    def write(group: ThreadGroup, mask: Mask, values: Array, saturate: bool) -> None:
        registers = registers_of(values.reshape(elements, -1), element, saturate)
        for index, put in enumerate(puts):
            put(group, mask, registers[index])

    return write


def registers_of(values: Array, element: str, saturate: bool) -> Array:
    """The inverse, of results (count * elements of a register, lanes) in float64, rounded once."""
    if element == "f64":
        return values
    if element == "s32":
        whole = values.astype(np.int64)
        if saturate:
            whole = np.clip(whole, -(2**31), 2**31 - 1)
        return (whole & 0xFFFFFFFF).astype(np.uint32)
    if element == "f32":
        return canonical(np.ascontiguousarray(round_to(values, np.dtype(np.float32)))).view(np.uint32)
    halves = canonical(np.ascontiguousarray(round_to(values, np.dtype(np.float16)))).view(np.uint16).astype(np.uint32)
    return halves[0::2] | halves[1::2] << np.uint32(16)
