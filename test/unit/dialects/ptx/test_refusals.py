"""Instructions that verifiers and parsers refuse, beyond the FileCheck tests, and their messages."""

from __future__ import annotations

from refusals import cases, refusal
from unit.cases import together

_ENTRY = """ptx.entry @k(a : u64, n : u32, x : f32, m : b8[128] align 64) target("sm_90a") {
  %l = ptx.ld.param @a : i64
  %i = ptx.ld.param @n : i32
  %f = ptx.ld.param @x : f32
  %p = ptx.constant true
  %j = ptx.constant 1 : i16
  %h = ptx.constant 1.0 : f16
  %b = ptx.constant 1.0 : bf16
  %d = ptx.constant 1.0 : f64
  %s
  ptx.ret
}
"""

_INSTRUCTIONS = """
%a0, %a1, %a2, %a3 = wgmma.mma_async "f16" "f16" n 8 a(%l : i64) b(%l) -> f32, f32, f32, f32
    expected 'n' with tiles only, found it with registers
%a0, %a1, %a2, %a3 = wgmma.mma_async "f16" "f16" a(%l : i64) b(%l) metadata(%l : i64) selector 0 -> f32, f32, f32, f32
    expected metadata in a register i32, found i64
%r = ptx.mixed.pair fma f16x2 %i, %l
    expected 2 pairs of f32 of fma, found 1
%r = ptx.shfl.sync bfly %i, %i mask 0 : i32
    expected a non-zero mask of 32 lanes, found 0x0
ptx.st.strong relaxed gpu %f, %i : f32, i32
    expected an address of i32 or i64, found f32
%r = ptx.atom add relaxed gpu %l, %i : i64, i32 -> i64
    expected registers of one type
%r = ptx.atom add relaxed gpu unsigned %l, %i : i64, i32 -> i32
    expected 'unsigned' on min and max, found it on add
ptx.printf "%d" %j : i16
    expected i32, i64 or f64, found i16
%r = ptx.mul.wide %i, %i : i32 -> i32
    ptx.mul.wide: expected i32 -> i64, found i32
%r = "ptx.mul.wide"(%i, %i) : (i32, i32) -> i32
    ptx.mul.wide: expected i32 -> i64, found i32
%r = ptx.setp lt unsigned %f, %f : f32
    ptx.setp: expected 'unsigned' on integers only, found f32
%r = ptx.setp eq %p, %p : i1
    ptx.setp: expected type to be one of i16, i32, i64, f16, bf16, f32, f64, found i1
%r = ptx.min nan %d, %d : f64
    ptx.min: expected 'nan' on f16, bf16 or f32, found f64
%r = ptx.cvt %b : bf16 -> f16
    expected bf16 to convert from f32 or an integer, or to f32, found bf16 -> f16
%r = ptx.cvt rm rp %i : i32 -> f32
    expected one of rm and rp, found both
%r = ptx.cvt rm %f : f32 -> f64
    expected rm and rp on a result of f32 or f64 that is rounded, found f32 -> f64
%r = ptx.cvt rp %i : i32 -> f16
    expected rm and rp on a result of f32 or f64 that is rounded, found i32 -> f16
%r = ptx.cvt %i : i32 -> i32
    expected two different integer or float types, found i32 -> i32
%r = ptx.pack %i, %i : i32 -> i32
    expected two 16-bit halves of i32 or two 32-bit halves of i64, found i32 and i32
%r = "ptx.constant"() <{value = 1 : i32}> : () -> i64
    expected a value of type i64, found i32
%r = ptx.shared_alloc @t bytes 0 align 16
    expected a positive number of bytes, found 0
%r = ptx.shared_alloc @t bytes 4 align 12
    expected alignment to be a power of two, found 12
%r = ptx.ld.param @m : i64
    expected a scalar parameter, found array 'm'
%r = ptx.ld.param @x : i32
    expected f32 for parameter 'x', found i32
%r = ptx.ld global %l : i64 -> i1
    expected integer or float registers, found i1: PTX loads and stores no predicates
%r, %q = ptx.ld global %l : i64 -> i32, f32
    expected registers of one type, found i32, f32
%r:4 = ptx.mma.m8n8k4.f16 row col a(%i : i32) b(%i, %i : i32, i32) c(%i, %i, %i, %i : i32, i32, i32, i32) -> i32, i32,
i32, i32
    expected a to be 2 registers i32, found 1
%r = ptx.pair fma f16x2 %i, %i
    expected 3 operands of fma, found 2
%r = ptx.cvt.from_pair f16x2 %j
    expected a format of elements of a byte, found f16x2
ptx.bar.sync 1 threads 33
    expected a positive multiple of 32 threads, found 33
ptx.bar.sync 1 threads 0
    expected a positive multiple of 32 threads, found 0
ptx.setmaxnreg inc 264
    expected a multiple of 8 registers from 24 to 256, found 264
ptx.red add %l, %f, %f, %f : f32, f32, f32
    expected number of registers to be one of 1, 2, 4, found 3
"ptx.red"(%l) <{operation = #ptx<red_operation add>, offset = 0}> : (i64) -> ()
    expected number of registers to be one of 1, 2, 4, found 0
ptx.red add unsigned %l, %f : f32
    expected 'unsigned' on integers only
ptx.red add %l, %f, %i : f32, i32
    expected registers of one type
ptx.red add %l, %p : i1
    expected registers of i32, i64, f16, bf16, f32 or f64, found i1
%r0, %r1 = ptx.ld global %l : i64 -> i32, i1
    expected integer or float registers, found i1: PTX loads and stores no predicates
%r0, %r1 = ptx.ld global %l : i64 -> i32, f32
    expected registers of one type, found i32, f32
ptx.st global %l, %i, %p : i64, i32, i1
    expected integer or float registers, found i1: PTX loads and stores no predicates
%r = ptx.inline "mov.b32 $0, 1; /* one */" () : () -> i32
    expected statements without comments
%r = ptx.inline "// $0" () : () -> i32
    expected statements without comments
ptx.inline " ; \\n" () : () -> ()
    expected statements without comments
%r = ptx.redux.sync min unsigned %f mask 1 : f32
    expected 'unsigned' on integers with add, min or max only
%r = ptx.redux.sync min unsigned %f : f32
    expected 'unsigned' on integers with add, min or max only
%r = ptx.redux.sync min abs %i : i32
    expected 'abs' and 'nan' on f32 only, found i32
%o = "test.op"() : () -> i7 %r = ptx.mov %o : i7 -> i7
    expected a register type (i1, i16, f16, bf16, i32, i64, f32, f64), found i7
%o = "test.op"() : () -> si32 %r = ptx.neg %o : si32
    expected a register type (i1, i16, f16, bf16, i32, i64, f32, f64), found si32
%o = "test.op"() : () -> i7 %r = ptx.neg %o : i7
    expected a register type (i1, i16, f16, bf16, i32, i64, f32, f64), found i7
%r = ptx.fma rm %h, %h, %h : f16
    ptx.fma: expected 'rm' on f32 or f64, found f16
ptx.st.strong acquire gpu %l, %i : i64, i32
    expected order of a store to be one of relaxed, release, found acquire
ptx.fabric.submit group fetching
    expected of 'group' and 'fetching' to be one of 0, found 1
ptx.multimem.cp.async.bulk reduce "add" "f16" %l, %i, %i mask %j
    expected masks of a reduction to be one of 0, found 1
ptx.multimem.cp.async.bulk reduce "add" "f17" %l, %i, %i
    expected type to be one of u32, s32, u64, f32, f64, f16, bf16, found f17
ptx.multimem.cp.async.bulk reduce "mul" "f16" %l, %i, %i
    expected operation to be one of add, min, max, inc, dec, and, or, xor, found mul
ptx.multimem.st async "f32" release sys %l, %f, %f : f32, f32
    expected number of registers of an asynchronous access to be one of 1, found 2
ptx.multimem.st async "f32" release cta %l, %f : f32
    expected scope of an asynchronous access to be one of gpu, sys, found cta
ptx.multimem.st async "f32" relaxed sys %l, %f : f32
    expected order of an asynchronous access to be one of release, found relaxed
ptx.fabric.try_put reduce "mul" "u32" %i[%l], %i, %i, %i
    expected operation to be one of add, min, max, and, or, xor, found mul
ptx.fabric.try_put reduce "add" "u33" %i[%l], %i, %i, %i
    expected type to be one of u32, u64, f32, found u33
ptx.fabric.try_put reduce "add" "u32" %i[%l], %i, %i, %i mask %j
    expected masks of a counted copy or a reduction to be one of 0, found 1
"""


@together(("text", "message"), cases(_INSTRUCTIONS))
def test_instructions(text: str, message: str):
    assert refusal(_ENTRY.replace("%s", text, 1)) == message
