"""Calls: the functions of a kernel, the recursive ones among them, and passed parameters (PTX ISA, section 7.1)."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.sim.core.types import B64
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Call, IndirectCall, SavedSpans
from tirx.sim.program.intrinsics import INTRINSICS
from tirx.sim.program.parameters import copy_parameter
from tirx.sim.program.symbols import Symbols, names_in
from tirx.sim.reader.syntax import Function, Group, Instruction, Module, Name, Operand, Variable


def called_functions(module: Module, entry: Function) -> tuple[list[Function], frozenset[str]]:
    """
    Returns the entry and all defined functions that it may call, directly or by address, and the names of the recursive
    functions among them.
    """
    order = [entry]
    callees: dict[str, list[str]] = {}
    indirect: list[str] = []  # functions with a call by address
    taken: list[str] = []  # functions whose address is taken

    def add(name: str) -> Function | None:
        callee = module.functions.get(name)
        if callee is None or callee.is_entry:
            return None
        if callee.defined and callee not in order:
            order.append(callee)
        return callee

    for function in order:
        mentioned = callees[function.name] = list[str]()
        for instruction in function.code:
            if _is_indirect(instruction):
                indirect.append(function.name)
                for variable in module.variables:
                    taken += [callee.name for each in variable.initializer if (callee := add(each.symbol))]
            for name in _names(instruction):
                if instruction.scope.variable(name) is not None:
                    continue
                callee = add(name)
                if callee is not None:
                    (mentioned if instruction.root == "call" else taken).append(callee.name)
    for name in indirect:
        callees[name] += taken
    return order, frozenset(name for name in callees if _reaches(callees, name))


def _names(instruction: Instruction) -> list[str]:
    """The names in an instruction, and in the list of targets of a call."""
    names = [name for operand in instruction.operands for name in names_in(operand)]
    for name in list(names):
        table = instruction.scope.table(name) if instruction.root == "call" else None
        names += table.labels if table is not None else ()
    return names


def _target(instruction: Instruction) -> str | None:
    """Returns the name of the function or register that a call names; None for other instructions."""
    if instruction.root != "call":
        return None
    return next((operand.name for operand in instruction.operands if isinstance(operand, Name)), None)


def _is_indirect(instruction: Instruction) -> bool:
    """Returns True if an instruction calls the address in a register."""
    name = _target(instruction)
    return name is not None and instruction.scope.register(name) is not None


def _reaches(callees: dict[str, list[str]], start: str) -> bool:
    seen: set[str] = set()
    pending = list(callees[start])
    while pending:
        name = pending.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            pending += callees.get(name, ())
    return False


def check_recursion(functions: Sequence[Function], recursive: frozenset[str]) -> None:
    """Raises SimError for variables that would have to be there several times, at addresses of their own."""
    for function in functions:
        variable = next((each for each in function.variables if each.space == "local"), None)
        if function.name in recursive and variable is not None:
            raise SimError(
                f"function {function.name} may call itself and has the .local variable {variable.name}: that is not "
                "simulated, as every call would need one of its own (expected alloca, or registers)",
                function.line,
            )


class Calls:
    """Decodes calls of `functions`, which start at `starts` in the code."""

    def __init__(
        self, symbols: Symbols, functions: Sequence[Function], starts: dict[str, int], recursive: frozenset[str]
    ):
        self._symbols = symbols
        self._functions = functions
        self._starts = starts
        self._recursive = recursive

    def decode(self, decoder: Decoder) -> Call | IndirectCall:
        """call [(results),] function or register [, (arguments)] [, prototype or targets]"""
        operands = list(reversed(decoder.operands))
        results = _group(operands)
        name = operands.pop() if operands else None
        arguments = _group(operands)
        table = operands.pop() if operands else None
        if not isinstance(name, Name) or not (table is None or isinstance(table, Name)) or operands:
            raise decoder.error("expected call (results), function, (arguments)")
        if decoder.register(name.name) is not None:
            return self._indirect(decoder, name, arguments.items, results.items, table)
        callee = self._symbols.function(name.name)
        if callee is None or table is not None:
            raise decoder.error(f"expected a function of this module, or a register, found {name.name!r}")
        return self._call(decoder, callee, arguments.items, results.items)

    def _call(
        self, decoder: Decoder, callee: Function, arguments: Sequence[Operand], results: Sequence[Operand]
    ) -> Call:
        if len(arguments) != len(callee.parameters) or len(results) != len(callee.returns):
            raise decoder.error(
                f"expected {len(callee.parameters)} arguments and {len(callee.returns)} results for {callee.name}, "
                f"found {len(arguments)} and {len(results)}"
            )
        if not callee.defined:
            intrinsic = INTRINSICS.get(callee.name)
            if intrinsic is None:
                known = ", ".join(sorted(INTRINSICS))
                raise decoder.error(f"function {callee.name} has no definition; known without one are {known}")
            return Call(None, (intrinsic(decoder, arguments, results),), ())
        before = [
            copy_parameter(decoder, item, parameter, into=True)
            for item, parameter in zip(arguments, callee.parameters, strict=True)
        ]
        after = [
            copy_parameter(decoder, item, value, into=False)
            for item, value in zip(results, callee.returns, strict=True)
        ]
        saved = self._saved(callee) if callee.name in self._recursive else None
        return Call(self._starts[callee.name], tuple(before), tuple(after), saved)

    def _saved(self, callee: Function) -> SavedSpans:
        own = [variable for variable in callee.variables if variable.space == "param"]
        others = (*callee.parameters, *own)
        return SavedSpans(tuple(map(self._span, callee.returns)), tuple(map(self._span, others)))

    def _span(self, variable: Variable) -> tuple[int, int]:
        place = self._symbols.place(variable).address
        return place, place + variable.size

    def _indirect(
        self,
        decoder: Decoder,
        name: Name,
        arguments: Sequence[Operand],
        results: Sequence[Operand],
        table: Name | None,
    ) -> IndirectCall:
        scope = decoder.instruction.scope
        targets = None if table is None else scope.table(table.name)
        prototype = None if table is None else scope.prototype(table.name)
        if targets is not None:
            found = [self._symbols.function(target) for target in targets.labels]
            candidates = [each for each in found if each is not None and each.defined and not each.is_entry]
            if len(candidates) != len(targets.labels):
                raise decoder.error("expected functions that are defined in .calltargets")
        elif prototype is not None:
            wanted = _sizes(prototype.parameters), _sizes(prototype.returns)
            if (len(arguments), len(results)) != (len(wanted[0]), len(wanted[1])):
                raise decoder.error(
                    f"expected {len(wanted[0])} arguments and {len(wanted[1])} results, found {len(arguments)} and "
                    f"{len(results)}"
                )
            candidates = [
                function
                for function in self._functions
                if not function.is_entry and (_sizes(function.parameters), _sizes(function.returns)) == wanted
            ]
        else:
            raise decoder.error("expected a label of .calltargets or .callprototype as the last operand")
        calls: dict[int, Call] = {}
        for function in candidates:
            address = self._symbols.function_address(function.name)
            if address is not None:
                calls[address] = self._call(decoder, function, arguments, results)
        return IndirectCall(decoder.source(name, B64), calls)


def _group(operands: list[Operand]) -> Group:
    """Takes the group away that `operands`, last first, may begin with. Returns an empty one if there is none."""
    match operands:
        case [*_, Group() as group]:
            operands.pop()
            return group
        case _:
            return Group(())


def _sizes(variables: Sequence[Variable]) -> tuple[int, ...]:
    return tuple(variable.size for variable in variables)
