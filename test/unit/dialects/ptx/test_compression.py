"""Two of four elements of registers, from the operation to numpy, and back to their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import LocatedError
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import assemble
from tirx.sim import SimError, run
from tirx.text.parsing import parse_located
from tirx.universe import new_context

TYPES = {
    16: (np.float16, ml_dtypes.bfloat16),
    8: (np.uint8, np.int8, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn),
}
KEYS: tuple[Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]], ...] = (
    lambda x: -x,
    lambda x: -np.abs(x),
    lambda x: x,
    np.abs,
)
"""Keys that ascend with the elements that are kept, by the two lowest bits of a descriptor."""


def _ptx(bits: int, width: int, target: str = "sm_107a") -> str:
    """Compresses four registers and puts the elements back: threads have 16 bytes each."""
    element, index = f'"b{bits}"', f'"b{width}"'
    return print_ptx(
        parse_located(
            new_context(),
            f"""
    ptx.entry @both(a : u64 ptr, d : u64 ptr, how : u32) target("{target}") reqntid(32) {{
      %tid = ptx.read_special tid.x
      %size = ptx.constant 16 : i32
      %at = ptx.mul.wide unsigned %tid, %size : i32 -> i64
      %a0 = ptx.ld.param @a : i64
      %d0 = ptx.ld.param @d : i64
      %how = ptx.ld.param @how : i32
      %a = ptx.add %a0, %at : i64
      %d = ptx.add %d0, %at : i64
      %x:4 = ptx.ld global %a : i64 -> i32, i32, i32, i32
      %m, %c0, %c1 = ptx.spcompress {element} {index} %x#0, %x#1, %x#2, %x#3 by %how -> i32, i32, i32
      %y:4 = ptx.spdecompress {element} {index} "2:4" {32 // bits} metadata(%m) %c0, %c1 -> i32, i32, i32, i32
      ptx.st global %d, %y#0, %y#1, %y#2, %y#3 : i64, i32, i32, i32, i32
      ptx.ret
    }}""",
            "compression.mlir",
        )
    )


@pytest.mark.parametrize("how", range(4))
@pytest.mark.parametrize(("bits", "width"), [(16, 4), (16, 2), (8, 2), (8, 4)])
@pytest.mark.sample(3)
def test_two_of_four(bits: int, width: int, how: int) -> None:
    ptx = _ptx(bits, width)
    assert assemble(ptx, "sm_107a").ok
    for code, dtype in enumerate(TYPES[bits]):
        a = np.random.default_rng(code).integers(-8, 8, 4096 // bits).astype(np.int8).astype(dtype)
        d = np.zeros_like(a)
        run(ptx, "both", 1, 32, [a, d, code << 2 | how])
        groups = a.reshape(-1, 4)
        order = np.argsort(KEYS[how](groups.astype(np.float32)), axis=1, kind="stable")
        expected = groups.copy()
        np.put_along_axis(expected, order[:, 2:], 0, axis=1)
        np.testing.assert_array_equal(d.astype(np.float32), expected.ravel().astype(np.float32))


def test_refusals() -> None:
    arrays = [np.zeros(256, np.float16), np.zeros(256, np.float16)]
    with pytest.raises(SimError, match="expected a descriptor of spcompress of f16, bf16, found 0x8"):
        run(_ptx(16, 4), "both", 1, 32, [*arrays, 8])
    bytes_, of_half = [np.arange(512, dtype=np.uint8), np.zeros(512, np.uint8)], "sp::1:2.x8"
    with pytest.raises(SimError, match="expected indices of spdecompress below 2, found 3"):
        run(
            _ptx(8, 4).replace("spdecompress.b8.b4.sp::2:4.x4", f"spdecompress.b8.b4.{of_half}"),
            "both",
            1,
            32,
            [*bytes_, 0],
        )
    with pytest.raises(SimError, match="at most 32 bits kept of a group, .* found 4 of 8 elements of 16 bits, 2 times"):
        run(
            _ptx(16, 4).replace("spdecompress.b16.b4.sp::2:4", "spdecompress.b16.b4.sp::4:8"),
            "both",
            1,
            32,
            [*arrays, 0],
        )
    with pytest.raises(SimError, match="spcompress does not exist on sm_100a; supported on sm_107a"):
        run(_ptx(16, 4).replace("sm_107a", "sm_100a"), "both", 1, 32, [*arrays, 0])
    with pytest.raises(LocatedError, match="needs spcompress, which sm_107f lacks; supported on sm_107a"):
        _ptx(16, 4, "sm_107f")


@together(
    ("text", "message"),
    [
        ('ptx.spcompress "b32" "b4" %i, %i by %i -> i32, i32', "elements to be one of b8, b16, found b32"),
        ('ptx.spcompress "b16" "b8" %i, %i by %i -> i32, i32', "indices to be one of b2, b4, found b8"),
        ('ptx.spcompress "b16" "b4" %i, %i, %i by %i -> i32, i32', "2 registers of data, found 3"),
        (
            'ptx.spcompress "b16" "b4" %i, %i by %i -> i32, i32, i32',
            "2 registers of metadata and of what is kept, found 3",
        ),
        (
            'ptx.spdecompress "b32" "b4" "2:4" 1 metadata(%i) %i -> i32, i32',
            "elements to be one of b8, b16, found b32",
        ),
        (
            'ptx.spdecompress "b16" "b8" "2:4" 1 metadata(%i) %i -> i32, i32',
            "indices to be one of b2, b4, found b8",
        ),
        ('ptx.spdecompress "b16" "b4" "2:4" 1 metadata(%i) %i -> i32', "2 registers of elements, found 1"),
        ('ptx.spdecompress "b16" "b4" "2:4" 1 metadata(%i) %i, %i -> i32, i32', "1 registers of what is kept, found 2"),
        ('ptx.spdecompress "b16" "b4" "2:4" 1 metadata(%i, %i) %i -> i32, i32', "1 registers of metadata, found 2"),
    ],
)
def test_forms_that_are_refused(text: str, message: str) -> None:
    count = text.count(",", text.index("->")) + 1
    module = parsed(
        f'ptx.entry @k(i : u32) target("sm_107a") {{ %i = ptx.ld.param @i : i32 %r:{count} = {text} ptx.ret }}'
    )
    with pytest.raises(VerifyException) as caught:
        module.verify()
    assert f"expected {message}" in str(caught.value)
