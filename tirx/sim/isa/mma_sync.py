"""mma.sync (PTX ISA, section 9.7.14.5): products of the matrices in the registers of a warp."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tirx.sim.core.strand import WARP, Strand
from tirx.sim.core.types import B32, F64, Array, Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.fragments import Operand, from_matrices, matrix_fragment, quad_fragment, to_matrices
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.numerics.products import product
from tirx.sim.numerics.rounding import canonical, fused_f64, odd_sum, round_to
from tirx.sim.program.code import Destination, Source, Step

_Types: TypeAlias = tuple[str, str, str, str]  # of D, A, B, C

# Bits of an element in the registers of A and B. Six- and four-bit floats are in bytes of their own.
_BITS = {
    **dict.fromkeys(("f64",), 64),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), 8),
    **dict.fromkeys(("s4", "u4"), 4),
    "b1": 1,
}
_HALF = (("f16", "f16", "f16", "f16"), ("f32", "f16", "f16", "f32"))
_BF16 = (("f32", "bf16", "bf16", "f32"),)
_TF32 = (("f32", "tf32", "tf32", "f32"),)
_DOUBLE = (("f64", "f64", "f64", "f64"),)
_QUADS = (*_HALF, ("f32", "f16", "f16", "f16"))
_BYTES = tuple(("s32", a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8"))
_NIBBLES = tuple(("s32", a, b, "s32") for a in ("s4", "u4") for b in ("s4", "u4"))
_BINARY = (("s32", "b1", "b1", "s32"),)
_FLOAT8 = tuple((d, a, b, d) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2"))
_F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_SMALL_FLOATS = tuple((d, a, b, d) for d in ("f32", "f16") for a in _F8F6F4 for b in _F8F6F4)

_SHAPES: dict[str, tuple[_Types, ...]] = {
    "m8n8k4": _QUADS + _DOUBLE,
    "m8n8k16": _BYTES,
    "m8n8k32": _NIBBLES,
    "m8n8k128": _BINARY,
    "m16n8k4": _TF32 + _DOUBLE,
    "m16n8k8": _HALF + _BF16 + _TF32 + _DOUBLE,
    "m16n8k16": _HALF + _BF16 + _BYTES + _DOUBLE + _FLOAT8,
    "m16n8k32": _BYTES + _NIBBLES + _FLOAT8,
    "m16n8k64": _NIBBLES,
    "m16n8k128": _BINARY,
    "m16n8k256": _BINARY,
}
_LAYOUTS = ("row", "col")
_OPERANDS: tuple[Operand, ...] = ("a", "b", "c", "c")
_ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True, slots=True)
class _Form:
    m: int
    k: int
    types: _Types
    layouts: tuple[str, str]
    kind: str | None

    @property
    def is_quads(self) -> bool:
        """Four 8x8x4 products of f16"""
        return self.k == 4 and self.types[1] == "f16"


def _form(decoder: Decoder) -> _Form:
    decoder.need("sync")
    decoder.need("aligned")
    if decoder.flag("sp") or decoder.take("sp::ordered_metadata"):
        raise decoder.error("sparse mma.sync is not simulated")
    kind = decoder.take("kind::f8f6f4")
    shape = decoder.need(*_SHAPES)
    layouts = (decoder.modifiers.pop(0), decoder.modifiers.pop(0)) if len(decoder.modifiers) > 1 else ("", "")
    if any(layout not in _LAYOUTS for layout in layouts):
        raise decoder.error("expected the layouts of A and B, each .row or .col")
    types = tuple(decoder.modifiers[-4:]) if len(decoder.modifiers) >= 4 else ()
    # .and.popc and .xor.popc follow the types.
    if len(types) == 4 and types[-1] == "popc":
        types = tuple(decoder.modifiers[-6:-2])
    legal = _SMALL_FLOATS if kind else _SHAPES[shape]
    found = next((each for each in legal if each == types), None)
    if found is None or (kind and shape != "m16n8k32"):
        shown = ", ".join(".".join(each) for each in legal[:6])
        raise decoder.error(f"expected types of D, A, B, C for .{shape} such as {shown}")
    start = len(decoder.modifiers) - (6 if decoder.modifiers[-1] == "popc" else 4)
    del decoder.modifiers[start : start + 4]
    sizes = re.findall(r"\d+", shape)
    form = _Form(int(sizes[0]), int(sizes[2]), found, layouts, kind)
    if not form.is_quads and layouts != ("row", "col"):
        raise decoder.error(f"expected .row.col for .{shape}, found .{'.'.join(layouts)}")
    return form


@instruction("mma")
def _mma(decoder: Decoder) -> Step:
    form = _form(decoder)
    decoder.take(*_ROUNDINGS)
    saturate = decoder.flag("satfinite")
    binary = decoder.take("and", "xor")
    if binary:
        decoder.need("popc")
    if (binary is None) == (form.types[1] == "b1"):
        raise decoder.error("expected .and.popc or .xor.popc with .b1, and only with it")
    decoder.finish(4)
    if form.is_quads:
        layouts = (form.layouts[0], form.layouts[1], form.types[3], form.types[0])
        a, b, c, d = (quad_fragment(operand, layout) for operand, layout in zip(_OPERANDS, layouts, strict=True))
    else:
        bits = _BITS[form.types[1]]
        a, b, c = (matrix_fragment(operand, form.m, form.k, bits) for operand in _OPERANDS[:3])
        d = c
    read_a, read_b, read_c = (
        reader(decoder, index, fragment.elements, element)
        for index, fragment, element in ((1, a, form.types[1]), (2, b, form.types[2]), (3, c, form.types[3]))
    )
    write = writer(decoder, d.elements, form.types[0])
    count = 4 if form.is_quads else 1
    chained = form.is_quads or form.types[1] == "f64"
    multiply = _CHAINED[form.types[1]] if chained else _multiply_and_add(binary)

    def step(strand: Strand, mask: Mask) -> None:
        strand.cta.require_converged(strand, mask, "mma.sync")
        left = to_matrices(a, read_a(strand, mask), count, form.m, form.k)
        right = to_matrices(b, read_b(strand, mask), count, 8, form.k)
        old = to_matrices(c, read_c(strand, mask), count, form.m, 8)
        strand.cta.launch.observed.multiplied(left, right)
        total = multiply(left, right, old)
        write(strand, mask, from_matrices(d, total), saturate)

    return step


# A (warps, count, M, K), B (warps, count, N, K) and C (warps, count, M, N) to D.
_Multiply: TypeAlias = Callable[[Array, Array, Array], Array]


def _multiply_and_add(binary: str | None) -> _Multiply:
    if binary != "xor":
        return lambda a, b, c: product(a, b) + c
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
_CHAINED: dict[str, _Multiply] = {"f16": _chained_f32, "f64": _chained_f64}


# The elements of an operand, as float64 (elements, warps, 32).
Reader: TypeAlias = Callable[[Strand, Mask], Array]
# Writes (elements, warps, 32) results (float64), rounded once or (with the flag, integers) saturated.
Writer: TypeAlias = Callable[[Strand, Mask, Array, bool], None]


def reader(decoder: Decoder, index: int, elements: int, element: str, registers: int | None = None) -> Reader:
    """Reads operand `index` of `elements` elements; `registers` may be more than they fill."""
    bits = _BITS[element]
    register_type = F64 if bits == 64 else B32
    items = decoder.vector(index, registers or elements // max(1, 32 // bits))
    sources: list[Source] = [decoder.source(item, register_type) for item in items]

    def read(strand: Strand, mask: Mask) -> Array:
        words = np.stack([source(strand, mask) for source in sources])
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

    def write(strand: Strand, mask: Mask, values: Array, saturate: bool) -> None:
        registers = registers_of(values.reshape(elements, -1), element, saturate)
        for index, put in enumerate(puts):
            put(strand, mask, registers[index])

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
