"""Parts that all instructions of the `ptx` dialect share: register types, operands, effects, the printing contract."""

from __future__ import annotations

import abc
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Protocol, Self

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext, traits_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation
from tirx.dialects.ptx.effects import NO_EFFECTS, Effects, Issue
from tirx.hw.features import FEATURES
from tirx.rules import InstructionFormError
from tirx.values import dataclass


@dataclass(frozen=True)
class RegisterClass:
    """A PTX register type and the readable prefix of its registers (PTX ISA, "Register State Space")."""

    ptx_type: str
    prefix: str
    bits: int


REGISTER_CLASSES: dict[Attribute, RegisterClass] = {
    i1: RegisterClass("pred", "%p", 1),
    i16: RegisterClass("b16", "%h", 16),
    f16: RegisterClass("b16", "%h", 16),
    bf16: RegisterClass("b16", "%h", 16),
    i32: RegisterClass("b32", "%r", 32),
    i64: RegisterClass("b64", "%rd", 64),
    f32: RegisterClass("f32", "%f", 32),
    f64: RegisterClass("f64", "%fd", 64),
}


SCRATCH_128 = IntegerType(128)
"""The type of registers of 128 bits, which only idioms of several instructions have: no value is of this type."""

SCRATCH_CLASSES: dict[Attribute, RegisterClass] = {SCRATCH_128: RegisterClass("b128", "%rq", 128)}
"""Register types of `Names.scratch` besides `REGISTER_CLASSES`."""

_INTEGER_CLASSES: dict[int, RegisterClass] = {t.width.data: REGISTER_CLASSES[t] for t in (i1, i16, i32, i64)}
"""Width -> register class. To hash a type takes several times as long."""

_FLOAT_CLASSES: dict[type[Attribute], RegisterClass] = {type(t): REGISTER_CLASSES[t] for t in (f16, bf16, f32, f64)}
"""Of types without parameters."""


def register_class(type_: Attribute) -> RegisterClass | None:
    """The registers that hold a value of `type_`; None if PTX has none (index, memref, ...)."""
    if type(type_) is IntegerType:
        return _INTEGER_CLASSES.get(type_.width.data) if type_.signedness.data is Signedness.SIGNLESS else None
    return _FLOAT_CLASSES.get(type(type_))


@dataclass(frozen=True)
class RegisterConstraint(AttrConstraint[Attribute]):
    """A type that a PTX register can hold."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        # As `register_class`, whose call would take half of the time of most verifiers.
        if type(attr) is IntegerType:
            if attr.width.data in _INTEGER_CLASSES and attr.signedness.data is Signedness.SIGNLESS:
                return
        elif type(attr) in _FLOAT_CLASSES:
            return
        raise InstructionFormError(f"expected a register type ({', '.join(map(str, REGISTER_CLASSES))}), found {attr}")

    def mapping_type_vars(self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]) -> Self:
        return self


Register = RegisterConstraint()
"""Operands and results of instructions."""


def width(type_: Attribute) -> int:
    """Bits of a register of `type_`."""
    registers = register_class(type_)
    if registers is None:
        raise KeyError(type_)
    return registers.bits


FLOAT_TYPES = frozenset((Float16Type, BFloat16Type, Float32Type, Float64Type))
"""Classes of the floating-point register types."""


def is_float(type_: Attribute) -> bool:
    """Returns True for the floating-point register types."""
    return type(type_) in FLOAT_TYPES


def bits_type(type_: Attribute) -> str:
    """The untyped PTX type of the same width, `pred` for predicates: `b32` for i32 and f32."""
    bits = width(type_)
    return "pred" if bits == 1 else f"b{bits}"


def typed(type_: Attribute, *, unsigned: bool = False) -> str:
    """The PTX operand type of arithmetic on `type_`: `s32`/`u32`, `f32`, `bf16`, ..."""
    return type_.name if is_float(type_) else f"{'u' if unsigned else 's'}{width(type_)}"


def memory_type(type_: Attribute) -> str:
    """The type suffix of loads, stores and `mov`: `f32`/`f64` for those, `bN` otherwise."""
    if (registers := register_class(type_)) is None:
        raise KeyError(type_)
    return registers.ptx_type


class Names(Protocol):
    """The printer as an instruction sees it: registers and literals for values, fresh labels and registers."""

    def __call__(self, value: SSAValue) -> str:
        """The register that holds `value`."""
        ...

    def imm(self, value: SSAValue) -> str:
        """A literal if `value` is a `ptx.constant`, its register otherwise."""
        ...

    def sources(self, values: Sequence[SSAValue]) -> list[str]:
        """`source` of each of `values`."""
        ...

    def label(self, stem: str) -> str:
        """A label that no other instruction of the entry uses."""
        ...

    def scratch(self, type_: Attribute) -> str:
        """A register that no value of the entry uses."""
        ...


class PTXInstruction(DirectOperation, abc.ABC):
    """One PTX instruction over virtual registers."""

    ISSUE: ClassVar[Issue]
    """`issue`, where it is the same for every form of the instruction."""

    EFFECTS: ClassVar[Effects]
    """`effects`, where they are."""

    NEEDS: ClassVar[tuple[str, ...]] = ()
    """`features`, where they are."""

    OPTIONS_NEED: ClassVar[Mapping[str, str]] = {}
    """Operands and properties that may be missing -> the row that each needs, behind those of `NEEDS`."""

    FORMS_NEED: ClassVar[tuple[str, ...]] = ()
    """Further rows that `features` has for some forms."""

    FOLLOWS_TYPES: ClassVar[bool] = False
    """True if `verify_` looks at types, properties and attributes only: what it says of one instruction holds for all
    of the class that have the same."""

    FOLLOWS_IMMEDIATES: ClassVar[bool] = False
    """True if it looks at literals besides that are operands (`immediates_of`), once operands are registers."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls):
            for method, constant in ((PTXInstruction.issue, "ISSUE"), (PTXInstruction.effects, "EFFECTS")):
                if getattr(cls, constant.lower()) is method and not hasattr(cls, constant):
                    raise TypeError(f"{cls.__name__}: expected {constant} or '{constant.lower()}', found neither")
            for name in cls.NEEDS:
                if name not in FEATURES:
                    raise TypeError(f"{cls.__name__}: expected rows of tirx.hw.features.FEATURES, found '{name}'")

    @classmethod
    def forms_need(cls) -> tuple[str, ...]:
        """Rows that `features` has for some forms, and not for all."""
        return *cls.OPTIONS_NEED.values(), *cls.FORMS_NEED

    @property
    def issue(self) -> Issue:
        """The threads that execute this instruction together."""
        return self.ISSUE

    def effects(self) -> Effects:
        """The memory that the instruction touches, and what it synchronises; `NO_EFFECTS` if neither."""
        return self.EFFECTS

    def in_place(self) -> Iterable[tuple[SSAValue, int]]:
        """Pairs of a result and the index of the operand whose register it takes: PTX names both with one operand."""
        return ()

    def features(self) -> tuple[str, ...]:
        """Rows of `tirx.hw.features.FEATURES` that this instruction, as it stands, needs."""
        if not self.OPTIONS_NEED:
            return self.NEEDS
        return *self.NEEDS, *(row for name, row in self.OPTIONS_NEED.items() if getattr(self, name) is not None)

    @abc.abstractmethod
    def emit(self, reg: Names) -> str:
        """The instruction without its semicolon; several lines where the op stands for an idiom, labels end in `:`
        and blocks begin with `{`; "" for none."""
        raise NotImplementedError


class ThreadOp(PTXInstruction, abc.ABC):
    """An instruction that each thread executes by itself."""

    ISSUE: ClassVar = Issue.THREAD


class FixedOp(PTXInstruction, abc.ABC):
    """An instruction without operands, whose text is the same everywhere."""

    TEXT: ClassVar[str]

    assembly_format = "attr-dict"

    def emit(self, reg: Names) -> str:
        return self.TEXT


class PureInstruction(ThreadOp, abc.ABC):
    """An instruction whose results depend on nothing but its operands and properties."""

    EFFECTS: ClassVar = NO_EFFECTS

    traits = traits_def(Pure())


class PTXTerminator(DirectOperation, abc.ABC):
    """A terminator of a block of `ptx.entry`; the printer knows them, since they need the order of blocks."""


def source(reg: Names, value: SSAValue) -> str:
    """A source operand of arithmetic: literals are allowed except for 16-bit floats and predicates."""
    type_ = value.type
    has_literals = type_.width.data != 1 if type(type_) is IntegerType else type(type_) in (Float32Type, Float64Type)
    return reg.imm(value) if has_literals else reg(value)


def vector(reg: Names, values: Sequence[SSAValue]) -> str:
    """`{%r0, %r1}`."""
    return "{" + ", ".join(map(reg, values)) + "}"


def address(reg: Names, base: SSAValue, offset: int = 0) -> str:
    """`[%rd0]` or `[%rd0+16]`; `offset` in bytes."""
    return f"[{reg(base)}+{offset}]" if offset else f"[{reg(base)}]"


_DECIMAL_LIMIT = 1 << 16
"""Integers below this read best in decimal (counts, offsets); above it in hexadecimal (masks, descriptors)."""

_FLOAT_LITERALS: dict[type[Attribute], tuple[str, str, str, int]] = {
    # type -> (struct format of the value, of its bits, literal prefix, hexadecimal digits)
    Float16Type: ("<e", "<H", "0x", 4),
    Float32Type: ("<f", "<I", "0f", 8),
    Float64Type: ("<d", "<Q", "0d", 16),
}


def _bf16_bits(value: float) -> int:
    """Bits of `value` rounded to the nearest bfloat16, ties to even."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def literal(value: IntegerAttr | FloatAttr) -> str:
    """The PTX literal of a constant of a register type (PTX ISA, "Constants"); bit patterns for floats."""
    match value:
        case IntegerAttr():
            bits = width(value.type)
            number = value.value.data
            if bits == 1:
                return str(number & 1)
            unsigned = number & (1 << bits) - 1
            signed = unsigned - (1 << bits) if unsigned >> (bits - 1) else unsigned
            return str(signed) if abs(signed) < _DECIMAL_LIMIT else f"0x{unsigned:0{bits // 4}X}"
        case FloatAttr(type=BFloat16Type(), value=data):
            return f"0x{_bf16_bits(data.data):04X}"
        case FloatAttr(type=type_, value=data):
            float_format, bits_format, prefix, digits = _FLOAT_LITERALS[type(type_)]
            bits = struct.unpack(bits_format, struct.pack(float_format, data.data))[0]
            return f"{prefix}{bits:0{digits}X}"


def expect_type(name: str, value: SSAValue | Attribute, expected: Attribute) -> None:
    """Raises VerifyException unless `value` (or a type) is of type `expected`."""
    found = value.type if isinstance(value, SSAValue) else value
    if found is not expected and found != expected:
        raise InstructionFormError(f"expected {name} of type {expected}, found {found}")


def expect_choice(name: str, found: int | str, choices: Sequence[int | str]) -> None:
    """Raises VerifyException unless `found` is one of `choices`."""
    if found not in choices:
        raise InstructionFormError(f"expected {name} to be one of {', '.join(map(str, choices))}, found {found}")
