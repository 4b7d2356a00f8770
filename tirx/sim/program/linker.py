"""A parsed module and the name of an entry to a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tirx.sim.core.launch import Arithmetic, Level
from tirx.sim.core.types import B64, PRED, U32, U64
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import decode
from tirx.sim.program.assignment import maybe_undefined
from tirx.sim.program.calls import Calls, called_functions, check_recursion
from tirx.sim.program.code import Branch, Control, Exit, Op, Program, Register, Return, Step, TableBranch
from tirx.sim.program.flow import immediate_post_dominators, reachable
from tirx.sim.program.side_by_side import are_independent, is_wide, may_run_side_by_side
from tirx.sim.program.symbols import Symbols
from tirx.sim.program.undefined import carries, carrying
from tirx.sim.reader.syntax import Function, Instruction, Module, Name

_BRANCHES = ("bra", "brx")
_ENDS = ("ret", "exit")
_OPERANDS = {"bra": (1,), "brx": (2,), "ret": (0,), "exit": (0,)}


class Linked:
    """
    An entry with all functions that it may call, decoded, for any number of launches.

    `symbols` has the memories of a launch (`Symbols.memories`).
    """

    def __init__(self, program: Program, symbols: Symbols, decode_carrying: Callable[[], list[Op]] | None):
        self._program, self.symbols, self._decode_carrying = program, symbols, decode_carrying

    def program(self) -> Program:
        """Returns the program for one launch, which may watch all registers for itself."""
        found = replace(self._program, code=list(self._program.code))
        decode_carrying = self._decode_carrying
        if decode_carrying is None:
            return found

        def look_closely() -> None:
            registers = self.symbols.watch_all()
            undefined = len(registers) - len(found.initially_undefined)
            found.watched = tuple(register.name for register in registers)
            found.initially_undefined += (False,) * undefined
            found.code[:] = decode_carrying()

        found.look_closely = look_closely
        return found


def link(
    module: Module,
    entry_name: str,
    dynamic_shared: int = 0,
    *,
    check: Level | None = "strict",
    arithmetic: Arithmetic = "hardware",
) -> Linked:
    """
    Decodes the entry `entry_name` and all functions that it may call.

    With `check`, registers that may be read before they are written are watched. Raises SimError for a name that is not
    declared, and for an instruction that is unknown and can be reached.
    """
    entry = module.functions.get(entry_name)
    if entry is None or not entry.is_entry or not entry.defined:
        names = sorted(name for name, function in module.functions.items() if function.is_entry)
        raise SimError(
            f"expected the name of an entry of the module ({', '.join(names) or 'it has none'}), found {entry_name!r}"
        )
    functions, recursive = called_functions(module, entry)
    check_recursion(functions, recursive)
    symbols = Symbols(module, functions, dynamic_shared, arithmetic, check == "strict")
    linker = _Linker(symbols, functions, recursive)
    watched = linker.watched(check is not None)
    if watched:
        symbols.watch([register for register, _ in watched], linker.fragments())
        linker.decode_again({id(register) for register, _ in watched})
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
        stack=symbols.stack,
        arithmetic=arithmetic,
        directives=entry.directives,
        side_by_side=may_run_side_by_side(linker.code),
        independent=are_independent(linker.code),
    )
    if not check:
        return Linked(program, symbols, None)
    return Linked(program, symbols, lambda: _Linker(symbols, functions, recursive, carry=True).code)


class _Linker:
    """Decodes the functions one behind another into one list of ops."""

    def __init__(
        self, symbols: Symbols, functions: Sequence[Function], recursive: frozenset[str], *, carry: bool = False
    ):
        self._symbols = symbols
        self._carry = carry
        self._starts: dict[str, int] = {}
        self._successors: dict[str, list[list[int]]] = {}
        self._joins: dict[str, list[int | None]] = {}
        self._live: dict[str, set[int]] = {}
        self._decoders: dict[str, dict[int, Decoder]] = {}
        start = 0
        for function in functions:
            self._starts[function.name] = start
            start += len(function.code) + 1  # and a return at the end
        self._functions = functions
        self._calls = Calls(symbols, functions, self._starts, recursive)
        self.code: list[Op] = []
        for function in functions:
            self.code += self._function(function)

    def watched(self, check: bool) -> list[tuple[Register, bool]]:
        """Returns the registers whose state has to be known, and whether each starts undefined."""
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
        """Returns the ids of the registers that a wgmma.mma_async accesses."""
        decoders = [decoder for own in self._decoders.values() for decoder in own.values()]
        return {id(register) for decoder in decoders for register in decoder.fragments}

    def decode_again(self, registers: set[int]) -> None:
        """Decodes the instructions anew that mention one of these registers, which are watched from now on; by id."""
        for function in self._functions:
            decoders, start = self._decoders[function.name], self._starts[function.name]
            for index, decoder in list(decoders.items()):
                if any(id(register) in registers for register in (*decoder.uses, *decoder.definitions)):
                    self.code[start + index] = self._op(function, index)

    def _function(self, function: Function) -> list[Op]:
        code = function.code
        successors = [self._following(code, index) for index in range(len(code))]
        successors.append([len(code) + 1])
        self._successors[function.name] = successors
        self._joins[function.name] = immediate_post_dominators(successors)
        self._live[function.name] = reachable(successors)
        self._decoders[function.name] = {}
        line = code[-1].line if code else function.line
        ops = [self._op(function, index) for index in range(len(code))]
        return [*ops, Op("ret", line, "end of the function", control=Return())]

    def _op(self, function: Function, index: int) -> Op:
        """Decodes one instruction; one that cannot be reached does nothing."""
        instruction, start = function.code[index], self._starts[function.name]
        op = Op(instruction.opcode, instruction.line, instruction.text, negated=instruction.negated)
        if index not in self._live[function.name]:
            return op
        carry = self._carry and carries(instruction)
        decoder = Decoder(self._symbols, instruction, lenient=carry)
        self._decoders[function.name][index] = decoder
        if instruction.guard is not None:
            guarded = Decoder(self._symbols, instruction) if carry else decoder
            op.guard = guarded.source(instruction.guard, PRED)
        join = self._joins[function.name][index]
        op.control = self._control(decoder, start, None if join is None else start + join)
        if op.control is None:
            step = self._step(decoder)
            op.step = carrying(decoder, step) if carry else step
            op.is_wide = is_wide(decoder, instruction)
        op.uses, op.definitions = tuple(decoder.uses), (*decoder.definitions, *decoder.pending)
        if op.control is None or isinstance(op.control, Branch):
            own = (each.row for each in (*op.uses, *op.definitions) if each.type.bits == 32)
            op.rows = frozenset(own) if decoder.needed is None else decoder.needed
        return op

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
            decoder.finish(*_OPERANDS.get(decoder.root, ()))
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
            return self._calls.decode(decoder)
        return None

    def _step(self, decoder: Decoder) -> Step:
        if decoder.root == "mov" and len(decoder.operands) == 2:
            name = decoder.operands[1]
            if isinstance(name, Name) and decoder.register(name.name) is None:
                address = self._symbols.function_address(name.name)
                if address is not None and decoder.instruction.scope.variable(name.name) is None:
                    return _function_address(decoder, address)
        return decode(decoder)


def _function_address(decoder: Decoder, address: int) -> Step:
    value_type = decoder.type(B64, U64)
    decoder.finish(2)
    put = decoder.destination(0, value_type)
    return lambda group, mask: put(group, mask, np.full(len(mask), address, np.uint64))
