"""Sums over the blocks of a cluster: each block reads its share of all sums from the shared memory of the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32

from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.memory import ACCESS_BITS, LdOp, MapaOp, Space, StOp
from tirx.dialects.tirx import ClusterSumOp, TileType
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.kernels.kernel_lowering import Place, Registers
from tirx.passes.kernels.roles import meet_cluster


def cluster_sum(op: ClusterSumOp, at: Place) -> Sequence[Registers]:
    """
    Emits the exchange: threads of the same number have the same elements, so that each reads what its like has stored.

    A thread stores its registers in groups of up to 16 bytes, each group of all threads in one go. Those of a share are
    neighbours (PTX ISA, "mapa", "ld").
    """
    emit, registers, shares, kernel = at.emit, at.registers(op.source), op.shares, kernel_of(op)
    count = len(registers) // shares
    width = gcd(count, ACCESS_BITS // TileType.of(op.source).dtype.bits)
    group = 4 * width  # bytes
    step = at.threads * group
    own = emit.add(at.address(op.buffer), emit.mul(at.thread, group))
    for i in range(0, len(registers), width):
        emit(StOp(Space.SHARED, own, registers[i : i + width], i // width * step))
    meet_cluster(emit)
    rank = emit(ReadSpecialOp("cluster_ctarank")).result
    rank = rank if shares == kernel.cluster_size else emit.mod(rank, shares)
    mine = emit.add(own, emit.mul(rank, count // width * step))
    parts: list[list[Registers]] = []
    for block in range(kernel.cluster_size):
        place = emit(MapaOp(mine, emit.constant(block, i32))).result
        types = [registers[0].type] * width
        parts.append([emit(LdOp(Space.SHARED_CLUSTER, place, types, i * step)).res for i in range(count // width)])
    add = arith.AddiOp if registers[0].type == i32 else arith.AddfOp
    sums = [value for each in parts[0] for value in each]
    for part in parts[1:]:
        sums = [emit.value(add(x, y)) for x, y in zip(sums, (value for each in part for value in each), strict=True)]
    meet_cluster(emit)
    return [sums]
