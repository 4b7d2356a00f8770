"""
Elementwise instructions and a module with one kernel for each: what a GPU was asked, and what the simulator is.

`CASES` are (instruction, widths of the operands): the destination first, 0 for a predicate. Kernel `k<i>` reads three
64-bit words for every thread, gives their low bits to case i as operands, and writes the result as a 64-bit word.
"""

from __future__ import annotations

from random import Random

Case = tuple[str, tuple[int, ...]]

# Instructions; the types that `@` stands for; operands: d destination and a, b, c sources, each of the type's width or of
# the width that follows (`p` is a predicate destination).
_TABLE = """
add sub mul.lo mul.hi div rem min max|u16 s16 u32 s32 u64 s64|dab
mad.lo mad.hi sad|u16 s16 u32 s32 u64 s64|dabc
mul.wide|u16 s16|d32ab
mul.wide|u32 s32|d64ab
mad.wide|u16 s16|d32abc32
mad.wide|u32 s32|d64abc64
mul24.lo mul24.hi|u32 s32|dab
mad24.lo mad24.hi|u32 s32|dabc
add.sat sub.sat|s32|dab
mad.hi.sat|s32|dabc
neg abs|s16 s32 s64|da
and or xor|b16 b32 b64|dab
not cnot|b16 b32 b64|da
shl|b16 b32 b64|dab32
shr|u16 s16 u32 s32 u64 s64|dab32
shf.l.wrap shf.l.clamp shf.r.wrap shf.r.clamp|b32|dabc
bfe|u32 s32 u64 s64|dab32c32
popc clz|b32 b64|d32a
brev|b32 b64|da
bfind bfind.shiftamt|u32 s32 u64 s64|d32a
fns|b32|dabc
bmsk.wrap bmsk.clamp|b32|dab
szext.wrap szext.clamp|u32 s32|dab
dp4a.u32 dp4a.s32|u32 s32|dabc
dp2a.lo.u32 dp2a.hi.s32|u32 s32|dabc
prmt|b32 b32.f4e b32.b4e b32.rc8 b32.ecl b32.ecr b32.rc16|d32abc
add|u16x2 s16x2|d32a32b32
min max|u16x2 s16x2 s16x2.relu|d32a32b32
add.rn add.rz add.rm add.rp sub.rn sub.rz mul.rn mul.rz mul.rm mul.rp div.rn div.rz div.rm div.rp|f32 f64|dab
fma.rn fma.rz fma.rm fma.rp|f32 f64|dabc
add.ftz add.sat mul.ftz mul.ftz.sat div.rn.ftz|f32|dab
fma.rn.ftz fma.rn.sat|f32|dabc
rcp.rn rcp.rz rcp.rm rcp.rp sqrt.rn sqrt.rz sqrt.rm sqrt.rp|f32 f64|da
min max|f32 f64 f16 f16x2 bf16 bf16x2|dab
min.NaN max.NaN min.xorsign.abs max.NaN.xorsign.abs min.ftz|f32|dab
min.NaN max.NaN|f16x2 bf16x2|dab
neg abs|f32 f64 f16 f16x2 bf16 bf16x2|da
neg.ftz abs.ftz|f32|da
add sub mul add.sat|f16 f16x2|dab
add.rn sub.rn mul.rn|bf16 bf16x2|dab
fma.rn|f16 f16x2 bf16 bf16x2|dabc
fma.rn.ftz fma.rn.sat fma.rn.relu|f16 f16x2|dabc
fma.rn.relu|bf16 bf16x2|dabc
copysign|f32 f64|dab
testp.finite testp.infinite testp.number testp.notanumber testp.normal testp.subnormal|f32 f64|pa
setp.eq setp.ne setp.lt setp.ge setp.equ setp.neu setp.ltu setp.geu setp.num setp.nan|f32 f64 f16 bf16|pab
setp.lt.ftz|f32|pab
setp.eq setp.lt setp.le setp.gt|u16 s16 u32 s32 u64 s64|pab
setp.lo setp.hs|u16 u32 u64|pab
set.lt.u32 set.gtu.f32|f32|d32ab
set.lt.u32 set.eq.f32|s32|d32ab
slct.b32 slct.u32|s32 f32|dabc
slct.b64|s32 f32|d64a64b64c
cvt.s8 cvt.u8 cvt.sat.s8 cvt.sat.u8|s32 u32 s64 u16|d32a
cvt.s16 cvt.u16 cvt.sat.s16 cvt.sat.u16|s32 u32 s64 u64|d16a
cvt.s32 cvt.u32|s64 u64 s16 u16|d32a
cvt.sat.s32 cvt.sat.u32|s64 u64|d32a
cvt.sat.u32|s16|d32a
cvt.s64 cvt.u64|s32 u32 s16 u16|d64a
cvt.sat.s64|u64|d64a
cvt.sat.u64|s64 s32|d64a
cvt.rni.s32 cvt.rzi.s32 cvt.rmi.u32 cvt.rpi.u32|f32 f64 f16 bf16|d32a
cvt.rni.s64 cvt.rzi.u64 cvt.rmi.s64|f32 f64 f16|d64a
cvt.rzi.s16 cvt.rzi.u16 cvt.rni.s16|f32 f16|d16a
cvt.rzi.s8 cvt.rni.u8|f32|d32a
cvt.rni.ftz.s32|f32|d32a
cvt.rn.f32 cvt.rz.f32 cvt.rm.f32 cvt.rp.f32|s32 u32 s64 u64|d32a
cvt.rn.f64 cvt.rz.f64 cvt.rp.f64|s64 u64 s32|d64a
cvt.rn.f16 cvt.rz.f16|s32 u32 s64 u16|d16a
cvt.rn.bf16|s32 u32 s64 u64 s16|d16a
cvt.rn.f32 cvt.rz.f32 cvt.rm.f32 cvt.rp.f32 cvt.rn.ftz.f32|f64|d32a
cvt.rn.f16 cvt.rz.f16 cvt.rm.f16 cvt.rp.f16|f32 f64|d16a
cvt.rn.bf16 cvt.rz.bf16|f32|d16a
cvt.rn.sat.f16|f32|d16a
cvt.f32 cvt.f64|f16|d
cvt.f32|bf16|d32a
cvt.f64|f32|d64a
cvt.rni.f32 cvt.rzi.f32 cvt.rmi.f32 cvt.rpi.f32 cvt.sat.f32 cvt.ftz.f32|f32|da
cvt.rni.f64 cvt.rmi.f64|f64|da
cvt.rn.f16x2 cvt.rz.f16x2 cvt.rn.relu.f16x2 cvt.rn.bf16x2 cvt.rz.bf16x2 cvt.rn.relu.bf16x2|f32|dab
cvt.rna.tf32 cvt.rn.tf32 cvt.rz.tf32|f32|da
cvt.rn.satfinite.e4m3x2 cvt.rn.satfinite.e5m2x2 cvt.rn.satfinite.relu.e4m3x2|f32|d16a32b32
cvt.rn.satfinite.e4m3x2 cvt.rn.satfinite.e5m2x2|f16x2|d16a
cvt.rn.f16x2 cvt.rn.relu.f16x2|e4m3x2 e5m2x2|d32a16
cvt.pack.sat.s16 cvt.pack.sat.u16|s32|d32ab
cvt.pack.sat.s8 cvt.pack.sat.u8|s32.b32|d32a32b32c32
rcp.approx rcp.approx.ftz sqrt.approx rsqrt.approx ex2.approx ex2.approx.ftz lg2.approx sin.approx cos.approx tanh.approx|f32|da
div.approx div.full|f32|dab
rcp.approx.ftz rsqrt.approx.ftz|f64|da
ex2.approx tanh.approx|f16 f16x2|da
ex2.approx.ftz tanh.approx|bf16 bf16x2|da
"""
_SPECIAL_WIDTHS = {"f16x2": 32, "bf16x2": 32, "e4m3x2": 16, "e5m2x2": 16, "u16x2": 32, "s16x2": 32}


def _width(name: str) -> int:
    name = name.split(".")[0]
    return _SPECIAL_WIDTHS.get(name) or int(name.lstrip("bufs"))


def _operands(text: str, width: int) -> tuple[int, ...]:
    """`d32ab` to (32, width, width)."""
    found: list[int] = []
    index = 0
    while index < len(text):
        letter, index = text[index], index + 1
        digits = ""
        while index < len(text) and text[index].isdigit():
            digits, index = digits + text[index], index + 1
        found.append(0 if letter == "p" else int(digits or width))
    return tuple(found)


def _cases() -> list[Case]:
    cases: list[Case] = []
    for line in _TABLE.split("\n"):
        if not line:
            continue
        instructions, types, operands = line.split("|")
        for name in types.split():
            for instruction in instructions.split():
                text = operands
                if text == "d":  # a conversion that is named by both its types
                    text = f"d{_width(instruction.split('.')[-1])}a"
                cases.append((f"{instruction}.{name}", _operands(text, _width(name))))
    return cases


CASES = _cases()

# Words at the edges of what integers and floating-point numbers of each width can be.
_EDGES = {
    16: (
        0, 1, 15, 16, 17, 0x7FFF, 0x8000, 0xFFFF, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00,
        0x3F80, 0x7F7F, 0x7F80, 0xFF80, 0x0080, 0x007F, 0x4200, 0xC500, 0x5BFF, 0x0233, 0x8123,
    ),
    32: (
        0, 1, 2, 31, 32, 33, 64, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFE1, 0x00007FFF, 0xFFFF8000,
        0x3F800000, 0xBF800000, 0x3F800001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF812345, 0x00800000, 0x007FFFFF,
        0x80000003, 0x7F7FFFFF, 0x4B000001, 0x3F000000, 0x3FC00000, 0x40200000, 0x4F000000, 0xCF000000, 0x4F7FFFFF,
        0x5F000000, 0x477FE000, 0x477FF000, 0x33000000, 0x38800000, 0x43E00000, 0xC3E8FFFF, 0x1F123456, 0xA0345678,
    ),
    64: (
        0, 1, 63, 64, 65, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x3FF0000000000000,
        0xBFF0000000000000, 0x3FF0000000000001, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
        0x0010000000000000, 0x000FFFFFFFFFFFFF, 0x8000000000000001, 0x7FEFFFFFFFFFFFFF, 0x41DFFFFFFFE00000,
        0x43E0000000000000, 0x47EFFFFFF0000000, 0x36A0000000000000, 0x3810000000000000, 0x40EFFC0000000000,
        0x3FE0000000000000, 0x4004000000000000, 0x1E7123456789ABCD, 0x9F0FEDCBA9876543,
    ),
}  # fmt: skip
THREADS = 64


def _word(random: Random) -> int:
    kind = random.randrange(8)
    if kind == 0:
        return random.getrandbits(64)
    if kind == 1:
        return random.choice(_EDGES[64])
    if kind < 4:
        return random.choice(_EDGES[32]) << 32 | random.choice(_EDGES[32])
    if kind == 4:
        return sum(random.choice(_EDGES[16]) << 16 * index for index in range(4))
    if kind == 5:  # an f64 near 1
        return random.getrandbits(1) << 63 | random.randrange(1010, 1036) << 52 | random.getrandbits(52)
    if kind == 6:  # two f32 near 1
        halves = [random.getrandbits(1) << 31 | random.randrange(118, 136) << 23 | random.getrandbits(23) for _ in "ab"]
        return halves[0] << 32 | halves[1]
    # Four f16 near 1.
    return sum(
        (random.getrandbits(1) << 15 | random.randrange(10, 20) << 10 | random.getrandbits(10)) << 16 * i
        for i in range(4)
    )


def operands(index: int) -> list[int]:
    """The 64-bit words that the threads of case `index` read: three for each."""
    random = Random(index)
    return [_word(random) for _ in range(3 * THREADS)]


_CLASSES = {16: "h", 32: "r", 64: "d"}


def _kernel(index: int, case: Case) -> str:
    instruction, widths = case
    lines: list[str] = []
    names: list[str] = []
    for position, width in enumerate(widths[1:]):
        name = f"%{_CLASSES[width]}{position}"
        names.append(name)
        lines.append(f"cvt.u{width}.u64 {name}, %w{position};" if width < 64 else f"mov.b64 {name}, %w{position};")
    result = "%p" if widths[0] == 0 else f"%{_CLASSES[widths[0]]}9"
    lines.append(f"{instruction} {', '.join([result, *names])};")
    if widths[0] == 0:
        lines.append("selp.b64 %w3, 1, 0, %p;")
    else:
        lines.append(f"cvt.u64.u{widths[0]} %w3, {result};" if widths[0] < 64 else f"mov.b64 %w3, {result};")
    body = "\n".join(lines)
    return f""".visible .entry k{index}(.param .u64 pi, .param .u64 po) {{
.reg .pred %p; .reg .b16 %h<10>; .reg .b32 %r<10>, %t<4>; .reg .b64 %d<10>, %w<4>, %x<2>;
mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x; mad.lo.u32 %t3, %t0, %t1, %t2;
ld.param.u64 %x0, [pi]; ld.param.u64 %x1, [po]; mad.wide.u32 %x0, %t3, 24, %x0; mad.wide.u32 %x1, %t3, 8, %x1;
ld.global.u64 %w0, [%x0]; ld.global.u64 %w1, [%x0+8]; ld.global.u64 %w2, [%x0+16];
{body}
st.global.u64 [%x1], %w3; ret; }}
"""


def module(cases: list[Case]) -> str:
    """PTX with kernel `k<i>` for case i."""
    header = ".version 8.4\n.target sm_90a\n.address_size 64\n"
    return header + "".join(_kernel(index, case) for index, case in enumerate(cases))
