"""Known bits of a register behind `ptx` instructions, against the registers of the simulator."""

from typing import NamedTuple

import numpy as np
import pytest

import tirx
from tirx.dialects import ptx
from tirx.dialects.ptx.known_bits import EVERYTHING, known_bits
from tirx.dialects.tcgen05 import address_operand
from tirx.sim import run
from tirx.symbolic.integers import Integers
from tirx.text.parsing import parse_located
from tirx.universe import new_context


class Case(NamedTuple):
    """Instructions on %x and %y (i32) and %w (i64), which are not known, that end with %r; what is known of %r."""

    body: str
    zeros: int
    ones: int = 0
    type: str = "i32"


C = "%c = ptx.constant {} : {}\n"
LOW28 = 0x0FFFFFFF

CASES = {
    "constant": Case("%r = ptx.constant -2 : i32", 1, 0xFFFFFFFE),
    "unknown": Case("%r = ptx.add %x, %y : i32", 0),
    "shared": Case("%r = ptx.shared_alloc @s bytes 64 align 1024", 1023),
    "and": Case(C.format(240, "i32") + "%r = ptx.and %x, %c : i32", 0xFFFFFF0F),
    "or": Case(C.format(240, "i32") + "%r = ptx.or %x, %c : i32", 0, 240),
    "xor": Case(C.format(240, "i32") + "%a = ptx.and %x, %c : i32\n%r = ptx.xor %a, %c : i32", 0xFFFFFF0F),
    "not": Case(C.format(240, "i32") + "%a = ptx.and %x, %c : i32\n%r = ptx.not %a : i32", 0, 0xFFFFFF0F),
    "neg": Case("%s = ptx.shared_alloc @s bytes 64 align 16\n%r = ptx.neg %s : i32", 15),
    "add": Case(C.format(240, "i32") + "%a = ptx.and %x, %c : i32\n%r = ptx.add %a, %c : i32", 0xFFFFFE0F),
    "sub": Case(C.format(3, "i32") + "%a = ptx.shl %x, %c : i32\n%r = ptx.sub %a, %c : i32", 2, 5),
    "mul": Case(C.format(24, "i32") + "%r = ptx.mul.lo %x, %c : i32", 7),
    "mul of unknowns": Case(C.format(3, "i32") + "%a = ptx.shl %x, %c : i32\n%r = ptx.mul.lo %a, %y : i32", 7),
    "mad": Case(C.format(8, "i32") + "%r = ptx.mad.lo %x, %c, %c : i32", 7),
    "shl": Case(C.format(28, "i32") + "%r = ptx.shl %x, %c : i32", LOW28),
    "shl by more": Case(C.format(40, "i32") + "%r = ptx.shl %x, %c : i32", 0xFFFFFFFF),
    "shl by what is not known": Case("%r = ptx.shl %x, %y : i32", 0),
    "shr": Case(C.format(4, "i32") + "%r = ptx.shr unsigned %x, %c : i32", 0xF0000000),
    "shr of a sign": Case(C.format(4, "i32") + "%m = ptx.constant -16777216 : i32\n%a = ptx.or %x, %m : i32\n"
                          "%r = ptx.shr %a, %c : i32", 0, 0xFFF00000),
    "shr by more": Case(C.format(99, "i32") + "%r = ptx.shr unsigned %x, %c : i32", 0xFFFFFFFF),
    "div": Case(C.format(16, "i32") + "%r = ptx.div unsigned %x, %c : i32", 0xF0000000),
    "div signed": Case(C.format(16, "i32") + "%r = ptx.div %x, %c : i32", 0),
    "rem": Case(C.format(16, "i32") + "%r = ptx.rem unsigned %x, %c : i32", 0xFFFFFFF0),
    "rem of no power": Case(C.format(12, "i32") + "%r = ptx.rem unsigned %x, %c : i32", 0xFFFFFFF0),
    "select": Case(C.format(12, "i32") + "%d = ptx.constant 8 : i32\n%q = ptx.setp lt %x, %y : i32\n"
                   "%r = ptx.selp %q, %c, %d : i32", 0xFFFFFFF3, 8),
    "zero extension": Case("%r = ptx.cvt unsigned %x : i32 -> i64", 0xFFFFFFFF00000000, 0, "i64"),
    "sign extension": Case(C.format(-16, "i32") + "%a = ptx.or %x, %c : i32\n%r = ptx.cvt %a : i32 -> i64",
                           0, 0xFFFFFFFFFFFFFFF0, "i64"),
    "truncation": Case(C.format(0x700000000F, "i64") + "%a = ptx.and %w, %c : i64\n%r = ptx.cvt %a : i64 -> i32",
                       0xFFFFFFF0),
    "from a float": Case("%f = ptx.mov %x : i32 -> f32\n%r = ptx.cvt %f : f32 -> i32", 0),
    "mul.wide": Case(C.format(16, "i32") + "%r = ptx.mul.wide unsigned %x, %c : i32 -> i64",
                     0xFFFFFFF00000000F, 0, "i64"),
    "pack": Case(C.format(5, "i32") + "%r = ptx.pack %x, %c : i32 -> i64", 0xFFFFFFFA00000000, 5 << 32, "i64"),
    "unpack": Case(C.format(0xF0000000F, "i64") + "%a = ptx.and %w, %c : i64\n%l, %r = ptx.unpack %a : i64 -> i32",
                   0xFFFFFFF0),
    "unpack low": Case(C.format(7, "i64") + "%a = ptx.or %w, %c : i64\n%r, %h = ptx.unpack %a : i64 -> i32", 0, 7),
}  # fmt: skip

KERNEL = """
ptx.entry @k(x : u32, y : u32, w : u64, d : u64 ptr) target("sm_90") {{
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i32
  %w = ptx.ld.param @w : i64
  %p = ptx.ld.param @d : i64
  %g = ptx.cvta.to.global %p
  {body}
  ptx.st global %g, %r : i64, {type}
  ptx.ret
}}
"""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_known_bits(case: Case):
    text = KERNEL.format(body=case.body, type=case.type)
    module = parse_located(new_context(), text)
    module.verify()
    (stored,) = (op.data[0] for op in module.walk() if isinstance(op, ptx.StOp))
    found = known_bits(stored)
    assert (found.width, found.zeros, found.ones) == (int(case.type[1:]), case.zeros, case.ones)
    code = tirx.compile(module)
    rng = np.random.default_rng(7)
    for x, y, w in (*rng.integers(0, 1 << 32, (2, 3)), (0xFFFFFFFF,) * 3):
        out = np.zeros(1, np.uint64)
        run(code, "k", 1, 1, [int(x), int(y), int(w) << 32 | int(x), out])
        assert not int(out[0]) & found.zeros and int(out[0]) & found.ones == found.ones


def test_a_long_chain_is_not_followed_to_its_end():
    text = KERNEL.format(body="%0 = ptx.constant 0 : i32\n" + "\n".join(
        f"%{i + 1} = ptx.add %{i}, %0 : i32" for i in range(500)
    ) + "\n%r = ptx.add %500, %0 : i32", type="i32")  # fmt: skip
    (stored,) = (op.data[0] for op in parse_located(new_context(), text).walk() if isinstance(op, ptx.StOp))
    assert known_bits(stored) == Integers(32)


def test_what_is_used_twice_is_looked_at_once():
    value = ptx.ReadSpecialOp(ptx.SpecialRegister.TID_X).results[0]
    for _ in range(EVERYTHING - 1):
        value = ptx.AddOp(value, value).results[0]
    assert known_bits(value) == Integers(32)
    assert address_operand(value, EVERYTHING).column is None
