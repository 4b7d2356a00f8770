"""Analyses of programs against their definitions: undefined bytes, post-dominators, definitions, groups of copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError
from tirx.sim.core.copies import CopyGroups, ProductGroups, Products
from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.mbarrier import Mbarrier
from tirx.sim.core.types import TYPES, Array, RegisterState
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.assignment import maybe_undefined
from tirx.sim.program.code import Register
from tirx.sim.program.flow import immediate_post_dominators, reachable
from tirx.sim.program.linker import link
from tirx.sim.program.partial import find_parts, remember
from tirx.sim.reader import parse

# Undefined bytes: those of a result that are others for other values of the undefined bytes of operands.

_SIZES = {"a": 4, "b": 4, "r": 4, "q": 4, "x": 8, "z": 8, "h": 2, "i": 2, "g": 2, "j": 2}
_Function = Callable[[Sequence[int]], list[int]]


def _byte(values: Sequence[int], selector: int) -> int:
    both = values[0] | values[1] << 32
    found = both >> 8 * (selector & 7) & 0xFF
    return (0xFF if found >> 7 else 0) if selector & 8 else found


def _permuted(selector: int) -> _Function:
    return lambda values: [sum(_byte(values, selector >> 4 * place & 15) << 8 * place for place in range(4))]


def _extended(bits: int) -> _Function:
    return lambda values: [(values[0] & (1 << bits) - 1) - ((values[0] >> bits - 1 & 1) << bits)]


_MOVES: dict[str, _Function] = {
    # by the names of registers: results, then operands
    "mov.b32 %r, %a": lambda v: [v[0]],
    "mov.b16 %g, %h": lambda v: [v[0]],
    "mov.b64 %z, {%a, %b}": lambda v: [v[0] | v[1] << 32],
    "mov.b64 {%r, %q}, %x": lambda v: [v[0], v[0] >> 32],
    "mov.b64 {_, %q}, %x": lambda v: [v[0] >> 32],
    "mov.b32 %r, {%h, %i}": lambda v: [v[0] | v[1] << 16],
    "mov.b32 {%g, %j}, %a": lambda v: [v[0], v[0] >> 16],
    "mov.b64 %z, {%h, %i, 7, 8}": lambda v: [v[0] | v[1] << 16],
    "prmt.b32 %r, %a, %b, 0x3715": _permuted(0x3715),
    "prmt.b32 %r, %a, %b, 0xD204": _permuted(0xD204),
    "prmt.b32 %r, %a, %b, 0x66A1": _permuted(0x66A1),
    "cvt.u32.u8 %r, %a": lambda v: [v[0] & 0xFF],
    "cvt.u32.u16 %r, %h": lambda v: [v[0]],
    "cvt.u16.u32 %g, %a": lambda v: [v[0]],
    "cvt.u32.u64 %r, %x": lambda v: [v[0]],
    "cvt.u64.u32 %z, %a": lambda v: [v[0]],
    "cvt.s32.s8 %r, %a": _extended(8),
    "cvt.s32.s16 %r, %h": _extended(16),
    "cvt.s64.s16 %z, %h": _extended(16),
    "cvt.s64.s32 %z, %a": _extended(32),
    "cvt.u16.s8 %g, %a": _extended(8),
    "and.b32 %r, %a, 0x00FF5A0F": lambda v: [v[0] & 0x00FF5A0F],
    "and.b32 %r, 0x5A00FF00, %a": lambda v: [v[0] & 0x5A00FF00],
    "and.b64 %z, %x, 0xFF00FF01000100": lambda v: [v[0] & 0xFF00FF01000100],
    "and.b32 %r, %a, %b": lambda v: [v[0] & v[1]],
    "or.b32 %r, %a, 0x00FF5AFF": lambda v: [v[0] | 0x00FF5AFF],
    "or.b16 %g, 0x00FF, %h": lambda v: [v[0] | 0x00FF],
    "or.b32 %r, %a, %b": lambda v: [v[0] | v[1]],
    "xor.b32 %r, %a, 0x00FF00FF": lambda v: [v[0] ^ 0x00FF00FF],
    "xor.b32 %r, %a, %b": lambda v: [v[0] ^ v[1]],
    "shl.b32 %r, %a, 8": lambda v: [v[0] << 8],
    "shl.b32 %r, %a, 24": lambda v: [v[0] << 24],
    "shl.b32 %r, %a, 32": lambda v: [0],
    "shl.b64 %z, %x, 40": lambda v: [v[0] << 40],
    "shl.b16 %g, %h, 8": lambda v: [v[0] << 8],
    "shl.b32 %r, %a, 0": lambda v: [v[0]],
    "shr.u32 %r, %a, 16": lambda v: [v[0] >> 16],
    "shr.b64 %z, %x, 24": lambda v: [v[0] >> 24],
    "shr.u64 %z, %x, 56": lambda v: [v[0] >> 56],
}  # fmt: skip
_NOT_MOVES = (
    "cvt.sat.u8.u32 %g, %a", "cvt.rn.f32.u32 %r, %a", "cvt.rzi.u32.f32 %r, %a", "prmt.b32.f4e %r, %a, %b, 1",
    "prmt.b32 %r, %a, %b, %q", "shr.s32 %r, %a, 8", "shl.b32 %r, %a, 4", "shl.b32 %r, %a, %b", "shl.b64 %z, %x, 64",
    "shl.b64 %z, %x, -8", "add.u32 %r, %a, %b", "not.b32 %r, %a", "mov.b128 %w, {%x, %z}", "and.pred %p, %p, %p",
)  # fmt: skip


def _parts(text: str) -> tuple[Any, dict[str, int]]:
    """Plan by which an instruction moves undefined bytes, and the state rows of all registers."""
    source = (
        ".entry k() { .reg .b32 %a, %b, %r, %q; .reg .b64 %x, %z; .reg .b16 %h, %i, %g, %j; .reg .pred %p;\n"
        f".reg .b128 %w; {text}; ret; }}"
    )
    module = parse(".version 8.3\n.target sm_90\n.address_size 64\n" + source.replace(f"{text};", ""))
    symbols = link(module, "k").symbols
    instruction = parse(source).functions["k"].code[0]
    names = [f"%{name}" for name in _SIZES]
    scope = instruction.scope
    for name in names:
        assert symbols.register(scope, name) is not None
    rows = {register.name[1:]: register.state for register in (symbols.watch_all(), symbols.watch_all())[1]}
    assert sorted(rows.values()) == list(range(len(names)))
    return find_parts(Decoder(symbols, instruction, lenient=True)), rows


@together("text", _MOVES)
def test_undefined_bytes(text: str) -> None:
    rng = np.random.default_rng(len(text))
    parts, rows = _parts(text)
    words = [
        word.strip("%") for word in text.replace(",", " ").replace("{", " ").replace("}", " ").split() if "%" in word
    ]
    results = [word for word in words if word in "rqzgj"]
    operands = [word for word in words if word not in "rqzgj"]
    lanes = 12
    undefined = {name: rng.integers(0, 1 << _SIZES[name], lanes) for name in operands}
    states = np.full((len(rows), 64), RegisterState.DEFINED, np.uint8)
    known: dict[int, Array] = {}
    cta = SimpleNamespace(undefined_bytes=known, register_states=states)
    group = cast(ThreadGroup, SimpleNamespace(cta=cta, first=32, last=32 + lanes, mask=np.ones(lanes, np.bool_),
                                              states=states[:, 32 : 32 + lanes]))  # fmt: skip
    for name, bytes_ in undefined.items():
        row = rows[name]
        group.states[row] = np.where(bytes_ != 0, RegisterState.UNDEFINED, RegisterState.DEFINED)
        remember(group, row, np.arange(lanes)[bytes_ != 0], bytes_.astype(np.uint8))
        assert (known[row][:32] == 0xFF).all() and (known[row][32 + lanes :] == 0xFF).all()
    found = {row: bytes_.tolist() for row, bytes_ in parts(group)}
    expected = {rows[name]: [0] * lanes for name in results}
    for lane in range(lanes):
        seen: list[list[int]] = []
        for _ in range(16):
            values = [
                sum(
                    (int(rng.integers(256)) if undefined[name][lane] >> place & 1 else 0x5A) << 8 * place
                    for place in range(_SIZES[name])
                )
                for name in operands
            ]
            seen.append(_MOVES[text](values))
        for name, values in zip(results, zip(*seen, strict=True), strict=True):
            differing = 0
            for value in values:
                differing |= value ^ values[0]
            expected[rows[name]][lane] = sum(
                1 << place for place in range(_SIZES[name]) if differing >> 8 * place & 0xFF
            )
    assert found == expected


def test_what_is_known_of_undefined_registers() -> None:
    """All bytes of a register of which nothing is known; a defined one has none."""
    parts, rows = _parts("mov.b32 %r, %a")
    states = np.full((len(rows), 8), RegisterState.DEFINED, np.uint8)
    cta = SimpleNamespace(undefined_bytes={}, register_states=states)
    group = cast(
        ThreadGroup, SimpleNamespace(cta=cta, first=2, last=5, mask=np.ones(3, np.bool_), states=states[:, 2:5])
    )
    group.states[rows["a"]] = [RegisterState.UNDEFINED, RegisterState.DEFINED, RegisterState.UNDEFINED]
    assert [(row, found.tolist()) for row, found in parts(group)] == [(rows["r"], [15, 0, 15])]
    remember(group, rows["a"], np.array([2]), 6)
    assert group.cta.undefined_bytes[rows["a"]].tolist() == [255, 255, 255, 255, 6, 255, 255, 255]
    assert [(row, found.tolist()) for row, found in parts(group)] == [(rows["r"], [15, 0, 6])]


@together("text", _NOT_MOVES)
def test_results_that_depend_on_all_bytes(text: str) -> None:
    assert _parts(text)[0] is None


# Control flow

_GRAPHS = [
    [[int(each) for each in rng.integers(1, count + 1, rng.integers(1, 3))] for _ in range(count)]
    for seed in range(40)
    for rng in [np.random.default_rng(seed)]
    for count in [2 + seed % 9]
]
_GRAPHS.append([[3], [2, 3], [0, 1]])  # one look at each node is not enough


def _reached(successors: Sequence[Sequence[int]], start: int, without: int | None = None) -> set[int]:
    """All nodes, the exit too, to which a way leads that does not pass a node."""
    seen: set[int] = set()
    pending = [start]
    while pending:
        node = pending.pop()
        if node not in seen and node != without:
            seen.add(node)
            pending += successors[node] if node < len(successors) else []
    return seen


@together("successors", _GRAPHS)
def test_flow(successors: list[list[int]]) -> None:
    end = len(successors)
    for start in range(end):
        assert reachable(successors, start) == _reached(successors, start) - {end}
    expected: list[int | None] = []
    for node in range(end):
        ways = _reached(successors, node)
        always = (
            [each for each in ways - {node, end} if end not in _reached(successors, node, each)] if end in ways else []
        )
        # The first one: no way to it passes another.
        first = [a for a in always if all(a in _reached(successors, node, b) for b in always if b != a)]
        expected.append(first[0] if first else None)
    assert immediate_post_dominators(successors) == expected


@together("seed", range(30))
def test_registers_that_may_be_undefined(seed: int) -> None:
    rng, successors = np.random.default_rng(seed), _GRAPHS[seed]
    registers = [Register(f"%r{index}", TYPES["b32"], index) for index in range(4)]
    drawn: list[dict[int, list[Register]]] = [
        {
            node: [registers[index] for index in rng.integers(0, 4, rng.integers(0, 3))]
            for node in range(len(successors))
        }
        for _ in range(2)
    ]
    uses, definitions = drawn
    expected: set[str] = set()
    for register in registers:
        # Ways to an instruction on which no instruction before it defines the register.
        open_ = [[] if register in definitions[node] else successors[node] for node in range(len(successors))]
        reached = _reached(open_, 0)
        if any(register in read for node, read in uses.items() if node in reached):
            expected.add(register.name)
    found = maybe_undefined(successors, uses, definitions)
    assert {register.name for register in found} == expected and len(found) == len(expected)


# Groups of asynchronous operations


def test_groups_of_copies() -> None:
    whole = CopyGroups(6)
    groups = whole.part(slice(2, 6))
    a, b, both = np.array([1]), np.array([3]), np.array([1, 3])
    for instant in range(3, 73):
        groups.issued(a, instant)
        groups.commit(both if instant % 7 == 0 else a)
    groups.issued(b, 90)
    assert groups.wait(both, 0).tolist() == [72, 0]
    assert groups.wait(both, 1).tolist() == [71, 0]
    assert groups.wait(a, 62).tolist() == [10]
    groups.commit(b)
    assert groups.wait(both, 0).tolist() == [72, 90] and groups.wait(b, 10).tolist() == [0]
    assert whole.wait(np.arange(6), 0).tolist() == [0, 0, 0, 72, 0, 90]
    assert groups.wait(b, 63).tolist() == [0]
    with pytest.raises(SimError) as caught:
        groups.wait(a, 63)
    assert caught.value.message == "expected at most 62 groups of copies that may be pending, found 63"


def test_groups_of_products() -> None:
    groups = ProductGroups()
    assert (groups.issues, groups.completed, groups.instant_of(0)) == (0, 0, 0)
    rows = [frozenset((1, 2)), frozenset((2, 3)), frozenset((4,))]
    groups.issued(rows[0], 5)
    groups.issued(rows[0], 5)
    assert (groups.issues, groups.instant_of(1)) == (2, 5)
    groups.commit()
    groups.issued(rows[1], 7)
    groups.issued(rows[2], 6)
    assert (groups.instant_of(1), groups.instant_of(2), groups.issues) == (5, 7, 4)
    groups.commit()
    groups.commit()  # an empty group is complete when the one before it is
    assert [groups.instant_of(count) for count in range(5)] == [0, 5, 7, 7, 0]
    assert groups.wait(3) == Products() and groups.wait(9) == Products() and groups.completed == 0
    assert groups.wait(2) == Products(frozenset((1,)), 5) and groups.completed == 1
    groups.issued(frozenset((3, 9)), 11)
    assert groups.wait(0) == Products(frozenset((2, 4)), 7) and groups.completed == 3
    assert groups.wait(0) == Products()


def test_mbarriers() -> None:
    barrier = Mbarrier(3, Monitor())
    seen: list[tuple[int, int, int, int]] = []

    def note() -> None:
        seen.append((barrier.phase, barrier.pending, barrier.count, barrier.transactions))

    for step in (
        lambda: barrier.arrive(2, None), lambda: barrier.expect(40), lambda: barrier.arrive(1, None),
        lambda: barrier.deliver(16, None), lambda: barrier.deliver(24, None), lambda: barrier.deliver(8, None),
        lambda: barrier.drop(1, None), lambda: barrier.arrive(2, None), lambda: barrier.expect(8),
        lambda: barrier.arrive(2, None), lambda: barrier.expect((1 << 20) - 1),
    ):  # fmt: skip
        step()
        note()
    assert seen == [
        (0, 1, 3, 0), (0, 1, 3, 40), (0, 0, 3, 40), (0, 0, 3, 24), (1, 3, 3, 0), (1, 3, 3, -8), (1, 2, 2, -8),
        (1, 0, 2, -8), (2, 2, 2, 0), (3, 2, 2, 0), (3, 2, 2, 1048575),
    ]  # fmt: skip
    assert barrier.describe() == "3 phases completed, 2 of 2 arrivals and 1048575 bytes pending"
    for step, message in (
        (lambda: barrier.arrive(0, None), "mbarrier: expected a count of arrivals from 1 to 1048575, found 0"),
        (lambda: barrier.arrive(3, None), "mbarrier: 3 arrivals, but the phase expects only 2 more of 2"),
        (lambda: barrier.expect(1), "mbarrier: transaction count 1048576 is not within +-(2^20 - 1)"),
        (lambda: Mbarrier(1, Monitor()).expect(-(1 << 20)),
         "mbarrier: transaction count -1048576 is not within +-(2^20 - 1)"),
    ):  # fmt: skip
        with pytest.raises(SimError) as caught:
            step()
        assert caught.value.message == message
