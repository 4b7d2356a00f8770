"""A parsed module and the name of an entry to a `Program`."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.sim.core.types import PRED, U32
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import decode
from tirx.sim.program.assignment import maybe_undefined
from tirx.sim.program.code import Branch, Call, Control, Exit, Op, Program, Register, Return, Source, Step, TableBranch
from tirx.sim.program.flow import immediate_post_dominators, reachable
from tirx.sim.program.intrinsics import INTRINSICS
from tirx.sim.program.parameters import copy_parameter
from tirx.sim.program.symbols import Symbols, names_in
from tirx.sim.reader.syntax import Function, Group, Instruction, Module, Name

_BRANCHES = ("bra", "brx")
_ENDS = ("ret", "exit")


def link(module: Module, entry_name: str, dynamic_shared: int = 0, *, check: bool = True) -> tuple[Program, Symbols]:
    """
    The entry `entry_name` and all functions that it may call, decoded.

    With `check`, registers that may be read before they are written are watched. Raises SimError for a name that is not
    declared, and for an instruction that is unknown and can be reached.
    """
    entry = module.functions.get(entry_name)
    if entry is None or not entry.is_entry or not entry.defined:
        names = sorted(name for name, function in module.functions.items() if function.is_entry)
        raise SimError(
            f"expected the name of an entry of the module ({', '.join(names) or 'it has none'}), found {entry_name!r}"
        )
    functions = _called_functions(module, entry)
    symbols = Symbols(module, functions, dynamic_shared)
    linker = _Linker(symbols, functions)
    watched = linker.watched(check)
    if watched:
        symbols.watch([register for register, _ in watched], linker.fragments())
        linker = _Linker(symbols, functions)
    program = Program(
        name=entry_name,
        target=symbols.target,
        code=linker.code,
        register_counts=symbols.register_counts,
        watched=tuple(register.name for register, _ in watched),
        initially_undefined=tuple(undefined for _, undefined in watched),
        parameters=symbols.parameters,
        parameter_bytes=symbols.parameter_bytes,
        shared=symbols.shared,
        shared_end=symbols.shared_end,
        local_bytes=symbols.local_bytes,
        directives=entry.directives,
    )
    return program, symbols


def _called_functions(module: Module, entry: Function) -> list[Function]:
    """The entry and the defined functions that are mentioned in it or in what it calls; SimError for recursion."""
    order = [entry]
    callees: dict[str, list[str]] = {}
    for function in order:
        mentioned: list[str] = []
        for instruction in function.code:
            for operand in instruction.operands:
                for name in names_in(operand):
                    callee = module.functions.get(name)
                    if callee is None or callee.is_entry or instruction.scope.variable(name) is not None:
                        continue
                    if name not in mentioned:
                        mentioned.append(name)
                    if callee.defined and callee not in order:
                        order.append(callee)
        callees[function.name] = mentioned
    _refuse_recursion(order, callees)
    return order


def _refuse_recursion(functions: Sequence[Function], callees: dict[str, list[str]]) -> None:
    finished: set[str] = set()
    for start in functions:
        stack = [(start.name, iter(callees[start.name]))]
        active = {start.name}
        while stack:
            name, rest = stack[-1]
            following = next((each for each in rest if each in callees and each not in finished), None)
            if following is None:
                stack.pop()
                active.discard(name)
                finished.add(name)
            elif following in active:
                line = next(function.line for function in functions if function.name == following)
                raise SimError(
                    f"function {following} calls itself (perhaps through others); recursion is not simulated", line
                )
            else:
                active.add(following)
                stack.append((following, iter(callees[following])))


class _Linker:
    """Decodes the functions one behind another into one list of ops."""

    def __init__(self, symbols: Symbols, functions: Sequence[Function]):
        self._symbols = symbols
        self._starts: dict[str, int] = {}
        self._successors: dict[str, list[list[int]]] = {}
        self._decoders: dict[str, dict[int, Decoder]] = {}
        start = 0
        for function in functions:
            self._starts[function.name] = start
            start += len(function.code) + 1  # and a return at the end
        self._functions = functions
        self.code: list[Op] = []
        for function in functions:
            self.code += self._function(function)

    def watched(self, check: bool) -> list[tuple[Register, bool]]:
        """Registers whose state has to be known, and whether they start undefined."""
        found: dict[int, tuple[Register, bool]] = {}
        for function in self._functions if check else ():
            decoders = self._decoders[function.name]
            uses = {index: decoder.uses for index, decoder in decoders.items()}
            definitions = {
                index: decoder.definitions for index, decoder in decoders.items() if decoder.instruction.guard is None
            }
            for decoder in decoders.values():
                for register in decoder.pending:
                    found[id(register)] = (register, False)
            for register in maybe_undefined(self._successors[function.name], uses, definitions):
                found[id(register)] = (register, True)
        return list(found.values())

    def fragments(self) -> set[int]:
        """The registers (ids) that a wgmma.mma_async accesses."""
        decoders = [decoder for own in self._decoders.values() for decoder in own.values()]
        return {id(register) for decoder in decoders for register in decoder.fragments}

    def _function(self, function: Function) -> list[Op]:
        code, start = function.code, self._starts[function.name]
        successors = [self._following(code, index) for index in range(len(code))]
        successors.append([len(code) + 1])
        joins = immediate_post_dominators(successors)
        live = reachable(successors)
        self._successors[function.name] = successors
        decoders = self._decoders[function.name] = {}
        ops: list[Op] = []
        for index, instruction in enumerate(code):
            decoder = Decoder(self._symbols, instruction)
            step: Step | None = None
            control: Control | None = None
            guard: Source | None = None
            if index in live:
                decoders[index] = decoder
                if instruction.guard is not None:
                    guard = decoder.source(instruction.guard, PRED)
                join = joins[index]
                control = self._control(decoder, start, None if join is None else start + join)
                if control is None:
                    step = self._step(decoder)
            opcode, line, text = instruction.opcode, instruction.line, instruction.text
            ops.append(Op(step, control, guard, instruction.negated, opcode, line, text))
        ops.append(
            Op(None, Return(), None, False, "ret", code[-1].line if code else function.line, "end of the function")
        )
        return ops

    def _following(self, code: list[Instruction], index: int) -> list[int]:
        instruction, exit_node = code[index], len(code) + 1
        if instruction.root == "bra":
            following = [self._label(instruction, instruction.operands[0] if instruction.operands else None)]
        elif instruction.root == "brx":
            following = sorted(set(self._table(instruction)))
        elif instruction.root in _ENDS:
            following = [exit_node]
        else:
            return [index + 1]
        return following + ([index + 1] if instruction.guard is not None else [])

    def _label(self, instruction: Instruction, operand: object) -> int:
        found = instruction.scope.label(operand.name) if isinstance(operand, Name) else None
        if found is None:
            raise SimError("expected a label of this function", instruction.line, instruction.text)
        return found

    def _table(self, instruction: Instruction) -> tuple[int, ...]:
        name = instruction.operands[1] if len(instruction.operands) == 2 else None
        table = instruction.scope.table(name.name) if isinstance(name, Name) else None
        if table is None:
            raise SimError("expected an index and the label of .branchtargets", instruction.line, instruction.text)
        targets = [table.scope.label(label) for label in table.labels]
        found = tuple(target for target in targets if target is not None)
        if len(found) != len(targets):
            raise SimError("expected labels of this function in .branchtargets", instruction.line, instruction.text)
        return found

    def _control(self, decoder: Decoder, start: int, join: int | None) -> Control | None:
        instruction = decoder.instruction
        if decoder.root in (*_BRANCHES, *_ENDS, "call"):
            decoder.drop(frozenset(("uni", "idx") if decoder.root == "brx" else ("uni",)))
            decoder.finish()
        if decoder.root == "bra":
            return Branch(start + self._label(instruction, instruction.operands[0]), join)
        if decoder.root == "brx":
            targets = tuple(start + target for target in self._table(instruction))
            return TableBranch(decoder.source(0, U32), targets, join)
        if decoder.root == "ret":
            return Return()
        if decoder.root == "exit":
            return Exit()
        if decoder.root == "call":
            return self._call(decoder)
        return None

    def _step(self, decoder: Decoder) -> Step:
        if decoder.root == "mov" and len(decoder.operands) == 2:
            # The address of a function is its place in the list of functions.
            name = decoder.operands[1]
            if isinstance(name, Name) and decoder.register(name.name) is None and name.name in self._starts:
                return self._function_address(decoder, name.name)
        return decode(decoder)

    def _function_address(self, decoder: Decoder, name: str) -> Step:
        raise decoder.error(f"expected a value, found function {name}: indirect calls are not simulated")

    def _call(self, decoder: Decoder) -> Control | None:
        operands = list(decoder.operands)
        results = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
        name = operands.pop(0) if operands else None
        arguments = operands.pop(0) if operands and isinstance(operands[0], Group) else Group(())
        assert isinstance(results, Group) and isinstance(arguments, Group), "groups by construction"
        if not isinstance(name, Name) or operands:
            raise decoder.error("expected call (results), function, (arguments)")
        callee = self._symbols.function(name.name)
        if callee is None:
            raise decoder.error(
                f"expected a function of this module, found {name.name!r}: indirect calls are not simulated"
            )
        if len(arguments.items) != len(callee.parameters) or len(results.items) != len(callee.returns):
            raise decoder.error(
                f"expected {len(callee.parameters)} arguments and {len(callee.returns)} results for {callee.name}, "
                f"found {len(arguments.items)} and {len(results.items)}"
            )
        if not callee.defined:
            intrinsic = INTRINSICS.get(callee.name)
            if intrinsic is None:
                known = ", ".join(sorted(INTRINSICS))
                raise decoder.error(f"function {callee.name} has no definition; known without one are {known}")
            return Call((-1,), None, (intrinsic(decoder, arguments.items, results.items),), ())
        before = [
            copy_parameter(decoder, item, parameter, into=True)
            for item, parameter in zip(arguments.items, callee.parameters, strict=True)
        ]
        after = [
            copy_parameter(decoder, item, value, into=False)
            for item, value in zip(results.items, callee.returns, strict=True)
        ]
        return Call((self._starts[callee.name],), None, tuple(before), tuple(after))
