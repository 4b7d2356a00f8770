"""A dialect of somebody else: operations on tiles and on scalars that tirx knows by their interfaces only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, f32, i32
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from tirx.dialects.ptx import LdOp, StOp
from tirx.dialects.tirx import ScalarOpInterface, ThreadLowering, TileOpInterface, TileType
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, TileLayout


@irdl_op_definition
class ReluOp(IRDLOperation, TileOpInterface):
    """`toy.relu %x : T -> T`: a value from a value, register by register."""

    name = "toy.relu"

    source = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [(self.source, self.result)]

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        zero = threads.insert(arith.ConstantOp(FloatAttr(0.0, f32))).result
        return [[threads.insert(arith.MaximumfOp(x, zero)).result for x in threads.registers(self.source)]]


@irdl_op_definition
class RowsOp(IRDLOperation, TileOpInterface):
    """`toy.rows %x : T -> T`: a tile whose rows are one for each thread; it adds the row's number to its elements."""

    name = "toy.rows"

    source = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def wanted_layouts(self, target: Target | None) -> Mapping[SSAValue, TileLayout | ComposeLayout]:
        rows, columns = TileType.of(self.source).dims
        layout = TileLayout.parse(f"S[({rows}, {columns}) : (1@tx, 1)]")
        return {self.source: layout, self.result: layout}

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        row = threads.insert(arith.SIToFPOp(threads.thread, f32)).result
        return [[threads.insert(arith.AddfOp(x, row)).result for x in threads.registers(self.source)]]

    def evaluate(self, *operands: Any) -> Sequence[Any]:
        (source,) = operands
        return [source + np.arange(len(source), dtype=source.dtype)[:, None]]


@irdl_op_definition
class NegateOp(IRDLOperation, TileOpInterface):
    """`toy.negate %x : T`: in place, in shared memory, by threads that are not those who wrote what they negate."""

    name = "toy.negate"

    tile = operand_def(TileType)

    assembly_format = "$tile attr-dict `:` type($tile)"

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        last = threads.insert(arith.ConstantOp(IntegerAttr(threads.threads - 1, i32))).result
        other = threads.insert(arith.SubiOp(last, threads.thread)).result
        four = threads.insert(arith.ConstantOp(IntegerAttr(4, i32))).result
        offset = threads.insert(arith.MuliOp(other, four)).result
        address = threads.insert(arith.AddiOp(threads.address(self.tile), offset)).result
        for step in range(TileType.of(self.tile).num_elements // threads.threads):
            at = 4 * threads.threads * step
            (value,) = threads.insert(LdOp("shared", address, [f32], at)).res
            threads.insert(StOp("shared", address, [threads.insert(arith.NegfOp(value)).result], at))
        return []

    def evaluate(self, *operands: Any) -> Sequence[Any]:
        (tile,) = operands
        tile[...] = -tile
        return []


@irdl_op_definition
class ClearOp(IRDLOperation, TileOpInterface):
    """`toy.clear %m : memref`: writes a whole memref, without a view, and reads nothing."""

    name = "toy.clear"

    memref = operand_def(MemRefType)

    assembly_format = "$memref attr-dict `:` type($memref)"

    def tile_reads(self) -> Sequence[SSAValue]:
        return ()

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.memref,)

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        return []


@irdl_op_definition
class TwiceOp(IRDLOperation, ScalarOpInterface):
    """`toy.twice %x : f32`"""

    name = "toy.twice"

    operand = operand_def(f32)
    result = result_def(f32)

    assembly_format = "$operand attr-dict `:` type($operand)"
    traits = traits_def(Pure())

    def lower_scalar(self, target: Target) -> tuple[Sequence[Operation], SSAValue]:
        twice = arith.AddfOp(self.operand, self.operand)
        return [twice], twice.result


TOY = Dialect("toy", [ReluOp, RowsOp, NegateOp, ClearOp, TwiceOp])
