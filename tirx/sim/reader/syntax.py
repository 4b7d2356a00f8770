"""Syntax tree of PTX text: operands, instructions, variables, functions. No meaning here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

# Sizes in bytes of the fundamental types (PTX ISA, section 5.2).
TYPE_SIZES = {
    **dict.fromkeys(("b8", "u8", "s8", "e4m3", "e5m2"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64", "f32x2"), 8),
    "b128": 16,
}
_NUMBERED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True, slots=True)
class Name:
    """A register, special register, variable, label or function, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: an integer, the bits of an f32 (`0f...`) or f64 (`0d...`), or a decimal number with a point."""

    kind: Literal["integer", "f32", "f64", "decimal"]
    value: int | float


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`"""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or `[base, rest...]` of tensor instructions."""

    base: Operand
    offset: int = 0
    rest: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p`"""

    predicate: Name


@dataclass(frozen=True, slots=True)
class Minus:
    """`-%r1`: an operand of vmad."""

    operand: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """`%p|%q`: two results."""

    first: Name
    second: Name


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b)`: the arguments or results of a call."""

    items: tuple[Operand, ...]


Operand: TypeAlias = "Name | Immediate | Vector | Address | Negated | Minus | Pair | Group"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `opcode` is all of it (`add.s32`), `guard` the predicate of `@p` and `negated` its `!`."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Name | None
    negated: bool
    scope: Scope
    line: int
    text: str

    @property
    def root(self) -> str:
        return self.opcode.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Initializer:
    """
    One element of an initialiser: a number, or the address of a symbol plus an offset (`generic(symbol)`); bits from
    `shift` on count.
    """

    value: int | float = 0
    kind: Literal["integer", "f32", "f64", "decimal", "symbol"] = "integer"
    symbol: str = ""
    generic: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A declared variable or parameter; `size` in bytes, 0 for an array without bounds. Compared by identity."""

    space: str
    name: str
    type: str
    size: int
    alignment: int
    line: int
    is_array: bool = False
    is_pointer: bool = False
    external: bool = False
    initializer: tuple[Initializer, ...] = ()


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """`label: .branchtargets L0, L1;`: the table of a `brx.idx`; or `.calltargets` with functions, of a `call`."""

    labels: tuple[str, ...]
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Prototype:
    """A prototype, `label: .callprototype (...) _ (...);`, of the functions that an indirect call may reach."""

    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]


@dataclass(slots=True)
class Function:
    """A `.entry` or `.func`; without `defined` only a declaration."""

    name: str
    is_entry: bool
    line: int
    parameters: list[Variable]
    returns: list[Variable]
    scope: Scope
    defined: bool = False
    code: list[Instruction] = field(default_factory=list[Instruction])
    variables: list[Variable] = field(default_factory=list[Variable])
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@dataclass(slots=True)
class Module:
    """Functions and variables of a PTX text."""

    scope: Scope
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    variables: list[Variable] = field(default_factory=list[Variable])
    version: str = ""
    target: str = ""


class Scope:
    """The names declared between a pair of braces; compared by identity."""

    def __init__(self, parent: Scope | None = None):
        self.parent = parent
        self.registers: dict[str, str] = {}  # name -> type
        self.ranges: dict[str, tuple[str, int]] = {}  # prefix of `%r<10>` -> type, count
        self.variables: dict[str, Variable] = {}
        self.labels: dict[str, int] = {}  # label -> index of the instruction it stands before
        self.tables: dict[str, BranchTargets] = {}
        self.prototypes: dict[str, Prototype] = {}

    def chain(self) -> list[Scope]:
        """Yields this scope and the scopes around it, innermost first."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return scopes

    def register(self, name: str) -> tuple[Scope, str] | None:
        """
        Returns the innermost scope that declares register `name`, and its type; None if a closer variable hides it.
        """
        for scope in self.chain():
            found = scope._own_register(name)
            if found is not None:
                return scope, found
            if name in scope.variables:
                return None
        return None

    def _own_register(self, name: str) -> str | None:
        if name in self.registers:
            return self.registers[name]
        match = _NUMBERED.fullmatch(name)
        if match is None:
            return None
        # `%r1<10>` declares %r10..%r19, so that digits may belong to the prefix as well.
        prefix, digits = match.groups()
        for split in range(len(digits)):
            number = digits[split:]
            declared = self.ranges.get(prefix + digits[:split])
            if declared is not None and (number == "0" or number[0] != "0") and int(number) < declared[1]:
                return declared[0]
        return None

    def variable(self, name: str) -> Variable | None:
        return next((scope.variables[name] for scope in self.chain() if name in scope.variables), None)

    def label(self, name: str) -> int | None:
        return next((scope.labels[name] for scope in self.chain() if name in scope.labels), None)

    def table(self, name: str) -> BranchTargets | None:
        return next((scope.tables[name] for scope in self.chain() if name in scope.tables), None)

    def prototype(self, name: str) -> Prototype | None:
        return next((scope.prototypes[name] for scope in self.chain() if name in scope.prototypes), None)

    def declares(self, name: str) -> bool:
        return name in self.registers or name in self.variables
