"""Long outputs of parts of tirx, for `test/outputs.txt`: a function without arguments for each."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from unit.printed_extraction import extraction
from unit.printed_layouts import copies, fragments, layouts
from unit.printed_operations import broken_operations, instructions
from unit.printed_rings import rings
from unit.printed_simulator import (
    instruction_words,
    matrix_places,
    operand_patterns,
    roundings,
    tensor_core_sums,
    tensor_places,
    tensor_products,
)
from unit.printed_synchronization import synchronization
from unit.printed_texts import flags_of_commands, predictions, presets_of_the_visualizer, rules_of_the_hardware
from unit.sim.hazards import HAZARDS, KERNELS
from unit.sim.instructions import CASES, edge_operands, module_of_all
from unit.sim.kernels import run_threads
from unit.sim.strict import run
from unit.sim.watched import register_states

from tirx import sim
from tirx.explain import (
    Explanation,
    explain_instruction_descriptor,
    explain_matrix_descriptor,
    explain_ptx,
    explain_tensor_map,
    explain_zero_column_mask,
)
from tirx.hw.errors import LegalityError
from tirx.sim import SimError, TensorMap, Trace
from tirx.smem.swizzle_modes import TCGEN05_OPERANDS, WGMMA_OPERANDS
from tirx.symbolic.integers import Integers
from tirx.viz.fragments import fragment_tables
from tirx.viz.presets import presets
from tirx.viz.words import word_tables

_UNIT = Path(__file__).parent


def _vectors(path: str, key: str) -> list[dict[str, Any]]:
    return json.loads((_UNIT / path).read_text())[key]


def _told(explain: Callable[..., Explanation], *arguments: Any, **named: Any) -> str:
    try:
        found = explain(*arguments, **named)
    except LegalityError as error:
        return f"refused: {error}"
    return f"{found.text()}\n{json.dumps(found.json())}"


def _flipped(words: list[int], count: int, bits: int) -> Iterator[int]:
    """Some of the words, most with one or two bits flipped."""
    rng = random.Random(5)
    for _ in range(count):
        word = rng.choice(words)
        for _ in range(rng.randrange(3)):
            word ^= 1 << rng.randrange(bits)
        yield word


def matrix_descriptors() -> str:
    """Explanations of descriptors of shared matrices, with and without what they do not say."""
    words = [int(each["desc"], 0) for each in _vectors("smem/data/smem_descriptors.json", "vectors")]
    lines = [_told(explain_matrix_descriptor, word) for word in _flipped(words, 12, 64)]
    lines += [_told(explain_matrix_descriptor, word, WGMMA_OPERANDS) for word in _flipped(words, 6, 64)]
    for family in (TCGEN05_OPERANDS, WGMMA_OPERANDS):
        for index, word in enumerate(_flipped(words, 12, 64)):
            word &= -1 if family is TCGEN05_OPERANDS else ~(7 << 46)
            major, dtype = ("K", "MN")[index % 2], ("f16", "f16", "tf32", "e4m3")[index % 4]
            shape = ((128, 16), (64, 16), (64, 8), (128, 32))[index % 4]
            lines.append(_told(explain_matrix_descriptor, word, family, major=major, dtype=dtype, shape=shape))
        for word in (0x4002406900030004, 0x0000400400800000, 0x4000004040010000):
            word &= -1 if family is TCGEN05_OPERANDS else ~(7 << 46)
            for first, count in ((0, 14), (4, 3), (16, 14), (32, 14), (46, 3), (49, 3), (52, 1), (61, 3)):
                lines.append(_told(explain_matrix_descriptor, _without(word, 64, first, count), family, shape=(64, 16)))
    return "\n".join(lines)


def _without(word: int, width: int, first: int, count: int = 1) -> Integers:
    """A word of which some bits are not known."""
    kept = (1 << width) - 1 & ~((1 << count) - 1 << first)
    return Integers(width, ~word & kept, word & kept)


def instruction_descriptors() -> str:
    """Explanations of instruction descriptors of each kind."""
    vectors = _vectors("tcgen05/data/instruction_descriptors.json", "accepted")
    lines: list[str] = []
    for kind in sorted({each["kind"] for each in vectors}):
        words = [int(each["idesc"], 0) for each in vectors if each["kind"] == kind]
        for index, word in enumerate(_flipped(words, 5, 32)):
            named = [{}, {"cta_group": 2}, {"ws": True}, {"target": "sm_103a"}][index % 4]
            lines.append(_told(explain_instruction_descriptor, word, kind, **named))
    for word in (0x08400010, 0x07400451):  # the second is of no legal shape, and its A of no type
        lines += [_told(explain_instruction_descriptor, _without(word, 32, bit), "f16") for bit in range(32)]
    return "\n".join(lines)


def masks() -> str:
    """Explanations of masks of zero columns."""
    words = [int(each["desc"], 0) for each in _vectors("tcgen05/data/zero_column_masks.json", "vectors")]
    sizes = [{}, {"m": 128, "n": 32}, {"m": 64, "n": 128}, {"m": 256, "n": 256}, {"m": 32}, {"n": 64}]
    return "\n".join(
        _told(explain_zero_column_mask, word, **sizes[index % 6])
        for index, word in enumerate([*_flipped(words, 12, 64), *(_without(words[0], 64, bit) for bit in (0, 20, 40))])
    )


def tensor_maps() -> str:
    """Explanations of tensor maps of every rank, and of such with flipped bits."""
    maps: list[dict[str, Any]] = json.loads((_UNIT / "copy/data/tensor_maps.json").read_text())
    words = [int.from_bytes(bytes.fromhex(each["bytes"].ljust(256, "0")), "little") for each in maps]
    flipped = _flipped(words, 40, 1024)
    return "\n".join(_told(explain_tensor_map, word.to_bytes(128, "little")) for word in (*words, *flipped))


def layouts_of_pages() -> str:
    """Tables that every page of `tirx-viz` offers."""
    return json.dumps([word_tables(), [tile.json() for tile in presets()], fragment_tables()], indent=1)


# Ways to compute the instruction descriptor 0x08400010, or one of which some bits are not known.
_COMPUTED = """
bfi.b32 %r5, 0x84, 0x10, 20, 12
bfi.b32 %r5, %r1, 0x08400010, 3, 2
bfi.b32 %r5, 0x1084, 0xf0000010, 20, 8
lop3.b32 %r5, 0x08000000, 0x00400000, 0x10, 0xFE
lop3.b32 %r5, %r1, 0x08400010, 0x18, 0xCA
lop3.b32 %r5, 0xF8400011, 0x0FFFFFFE, %r1, 0xC0
mul.lo.u32 %r5, 0x04200008, 2
mul.lo.u32 %r5, %r1, 16
mul.hi.u32 %r5, 0x84000100, 0x10000000
mad.lo.u32 %r5, 0x840, 0x10000, 0x10
shl.b32 %r5, 0x00840001, 4
shl.b32 %r5, %r1, 4
shr.u32 %r5, 0x84000100, 4
shr.s32 %r5, 0x84000100, 4
bfe.u32 %r5, 0x84000100, 4, 28
bfe.s32 %r5, 0x84000100, 4, 28
add.u32 %r5, 0x08000010, 0x00400000
sub.u32 %r5, 0x08400020, 0x10
or.b32 %r5, 0x08000010, 0x00400000
and.b32 %r5, 0xF8400010, 0x0FFFFFFF
xor.b32 %r5, 0x08400011, 1
and.b32 %r5, %r1, 0x18
not.b32 %r5, 0xF7BFFFEF
neg.s32 %r5, 0xF7BFFFF0
selp.b32 %r5, 0x08400010, 0x08400410, %p1
min.u32 %r5, 0x08400010, %r1
prmt.b32 %r5, 0x08400010, 0, 0x3210
mov.b32 %r5, 0x08400010
"""
_MMA = """.version 8.7\n.target sm_100a\n.address_size 64\n.shared .align 1024 .b8 tiles[65536];
.visible .entry k() {{ .reg .b64 %d<20>; .reg .b32 %r<80>; .reg .pred %p<4>;
mov.u32 %r1, %tid.x; mov.u32 %r2, tiles; shr.u32 %r2, %r2, 4; and.b32 %r3, %r2, 16383; {wide}
or.b64 %d2, %d1, 0x4000404000010000; {computed};
tcgen05.mma.cta_group::1.kind::f16 [%r9], %d2, %d2, %r5, %p1; ret; }}"""
_WIDE = (
    "cvt.u64.u32 %d1, %r3;",
    "mul.wide.u32 %d1, %r3, 1;",
    "mul.wide.u32 %d1, 8, 16;",
    "mov.b64 %d1, {%r3, %r1};",
    "mov.b64 %d1, {%r3, 0};",
    "cvt.u64.u32 %d1, %r3; shl.b64 %d1, %d1, 50; shr.u64 %d1, %d1, 50;",
    "bfe.u64 %d1, %d0, 0, 14;",
    "add.u32 %r3, %r3, 2; cvt.u64.u32 %d1, %r3;",
    "mad.wide.u32 %d1, %r1, 8, 64; and.b64 %d1, %d1, 0x3ff8;",
)


# Products of wgmma, whose descriptors are %d1 for A and %d2 for B.
_WGMMA = """
m64n16k16.f32.f16.f16 {D}, %d1, %d2, 1, 1, 1, 0, 0
m64n16k16.f32.f16.f16 {D}, %d1, %d2, 1, -1, 1, 0, 1
m64n16k16.f32.f16.f16 {D}, %d1, %d2, 1, 1, -1, 1, 0
m64n16k16.f32.bf16.bf16 {D}, {A}, %d2, 1, 1, 1, 1
m64n16k8.f32.tf32.tf32 {D}, %d1, %d2, 1, 1, 1
m64n16k32.f32.e4m3.e5m2 {D}, %d1, %d2, 1, 1, 1
m64n16k32.s32.s8.s8 {D}, %d1, %d2, 1
m64n16k32.s32.u8.s8.satfinite {D}, %d1, %d2, 1
m64n16k16.f16.f16.f16 {A}, %d1, %d2, 1, 1, 1, 0, 0
m64n16k16.f32.f16.f16 {D}, %d1, %d2, 1, 1, 1
"""
_WGMMA_KERNEL = """.version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {{
.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %p;
mov.b64 %d1, {first}; mov.b64 %d2, {second}; wgmma.mma_async.sync.aligned.{form}; ret; }}"""
_WGMMA_WORDS = (
    *("0x4000004000010000", "0x4000002000010000", "0x0000000800080010", "0x0000000000000000", "0xC000001000010000"),
)


def _wgmma_texts() -> Iterator[tuple[str, str]]:
    for number, form in enumerate(_WGMMA.strip().splitlines()):
        registers = {"D": "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}", "A": "{%r0, %r1, %r2, %r3}"}
        for name, text in registers.items():
            form = form.replace(f"{{{name}}}", text)
        for first, second in ((0, 0), (number % 5, (number + 1) % 5), (3, 2)):
            words = {"first": _WGMMA_WORDS[first], "second": _WGMMA_WORDS[second]}
            yield form, _WGMMA_KERNEL.format(form=form, **words)


def explained_ptx() -> str:
    """Explanations of kernels of Triton, and of descriptors that are computed in many ways."""
    texts = [(path.name, path.read_text()) for path in sorted((_UNIT / "sim" / "triton").glob("*.ptx"))]
    computed = _COMPUTED.strip().splitlines()
    texts += [(each, _MMA.format(wide=_WIDE[0], computed=each)) for each in computed]
    texts += [(each, _MMA.format(wide=each, computed=computed[0])) for each in _WIDE]
    return "\n".join(explain_ptx(text).text(name) for name, text in (*texts, *_wgmma_texts()))


def results() -> str:
    """Results of every second elementwise instruction that is exact, for edges of integers and numbers."""
    cases = [case for case in CASES if "approx" not in case[0] and "full" not in case[0]][::2]
    inputs = np.array([edge_operands(widths, 64) for _, widths in cases], np.uint64)
    found = np.zeros((len(cases), 64), np.uint64)
    run(module_of_all(cases, 64), "all", 1, 64, [inputs, found])
    lines = zip((name for name, _ in cases), found.tolist(), strict=True)
    return "\n".join(f"{name}: {' '.join(f'{word:x}' for word in words)}" for name, words in lines)


# Instructions that test_instructions.py has no table for: `$a` to `$c` are 32-bit registers, %f0 and %f1 floats of $a
# and $b, %p0 is true in odd threads; results are %o0 and, of predicates, %p8 and %p9.
_MORE = """
setp.lt.f16x2 %p8|%p9, $a, $b
setp.gt.ftz.f16x2 %p8|%p9, $a, $b
setp.ne.and.f16x2 %p8|%p9, $a, $b, %p0
setp.ge.or.bf16x2 %p8|%p9, $a, $b, %p0
setp.equ.xor.bf16x2 %p8|%p9, $a, $b, !%p0
setp.lt.and.s32 %p8|%p9, $a, $b, %p0
setp.hi.xor.u32 %p8|%p9, $a, $b, %p0
set.lt.f16x2.f16x2 %o0, $a, $b
set.ge.u32.f16x2 %o0, $a, $b
set.ne.or.bf16x2.bf16x2 %o0, $a, $b, %p0
set.eq.and.s32.bf16x2 %o0, $a, $b, %p0
set.lt.xor.u32.s32 %o0, $a, $b, %p0
set.gt.and.f32.u32 %o0, $a, $b, %p0
selp.b32 %o0, $a, $b, %p0
slct.u32.f32 %o0, $a, $b, %f0
slct.ftz.b32.f32 %o0, $a, $b, %f1
lop3.and.b32 %o0|%p8, $a, $b, $c, 0x3c, %p0
lop3.or.b32 %o0|%p8, $a, $b, $c, 0x81, !%p0
cvt.rs.f16x2.f32 %o0, %f0, %f1, $c
cvt.rs.relu.bf16x2.f32 %o0, %f0, %f1, $c
cvt.rs.satfinite.f16x2.f32 %o0, %f0, %f1, $c
cvt.rs.satfinite.e4m3x4.f32 %o0, {%f0, %f1, %f1, %f0}, $c
cvt.rs.relu.satfinite.e5m2x4.f32 %o0, {%f0, %f1, %f1, %f0}, $c
cvt.rs.satfinite.e3m2x4.f32 %o0, {%f0, %f1, %f1, %f0}, $c
fma.rn.oob.f16x2 %o0, $a, $b, $c
fma.rn.oob.relu.bf16x2 %o0, $a, $b, $c
add.u16x2 %o0, $a, $b
min.s16x2 %o0, $a, $b
max.relu.s16x2 %o0, $a, $b
dp2a.lo.s32.u32 %o0, $a, $b, $c
dp2a.hi.u32.s32 %o0, $a, $b, $c
prmt.b32.f4e %o0, $a, $b, $c
bfi.b32 %o0, $a, $b, 5, 9
szext.wrap.s32 %o0, $a, $b
bmsk.wrap.b32 %o0, $a, $b
mad24.hi.s32 %o0, $a, $b, $c
vadd.s32.u32.s32.sat %o0, $a.b1, $b.h1
vsub.u32.u32.u32.add %o0, $a, $b, $c
vabsdiff.s32.s32.s32.max %o0, $a, $b, $c
vset.u32.s32.lt %o0, $a, $b
vshl.u32.u32.u32.clamp %o0, $a, $b
vmad.s32.s32.u32.shr7 %o0, $a.b2, $b.b3, $c
vadd2.s32.s32.s32.sat %o0, $a, $b, $c
vavrg4.u32.u32.u32 %o0, $a, $b, $c
vset4.s32.u32.lt.add %o0, $a, $b, $c
vmin2.u32.u32.s32 %o0.h0, $a, $b, $c
"""
_WORDS = (
    0,
    1,
    0x3C003C00,
    0xBC00C000,
    0x7FFF7E00,
    0x80008001,
    0x3F803FC0,
    0xFFFFFFFF,
    0x7F800000,
    0x12345678,
    0x40490FDB,
)


def rare_results() -> str:
    """Results of instructions that few kernels use."""
    found: list[str] = []
    rows = np.array([(a, b, a * 0x9E3779B1 + b & 0xFFFFFFFF, 0) for a in _WORDS for b in _WORDS], np.uint32)
    start = "and.b32 %r0, %thread, 1; setp.eq.u32 %p0, %r0, 1; mov.b32 %f0, %a0; mov.b32 %f1, %a1;"
    for text in _MORE.strip().splitlines():
        body = text
        for name, register in zip("abc", ("%a0", "%a1", "%a2"), strict=True):
            body = body.replace(f"${name}", register)
        shown = "selp.b32 %o1, 1, 0, %p8; selp.b32 %o2, 1, 0, %p9;"
        clear = "mov.b32 %o0, 0; setp.ne.u32 %p8, 0, 0; setp.ne.u32 %p9, 0, 0;"
        try:
            result = run_threads(f"{start} {clear} {body}; {shown}", rows, 3)
        except SimError as error:
            found.append(f"{text}: {error}")
        else:
            found.append(f"{text}: {' '.join(f'{word:x}' for word in result.ravel().tolist())}")
    return "\n".join(found)


def _hazard_arguments() -> list[Any]:
    tiles = TensorMap(np.arange(128 * 32, dtype=np.float16).reshape(128, 32) % 7, box=(16, 128), swizzle="32B")
    return [np.zeros((128, 4), np.uint32), tiles]


def _without_addresses(text: str) -> str:
    """Global addresses depend on where numpy puts the arrays."""
    return re.sub(r"0x7[ef][0-9a-f]{10}\b", "ADDRESS", text)


def hazards() -> str:
    """The whole report of every third hazard, but of stores beside an array: what lies there is not always the same."""
    lines: list[str] = []
    for hazard in [each for each in HAZARDS if not each.name.startswith("global store ")][::3]:
        ctas = 2 if hazard.kernel == "cluster" else 1
        try:
            run(hazard.text(), "k", ctas, 128, _hazard_arguments(), cluster=ctas, max_instructions=100_000)
        except SimError as error:
            lines.append(f"{hazard.name}: {error}")
    return _without_addresses("\n".join(lines))


def traces() -> str:
    """Every instruction of kernels with all their values, and its place among those of other warps at random."""
    output = io.StringIO()
    for name, text in KERNELS.items():
        ctas = 2 if name == "cluster" else 1
        for seed in (None, 3):
            trace = Trace(output, values=seed is None)
            sim.run(text, "k", ctas, 128, _hazard_arguments(), cluster=ctas, seed=seed, observer=trace, check=False)
            trace.finish()
    return _without_addresses(output.getvalue())


PRINTED: dict[str, Callable[[], str]] = {
    f"said/{each.__name__.replace('_', '-')}": each
    for each in (
        matrix_descriptors,
        instruction_descriptors,
        masks,
        tensor_maps,
        layouts_of_pages,
        explained_ptx,
        results,
        rare_results,
        register_states,
        instruction_words,
        matrix_places,
        operand_patterns,
        tensor_places,
        roundings,
        tensor_core_sums,
        tensor_products,
        hazards,
        traces,
        layouts,
        copies,
        fragments,
        rings,
        synchronization,
        extraction,
        instructions,
        broken_operations,
        rules_of_the_hardware,
        flags_of_commands,
        predictions,
        presets_of_the_visualizer,
    )
}
