"""
The `tcgen05` dialect: Blackwell's tensor cores and tensor memory, one step above PTX.

Operations carry tiles with layouts and descriptors that still say what they describe. Allocation, commits, waits
and fences are explicit. PTX ISA, "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, I64, IntegerAttr, StringAttr, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data, Dialect, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.tirx import Scope, TileType
from tirx.tcgen05 import KINDS, LD_SHAPES, InstructionDescriptor, LegalityError, ZeroColumnMask
from tirx.tcgen05.tmem import ALLOCATION_SIZES, COLUMNS


def _expect(value: SSAValue, scope: Scope, what: str) -> TileType:
    type_ = TileType.of(value)
    if type_.memory is not scope or type_.placement is None:
        raise VerifyException(f"expected {what} in {scope.place} with a layout, found {type_}")
    return type_


def _check_kind(name: str) -> None:
    unscaled = [kind.name for kind in KINDS.values() if not kind.block_scaled]
    if name not in unscaled:
        raise VerifyException(f"expected a kind without scale factors ({', '.join(unscaled)}), found '{name}'")


def _check_ld_shape(name: str) -> None:
    if name not in LD_SHAPES:
        raise VerifyException(f"expected a shape of tcgen05.ld and st ({', '.join(LD_SHAPES)}), found '{name}'")


def _check_same_elements(memory: TileType, registers: TileType) -> None:
    if (memory.dims, memory.element_type) != (registers.dims, registers.element_type):
        raise VerifyException(f"expected tiles of one shape and element type, found {memory} and {registers}")


def _check_columns(columns: int) -> None:
    if columns not in ALLOCATION_SIZES:
        raise VerifyException(f"expected a power of two of columns from 32 to 512, found {columns}")


_EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())


@irdl_attr_definition
class InstructionDescriptorAttr(Data[InstructionDescriptor]):
    """
    `#tcgen05.instruction_descriptor<kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256>`

    The fields of the value class; modifiers that have their default are left out.
    """

    name = "tcgen05.instruction_descriptor"

    _ALWAYS_SHOWN: ClassVar = frozenset({"kind", "a", "b", "d", "m", "n"})

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> InstructionDescriptor:
        # Annotations are strings; the default says what a field holds. `scale`, a name, has none.
        fields = {f.name: f.default for f in dataclasses.fields(InstructionDescriptor)}
        values: dict[str, str | int | bool] = {}
        with parser.in_angle_brackets():
            start = parser.pos
            while True:
                name_start = parser.pos
                name = parser.parse_identifier()
                if name not in fields or name in values:
                    parser.raise_error(
                        f"expected a new field out of {', '.join(fields)}, found {name}", name_start, parser.pos
                    )
                parser.parse_punctuation("=")
                match fields[name]:
                    case bool():
                        values[name] = parser.parse_boolean()
                    case int():
                        values[name] = parser.parse_integer(allow_boolean=False)
                    case _:
                        values[name] = parser.parse_str_literal()
                if parser.parse_optional_punctuation(",") is None:
                    break
            missing = [name for name in fields if name in cls._ALWAYS_SHOWN and name not in values]
            if missing:
                parser.raise_error(f"expected the fields {', '.join(missing)} too", start, parser.pos)
            try:
                return InstructionDescriptor(**values)  # pyright: ignore[reportArgumentType]
            except ValueError as e:
                parser.raise_error(str(e), start, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        shown = [
            (f.name, value)
            for f in dataclasses.fields(self.data)
            if (value := getattr(self.data, f.name)) != f.default or f.name in self._ALWAYS_SHOWN
        ]

        def print_field(field: tuple[str, object]) -> None:
            name, value = field
            match value:
                case str():
                    text = f'"{value}"'
                case bool():
                    text = str(value).lower()
                case _:
                    text = str(value)
            printer.print_string(f"{name} = {text}")

        with printer.in_angle_brackets():
            printer.print_list(shown, print_field)


@irdl_attr_definition
class ZeroColumnMaskAttr(Data[ZeroColumnMask]):
    """`#tcgen05.zero_column_mask<0x0203028301020100>`: the descriptor; its fields are in the value class."""

    name = "tcgen05.zero_column_mask"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ZeroColumnMask:
        with parser.in_angle_brackets():
            start = parser.pos
            value = parser.parse_integer(allow_boolean=False, allow_negative=False)
            try:
                return ZeroColumnMask.decode(value)
            except ValueError as e:
                parser.raise_error(str(e), start, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.data.encode():#018x}")


class FencePosition(StrEnum):
    """On which side of a synchronisation between threads a `tcgen05.fence` stands."""

    BEFORE = "before_thread_sync"
    AFTER = "after_thread_sync"


@irdl_attr_definition
class FencePositionAttr(EnumAttribute[FencePosition], SpacedOpaqueSyntaxAttribute):
    """`#tcgen05<fence_position before_thread_sync>`"""

    name = "tcgen05.fence_position"


class WaitFor(StrEnum):
    """What a `tcgen05.wait` waits for: the loads or the stores of this thread."""

    LD = "ld"
    ST = "st"


@irdl_attr_definition
class WaitForAttr(EnumAttribute[WaitFor], SpacedOpaqueSyntaxAttribute):
    """`#tcgen05<wait_for ld>`"""

    name = "tcgen05.wait_for"


@irdl_op_definition
class AllocOp(IRDLOperation):
    """
    `tcgen05.alloc %slot, 256 : i32`: one warp allocates columns of tensor memory.

    The address of the allocation is written to the 4 bytes of shared memory at `%slot`.
    """

    name = "tcgen05.alloc"

    slot = operand_def(I32)
    columns = prop_def(IntegerAttr[I32])

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$slot `,` $columns attr-dict `:` type($slot)"
    traits = traits_def(*_EFFECTS)

    def __init__(self, slot: SSAValue, columns: int):
        super().__init__(operands=[slot], properties={"columns": IntegerAttr(columns, i32)})

    def verify_(self) -> None:
        _check_columns(self.columns.value.data)


@irdl_op_definition
class RelinquishAllocPermitOp(IRDLOperation):
    """`tcgen05.relinquish_alloc_permit`: this block allocates no more tensor memory."""

    name = "tcgen05.relinquish_alloc_permit"

    assembly_format = "attr-dict"
    traits = traits_def(*_EFFECTS)


@irdl_op_definition
class DeallocOp(IRDLOperation):
    """`tcgen05.dealloc %base, 256 : i32`: one warp gives the columns at `%base` back."""

    name = "tcgen05.dealloc"

    base = operand_def(I32)
    columns = prop_def(IntegerAttr[I32])

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `,` $columns attr-dict `:` type($base)"
    traits = traits_def(*_EFFECTS)

    def __init__(self, base: SSAValue, columns: int):
        super().__init__(operands=[base], properties={"columns": IntegerAttr(columns, i32)})

    def verify_(self) -> None:
        _check_columns(self.columns.value.data)


@irdl_op_definition
class TileOp(IRDLOperation):
    """
    `%acc = tcgen05.tile %base, 128 : i32 -> !tirx.tile<128x256xf32, tensor, L>`

    The tile in an allocation of tensor memory that starts at a column (of 32 bits) of it.
    """

    name = "tcgen05.tile"

    base = operand_def(I32)
    column = prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$base `,` $column attr-dict `:` type($base) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, base: SSAValue, column: int, type_: TileType):
        super().__init__(operands=[base], properties={"column": IntegerAttr(column, i32)}, result_types=[type_])

    def verify_(self) -> None:
        type_ = _expect(self.result, Scope.TENSOR, "a tile")
        first = self.column.value.data
        last = first if type_.placement is None else first + type_.placement.footprint().get("TCol", (0, 0))[1]
        if first < 0 or last >= COLUMNS:
            raise VerifyException(f"expected columns 0 to {COLUMNS - 1} of tensor memory, found {first} to {last}")


@irdl_op_definition
class SmemDescriptorOp(IRDLOperation):
    """
    `%d = tcgen05.smem_descriptor %a, 2 of 16 : !tirx.tile<128x64xf16, shared, L> -> i64`

    The shared-memory matrix descriptor of the slice of an operand that one instruction reads: slice 2 of 16
    elements along K. `tirx-materialize-descriptors` derives its bits from the layout.
    """

    name = "tcgen05.smem_descriptor"

    tile = operand_def(TileType)
    step = prop_def(IntegerAttr[I32])
    k = prop_def(IntegerAttr[I32])
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile `,` $step `of` $k attr-dict `:` type($tile) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, tile: SSAValue, step: int, k: int):
        super().__init__(
            operands=[tile],
            properties={"step": IntegerAttr(step, i32), "k": IntegerAttr(k, i32)},
            result_types=[i64],
        )

    def verify_(self) -> None:
        type_ = _expect(self.tile, Scope.SHARED, "an operand")
        if len(type_.dims) != 2:
            raise VerifyException(f"expected an operand of shape MNxK, found {type_}")
        k, step, size = self.k.value.data, self.step.value.data, type_.dims[-1]
        if k < 1 or size % k:
            raise VerifyException(f"expected slices of a divisor of K = {size} elements, found slices of {k}")
        if not 0 <= step < size // k:
            raise VerifyException(f"expected slice 0 to {size // k - 1} of {k} elements of K = {size}, found {step}")


@irdl_op_definition
class InstructionDescriptorOp(IRDLOperation):
    """`%i = tcgen05.instruction_descriptor <kind = "f16", ...> : i32`, see `#tcgen05.instruction_descriptor`"""

    name = "tcgen05.instruction_descriptor"

    descriptor = prop_def(InstructionDescriptorAttr)
    result = result_def(I32)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$descriptor attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, descriptor: InstructionDescriptor):
        super().__init__(properties={"descriptor": InstructionDescriptorAttr(descriptor)}, result_types=[i32])

    def verify_(self) -> None:
        try:
            self.descriptor.data.verify()
        except LegalityError as e:
            raise VerifyException(str(e)) from e


@irdl_op_definition
class ZeroColumnMaskOp(IRDLOperation):
    """`%z = tcgen05.zero_column_mask <0x0203028301020100> : i64`"""

    name = "tcgen05.zero_column_mask"

    mask = prop_def(ZeroColumnMaskAttr)
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mask attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, mask: ZeroColumnMask):
        super().__init__(properties={"mask": ZeroColumnMaskAttr(mask)}, result_types=[i64])


@irdl_op_definition
class MmaOp(IRDLOperation):
    """
    `tcgen05.mma kind "f16" %acc, %a, %b, %idesc, %enable : !tirx.tile<128x256xf32, tensor, L>`

    `acc = a * b + acc`, or `a * b` where `%enable` is false, over one K of the instruction. One thread issues
    it; it runs asynchronously until a commit. PTX ISA, "tcgen05.mma".
    """

    name = "tcgen05.mma"

    kind = prop_def(StringAttr)
    accumulator = operand_def(TileType)
    a = operand_def(I64)
    b = operand_def(I64)
    descriptor = operand_def(I32)
    enable_input_d = operand_def(I1)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`kind` $kind $accumulator `,` $a `,` $b `,` $descriptor `,` $enable_input_d attr-dict `:` type($accumulator)"
    )
    traits = traits_def(*_EFFECTS)

    def __init__(
        self,
        kind: str,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        descriptor: SSAValue,
        enable_input_d: SSAValue,
    ):
        super().__init__(
            operands=[accumulator, a, b, descriptor, enable_input_d], properties={"kind": StringAttr(kind)}
        )

    def verify_(self) -> None:
        _expect(self.accumulator, Scope.TENSOR, "the accumulator")
        _check_kind(self.kind.data)


@irdl_op_definition
class MmaWsOp(IRDLOperation):
    """
    `tcgen05.mma.ws kind "f16" %acc, %a, %b, %idesc, %enable, %mask : !tirx.tile<32x64xf32, tensor, L>`

    The weight-stationary product, with a zero-column mask. PTX ISA, "tcgen05.mma.ws".
    """

    name = "tcgen05.mma.ws"

    kind = prop_def(StringAttr)
    accumulator = operand_def(TileType)
    a = operand_def(I64)
    b = operand_def(I64)
    descriptor = operand_def(I32)
    enable_input_d = operand_def(I1)
    zero_column_mask = operand_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`kind` $kind $accumulator `,` $a `,` $b `,` $descriptor `,` $enable_input_d `,` $zero_column_mask "
        "attr-dict `:` type($accumulator)"
    )
    traits = traits_def(*_EFFECTS)

    def __init__(
        self,
        kind: str,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        descriptor: SSAValue,
        enable_input_d: SSAValue,
        zero_column_mask: SSAValue,
    ):
        super().__init__(
            operands=[accumulator, a, b, descriptor, enable_input_d, zero_column_mask],
            properties={"kind": StringAttr(kind)},
        )

    def verify_(self) -> None:
        _expect(self.accumulator, Scope.TENSOR, "the accumulator")
        _check_kind(self.kind.data)


@irdl_op_definition
class CommitOp(IRDLOperation):
    """`tcgen05.commit %mbar : i32`: the mbarrier gets one arrival when this thread's products are complete."""

    name = "tcgen05.commit"

    mbarrier = operand_def(I32)

    assembly_format = "$mbarrier attr-dict `:` type($mbarrier)"
    traits = traits_def(*_EFFECTS)

    def __init__(self, mbarrier: SSAValue):
        super().__init__(operands=[mbarrier])


@irdl_op_definition
class LdOp(IRDLOperation):
    """
    `%v = tcgen05.ld "32x32b" %t : !tirx.tile<128x32xf32, tensor, L> -> !tirx.tile<128x32xf32, register, L2>`

    Tensor memory to registers, with the data movement of one instruction shape. PTX ISA, "tcgen05.ld".
    """

    name = "tcgen05.ld"

    ld_shape = prop_def(StringAttr)
    source = operand_def(TileType)
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ld_shape $source attr-dict `:` type($source) `->` type($result)"
    traits = traits_def(*_EFFECTS)

    def __init__(self, shape: str, source: SSAValue, type_: TileType):
        super().__init__(operands=[source], properties={"ld_shape": StringAttr(shape)}, result_types=[type_])

    def verify_(self) -> None:
        _check_ld_shape(self.ld_shape.data)
        source = _expect(self.source, Scope.TENSOR, "a tile")
        _check_same_elements(source, _expect(self.result, Scope.REGISTER, "a tile"))


@irdl_op_definition
class StOp(IRDLOperation):
    """
    `tcgen05.st "32x32b" %v, %t : !tirx.tile<128x32xf32, register, L2>, !tirx.tile<128x32xf32, tensor, L>`

    Registers to tensor memory. PTX ISA, "tcgen05.st".
    """

    name = "tcgen05.st"

    st_shape = prop_def(StringAttr)
    value = operand_def(TileType)
    destination = operand_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$st_shape $value `,` $destination attr-dict `:` type($value) `,` type($destination)"
    traits = traits_def(*_EFFECTS)

    def __init__(self, shape: str, value: SSAValue, destination: SSAValue):
        super().__init__(operands=[value, destination], properties={"st_shape": StringAttr(shape)})

    def verify_(self) -> None:
        _check_ld_shape(self.st_shape.data)
        value = _expect(self.value, Scope.REGISTER, "a tile")
        _check_same_elements(_expect(self.destination, Scope.TENSOR, "a tile"), value)


@irdl_op_definition
class WaitOp(IRDLOperation):
    """`tcgen05.wait ld`: this thread's `tcgen05.ld` (or `st`) are complete."""

    name = "tcgen05.wait"

    kind = prop_def(WaitForAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind attr-dict"
    traits = traits_def(*_EFFECTS)

    def __init__(self, kind: WaitFor):
        super().__init__(properties={"kind": WaitForAttr(kind)})


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`tcgen05.fence before_thread_sync`: orders asynchronous tcgen05 work with a synchronisation of threads."""

    name = "tcgen05.fence"

    position = prop_def(FencePositionAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$position attr-dict"
    traits = traits_def(*_EFFECTS)

    def __init__(self, position: FencePosition):
        super().__init__(properties={"position": FencePositionAttr(position)})


TCGEN05 = Dialect(
    "tcgen05",
    [
        AllocOp,
        RelinquishAllocPermitOp,
        DeallocOp,
        TileOp,
        SmemDescriptorOp,
        InstructionDescriptorOp,
        ZeroColumnMaskOp,
        MmaOp,
        MmaWsOp,
        CommitOp,
        LdOp,
        StOp,
        WaitOp,
        FenceOp,
    ],
    [InstructionDescriptorAttr, ZeroColumnMaskAttr, FencePositionAttr, WaitForAttr],
)
