"""The parameters of entries, and the names that PTX allows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.text_data import TextData
from tirx.rules import ParameterError
from tirx.values import dataclass

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+")
"""PTX ISA, "Identifiers", less those that start with `%`, which here are registers."""

RESERVED_NAMES = frozenset({"WARP_SZ"})
"""Identifiers that PTX has taken; instruction names are not among them."""

PARAM_TYPES: dict[str, int] = {"u32": 4, "s32": 4, "u64": 8, "s64": 8, "f32": 4, "f64": 8, "b8": 1}
"""Types of entry parameters and their size in bytes; `b8` is only for arrays such as tensor maps."""

PARAM_LIMIT = 32764
"""Bytes of parameters that an entry may have (PTX ISA, "Kernel Function Parameters")."""

SMALL_PARAM_LIMIT = 4352
"""Bytes of parameters beyond which an entry needs `LARGE_PARAM_VERSION` (same section)."""

LARGE_PARAM_VERSION = (8, 1)
"""The first PTX version with more than `SMALL_PARAM_LIMIT` bytes of parameters, on sm_70 and later (same section)."""

TENSOR_MAP_BYTES = 128
"""Bytes of a tensor map (PTX ISA, "Tensor-map")."""

TENSOR_MAP_ALIGNMENT = 64
"""Bytes that a tensor map is aligned to (same section)."""

ALIGNMENT_LIMIT = 1 << 30
"""Bytes: the largest alignment that ptxas takes."""


def check_identifier(what: str, name: str) -> None:
    """Raises VerifyException unless `name` can be printed as a PTX identifier as it stands."""
    if name in RESERVED_NAMES:
        raise ParameterError(f"expected {what} to be a name that PTX does not reserve, found '{name}'")
    if _IDENTIFIER.fullmatch(name) is None:
        raise ParameterError(f"expected {what} to be a PTX identifier ({_IDENTIFIER.pattern}), found '{name}'")


@dataclass(frozen=True)
class EntryParam:
    """One `.param` of an entry: `pointer` marks a global address, `align` (bytes) what it is aligned to,
    `count` the length of a `b8` array. `source` is what a launch passes: the type of a kernel argument, or an attribute
    that says how to make it from other arguments, or the bytes of a workspace of zeros; None if that is not known."""

    name: str
    type: str
    pointer: bool = False
    align: int | None = None
    count: int | None = None
    source: Attribute | None = None

    @property
    def size(self) -> int:
        """Bytes in the parameter space, without padding."""
        return PARAM_TYPES[self.type] * (self.count or 1)

    def declaration(self) -> str:
        """The PTX text, without comma (PTX ISA, "Kernel Parameter Attribute: .ptr")."""
        align = "" if self.align is None else f" .align {self.align}"
        if self.count is not None:
            return f".param{align} .{self.type} {self.name}[{self.count}]"
        pointer = f" .ptr .global{align}" if self.pointer else ""
        return f".param .{self.type}{pointer} {self.name}"

    def check(self) -> None:
        """Raises VerifyException for a parameter that PTX does not have."""
        check_identifier("parameter name", self.name)
        if self.type not in PARAM_TYPES:
            raise ParameterError(
                f"expected type of parameter '{self.name}' to be one of {', '.join(PARAM_TYPES)}, found {self.type}"
            )
        if self.pointer and self.type != "u64":
            raise ParameterError(f"expected pointer parameter '{self.name}' to be u64, found {self.type}")
        if (self.type == "b8") != (self.count is not None):
            raise ParameterError(f"expected a length for b8 parameters and for no others, parameter '{self.name}'")
        if self.count is not None and self.count < 1:
            raise ParameterError(f"expected length of parameter '{self.name}' to be positive, found {self.count}")
        if self.align is not None and (self.align < 1 or self.align & self.align - 1):
            raise ParameterError(
                f"expected alignment of parameter '{self.name}' to be a power of two, found {self.align}"
            )
        if self.align is not None and self.align > ALIGNMENT_LIMIT:
            raise ParameterError(
                f"expected alignment of parameter '{self.name}' to at most {ALIGNMENT_LIMIT} bytes, found {self.align}"
            )
        if self.align is not None and not self.pointer and self.count is None:
            raise ParameterError(f"expected an alignment only on pointers and arrays, parameter '{self.name}'")


def parameter_bytes(parameters: Sequence[EntryParam]) -> int:
    """The bytes that the parameters of an entry take, with the gaps that their alignments leave."""
    size = 0
    for each in parameters:
        # `align` of a pointer is that of what it points to; besides pointers, only arrays of bytes have one.
        alignment = PARAM_TYPES[each.type] if each.pointer or each.align is None else each.align
        size = -(-size // alignment) * alignment + each.size
    return size


@irdl_attr_definition
class EntryParamAttr(TextData[EntryParam]):
    """`a : u64 ptr align 16`, `n : u32`, `map : b8[128] align 64`; with what a launch passes behind `from`:
    `a : u64 ptr align 16 from memref<64x64xf16>`, `m : u64 from #ptx.formula<size(0, 1)>`.
    """

    name = "ptx.param"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> EntryParam:
        start = parser.pos
        name = parser.parse_identifier(context_msg=" for parameter name")
        parser.parse_punctuation(":")
        type_ = parser.parse_identifier(context_msg=" for parameter type")
        count = None
        if parser.parse_optional_punctuation("[") is not None:
            count = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation("]")
        pointer = parser.parse_optional_keyword("ptr") is not None
        align = None
        if parser.parse_optional_keyword("align") is not None:
            align = parser.parse_integer(allow_boolean=False)
        source = None
        if parser.parse_optional_keyword("from") is not None:
            source = parser.parse_attribute()
        param = EntryParam(name, type_, pointer, align, count, source)
        try:
            param.check()
        except VerifyException as error:
            parser.raise_error(str(error), start, parser.pos)
        return param

    def body(self) -> str:
        param = self.data
        count = "" if param.count is None else f"[{param.count}]"
        align = "" if param.align is None else f" align {param.align}"
        source = "" if param.source is None else f" from {param.source}"
        return f"{param.name} : {param.type}{count}{' ptr' if param.pointer else ''}{align}{source}"

    def verify(self) -> None:
        self.data.check()
