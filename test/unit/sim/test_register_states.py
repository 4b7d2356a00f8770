"""Reads and writes of registers in every state, and what instructions make of operands that were never written."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER
from unit.sim.machine import message_of, new_group

from tirx.sim import SimError
from tirx.sim.core.cta import Cluster, ThreadGroup
from tirx.sim.core.launch import Level
from tirx.sim.core.types import B16, B32, B64, F32, F64, PRED, U32, U64, Mask, RegisterState, bits_type
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import decode
from tirx.sim.program.linker import link
from tirx.sim.program.undefined import carrying
from tirx.sim.reader import parse
from tirx.sim.reader.syntax import Immediate, Instruction
from tirx.sim.setting import Setting

_DECLARATIONS = ".reg .b32 %r<4>; .reg .pred %p<4>; .reg .b64 %d<2>; .reg .b16 %h<2>; .shared .b32 s; .local .b32 l;"
_STATES = RegisterState.UNDEFINED, *list(RegisterState)[1:]


class _Scene:
    """A warp about to execute one instruction, all of whose registers are watched."""

    def __init__(self, statement: str, check: Level = "strict"):
        body = f"{_DECLARATIONS} ret; {statement};"
        text = f"{HEADER}.visible .entry k() {{ {body} }}"
        module = parse(text)
        linked = link(module, "k", check=check)
        self.symbols = linked.symbols
        self.instruction: Instruction = module.functions["k"].code[1]
        decode(Decoder(self.symbols, self.instruction))
        names = tuple(each.name for each in self.symbols.watch_all())
        program = linked.program()
        program.watched, program.initially_undefined = names, (False,) * len(names)
        setting = Setting(text, "k", (1, 1, 1), (32, 1, 1), (1, 1, 1), 0, check, "hardware", None, None, 64)
        self.launch = setting.launch(program, linked.symbols.memories({}), None, lambda _: None)
        self.group: ThreadGroup = new_group(Cluster(self.launch, (0, 0, 0)).ctas[0])

    def decoder(self, *, lenient: bool = False) -> Decoder:
        return Decoder(self.symbols, self.instruction, lenient=lenient)

    def states(self, name: str) -> Any:
        register = self.symbols.register(self.instruction.scope, name)
        assert register is not None
        return self.group.states[register.state]

    def values(self, name: str) -> Any:
        register = self.symbols.register(self.instruction.scope, name)
        assert register is not None
        return self.group.banks[bits_type(register.type.bits).bank][register.row]


def _lanes(*lanes: int) -> Mask:
    return np.isin(np.arange(32), lanes)


# Lane n of %r1 is in state n: what is said where these lanes read it, by the letter and otherwise.
_UNWRITTEN, _EARLY = "register %r1 is read but was never written", "register %r1 is read before tcgen05.wait::ld"
_PRODUCT = "register %r1 is read before wgmma.wait_group"
_READS: list[tuple[tuple[int, ...], str, str, str]] = [
    ((1,), "", "", ""),
    ((4,), "", "", ""),
    ((1, 4, 9), "", "", ""),
    ((0,), _UNWRITTEN, _UNWRITTEN, "thread 0"),
    ((0, 1, 4), _UNWRITTEN, _UNWRITTEN, "thread 0"),
    ((1, 2), _EARLY, "noted", "thread 2"),
    ((2, 4), _EARLY, "noted", "thread 2"),
    ((0, 2), _EARLY, f"noted, {_UNWRITTEN}", "threads 0, 2"),
    ((5, 1), _EARLY, f"noted, {_UNWRITTEN}", "thread 5"),
    ((2, 5), _EARLY, f"noted, {_UNWRITTEN}", "threads 2, 5"),
    ((3,), _PRODUCT, _PRODUCT, "thread 3"),
    ((3, 4, 1), _PRODUCT, _PRODUCT, "thread 3"),
    ((2, 3), _EARLY, f"noted, {_PRODUCT}", "threads 2-3"),
]


@together("lenient", [False, True])
@together("check", ["strict", "hardware"])
def test_reads(check: Level, lenient: bool) -> None:
    """Lenient reads carry values that were never written, by hardware those of a load that is not waited for, too."""
    for lanes, strict, otherwise, where in _READS:
        scene = _Scene("mov.b32 %r0, %r1", check)
        scene.states("%r1")[:6] = _STATES
        scene.values("%r1")[:] = np.arange(32) + 7
        said = strict if check == "strict" else otherwise
        if lenient and said.endswith(_UNWRITTEN):
            said = said.removesuffix(_UNWRITTEN).removesuffix(", ")
        source = scene.decoder(lenient=lenient).source(1, B32)
        noted = "noted" in said
        if (said := said.removeprefix("noted").removeprefix(", ")) == "":
            assert source(scene.group, _lanes(*lanes)).tolist() == [lane + 7 for lane in range(32)]
        else:
            with pytest.raises(SimError) as caught:
                source(scene.group, _lanes(*lanes))
            assert caught.value.message == said
            if check == "strict":
                assert caught.value.where == f"warp 0 ({where}), CTA (0, 0, 0)"
            elif noted and said == _UNWRITTEN:  # the lanes of the load alone do not count
                others = [lane for lane in lanes if lane != 2]
                assert caught.value.where == f"warp 0 (thread {others[0]}), CTA (0, 0, 0)"
        assert scene.launch.notes == ([("tcgen05.wait::ld", _EARLY)] if noted else [])


_WRITES = {
    2: "register %r0 is written while a tcgen05.ld to it is not waited for",
    3: "register %r0 is written while a wgmma.mma_async to it is not waited for",
    4: "register %r0 is written while a wgmma.mma_async that reads it is not waited for",
    5: "register %r0 is written while a tcgen05.ld to it is not waited for",
}


@pytest.mark.parametrize("pending", [False, True])
def test_writes(pending: bool) -> None:
    scene = _Scene("mov.b32 %r0, %r1")
    put = scene.decoder().destination(0, B32, pending=pending)
    states, values = scene.states("%r0"), np.arange(32, dtype=np.uint32) + 50
    states[:6] = _STATES
    for lane, message in _WRITES.items():
        assert message_of(lambda lane=lane: put(scene.group, _lanes(0, lane, 9), values)) == message
    put(scene.group, _lanes(0, 7), values)
    after = RegisterState.PENDING if pending else RegisterState.DEFINED
    assert states[:8].tolist() == [after, *_STATES[1:], 1, after] and (states[8:] == 1).all()
    assert scene.values("%r0").tolist() == [50, *[0] * 6, 57, *[0] * 24]


# Operands as (value, whether it was written): is the result undefined? A written operand that decides is enough.
_Known = tuple[bool, bool]


def _junction(decides: bool) -> Callable[..., bool]:
    def unknown(*operands: _Known) -> bool:
        decided = any(written and value == decides for value, written in operands)
        return not decided and not all(written for _, written in operands)

    return unknown


def _comparison(decides: bool) -> Callable[..., bool]:
    def unknown(compared: _Known, other: _Known) -> bool:
        return not other[1] or (not compared[1] and other[0] != decides)

    return unknown


def _any(*operands: _Known) -> bool:
    return not all(written for _, written in operands)


def _choice(first: _Known, second: _Known, chosen: _Known) -> bool:
    return not chosen[1] or not (first if chosen[0] else second)[1]


def _choice_of_literal(second: _Known, chosen: _Known) -> bool:
    return _choice((True, True), second, chosen)


_CARRIED: dict[str, tuple[tuple[str, ...], Callable[..., bool]]] = {
    "and.pred %p0, %p1, %p2": (("%p1", "%p2"), _junction(False)),
    "or.pred %p0, %p1, %p2": (("%p1", "%p2"), _junction(True)),
    "and.pred %p0, !%p1, %p2": (("!%p1", "%p2"), _junction(False)),
    "or.pred %p0, %p1, !%p2": (("%p1", "!%p2"), _junction(True)),
    "xor.pred %p0, %p1, %p2": (("%p1", "%p2"), _any),
    "not.pred %p0, %p1": (("%p1",), _any),
    "setp.lt.and.u32 %p0, %r1, 5, %p2": (("%r1", "%p2"), _comparison(False)),
    "setp.lt.or.u32 %p0, 5, %r1, !%p2": (("%r1", "!%p2"), _comparison(True)),
    "setp.eq.xor.u32 %p0, %r1, 5, %p2": (("%r1", "%p2"), _any),
    "setp.eq.u32 %p0, %r1, %r2": (("%r1", "%r2"), _any),
    "selp.b32 %r0, %r1, %r2, %p3": (
        ("%r1", "%r2", "%p3"), _choice),
    "selp.b32 %r0, 5, %r2, !%p3": (("%r2", "!%p3"), _choice_of_literal),
    "mad.lo.u32 %r0, %r1, %r2, %r3": (("%r1", "%r2", "%r3"), _any),
}  # fmt: skip


@together("statement", _CARRIED)
def test_what_is_carried(statement: str) -> None:
    names, unknown = _CARRIED[statement]
    scene = _Scene(statement, "hardware")
    decoder = scene.decoder(lenient=True)
    step = carrying(decoder, decode(decoder))
    known: list[_Known] = [(value, written) for value in (False, True) for written in (False, True)]
    cases: list[tuple[_Known, ...]] = list(product(known, repeat=len(names)))
    cases = cases[:: 1 + len(cases) // 32]
    for index, name in enumerate(names):
        for lane, case in enumerate(cases):
            value, written = case[index]
            scene.values(name.lstrip("!"))[lane] = value != name.startswith("!")
            scene.states(name.lstrip("!"))[lane] = RegisterState.DEFINED if written else RegisterState.UNDEFINED
    target = statement.split()[1].rstrip(",")
    scene.states(names[0].lstrip("!"))[31] = RegisterState.UNDEFINED  # does not take part
    scene.states(target)[: len(cases)] = RegisterState.UNDEFINED
    assert step(scene.group, np.arange(32) < len(cases)) is None
    expected = [0 if unknown(*case) else 1 for case in cases]
    assert scene.states(target).tolist() == expected + [1] * (32 - len(cases))
    if 0 in expected:
        register = scene.symbols.register(scene.instruction.scope, target)
        assert register is not None
        origin = scene.launch.origins[register.state]
        first = next(name.lstrip("!") for name in names if (scene.states(name.lstrip("!"))[: len(cases)] == 0).any())
        assert origin.message == f"register {first} is read but was never written"
        assert (origin.line, origin.text) == (scene.instruction.line, scene.instruction.text)


def test_what_shuffles_carry() -> None:
    """Values come with their states; whether a lane is in range is always known."""
    scene = _Scene("shfl.sync.down.b32 %r0|%p0, %r1, 3, 31, -1", "hardware")
    decoder = scene.decoder(lenient=True)
    step = carrying(decoder, decode(decoder))
    scene.values("%r1")[:] = np.arange(32) + 100
    scene.states("%r1")[[4, 9, 30]] = RegisterState.UNDEFINED
    scene.states("%p0")[:] = RegisterState.UNDEFINED
    assert step(scene.group, np.ones(32, np.bool_)) is None
    sources = [lane + 3 if lane < 29 else lane for lane in range(32)]
    assert scene.values("%r0").tolist() == [100 + each for each in sources]
    assert scene.values("%r1").tolist() == list(range(100, 132))
    assert scene.states("%r0").tolist() == [0 if each in (4, 9, 30) else 1 for each in sources]
    assert (scene.states("%p0") == RegisterState.DEFINED).all()
    assert scene.values("%p0").tolist() == [lane < 29 for lane in range(32)]


def test_local_memory_that_was_never_written() -> None:
    """Stores make their bytes what the registers are; loads of any such byte are undefined in that lane."""
    mask = _lanes(1, 2, 5)
    store, load = _Scene("st.local.b32 [l], %r1", "hardware"), _Scene("ld.local.b16 %h1, [l+2]", "hardware")
    scenes: list[Callable[..., Any]] = []
    for scene in (store, load):
        decoder = scene.decoder(lenient=True)
        scenes.append(carrying(decoder, decode(decoder)))
    marks = store.group.cta.local_undefined = np.zeros(store.group.cta.local_undefined.shape, np.bool_)
    store.states("%r1")[[2, 7]] = RegisterState.UNDEFINED
    assert scenes[0](store.group, mask) is None
    size = marks.size // 32
    assert np.flatnonzero(marks).tolist() == [2 * size + index for index in range(4)]
    own = load.group.cta.local_undefined = np.zeros(marks.shape, np.bool_)
    own[[1 * size + 1, 2 * size + 2, 4 * size + 2, 5 * size + 3]] = True
    assert scenes[1](load.group, mask) is None
    assert np.flatnonzero(load.states("%h1") == RegisterState.UNDEFINED).tolist() == [2, 5]
    assert load.group.cta.monitor.tolerant is False
    (origin,) = load.launch.origins.values()
    assert origin.message == "a load reads local memory that holds what was never written"


_Kind = Literal["integer", "f32", "f64", "decimal"]


def _literal(kind: _Kind, value: Any, value_type: Any) -> Any:
    scene = _Scene("mov.b32 %r0, %r1")
    return scene.decoder().literal(Immediate(kind, value), value_type)


@together(
    ("kind", "value", "value_type", "bits"),
    [
        ("integer", 65535, B16, 0xFFFF), ("integer", -32768, B16, 0x8000), ("integer", (1 << 32) - 1, U32, 0xFFFFFFFF),
        ("integer", -(1 << 31), U32, 1 << 31), ("integer", (1 << 64) - 1, U64, (1 << 64) - 1),
        ("integer", -(1 << 63), U64, 1 << 63), ("integer", -1, B16, 0xFFFF), ("integer", 2, PRED, 0),
        ("integer", 3, PRED, 1), ("integer", -1, PRED, 1), ("decimal", 1.5, F32, 0x3FC00000),
        ("decimal", -0.1, F64, 0xBFB999999999999A), ("f32", 0x3DCCCCCD, F32, 0x3DCCCCCD),
        ("f32", 0x3DCCCCCD, B32, 0x3DCCCCCD), ("f32", 0x3DCCCCCD, F64, 0x3FB99999A0000000),
        ("f64", 0x3FB999999999999A, F32, 0x3DCCCCCD), ("f64", 0x3FB999999999999A, F64, 0x3FB999999999999A),
        ("f64", 0x3FB999999999999A, B64, 0x3FB999999999999A),
    ],
)  # fmt: skip
def test_literals(kind: _Kind, value: Any, value_type: Any, bits: int) -> None:
    found = np.array([_literal(kind, value, value_type)])
    assert found.dtype == value_type.dtype and int.from_bytes(found.tobytes(), "little") == bits


@together(
    ("kind", "value", "value_type", "message"),
    [
        ("integer", 65536, B16, "expected a literal of 16 bits, found 0x10000"),
        ("integer", -32769, B16, "expected a literal of 16 bits, found -0x8001"),
        ("integer", 1 << 64, U64, "expected a literal of 64 bits, found 0x10000000000000000"),
        ("integer", 1, F32, "expected a floating-point literal for .f32, found 1"),
        ("decimal", 1.0, B32, "expected an integer literal for .b32, found 1.0"),
        ("f32", 0, U32, "expected a literal of .u32, found one of f32"),
        ("f32", 0, B64, "expected a literal of .b64, found one of f32"),
        ("f64", 0, B32, "expected a literal of .b32, found one of f64"),
    ],
)
def test_literals_that_do_not_fit(kind: _Kind, value: Any, value_type: Any, message: str) -> None:
    assert message_of(lambda: _literal(kind, value, value_type)) == message


def test_addresses() -> None:
    """Offsets wrap around at the width of the register, those of variables at 64 bits."""
    mask = _lanes(0, 1, 2)
    for operand, values, expected in (
        ("%r1+5", (0, 7, 0xFFFFFFFE), (5, 12, 3)), ("%r1-5", (0, 7, 0xFFFFFFFE), (0xFFFFFFFB, 2, 0xFFFFFFF9)),
        ("%d1+5", (0, 7, (1 << 64) - 2), (5, 12, 3)), ("%d1-5", (0, 7, 6), ((1 << 64) - 5, 2, 1)),
        ("%d1", (3, 4, 5), (3, 4, 5)), ("s+4", (), (1028,) * 3), ("s-1025", (), ((1 << 64) - 1,) * 3),
        ("77", (), (77,) * 3), ("-2", (), ((1 << 64) - 2,) * 3),
    ):  # fmt: skip
        scene = _Scene(f"ld.shared.b32 %r0, [{operand}]")
        if values:
            scene.values(operand[:3])[:3] = values
        found = scene.decoder().address(1)
        assert found.space == ("shared" if operand[0] == "s" else None)
        addresses = found.values(scene.group, mask)
        assert addresses.dtype == np.uint64 and addresses[:3].tolist() == list(expected)


def test_generic_addresses_of_shared_memory() -> None:
    scene = _Scene("ld.b32 %r0, [%d1]")
    window, one = 1 << 40, _lanes(0, 1)
    base = _generic_base()
    for explicit, lenient, values, expected in (
        (True, False, (5, base), [5, base]),
        (False, False, (base, base + window - 1), [0, window - 1]),
        (False, True, (base, base + 9), [0, 9]),
        (False, True, (base - 1, 9), [base - 1, 9]),
    ):
        scene.values("%d1")[:2] = values
        source = scene.decoder().window_address(1, explicit, lenient=lenient)
        assert source(scene.group, one)[:2].tolist() == expected
    for lenient, values in ((False, (base - 1, base)), (False, (base + window, base)), (True, (base + window, 5))):
        scene.values("%d1")[:2] = values
        source = scene.decoder().window_address(1, False, lenient=lenient)
        message = f"expected a generic address of shared memory, found {values[0]:#x}"
        assert message_of(lambda source=source: source(scene.group, one)) == message


def _generic_base() -> int:
    scene = _Scene("cvta.shared.u64 %d0, s")
    decode(scene.decoder())(scene.group, _lanes(0))
    return int(scene.values("%d0")[0]) - 1024
