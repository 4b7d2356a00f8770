"""
A compiler for a small language, with tirx behind it: `python examples/embed_dsl/toy.py [FILE [TARGET]]`.

A program (`dense.toy`) becomes one module: a host function and a kernel. `toy.relu` is a tile operation of its own,
which its own pass lowers behind `tirx-pick-layouts`. Errors of tirx are shown at lines of the program.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, ModuleOp, SymbolRefAttr, f32
from xdsl.ir import Block, Dialect, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure

import tirx as tx
from tirx import embed
from tirx.dialects.tirx import KernelOp, MapOp, TileType, YieldOp


@irdl_op_definition
class ReluOp(IRDLOperation, embed.TileOpInterface):
    """`toy.relu %x : T -> T`: the larger one of each element and 0."""

    name = "toy.relu"
    source = operand_def(TileType)
    result = result_def(TileType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(Pure())

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [(self.source, self.result)]


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """`toy.launch @kernel(%a, %b)`: host code, in which tirx has no part."""

    name = "toy.launch"
    kernel = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    assembly_format = "$kernel `(` $arguments `)` attr-dict `:` type($arguments)"


TOY = Dialect("toy", [ReluOp, LaunchOp])


class LowerToyPass(ModulePass):  # `toy.relu` becomes a `tirx.map`, whichever layout it got
    name = "lower-toy"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for relu in [inner for inner in op.walk() if isinstance(inner, ReluOp)]:
            zero, body = arith.ConstantOp(FloatAttr(0.0, f32)), Block(arg_types=[f32])
            largest = arith.MaximumfOp(body.args[0], zero.result)
            body.add_ops([zero, largest, YieldOp(largest.result)])
            made = MapOp([relu.source], Region(body), [relu.result.type])
            made.location = relu.location
            Rewriter.replace_op(relu, made)


_LINE = re.compile(r"(\w+)\s*:\s*(\w+)\[([\d,\s]+)\]\s*(?:=\s*(.*))?")
_PRODUCT = re.compile(r"(?P<relu>relu\()?\s*(?P<a>\w+)\s*@\s*(?P<b>\w+)\^T\s*(?:\+\s*(?P<bias>\w+))?\s*\)?")


class ToyError(Exception): ...


def parse(text: str, file: str, target: str) -> ModuleOp:
    """The module of a program. Raises ToyError for what is no program."""
    types: dict[str, tx.ArrayType] = {}
    product, result, at = None, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not (line := line.partition("#")[0].strip()):
            continue
        if (found := _LINE.fullmatch(line)) is None or not isinstance(getattr(tx, found[2], None), tx.DType):
            raise ToyError(f"{file}, line {number}: expected 'name: type[sizes]', maybe with '= ...', found '{line}'")
        types[found[1]] = getattr(tx, found[2])[tuple(map(int, found[3].split(",")))]
        if found[4]:
            product, result, at = _PRODUCT.fullmatch(found[4]), found[1], number
            if product is None:
                raise ToyError(f"{file}, line {number}: expected A @ B^T, + bias, relu(...), found '{found[4]}'")
    if product is None:
        raise ToyError(f"{file}: expected one line that computes, found none")
    m, n, k = (types[name].shape[d] or 0 for name, d in ((product["a"], 0), (product["b"], 0), (product["a"], 1)))
    arguments = [product["a"], product["b"], *filter(None, [product["bias"]]), result]

    @tx.jit(*(types[x] for x in arguments), threads=128, target=target)
    def dense(a: tx.Array, b: tx.Array, *others: tx.Array) -> None:
        with tx.located(file, at):
            rows, columns = tx.grid((m, 64), (n, 64))
            acc = tx.zeros(tx.f32, 64, 64)
            for i in tx.tiles(k, 64):
                acc += tx.shared(a[rows, i]) @ tx.shared(b[columns, i]).T
            x = acc.load() + others[0][:, columns] if product["bias"] else acc.load()
            if product["relu"]:
                value = x.ssa()
                x = tx.Tile.of(tx.insert(ReluOp(operands=[value], result_types=[value.type])).result)
            others[-1][rows, columns] = x

    kernel = dense.module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    kernel.detach()
    host = func.FuncOp("run", (kernel.function_type.inputs.data, ()))
    launch = LaunchOp(operands=[list(host.body.block.args)], properties={"kernel": SymbolRefAttr("dense")})
    host.body.block.add_ops([launch, func.ReturnOp()])
    return ModuleOp([host, kernel])


def compile(text: str, file: str, target: str, report: Any = print) -> ModuleOp | None:
    """The module with compiled kernels, or None where there are errors, which `report` gets as lines."""
    module = parse(text, file, target)

    def show(diagnostic: embed.Diagnostic) -> None:
        if diagnostic.severity != "remark":
            line = "?" if diagnostic.position is None else diagnostic.position[1]
            report(f"{file}, line {line}: {diagnostic.severity}: {diagnostic.message} ({diagnostic.rule})")

    passes = embed.pipeline(after={"tirx-pick-layouts": [LowerToyPass()]})
    if embed.run(module, passes, context=embed.context(TOY), on_diagnostic=show):
        return module if embed.extract(module) else None
    return None


def main(path: str = str(Path(__file__).with_name("dense.toy")), target: str = "sm_90a") -> int:
    try:
        module = compile(Path(path).read_text(), Path(path).name, target)
    except ToyError as error:
        print(error)
        return 1
    for op in () if module is None else module.ops:
        if isinstance(op, embed.BinaryOp):
            launch = embed.program(op).kernels["dense"].launch
            print(f"dense: grid {launch.grid}, block {launch.block}, {len(op.text.data)} bytes of PTX")
    return int(module is None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
