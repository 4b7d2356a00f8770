"""wmma of elements of less than a byte."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError

_KERNEL = """
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c];
  mov.u32 %r20, {stride_a}; mov.u32 %r21, {stride_b};
  wmma.load.a.sync.aligned.row.{shape}.global.{a} {{%r0}}, [%d0], %r20;
  wmma.load.b.sync.aligned.col.{shape}.global.{b} {{%r1}}, [%d1], %r21;
  wmma.load.c.sync.aligned.col.{shape}.global.s32 {{%r2, %r3}}, [%d2], 8;
  wmma.mma{operation}.sync.aligned.row.col.{shape}.s32.{a}.{b}.s32{satfinite}
      {{%r4, %r5}}, {{%r0}}, {{%r1}}, {{%r2, %r3}};
  wmma.store.d.sync.aligned.row.{shape}.global.s32 [%d2], {{%r4, %r5}}, 8;
"""


def _packed(values: np.ndarray, bits: int) -> np.ndarray:
    """Elements of a row one after another, the first in the lowest bits."""
    single = (values[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    return np.packbits(single.reshape(len(values), -1), axis=1, bitorder="little")


@pytest.mark.parametrize("stride", [32, 64])
@pytest.mark.parametrize("name", ["s4", "u4"])
def test_nibbles(name: str, stride: int):
    rng = np.random.default_rng(0)
    low = -8 if name == "s4" else 0
    a, b = (rng.integers(low, low + 16, (8, stride)) for _ in range(2))
    c = rng.integers(-99, 99, (8, 8)).astype(np.int32)
    expected = a[:, :32] @ b[:, :32].T + c.T
    text = _KERNEL.format(shape="m8n8k32", a=name, b=name, operation="", stride_a=stride, stride_b=stride, satfinite="")
    run(assembled(entry(text, ("a", "b", "c"))), "k", 1, 32, [_packed(a, 4), _packed(b, 4), c])
    assert np.array_equal(c, expected)


@pytest.mark.parametrize("operation", ["and", "xor"])
def test_single_bits(operation: str):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2, (8, 128)) for _ in range(2))
    c = rng.integers(-99, 99, (8, 8)).astype(np.int32)
    both = a[:, None] & b[None] if operation == "and" else a[:, None] ^ b[None]
    expected = both.sum(axis=2) + c.T
    text = _KERNEL.format(
        shape="m8n8k128", a="b1", b="b1", operation=f".{operation}.popc", stride_a=128, stride_b=128, satfinite=""
    )
    run(assembled(entry(text, ("a", "b", "c"))), "k", 1, 32, [_packed(a, 1), _packed(b, 1), c])
    assert np.array_equal(c, expected)


def test_saturation():
    a = np.full((8, 16), 0x88, np.uint8)
    c = np.full((8, 8), 2**31 - 9, np.int32)
    text = _KERNEL.format(
        shape="m8n8k32", a="s4", b="s4", operation="", stride_a=32, stride_b=32, satfinite=".satfinite"
    )
    run(assembled(entry(text, ("a", "b", "c"))), "k", 1, 32, [a, a.copy(), c])
    assert (c == 2**31 - 1).all()


@together(
    ("old", "new", "message"),
    [
        (".row.m8n8k32.global.s4", ".col.m8n8k32.global.s4", "expected .row for .s4"),
        (".row.col.m8n8k32", ".row.row.m8n8k32", "expected .row.col for .m8n8k32"),
        ("wmma.mma.sync", "wmma.mma.xor.popc.sync", "expected .and.popc or .xor.popc with .b1"),
        ("mov.u32 %r20, 32", "mov.u32 %r20, 36", "multiple of 8 elements of .s4"),
    ],
)
def test_wrong_forms(old: str, new: str, message: str):
    text = _KERNEL.format(shape="m8n8k32", a="s4", b="s4", operation="", stride_a=32, stride_b=32, satfinite="")
    assert old in text
    arguments = [np.zeros((8, 16), np.uint8), np.zeros((8, 16), np.uint8), np.zeros((8, 8), np.int32)]
    with pytest.raises(SimError, match=message):
        run(entry(text.replace(old, new), ("a", "b", "c")), "k", 1, 32, arguments)
