"""`tirx-extract-kernels`: compiled kernels as attributes, for those who lower the host code around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tirx.dialects.ptx.binary import BinaryOp
from tirx.dialects.ptx.core import entries
from tirx.dialects.tirx import kernels
from tirx.ptx.printer import print_entry
from tirx.rules import StageError
from tirx.runtime.describe import describe_entry
from tirx.runtime.launch import Launch
from tirx.runtime.program import Program
from tirx.values import dataclass


@dataclass(frozen=True)
class TirxExtractKernelsPass(ModulePass):
    """Replaces every `ptx.entry` by a `ptx.binary` of the same name, which holds its PTX and its launch descriptor.

    Symbols that the host code refers to stay what they were, and so do attributes of the kernel. Raises LocatedError
    for a kernel that is not lowered to PTX yet, and what printing PTX raises.
    """

    name = "tirx-extract-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            raise StageError(
                kernel,
                f"expected kernels that are lowered to PTX, found @{kernel.sym_name.data}; run the pipeline first",
            )
        for entry in entries(op):
            launch = describe_entry(entry)
            descriptor = cast("DictionaryAttr", _attribute(launch.to_json()))
            binary = BinaryOp(launch.entry, launch.target, descriptor.data, print_entry(entry))
            binary.location = entry.location
            binary.attributes.update(entry.attributes)
            Rewriter.replace_op(entry, binary)


def launch_of(binary: BinaryOp) -> Launch:
    """The launch descriptor of a compiled kernel. Raises ValueError for what is no descriptor."""
    return Launch.from_json(_value(binary.launch))


def program_of(binary: BinaryOp) -> Program:
    """A compiled kernel as a program of one kernel, which can be simulated and launched."""
    return Program(binary.text.data, [launch_of(binary)])


def _attribute(value: Any) -> Attribute:
    """A value as `json.dumps` takes it, in attributes of `builtin`."""
    match value:
        case None:
            return UnitAttr()
        case str():
            return StringAttr(value)
        case int():
            return IntegerAttr(value, i64)
        case Mapping():
            items = cast("Mapping[str, Any]", value).items()
            return DictionaryAttr({key: _attribute(each) for key, each in items})
        case _:
            return ArrayAttr([_attribute(each) for each in value])


def _value(attribute: Attribute) -> Any:
    """The counterpart of `_attribute`."""
    match attribute:
        case UnitAttr():
            return None
        case StringAttr(data=text):
            return text
        case IntegerAttr():
            return cast("IntegerAttr[Any]", attribute).value.data
        case DictionaryAttr(data=items):
            return {key: _value(each) for key, each in items.items()}
        case ArrayAttr():
            return [_value(each) for each in attribute]
        case _:
            raise ValueError(f"expected strings, integers, arrays, dictionaries and unit, found {attribute}")
