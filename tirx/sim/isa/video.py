"""SIMD video instructions: bytes and half-words of a register (PTX ISA, section 9.7.19)."""

from __future__ import annotations

import re

import numpy as np

from tirx.sim.core.types import B32, TYPES, U32, Array, Binary
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.program.code import Step

_OPERATIONS: dict[str, Binary] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,  # ties away from zero
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
_COMPARISONS: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@instruction(*(f"{name}{count}" for name in (*_OPERATIONS, "vset") for count in (2, 4)))
def _video(decoder: Decoder) -> Step:
    """vop{2,4}.dtype.atype.btype[.sat|.add] d, a, b, c: parts of a and b; with .add their sum is added to c."""
    name, count = decoder.root[:-1], int(decoder.root[-1])
    types = [decoder.need("u32", "s32") for _ in range(2 if name == "vset" else 3)]
    comparison = decoder.need(*_COMPARISONS) if name == "vset" else None
    saturates, adds = decoder.flag("sat"), decoder.flag("add")
    if any(re.search(r"\.[bh]\d", str(operand)) for operand in decoder.operands):
        raise decoder.error("selected parts of operands are not simulated")
    decoder.finish(4)
    operation = _OPERATIONS[name] if comparison is None else _COMPARISONS[comparison]
    a_type, b_type = types[-2:]
    # Comparisons have no type of the result: their parts are 0 or 1.
    kind = "u" if comparison else types[0][0]
    part = np.dtype(f"{kind.replace('s', 'i')}{4 // count}")
    limits = np.iinfo(part)

    def parts(values: Array, own: str) -> Array:
        dtype = np.dtype(f"{'i' if own == 's32' else 'u'}{4 // count}")
        return np.ascontiguousarray(values).view(dtype).reshape(-1, count).astype(np.int64)

    def combine(a: Array, b: Array, c: Array) -> Array:
        found = operation(parts(a, a_type), parts(b, b_type)).astype(np.int64)
        if adds:
            return (found.sum(axis=1) + c.astype(np.int64)).astype(np.uint32)
        if saturates:
            found = np.clip(found, limits.min, limits.max)
        return np.ascontiguousarray(found.astype(part)).view(np.uint32)[:, 0]

    return elementwise(decoder, combine, U32, B32, B32, TYPES["u32"])
