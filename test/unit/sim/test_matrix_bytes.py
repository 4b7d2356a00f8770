"""ldmatrix and stmatrix of bytes and of packed elements."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError

_LOAD = """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r2, %r1, %r2;
  ld.param.u64 %d0, [x]; mul.wide.u32 %d1, %r0, 16; add.u64 %d1, %d0, %d1;
  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d1]; st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13};
  bar.warp.sync 0xffffffff; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
  INSTRUCTION
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 16; add.u64 %d1, %d0, %d1;
  st.global.v4.b32 [%d1], {%r20, %r21, %r22, %r23};
"""
_REGISTERS = "%r20, %r21, %r22, %r23"


def _kernel(body: str, registers: int, instruction: str) -> str:
    names = ", ".join(_REGISTERS.split(", ")[:registers])
    text = body.replace("INSTRUCTION", instruction.replace("{}", "{" + names + "}"))
    declarations = ".shared .align 1024 .b8 s[512];"
    return assembled(entry(text, ("x", "out"), declarations))


def _bits(raw: np.ndarray, bits: int) -> np.ndarray:
    """16 elements at the start of each row of 16 bytes."""
    found = np.zeros(raw.shape, np.uint8)
    for row in range(len(raw)):
        number = int.from_bytes(raw[row].tobytes(), "little")
        found[row] = [number >> bits * index & ((1 << bits) - 1) for index in range(16)]
    return found


@pytest.mark.parametrize(("kind", "bits"), [("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4)])
@pytest.mark.parametrize("count", [1, 2])
def test_transposed(kind: str, bits: int, count: int):
    """Lane 4 g + q has rows 4 q .. 4 q + 3 of columns g (lower halves) and g + 8 (upper halves)."""
    x = np.random.default_rng(0).integers(0, 256, (32, 16), np.uint8)
    out = np.zeros((32, 16), np.uint8)
    text = _kernel(_LOAD, 2 * count, f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{kind} {{}}, [%r2];")
    run(text, "k", 1, 32, [x, out])
    elements = x if bits == 8 else _bits(x, bits)
    for lane in range(32):
        g, q = divmod(lane, 4)
        for register in range(2 * count):
            first = 16 * (register // 2) + 4 * q + 2 * (register % 2)
            expected = [elements[first + row, g + column] for column in (0, 8) for row in (0, 1)]
            assert out[lane, 4 * register : 4 * register + 4].tolist() == expected


@pytest.mark.parametrize(("kind", "bits"), [("b6x16_p32", 6), ("b4x16_p64", 4)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_unpacked(kind: str, bits: int, count: int):
    x = np.random.default_rng(1).integers(0, 256, (32, 16), np.uint8)
    out = np.zeros((32, 4, 4), np.uint8)
    text = _kernel(_LOAD, count, f"ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.{kind} {{}}, [%r2];")
    run(text, "k", 1, 32, [x, out])
    elements = _bits(x, bits).reshape(4, 8, 4, 4)
    for lane in range(32):
        assert np.array_equal(out[lane, :count], elements[:count, lane // 4, lane % 4])


def test_padding_need_not_be_written():
    body = _LOAD.replace("st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13};", "st.shared.v2.b32 [%r2], {%r10, %r11};")
    x, out = np.zeros((32, 16), np.uint8), np.zeros((32, 16), np.uint8)
    run(_kernel(body, 1, "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {}, [%r2];"), "k", 1, 32, [x, out])
    with pytest.raises(SimError, match="never written"):
        run(_kernel(body, 1, "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {}, [%r2];"), "k", 1, 32, [x, out])


_STORE = """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r2, %r1, %r2;
  ld.param.u64 %d0, [x]; mul.wide.u32 %d1, %r0, 16; add.u64 %d1, %d0, %d1;
  ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%d1]; mov.u32 %r10, 0;
  st.shared.v4.b32 [%r2], {%r10, %r10, %r10, %r10}; bar.warp.sync 0xffffffff;
  INSTRUCTION
  bar.warp.sync 0xffffffff; ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r2];
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 16; add.u64 %d1, %d0, %d1;
  st.global.v4.b32 [%d1], {%r10, %r11, %r12, %r13};
"""


@pytest.mark.parametrize("count", [1, 2, 4])
def test_stored(count: int):
    """Lane 4 g + q has rows 2 q and 2 q + 1 of columns g (lower half) and g + 8 (upper half)."""
    x = np.random.default_rng(2).integers(0, 256, (32, 4, 4), np.uint8)
    out = np.zeros((4, 8, 16), np.uint8)
    text = _kernel(_STORE, count, f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r2], {{}};")
    run(text, "k", 1, 32, [x, out])
    expected = np.zeros_like(out)
    for lane in range(32):
        g, q = divmod(lane, 4)
        for matrix in range(count):
            for byte in range(4):
                expected[matrix, 2 * q + byte % 2, g + 8 * (byte // 2)] = x[lane, matrix, byte]
    assert np.array_equal(out, expected)


@together(
    ("instruction", "message"),
    [
        ("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r20, %r21}, [%r2];", "expected .m16n16 with .trans"),
        ("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r20, %r21}, [%r2];", "expected .x1 or .x2 with .m16n16"),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r20}, [%r2];", "expected .b8x16 and one of"),
        ("add.u32 %r2, %r2, 8; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r2];", "multiple"),
    ],
)
def test_wrong_forms(instruction: str, message: str):
    text = entry(_LOAD.replace("INSTRUCTION", instruction), ("x", "out"), ".shared .align 1024 .b8 s[512];")
    with pytest.raises(SimError, match=message):
        run(text, "k", 1, 32, [np.zeros((32, 16), np.uint8), np.zeros((32, 16), np.uint8)])
