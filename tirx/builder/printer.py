"""A module as Python that writes it again: the operators of the table where they make the same operation, else `tx.op`.

Loops and branches are Python's. The order of all operations but constants stays as it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import IO, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl.operations import IRDLOperation, VariadicDef
from xdsl.utils.target import Target

from tirx.builder.dtypes import DTYPES, dtype_of
from tirx.builder.functions import FUNCTIONS, conversion, operation
from tirx.builder.operations import array_type, inferred_types, python_name, python_of
from tirx.builder.scalars import OPERATORS
from tirx.dialects.formula import Call
from tirx.dialects.tirx import KernelOp, ReturnOp, TileType
from tirx.values import dataclass

_OPERATORS = {
    kind: OPERATORS[each.name]
    for each in FUNCTIONS.values()
    if each.name in OPERATORS and not each.compares
    for kind in (each.floats, each.signed if each.unsigned is None else None)
    if kind is not None
}
"""Operation -> how Python writes it, where operands alone say that it is this one."""

_CALLS = {
    each.floats: each.name
    for each in FUNCTIONS.values()
    if each.floats and each.name not in OPERATORS and not each.compares
}
_COMPARISONS = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
_NAME = re.compile(r"[A-Za-z]\w*")
_RESERVED = {"tx", "op", "index", *DTYPES}


@dataclass(frozen=True)
class PythonTarget(Target):
    """`tirx-opt -t python`: the module as a program of Python."""

    name = "python"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Writes the program."""
        output.write(to_python(module))


def to_python(module: ModuleOp) -> str:
    """The program of Python whose `program` is the module again."""
    printer = _Printer()
    names = [printer.part(each) for each in module.body.block.ops]
    types = ["", *aliases] if (aliases := printer.aliases()) else []
    header = ["import tirx as tx", "from tirx import op", *types, "", ""]
    return "\n".join([*header, *printer.lines, f"program = tx.module({', '.join(names)})", ""])


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._names: dict[SSAValue, str] = {}
        self._used: Counter[str] = Counter(dict.fromkeys(_RESERVED, 1))
        self._types: dict[str, str] = {}

    def aliases(self) -> list[str]:
        """The types that the program names."""
        return [f"{name} = {text}" for text, name in self._types.items()]

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _fresh(self, hint: str) -> str:
        self._used[hint] += 1
        return hint if self._used[hint] == 1 else f"{hint}_{self._used[hint]}"

    def _name(self, value: SSAValue) -> str:
        if value not in self._names:
            hint = value.name_hint or ""
            self._names[value] = self._fresh(python_name(hint) if _NAME.fullmatch(hint) else "v")
        return self._names[value]

    def _type(self, type_: Attribute) -> str:
        """The text of a type in Python, a name of its own where that is longer than a word."""
        if type_ in (known := {each.attribute: each.name for each in DTYPES.values()}):
            return f"tx.{known[type_]}"
        text = f"tx.attribute({str(type_)!r})"
        if isinstance(type_, TileType) and type_.layout is None and not type_.parameters_of_shape:
            dtype = dtype_of(type_.element_type).name
            if dtype in DTYPES:
                text = f'tx.{dtype}[{", ".join(map(str, type_.dims))}].tile("{type_.memory}")'
        elif isinstance(type_, MemRefType):
            array = array_type(cast("MemRefType[Attribute]", type_))
            if array.memref == type_ and array.dtype.name in DTYPES:
                text = f"tx.{array}" + ("" if array.strides is None else f".strided{array.strides}")
        return self._types.setdefault(text, f"T{len(self._types)}")

    def part(self, op: Operation) -> str:
        """An operation of the module, with two empty lines behind it; returns the name of what writes it."""
        if not isinstance(op, KernelOp):
            name = self._fresh("part")
            self._line("@tx.fn")
            self._line(f"def {name}():")
            self._depth += 1
            self._operation(op)
            self._depth -= 1
            self.lines += ["", ""]
            return name
        name = self._fresh(python_name(op.sym_name.data))
        types = [self._type(each) for each in op.body.block.arg_types]
        clauses = [f"name={op.sym_name.data!r}"]
        for field, value in op.properties.items():
            if field == "grid":
                extents = [str(n) if isinstance(n, Call) else n for n in op.grid_formulas or ()]
                clauses.append(f"grid={extents[: len(op.grid or ())]}")
            elif field == "threads" and isinstance(value, IntegerAttr):
                clauses.append(f"threads={op.num_threads}")
            elif field not in ("sym_name", "function_type"):
                clauses.append(f"{field}={python_of(KernelOp, field, value)}")
        if op.attributes:
            clauses.append(self._attributes(op, "attributes"))
        self._line(f"@tx.jit({', '.join([*types, *clauses])})")
        self._line(f"def {name}({', '.join(map(self._name, op.body.block.args))}):")
        self._body(op.body.block, ReturnOp)
        self.lines += ["", ""]
        return name

    def _attributes(self, op: Operation, name: str) -> str:
        items = (f"{key!r}: tx.attribute({str(value)!r})" for key, value in op.attributes.items())
        return f"{name}={{{', '.join(items)}}}"

    def _body(self, block: Block, end: type[Operation] | None) -> None:
        self._depth += 1
        before = len(self.lines)
        for op in block.ops:
            if end is None or not isinstance(op, end):
                self._operation(op)
        if len(self.lines) == before:
            self._line("pass")
        self._depth -= 1

    def _operation(self, op: Operation) -> None:
        match op:
            case scf.ForOp() if not op.attributes:
                self._for(op)
            case scf.IfOp() if not op.attributes:
                self._if(op)
            case _:
                self._plain(op)

    def _plain(self, op: Operation) -> None:
        assert isinstance(op, IRDLOperation)
        text = self._expression(op) or self._call(op)
        results = ", ".join(map(self._name, op.results))
        self._line(f"{results} = {text}" if results else text)

    def _for(self, op: scf.ForOp) -> None:
        block = op.body.block
        carried = list(block.args[1:])
        names = [self._name(each) for each in carried]
        if carried:
            self._line(f"{', '.join(names)} = {', '.join(map(self._name, op.iter_args))}")
        bounds = ", ".join(map(self._name, (op.lb, op.ub, op.step)))
        self._line(f"for {self._name(block.args[0])} in tx.range({bounds}):")
        self._body(block, scf.YieldOp)
        self._depth += 1
        if carried:
            last = cast(scf.YieldOp, block.last_op)
            self._line(f"{', '.join(names)} = {', '.join(map(self._name, last.operands))}")
        self._depth -= 1
        for result, name in zip(op.results, names, strict=True):
            self._names[result] = name

    def _if(self, op: scf.IfOp) -> None:
        names = [self._name(each) for each in op.results]
        for head, region in ((f"if {self._name(op.cond)}:", op.true_region), ("else:", op.false_region)):
            if not region.blocks:
                continue
            self._line(head)
            self._body(region.block, scf.YieldOp)
            last = region.block.last_op
            if names and last is not None:
                self._depth += 1
                self._line(f"{', '.join(names)} = {', '.join(map(self._name, last.operands))}")
                self._depth -= 1

    def _expression(self, op: Operation) -> str | None:
        """The operation as an expression that makes it again, None where there is none."""
        if isinstance(op, arith.ConstantOp):
            return self._constant(op)
        kind, values = type(op), list(op.operands)
        if not values or not op.results or op.attributes:
            return None
        again = operation(kind, [], [])  # with the flags that the table gives
        if kind in _OPERATORS and op.properties == again.properties:
            return f" {_OPERATORS[kind]} ".join(map(self._name, values))
        if isinstance(op, arith.CmpfOp) and op.properties.get("fastmath") == again.properties.get("fastmath"):
            how = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
            return f" {_COMPARISONS[how]} ".join(map(self._name, values)) if how in _COMPARISONS else None
        if kind in _CALLS and op.properties == again.properties and kind is not arith.NegfOp:
            return f"tx.{_CALLS[kind]}({', '.join(map(self._name, values))})"
        if isinstance(op, arith.SelectOp) and not isinstance(values[1].type, TileType):
            known = str(dtype_of(values[1].type)) in DTYPES and str(values[0].type) == "i1"
            return f"tx.where({', '.join(map(self._name, values))})" if known else None
        if len(values) == 1 and op.properties == again.properties:
            before, after = dtype_of(values[0].type), dtype_of(op.results[0].type)
            if before.name in DTYPES and after.name in DTYPES and conversion(before, after) is kind:
                return f"{self._name(values[0])}.to(tx.{after})"
        return None

    def _constant(self, op: arith.ConstantOp) -> str | None:
        dtype = dtype_of(op.result.type)
        if dtype.name not in DTYPES:
            return None
        match op.value:
            case IntegerAttr() as integer:
                return f"tx.{dtype}({integer.value.data})"
            case FloatAttr() as number if math.isfinite(number.value.data):
                return f"tx.{dtype}({number.value.data!r})"
            case FloatAttr() as number if not math.isnan(number.value.data):
                return f'tx.{dtype}(float("{number.value.data}"))'
            case _:
                return None

    def _call(self, op: IRDLOperation) -> str:
        """The operation by its definition."""
        kind = type(op)
        known = kind.get_irdl_definition()
        arguments: list[str] = []
        for name, each in known.operands:
            given: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
            names = ", ".join(map(self._name, [given] if isinstance(given, SSAValue) else given or ()))
            arguments.append(f"[{names}]" if isinstance(each, VariadicDef) else names)
        while arguments and arguments[-1] == "[]":
            arguments.pop()
        for (field, _), each in zip(known.regions, op.regions, strict=False):
            if each.blocks:
                arguments.append(f"{field}={self._region(each, field)}")
        for field, value in op.properties.items():
            each = known.properties.get(field)
            if field.endswith("SegmentSizes") or (each is not None and each.default_value == value):
                continue
            arguments.append(f"{field}={python_of(kind, field, value)}")
        if op.attributes:
            arguments.append(self._attributes(op, "attributes"))
        types = [result.type for result in op.results]
        if types and inferred_types(kind, [each.type for each in op.operands]) != types:
            texts = [self._type(each) for each in types]
            arguments.append(f"to={texts[0]}" if len(texts) == 1 else f"to=[{', '.join(texts)}]")
        dialect, _, name = op.name.partition(".")
        return f"op.{python_name(dialect)}.{'.'.join(map(python_name, name.split('.')))}({', '.join(arguments)})"

    def _region(self, region: Region, field: str) -> str:
        block = region.block
        name = self._fresh(field)
        types: Sequence[str] = [self._type(each) for each in block.arg_types]
        self._line(f"@tx.region({', '.join(types)})")
        self._line(f"def {name}({', '.join(map(self._name, block.args))}):")
        self._body(block, None)
        return name
