"""Names to places: registers to rows of banks, variables to addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.launch import Arithmetic
from tirx.sim.core.types import TYPES, Array
from tirx.sim.errors import SimError
from tirx.sim.memory.addresses import (
    CONST_BASE,
    FUNCTION_BASE,
    FUNCTION_STEP,
    GENERIC_BASE,
    GLOBAL_BASE,
    GROUPS_BYTES,
    GROUPS_REGISTER,
    RESERVED_OFFSETS,
    RUBIN_SHARED_LIMIT,
    SHARED_BASE,
    SHARED_LIMIT,
)
from tirx.sim.memory.flat import FlatMemory, address_behind
from tirx.sim.program.code import Register
from tirx.sim.reader.syntax import (
    TYPE_SIZES,
    Function,
    Group,
    Initializer,
    Module,
    Name,
    Operand,
    Scope,
    Variable,
    Vector,
)
from tirx.sim.reader.syntax import Address as AddressOperand
from tirx.sim.targets import has

# Bytes that alloca has in each thread, if a program uses it.
STACK_BYTES = 4096
_STACK_ALIGNMENT = 16
# Most bytes: of an entry's parameters (PTX ISA, section 5.1.6.1), of each thread (CUDA programming guide, technical
# specifications), of the constant banks (PTX ISA, section 5.1.3), and what the simulator lets variables take.
MOST_PARAMETER_BYTES = 32_764
MOST_LOCAL_BYTES = 512 << 10
MOST_CONST_BYTES = 11 * (64 << 10)
MOST_GLOBAL_BYTES = 512 << 20
# State spaces of the module's variables: where they begin, and how large they may be.
_BASES = {"global": GLOBAL_BASE, "const": CONST_BASE}
_MOST_BYTES = {"global": MOST_GLOBAL_BYTES, "const": MOST_CONST_BYTES}


@dataclass(frozen=True, slots=True)
class Place:
    """The address of a variable in state space `space` ("param" only for parameters of the entry)."""

    space: str
    address: int


def names_in(operand: Operand) -> list[str]:
    """Returns the names that occur in an operand."""
    if isinstance(operand, Name):
        return [operand.name]
    pending: list[Operand] = [operand]
    found: list[str] = []
    while pending:
        each = pending.pop()
        if isinstance(each, Name):
            found.append(each.name)
        elif isinstance(each, (Vector, Group)):
            pending += each.items
        elif isinstance(each, AddressOperand):
            pending += [each.base, *each.rest]
    return found


class Symbols:
    """
    The names of an entry and of the functions it may call (`functions`, the entry first).

    Shared memory starts at `SHARED_BASE`; extern arrays without bounds all start behind the others and share
    `dynamic_shared` bytes. Variables of functions in `.local` and `.param` have a fixed place in each thread's
    memory, but for those of `alloca`; calls of functions that call themselves save them.
    """

    def __init__(
        self, module: Module, functions: list[Function], dynamic_shared: int, arithmetic: Arithmetic, strict: bool
    ):
        self.module = module
        self.cta_group: int | None = None  # of the tcgen05 instructions, once there is one
        self.target = module.target.split(",")[0].strip()
        self.arithmetic: Arithmetic = arithmetic
        self.strict = strict
        self.functions = functions
        self.register_counts: dict[int, int] = {}
        self._registers: dict[tuple[int, str], Register] = {}
        self._owners: dict[tuple[int, str], tuple[Scope, str] | None] = {}  # by the scope that mentions a name
        self._places: dict[int, Place] = {}
        self._place_parameters(functions[0])
        self._place_locals()
        self._variables = self._place_module_variables()
        self._place_shared(dynamic_shared)

    # Registers

    def register(self, scope: Scope, name: str) -> Register | None:
        """Returns the register `name` as seen from `scope`, or None if no register has that name."""
        looked_up = (id(scope), name)
        if looked_up not in self._owners:
            self._owners[looked_up] = scope.register(name)
        found = self._owners[looked_up]
        if found is None:
            return None
        owner, type_name = found
        key = (id(owner), name)
        register = self._registers.get(key)
        if register is None:
            register_type = TYPES[type_name]
            row = self.register_counts.get(register_type.bits, 0)
            self.register_counts[register_type.bits] = row + 1
            register = Register(name, register_type, row)
            self._registers[key] = register
        return register

    def watch(self, registers: list[Register], fragments: set[int]) -> None:
        """Gives these registers state rows, in this order; `fragments` are the ids of those that wgmma accesses."""
        rows = {id(register): row for row, register in enumerate(registers)}
        for key, register in self._registers.items():
            if id(register) in rows:
                self._registers[key] = Register(
                    register.name, register.type, register.row, rows[id(register)], id(register) in fragments
                )

    def watch_all(self) -> list[Register]:
        """
        Gives every register a state row and keeps the rows of those that have one. Returns the registers in that order.
        """
        registers = sorted(self._registers.values(), key=lambda each: (each.state < 0, each.state))
        self.watch(registers, {id(register) for register in registers if register.is_fragment})
        return registers

    # Variables

    def place(self, variable: Variable) -> Place:
        """Finds the place of a variable. Raises SimError for one without memory: .extern, or .local of no function."""
        found = self._places.get(id(variable))
        if found is None:
            raise SimError(f"{variable.name} (.{variable.space}) has no definition in this module", variable.line)
        return found

    def function(self, name: str) -> Function | None:
        return self.module.functions.get(name)

    def function_address(self, name: str) -> int | None:
        """
        Returns the number that stands for a function in registers and memory; None if no function of that name can be
        called.
        """
        function = self.function(name)
        if function is None or function.is_entry:
            return None
        index = next(index for index, each in enumerate(self.module.functions.values()) if each is function)
        return FUNCTION_BASE + FUNCTION_STEP * index

    def _place_parameters(self, entry: Function) -> None:
        offset = 0
        parameters: list[tuple[Variable, int]] = []
        for variable in entry.parameters:
            offset = -(-offset // variable.alignment) * variable.alignment
            self._places[id(variable)] = Place("param", offset)
            parameters.append((variable, offset))
            offset += variable.size
            _check_size("parameters", offset, MOST_PARAMETER_BYTES, variable)
        self.parameters = tuple(parameters)
        self.parameter_bytes = offset

    def _place_locals(self) -> None:
        offset = 0
        for function in self.functions:
            own = [variable for variable in function.variables if variable.space in ("local", "param")]
            for variable in own + ([] if function.is_entry else function.parameters + function.returns):
                offset = -(-offset // variable.alignment) * variable.alignment
                self._places[id(variable)] = Place("local", offset)
                offset += variable.size
                _check_size("local memory for each thread", offset, MOST_LOCAL_BYTES, variable)
        self.stack = offset = -(-offset // _STACK_ALIGNMENT) * _STACK_ALIGNMENT
        if any(instruction.root == "alloca" for function in self.functions for instruction in function.code):
            offset += STACK_BYTES
        self.local_bytes = offset

    def _mentioned(self) -> list[tuple[Scope, str]]:
        """Returns the names in the code, each with the scope of the instructions that mention it."""
        found: dict[tuple[int, str], Scope] = {}
        for function in self.functions:
            for instruction in function.code:
                scope = instruction.scope
                for operand in instruction.operands:
                    for name in names_in(operand):
                        found[id(scope), name] = scope
        return [(scope, name) for (_, name), scope in found.items()]

    def _place_module_variables(self) -> list[Variable]:
        """Gives the module's variables in .global and .const addresses. Returns them in this order."""
        inner = [variable for function in self.functions for variable in function.variables]
        variables = [each for each in self.module.variables + inner if each.space in _BASES]
        placed = [each for each in variables if not (each.external and each.size == 0)]
        following = dict(_BASES)
        for variable in placed:
            address = following[variable.space]
            self._places[id(variable)] = Place(variable.space, address)
            following[variable.space] = address_behind(address, variable.size)
        return placed

    def memories(self, given: Mapping[str, Array]) -> tuple[FlatMemory, FlatMemory]:
        """
        Returns global and constant memory for a launch, with the module's variables.

        `given` are arrays that hold variables, by name. Raises SimError for what is no variable, or too large.
        """
        found = dict(zip(_BASES, new_memories(), strict=True))
        named = {each.name: each for each in self.module.variables if each.space in _BASES}
        for name in given:
            if name not in named:
                known = ", ".join(sorted(named)) or "it has none"
                raise SimError(f"expected a variable in .global or .const of the module ({known}), found {name!r}")
        sizes = dict.fromkeys(_BASES, 0)
        for variable in self._variables:
            space = variable.space
            held = given.get(variable.name) if named.get(variable.name) is variable else None
            if held is None:
                sizes[space] += variable.size
                _check_size(f"variables in .{space}", sizes[space], _MOST_BYTES[space], variable)
            image = np.zeros(variable.size, np.uint8) if held is None else _bytes_of(variable, held)
            address = found[space].add(image, f"variable {variable.name}", read_only=space == "const")
            assert address == self.place(variable).address, "the buffers are in the order of the places"
            if held is None:
                self._initialize(variable, image)
        return found["global"], found["const"]

    def _initialize(self, variable: Variable, image: np.ndarray) -> None:
        size = TYPE_SIZES[variable.type]
        if len(variable.initializer) * size > variable.size:
            raise SimError(f"{variable.name} has more initialisers than elements", variable.line)
        for index, initializer in enumerate(variable.initializer):
            bits = self._initial_bits(variable, initializer)
            image[index * size : (index + 1) * size] = np.frombuffer(bits.to_bytes(size, "little"), np.uint8)

    def _initial_bits(self, variable: Variable, initializer: Initializer) -> int:
        bits = 8 * TYPE_SIZES[variable.type]
        if initializer.kind == "symbol":
            found = self.module.scope.variable(initializer.symbol)
            address = self.function_address(initializer.symbol)
            if found is None and address is not None:
                return address >> initializer.shift & ((1 << bits) - 1)
            if found is None:
                raise SimError(f"expected a variable of this module, found {initializer.symbol!r}", variable.line)
            place = self.place(found)
            value = place.address + int(initializer.value) + (GENERIC_BASE[place.space] if initializer.generic else 0)
            return value >> initializer.shift & ((1 << bits) - 1)
        if isinstance(initializer.value, float) or variable.type in ("f16", "bf16", "f32", "f64"):
            return _float_bits(variable, initializer)
        return initializer.value & ((1 << bits) - 1)

    def _place_shared(self, dynamic_shared: int) -> None:
        mentioned = self._mentioned()
        found = (scope.variable(name) for scope, name in mentioned)
        used = {id(variable) for variable in found if variable is not None}
        offset = SHARED_BASE
        spans: list[tuple[int, int]] = []
        if any(name == GROUPS_REGISTER for _, name in mentioned):
            spans.append((RESERVED_OFFSETS[GROUPS_REGISTER], GROUPS_BYTES))
        inner = [variable for function in self.functions for variable in function.variables]
        outer = [variable for variable in self.module.variables if id(variable) in used]
        variables = [variable for variable in outer + inner if variable.space == "shared"]
        dynamic = [variable for variable in variables if variable.size == 0 and variable.is_array]
        for variable in variables:
            if variable in dynamic:
                continue
            offset = -(-offset // variable.alignment) * variable.alignment
            self._places[id(variable)] = Place("shared", offset)
            spans.append((offset, variable.size))
            offset += variable.size
        for variable in dynamic:
            offset = -(-offset // variable.alignment) * variable.alignment
        for variable in dynamic:
            self._places[id(variable)] = Place("shared", offset)
        if dynamic_shared:
            spans.append((offset, dynamic_shared))
            offset += dynamic_shared
        limit = RUBIN_SHARED_LIMIT if has(self.target, "327 KiB") else SHARED_LIMIT
        if offset - SHARED_BASE > limit:
            raise SimError(f"expected at most {limit} bytes of shared memory, found {offset - SHARED_BASE}")
        self.shared = tuple(spans)
        self.shared_end = offset


def new_memories() -> tuple[FlatMemory, FlatMemory]:
    """Returns global and constant memory without any buffer."""
    return FlatMemory("global", GLOBAL_BASE), FlatMemory("const", CONST_BASE)


def _check_size(what: str, size: int, limit: int, variable: Variable) -> None:
    if size > limit:
        raise SimError(f"expected at most {limit} bytes of {what}, found {size} with {variable.name}", variable.line)


def _bytes_of(variable: Variable, array: Array) -> Array:
    if not array.flags.c_contiguous or not array.flags.writeable or array.nbytes != variable.size:
        raise SimError(
            f"expected a writable C-contiguous array of {variable.size} bytes for {variable.name}, "
            f"found one of {array.nbytes}",
            variable.line,
        )
    return array.ravel().view(np.uint8)


def _float_bits(variable: Variable, initializer: Initializer) -> int:
    value_type = TYPES[variable.type]
    if initializer.kind in ("f32", "f64"):
        source = np.dtype(np.uint32 if initializer.kind == "f32" else np.uint64)
        value = np.array([initializer.value], source).view("f4" if initializer.kind == "f32" else "f8")
    else:
        value = np.array([initializer.value], np.float64)
    if not value_type.is_float:
        raise SimError(f"floating-point initialiser for {variable.name}, which is .{variable.type}", variable.line)
    return int.from_bytes(value.astype(value_type.dtype).tobytes(), "little")
