"""Effects of emitted operations on memory, for the lanes of a warp that may take branches."""

from __future__ import annotations

import numpy as np
from unit.passes.evaluation import Lanes, dtype_of, evaluated
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.cp_async import CpAsyncOp
from tirx.dialects.ptx.memory import LdOp, LdU8Op, StOp, StU8Op
from tirx.dialects.ptx.reductions import RedOp
from tirx.dialects.ptx.sync import BarWarpSyncOp

BASES = {"global": 0x7F00_0000_1000, "shared": 0x1000}
"""The address of the first byte of each space."""


class Memory:
    """The bytes of each space, and operations that read and write them."""

    def __init__(self, **spaces: Lanes):
        self.spaces = spaces
        self.sizes: set[int] = set()
        """Bytes of the loads, stores and copies so far."""
        self.barriers = 0
        """Number of times that the lanes of a warp have come together."""

    def run(self, block: Block, values: dict[SSAValue, Lanes], lanes: Lanes | None = None) -> list[Lanes]:
        """Executes a block in the lanes that are marked, all of them unless it is said; returns what it yields."""
        active = np.full(32, True) if lanes is None else lanes
        for op in block.ops:
            match op:
                case scf.YieldOp():
                    return [values[operand] for operand in op.operands]
                case scf.IfOp():
                    taken = values[op.cond] != 0
                    true, false = (
                        self.run(region.block, values, active & which) if region.blocks else []
                        for region, which in ((op.true_region, taken), (op.false_region, ~taken))
                    )
                    for i, result in enumerate(op.results):
                        values[result] = np.where(taken, true[i], false[i])
                case BarWarpSyncOp():
                    assert active.all() or not active.any()
                    self.barriers += bool(active.all())
                case LdOp() | LdU8Op() | StOp() | StU8Op() | RedOp() | CpAsyncOp():
                    values.update({each: np.zeros(32, dtype_of(each.type)) for each in op.results})
                    if active.any():
                        self._access(op, values, active)
                case _:
                    evaluated([op], values)
        return []

    def _bytes(self, space: str, addresses: Lanes, offset: int, count: int) -> Lanes:
        """The numbers of the bytes of accesses, (lanes, bytes), each of which is aligned to its size."""
        at = addresses.astype(np.int64) + (offset - BASES[space])
        assert (at % count == 0).all() and at.min() >= 0 and at.max() + count <= len(self.spaces[space])
        self.sizes.add(count)
        return at[:, None] + np.arange(count)

    def _access(self, op: Operation, values: dict[SSAValue, Lanes], active: Lanes) -> None:
        match op:
            case LdOp() | StOp() | LdU8Op() | StU8Op():
                registers = op.operands[1:] if isinstance(op, StOp | StU8Op) else op.results
                dtype = np.dtype(dtype_of(registers[0].type))
                size = 1 if isinstance(op, LdU8Op | StU8Op) else dtype.itemsize
                space, offset = op.space.data.value, op.offset.value.data
                places = self._bytes(space, values[op.address][active], offset, size * len(registers))
                for i, register in enumerate(registers):
                    part = places[:, i * size : (i + 1) * size]
                    if isinstance(op, StOp | StU8Op):
                        self.spaces[space][part] = values[register][active, None].view(np.uint8)[:, :size]
                        continue
                    found = np.zeros((len(part), dtype.itemsize), np.uint8)
                    found[:, :size] = self.spaces[space][part]
                    values[register][active] = found.view(dtype)[:, 0]
            case RedOp():
                assert op.operation.data.value == "add"
                dtype = np.dtype(np.float16 if op.format is not None else dtype_of(op.data[0].type))
                data = np.stack([values[each][active] for each in op.data], 1).view(dtype)
                count = data.shape[1] * dtype.itemsize
                places = self._bytes("global", values[op.address][active], op.offset.value.data, count)
                np.add.at(self.spaces["global"].view(dtype), places[:, :: dtype.itemsize] // dtype.itemsize, data)
            case CpAsyncOp():
                count = op.bytes.value.data
                assert op.cache.data == ("cg" if count == 16 else "ca")
                read = np.full(32, count) if op.source_bytes is None else values[op.source_bytes].astype(np.int64)
                assert (read <= count).all()
                source = values[op.src].astype(np.int64) + op.source_offset.value.data - BASES["global"]
                exist = np.arange(count) < read[active, None]
                written = np.zeros(exist.shape, np.uint8)
                written[exist] = self.spaces["global"][(source[active, None] + np.arange(count))[exist]]
                assert (source[active][read[active] > 0] % count == 0).all()
                places = self._bytes("shared", values[op.dst][active], op.offset.value.data, count)
                self.spaces["shared"][places] = written
            case _:
                raise AssertionError(op)
