"""mma.sync and mma.sp (PTX ISA, sections 9.7.14.5 and .6): products of the matrices in the registers of a warp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, F64, WARP, Array, Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.deferred import Products, defer
from tirx.sim.isa.fragments import Operand, Packing, from_matrices, matrix_fragment, quad_fragment, to_matrices
from tirx.sim.isa.mma_forms import Form, read_form
from tirx.sim.isa.mma_scales import Scale, read_scales
from tirx.sim.isa.registry import instruction
from tirx.sim.isa.sparse import Metadata, read_selector
from tirx.sim.isa.words import word_destinations, word_sources
from tirx.sim.numerics.chains import Chain
from tirx.sim.numerics.formats import TABLES, decode_elements
from tirx.sim.numerics.products import product
from tirx.sim.numerics.rounding import bits_of, canonical, fused_f64, odd_sum, propagated, round_to
from tirx.sim.numerics.tensor_cores import Multiply, Rule, multiplier, multiply_scaled, multiply_values, rule_of
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
_OPERANDS: tuple[Operand, ...] = ("a", "b", "c")
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
    bits = _BITS[types[1]]
    stored = form.k // 2 if form.sparse else form.k
    metadata = read_selector(decoder, 5, types[1], form.k, form.ordered) if form.sparse else None
    words = decoder.source(4, B32) if form.sparse else None
    scale = read_scales(decoder, 4 + 2 * form.sparse, form) if form.factors else None
    chained = (form.is_quads or form.types[1] == "f64") and decoder.symbols.arithmetic != "modular"
    multiply = _CHAINED[form.types[1], form.types[0]] if chained else multiply_and_add(decoder, form.types, binary)
    rule = mma_rule(decoder, form.types)
    if bits in (8, 16, 32):
        return _packed(decoder, form, stored, saturate, _Sum(multiply, rule, form, metadata, words, scale))
    a, b, c = (
        matrix_fragment(operand, form.m, depth, bits)
        for operand, depth in zip(_OPERANDS, (stored, form.k, form.k), strict=True)
    )
    read_a, read_b, read_c = (
        reader(decoder, index, fragment.elements, element)
        for index, fragment, element in ((1, a, types[1]), (2, b, types[2]), (3, c, types[3]))
    )
    write = writer(decoder, c.elements, form.types[0])
    total = _Sum(multiply, rule, form, metadata, words, scale)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "mma.sync")
        left = to_matrices(a, read_a(group, mask), 1, form.m, stored)
        right = to_matrices(b, read_b(group, mask), 1, 8, form.k)
        old = to_matrices(c, read_c(group, mask), 1, form.m, 8)
        write(group, mask, from_matrices(c, total.of(group, mask, left, right, old)), saturate)

    return step


@dataclass(frozen=True, slots=True)
class _Sum:
    """The arithmetic of an instruction. `words` are those of the metadata of a sparse A."""

    multiply: Multiply
    rule: Rule | None
    form: Form
    metadata: Metadata | None
    words: Source | None
    scale: Scale | None

    @property
    def is_plain(self) -> bool:
        """Returns True if the sum needs nothing but A, B and C."""
        return self.metadata is None and self.scale is None

    def of(self, group: ThreadGroup, mask: Mask, a: Array, b: Array, c: Array) -> Array:
        """A (warps, products, M, K) times the transpose of B, plus C."""
        form, kept = self.form, None
        if self.metadata is not None:
            assert self.words is not None
            codes = self.words(group, mask).reshape(-1, WARP)
            stored = a.reshape(-1, *a.shape[2:])  # one product in a warp
            kept = self.metadata.expand(np.ones_like(stored), codes)[:, None] != 0
            a = self.metadata.expand(stored, codes)[:, None]
        group.cta.launch.observed.multiplied(a, b)
        if self.scale is not None:
            factors = self.scale(group, mask)
            return multiply_scaled(self.rule, (a, b), factors, c, form.operand_types, form.factor_type, kept)
        if self.rule is not None and kept is not None:
            return multiply_values(self.rule, a, b, c, (form.types[1], form.types[2]), form.types[0], kept)
        return self.multiply(a, b, c)


def _packed(decoder: Decoder, form: Form, stored: int, saturate: bool, total: _Sum) -> Step:
    """Products of elements of 8, 16 or 32 bits, all registers of an operand at once."""
    types = form.operand_types
    packings = _packings(form.is_quads, form.layouts, types, form.m, stored, form.k)
    reads = [
        word_sources(decoder, decoder.vector(index + 1, packing.registers))
        for index, packing in enumerate(packings[:3])
    ]
    write = word_destinations(decoder, decoder.vector(0, packings[3].registers))
    read_a, read_b, read_c = reads
    of_a, of_b, of_c, of_d = packings
    key = total.rule, types, form.layouts, form.m, form.k, saturate
    chains = total.rule is not None and not form.is_quads and types[0] == types[3]
    old, results = (_rows(decoder, index, packing.registers) for index, packing in ((3, of_c), (0, of_d)))

    def multiply(group: ThreadGroup, mask: Mask, words: Sequence[Array]) -> Array:
        a, b, c = (
            numbers(packing.unpack(each), element)
            for packing, each, element in zip((of_a, of_b, of_c), words, types[1:], strict=True)
        )
        return of_d.pack(raw_results(total.of(group, mask, a, b, c), types[0], saturate))

    def multiply_chains(group: ThreadGroup, mask: Mask, a: Array, b: Array, c: Array) -> Array:
        if total.rule is None or len(a) == 1:
            return multiply(group, mask, (a[0], b[0], c))
        chain = Chain(total.rule, (types[1], types[2]), types[0])
        left, right = numbers(of_a.unpack(a), types[1]), numbers(of_b.unpack(b), types[2])
        for step in range(len(a)):
            chain.add(left[step], right[step])
        return of_d.pack(raw_results(chain.plus(numbers(of_c.unpack(c), types[3])), types[0], saturate))

    waiting = None
    if results is not None and total.is_plain:
        waiting = Products(key, multiply_chains, chains, old, results)
        factors = [decoder.register_of(item) for index in (1, 2) for item in decoder.items(index)]
        decoder.needed = frozenset(each.row for each in factors if each is not None)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "mma.sync")
        if waiting is not None and group.defers:
            readers = (lambda: read_a(group, mask)), (lambda: read_b(group, mask)), (lambda: read_c(group, mask))
            defer(group, waiting, mask, *readers, write)
        else:
            group.finish_deferred()
            write(group, mask, multiply(group, mask, [read(group, mask) for read in reads]))

    return step


def _rows(decoder: Decoder, index: int, count: int) -> tuple[int, ...] | None:
    """The registers of a vector, as rows of their bank; None if not all of its elements are registers."""
    found = [decoder.register_of(item) for item in decoder.vector(index, count)]
    registers = [register for register in found if register is not None]
    return tuple(register.row for register in registers) if len(registers) == len(found) else None


@lru_cache(maxsize=64)
def _packings(
    is_quads: bool, layouts: tuple[str, str], types: tuple[str, ...], m: int, stored: int, k: int
) -> tuple[Packing, Packing, Packing, Packing]:
    """Returns the packings of A, B, C and D in registers."""
    type_d, type_a, type_b, type_c = types
    if is_quads:
        layout_a, layout_b = layouts
        of_a, of_b = quad_fragment("a", layout_a), quad_fragment("b", layout_b)
        of_c, of_d = quad_fragment("c", type_c), quad_fragment("c", type_d)
    else:
        bits = _BITS[type_a]
        of_a, of_b = matrix_fragment("a", m, stored, bits), matrix_fragment("b", m, k, bits)
        of_c = of_d = matrix_fragment("c", m, k, bits)
    return (
        of_a.packing(_BITS[type_a], m, stored),
        of_b.packing(_BITS[type_b], 8, k),
        of_c.packing(_BITS[type_c], m, 8),
        of_d.packing(_BITS[type_d], m, 8),
    )


def numbers(raw: Array, element: str) -> Array:
    """Bits of elements (the last axis contiguous) to numbers: float64 for s32, otherwise float32."""
    if element == "f32":
        return raw.view(np.float32)
    if element == "s32":
        return raw.view(np.int32).astype(np.float64)
    if element == "e2m1":  # in bits 2-5 of the byte
        raw = raw >> 2
    return decode_elements(raw.view(np.uint8), element)


def raw_results(values: Array, element: str, saturate: bool) -> Array:
    """Results, rounded once, as bits of elements; integers wrap, or are saturated."""
    if element == "s32":
        whole = values.astype(np.int64)
        if saturate:
            whole = np.clip(whole, -(2**31), 2**31 - 1)
        return (whole & 0xFFFFFFFF).astype(np.uint32)
    dtype = np.dtype(np.float32) if element == "f32" else np.dtype(np.float16)
    if values.dtype != dtype:
        values = round_to(values.astype(np.float64, copy=False), dtype)
    return bits_of(canonical(np.ascontiguousarray(values)))


def mma_rule(decoder: Decoder, types: tuple[str, ...]) -> Rule | None:
    """Returns the rule by which products of types (D, A, B, C) are added on the target; None: exactly."""
    symbols = decoder.symbols
    return rule_of(symbols.arithmetic, "mma.sync", symbols.target, types[1])


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
    return _round_f32(odd_sum(_dots_f32(a, b, range(a.shape[-1])), c))


def _paired_f32(a: Array, b: Array, c: Array) -> Array:
    first, second = (_dots_f32(a, b, pair) for pair in (range(2), range(2, 4)))
    return _round_f32(odd_sum(_round_f32(odd_sum(first, c)), second))


def _dots_f32(a: Array, b: Array, places: range) -> Array:
    """Products at some places along K in order, each added with one rounding to f32."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    total = np.zeros((*a.shape[:-1], b.shape[-2]))
    for k in places:
        total = _round_f32(odd_sum(a[..., :, None, k] * b[..., None, :, k], total))
    return total


def _round_f32(values: Array) -> Array:
    return values.astype(np.float32).astype(np.float64)


def _chained_f64(a: Array, b: Array, c: Array) -> Array:
    total = c
    for k in range(a.shape[-1]):
        left, right = np.broadcast_arrays(a[..., :, None, k], b[..., None, :, k])
        first, second, third = left.ravel(), right.ravel(), total.ravel()
        total = propagated(fused_f64(first, second, third, "rn"), second, third, first).reshape(c.shape)
    return total


# f64 adds the products to C one after another, each fused, as an H200 does. m8n8k4 of f16 is emulated from sm_80 on, as
# its machine code shows and an H200 confirms, bit for bit: for f32 results the four products are such a chain in f32
# that begins with zero, and then C is added; for f16 results the sums of the first and of the second two products are
# added to C, in f32. Others are added exactly here and rounded once.
_CHAINED: dict[tuple[str, str], Multiply] = {
    ("f16", "f32"): _chained_f32,
    ("f16", "f16"): _paired_f32,
    ("f64", "f64"): _chained_f64,
}


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
    raw = raw_results(values, element, saturate)
    return raw if element in ("f32", "s32") else raw[0::2].astype(np.uint32) | raw[1::2].astype(np.uint32) << 16
