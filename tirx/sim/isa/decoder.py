"""The view of an instruction that its decoder gets: modifiers to take, operands to read and write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B64, TYPES, U32, Array, Function, Mask, PtxType, RegisterState, bits_type, is_undefined
from tirx.sim.errors import SimError
from tirx.sim.isa.special import SPECIAL_REGISTERS
from tirx.sim.memory.addresses import GENERIC_BASE, RANK_SHIFT
from tirx.sim.program.code import Destination, Register, Source
from tirx.sim.program.symbols import Place, Symbols
from tirx.sim.reader.syntax import Address, Immediate, Instruction, Name, Negated, Operand, Pair, Vector
from tirx.sim.targets import TARGETS, has

_RANK_SHIFT = np.uint64(RANK_SHIFT)
_DEFINED, _PENDING = np.uint8(RegisterState.DEFINED), np.uint8(RegisterState.PENDING)
_PENDING_UNDEFINED = np.uint8(RegisterState.PENDING_UNDEFINED)
_ACCUMULATING, _SUPPLYING = np.uint8(RegisterState.ACCUMULATING), np.uint8(RegisterState.SUPPLYING)


@dataclass(frozen=True, slots=True)
class AddressSource:
    """
    A source of the addresses (uint64) of the lanes; `space` is that of the variable they are based on, None for a
    register.
    """

    values: Source
    space: str | None


class Decoder:
    """
    One instruction while it is decoded.

    Modifiers are taken one by one, so that at the end (`finish`) whatever is left is unknown and an error. Types are
    the last modifiers (`type`). `uses` and `definitions` list the registers that were asked for, `pending` those
    that an asynchronous instruction writes (or reads), `fragments` those of wgmma.mma_async. `needed` are the rows of
    the 32-bit registers without which the instruction cannot execute, if it looks itself after work that waits to write
    the others (`ThreadGroup.deferred`). `lenient`: sources may be undefined (`tirx.sim.program.undefined`).
    """

    def __init__(self, symbols: Symbols, instruction: Instruction, *, lenient: bool = False):
        self.symbols = symbols
        self._lenient = lenient
        self.instruction = instruction
        parts = instruction.opcode.split(".")
        self.root = parts[0]
        self.modifiers = parts[1:]
        self.operands = instruction.operands
        self.uses: list[Register] = []
        self.definitions: list[Register] = []
        self.pending: list[Register] = []
        self.fragments: list[Register] = []
        self.needed: frozenset[int] | None = None

    # Errors

    def error(self, message: str) -> SimError:
        return SimError(message, self.instruction.line, self.instruction.text)

    def need_feature(self, feature: str, what: str = "", where: str = "") -> None:
        """Raises SimError unless the module's target has a row of `TARGETS`; `what` and `where` are for the message."""
        target = self.symbols.target
        if not has(target, feature):
            place, supported = where or f"on {target or 'no target'}", ", ".join(TARGETS[feature])
            raise self.error(f"{what or feature} does not exist {place}; supported on {supported}")

    def refuse_modular(self, asked: bool = True) -> None:
        """Raises SimError if the instruction, or a modifier that it has (`asked`), has no meaning for residues."""
        if asked and self.symbols.arithmetic == "modular":
            raise self.error(f"expected what residues have (modular arithmetic), found '{self.root}' of something else")

    # Modifiers

    def take(self, *names: str) -> str | None:
        """Removes and returns the first modifier that is one of `names`."""
        for modifier in self.modifiers:
            if modifier in names:
                self.modifiers.remove(modifier)
                return modifier
        return None

    def flag(self, name: str) -> bool:
        return self.take(name) is not None

    def need(self, *names: str) -> str:
        """`take`, but one of `names` must be there."""
        found = self.take(*names)
        if found is None:
            raise self.error(f"expected one of .{', .'.join(names)}, found {self._modifiers()}")
        return found

    @property
    def last(self) -> str:
        """The last modifier; empty if there is none."""
        return "".join(self.modifiers[-1:])

    def drop(self, names: frozenset[str]) -> None:
        """Removes modifiers that have no effect in a simulation."""
        self.modifiers = [modifier for modifier in self.modifiers if modifier not in names]

    def type(self, *allowed: PtxType) -> PtxType:
        """Removes and returns the last modifier, which must be a type, one of `allowed` if any are given."""
        if self.last not in TYPES:
            raise self.error(f"expected a type at the end of the modifiers, found {self._modifiers()}")
        found = TYPES[self.modifiers.pop()]
        if allowed and found not in allowed:
            raise self.error(f"expected a type of {', '.join(map(str, allowed))}, found {found}")
        return found

    def finish(self, *operand_counts: int) -> None:
        """No modifier may be left, and the number of operands must be one of `operand_counts`."""
        if self.modifiers:
            raise self.error(f"unknown modifier .{self.modifiers[0]} of '{self.root}'")
        if operand_counts and len(self.operands) not in operand_counts:
            counts = " or ".join(map(str, operand_counts))
            raise self.error(f"expected {counts} operands, found {len(self.operands)}")

    def only(self) -> Operand:
        """`finish`, for an instruction with one operand, which is returned."""
        self.finish(1)
        (operand,) = self.operands
        return operand

    def _modifiers(self) -> str:
        return "." + ".".join(self.modifiers) if self.modifiers else "none"

    # Operands

    def operand(self, which: int | Operand) -> Operand:
        if not isinstance(which, int):
            return which
        return self.operands[which]  # `finish` has counted them

    def register(self, name: str) -> Register | None:
        return self.symbols.register(self.instruction.scope, name)

    def constant(self, which: int | Operand, what: str = "an integer literal") -> int:
        operand = self.operand(which)
        if isinstance(operand, Immediate) and operand.kind == "integer":
            return int(operand.value)
        raise self.error(f"expected {what}")

    def items(self, which: int | Operand, count: int | None = None) -> tuple[Operand, ...]:
        """
        Returns the elements of a vector operand (`count` of them, if given). Any other operand is its only element.
        """
        operand = self.operand(which)
        found = operand.items if isinstance(operand, Vector) else (operand,)
        if count is not None and len(found) != count:
            raise self.error(f"expected a vector of {count} elements, found {len(found)}")
        return found

    def vector(self, which: int, count: int) -> tuple[Operand, ...]:
        """Returns the elements of an operand. Raises SimError unless it is written in braces."""
        if not isinstance(self.operand(which), Vector):
            raise self.error(f"expected a vector of {count} elements in braces for operand {which + 1}")
        return self.items(which, count)

    def pair(self, which: int) -> tuple[Operand, Operand | None]:
        """`a|b` as (a, b), `a` as (a, None)."""
        operand = self.operand(which)
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)

    # Sources

    def source(self, which: int | Operand, value_type: PtxType, *, wide: bool = False) -> Source:
        """
        The operand as values of `value_type`.

        With `wide` a register may be wider than the type (st, cvt): its low bits count.
        """
        operand = self.operand(which)
        if isinstance(operand, Immediate):
            value = self.literal(operand, value_type)
            cache: dict[int, Array] = {}

            def constant(group: ThreadGroup, mask: Mask) -> Array:
                count = len(mask)
                found = cache.get(count)
                if found is None:
                    found = cache[count] = np.full(count, value)
                    found.flags.writeable = False
                return found

            return constant
        if isinstance(operand, Negated):
            if value_type.kind != "predicate":
                raise self.error("expected a value, found a negated predicate")
            inner = self.source(operand.predicate, value_type)
            return lambda group, mask: ~inner(group, mask)
        if not isinstance(operand, Name):
            raise self.error("expected a register, a literal or a variable")
        register = self.register(operand.name)
        if register is not None:
            if operand.offset:
                raise self.error(f"expected a register, found {operand.name} with an offset")
            self.uses.append(register)
            return self._register_source(register, value_type, wide)
        return self._symbol_source(operand, value_type, wide)

    def register_of(self, which: int | Operand) -> Register | None:
        """Returns the register that an operand names, or None."""
        operand = self.operand(which)
        return self.register(operand.name) if isinstance(operand, Name) else None

    def undefined(self, which: int | Operand) -> Callable[[ThreadGroup], Array]:
        """Returns a function that marks the lanes in which an operand was never written."""
        operand = self.operand(which)
        register = self.register_of(operand.predicate if isinstance(operand, Negated) else operand)
        if register is None or not register.is_watched:
            return lambda group: np.zeros(len(group.mask), np.bool_)
        state = register.state
        return lambda group: is_undefined(group.states[state])

    def _register_source(self, register: Register, value_type: PtxType, wide: bool) -> Source:
        self._check_width(register, value_type, wide)
        row = register.row
        if register.type.bits == value_type.bits:
            bank = value_type.bank
            if not register.is_watched:
                return lambda group, mask: group.banks[bank][row]
        else:
            bank = bits_type(register.type.bits).bank
            if not register.is_watched:
                unsigned, dtype = bits_type(value_type.bits).dtype, value_type.dtype
                return lambda group, mask: group.banks[bank][row].astype(unsigned).view(dtype)
        return self._watched_source(register, value_type, bank)

    def _watched_source(self, register: Register, value_type: PtxType, bank: int) -> Source:
        row, state, name, lenient = register.row, register.state, register.name, self._lenient
        strict = self.symbols.strict
        narrow, is_fragment = register.type.bits != value_type.bits, register.is_fragment
        unsigned, dtype = bits_type(value_type.bits).dtype, value_type.dtype

        def watched(group: ThreadGroup, mask: Mask) -> Array:
            states = group.states[state]
            if (states[mask] != _DEFINED).any():
                bad = mask & (states != _DEFINED) & (states != _SUPPLYING)
                if ((states[bad] == _PENDING) | (states[bad] == _PENDING_UNDEFINED)).any():
                    message = f"register {name} is read before tcgen05.wait::ld"
                    if strict:
                        raise SimError(message, where=group.describe(bad))
                    # LLVM moves uses to before the wait: what a GPU reads is complete.
                    group.cta.launch.note("tcgen05.wait::ld", message)
                    bad &= states != _PENDING
                if (states[bad] == _ACCUMULATING).any():
                    raise SimError(f"register {name} is read before wgmma.wait_group", where=group.describe(bad))
                if bad.any() and not lenient:
                    raise group.cta.launch.undefined_use(name, state, group.describe(bad))
            if is_fragment:
                group.fenced[state][mask] = False
            values = group.banks[bank][row]
            return values.astype(unsigned).view(dtype) if narrow else values

        return watched

    def _check_width(self, register: Register, value_type: PtxType, wide: bool) -> None:
        have, want = register.type, value_type
        predicates = (have.kind == "predicate", want.kind == "predicate")
        if predicates == (True, True):
            return
        if any(predicates) or have.bits < want.bits or (have.bits > want.bits and not wide):
            raise self.error(f"expected a register of {want.bits} bits ({want}), found {register.name} ({have})")

    def _symbol_source(self, operand: Name, value_type: PtxType, wide: bool) -> Source:
        special = SPECIAL_REGISTERS.get(operand.name)
        if special is not None:
            special_type, read = special
            if special_type.bits == value_type.bits:
                dtype = value_type.dtype
                return lambda group, mask: read(group).view(dtype)
            if value_type.kind == "predicate" or special_type.kind == "predicate":
                raise self.error(f"expected {special_type}, found {value_type} for {operand.name}")
            unsigned, dtype = bits_type(value_type.bits).dtype, value_type.dtype
            return lambda group, mask: read(group).astype(unsigned).view(dtype)
        place = self._place(operand.name)
        if value_type.bits not in (32, 64) or not value_type.is_integer:
            raise self.error(f"expected an integer type of 32 or 64 bits for the address of {operand.name}")
        dtype = value_type.dtype
        values = self._symbol_address(place, operand.offset)
        return lambda group, mask: values(group, mask).astype(dtype)

    def _place(self, name: str) -> Place:
        variable = self.instruction.scope.variable(name)
        if variable is None:
            raise self.error(f"expected a register or a variable, found {name!r}, which is not declared")
        return self.symbols.place(variable)

    def _symbol_address(self, place: Place, offset: int) -> Source:
        address = np.uint64((place.address + offset) % (1 << 64))
        if place.space == "shared":
            return lambda group, mask: np.full(len(mask), address + group.cta.shared_window)
        return lambda group, mask: np.full(len(mask), address)

    def literal(self, operand: Immediate, value_type: PtxType) -> Any:
        """A literal as a numpy scalar of `value_type`."""
        value, bits = operand.value, value_type.bits
        if operand.kind == "integer":
            assert isinstance(value, int)
            if value_type.is_float:
                raise self.error(f"expected a floating-point literal for {value_type}, found {value}")
            if value_type.kind == "predicate":
                return np.bool_(value & 1)
            if not -(1 << (bits - 1)) <= value < 1 << bits:
                raise self.error(f"expected a literal of {bits} bits, found {value:#x}")
            raw = (value & ((1 << bits) - 1)).to_bytes(value_type.bytes, "little")
            return np.frombuffer(raw, value_type.dtype)[0]
        if operand.kind == "decimal":
            if not value_type.is_float:
                raise self.error(f"expected an integer literal for {value_type}, found {value}")
            return np.array([value], np.float64).astype(value_type.dtype)[0]
        width = 32 if operand.kind == "f32" else 64
        if value_type.kind in ("float", "bits", "packed") and bits == width:
            return np.frombuffer(int(value).to_bytes(width // 8, "little"), value_type.dtype)[0]
        if value_type.is_float:
            exact = np.frombuffer(int(value).to_bytes(width // 8, "little"), np.dtype(f"f{width // 8}"))
            return exact.astype(value_type.dtype)[0]
        raise self.error(f"expected a literal of {value_type}, found one of f{width}")

    # Destinations

    def destination(
        self, which: int | Operand, value_type: PtxType, *, wide: bool = False, pending: bool = False
    ) -> Destination:
        """
        A register that takes values of `value_type`, or `_`.

        With `wide` it may be wider (ld, cvt): signed values are sign-extended, others zero-extended. `pending`: its
        value may be read only after tcgen05.wait::ld.
        """
        operand = self.operand(which)
        if operand == Name("_"):
            return lambda group, mask, values: None
        if not isinstance(operand, Name):
            raise self.error("expected a destination register")
        register = self.register(operand.name)
        if register is None or operand.offset:
            raise self.error(f"expected a destination register, found {operand.name!r}")
        self._check_width(register, value_type, wide)
        self.definitions.append(register)
        if pending:
            self.pending.append(register)
        row, bits = register.row, register.type.bits
        if bits == value_type.bits:
            bank = value_type.bank

            def put(group: ThreadGroup, mask: Mask, values: Array) -> None:
                np.copyto(group.banks[bank][row], values, where=mask)

            written: Destination = put
        else:
            whole = bits_type(bits)
            extended = TYPES.get(f"s{bits}", whole) if value_type.is_signed else whole
            bank, dtype = extended.bank, extended.dtype
            own = value_type.dtype if value_type.is_signed else bits_type(value_type.bits).dtype

            def put_wide(group: ThreadGroup, mask: Mask, values: Array) -> None:
                np.copyto(group.banks[bank][row], values.view(own).astype(dtype), where=mask)

            written = put_wide
        if not register.is_watched:
            return written
        return self._watched_destination(written, register, pending)

    def _watched_destination(self, written: Destination, register: Register, pending: bool) -> Destination:
        state, name, after = register.state, register.name, _PENDING if pending else _DEFINED
        is_fragment = register.is_fragment

        def watched(group: ThreadGroup, mask: Mask, values: Array) -> None:
            states = group.states[state]
            if ((states[mask] == _PENDING) | (states[mask] == _PENDING_UNDEFINED)).any():
                raise SimError(f"register {name} is written while a tcgen05.ld to it is not waited for")
            if (states[mask] == _ACCUMULATING).any():
                raise SimError(f"register {name} is written while a wgmma.mma_async to it is not waited for")
            if (states[mask] == _SUPPLYING).any():
                raise SimError(f"register {name} is written while a wgmma.mma_async that reads it is not waited for")
            if is_fragment:
                group.fenced[state][mask] = False
            states[mask] = after
            written(group, mask, values)

        return watched

    def accumulator(self, which: int | Operand) -> Register:
        """A register of 32 bits that wgmma.mma_async reads and writes, though one before it may not have completed."""
        register = self.fragment(which)
        self.definitions.append(register)
        return register

    def fragment(self, which: int | Operand) -> Register:
        """A register of 32 bits that wgmma.mma_async reads some time from now."""
        register = self.register_of(which)
        if register is None or register.type.bits != 32:
            raise self.error("expected a register of 32 bits")
        self.uses.append(register)
        self.pending.append(register)
        self.fragments.append(register)
        return register

    # Addresses

    def address(self, which: int | Operand, *, bits: int | None = None) -> AddressSource:
        """
        `[register + offset]`, `[variable + offset]` or `[literal]`.

        `bits` is the width that an address register must have, if it must.
        """
        operand = self.operand(which)
        if not isinstance(operand, Address) or operand.rest:
            raise self.error("expected an address in brackets")
        if isinstance(operand.base, Immediate):
            value = np.uint64((self.constant(operand.base) + operand.offset) % (1 << 64))
            return AddressSource(lambda group, mask: np.full(len(mask), value), None)
        if not isinstance(operand.base, Name):
            raise self.error("expected a register or a variable as the base of an address")
        register = self.register(operand.base.name)
        if register is None:
            place = self._place(operand.base.name)
            return AddressSource(self._symbol_address(place, operand.offset), place.space)
        if register.type.bits not in (32, 64) or (bits is not None and register.type.bits != bits):
            raise self.error(f"expected an address register of {bits or '32 or 64'} bits, found {register.name}")
        if register.type.bits == 64:
            values = self.source(operand.base, B64)
            offset = np.uint64(operand.offset % (1 << 64))
            if not operand.offset:
                return AddressSource(values, None)
            return AddressSource(lambda group, mask: values(group, mask) + offset, None)
        narrow = self.source(operand.base, U32)
        offset = np.uint32(operand.offset % (1 << 32))
        return AddressSource(lambda group, mask: (narrow(group, mask) + offset).astype(np.uint64), None)

    def of_own_cta(self, addresses: Source) -> Source:
        """
        The same addresses of the shared window. Without `.shared::cluster`, those of other CTAs are errors: `.shared`
        is `.shared::cta` (PTX ISA, section 5.1.7).
        """
        if ".shared::cluster" in self.instruction.opcode:
            return addresses

        def own(group: ThreadGroup, mask: Mask) -> Array:
            found = addresses(group, mask)
            if len(group.cta.cluster.ctas) > 1 and (others := found[mask] >> _RANK_SHIFT != group.cta.rank).any():
                bad = int(found[mask][others][0])
                raise SimError(
                    f"expected an address in the shared memory of the CTA itself with .shared::cta, which .shared is, "
                    f"found {bad:#x} of CTA {bad >> RANK_SHIFT}; .shared::cluster is for those of others"
                )
            return found

        return own

    def window_address(self, which: int | Operand, explicit: bool, *, lenient: bool = False) -> Source:
        """
        An address of shared memory, as an address of the shared window.

        `explicit`: the instruction names the shared space; otherwise the address is a generic one. `lenient`: it may be
        of the window all the same.
        """
        found = self.address(which)
        if explicit or found.space == "shared":
            return found.values
        base = np.uint64(GENERIC_BASE["shared"])

        def window(group: ThreadGroup, mask: Mask) -> Array:
            addresses = found.values(group, mask)
            if lenient and (addresses[mask] < base).all():
                return addresses
            if (addresses[mask] >> np.uint64(40) != base >> np.uint64(40)).any():
                raise SimError(f"expected a generic address of shared memory, found {int(addresses[mask][0]):#x}")
            return addresses - base

        return window


def elementwise(
    decoder: Decoder, operation: Function, result: PtxType, *operands: PtxType
) -> Callable[[ThreadGroup, Mask], None]:
    """A step that writes `operation(operand 1, operand 2, ...)` to operand 0."""
    function = cast("Callable[..., Array]", operation)
    put = decoder.destination(0, result)
    sources = [decoder.source(index + 1, value_type) for index, value_type in enumerate(operands)]
    match sources:
        case [only]:
            return lambda group, mask: put(group, mask, function(only(group, mask)))
        case [first, second]:
            return lambda group, mask: put(group, mask, function(first(group, mask), second(group, mask)))
        case _:
            return lambda group, mask: put(group, mask, function(*[source(group, mask) for source in sources]))


def uniform(values: Array, mask: Mask, what: str) -> int:
    """Returns the value that all lanes of `mask` share. Raises SimError if they differ."""
    found, *others = dict.fromkeys(values[mask].tolist())
    if others:
        raise SimError(f"expected {what} to be the same in all lanes, found {found} and {others[0]}")
    return int(found)


def single(mask: Mask, what: str) -> int:
    """Returns the only lane of `mask`. Raises SimError if there are several."""
    lane, *others = np.flatnonzero(mask).tolist()
    if others:
        raise SimError(f"expected one thread to issue {what}, found {1 + len(others)} lanes of the warp")
    return lane
