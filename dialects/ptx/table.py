"""Instructions that are functions of registers of one type, as rows of a table.

A row gives the operation: its assembly format, the types and flags that it has, what they need, its PTX text and the
forms that the tests give to `ptxas`. PTX ISA, "Integer Arithmetic Instructions" to "Logic and Shift Instructions".
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import VarConstraint, operand_def, result_def, traits_def
from xdsl.traits import HasFolder

from tirx.dialects.definition import Value, fill, irdl_op_definition, unit, value_of
from tirx.dialects.ptx.base import Names, PureInstruction, Register, bits_type, source, typed
from tirx.dialects.ptx.folding import fold_integers
from tirx.rules import InstructionFormError

INTS = (i16, i32, i64)
FLOATS = (f16, bf16, f32, f64)
BITS = (i1, *INTS)
_TYPES = (*BITS, *FLOATS)


@dataclass(frozen=True)
class Form:
    """The types that have an instruction with exactly these flags, and the rows of `FEATURES` that they need.

    In `text`, {s} is the signed or floating-point type (s32, f32), {u} the unsigned one (u32), {b} the bits (b32).
    """

    text: str
    types: tuple[Attribute, ...]
    flags: tuple[str, ...] = ()
    needs: tuple[tuple[Attribute, tuple[str, ...]], ...] = ()

    def mnemonic(self, type_: Attribute) -> str:
        """The instruction with all its modifiers, as `add.rn.f32`."""
        return self.text.format(s=typed(type_), u=typed(type_, unsigned=True), b=bits_type(type_))

    def features(self, type_: Attribute) -> tuple[str, ...]:
        """Rows of `FEATURES` that the instruction on this type needs."""
        return dict(self.needs).get(type_, ())


def form(text: str, *types: Attribute, flags: str = "", **needs: str) -> Form:
    """A form of a row: `form("neg.{s}", f32, bf16, bf16="bf16.neg")`. Flags, and features of a type, are words."""
    by_name = {str(type_): type_ for type_ in types}
    features = tuple((by_name[name], tuple(rows.split())) for name, rows in needs.items())
    return Form(text, types, tuple(flags.split()), features)


class _FoldsIntegers(HasFolder):
    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        return fold_integers(op)


def _kind(type_: Attribute) -> object:
    """Tells register types apart. To hash a type takes several times as long."""
    return type_.width.data if type(type_) is IntegerType else type(type_)


_InstructionT = TypeVar("_InstructionT", bound="TableInstruction")


class TableInstruction(PureInstruction, abc.ABC):
    """An instruction whose result has the type of its first operand, which `FORMS` list."""

    FORMS: ClassVar[tuple[Form, ...]]
    FLAGS: ClassVar[tuple[str, ...]]
    OPERANDS: ClassVar[tuple[str, ...]]

    T: ClassVar = VarConstraint("T", Register)
    result = result_def(T)

    traits = traits_def(_FoldsIntegers())

    def __init__(self, *operands: Value, **flags: bool):
        if len(operands) != len(self.OPERANDS) or not flags.keys() <= {*self.FLAGS}:
            expected = ", ".join((*self.OPERANDS, *self.FLAGS))
            found = ", ".join((f"{len(operands)} operands", *flags))
            raise TypeError(f"{self.name}: expected {expected}, found {found}")
        values = [value_of(operand) for operand in operands]
        properties: dict[str, Attribute] = {
            name: mark for name, flag in flags.items() if (mark := unit(flag)) is not None
        }
        fill(self, values, [values[0].type], properties)

    def _legal(self) -> tuple[str, tuple[str, ...]] | None:
        """The text of this form and what it needs; None if the instruction does not have it."""
        flags = self.properties
        key = (_kind(self.result.type), *(name for name in self.FLAGS if name in flags))
        return _legal_forms(type(self)).get(key)

    def verify_(self) -> None:
        if self._legal() is not None:
            return
        type_, flags = self.result.type, [name for name in self.FLAGS if name in self.properties]
        types = {name: _types(form for form in self.FORMS if name in form.flags) for name in flags}
        wrong = next((name for name in flags if type_ not in types[name]), None)
        if type_ not in (known := _types(self.FORMS)):
            expected = f"type to be one of {', '.join(map(str, known))}, found {type_}"
        elif wrong is not None:
            expected = f"'{wrong}' on {_listed(types[wrong])}, found {type_}"
        else:
            needed = next(form.flags for form in self.FORMS if type_ in form.types)
            expected = f"'{' '.join(needed)}' on {type_}, found {' '.join(flags) or 'none'}"
        raise InstructionFormError(f"{self.name}: expected {expected}")

    def features(self) -> tuple[str, ...]:
        found = self._legal()
        return () if found is None else found[1]

    def emit(self, reg: Names) -> str:
        found = self._legal()
        text = _texts(type(self), tuple(self.properties), self.result.type)[0] if found is None else found[0]
        return f"{text} {reg(self.result)}, {', '.join([source(reg, value) for value in self.operands])}"

    @classmethod
    def forms(cls) -> Iterator[tuple[Attribute, dict[str, bool]]]:
        """All types with the flags of each form, legal or not, but for those whose text is that of a legal form."""
        legal = {text for text, _ in _legal_forms(cls).values()}
        for flags, type_ in product(dict.fromkeys(form.flags for form in cls.FORMS), _TYPES):
            is_legal = any(type_ in form.types for form in cls.FORMS if form.flags == flags)
            if is_legal or not legal & {*_texts(cls, flags, type_)}:
                yield type_, dict.fromkeys(flags, True)


def _types(forms: Iterator[Form] | tuple[Form, ...]) -> tuple[Attribute, ...]:
    return tuple(dict.fromkeys(type_ for form in forms for type_ in form.types))


def _listed(types: tuple[Attribute, ...]) -> str:
    if types == INTS:
        return "integers only"
    *first, last = map(str, types)
    return f"{', '.join(first)} or {last}" if first else last


@cache
def _legal_forms(row: type[TableInstruction]) -> Mapping[tuple[object, ...], tuple[str, tuple[str, ...]]]:
    return {
        (_kind(type_), *form.flags): (form.mnemonic(type_), form.features(type_))
        for form in row.FORMS
        for type_ in form.types
    }


def _texts(row: type[TableInstruction], flags: tuple[str, ...], type_: Attribute) -> list[str]:
    """The texts of an instruction with these flags, those of forms for other types too."""
    return [form.mnemonic(type_) for form in row.FORMS if {*form.flags} == {*flags}]


class UnaryInstruction(TableInstruction, abc.ABC):
    """One operand."""

    OPERANDS: ClassVar = ("operand",)

    operand = operand_def(TableInstruction.T)


class BinaryInstruction(TableInstruction, abc.ABC):
    """Two operands."""

    OPERANDS: ClassVar = ("lhs", "rhs")

    lhs = operand_def(TableInstruction.T)
    rhs = operand_def(TableInstruction.T)


class TernaryInstruction(TableInstruction, abc.ABC):
    """Three operands."""

    OPERANDS: ClassVar = ("a", "b", "c")

    a = operand_def(TableInstruction.T)
    b = operand_def(TableInstruction.T)
    c = operand_def(TableInstruction.T)


def row(name: str, *forms: Form) -> Callable[[type[_InstructionT]], type[_InstructionT]]:
    """
    Class decorator: the operation `ptx.` and `name`, of these forms.

    The class states its operands, as those above do, and its flags as properties. An instruction that has one type is
    written without it.
    """

    def define(cls: type[_InstructionT]) -> type[_InstructionT]:
        flags = tuple(dict.fromkeys(flag for form in forms for flag in form.flags))
        types = _types(forms)
        clauses = "".join(f"(`{flag}` ${flag}^)? " for flag in flags)
        names = " `,` ".join(f"${name}" for name in cls.OPERANDS)
        cls.name = f"ptx.{name}"
        cls.assembly_format = f"{clauses}{names} attr-dict{' `:` type($result)' if len(types) > 1 else ''}"
        if len(types) == 1:
            for operand in cls.OPERANDS:
                setattr(cls, operand, operand_def(types[0]))
            cls.result = result_def(types[0])
        defined = irdl_op_definition(cls)
        defined.FORMS, defined.FLAGS = forms, flags
        return defined

    return define


__all__ = ["TableInstruction"]
