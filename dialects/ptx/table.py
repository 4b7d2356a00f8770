"""Instructions that are functions of registers whose types follow from one of them, as rows of a table.

A row gives the operation: its assembly format, the types and flags that it has, what they need, its PTX text and the
forms that the tests give to `ptxas`. PTX ISA, "Integer Arithmetic Instructions" to "Logic and Shift Instructions".
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import VarConstraint, operand_def, result_def, traits_def
from xdsl.traits import HasFolder

from tirx.dialects.constructor import VALUES
from tirx.dialects.definition import UNIT, fill, irdl_op_definition, item, value_of
from tirx.dialects.ptx.base import Names, PureInstruction, Register, bits_type, typed
from tirx.dialects.ptx.folding import fold_integers
from tirx.dialects.xdsl_private import operands_of, type_of
from tirx.rules import InstructionFormError
from tirx.values import dataclass

INTS = (i16, i32, i64)
FLOATS = (f16, bf16, f32, f64)
BITS = (i1, *INTS)


@dataclass(frozen=True)
class Form:
    """The types that have an instruction with exactly these words, and the rows of `FEATURES` that they need.

    Words are the members of enumerations that choose the function, then flags.

    In `text`, {s} is the signed or floating-point type (s32, f32), {u} the unsigned one (u32), {b} the bits (b32).
    """

    text: str
    types: tuple[Attribute, ...]
    words: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    needs: tuple[tuple[Attribute, tuple[str, ...]], ...] = ()

    def mnemonic(self, type_: Attribute) -> str:
        """The instruction with all its modifiers, as `add.rn.f32`."""
        return self.text.format(s=typed(type_), u=typed(type_, unsigned=True), b=bits_type(type_))

    def features(self, type_: Attribute) -> tuple[str, ...]:
        """Rows of `FEATURES` that the instruction on this type needs."""
        return dict(self.needs).get(type_, ())


def form(text: str, *types: Attribute, of: str = "", flags: str = "", **needs: str) -> Form:
    """A form of a row: `form("neg.{s}", f32, bf16, bf16="bf16.neg")`. Flags, and features of a type, are words."""
    features = {type_: tuple(needs[str(type_)].split()) for type_ in types if str(type_) in needs}
    return Form(text, types, (*of.split(), *flags.split()), tuple(flags.split()), tuple(features.items()))


class _FoldsIntegers(HasFolder):
    @classmethod
    def fold(cls, op: Operation) -> Sequence[SSAValue | Attribute] | None:
        return fold_integers(op)


def _kind(type_: Attribute) -> object:
    """Tells register types apart. To hash a type takes several times as long."""
    return type_.width.data if type(type_) is IntegerType else type(type_)


_InstructionT = TypeVar("_InstructionT", bound="TableInstruction")


class TableInstruction(PureInstruction, abc.ABC):
    """An instruction whose first operand has a type that `FORMS` list, and whose result has it, too, or one of that."""

    FOLLOWS_TYPES: ClassVar = True

    FORMS: ClassVar[tuple[Form, ...]]
    LEGAL: ClassVar[Mapping[object, tuple[str, tuple[str, ...]]]]
    """The kind of a type, or a tuple of it and the words where there may be words -> text and needs of the form."""
    FLAGS: ClassVar[tuple[str, ...]]
    OPERANDS: ClassVar[tuple[str, ...]]
    CHOICES: ClassVar[tuple[str, ...]] = ()
    """The properties whose members are words of the forms; they precede the operands."""
    LITERALS: ClassVar = True
    """True if operands may be literals."""
    RESULTS: ClassVar[Mapping[Attribute, Attribute]] = {}
    """Type of the operands -> of the result, where they differ and it is not one for all."""

    T: ClassVar = VarConstraint("T", Register)
    result = result_def(T)

    traits = traits_def(_FoldsIntegers())

    def __init__(self, *operands: Any, **flags: bool):
        if self.CHOICES:
            super().__init__(*operands, **flags)
            return
        if len(operands) != len(self.OPERANDS) or (flags and not flags.keys() <= {*self.FLAGS}):
            expected = ", ".join((*self.OPERANDS, *self.FLAGS))
            found = ", ".join((f"{len(operands)} operands", *flags))
            raise TypeError(f"{self.name}: expected {expected}, found {found}")
        values = operands if {*map(type, operands)} <= VALUES else [*map(value_of, operands)]
        type_ = values[0].type
        properties: dict[str, Attribute] = {name: UNIT for name, flag in flags.items() if flag}
        fill(self, values, [self.RESULTS.get(type_, type_) if self.RESULTS else type_], properties)

    def _legal(self) -> tuple[str, tuple[str, ...]] | None:
        """The text of this form and what it needs; None if the instruction does not have it."""
        type_ = type_of(item(operands_of(self), 0))
        kind = type_.width.data if type(type_) is IntegerType else type(type_)  # as `_kind`
        if self.FLAGS or self.CHOICES:
            return self.LEGAL.get((kind, *self._words) if self.properties or self.CHOICES else (kind,))
        return self.LEGAL.get(kind)

    @property
    def _type(self) -> Attribute:
        return type_of(item(operands_of(self), 0))

    @property
    def _words(self) -> tuple[str, ...]:
        flags = tuple([name for name in self.FLAGS if name in self.properties])
        return (*(getattr(self, name).data for name in self.CHOICES), *flags) if self.CHOICES else flags

    def verify_(self) -> None:
        if self._legal() is not None:
            if self.RESULTS and (result := self.RESULTS[self._type]) != self.result.type:
                raise InstructionFormError(f"{self.name}: expected {self._type} -> {result}, found {self.result.type}")
            return
        type_, words = self._type, self._words
        types = {name: self.types_of(name) for name in words}
        wrong = next((name for name in words if type_ not in types[name]), None)
        if type_ not in (known := _types(self.FORMS)):
            expected = f"type to be one of {', '.join(map(str, known))}, found {type_}"
        elif wrong is not None:
            expected = f"'{wrong}' on {_listed(types[wrong])}, found {type_}"
        else:
            needed = next(form.words for form in self.FORMS if type_ in form.types)
            expected = f"'{' '.join(needed)}' on {type_}, found {' '.join(words) or 'none'}"
        raise InstructionFormError(f"{self.name}: expected {expected}")

    @classmethod
    def types_of(cls, word: str) -> tuple[Attribute, ...]:
        """The types that have the instruction with this word."""
        return _types(form for form in cls.FORMS if word in form.words)

    def features(self) -> tuple[str, ...]:
        found = self._legal()
        return () if found is None else found[1]

    def emit(self, reg: Names) -> str:
        found = self._legal()
        text = _texts(type(self), self._words, self._type)[0] if found is None else found[0]
        values = operands_of(self)
        return f"{text} {reg(self.result)}, {', '.join(reg.sources(values) if self.LITERALS else map(reg, values))}"


def _types(forms: Iterator[Form] | tuple[Form, ...]) -> tuple[Attribute, ...]:
    return tuple(dict.fromkeys(type_ for form in forms for type_ in form.types))


def _listed(types: tuple[Attribute, ...]) -> str:
    if types == INTS:
        return "integers only"
    *first, last = map(str, types)
    return f"{', '.join(first)} or {last}" if first else last


def _texts(row: type[TableInstruction], words: tuple[str, ...], type_: Attribute) -> list[str]:
    """The texts of an instruction with these words, those of forms for other types too."""
    return [form.mnemonic(type_) for form in row.FORMS if {*form.words} == {*words}]


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


def row(
    name: str, *forms: Form, choices: tuple[str, ...] = (), results: Mapping[Attribute, Attribute] = {}
) -> Callable[[type[_InstructionT]], type[_InstructionT]]:
    """Class decorator: the operation `ptx.` and `name`, of these forms; `choices` and `results` as the class has them.

    The class states its operands, as those above do, its flags and choices as properties, and its result where that is
    not of the operands' type. An instruction that has one type is written without it.
    """

    def define(cls: type[_InstructionT]) -> type[_InstructionT]:
        flags = tuple(dict.fromkeys(flag for form in forms for flag in form.flags))
        types = _types(forms)
        clauses = "".join([*(f"${name} " for name in choices), *(f"(`{flag}` ${flag}^)? " for flag in flags)])
        names = " `,` ".join(f"${name}" for name in cls.OPERANDS)
        written = "result" if cls.result is TableInstruction.result else cls.OPERANDS[0]
        type_ = f" `:` type(${written})" if len(types) > 1 else ""
        cls.name = f"ptx.{name}"
        cls.assembly_format = f"{clauses}{names} attr-dict{type_}{' `->` type($result)' if results else ''}"
        if len(types) == 1:
            for operand in cls.OPERANDS:
                setattr(cls, operand, operand_def(types[0]))
            cls.result = result_def(types[0])
        defined = irdl_op_definition(cls)
        defined.FORMS, defined.FLAGS, defined.CHOICES, defined.RESULTS = forms, flags, choices, results
        defined.FORMS_NEED = tuple(dict.fromkeys(need for form in forms for _, needs in form.needs for need in needs))
        defined.LEGAL = {
            (_kind(type_), *form.words) if flags or choices else _kind(type_): (
                form.mnemonic(type_),
                form.features(type_),
            )
            for form in forms
            for type_ in form.types
        }
        return defined

    return define


__all__ = ["TableInstruction"]
