"""
StableHLO as JAX prints it, through linalg to kernels: `python examples/stablehlo/stablehlo.py [FILE [TARGET]]`.

xDSL has no StableHLO dialect: the operations that a multi-layer perceptron needs are defined here. Every product, with
what is computed elementwise behind it, becomes a function of `linalg` operations, which tirx makes a kernel of. The
host function allocates what lies between kernels, and launches them. `run` does that in the simulator.
"""
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, result_def, var_operand_def
from xdsl.parser import Parser

from tirx import embed


class HloOp(IRDLOperation):
    """`%a, %b, dims = [0] x [1], word = [...] : T` or `: (T, T) -> T`, as JAX prints all that follow."""

    args = var_operand_def(TensorType)
    dims = opt_prop_def(StringAttr)
    result = result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> HloOp:
        operands, dims = [parser.parse_unresolved_operand()], None
        while parser.parse_optional_punctuation(",") is not None:
            if (operand := parser.parse_optional_unresolved_operand()) is not None:
                operands.append(operand)
                continue
            word = parser.parse_identifier()
            parser.parse_punctuation("=")
            lists = [_list(parser)]
            while parser.parse_optional_keyword("x") is not None:
                lists.append(_list(parser))
            if word in ("dims", "contracting_dims"):
                dims = StringAttr(" x ".join(",".join(each) for each in lists))
            elif word != "precision":
                parser.raise_error(f"expected dims, contracting_dims or precision, found '{word}'")
        parser.parse_punctuation(":")
        if parser.parse_optional_punctuation("(") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
            parser.parse_punctuation("->")
            result = parser.parse_type()
        else:
            result = parser.parse_type()
            types = [result] * len(operands)
        values = parser.resolve_operands(operands, types, parser.pos)
        return cls(operands=[values], properties={} if dims is None else {"dims": dims}, result_types=[result])


def _list(parser: Parser) -> list[str]:
    def word() -> str:
        number = parser.parse_optional_integer()
        return parser.parse_identifier() if number is None else str(number)

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, word)


@irdl_op_definition
class DotGeneralOp(HloOp):
    name = "stablehlo.dot_general"


@irdl_op_definition
class BroadcastInDimOp(HloOp):
    name = "stablehlo.broadcast_in_dim"


@irdl_op_definition
class ConvertOp(HloOp):
    name = "stablehlo.convert"


@irdl_op_definition
class AddOp(HloOp):
    name = "stablehlo.add"


@irdl_op_definition
class MultiplyOp(HloOp):
    name = "stablehlo.multiply"


@irdl_op_definition
class MaximumOp(HloOp):
    name = "stablehlo.maximum"


@irdl_op_definition
class ConstantOp(IRDLOperation):
    name = "stablehlo.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        assert isinstance(value, DenseIntOrFPElementsAttr)
        return cls(properties={"value": value}, result_types=[value.type])


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """`host.launch @kernel(%a, %b) : T, T`: host code, in which tirx has no part."""

    name = "host.launch"
    kernel = prop_def(SymbolRefAttr)
    arguments = var_operand_def(MemRefType)
    assembly_format = "$kernel `(` $arguments `)` attr-dict `:` type($arguments)"


STABLEHLO = Dialect("stablehlo", [DotGeneralOp, BroadcastInDimOp, ConvertOp, AddOp, MultiplyOp, MaximumOp, ConstantOp])
HOST = Dialect("host", [LaunchOp])

_ELEMENTWISE = {
    "stablehlo.add": "arith.addf",
    "stablehlo.multiply": "arith.mulf",
    "stablehlo.maximum": "arith.maximumf",
}


def _memref(type_: Attribute) -> MemRefType[Any]:
    assert isinstance(type_, TensorType)
    return MemRefType(type_.element_type, type_.get_shape())


class Kernel:
    """One function of linalg operations, as text with the lines of the program."""

    def __init__(self, name: str):
        self.name = name
        self.lines: list[str] = []
        self.inputs: list[SSAValue] = []
        """Tensors of other kernels or of the caller, which are its first arguments."""
        self.places: dict[SSAValue, tuple[str, list[int | None]]] = {}
        """Tensors -> a memref, and for each of its dimensions that of the tensor, None where it has one element."""

    def place(self, tensor: SSAValue) -> tuple[str, list[int | None]]:
        """Where a tensor is. Broadcasts are read where they come from; a constant is its number, without dimensions."""
        if tensor in self.places:
            return self.places[tensor]
        match tensor.owner:
            case BroadcastInDimOp(args=(source,)) as op:
                name, inner = self.place(source)
                outer = [int(n) for n in op.dims.data.split(",") if n]
                sizes = source.type.get_shape()
                return name, [None if d is None or sizes[d] == 1 else outer[d] for d in inner]
            case ConstantOp() as op:
                (number,) = op.value.get_values()
                self.places[tensor] = f"%c{len(self.places)}", []
                self.lines.append(
                    f"{self.places[tensor][0]} = arith.constant {number:e} : {op.result.type.element_type} {_where(op)}"
                )
            case _:
                self.places[tensor] = f"%in{len(self.inputs)}", list(range(len(tensor.type.get_shape())))
                self.inputs.append(tensor)
        return self.places[tensor]

    def add(self, op: HloOp) -> None:
        """Adds a `linalg.generic` into memory of its own. Raises LocatedError for other operations."""
        out, type_ = f"%m{len(self.places)}", _memref(op.result.type)
        element, places = type_.element_type, [self.place(each) for each in op.args]
        loops, to = list(range(len(type_.get_shape()))), list(range(len(type_.get_shape())))
        body, words = [], ["%e0", "%e1"]
        where = _where(op)
        self.lines.append(f"{out} = memref.alloc() : {type_} {where}")
        if isinstance(op, DotGeneralOp):
            sides = [[int(n) for n in each.split(",")] for each in op.dims.data.split(" x ")]
            if any(len(each) != 1 for each in sides) or any(len(at) != 2 for _, at in places):
                raise embed.LocatedError(op, "expected a product of two matrices over one dimension")
            places = [
                (name, [2 if d == k else side for d in at])
                for side, ((name, at), (k,)) in enumerate(zip(places, sides, strict=True))
            ]
            loops = [0, 1, 2]
            self.lines += [f"%z{out[1:]} = arith.constant 0.0 : {element} {where}"]
            self.lines += [f"linalg.fill ins(%z{out[1:]} : {element}) outs({out} : {type_}) {where}"]
            for n, each in enumerate(op.args):
                if each.type.element_type != element:
                    body.append(f"%w{n} = arith.extf %e{n} : {each.type.element_type} to {element}")
                    words[n] = f"%w{n}"
            body += [f"%p = arith.mulf {', '.join(words)} : {element}", f"%r = arith.addf %old, %p : {element}"]
        elif isinstance(op, ConvertOp):
            (given,) = (each.type.element_type for each in op.args)
            cast = "arith.truncf" if given.bitwidth > element.bitwidth else "arith.extf"
            body.append(f"%r = {cast} %e0 : {given} to {element}")
        elif op.name in _ELEMENTWISE:
            words = [name if name.startswith("%c") else f"%e{n}" for n, (name, _) in enumerate(places)]
            body.append(f"%r = {_ELEMENTWISE[op.name]} {', '.join(words)} : {element}")
        else:
            raise embed.LocatedError(op, f"expected an operation that this compiler lowers, found '{op.name}'")
        read = [n for n, (name, _) in enumerate(places) if not name.startswith("%c")]
        maps = [_map(loops, at) for at in (*(places[n][1] for n in read), to)]
        kinds = ", ".join('"reduction"' if d == 2 else '"parallel"' for d in loops)
        ins = [(places[n][0], self._type(places[n][0], op.args[n])) for n in read]
        elements = [f"%e{n}: {op.args[n].type.element_type}" for n in read]
        self.lines += [
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}",
            f"  ins({', '.join(name for name, _ in ins)} : {', '.join(t for _, t in ins)}) outs({out} : {type_}) {{",
            f"^bb0({', '.join([*elements, f'%old: {element}'])}):",
            *(f"{line} {where}" for line in [*body, f"linalg.yield %r : {element}"]),
            f"}} {where}",
        ]
        self.places[op.result] = out, to

    def _type(self, name: str, tensor: SSAValue) -> str:
        """The type of a memref, which is that of the tensor in front of all broadcasts."""
        while isinstance(tensor.owner, BroadcastInDimOp):
            (tensor,) = tensor.owner.args
        return str(_memref(tensor.type))

    def text(self, outputs: Sequence[SSAValue], target: str) -> str:
        """The function, in which outputs are arguments and not memory of its own."""
        types = [_memref(each.type) for each in (*self.inputs, *outputs)]
        names = [self.places[each][0] for each in (*self.inputs, *outputs)]
        own = [line for line in self.lines if not line.startswith(tuple(f"{name} = memref.alloc" for name in names))]
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
        lines = "\n".join(own)
        return (
            f'func.func @{self.name}({arguments}) attributes {{tirx.kernel = "{target}"}} {{\n{lines}\nfunc.return\n}}'
        )


def _where(op: Operation) -> str:
    """The line of an operation of the program, as text behind those that it becomes."""
    return f'loc("{op.location.filename.data}":{op.location.line.data}:{op.location.column.data})'


def _map(loops: Sequence[int], at: Sequence[int | None]) -> str:
    names = ", ".join(f"d{d}" for d in loops)
    return f"affine_map<({names}) -> ({', '.join('0' if d is None else f'd{d}' for d in at)})>"


def lower(module: ModuleOp, target: str) -> str:
    """MLIR of the functions that are kernels, and of the host function that launches them."""
    (main,) = module.ops
    *ops, returned = main.body.block.ops
    kernels: list[Kernel] = []
    made_by: dict[SSAValue, Kernel] = {}
    for op in ops:
        if isinstance(op, BroadcastInDimOp | ConstantOp):
            continue
        if isinstance(op, DotGeneralOp) or not kernels:
            kernels.append(Kernel(f"{main.sym_name.data}_{len(kernels)}"))
        kernels[-1].add(op)
        made_by[op.result] = kernels[-1]
    read = {*returned.operands} | {tensor for kernel in kernels for tensor in kernel.inputs}
    known = {tensor: f"%arg{n}" for n, tensor in enumerate(main.body.block.args)}
    host, functions = [], []
    for kernel in kernels:
        outputs = [tensor for tensor, by in made_by.items() if by is kernel and tensor in read]
        for tensor in outputs:
            known[tensor] = f"%t{len(known)}"
            host.append(f"{known[tensor]} = memref.alloc() : {_memref(tensor.type)}")
        passed = [*kernel.inputs, *outputs]
        types = ", ".join(str(_memref(each.type)) for each in passed)
        host.append(f"host.launch @{kernel.name}({', '.join(known[each] for each in passed)}) : {types}")
        functions.append(kernel.text(outputs, target))
    arguments = ", ".join(f"{known[each]}: {_memref(each.type)}" for each in main.body.block.args)
    results = ", ".join(str(_memref(each.type)) for each in returned.operands)
    body = "\n".join([*host, f"func.return {', '.join(known[each] for each in returned.operands)} : {results}"])
    return "\n".join([f"func.func @{main.sym_name.data}({arguments}) -> ({results}) {{\n{body}\n}}", *functions])


def compile(text: str, name: str, target: str, on_diagnostic: Any = None) -> ModuleOp | None:
    """The host function and the compiled kernels, or None where there are errors, which `on_diagnostic` gets."""
    context = embed.context(STABLEHLO, HOST)
    module = embed.parse(lower(embed.parse(text, name, context), target), name, context)
    if not embed.run(module, embed.pipeline(), context=context, on_diagnostic=on_diagnostic):
        return None
    embed.extract(module)
    return module


def _seen(argument: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The memory of an array as the kernel sees it: B is N x K whatever its order in memory, a vector one row."""
    strides = [each * array.itemsize for each in argument.strides]
    return np.lib.stride_tricks.as_strided(array, argument.shape, strides)


def run(module: ModuleOp, *arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """What the host function returns, its kernels run in the simulator."""
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, embed.BinaryOp)}
    host = next(op for op in module.ops if isinstance(op, func.FuncOp))
    known: dict[SSAValue, Any] = dict(zip(host.body.block.args, arrays, strict=True))
    for op in host.body.block.ops:
        values = [known[each] for each in op.operands]
        match op:
            case memref.AllocOp():
                type_ = op.memref.type
                known[op.memref] = np.zeros(type_.get_shape(), np.float32 if type_.element_type == f32 else np.float16)
            case LaunchOp():
                name = op.kernel.string_value()
                kernel = embed.program(kernels[name]).kernels[name]
                kernel.simulate(*map(_seen, kernel.launch.passed, values))
            case _:
                return values
    return []


def main(path: str = str(Path(__file__).with_name("mlp.stablehlo")), target: str = "sm_90a") -> int:
    """Compiles a file and prints the host function and the launches."""
    module = compile(Path(path).read_text(), Path(path).name, target, lambda d: d.severity == "error" and print(d))
    for op in () if module is None else module.ops:
        if isinstance(op, embed.BinaryOp):
            launch = embed.program(op).kernels[op.sym_name.data].launch
            print(f"{launch.entry}: grid {launch.grid}, block {launch.block}, {len(op.text.data)} bytes of PTX")
        else:
            print(op)
    return int(module is None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
