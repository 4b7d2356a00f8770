"""Instruction descriptors of tcgen05.mma (PTX ISA, section 9.7.16.4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from tirx.sim.errors import SimError
from tirx.sim.targets import TARGETS


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A `.kind`: `depth` is K of a dense instruction, `element` the bytes of an operand's element in shared memory (0: two
    elements in a byte); `types` and `results` are the codes of operand and D types.

    Block-scaled kinds have `scales`, the codes of the types of scale factors, and no code for D, which is f32.
    """

    name: str
    depth: int
    element: int
    types: dict[int, str]
    results: dict[int, str]
    scales: dict[int, str] = field(default_factory=dict[int, str])

    def bytes_of(self, depth: int) -> int:
        """Bytes of `depth` elements along K."""
        return depth * self.element or depth // 2


_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
KINDS = {
    "f16": Kind("f16", 16, 2, {0: "f16", 1: "bf16"}, {0: "f16", 1: "f32"}),
    "tf32": Kind("tf32", 8, 4, {2: "tf32"}, {1: "f32"}),
    "f8f6f4": Kind("f8f6f4", 32, 1, _SMALL, {0: "f16", 1: "f32"}),
    "i8": Kind("i8", 32, 1, {0: "u8", 1: "s8"}, {2: "s32"}),
    "ti16": Kind("ti16", 16, 2, {3: "s1z4m11"}, {2: "s32"}),
    "mxf8f6f4": Kind("mxf8f6f4", 32, 1, _SMALL, {}, {1: "ue8m0"}),
    "mxf4": Kind("mxf4", 64, 0, {1: "e2m1"}, {}, {1: "ue8m0"}),
    "mxf4nvf4": Kind("mxf4nvf4", 64, 0, {1: "e2m1"}, {}, {0: "ue4m3", 1: "ue8m0", 2: "ue5m3"}),
}
NARROW = ("e2m3", "e3m2", "e2m1")  # types of less than 8 bits
_SELECTING = ("f16", "tf32", "ti16")  # kinds with a sparsity selector
# Reserved fields: lowest bit and width.
_RESERVED = ((6, 1), (23, 1))
_RESERVED_SCALED = ((6, 1), (25, 1))
# Fields that older targets reserve: lowest bit, width, and which kinds have them.
_RUBIN_TARGETS = TARGETS["tcgen05.wide_K"]
_RUBIN_FIELDS = ((12, 1, "packed"), (24, 1, "scaled"), (26, 1, "scaled"))
# Larger K: kind -> the bits of its code, lowest first; the elements of A that are stored, for the codes 1 and 2, and
# the targets. Only those of `_WIDE_SPARSE` exist with a sparse A.
_K96 = (96, TARGETS["tcgen05.K96"])
_WIDE: dict[str, tuple[tuple[int, ...], tuple[tuple[int, tuple[str, ...]], ...]]] = {
    "f8f6f4": ((29,), ((64, _RUBIN_TARGETS),)),
    "mxf8f6f4": ((31,), ((64, _RUBIN_TARGETS),)),
    "mxf4": ((31, 3), (_K96, (128, _RUBIN_TARGETS))),
    "mxf4nvf4": ((31, 3), (_K96, (128, _RUBIN_TARGETS))),
}
_WIDE_SPARSE = (("mxf8f6f4", 1), ("mxf4", 1), ("mxf4nvf4", 1))
_MAX_SHIFTS = (0, 8, 16, 32)
_WEIGHT_STATIONARY = ((32, 64, 128), (64, 128, 256))
_MAX_SPARSE_WEIGHT_STATIONARY = 128  # N
# i8 has steps of 16 in N, and these below 32.
_I8_SMALL_N = (8, 24)


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """
    The decoded fields; `transpose` means MN-major.

    `scale` is the type of the scale factors, and `scale_ids` (A, B) are the bytes of a word where they start.
    `selector` is the column of the metadata of a `sparse` A. `depth` elements of A along K are stored: all, or of a
    sparse A half. `version` 1 of a sparse 4-bit A has codes of elements instead of pairs. The scale factors of A are in
    32 lanes or in 128.
    """

    kind: Kind
    a: str
    b: str
    d: str
    m: int
    n: int
    negate_a: bool
    negate_b: bool
    transpose_a: bool
    transpose_b: bool
    saturate: bool
    max_shift: int
    scale: str | None = None
    scale_ids: tuple[int, int] = (0, 0)
    sparse: bool = False
    selector: int = 0
    depth: int = 0
    version: int = 0
    a_scale_lanes: int = 32

    @property
    def is_wide(self) -> bool:
        """Returns True if K is larger than the smallest of the kind."""
        return self.depth != self.kind.depth

    @property
    def b_depth(self) -> int:
        """K of B."""
        return self.depth * 2 if self.sparse else self.depth


_BitsAt: TypeAlias = Callable[[int, int], int]
"""(lowest bit, count of bits) -> field."""


@lru_cache(maxsize=256)
def decode_instruction_descriptor(
    bits: int, kind_name: str, weight_stationary: bool, sparse: bool, pair: bool, target: str = ""
) -> InstructionDescriptor:
    """
    Decodes a 32-bit instruction descriptor; `sparse` and `pair` are those of the opcode.

    Raises SimError for fields that are reserved, types that the kind does not have, and shapes that do not exist.
    """

    def bits_at(low: int, width: int) -> int:
        return (bits >> low) & ((1 << width) - 1)

    kind = KINDS[kind_name]
    problem = _illegal_field(bits_at, kind, kind_name, sparse, target)
    if not problem:
        decoded = _decoded(bits_at, kind, sparse)
        problem = _problem(decoded, weight_stationary, pair)
        if not problem:
            return decoded
    raise SimError(f"illegal instruction descriptor {bits:#010x} for kind::{kind_name}: {problem}")


def _illegal_field(bits_at: _BitsAt, kind: Kind, kind_name: str, sparse: bool, target: str) -> str:
    """Returns the problem of a single field, or an empty string."""
    if bool(bits_at(2, 1)) != sparse:
        return f"bit 2 is {bits_at(2, 1)}, but the instruction is {'sparse' if sparse else 'dense'}"
    if bits_at(0, 2) and not (sparse and kind_name in _SELECTING):
        return f"sparsity selector {bits_at(0, 2)} (bits 0-1), which is for sparse {' and '.join(_SELECTING)} only"
    for low, width in _RESERVED_SCALED if kind.scales else _RESERVED:
        if bits_at(low, width):
            return f"bit {low} must be zero" if width == 1 else f"bits {low}-{low + width - 1} must be zero"
    for name, low in (("A", 7), ("B", 10)):
        width = 2 if name == "B" and kind.element == 0 else 3
        if bits_at(low, width) not in kind.types:
            return f"type code {bits_at(low, width)} of {name}, expected one of {kind.types}"
    if kind.results and bits_at(4, 2) not in kind.results:
        return f"type code {bits_at(4, 2)} of D, expected one of {kind.results}"
    if kind.scales and bits_at(23, 2) not in kind.scales:
        return f"type code {bits_at(23, 2)} of the scale factors (bits 23-24), expected one of {kind.scales}"
    if not kind.element and kind.scales and sparse and bool(bits_at(12, 1)) != (target in _RUBIN_TARGETS):
        return f"sparsity version {bits_at(12, 1)} (bit 12) of a sparse A on {target}"
    for low, width, of in _RUBIN_FIELDS:
        present = bool(kind.scales) and (of == "scaled" or not kind.element)
        if present and bits_at(low, width) and target not in _RUBIN_TARGETS:
            return f"bit {low} must be zero on {target or 'no target'}"
    return _illegal_depth(bits_at, kind_name, sparse, target)


def _code_of_depth(bits_at: _BitsAt, kind_name: str) -> int:
    places, _ = _WIDE.get(kind_name, ((), ()))
    return sum(bits_at(bit, 1) << place for place, bit in enumerate(places))


def _illegal_depth(bits_at: _BitsAt, kind_name: str, sparse: bool, target: str) -> str:
    """Returns the problem of the code of K, or an empty string."""
    code = _code_of_depth(bits_at, kind_name)
    places, depths = _WIDE.get(kind_name, ((29,) if kind_name in ("f16", "tf32", "i8", "ti16") else (), ()))
    if not depths or code == 0:
        if any(bits_at(bit, 1) for bit in places):
            return f"bit {places[0]} must be zero"
        return "bit 3 must be zero" if kind_name == "mxf8f6f4" and bits_at(3, 1) else ""
    if code > len(depths) or (sparse and (kind_name, code) not in _WIDE_SPARSE):
        return f"there is no K with code {code}{' and a sparse A' if sparse else ''}"
    if kind_name == "mxf8f6f4" and bits_at(3, 1):
        return "bit 3 must be zero"
    depth, targets = depths[code - 1]
    if target not in targets:
        return f"K = {depth} (code {code}) exists on {', '.join(targets)}, not on {target}"
    return ""


def _decoded(bits_at: _BitsAt, kind: Kind, sparse: bool) -> InstructionDescriptor:
    return InstructionDescriptor(
        kind=kind,
        a=kind.types[bits_at(7, 3)],
        b=kind.types[bits_at(10, 3 if kind.element else 2)],
        d=kind.results[bits_at(4, 2)] if kind.results else "f32",
        m=bits_at(27, 2) << 7 if kind.scales else bits_at(24, 5) << 4,
        n=bits_at(17, 6) << 3,
        negate_a=bool(bits_at(13, 1)),
        negate_b=bool(bits_at(14, 1)),
        transpose_a=bool(bits_at(15, 1)),
        transpose_b=bool(bits_at(16, 1)),
        saturate=not kind.scales and bool(bits_at(3, 1)),
        max_shift=0 if kind.scales else _MAX_SHIFTS[bits_at(30, 2)],
        scale=kind.scales[bits_at(23, 2)] if kind.scales else None,
        scale_ids=(bits_at(29, 2), bits_at(4, 2)) if kind.scales else (0, 0),
        sparse=sparse,
        selector=bits_at(0, 2),
        depth=_WIDE[kind.name][1][code - 1][0] if (code := _code_of_depth(bits_at, kind.name)) else kind.depth,
        version=bits_at(12, 1) if kind.element == 0 else 0,
        a_scale_lanes=128 if kind.scales and bits_at(26, 1) else 32,
    )


def _problem(decoded: InstructionDescriptor, weight_stationary: bool, pair: bool) -> str:
    """Returns the problem of a combination of fields, or an empty string."""
    is_i8 = decoded.kind.name == "i8"
    if decoded.saturate and not is_i8:
        return "saturate (bit 3) is for kind::i8"
    if is_i8 and (decoded.negate_a or decoded.negate_b):
        return "negation (bits 13, 14) is not for kind::i8"
    # Types of A and B may differ: NVIDIA's builder of descriptors and CUTLASS have such words.
    if decoded.d == "f16" and "bf16" in (decoded.a, decoded.b):
        return f"D is f16, but A is {decoded.a} and B is {decoded.b}"
    if decoded.kind.name == "ti16" and (decoded.transpose_a or decoded.transpose_b):
        return "transposes of kind::ti16 (bits 15, 16), about which two tables of the ISA contradict each other"
    if decoded.kind.name == "f8f6f4" and decoded.is_wide and {decoded.a, decoded.b} & set(NARROW):
        return f"K = {decoded.depth} of {decoded.a} and {decoded.b}, expected e4m3 or e5m2"
    for name, element, transposed in (("A", decoded.a, decoded.transpose_a), ("B", decoded.b, decoded.transpose_b)):
        if transposed and (element in NARROW or decoded.kind.element == 0):
            return f"{name} is {element}, which cannot be MN-major"
    if decoded.max_shift and not weight_stationary:
        return "the maximum shift (bits 30-31) is for tcgen05.mma.ws"
    if not (_pair_shape_exists(decoded) if pair else _shape_exists(decoded, weight_stationary)):
        form = (" of .ws" if weight_stationary else " of cta_group::2" if pair else "") + (
            " with a sparse A" if decoded.sparse else ""
        )
        return f"there is no shape M={decoded.m}, N={decoded.n}{form}"
    return ""


def _pair_shape_exists(decoded: InstructionDescriptor) -> bool:
    # Block-scaled kinds with a sparse A, and larger K, have no M = 128.
    only_256 = decoded.is_wide or (decoded.kind.scales and decoded.sparse)
    if decoded.m not in ((256,) if only_256 else (128, 256)):
        return False
    step = 32 if decoded.kind.name == "i8" or (decoded.transpose_b and decoded.kind.element == 1) else 16
    return step <= decoded.n <= 256 and decoded.n % step == 0


def _shape_exists(decoded: InstructionDescriptor, weight_stationary: bool) -> bool:
    m, n = decoded.m, decoded.n
    if decoded.is_wide and (weight_stationary or m != 128):
        return False
    if weight_stationary:
        most = _MAX_SPARSE_WEIGHT_STATIONARY if decoded.sparse else 256
        return m in _WEIGHT_STATIONARY[0] and n in _WEIGHT_STATIONARY[1] and n <= most
    if m not in ((128,) if decoded.kind.scales else (64, 128)) or not 8 <= n <= 256:
        return False
    if decoded.transpose_b and decoded.kind.element == 1:
        return n % 16 == 0
    if decoded.kind.scales:
        return True
    if decoded.kind.name == "i8":
        return n in _I8_SMALL_N or n % 16 == 0
    return True
