"""Operations for people who look for a fault: what holds, and what values are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, prop_def, var_operand_def

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.layout.dtypes import element_type
from tirx.rules import ElementTypeError

_SHOWN = ("i1", "index", "i8", "i16", "i32", "i64", "f16", "bf16", "tf32", "f32", "f64")


def _element(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TileType) else type_


class _DebuggingOp(DirectOperation, TileOpInterface):
    """An operation with side effects only; `tirx-expand-exchanges` puts its register tiles in shared memory."""

    def tile_reads(self) -> Sequence[SSAValue]:
        assert isinstance(self, Operation)
        return [value for value in self.operands if isinstance(value.type, TileType)]

    def tile_writes(self) -> Sequence[SSAValue]:
        return ()

    def _verify_shown(self, value: SSAValue, types: Sequence[str]) -> None:
        """Raises ElementTypeError unless a value is a scalar, or a tile that threads can read, of some types."""
        type_ = value.type
        found = str(_element(type_))
        memories = (MemorySpace.REGISTER, MemorySpace.SHARED)
        wrong_place = isinstance(type_, TileType) and type_.memory not in memories
        if found not in types or wrong_place or (isinstance(type_, TileType) and element_type(found).bits < 8):
            raise ElementTypeError(
                f"expected a scalar, or a tile in registers or shared memory, of {', '.join(types)}, found {type_}"
            )


@irdl_op_definition
class PrintOp(_DebuggingOp):
    """`tirx.print "x and n", %x, %n : !tirx.tile<4x8xf32, register>, index`

    Writes a line of text and scalars, and a line for each row of each tile, once for every block that comes here.
    Blocks write in any order. It is for all targets, by `vprintf` of the device runtime.
    """

    name = "tirx.print"

    text = prop_def(StringAttr)
    values = var_operand_def()

    assembly_format = "$text (`,` $values^ `:` type($values))? attr-dict"

    def verify_(self) -> None:
        for value in self.values:
            self._verify_shown(value, _SHOWN)


@irdl_op_definition
class AssertOp(_DebuggingOp):
    """`tirx.assert %c, "expected sorted indices" : i1`

    Ends the kernel with an error, which has the message, where a condition is false or an element of a tile of integers
    is 0. The simulator and the interpreter stop there, too.
    """

    name = "tirx.assert"

    condition = operand_def()
    message = prop_def(StringAttr)

    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"

    def verify_(self) -> None:
        is_tile = isinstance(self.condition.type, TileType)
        self._verify_shown(self.condition, ("i1", "i8", "i16", "i32", "i64") if is_tile else ("i1",))


def shown_format(type_: Attribute) -> str:
    """Returns the conversion of printf for an element of a type, which is i32, i64 or f64 for it."""
    match scalar := _element(type_):
        case IndexType():
            return "%lld"
        case IntegerType(width=width):
            return "%lld" if width.data == 64 else "%u" if scalar == i1 else "%d"
        case _:
            return "%g"


__all__ = ["AssertOp", "PrintOp", "shown_format"]
