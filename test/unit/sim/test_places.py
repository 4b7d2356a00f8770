"""Where names are, what variables begin with, and what arguments become: exact addresses and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import frozen

from tirx.sim import SimError, TensorMap, run
from tirx.sim.core.arguments import bind_arguments
from tirx.sim.core.launch import Launch
from tirx.sim.memory.tensor_map_bytes import encode
from tirx.sim.program.linker import link
from tirx.sim.reader import parse
from tirx.sim.setting import Setting

_HEADER = ".version 8.0\n.target sm_90a, debug\n.address_size 64\n"
_VARIABLES = """
.extern .global .u32 absent[];
.global .u8 a = 7;
.const .align 8 .u16 c[3] = {1, -2, 0x12345};
.global .b64 p[7] = {a, a+3, generic(c), sh, f, generic(sh)-1, g};
.global .b32 low[2] = {g, a+5};
.global .b8 bytes[5] = {0xFF(p), 0xFF00(p+8), 0xFF0000000000(p), 0xFF0000000000(f), 0xFF(g)};
.global .f32 x[4] = {1.5, 0f3F800000, 2, -3};
.global .f16 h[3] = {1.5, 0d4000000000000000, 0f3F000000};
.global .bf16 b = 0f3FC00000;
.const .f64 d[3] = {0.1, 0f3FC00000, 0dBFF0000000000000};
.global .s64 big[2] = {-1, 0xFFFFFFFFFFFFFFFE};
.global .u16 part[3] = {5};
.shared .align 4 .b8 sh[6];
.shared .b64 sh2;
.shared .b64 unused;
.extern .shared .align 16 .b8 dyn[];
.extern .shared .align 64 .b8 dyn2[];
.func (.param .b32 r) f(.param .b8 q) { .local .u16 fl; ret; }
.func g() { ret; }
.visible .entry other() { ret; }
.visible .entry k(.param .u8 n, .param .u64 out, .param .align 16 .b8 s[5]) {
  .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p; .local .u8 l1; .local .b64 l2; .param .b32 pp; .param .b8 pq;
  .shared .b16 inner; .const .u8 ic = 9;
  mov.u32 %r4, sh; mov.u32 %r2, dyn; mov.u32 %r2, dyn2; mov.u32 %r3, sh2; mov.u64 %d1, f;
  { .reg .b32 %r4; mov.b32 %r4, 1; }
  setp.eq.u32 %p, %r4, %r2; call (pp), f, (pq); ret;
}
"""


def test_places() -> None:
    for dynamic, spans, end in ((0, (), 1088), (40, ((1088, 40),), 1128)):
        linked = link(parse(_HEADER + _VARIABLES), "k", dynamic)
        program, symbols = linked.program(), linked.symbols
        assert (program.name, program.target) == ("k", "sm_90a")
        assert program.register_counts == {32: 4, 64: 1, 1: 1}
        assert [(variable.name, offset) for variable, offset in program.parameters] == [("n", 0), ("out", 8), ("s", 16)]
        assert (program.parameter_bytes, program.local_bytes, program.stack) == (21, 32, 32)
        assert program.shared == ((1024, 6), (1032, 8), (1040, 2), *spans) and program.shared_end == end
        found = {
            variable.name: symbols.place(variable).address
            for function in symbols.functions
            for variable in (*function.parameters, *function.returns, *function.variables)
        }
        assert found == {
            "n": 0, "out": 8, "s": 16, "l1": 0, "l2": 8, "pp": 16, "pq": 20, "inner": 1040, "ic": 0x7C0000020200,
            "fl": 22, "q": 24, "r": 28,
        }  # fmt: skip
        for name, address in {
            "a": 0x7F0000000000, "c": 0x7C0000000000, "sh": 1024, "sh2": 1032, "dyn": 1088, "dyn2": 1088,
        }.items():  # fmt: skip
            assert symbols.place(symbols.module.scope.variables[name]).address == address
        functions = {"f": 0x6F0000000000, "g": 0x6F0000000010, "k": None, "other": None, "none": None}
        assert {name: symbols.function_address(name) for name in functions} == functions
        for name in ("absent", "unused"):
            with pytest.raises(SimError) as caught:
                symbols.place(symbols.module.scope.variables[name])
            variable = symbols.module.scope.variables[name]
            assert (caught.value.message, caught.value.line) == (
                f"{name} (.{variable.space}) has no definition in this module", variable.line,
            )  # fmt: skip


def test_initial_values() -> None:
    linked = link(parse(_HEADER + _VARIABLES), "k")
    held = np.zeros(3, np.uint16)
    memory, constants = linked.symbols.memories({"part": held})
    words = {
        "p": np.array([0x7F0000000000, 0x7F0000000003, 0x7C0000000000, 1024, 0x6F0000000000, 0x7A00000003FF,
                       0x6F0000000010], np.uint64),
        "low": np.array([16, 5], np.uint32), "bytes": np.array([0, 1, 0x7F, 0x6F, 16], np.uint8),
        "a": np.array([7], np.uint8), "x": np.array([1.5, 1, 2, -3], np.float32),
        "h": np.array([1.5, 2, 0.5], np.float16), "b": np.array([0x3FC0], np.uint16),
        "big": np.array([-1, -2], np.int64), "part": np.zeros(3, np.uint16),
        "c": np.array([1, 0xFFFE, 0x2345], np.uint16), "d": np.array([0.1, 1.5, -1]), "ic": np.array([9], np.uint8),
    }  # fmt: skip
    segments = {segment.name.removeprefix("variable "): segment for segment in memory.segments + constants.segments}
    assert {name: segment.data.tobytes() for name, segment in segments.items()} == {
        name: value.tobytes() for name, value in words.items()
    }
    assert {name for name, segment in segments.items() if segment.read_only} == {"c", "d", "ic"}
    assert np.shares_memory(segments["part"].data, held)
    fresh, _ = linked.symbols.memories({})
    assert fresh.segments[-1].data.view(np.uint16).tolist() == [5, 0, 0]


_SIZES = [
    # declarations, entry's parameters, dynamic shared memory, message
    ("", ".param .b8 a[4], .param .b8 b[32760]", 0, None),
    ("", ".param .b8 a[4], .param .b8 b[32761]", 0, "expected at most 32764 bytes of parameters, found 32765 with b"),
    (".const .b8 a[720000]; .const .b8 b[896];", "", 0, None),
    (".const .b8 a[720000]; .const .b8 b[897];", "", 0,
     "expected at most 720896 bytes of variables in .const, found 720897 with b"),
    (".global .b8 a[536870912];", "", 0, None),
    (".global .b8 a[536870912]; .global .b8 b;", "", 0,
     "expected at most 536870912 bytes of variables in .global, found 536870913 with b"),
    ("", "", 232448, None),
    ("", "", 232449, "expected at most 232448 bytes of shared memory, found 232449"),
    (".global .u8 a[2] = {1, 2, 3};", "", 0, "a has more initialisers than elements"),
    (".global .u16 a[3] = {1, 2, 3, 4};", "", 0, "a has more initialisers than elements"),
    (".global .b64 a = b;", "", 0, "expected a variable of this module, found 'b'"),
    (".global .u32 a = 1.5;", "", 0, "floating-point initialiser for a, which is .u32"),
]  # fmt: skip


@together(("declarations", "parameters", "dynamic", "message"), _SIZES)
def test_limits(declarations: str, parameters: str, dynamic: int, message: str | None) -> None:
    text = f"{_HEADER}{declarations} .entry k({parameters}) {{ ret; }}"
    if message is None:
        link(parse(text), "k", dynamic).symbols.memories({})
        return
    with pytest.raises(SimError) as caught:
        link(parse(text), "k", dynamic).symbols.memories({})
    assert caught.value.message == message


def test_most_local_memory() -> None:
    for size, fits in ((524284, True), (524285, False)):
        text = f"{_HEADER}.entry k() {{ .local .b32 a; .local .b8 b[{size}]; ret; }}"
        if fits:
            assert link(parse(text), "k").program().local_bytes == 524288
            continue
        with pytest.raises(SimError) as caught:
            link(parse(text), "k")
        assert caught.value.message == (
            "expected at most 524288 bytes of local memory for each thread, found 524289 with b"
        )


def test_given_variables() -> None:
    symbols = link(parse(_HEADER + ".global .b8 b[4]; .const .b8 a; .shared .b8 s; .entry k() { ret; }"), "k").symbols
    known = "expected a variable in .global or .const of the module"
    constant = np.zeros(4, np.uint8)
    constant.flags.writeable = False
    for given, message in (
        ({"s": np.zeros(1, np.uint8)}, f"{known} (a, b), found 's'"),
        ({"b": np.zeros(3, np.uint8)}, "expected a writable C-contiguous array of 4 bytes for b, found one of 3"),
        ({"b": np.zeros((2, 4), np.uint8)[:, ::2]},
         "expected a writable C-contiguous array of 4 bytes for b, found one of 4"),
        ({"b": constant},
         "expected a writable C-contiguous array of 4 bytes for b, found one of 4"),
    ):  # fmt: skip
        with pytest.raises(SimError) as caught:
            symbols.memories(given)
        assert caught.value.message == message
    held = np.zeros((2, 2), np.uint8)
    assert np.shares_memory(symbols.memories({"b": held})[0].segments[0].data, held)
    with pytest.raises(SimError, match=r"\(it has none\)"):
        link(parse(_HEADER + ".entry k() { ret; }"), "k").symbols.memories({"x": held})


# Arguments


def _bound(parameters: str, arguments: Sequence[Any]) -> Launch:
    text = f"{_HEADER}.entry k({parameters}) {{ ret; }}"
    setting = Setting(text, "k", (1, 1, 1), (1, 1, 1), (1, 1, 1), 0, None, "hardware", None, None, 64)
    program = setting.linked().program()
    launch = setting.launch(program, setting.linked().symbols.memories({}), None, print)
    bind_arguments(launch, arguments)
    return launch


_GLOBAL = 0x7F0000000000


def _raw(value: Any, dtype: Any) -> bytes:
    return np.array(value, dtype).tobytes()


_NUMBERS: list[tuple[str, Any, bytes | str]] = [
    # type of the parameter, argument, its bytes or the message
    (".u8", 255, b"\xff"),
    (".s8", -128, b"\x80"),
    (".u8", 256, "expected a value of 8 bits for a, found 256"),
    (".s8", -129, "expected a value of 8 bits for a, found -129"),
    (".u32", True, b"\1\0\0\0"),
    (".u32", np.int64(-2), b"\xfe\xff\xff\xff"),
    (".u64", np.uint64(2**64 - 1), b"\xff" * 8),
    (".u64", 2**64, f"expected a value of 64 bits for a, found {2**64}"),
    (".b16", np.array(5, np.uint8), b"\5\0"),
    (".f32", 1.5, _raw(1.5, "f4")),
    (".f32", 3, _raw(3, "f4")),
    (".f16", 0.1, _raw(0.1, "f2")),
    (".f64", 0.1, _raw(0.1, "f8")),
    (".b32", 0.1, _raw(0.1, "f4")),
    (".b16", 0.1, _raw(0.1, "f2")),
    (".b64", 0.1, _raw(0.1, "f8")),
    (".b8", 0.5, "expected an integer for a (.b8), found 0.5"),
    (".u32", 0.5, "expected an integer for a (.u32), found 0.5"),
    (".s64", 0.5, "expected an integer for a (.s64), found 0.5"),
    (".f32", None, "expected an array or a number for a, found None"),
    (".u64", "x", "expected an array or a number for a, found 'x'"),
    (".f32", np.float32(0.1), _raw(0.1, "f4")),
    (".b32", np.array(0.1, np.float32), _raw(0.1, "f4")),
    (".f32", np.float64(0.1), "expected a value of .f32 for a, found float64"),
    (".u32", np.float32(0.1), "expected a value of .u32 for a, found float32"),
    (".f64", np.int32(3), _raw(3, "f8")),
    (".b64", np.complex64(1 + 2j), np.complex64(1 + 2j).tobytes()),
    (".u32", b"\1\2\3\4", b"\1\2\3\4"),
    (".u32", b"\1\2\3", "expected 4 bytes for a, found 3"),
    (".align 4 .b8[6]", b"\1\2\3\4\5\6", b"\1\2\3\4\5\6"),
    (".align 4 .b8[8]", 5, b"\5" + bytes(7)),
    (".align 4 .b8[8]", np.float64(0.1), _raw(0.1, "f8")),
    (".align 4 .b8[9]", 5, "expected the 9 bytes of a, or its fields as a mapping of offsets, found 5"),
    (".align 4 .b8[8]", 0.5, "expected the 8 bytes of a, or its fields as a mapping of offsets, found 0.5"),
    (".align 4 .b8[4]", np.int16(5),
     f"expected the 4 bytes of a, or its fields as a mapping of offsets, found {np.int16(5)!r}"),
    (".align 4 .b8[6]", np.array((7, 9), "u2,u4")[()], b"\7\0\x09\0\0\0"),
    (".u32", np.zeros(3, np.uint32),
     "expected a number for a of 4 bytes, found an array: only parameters of 8 bytes hold pointers"),
    (".align 4 .b8[8]", np.zeros(3, np.uint32),
     "expected a number for a of 8 bytes, found an array: only parameters of 8 bytes hold pointers"),
    (".u64", np.zeros((4, 4), np.uint32)[:, ::2], "expected a C-contiguous array for a"),
    (".u64", np.zeros(2, ">u4"), "expected numbers in the byte order of this machine for a, found >u4"),
    (".u64", np.zeros(2, "U3"), "expected numbers in the byte order of this machine for a, found <U3"),
    (".u64", np.zeros(2, object), "expected numbers in the byte order of this machine for a, found |O"),
    (".u64", np.zeros(2, np.uint8), _GLOBAL.to_bytes(8, "little")),
    (".u64", np.array(7, np.uint8), b"\7" + bytes(7)),
    (".u64 .ptr", np.array(7, np.uint8), _GLOBAL.to_bytes(8, "little")),
    # structs by fields
    (".align 4 .b8[12]", {8: np.uint16(5), 0: b"\1\2\3", 4: np.float32(0.5)},
     b"\1\2\3\0" + _raw(0.5, "f4") + b"\5\0\0\0"),
    (".align 8 .b8[20]", {8: np.zeros(2, np.uint8)}, bytes(8) + _GLOBAL.to_bytes(8, "little") + bytes(4)),
    (".align 4 .b8[4]", {3: np.uint8(5)}, b"\0\0\0\5"),
    (".align 4 .b8[4]", {3: np.uint16(5)}, "expected a+3 of 2 bytes beside the other fields in 4 bytes"),
    (".align 4 .b8[4]", {-1: np.uint8(5)}, "expected a+-1 of 1 bytes beside the other fields in 4 bytes"),
    (".align 4 .b8[8]", {0: np.uint32(5), 3: np.uint8(5)},
     "expected a+3 of 1 bytes beside the other fields in 8 bytes"),
    (".align 4 .b8[8]", {0: np.uint32(5), 4: np.array(6, np.uint8)}, b"\5\0\0\0\6\0\0\0"),
    (".align 4 .b8[4]", {0: 5},
     "expected an array, a numpy scalar, bytes, a TensorMap or a PointerTable for a+0, found 5"),
]  # fmt: skip


@together(("kind", "argument", "expected"), _NUMBERS)
def test_arguments(kind: str, argument: Any, expected: bytes | str) -> None:
    element, bracket, bound = kind.partition("[")
    parameters = f".param .u16 first, .param {element} a{bracket}{bound}"
    if isinstance(expected, str):
        with pytest.raises(SimError) as caught:
            _bound(parameters, [0xABCD, argument])
        assert (caught.value.message, caught.value.line) == (expected, 4)
        return
    launch = _bound(parameters, [0xABCD, argument])
    offset = launch.program.parameters[1][1]
    raw = launch.parameters.data.tobytes()
    assert raw[:2] == b"\xcd\xab" and raw[offset : offset + len(expected)] == expected
    assert not any(raw[offset + len(expected) :]) and len(raw) % 16 == 0


def test_number_of_arguments() -> None:
    with pytest.raises(SimError) as caught:
        _bound(".param .u32 a, .param .u32 b", [1])
    assert caught.value.message == "expected 2 arguments for k (a, b), found 1"


def test_array_without_dimensions() -> None:
    """Its bytes are written in place, as those of others."""
    array = np.array(1, np.uint32)
    launch = _bound(".param .u64 .ptr a", [array])
    launch.global_memory.bytes_at(int(launch.parameters.data.view(np.uint64)[0]), 4, "x", writes=True)[:] = 7
    assert int(array) == 0x07070707


def test_arrays_that_overlap() -> None:
    """One buffer for arrays that share bytes, one for each of the others."""
    a, b = np.arange(10, dtype=np.uint32), np.arange(64, dtype=np.uint8).reshape(4, 16)
    constant = np.arange(6, dtype=np.uint16)
    constant.flags.writeable = False
    parts = [a[2:5], b[2], a[4:8], b[3], a[3:4], constant, b[2:3], a[8:], np.zeros(0, np.uint8), constant[:0]]
    launch = _bound(", ".join(f".param .u64 p{index}" for index in range(10)), parts)
    addresses: list[int] = launch.parameters.data.view(np.uint64).tolist()
    segments = launch.global_memory.segments
    by_name = {segment.name: segment for segment in segments}
    host = {name: int(segment.data.__array_interface__["data"][0]) for name, segment in by_name.items()}
    assert {name: segment.size for name, segment in by_name.items() if segment.size} == {
        "argument p0": 24, "argument p1": 16, "argument p3": 16, "argument p5": 12, "argument p7": 8,
    }  # fmt: skip
    assert [name for name, segment in by_name.items() if segment.read_only] == ["argument p5"]
    for address, part, owner in zip(
        addresses[:8], parts, ("p0", "p1", "p0", "p3", "p0", "p5", "p1", "p7"), strict=False
    ):
        start = int(part.__array_interface__["data"][0])
        name = f"argument {owner}"
        assert address == by_name[name].base + start - host[name]
        assert launch.global_memory.bytes_at(address, part.nbytes, "x").tobytes() == part.tobytes()
    message = "argument p0 is read-only, but shares memory with an array that is not"
    with pytest.raises(SimError) as caught:
        _bound(".param .u64 p0, .param .u64 p1", [frozen(a), a[2:3]])
    assert caught.value.message == message
    with pytest.raises(SimError) as caught:  # the larger one of those that begin at the same byte
        _bound(".param .u64 p0, .param .u64 p1", [a[:3], frozen(a)])
    assert caught.value.message == message.replace("p0", "p1")
    _bound(".param .u64 p0, .param .u64 p1", [a, frozen(a)[2:3]])


def test_tensor_maps_as_arguments() -> None:
    array = np.zeros((4, 8), np.uint16)
    tensor_map = TensorMap(array, (8, 2))
    launch = _bound(
        ".param .align 64 .b8 a[128], .param .u64 b, .param .align 64 .b8 c[192]",
        [tensor_map, tensor_map, {64: tensor_map}],
    )
    data = launch.parameters.data
    tensor, stored = launch.global_memory.segments
    assert (tensor.name, tensor.size, stored.name) == ("the tensor of a", 64, "tensor map b")
    expected = encode(tensor_map, tensor.base).tobytes()
    assert data[:128].tobytes() == stored.data.tobytes() == data[256:384].tobytes() == expected
    assert int(data[128:136].view(np.uint64)[0]) == stored.base and not data[136:256].any()
    assert launch.tensor_maps.initial == {stored.base: expected}
    _bound(".param .u64 a, .param .u64 b", [1, tensor_map])
    need = "expected a parameter of 128 bytes aligned to 64 for a tensor map, found a of"
    for kind, argument, message in (
        (".align 32 .b8 a[128]", tensor_map, f"{need} 128 bytes aligned to 32"),
        (".align 64 .b8 a[127]", tensor_map, f"{need} 127 bytes aligned to 64"),
        (".align 64 .b8 a[192]", {32: tensor_map}, "expected a+32, a tensor map, to be aligned to 64 bytes"),
        (".align 32 .b8 a[192]", {64: tensor_map}, "expected a+64, a tensor map, to be aligned to 64 bytes"),
        (".align 64 .b8 a[128]", {64: tensor_map}, "expected a+64 of 128 bytes beside the other fields in 128 bytes"),
    ):
        with pytest.raises(SimError) as caught:
            _bound(f".param {kind}", [argument])
        assert caught.value.message == message


# Launches


_RUNS: list[tuple[str, dict[str, Any], str | None]] = [
    # directives, parameters of run, message
    ("", {"grid": (2, 3, 4), "block": (2, 2), "cluster": (1, 3)}, None),
    ("", {"grid": (1, 65536)}, "expected a grid of at most (2147483647, 65535, 65535) blocks, found (1, 65536, 1)"),
    ("", {"grid": (1, 1, 65536)}, "expected a grid of at most (2147483647, 65535, 65535) blocks, found (1, 1, 65536)"),
    ("", {"grid": 2**31}, "expected a grid of at most (2147483647, 65535, 65535) blocks, found (2147483648, 1, 1)"),
    ("", {"grid": 0}, "expected one to three positive numbers for the grid, found (0,)"),
    ("", {"grid": 1.0}, "expected one to three positive numbers for the grid, found (1.0,)"),
    ("", {"grid": (2.7, 1)}, "expected one to three positive numbers for the grid, found (2.7, 1)"),
    ("", {"grid": np.int64(2), "block": np.array([4, 2])}, None),
    ("", {"seed": 1.5}, "expected a number or None for seed, found 1.5"),
    ("", {"dynamic_shared": 1.5}, "expected 0 or more bytes of dynamic shared memory, found 1.5"),
    ("", {"grid": ()}, "expected one to three positive numbers for the grid, found ()"),
    ("", {"block": (1, 2, 3, 4)}, "expected one to three positive numbers for the block, found (1, 2, 3, 4)"),
    ("", {"cluster": (1, -1)}, "expected one to three positive numbers for the cluster, found (1, -1)"),
    ("", {"block": (16, 8, 8), "check": False}, None),
    ("", {"block": (5, 205)}, "expected at most 1024 threads in a block, found 1025"),
    ("", {"grid": (4, 4), "cluster": (4, 4)}, None),
    ("", {"grid": 17, "cluster": 17}, "expected at most 16 CTAs in a cluster, found 17"),
    ("", {"grid": (3, 2, 3), "cluster": (3, 2, 3)}, "expected at most 16 CTAs in a cluster, found 18"),
    ("", {"grid": (4, 3), "cluster": (2, 2)},
     "expected a grid that is a multiple of the cluster (2, 2, 1), found (4, 3, 1)"),
    (".reqntid 4, 2", {"block": (4, 2, 1)}, None),
    (".reqntid 4, 2", {"block": (4, 1, 2)}, "expected block (4, 2, 1) (.reqntid), found (4, 1, 2)"),
    (".maxntid 4, 2, 3", {"block": 24}, None),
    (".maxntid 4, 2, 3", {"block": 25}, "expected at most 24 threads in a block (.maxntid), found 25"),
    (".reqnctapercluster 2, 1, 1", {"grid": 4}, None),
    (".reqnctapercluster 2, 1, 1", {"grid": 4, "cluster": 2}, None),
    (".reqnctapercluster 2, 1, 1", {"grid": 4, "cluster": 4},
     "expected cluster (2, 1, 1) (.reqnctapercluster), found (4, 1, 1)"),
    (".reqnctapercluster 2", {"grid": 3},
     "expected a grid that is a multiple of the cluster (2, 1, 1), found (3, 1, 1)"),
    ("", {"jobs": 0}, "expected 1 or more jobs, found 0"),
    ("", {"dynamic_shared": -1}, "expected 0 or more bytes of dynamic shared memory, found -1"),
    ("", {"check": "loose"}, "expected True, False, 'hardware' or 'strict' for check, found 'loose'"),
    ("", {"entry": "f"}, "expected the name of an entry of the module (a, k), found 'f'"),
    ("", {"entry": "b"}, "expected the name of an entry of the module (a, k), found 'b'"),
]  # fmt: skip


@together(("directives", "options", "message"), _RUNS)
def test_launches(directives: str, options: dict[str, Any], message: str | None) -> None:
    text = f"{_HEADER}.func f() {{ ret; }} .entry k() {directives} {{ ret; }} .entry a() {{ ret; }}"
    ended: list[tuple[int, int]] = []
    arguments: dict[str, Any] = {"entry": "k", "grid": 1, "block": 1, "args": [], **options}
    if message is not None:
        with pytest.raises(SimError) as caught:
            run(text, **arguments)
        assert caught.value.message == message
        return

    def progress(some: int, every: int) -> None:
        ended.append((some, every))

    run(text, **arguments, progress=progress)
    count = math.prod(each for each in np.atleast_1d(arguments["grid"]).tolist())
    assert ended[-1] == (count, count)
