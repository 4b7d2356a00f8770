"""
Elementwise instructions, and a module with one kernel for each.

`CASES` are (instruction, widths of the operands): the destination first, 0 for a predicate. Kernel `k<i>` reads three
64-bit words for every thread, gives their low bits to case i as operands, and writes the result as a 64-bit word.

`GPU_CASES` are those that an H200 has executed: `data/gpu_results.xz` are its results for `edge_operands`, 256 words
for each case.
"""

from __future__ import annotations

Case = tuple[str, tuple[int, ...]]

# Instructions|types, of which each is appended to each instruction|operands: d destination and a, b, c sources, each of
# the type's width or of the width that follows (`p` is a predicate destination; `d` alone a conversion).
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
rcp.approx rcp.approx.ftz sqrt.approx rsqrt.approx ex2.approx ex2.approx.ftz|f32|da
lg2.approx sin.approx cos.approx tanh.approx|f32|da
div.approx div.full|f32|dab
rcp.approx.ftz rsqrt.approx.ftz|f64|da
ex2.approx tanh.approx|f16 f16x2|da
ex2.approx.ftz tanh.approx|bf16 bf16x2|da
"""
# What a GPU was asked (see `GPU_CASES`).
_GPU_TABLE = """
div rem|u16 s16 u32 s32 u64 s64|dab
shl|b16 b32 b64|dab32
shr|s16 s32 s64 u64|dab32
shf.l.clamp shf.r.clamp fns|b32|dabc
bfe|u32 s32 u64 s64|dab32c32
bfind.shiftamt|u32 s64|d32a
bmsk.clamp|b32|dab
szext.wrap szext.clamp|s32|dab
mad24.hi|s32|dabc
add.rn mul.rp sub.rm|f32 f64|dab
div.rn|f32 f64|dab
fma.rn fma.rz|f32 f64|dabc
add.sat mul.ftz|f32|dab
sqrt.rn rcp.rz|f32 f64|da
min max add|f16|dab
fma.rn|f16|dabc
min max add|bf16|dab
fma.rn|bf16|dabc
min max|f32 f64|dab
min.NaN max.xorsign.abs|f32|dab
neg abs|f32 f64 f16 bf16|da
fma.rn.relu fma.rn.sat|f16|dabc
fma.rn.relu|bf16|dabc
setp.ltu setp.ne setp.num|f32 f16|pab
slct.b32|f32|dabc
cvt.rni.s32 cvt.rzi.u32 cvt.rmi.s64 cvt.rpi.u64 cvt.rzi.s16|f32 f64 f16|d
cvt.rn.f32|f64 s64 u64|d
cvt.rn.f16 cvt.rn.bf16|f32|d
cvt.rm.f16|f64|d
cvt.sat.f32 cvt.rni.f32|f32|da
cvt.f32|f16 bf16|d
cvt.f64|f32|d
cvt.rna.tf32 cvt.rn.tf32|f32|da
cvt.rn.relu.f16x2 cvt.rz.bf16x2|f32|dab
cvt.rn.satfinite.e4m3x2 cvt.rn.satfinite.e5m2x2|f32|d16a32b32
cvt.rn.f16x2|e4m3x2 e5m2x2|d32a16
rcp.approx rsqrt.approx ex2.approx lg2.approx sin.approx tanh.approx sqrt.approx|f32|da
rcp.approx.ftz rsqrt.approx.ftz|f64|da
ex2.approx|f16|da
testp.normal|f32|pa
copysign|f64|dab
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


def _cases(table: str) -> list[Case]:
    cases: list[Case] = []
    for line in table.split("\n"):
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


CASES = _cases(_TABLE)
GPU_CASES = _cases(_GPU_TABLE)

# Operands of the GPU's results, by width: the edges of integers and of floating-point numbers.
EDGES = {
    16: (
        0, 1, 0xF, 0x10, 0x7fff, 0x8000, 0xffff, 0x3ff, 0x400, 0x3c00, 0xbc01, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0x7c01,
    ),
    32: (
        0, 1, 0x1f, 0x20, 0x21, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800001, 0x7f800000, 0x7fc00001,
        0x7f800001, 0x807fffff, 0x7f7fffff, 0x477ff000,
    ),
    64: (
        0, 1, 0x3f, 0x40, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x3ff0000000000000,
        0xbff8000000000001, 0x7ff0000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0x800fffffffffffff,
        0x7fefffffffffffff, 0x47efffffefffffff, 0x43e0000000000000,
    ),
}  # fmt: skip


def edge_operands(widths: tuple[int, ...], threads: int = 256) -> list[int]:
    """The words that the threads of a case of `GPU_CASES` read: three for each."""
    words: list[int] = []
    for thread in range(threads):
        for position, index in enumerate((thread, thread >> 4, 7 * thread + 3 + (thread >> 4))):
            width = widths[1 + position] if position + 1 < len(widths) else 64
            words.append(EDGES[width][index & 15])
    return words


_CLASSES = {16: "h", 32: "r", 64: "d"}


def _statements(case: Case) -> str:
    """The instruction, from the words %w0 to %w2 to the word %w3."""
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
    return "\n".join(lines)


def _entry(name: str, body: str) -> str:
    """A kernel whose threads have three words at %x0 and a place for a result at %x1."""
    return f""".visible .entry {name}(.param .u64 pi, .param .u64 po) {{
.reg .pred %p; .reg .b16 %h<10>; .reg .b32 %r<10>, %t<4>; .reg .b64 %d<10>, %w<4>, %x<2>;
mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x; mad.lo.u32 %t3, %t0, %t1, %t2;
ld.param.u64 %x0, [pi]; ld.param.u64 %x1, [po]; mad.wide.u32 %x0, %t3, 24, %x0; mad.wide.u32 %x1, %t3, 8, %x1;
{body}
ret; }}
"""


def _stored(case: Case, inputs: int, result: int) -> str:
    """A case with its words and its result so many bytes behind those of the thread."""
    loads = " ".join(f"ld.global.u64 %w{word}, [%x0+{inputs + 8 * word}];" for word in range(3))
    return f"{loads}\n{_statements(case)}\nst.global.u64 [%x1+{result}], %w3;\n"


_HEADER = ".version 8.4\n.target sm_90a\n.address_size 64\n"


def module(cases: list[Case]) -> str:
    """PTX with kernel `k<i>` for case i."""
    return _HEADER + "".join(_entry(f"k{index}", _stored(case, 0, 0)) for index, case in enumerate(cases))


def module_of_all(cases: list[Case], threads: int) -> str:
    """PTX with a kernel `all` that executes the cases one behind another, each on its words of so many threads."""
    bodies = [_stored(case, 24 * threads * index, 8 * threads * index) for index, case in enumerate(cases)]
    return _HEADER + _entry("all", "".join(bodies))
