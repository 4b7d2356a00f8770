"""Scopes: which register, variable, label or table a name stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx.sim.reader.syntax import BranchTargets, Prototype, Variable

_NUMBERED = re.compile(r"(.*?)(\d+)")


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
        """This scope and those around it, innermost first."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return scopes

    def register(self, name: str) -> tuple[Scope, str] | None:
        """The scope that declares register `name`, and its type; a variable of that name closer by hides it."""
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
