"""Attributes of the `tcgen05` dialect: symbolic descriptors, and enumerations of modifiers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute
from tirx.dialects.fields import fields_text, parse_value
from tirx.dialects.text_data import TextData, errors_from
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.zero_column_mask import ZeroColumnMask


@irdl_attr_definition
class InstructionDescriptorAttr(TextData[InstructionDescriptor]):
    """`#tcgen05.instruction_descriptor<kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256>`

    The fields of the value class; modifiers that have their default are left out.
    """

    name = "tcgen05.instruction_descriptor"

    _ALWAYS_SHOWN: ClassVar = frozenset({"kind", "a", "b", "d", "m", "n"})

    @classmethod
    def parse_body(cls, parser: AttrParser) -> InstructionDescriptor:
        return parse_value(parser, InstructionDescriptor, cls._ALWAYS_SHOWN)

    def body(self) -> str:
        return fields_text(self.data, self._ALWAYS_SHOWN)


@irdl_attr_definition
class ZeroColumnMaskAttr(TextData[ZeroColumnMask]):
    """`#tcgen05.zero_column_mask<0x0203028301020100>`: the descriptor; its fields are in the value class."""

    name = "tcgen05.zero_column_mask"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ZeroColumnMask:
        with errors_from(parser, parser.pos):
            return ZeroColumnMask.decode(parser.parse_integer(allow_boolean=False, allow_negative=False))

    def body(self) -> str:
        return f"{self.data.encode():#018x}"


class FencePosition(StrEnum):
    """On which side of a synchronisation between threads a `tcgen05.fence` stands."""

    BEFORE = "before_thread_sync"
    AFTER = "after_thread_sync"


FencePositionAttr = enum_attribute("tcgen05.fence_position", FencePosition)


class WaitFor(StrEnum):
    """The accesses of this thread that a `tcgen05.wait` waits for."""

    LD = "ld"
    ST = "st"


WaitForAttr = enum_attribute("tcgen05.wait_for", WaitFor)


class MmaKind(StrEnum):
    """`.kind::` of `tcgen05.mma`: the element types."""

    F16 = "f16"
    TF32 = "tf32"
    F8F6F4 = "f8f6f4"
    I8 = "i8"
    TI16 = "ti16"
    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"


MmaKindAttr = enum_attribute("tcgen05.mma_kind", MmaKind)


class Collector(StrEnum):
    """The use of the collector buffer of an operand (PTX ISA, "tcgen05.mma: .collector_usage")."""

    FILL = "fill"
    USE = "use"
    LASTUSE = "lastuse"
    DISCARD = "discard"


CollectorAttr = enum_attribute("tcgen05.collector", Collector)


class Reduction(StrEnum):
    """The reduction that `tcgen05.ld.red` computes over the registers of a thread."""

    MIN = "min"
    MAX = "max"


ReductionAttr = enum_attribute("tcgen05.reduction", Reduction)
