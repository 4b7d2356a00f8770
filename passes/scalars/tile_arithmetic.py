"""Arithmetic on register tiles as instructions of every thread: one function for all operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tirx.dialects.tirx import BroadcastOp, ConvertOp, MapOp, PackOp, ReduceOp, SplatOp, UnpackOp
from tirx.hw.targets import Target
from tirx.passes.ir.emitter import Emitter

ArithmeticOp = MapOp | ReduceOp | BroadcastOp | ConvertOp | SplatOp | PackOp | UnpackOp

ARITHMETIC = (MapOp, ReduceOp, BroadcastOp, ConvertOp, SplatOp, PackOp, UnpackOp)
"""The operations that `emit_arithmetic` lowers."""


def emit_arithmetic(
    emit: Emitter,
    op: ArithmeticOp,
    registers: Mapping[SSAValue, Sequence[SSAValue]],
    threads: int,
    thread: SSAValue,
    target: Target,
) -> list[Sequence[SSAValue]]:
    """
    Emits an operation for `threads` threads; returns the registers of each result.

    `thread` (i32) is the number of a thread among them, `registers` has those of the operands. Raises LocatedError for
    what no instructions do.
    """
    # These take long to import, and kernels that only move data do without them.
    from tirx.passes.scalars.map_emission import MapEmission
    from tirx.passes.scalars.register_moves import ReduceEmission, broadcast, convert
    from tirx.passes.scalars.six_bits import pack_words, unpack_words
    from tirx.passes.scalars.splat_emission import splat

    match op:
        case MapOp():
            return MapEmission(emit, op, registers, threads, thread, target).run()
        case ReduceOp():
            return [ReduceEmission(emit, op, registers[op.source], threads, target).run()]
        case BroadcastOp():
            return [broadcast(emit, op, registers[op.source], threads)]
        case ConvertOp():
            return [convert(emit, op, registers[op.source], threads, thread)]
        case SplatOp():
            return [splat(emit, op)]
        case PackOp():
            return [pack_words(emit, registers[op.source])]
        case UnpackOp():
            return [unpack_words(emit, registers[op.source])]
