"""
wmma (PTX ISA, section 9.7.14.3): matrices in opaque fragments.

Which element a register holds is not documented, so that programs cannot depend on it; here element i of a matrix, row
by row, is in lane i % 32. Only the number of registers is that of the ISA.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, F64, TYPES, U32, WARP, Array, Mask, PtxType
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import COLLECTIVE
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.fragments import Fragment, from_matrices, to_matrices
from tirx.sim.isa.mma_sync import Reader, Writer, multiply_and_add, reader, writer
from tirx.sim.isa.ordering import HINTS
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import spaces
from tirx.sim.program.code import Source, Step

_SPACES = {"global": "global", "shared": "shared", "shared::cta": "shared"}
_LAYOUTS = ("row", "col")
# Shapes and the element types of A and B.
_SHAPES = {
    "m16n16k16": ("f16", "bf16", "s8", "u8"),
    "m32n8k16": ("f16", "bf16", "s8", "u8"),
    "m8n32k16": ("f16", "bf16", "s8", "u8"),
    "m16n16k8": ("tf32",),
    "m8n8k4": ("f64",),
    "m8n8k32": ("s4", "u4"),
    "m8n8k128": ("b1",),
}
# Element types of A and B, and those that C and D may have.
_SUMS = {
    "f16": ("f16", "f32"),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    **dict.fromkeys(("s8", "u8", "s4", "u4", "b1"), ("s32",)),
    "f64": ("f64",),
}
_PACKED = ("m8n8k32", "m8n8k128")  # of elements of less than a byte
_MEMORY_TYPES = {
    "f16": "u16",
    "bf16": "u16",
    "s8": "u8",
    "u8": "u8",
    "tf32": "u32",
    "f32": "u32",
    "s32": "u32",
    "f64": "f64",
    "s4": "u32",
    "u4": "u32",
    "b1": "u32",
}
_BITS = {
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("s8", "u8"), 8),
    **dict.fromkeys(("s4", "u4"), 4),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    "b1": 1,
    "f64": 64,
}
_F16_REGISTERS = 8  # of A and B, whatever their shape
_ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Rows and columns of an operand (B is N x K), its element type and the number of its registers."""

    rows: int
    columns: int
    element: str
    registers: int

    @property
    def slots(self) -> int:
        """Elements of a lane."""
        return self.rows * self.columns // WARP

    @property
    def is_packed(self) -> bool:
        return _BITS[self.element] < 8

    def fragment(self) -> Fragment:
        if self.is_packed:  # words of consecutive elements
            linear = np.arange(self.slots)[:, None] + self.slots * np.arange(WARP)[None, :]
        else:
            linear = np.arange(self.slots)[:, None] * WARP + np.arange(WARP)[None, :]
        return Fragment(linear // self.columns, linear % self.columns, np.zeros_like(linear))


def _register(element: str) -> PtxType:
    """The type of the registers that hold elements of a type."""
    return F64 if element == "f64" else B32


def _matrix(shape: str, operand: str, element: str) -> _Matrix:
    m, n, k = (int(size) for size in re.findall(r"\d+", shape))
    rows, columns = {"a": (m, k), "b": (n, k)}.get(operand, (m, n))
    count = rows * columns * _BITS[element] // (WARP * _register(element).bits)
    if element == "f16" and operand in "ab":
        count = _F16_REGISTERS
    return _Matrix(rows, columns, element, count)


def _sums(shape: str) -> list[str]:
    """The element types that C and D of a shape may have."""
    return list(dict.fromkeys(each for factor in _SHAPES[shape] for each in _SUMS[factor]))


@instruction("wmma")
def _wmma(decoder: Decoder) -> Step:
    action = decoder.need("load", "store", "mma")
    if action == "mma":
        return _multiply(decoder)
    operand = decoder.need("a", "b", "c", "d")
    decoder.need("sync")
    decoder.need("aligned")
    layout = decoder.need(*_LAYOUTS)
    shape = decoder.need(*_SHAPES)
    space = _SPACES.get(decoder.take(*_SPACES) or "", "generic")
    decoder.drop(HINTS)
    element = decoder.need(*(_SHAPES[shape] if operand in "ab" else _sums(shape)))
    decoder.finish(2, 3)
    matrix = _matrix(shape, operand, element)
    stride = decoder.source(2, U32) if len(decoder.operands) == 3 else None
    offsets = _Offsets(matrix, layout == ("row" if operand != "b" else "col"), stride)
    if matrix.is_packed and not offsets.by_rows:
        raise decoder.error(f"expected .{'row' if operand == 'a' else 'col'} for .{element}")
    if action == "load":
        load = _load_words if matrix.is_packed else _load
        return load(decoder, matrix, offsets, space)
    return _store(decoder, matrix, offsets, space)


@dataclass(frozen=True, slots=True)
class _Offsets:
    """Offsets of a matrix in memory, in elements; `by_rows`: rows of the operand are contiguous."""

    matrix: _Matrix
    by_rows: bool
    stride: Source | None

    def of(self, group: ThreadGroup, mask: Mask) -> Array:
        """(slots, lanes)"""
        fragment = self.matrix.fragment()
        inner, outer = fragment.columns, fragment.rows
        length = self.matrix.columns
        if not self.by_rows:
            inner, outer, length = outer, inner, self.matrix.rows
        warps = group.warps
        lengths = np.full(len(mask), length) if self.stride is None else self.stride(group, mask).astype(np.int64)
        return np.tile(outer, warps) * lengths[None, :] + np.tile(inner, warps)


def _load(decoder: Decoder, matrix: _Matrix, offsets: _Offsets, space: str) -> Step:
    register_type = _register(matrix.element)
    puts = [decoder.destination(item, register_type) for item in decoder.vector(0, matrix.registers)]
    found = decoder.address(1)
    space, addresses = found.space or space, found.values
    unit = TYPES[_MEMORY_TYPES[matrix.element]]
    per_register = register_type.bits // _BITS[matrix.element]

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wmma.load")
        lanes = np.flatnonzero(mask)
        base, places = addresses(group, mask), offsets.of(group, mask)
        values = np.zeros((matrix.registers * per_register, len(mask)), unit.dtype)
        for slot in range(matrix.slots):
            at = base + (places[slot] * unit.bytes).astype(np.uint64)
            values[slot] = spaces.load(group, lanes, space, at, unit.dtype, 1, COLLECTIVE)[:, 0]
        for put, own in zip(puts, values.reshape(matrix.registers, per_register, len(mask)), strict=True):
            put(group, mask, _packed(own, register_type))

    return step


def _load_words(decoder: Decoder, matrix: _Matrix, offsets: _Offsets, space: str) -> Step:
    """Elements of less than a byte: a word for each lane."""
    put = decoder.destination(decoder.vector(0, 1)[0], B32)
    found = decoder.address(1)
    space, addresses = found.space or space, found.values
    bits = _BITS[matrix.element]

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wmma.load")
        first = offsets.of(group, mask)[0] * bits
        if (first % 32).any():
            raise SimError(f"expected a stride that is a multiple of {32 // bits} elements of .{matrix.element}")
        at = addresses(group, mask) + (first // 8).astype(np.uint64)
        put(group, mask, spaces.load(group, np.flatnonzero(mask), space, at, np.dtype(np.uint32), 1, COLLECTIVE)[:, 0])

    return step


def _packed(values: Array, register_type: PtxType) -> Array:
    """Elements (count, lanes) of one register, the first in the lowest bits."""
    return np.ascontiguousarray(values.T).view(register_type.dtype)[:, 0]


def _store(decoder: Decoder, matrix: _Matrix, offsets: _Offsets, space: str) -> Step:
    register_type = _register(matrix.element)
    sources = [decoder.source(item, register_type) for item in decoder.vector(1, matrix.registers)]
    found = decoder.address(0)
    space, addresses = found.space or space, found.values
    unit = TYPES[_MEMORY_TYPES[matrix.element]]
    per_register = register_type.bits // _BITS[matrix.element]

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wmma.store")
        lanes = np.flatnonzero(mask)
        base, places = addresses(group, mask), offsets.of(group, mask)
        for slot in range(matrix.slots):
            register = np.ascontiguousarray(sources[slot // per_register](group, mask))
            values = register.view(unit.dtype).reshape(len(mask), -1)[:, slot % per_register]
            at = base + (places[slot] * unit.bytes).astype(np.uint64)
            spaces.store(group, lanes, space, at, np.ascontiguousarray(values[:, None]), COLLECTIVE)

    return step


def _multiply(decoder: Decoder) -> Step:
    binary = decoder.take("and", "xor")
    if binary is not None:
        decoder.need("popc")
    decoder.need("sync")
    decoder.need("aligned")
    layouts = [modifier for modifier in decoder.modifiers if modifier in _LAYOUTS]
    decoder.need(*_LAYOUTS)
    decoder.need(*_LAYOUTS)
    shape = decoder.need(*_SHAPES)
    if shape in _PACKED and layouts != ["row", "col"]:
        raise decoder.error(f"expected .row.col for .{shape}")
    if (binary is not None) != (shape == "m8n8k128"):
        raise decoder.error("expected .and.popc or .xor.popc with .b1, and only with it")
    decoder.take(*_ROUNDINGS)
    saturate = decoder.flag("satfinite")
    types = tuple(decoder.modifiers)
    if len(types) == 2:  # f16: only D and C are named
        d, c = types
        types = (d, "f16", "f16", c)
    legal = [(d, each, each, c) for each in _SHAPES[shape] for d in _SUMS[each] for c in _SUMS[each]]
    if types not in legal:
        raise decoder.error(
            f"expected types of D, A, B and C with A and B of {', '.join(_SHAPES[shape])}, "
            f"D and C of {', '.join(_sums(shape))}"
        )
    decoder.modifiers.clear()
    decoder.finish(4)
    matrices = [_matrix(shape, operand, element) for operand, element in zip("dabc", types, strict=True)]
    fragments = [matrix.fragment() for matrix in matrices]
    readers: list[Reader] = [
        reader(decoder, index, matrices[index].slots, types[index], matrices[index].registers) for index in (1, 2, 3)
    ]
    write: Writer = writer(decoder, matrices[0].slots, types[0])
    multiply = multiply_and_add(decoder, types, binary)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wmma.mma")
        a, b, c = (
            to_matrices(fragments[index], read(group, mask), 1, matrices[index].rows, matrices[index].columns)
            for index, read in enumerate(readers, 1)
        )
        group.cta.launch.observed.multiplied(a, b)
        write(group, mask, from_matrices(fragments[0], multiply(a, b, c)), saturate)

    return step
