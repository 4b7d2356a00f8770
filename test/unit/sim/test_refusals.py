"""Refusals of the simulator, each message once: statements and modules, and below each the message, indented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import cases
from unit.cases import together
from unit.sim.kernels import frozen

from tirx.sim import SimError, TensorMap, run

_HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
_MODULE = ".global .align 128 .b8 g[4096]; .const .b32 c[4];"
_BODY = (
    ".reg .pred %p<4>; .reg .b8 %b<3>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<8>; .reg .b128 %q<4>; "
    ".reg .f32 %f<8>; .reg .f64 %x<4>; .shared .align 128 .b8 s[4096];"
)
_REGISTERS = {
    "$2": "{%r1, %r2}",
    "$3": "%r2, %r3, %r4",
    "$4": "{%r1, %r2, %r3, %r4}",
    "$8": "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}",
}
_STATEMENTS = """
cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1, %f2, %f3, %f4}, %r1;
    cvt.rs to .e2m1x4 is not simulated: which random bits are whose is not documented
ld.global.cg.cs.u32 %r1, [g];
    .cg and .cs cannot be combined: expected at most one of .ca, .cg, .cs, .lu, .cv, .wb, .wt, .L1::evict_normal,
    .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate, .volatile, .mmio
ld.global.nc.volatile.u32 %r1, [g];
    .nc and .volatile cannot be combined: expected at most one of .nc, .weak, .volatile, .relaxed, .acquire, .release
vadd.s32.u32.u32 %r1, %r2.b4, %r3;
    expected one of .b0 to .b3, .h0 and .h1, found .b4
vmad.s32.s32.s32.po %r1, -%r2, %r3, %r4;
    expected .po, a negative product or a negative c, found several of them
tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::fill [%r1], [%r2], %d2, %r3, %p1;
    .ashift cannot be combined with .collector::a::fill
tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r3, {%r1, %r2}, %p1;
    expected registers of lanes to disable, four for each CTA, and not with .ws or .block_scale
alloca.u64 %d1, 99999999, 16;
    alloca of 99999999 bytes: the stack of 4096 is full
mov.u64 %d1, 99999999; stackrestore.u64 %d1;
    stackrestore: expected a value of stacksave, of a stack that was smaller
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [s+4];
    expected addresses of rows that are multiples of 16, found 0x404
ld.global.v8.f64 {%x1, %x2, %x3, %x1, %x2, %x3, %x1, %x2}, [g];
    expected an access of at most 32 bytes to .global, found 64
ld.shared.v8.b32 $8, [s];
    expected an access of at most 16 bytes to .shared, found 32
mov.u32 %r1, 0x3000400; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
    shared address 0x3000400 is of CTA 3, but the cluster has 1 CTAs
mov.u32 %r1, 5; redux.sync.add.s32 %r2, %r1, 0;
    expected a member mask that has the executing lane in it, found 0x00000000
wgmma.wait_group.sync.aligned 9;
    expected a number of groups from 0 to 7, found 9
neg.s8x4 %r1, %r2;
    .s8x4 does not exist on sm_100a; supported on sm_107a, sm_107f, sm_120a, sm_120f, sm_121a, sm_121f
add.sat.u32 %r1, %r2, %r3;
    .sat.u32 does not exist on sm_100a; supported on sm_107a, sm_107f, sm_120a, sm_120f, sm_121a, sm_121f
sub.sat.u32 %r1, %r2, %r3;
    expected .s32 with .sat, found .u32
mul.e4m3x2.e4m3x4.e4m3x4 %r1, %r2, %r3;
    expected mul to .e4m3x4 or .e5m2x4 from two types of four elements, found .e4m3x2
.local .align 8 .b8 l[16]; mov.u64 %d1, 15; stackrestore.u64 %d1;
    stackrestore: expected a value of stacksave, of a stack that was smaller
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g], [s+64], 128;
    expected addresses that are multiples of 128, found 0x7f0000000000 and 0x440
@%p1 .reg;
    expected an instruction, found '.reg'
setp %p1, %r1, %r2;
    expected a comparison
cp.async.cg.shared.global [s], [g], 8;
    expected a size of 16 bytes, found 8
mov.u32 %r1, 2; cp.async.ca.shared.global [s], [g+4096], 4, %r1;
    out-of-bounds global cp.async of 2 bytes at 0x7f0000001000
ld.global.u32 %r1, [!%p1];
    expected a register or a variable as the base of an address
ld.shared.u32 %r1, [s+65536];
    out-of-bounds shared load of 4 bytes at 0x10400: variables are in [0x400, 0x1400)
cvta.const.u64 %d1, c; st.u32 [%d1], 5;
    expected a state space that can be written, found .const
ldmatrix.sync.aligned.m8n8.x3.shared.b16 $2, [s];
    expected one of .x1, .x2, .x4, found .x3.shared.b16
ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8 $2, [s];
    expected .m8n16 without .trans
ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%r1}, [s];
    expected .b8x16 and one of .b6x16_p32, .b4x16_p64 with .m8n16
mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, $4, $2, {%f1,%f2,%f3,%f4};
    expected .row.col for .m16n8k16, found .col.col
mov.u32 %r2, -1; mov.u32 %r4, 0; mov.b32 %f1, 0; mov.b32 %f2, 0;
mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%f1,%f2,%f1,%f2},
{%r4,%r4,%r4,%r4}, {%r4,%r4}, {%f1,%f2,%f1,%f2}, %r2, {0, 0}, %r2, {0, 0};
    a ue4m3 factor of A has no sign, but bit 7 is set
wmma.load.a.sync.aligned.col.m8n8k32.shared.s4 {%r1}, [s], 32;
    expected .row for .s4
tcgen05.cp.cta_group::1.64x128b [%r1], %d1;
    there is no tcgen05.cp of .64x128b with no multicast
tcgen05.mma.ws.cta_group::2.kind::f16 [%r1], %d1, %d2, %r2, %p1;
    there is no tcgen05.mma.ws of cta_group::2
tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1, 3, 4;
    expected enable-input-d as the last operand but one, or the last
add.u32 %r1;
    expected 3 operands, found 1
add %r1, %r2, %r3;
    expected a type at the end of the modifiers, found none
add.pred %p1, %p2, %p3;
    expected a type of .u16, .u32, .u64, .s16, .s32, .s64, found .pred
add.u32 %r1, !%p1, 5;
    expected a value, found a negated predicate
add.u32 %r1, %r2+4, 5;
    expected a register, found %r2 with an offset
mov.pred %p1, %tid.x;
    expected .u32, found .pred for %tid.x
mov.b16 %h1, s;
    expected an integer type of 32 or 64 bits for the address of s
mov.u32 %r1, 0d3ff0000000000000;
    expected a literal of .u32, found one of f64
mov.u32 %r1, 1.5;
    expected an integer literal for .u32, found 1.5
mov.b64 {%r1, %r2, %r3}, %d1;
    expected 64 bits as 2, 4 or 8 elements of 8 to 64 bits, found 3 elements
ld.global.u32 5, [%d1];
    expected a destination register
ld.global.u32 %r1, %d1;
    expected an address in brackets
ld.global.u32 %r1, [%h1];
    expected an address register of 32 or 64 bits, found %h1
ld.global.v2.u32 %r1, [g];
    expected a vector of 2 elements in braces for operand 1
ld.shared.u32 %r1, [g];
    expected a variable in .shared, found one in .global
mapa.u64 %d1, [%d1], 0;
    expected a register or a variable without brackets
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d1, $3}, %d1, %d2, 1, 1, 1, 0, 0;
    expected a register of 32 bits
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 $4, {%d1, $3}, %d2, 1, 1, 1, 0;
    expected a register of 32 bits
cvt.rni.f32.s32 %f1, %r1;
    expected .rn, .rz, .rm or .rp to .f32, found rni
cvt.rni.f16.f32 %h1, 0f3f800000;
    expected the same types with .rni, found .f32 and .f16
cvt.rn.s32.f32 %r1, %f1;
    expected .rni, .rzi, .rmi or .rpi to .s32, found rn
cvt.rni.s32.s16 %r1, %h1;
    expected no rounding between integers, found .rni
cvt.rn.f64.f32 %x1, %f1;
    expected no rounding from .f32 to .f64, found .rn
cvt.f32.f64 %f1, %x1;
    expected a rounding mode from .f64 to .f32
cvt.rn.relu.f32.f64 %f1, %x1;
    expected a conversion to .f16 or .bf16 with .relu
cvt.rn.e4m3x2.s32 %h1, %r1, %r2;
    unknown conversion from .s32 to .e4m3x2
cvt.rn.f32.e4m3x2 %f1, %h1;
    unknown conversion from .e4m3x2 to .f32
cvt.rn.satfinite.scaled::n2::ue8m0.e4m3x2.f32 %h1, %f1, %f2;
    unknown modifier .scaled::n2::ue8m0 of a conversion to .e4m3x2
cvt.rna.f16.f32 %h1, %f1;
    unknown modifier .rna of 'cvt'
cvt.pack.sat.u8.s32 %r1, %r2, %r3;
    expected a third operand (.b32) for types of less than 16 bits
cvt.pack.sat.u32.s32 %r1, %r2, %r3;
    expected .pack.sat.T.s32 with T of u16, s16, u8, s8, u4, s4, u2, s2
cvt.rs.f16x2.f64 %r1, %f1, %f2, %r3;
    expected a conversion from .f32 with .rs
cvt.rs.f32.f32 %r1, %f1, %f2, %r3;
    expected a result of type f16x2, bf16x2, e4m3x4, e5m2x4, e2m3x4, e3m2x4 with .rs, found .f32
cvta.to.global.u32 %r1, %r2;
    expected .u64: generic addresses have 64 bits
cvta.shared.u64 %d1, g;
    expected a variable in .shared, found g in .global
mov.u64 %d1, 5; cvta.to.shared.u64 %d2, %d1;
    expected generic addresses of .shared, found 0x5
add.ftz.f32.f16 %f1, %h1, %f2;
    expected neither .ftz nor .relu with operands of two types
div.approx.f64 %x1, %x2, %x3;
    expected .f32 with .approx
min.abs.f32 %f1, %f2, %f3;
    expected .xorsign.abs
fma.rn.s32 %r1, %r2, %r3, %r4;
    expected a floating-point type of 'fma', found .s32
add.rz.f16 %h1, %h2, %h3;
    expected .rn for .f16, found .rz
sub.sat.u32 %r1, %r2, %r3;
    expected .s32 with .sat, found .u32
dp4a.f32.s32 %r1, %r2, %r3, %r4;
    expected the types of a and b, each .u32 or .s32
min.relu.u32 %r1, %r2, %r3;
    expected .s16x2 or .s32 with .relu
max.relu.u16x2 %r1, %r2, %r3;
    expected .s16x2 or .s32 with .relu
mad24.lo.sat.s32 %r1, %r2, %r3, %r4;
    expected mad24.hi.sat.s32: .sat goes with no other mad24
mad.lo.sat.s32 %r1, %r2, %r3, %r4;
    expected mad.hi.sat.s32: .sat goes with no other integer mad
mul.lo.cc.u32 %r1, %r2, %r3;
    unknown modifier .cc of 'mul'
mul.hi.sat.s32 %r1, %r2, %r3;
    unknown modifier .sat of 'mul'
mul24.hi.sat.s32 %r1, %r2, %r3;
    unknown modifier .sat of 'mul24'
mad.hi.cc.sat.s32 %r1, %r2, %r3, %r4;
    unknown modifier .sat of 'mad'
mad.wide.cc.u32 %d1, %r2, %r3, %d2;
    expected one of .lo, .hi, found .wide.cc.u32
mad.lo.cc.u16 %h1, %h2, %h3, %h4;
    expected a type of .u32, .s32, .u64, .s64, found .u16
selp.b8 %b1, %b2, %b2, %p1;
    expected a type of 16 to 128 bits, found .b8
set.lt.f32.f16x2 %r1, %r2, %r3;
    expected .f16x2, .u32 or .s32 as the type of the result, found .f32
set.u32.u32 %r1, %r2, %r3;
    expected a type at the end of the modifiers, found none
lop3.or.b32 %r1, %r2, %r3, %r4, 5, %p1;
    expected two destinations d|p
lop3.b32 %r1, %r2, %r3, %r4, 256;
    expected a look-up table from 0 to 255, found 256
redux.sync.min.abs.s32 %r1, %r2, -1;
    expected .f32 with .abs or .NaN
elect.sync %p1, -1;
    expected two destinations d|p
vadd2.s32.s32.s32.sat %r1.h2, %r2, %r3, %r4;
    expected parts of the destination in descending order, found .h2
vadd2.s32.s32.s32.sat %r1, %r2.h14, %r3, %r4;
    expected 2 parts of a and b, found .h14
vadd.s32.u32.u32.add %r1.h0, %r2, %r3, %r4;
    expected a whole register as the destination with .add
nosuch.b32 %r1;
    unknown instruction 'nosuch'
call 5;
    expected call (results), function, (arguments)
alloca.u64 %d1, 16, 32;
    expected an alignment of 1 to 16 bytes that is a power of two, found 32
bar.arrive 1;
    expected a thread count
barrier.sync 1, 33;
    expected a thread count that is a positive multiple of 32, found 33
bar.arrive 1, 64; bar.arrive 1, 32;
    barrier 1: thread count 32 differs from 64 of those already there
setp.eq.u32 %p1, %laneid, 0; @%p1 bar.warp.sync 2;
    bar.warp.sync by a lane that is not in its member mask 0x00000002
setp.eq.u32 %p1, %laneid, 0; @%p1 barrier.cluster.arrive.aligned;
    barrier.cluster.arrive is .aligned: expected all threads of the warp, found warp 0 (thread 0), CTA (0, 0, 0)
mov.u32 %r1, %tid.x; bar.sync %r1;
    expected the barrier to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; bar.sync 1, %r1;
    expected the thread count to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; bar.warp.sync %r1;
    expected the member mask to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];
    expected the tensor memory address to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], %r1;
    expected the number of columns to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, %r1;
    expected the number of columns to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [s], 128;
    expected the target to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g], [%r1], 128;
    expected the source to be the same in all lanes, found 0 and 1
mov.u32 %r1, %tid.x; cvt.u16.u32 %h1, %r1; mov.u32 %r2, 0; mov.b32 %f1, 0;
mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 {%f1,%f1,%f1,%f1},
{%r2,%r2,%r2,%r2}, {%r2,%r2}, {%f1,%f1,%f1,%f1}, %r2, {%h1, 0}, %r2, {0, 0};
    expected an id of the factors of A to be the same in all lanes, found 0 and 1
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 $4, %d1, %d2, 1, 1, 1, 0, 0;
    wgmma .m64n8k16.f32.f16.bf16 does not exist or is not simulated
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16 $4, %d1, %d2, 1, 1, 1, 0, 0;
    expected the types of D, A and B
wgmma.mma_async.sync.aligned.f32.f16.f16 $4, %d1, %d2, 1, 1, 1, 0, 0;
    expected a shape .m64nNkK
wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1 $4, %d1, %d2, 1;
    expected .and.popc with .b1, and only with it
wgmma.mma_async.sync.aligned.m64n8k16.satfinite.f32.f16.f16 $4, %d1, %d2, 1, 1, 1, 0, 0;
    expected .satfinite with integers only
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 $4, %d1, %d2, 1, 1, 1, 2, 0;
    expected 0 (K-major) or 1 (MN-major), found 2
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 $4, %d1, $4, 1, 1, 1, 0, 0;
    expected a register, a literal or a variable
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, 1, 1, 1, 0, 0;
    wgmma needs warpgroups of 128 threads; the last of the block is smaller
wgmma.wait_group.sync.aligned 8;
    expected a number of groups from 0 to 7, found 8
wgmma.wait_group.sync.aligned -1;
    expected a number of groups from 0 to 7, found -1
mma.sync.aligned.m16n8k16.row.row.row.f32.f16.f16.f32 $4, $4, $2, $4;
    expected the layouts of A and B, each .row or .col
mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 $4, $4, $2, $4;
    expected .satfinite with integers only
mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32 $4, $2, {%r1}, $4;
    expected .and.popc or .xor.popc with .b1, and only with it
mma.sp.sync.aligned.kind::f8f6f4.m16n8k64.row.col.f32.e4m3.e4m3.f32 $4, $4, $4, $4, %r5, 0;
    expected .sp::ordered_metadata with .kind
mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue4m3 $4, $4, $2, $4, 1,
{0, 0}, 1, {0, 0};
    expected scale factors of type ue8m0
mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::2X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 $4, $4, $2, $4, 1,
{0, 0}, 1, {0, 0};
    expected .scale_vec::1X with .kind::mxf8f6f4
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16 $8, $8, $8, $8;
    expected types of D, A, B and C with A and B of f16, bf16, s8, u8, D and C of f16, f32, s32
wmma.mma.sync.aligned.row.col.m16n16k16.f32.foo $8, $8, $8, $8;
    expected types of D, A, B and C with A and B of f16, bf16, s8, u8, D and C of f16, f32, s32
wmma.load.c.sync.aligned.row.m8n8k4.shared.f32 {%f1}, [s], 8;
    expected one of .f64, found .f32
tcgen05.foo.b32 %r1;
    unknown instruction 'tcgen05.foo'
tcgen05.ld.sync.aligned.16x256b.x64.b32 $4, [%r2];
    expected at most 128 registers, found 256
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 48;
    expected a power of two from 32 to 512 columns, found 48
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 64;
    tcgen05.alloc of 64 columns after one of 32: sizes must not increase
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
[s], 32;
    tcgen05.alloc after tcgen05.relinquish_alloc_permit
mov.u32 %r1, 511; tcgen05.ld.sync.aligned.32x32b.x2.b32 $2, [%r1];
    tcgen05.ld: lanes 0-31, columns 511-512 are not in tensor memory (128 lanes, 512 columns)
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32; mov.u32 %r9, 479;
tcgen05.ld.sync.aligned.32x32b.x2.b32 $2, [%r9];
    tcgen05.ld: columns 479-480 are of several allocations
red.async.relaxed.global.add.u32 [%d1], 1;
    expected .mbarrier::complete_tx::bytes, or .release and .add, with red.async
st.bulk.weak.shared::cta [s], 16, 1;
    expected 0 as the initial value, found 1
cp.async.bulk.global.global.bulk_group [%d1], [%d2], 16;
    expected a copy between .global and .shared, found from .global to .global
cp.async.bulk.global.shared::cta.bulk_group [g], [s+4096], 16;
    out-of-bounds shared cp.async.bulk of 1 bytes at 0x1400: variables are in [0x400, 0x1400)
cp.async.bulk.global.shared::cta.bulk_group [g], [s], 15;
    cp.async.bulk: expected a size that is a multiple of 16, found 0xf
cp.async.bulk.global.shared::cta.bulk_group [g], [s], 0;
    cp.async.bulk: expected a size of 16 bytes or more, found 0
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [s], 0;
    cp.reduce.async.bulk: expected a size of 16 bytes or more, found 0
cp.async.bulk.global.shared::cta.bulk_group [g+8], [s], 16;
    cp.async.bulk: expected an address that is a multiple of 16, found 0x7f0000000008
cp.async.bulk.global.shared::cta.bulk_group [g], [s+8], 16;
    cp.async.bulk: expected an address that is a multiple of 16, found 0x408
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g+8], [s], 16;
    cp.reduce.async.bulk: expected an address that is a multiple of 16, found 0x7f0000000008
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [s+8], 16;
    cp.reduce.async.bulk: expected an address that is a multiple of 16, found 0x408
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [s], 8;
    cp.reduce.async.bulk: expected a size that is a multiple of 16, found 0x8
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+8], [g], 16, [s];
    cp.async.bulk: expected an address that is a multiple of 16, found 0x408
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g+8], 16, [s];
    cp.async.bulk: expected an address that is a multiple of 16, found 0x7f0000000008
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 24, [s];
    cp.async.bulk: expected a size that is a multiple of 16, found 0x18
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [g], [s], 16;
    expected .noftz with .add of .f16 and .bf16, and only with it
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], %d1, [s];
    expected [tensor map, {coordinates}]
cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [%d1, {0, 0}], [s], {1};
    expected .3d, .4d or .5d with .im2col, found .2d
cp.async.bulk.tensor.3d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [s], [%d1, {0, 0, 0, 0, 0}],
[s];
    expected .2d with .tile::gather4, found .3d
cp.async.bulk.tensor.2d.shared::cluster.shared::cta.tile.mbarrier::complete_tx::bytes [s], [%d1, {0, 0}], [s];
    expected a copy between .global and .shared, found shared::cluster shared::cta
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [5, {0, 0}], [s];
    expected the generic address of a tensor map, found 0x5
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [g+8, {0, 0}], [s];
    expected an address of a tensor map that is a multiple of 64, found 0x7f0000000008
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [s], %r1;
    expected a literal for .elemtype
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 9, 5;
    expected an index from 0 to 4 of .box_dim, found 9
tensormap.replace.tile.box_dim.global.b1024.b32 [g], 0, 99999;
    expected a value of .box_dim up to 65535, found 99999
tensormap.replace.tile.rank.shared::cta.b1024.b32 [s+4], 1;
    expected an address of a tensor map that is a multiple of 64, found 0x404
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g], [s], 64;
    expected a size of 128, found 64
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g+8], [s], 128;
    expected addresses that are multiples of 128, found 0x7f0000000008 and 0x400
fence.proxy.tensormap::generic.acquire.gpu [g], 64;
    expected a size of 128, found 64
fence.proxy.tensormap::generic.acquire.gpu [5], 128;
    expected the address of a tensor map in global memory, found 0x5
clusterlaunchcontrol.query_cancel.get_first_ctaid.b32.b128 %r1, %q1;
    expected .v4 or one of .::x, .::y and .::z with .get_first_ctaid
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s+4], [s];
    expected an address that is a multiple of 16, found 0x404
mbarrier.try_wait.parity.shared::cta.b64 %p1, [s], 2;
    expected parity 0 or 1, found 2
mov.u64 %d1, 5; mbarrier.init.b64 [%d1], 1;
    expected a generic address of shared memory, found 0x5
elect.sync _|%p1, -1; @!%p1 exit; mbarrier.init.shared::cta.b64 [s], 1; mbarrier.arrive.noComplete.shared::cta.b64
%d1, [s], 1;
    mbarrier.arrive.noComplete of 1 completes the phase: 0 phases completed, 1 of 1 arrivals and 0 bytes pending
elect.sync _|%p1, -1; @!%p1 exit; mbarrier.init.shared::cta.b64 [s], 1; mbarrier.expect_tx.relaxed.cta.shared::cta.b64
[s], 9999999;
    mbarrier: transaction count 9999999 is not within +-(2^20 - 1)
ld.param.u32 %r1, [1];
    misaligned parameter load: 0x1 is not a multiple of 4 bytes
st.const.u32 [c], 5;
    expected a state space that can be written, found .const
atom.add.u32 %r1, [c], 1;
    expected global or shared memory for an atomic access, found .const
ld.global.u32 %r1, [-4];
    out-of-bounds global load of 4 bytes at offset 18446604435732824060 of variable g, which has 4096 bytes
mov.u64 %d1, -1; ld.global.u8 %r1, [%d1];
    out-of-bounds global load of 1 bytes at offset 18446604435732824063 of variable g, which has 4096 bytes
"""
_MODULES = """
.global .foo .b32 g; .entry k() { ret; }
    expected a type or .align, found '.foo'
.address_size; .entry k() { ret; }
    expected an integer, found ';'
.global .b32 x[y]; .entry k() { ret; }
    expected an array bound, found 'y'
.section .debug { .b8 1
    expected '}', found 'end of file'
.pragma "x"
    expected ';', found 'end of file'
.global .attribute(.managed .b32 x; .entry k() { ret; }
    expected ')', found 'end of file'
.global .align 4 x; .entry k() { ret; }
    expected a type, found 'x'
.global .b32 x[2] = {1, 2, 3}; .entry k() { ret; }
    x has more initialisers than elements
.global .b32 x = 1.5; .entry k() { ret; }
    floating-point initialiser for x, which is .b32
.global .u64 x = nobody; .entry k() { ret; }
    expected a variable of this module, found 'nobody'
.global .b32 x; .global .b32 x; .entry k() { ret; }
    x is declared twice, first on line 4
.func f() .foo { ret; } .entry k() { ret; }
    expected '{' or a directive of a function, found '.foo'
.func f(.reg .b32 x) { ret; } .entry k() { ret; }
    expected .param, found .reg: register parameters of functions
.func f(.global .b32 x) { ret; } .entry k() { ret; }
    expected '.param', found '.global'
.func f(.param .b32 x, .param .b32 x) { ret; } .entry k() { ret; }
    x is declared twice
.entry k() { .reg .b32 %r<3>; .reg .b32 %r<5>; ret; }
    registers %r<...> are declared twice
.entry k() { .shared .b32 s; .shared .b32 s; ret; }
    s is declared twice
.entry k() { .reg .b32 %r<1.5>; ret; }
    expected an integer, found '>'
.entry k() { .reg .b32 %r; mov.u32 %r, 0; brx.idx %r; ret; }
    expected an index and the label of .branchtargets
.entry k() { .reg .b32 %r; mov.u32 %r, 0; T: .branchtargets A, B; brx.idx %r, T; A: ret; }
    expected labels of this function in .branchtargets
.entry k() .reqnctapercluster 17 { ret; }
    expected at most 16 CTAs in a cluster, found 17
.func f(); .entry k() { call f; ret; }
    function f has no definition; known without one are __assertfail, vprintf
.func f(.param .b32 a) { ret; } .entry k() { .param .b64 p; call f, (p); ret; }
    expected a parameter of 4 bytes for a, found p
.func f(.param .b32 a) { ret; } .entry k() { .reg .b64 %d; call f, (%d); ret; }
    expected a register of 32 bits (.b32), found %d (.b64)
.func (.param .b32 r) f() { ret; } .entry k() { .reg .b64 %d; call (%d), f, (); ret; }
    expected a register of 32 bits (.b32), found %d (.b64)
.func f(.param .b8 a[4]) { ret; } .entry k() { call f, (5); ret; }
    expected a .param variable for a
.func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b); .entry k() { .reg .b32 %r; .reg .b64 %d; call (%r),
vprintf, (%d, %d); ret; }
    expected .param variables as arguments and results
.func vprintf (.param .b64 a, .param .b64 b); .entry k() { .param .b64 a; .param .b64 b; call vprintf, (a, b); ret; }
    expected vprintf with two arguments and one result
.func __assertfail (.param .b64 a); .entry k() { .param .b64 a; call __assertfail, (a); ret; }
    expected __assertfail with five arguments
"""


@together(("statement", "message"), cases(_STATEMENTS))
def test_statements(statement: str, message: str):
    for short, registers in _REGISTERS.items():
        statement = statement.replace(short, registers)
    with pytest.raises(SimError) as found:
        run(f"{_HEADER}{_MODULE}\n.visible .entry k() {{ {_BODY}\n{statement}\nret; }}", "k", 1, 32, [])
    assert found.value.message.partition("\n")[0] == message


@together(("module", "message"), cases(_MODULES))
def test_modules(module: str, message: str):
    with pytest.raises(SimError) as found:
        run(_HEADER + module, "k", 1, 32, [])
    assert found.value.message == message


def test_blocks_side_by_side():
    with pytest.raises(SimError, match="expected a thread count that is a pos"):
        run(f"{_HEADER}.visible .entry k() {{ bar.sync 1, 33; ret; }}", "k", 2, 32, [])


def test_many_groups_of_copies():
    text = (
        "mov.u32 %r1, 0; L: cp.async.ca.shared.global [s], [g], 4; cp.async.commit_group; add.u32 %r1, %r1, 1; "
        "setp.lt.u32 %p1, %r1, 100; @%p1 bra L; cp.async.wait_group 63;"
    )
    with pytest.raises(SimError, match="expected at most 62 groups of copies that may be pending, found 63"):
        run(f"{_HEADER}{_MODULE}.visible .entry k() {{ {_BODY} {text} ret; }}", "k", 1, 1, [], check=False)


def test_registers_of_asynchronous_products_that_nobody_wrote():
    text = (
        "mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.b32 %f4, 0; mov.u64 %d2, 0x10000; "
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, "
        "{%r1,%r2,%r3,%r4}, %d2, 0, 1, 1, 0;"
    )
    with pytest.raises(SimError, match="register %r1 is read but was never written"):
        run(f"{_HEADER.replace('sm_100a', 'sm_90a')}.visible .entry k() {{ {_BODY} {text} ret; }}", "k", 1, 128, [])


_SCALED = "{}.block_scale.block32 [%r1], %d1, %d2, {}%r2, [%r3], [%r4], %p1"


@together(
    ("target", "form", "missing"),
    [
        ("sm_103a", "kind::i8 [%r1], %d1, %d2, %r2, %p1", "tcgen05.kind::i8 does not exist on sm_103a"),
        ("sm_101a", "kind::i8 [%r1], %d1, %d2, %r2, %p1", None),
        ("sm_100f", _SCALED.format("kind::mxf4", ""), None),
        ("sm_100f", f"sp.{_SCALED}".format("kind::mxf8f6f4", "[%r5], "), None),
        ("sm_100f", f"sp.{_SCALED}".format("kind::mxf4", "[%r5], "), "tcgen05.sparse_mxf4 does not exist on sm_100f"),
    ],
)
def test_targets_of_products(target: str, form: str, missing: str | None):
    form = form.replace("kind::", "cta_group::1.kind::")
    text = f"{_HEADER.replace('sm_100a', target)}.visible .entry k() {{ {_BODY} @%p0 tcgen05.mma.{form}; ret; }}"
    with pytest.raises(SimError) as found:
        run(text.replace("@%p0", "trap; @%p0"), "k", 1, 32, [])
    assert found.value.message.partition(";")[0] == (missing or "the kernel executes trap")


_WORDS = np.zeros(8, np.int32)
_ARGUMENTS: list[tuple[str, list[Any], str]] = [
    (
        ".param .u64 a, .param .u64 b",
        [frozen(_WORDS), _WORDS],
        "is read-only, but shares memory with an array that is not",
    ),
    (
        ".param .align 8 .b8 a[128]",
        [TensorMap(np.zeros((8, 8), np.int32), (8, 8))],
        "expected a parameter of 128 bytes aligned to 64",
    ),
    (
        ".param .align 64 .b8 a[256]",
        [{8: TensorMap(np.zeros((8, 8), np.int32), (8, 8))}],
        "a tensor map, to be aligned to 64 bytes",
    ),
]


@pytest.mark.parametrize(("parameters", "arguments", "message"), _ARGUMENTS)
def test_arguments(parameters: str, arguments: list[Any], message: str):
    with pytest.raises(SimError) as found:
        run(f"{_HEADER}.visible .entry k({parameters}) {{ ret; }}", "k", 1, 32, arguments)
    assert message in found.value.message
