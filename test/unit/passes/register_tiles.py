"""Register tiles of one warp: their layouts as text, their contents as arrays, and what is emitted for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from unit.passes.evaluation import Lanes, dtype_of, evaluated
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.tirx import BroadcastOp, ConvertOp, ReduceOp, ScanOp, TileType
from tirx.layout import TileLayout
from tirx.layout.ownership import held_elements
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format

Emission = Callable[[Emitter, Any, Sequence[SSAValue]], Sequence[SSAValue]]


def register_tile(dims: str, element: str, layout: str) -> str:
    return f"!tirx.tile<{dims}x{element}, register, #tirx.tile_layout<{layout}>>"


def operation(name: str, source: str, result: str) -> Any:
    """A `tirx` operation from a tile to another one."""
    text = f"""
tirx.kernel @k() target("sm_100a") threads(32) {{
  %s = tirx.zero : {source}
  %r = tirx.{name.format("%s")} : {source} -> {result}
  tirx.return
}}"""
    module = parsed(text)
    return next(op for op in module.walk() if isinstance(op, BroadcastOp | ConvertOp | ReduceOp | ScanOp))


def random_layout(rng: random.Random) -> tuple[tuple[int, ...], str]:
    """A layout of a tile of two dimensions in a warp, of iters in any order, some with gaps, offsets or replicas."""
    iters: list[tuple[int, int, str]] = []
    left = {"@laneid": 32, "": 8}
    for name, most in left.items():
        stride = rng.choice((1, 1, 1, 2))
        for _ in range(rng.randint(0, 3)):
            extent = rng.choice((2, 2, 4, 8, 3))
            if stride * extent > most:
                break
            iters.append((extent, stride * rng.choice((1, 1, 1, 1, -1)), name))
            stride *= extent * rng.choice((1, 1, 1, 2))
        left[name] = stride
    rng.shuffle(iters)
    low = {name: sum(-stride * (n - 1) for n, stride, axis in iters if axis == name and stride < 0) for name in left}
    cut = rng.randint(0, len(iters))
    dims = tuple(int(np.prod([n for n, _, _ in part], dtype=int)) for part in (iters[:cut], iters[cut:]))
    extents, strides = ", ".join(str(n) for n, _, _ in iters), ", ".join(f"{s}{axis}" for _, s, axis in iters)
    text = f"S[({extents}) : ({strides})]" if iters else "S[1 : 1]"
    if 1 < (rest := 32 // left["@laneid"]) and not low["@laneid"] and rng.random() < 0.6:
        text += f" + R[{rest} : {left['@laneid']}@laneid]"
    return dims, text + "".join(f" + {at}{name}" for name, at in low.items() if at)


def held_by_lanes(type_: TileType) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The element in each slot of each lane, -1 for slots without one."""
    assert isinstance(type_.layout, TileLayout)
    held = held_elements(type_.layout, type_.dims, 32)
    slots = register_format(type_).slots
    return np.pad(held, ((0, 0), (0, slots - held.shape[1])), constant_values=-1)


def packed(type_: TileType, contents: Lanes) -> list[Lanes]:
    """The registers of slots, (lanes, slots), whose elements have the bits of `contents`."""
    format_, bits = register_format(type_), type_.dtype.storage_bits
    words = np.zeros((32, format_.count), np.uint64)
    for slot in range(format_.slots):
        words[:, slot // format_.packed] |= contents[:, slot].astype(np.uint64) << np.uint64(
            slot % format_.packed * bits
        )
    dtype = np.dtype(dtype_of(format_.type))
    return [words[:, i].astype(f"u{dtype.itemsize}").view(dtype) for i in range(format_.count)]


def unpacked(type_: TileType, registers: Sequence[Lanes]) -> Lanes:
    """The bits of the elements in each slot, (lanes, slots)."""
    format_, bits = register_format(type_), type_.dtype.storage_bits
    words = [each.view(f"u{each.dtype.itemsize}").astype(np.uint64) for each in registers]
    each = [
        words[slot // format_.packed] >> np.uint64(slot % format_.packed * bits) & np.uint64((1 << bits) - 1)
        for slot in range(format_.slots)
    ]
    return np.stack(each, 1)


def run(type_: TileType, result: TileType, contents: Lanes, emission: Emission) -> tuple[Lanes, list[Operation]]:
    """The bits of the slots of the result, and what was emitted, for the bits of the slots of the source."""
    format_ = register_format(type_)
    block = Block(arg_types=[*[format_.type] * format_.count, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    registers = emission(emit, block.args[-1], block.args[:-1])
    values: dict[SSAValue, Lanes] = dict(zip(block.args[:-1], packed(type_, contents), strict=True))
    values[block.args[-1]] = np.arange(64, 96, dtype=np.uint32)  # the third warp
    evaluated(block.ops, values)
    return unpacked(result, [values[each] for each in registers]), list(block.ops)


def names_of(ops: Sequence[Operation]) -> set[str]:
    return {op.name for op in ops if op.operands}
