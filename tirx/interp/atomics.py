"""Rules of atomic operations and of flags by which blocks wait for each other."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues, register_impls

from tirx.dialects.ptx.atomics import Atomic
from tirx.dialects.tirx import AtomicOp, FlagOp, MemorySpace, SignalOp, TileType, WaitUntilOp
from tirx.interp.errors import RunError
from tirx.interp.formats import Array
from tirx.interp.memory import Numbers, Scattered, Tile, all_known
from tirx.interp.numbers import ORDERS
from tirx.interp.state import Functions, block_of
from tirx.interp.tiles import combining, full, rule, value_of


@register_impls
class AtomicFunctions(Functions):
    """Atomic operations, and flags by which blocks wait for each other."""

    @rule(AtomicOp, carries=True)
    def atomic(self, interpreter: Interpreter, op: AtomicOp, args: PythonValues) -> PythonValues:
        block, place, kind = block_of(interpreter), cast(Tile, args[1]), op.kind.data
        data = [
            block.read(op, each) if isinstance(each, Tile) else full(place.shape, each, place.dtype)
            for each in (args[0], *args[2:])
        ]
        is_global = TileType.of(op.place).memory is MemorySpace.GLOBAL
        has_order = op.acquires or op.releases
        addresses = _addresses(place) if has_order else ()
        for address in addresses if op.acquires else ():
            block.wait(address)
        old = Tile.new(place.shape, place.dtype, bounds=block.launch.bounds, known=True).numbers

        several = place.repeated
        of_blocks = is_global and np.prod(block.launch.grid) > 1  # others may combine any element
        if of_blocks and isinstance(place, Scattered):
            several |= place.exists
        takes_place = kind in (Atomic.EXCH, Atomic.CAS)
        combine = None if takes_place else combining(block.launch, kind.value)

        def step(before: Numbers, positions: Numbers) -> Numbers:
            new = [part.each(lambda each: each.reshape(-1)[positions.data]) for part in data]
            for target, found in zip(old, before, strict=True):
                if target is not None and found is not None:
                    target.reshape(-1)[positions.data] = found
            if combine is not None:
                return combine(before, new[0])
            after = new[0] if kind is Atomic.EXCH else _compared(before, *new)
            others = several.reshape(-1)[positions.data]
            return after if before.error is None else after.uncertain(others)  # the last one stays

        at = Numbers(np.arange(np.prod(place.shape, dtype=np.int64)).reshape(place.shape))
        given = data[0]._replace(known=all_known(*(each.known for each in data)))
        block.write(op, place, given, lambda each, mark: place.combine(at, mark, step))
        block.note(op, old)
        if old.error is not None:
            # With an order they are tickets, by which blocks branch.
            old.error[several | (of_blocks and not has_order)] = np.inf
        is_used = op.result.first_use is not None
        if (is_used and is_global) or (several.any() and (is_used or takes_place)):
            block.launch.exact = False  # who comes first is not said
        for address in addresses if op.releases else ():
            block.post(address)
        if isinstance(op.result.type, TileType):
            return (Tile(place.shape, old),)
        return (value_of(old.each(lambda each: each.reshape(-1)[0])),)

    @rule(SignalOp)
    def signal(self, interpreter: Interpreter, op: SignalOp, args: PythonValues) -> PythonValues:
        flags, where = _flag(op, args)
        with np.errstate(over="ignore"):  # flags wrap, as `red.add` does
            flags[where] = args[1] if op.adds is None else flags[where] + args[1]
        block_of(interpreter).post(_address(flags, where))
        return ()

    @rule(WaitUntilOp)
    def wait_until(self, interpreter: Interpreter, op: WaitUntilOp, args: PythonValues) -> PythonValues:
        flags, where = _flag(op, args)
        compare, unsigned = ORDERS[op.comparison[-2:]], op.comparison.startswith("u")
        number = np.asarray(args[1], flags.dtype)

        def holds() -> bool:
            ends = (flags[where], number)
            return bool(compare(*(each.view(f"u{flags.itemsize}") for each in ends) if unsigned else ends))

        block = block_of(interpreter)
        block.launch.parties.wait(holds, op)
        block.wait(_address(flags, where))
        return (flags[where],)


def _compared(before: Numbers, new: Numbers, expected: Numbers) -> Numbers:
    """Returns what `cas` leaves: the new elements where the old ones have the bits of those that are expected."""
    bits = f"u{before.data.itemsize}"
    same = before.data.view(bits) == expected.data.view(bits)
    ones = np.ones(same.shape, np.bool_)
    chosen = np.where(same, *(ones if each.known is None else each.known for each in (new, before)))
    known = all_known(chosen, before.known, expected.known)
    is_sure = (before.errors == 0) & (expected.errors == 0)
    return Numbers(
        np.where(same, new.data, before.data), known, np.where(is_sure, np.where(same, new.errors, 0.0), np.inf)
    )


def _flag(op: FlagOp, args: PythonValues) -> tuple[Array, tuple[int, ...]]:
    """Returns the flags, and where among them the one of an operation is. Raises RunError outside of them."""
    flags, where = args[0].numbers.data, tuple(map(int, args[2:]))
    if any(not 0 <= i < n for i, n in zip(where, flags.shape, strict=True)):
        raise RunError(op, "bounds", f"expected a flag inside of {flags.shape}, found that at {where}")
    return flags, where


def _address(data: Array, where: tuple[int, ...]) -> int:
    return data.__array_interface__["data"][0] + sum(i * step for i, step in zip(where, data.strides, strict=True))


def _addresses(tile: Tile) -> tuple[int, ...]:
    """The addresses of the elements of a tile, which name flags."""
    data = tile.numbers.data
    if isinstance(tile, Scattered):
        at = [each[tile.exists] for each in tile.at]
        return tuple(_address(data, where) for where in zip(*(each.tolist() for each in at), strict=True))
    return tuple(_address(data, where) for where in np.ndindex(data.shape))
