"""Operations that verifiers and parsers of the dialects refuse, beyond the FileCheck tests, and their messages."""

from __future__ import annotations

import pytest
from refusals import cases, refusal
from unit.cases import together
from xdsl.dialects import test
from xdsl.dialects.builtin import IndexType, f32
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from tirx.dialects.ptx.base import width
from tirx.dialects.tirx import RingType
from tirx.dialects.tirx.thread_sets import thread_set
from tirx.hw.targets import TARGETS
from tirx.universe import new_context

_KERNEL = """tirx.kernel @k(%n: index, %x: i32, %m: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %s
  tirx.return
}
"""
_OPERATIONS = """
%f = "test.op"() : () -> memref<4xi64>
"tirx.signal"(%f, %x, %c0) <{scope = #ptx<scope gpu>}> : (memref<4xi64>, i32, index) -> ()
    expected a number of type i64, found i32
%t, %u = "test.op"() : () -> (!tirx.tile<8x8xf32, register>, !tirx.tile<8x8xf32, register>)
%r = "tirx.reduce"(%t, %u) <{dims = [1 : i32], combination = #tirx<combination add>}>
: (!tirx.tile<8x8xf32, register>, !tirx.tile<8x8xf32, register>) -> !tirx.tile<8x1xf32, register>
    expected one tile, or several with a region, found 2
%t = "test.op"() : () -> !tirx.tile<128x64xf32, tensor>
%r = tirx.view %t[%c0, %c0] : !tirx.tile<128x64xf32, tensor> -> !tirx.tile<8x8xf32, tensor>
    expected a memref, or a tile in shared memory or registers, found !tirx.tile<128x64xf32, tensor>
tirx.await store pending(true)
    Expected integer literal
%t = tirx.alloc : !tirx.tile<128x64xf32, tensor>
%r = tirx.zero : !tirx.tile<128x64xf32, register>
tirx.copy %r, %t reduce(add) : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, tensor>
    expected a copy to global memory from another one with reduce, found one from registers to tensor memory
%t = tirx.load %m[0 + %c0 - 1, 65 floordiv 2 ceildiv 3 mod 4] : memref<64x64xf16> -> !tirx.tile<8x99xf16, register>
    expected a tile that fits into memref<64x64xf16>, found 8x99
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { select(%p > 0, %p) } -> !tirx.tile<8x8xf16, register>
    expected select(CONDITION, VALUE, VALUE)
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { f16(%p, %p) } -> !tirx.tile<8x8xf16, register>
    expected one operand of f16(...)
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { index(%p) } -> !tirx.tile<8x8xf16, register>
    expected index(DIMENSION)
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { %p %p } -> !tirx.tile<8x8xf16, register>
    expected an operator, ',' or '}', found '%p'
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { nothing(%p) } -> !tirx.tile<8x8xf16, register>
    expected a function of math or arith, index, select, a type or as_ and a type, found 'nothing'
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { %p + * } -> !tirx.tile<8x8xf16, register>
    expected an expression, found '*'
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) [%p] -> !tirx.tile<8x8xf16, register>
    expected the expressions of a body in braces
%r = tirx.load %m[0, 0] : memref<64x64xf16> -> !tirx.tile<8x8xf16, register>
%t = tirx.map ins(%r : !tirx.tile<8x8xf16, register>) (%p) { %p ? 1 } -> !tirx.tile<8x8xf16, register>
    expected an expression, found '?'
%r = "test.op"() : () -> memref<64x64xf16, 1 : i32>
%t = tirx.view %r[%c0, %c0] : memref<64x64xf16, 1 : i32> -> !tirx.tile<8x8xf16, global>
    expected a memref in global memory, without a memory space, found memref<64x64xf16, 1 : i32>
"tirx.for"() <{loop = "k", operandSegmentSizes = array<i32: 0, 0>}> ({
^bb0(%k: index):
tirx.yield
}) : () -> ()
    expected one number of iterations, a value or a constant
"tirx.for"() <{loop = "k", constant_trips = 3 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
^bb0(%k: i32):
tirx.yield
}) : () -> ()
    expected a body with the iteration, an index, as its first argument, found (i32)
"tirx.for"() <{loop = "k", constant_trips = 3 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
^bb0(%k: index, %a: i32):
tirx.yield %a : i32
}) : () -> i32
    expected 1 values to start iter, found 0
"tirx.for"() <{loop = "k", constant_trips = 3 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
^bb0(%k: index):
%r = "tirx.at"() <{stage = 0 : i32}> ({
tirx.yield %x : i32
}) : () -> i64
tirx.yield
}) : () -> ()
    expected values of types (i64), found (i32)
"tirx.for"() <{loop = "k", constant_trips = 3 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
^bb0(%k: index):
ptx.ret
}) : () -> ()
    expected a body that ends in 'tirx.yield', found 'ptx.ret'
"tirx.tiles"(%m, %n, %n) <{loop = "t", order = #tirx.tile_order row, operandSegmentSizes = array<i32: 1, 2>}> ({
^bb0(%i: index, %j: index):
}) : (memref<64x64xf16>, index, index) -> ()
    expected nothing to read the order row from, found memref<64x64xf16>
"tirx.tiles"(%n, %n) <{loop = "t", order = #tirx.tile_order row, station = "s", operandSegmentSizes = array<i32: 0,
2>}> ({
^bb0(%i: index, %j: index):
}) : (index, index) -> ()
    expected a station only for hardware, found s for row
%a = tirx.alloc : !tirx.tile<128x64xf16, shared>
%c = tirx.zero : !tirx.tile<128x128xf32, register>
%p = tirx.async_mma %a, %a, %c instruction("m16n8k16") : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16,
shared>, !tirx.tile<128x128xf32, register> -> !tirx.pending<!tirx.tile<128x128xf32, register>>
    expected an accumulator in tensor memory for instruction, found one in registers
%r = "tirx.await"() <{queue = #tirx.queue cp_async, pending = 0 : i32}> : () -> !tirx.tile<4x4xf32, register>
    expected no result, found !tirx.tile<4x4xf32, register>
%a = tirx.alloc : !tirx.tile<2x64xf16, shared, #tirx.tile_layout<S[(2, 64) : (64, 1)]>>
%s = tirx.slot %a[%x] : !tirx.tile<2x64xf16, shared, #tirx.tile_layout<S[(2, 64) : (64, 1)]>> -> !tirx.tile<64xf16,
register>
    expected slots in shared or tensor memory, found !tirx.tile<64xf16, register> in !tirx.tile<2x64xf16, shared,
    #tirx.tile_layout<S[(2, 64) : (64, 1)]>>
%a = tirx.alloc : !tirx.tile<8x8xf32, shared>
%r = "tirx.subview"(%a) <{offsets = [0 : i32, -2 : i32]}> : (!tirx.tile<8x8xf32, shared>) -> !tirx.tile<8x4xf32, shared>
    expected a part of the 8x8 tile, found 8x4 at [0, -2]
%a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
%r = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0] warpgroup -1 : !tirx.tile<64x64xf16, shared,
#tirx.tile_layout<S[64, 64]>> -> i64
    expected the number of a warpgroup, found -1
%a, %d, %s = "test.op"() : () -> (!tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf32, tensor>,
!tirx.tile<128x4xf8E8M0FNU, tensor>)
"tirx.mma"(%a, %a, %d, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}> : (!tirx.tile<128x128xf8E4M3FN,
shared>, !tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>) ->
()
    expected scale factors of both A and B, or of neither
%a = tirx.alloc : !tirx.tile<4xf32, register>
%r = "tirx.map"(%a) <{operandSegmentSizes = array<i32: 1, 0>}> ({
^bb0(%e: f32):
ptx.ret
}) : (!tirx.tile<4xf32, register>) -> !tirx.tile<4xf32, register>
    expected a body that ends in 'tirx.yield'
%r = "tirx.concat"() <{dim = 0 : i32}> : () -> !tirx.tile<4xf32, register>
    expected tiles and a dimension from 0 to 0, found 0
%a = tirx.zero : !tirx.tile<4xf32, register> %r = "tirx.concat"(%a) <{dim = 1 : i32}> : (!tirx.tile<4xf32, register>)
-> !tirx.tile<4xf32, register>
    expected tiles and a dimension from 0 to 0, found 1
%a = tirx.alloc : !tirx.tile<4xi32, shared> %r = tirx.atomic inc %a, %a : !tirx.tile<4xi32, shared>, !tirx.tile<4xi32,
shared> -> !tirx.tile<4xi32, shared>
    expected add, min, max, and, or, xor, exch or cas with what it expects, found inc
%a = tirx.alloc : !tirx.tile<4xi32, shared> %b = tirx.zero : !tirx.tile<4xi32, register> %r = tirx.atomic inc %b, %a :
!tirx.tile<4xi32, register>, !tirx.tile<4xi32, shared> -> !tirx.tile<4xi32, register>
    expected add, min, max, and, or, xor, exch or cas with what it expects, found inc
%a = tirx.alloc : !tirx.tile<4xi32, shared> %r = tirx.atomic add %a, %a : !tirx.tile<4xi32, shared>, !tirx.tile<4xi32,
shared> -> !tirx.tile<4xi32, shared>
    expected a register tile like !tirx.tile<4xi32, shared>, found !tirx.tile<4xi32, shared>
%a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>> %r = wgmma.smem_descriptor %a, 0 of 16
rows 0 from [0] : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>> -> i64
    expected rows [first, first + rows) of 64 in steps of 8, found [0, 0)
%a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>> %r = wgmma.smem_descriptor %a, 0 of 16
rows 64 from [-8] : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>> -> i64
    expected rows [first, first + rows) of 64 in steps of 8, found [-8, 56)
%r = "tirx.reduce"() <{combination = #tirx.combination add, dims = [0 : i32]}> : () -> !tirx.tile<4xf32, register>
    expected one tile, or several with a region, found 0
%a = tirx.zero : !tirx.tile<4x4xf32, register> %r = "tirx.reduce"(%a) <{combination = #tirx.combination add, dims =
[]}> : (!tirx.tile<4x4xf32, register>) -> !tirx.tile<4x4xf32, register>
    expected different dimensions from 0 to 1, found []
%a = "test.op"() : () -> !tirx.pending<i32>
    expected a register tile that is pending, found i32
%q = tirx.ring slots(1) stations(a, b) across(cluster) : !tirx.ring<a: !tirx.tile<64x64xf16, shared>>
    expected a kernel with a cluster for across(cluster), found one without
%a = tirx.zero : !tirx.tile<4xi4, register> tirx.print "x", %a : !tirx.tile<4xi4, register>
    expected a scalar, or a tile in registers or shared memory, of i1, index, i8, i16, i32, i64, f16, bf16, tf32, f32,
    f64, found !tirx.tile<4xi4, register>
tirx.warpgroup -1 { }
    expected a warpgroup of the 128 threads from thread 0 on, found warpgroup -1
%s = tirx.alloc : !tirx.tile<64x64xf8E4M3FN, shared> %c = tirx.zero : !tirx.tile<64x64xf32, register> %f = tirx.zero :
!tirx.tile<64x3xf8E8M0FNU, register> %d = tirx.mma %s, %s, %c scales(%f, %f) : !tirx.tile<64x64xf8E4M3FN, shared>,
!tirx.tile<64x64xf8E4M3FN, shared>, !tirx.tile<64x64xf32, register>, !tirx.tile<64x3xf8E8M0FNU, register>,
!tirx.tile<64x3xf8E8M0FNU, register> -> !tirx.tile<64x64xf32, register>
    expected SFA as 64xS and SFB as 64xS (or 128xS), S a divisor of K = 64, found 64x3 and 64x3
%v = tirx.view %m[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<2x2x2xf16, global>
    expected a tile of rank 2 or less in memref<64x64xf16>, found 2x2x2
tirx.tiles @t %i, %j = order(group 0) of (%n, %n) { }
    expected n of 1 or more for order(group n), and for no other order, found group
%a = "test.op"() {a = #tirx.zero_columns<start = 0, zero = 1, use = 0>} : () -> i32
    expected start >= 0, zero >= 1 and use >= 1, found start = 0, zero = 1, use = 0
%q = tirx.ring slots(1) stations(a, b) : !tirx.ring<> tirx.acquire %q at(a) tirx.release %q at(a) after(wgmma)
    expected no after(wgmma) for a ring without tiles, found one
%q = tirx.ring slots(1) stations(a, b) : !tirx.ring<> tirx.acquire %q at(a) tirx.release %q at(a) early
    expected 'early' with after(tcgen05) only, found it without
%a = tirx.zero : !tirx.tile<32x8xf16, register> %b = tirx.zero : !tirx.tile<16x8xf16, register> %c = tirx.zero :
!tirx.tile<32x16xf16, register> %d = tirx.mma %a, %b, %c : !tirx.tile<32x8xf16, register>, !tirx.tile<16x8xf16,
register>, !tirx.tile<32x16xf16, register> -> !tirx.pending<!tirx.tile<32x16xf32, register>>
    expected a result only for an accumulator in registers, of its type, or of f32 for one of f16, found a result of
    type !tirx.pending<!tirx.tile<32x16xf32, register>> for an accumulator of type !tirx.tile<32x16xf16, register>
%a = tirx.zero : !tirx.tile<32x8xf16, register> %b = tirx.zero : !tirx.tile<16x8xf16, register> %c = tirx.zero :
!tirx.tile<32x16xf16, register> %d = tirx.mma %a, %b, %c : !tirx.tile<32x8xf16, register>, !tirx.tile<16x8xf16,
register>, !tirx.tile<32x16xf16, register> -> !tirx.tile<32x32xf32, register>
    expected a result only for an accumulator in registers, of its type, or of f32 for one of f16, found a result of
    type !tirx.tile<32x32xf32, register> for an accumulator of type !tirx.tile<32x16xf16, register>
%q = tirx.ring slots(1) stations(a, b) : !tirx.ring<a: !tirx.tile<64x64xf16, shared>> tirx.release %q at(a)
    expected a 'tirx.acquire' at(a) of the same ring in the kernel, found none
%v = tirx.view %m[%c0, %c0] dims(0) : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected dims of 2 dimensions of the tile, found 1
%v = tirx.view %m[%c0, %c0] dims(0, 0) : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected dims to name dimensions of memref<64x64xf16>, each once, found [0, 0]
%v = tirx.view %m[%c0, %c0] dims(0, 2) : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected dims to name dimensions of memref<64x64xf16>, each once, found [0, 2]
%v = tirx.view %m[%c0, %c0] dims(0, _) : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected dimension 1 of the tile to be one of the memref, found none
%v = tirx.view %m[%c0, %c0] to [*, %n] : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected ':' and types or a clause (dims, steps, clipped, begins_inside), found 'to'
%v = tirx.view %m[%c0, %c0] steps [1, 0] : memref<64x64xf16> -> !tirx.tile<4x4xf16, global>
    expected a step of 1 or more along dimension 1, and 1 where the tile does not move along it or an index tile says
    how, found 0
%x1 = tirx.zero : !tirx.tile<64x64xf32, register> %b = tirx.alloc : !tirx.tile<64x64xf32, shared> %s =
tirx.cluster_sum %x1, %b : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, shared> -> !tirx.tile<64x64xf32,
register>
    expected a share of !tirx.tile<64x64xf32, register> for each block of a cluster, cluster(1) per_cta, found
    !tirx.tile<64x64xf32, register>
%a = tirx.alloc : !tirx.tile<8x8xf32, shared> %b = tirx.bitcast %a : !tirx.tile<8x8xf32, shared> ->
!tirx.tile<8x16xf16, shared>
    expected a register tile, found !tirx.tile<8x8xf32, shared>
%q = tirx.ring slots(1) stations(self, b) : !tirx.ring<>
    expected a station named otherwise, found 'self', which stands for the station of a party
%q = tirx.ring slots(2) stations(a, b) carries : !tirx.ring<a: !tirx.tile<64x64xf16, shared>>
    expected 1 slot with carries, whose uses read what the use before left, found 2
%r = tirx.map (%e) { 1.0 } -> !tirx.tile<4xf32, register>
    expected names of 0 arguments, found 1
%o = tirx.zero : !tirx.tile<4xi32, register> %r = tirx.map ins(%o : !tirx.tile<4xi32, register>) (%e) { %e +
99999999999999999999999 } -> !tirx.tile<4xi32, register>
    expected a number of type i32, from -2147483648 to 4294967295, found 99999999999999999999999
%o = tirx.zero : !tirx.tile<4xi32, register> %r = tirx.map ins(%o : !tirx.tile<4xi32, register>) (%e) { %e + @ } ->
!tirx.tile<4xi32, register>
    expected an expression, found '@'
%o = tirx.zero : !tirx.tile<4xi32, register> %r = tirx.map ins(%o : !tirx.tile<4xi32, register>) (%e) { max(%e) } ->
!tirx.tile<4xi32, register>
    expected a function of math or arith, index, select, a type or as_ and a type, found 'max'
%o = tirx.zero : !tirx.tile<4xi32, register> %r = tirx.map ins(%o : !tirx.tile<4xi32, register>) (%e) { sqrt(%e, %e) }
-> !tirx.tile<4xi32, register>
    'math.sqrt' has 1 operands and 1 results, found 2 operands and 1 result
%o = tirx.zero : !tirx.tile<4xf32, register> %r = tirx.map ins(%o : !tirx.tile<4xf32, register>) (%e) { sqrt(%e, %e) }
-> !tirx.tile<4xf32, register>
    'math.sqrt' has 1 operands and 1 results, found 2 operands and 1 result
%o = tirx.zero : !tirx.tile<4xf32, register> %r = tirx.map ins(%o : !tirx.tile<4xf32, register>) (%e) { sqrt() } ->
!tirx.tile<4xf32, register>
    expected an expression, found ')'
%d = "test.op"() : () -> i64 %c = tirx.zero : !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 8, 2, 4, 8, 2) :
(1@warpid, 4@laneid, 2, 1@laneid, 4, 1)]>> %r = wgmma.mma_async "f16" "f16" a(%d : i64) b(%d) c(%c :
!tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 8, 2, 4, 8, 2) : (1@warpid, 4@laneid, 2, 1@laneid, 4, 1)]>>)
-> !tirx.pending<!tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 8, 2, 4, 8, 2) : (1@warpid, 4@laneid, 2,
1@laneid, 4, 1)]>>>
    expected n, at, and one A and one C with tiles
%r = "test.op"() : () -> !tirx.ring<3>
    identifier expected of a tile or a type
%r = tirx.wait_until %m[%c0, %c0] 3, %x : memref<64x64xf16>
    identifier expected of a comparison
%g, %s = "test.op"() : () -> (!tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>) "tirx.async_copy"(%g, %s)
<{engine = #tirx.engine tma, blocks = 2 : i32}> : (!tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>) -> ()
    expected both numbers of among, found one
%a = tirx.alloc : !tirx.tile<1xi32, shared> %w = "test.op"() : () -> i64 %r = tirx.atomic add %w, %a : i64,
!tirx.tile<1xi32, shared> -> i64
    expected a register tile like !tirx.tile<1xi32, shared>, or a number for one element, found i64 for 1
%a = tirx.alloc : !tirx.tile<2xi32, shared> %r = tirx.atomic add %x, %a : i32, !tirx.tile<2xi32, shared> -> i32
    expected a register tile like !tirx.tile<2xi32, shared>, or a number for one element, found i32 for 2
%a = tirx.alloc : !tirx.tile<1xi32, shared> %r = tirx.atomic add %x, %a : i32, !tirx.tile<1xi32, shared> -> i64
    expected values and a result of type i32, found i64
%a = tirx.alloc : !tirx.tile<4xi32, shared> %b = tirx.zero : !tirx.tile<8xi32, register> %r = tirx.atomic add %b, %a :
!tirx.tile<8xi32, register>, !tirx.tile<4xi32, shared> -> !tirx.tile<8xi32, register>
    expected a register tile like !tirx.tile<4xi32, shared>, found !tirx.tile<8xi32, register>
%a = tirx.alloc : !tirx.tile<1xf64, shared> %w = "test.op"() : () -> f64 %r = tirx.atomic max %w, %a : f64,
!tirx.tile<1xf64, shared> -> f64
    expected max on integers of 32 and 64 bits, f32, found f64
"""
_DESCRIPTORS = """!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>,
#tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
func.func @f(%a: !a, %t: !t, %d: i64) {
  %301 = arith.constant 65837 : i32
  %lane = arith.constant 65536 : i32
  %0 = tcgen05.tile %lane, 256 : i32 -> !t
  %at = ptx.shared_alloc @slot bytes 8 align 8
  tcgen05.alloc %at exclusive columns 576
  %all = ptx.ld shared %at : i32 -> i32
  %behind = ptx.ld shared %at offset 4 : i32 -> i32
  %outside = ptx.ld shared_cluster %at : i32 -> i32
  %3 = tcgen05.tile %all, 320 : i32 -> !t
  %other = ptx.shared_alloc @other bytes 4 align 4
  tcgen05.alloc %other columns 512
  %few = ptx.ld shared %other : i32 -> i32
  %1 = tcgen05.smem_descriptor %a, 3 of 16 : !a -> i64
  %2 = tcgen05.smem_descriptor %a, 63 of 1 : !a -> i64
  %s
  func.return
}
"""
_ON_TENSOR_MEMORY = """
%r = tcgen05.smem_descriptor %a, 0 of 0 : !a -> i64
    expected slices of a divisor of K = 64 elements, found slices of 0
%r = tcgen05.smem_descriptor %a, 4 of 16 : !a -> i64
    expected slice 0 to 3 of 16 elements of K = 64, found 4
%r = tcgen05.smem_descriptor %a, -1 of 16 : !a -> i64
    expected slice 0 to 3 of 16 elements of K = 64, found -1
%r = tcgen05.tile %301, 0 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found 301 to 556
%r = tcgen05.tile %lane, 257 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found 257 to 512
%r = tcgen05.tile %all, 321 : i32 -> !t
    expected columns 0 to 575 of tensor memory, found 321 to 576
%r = tcgen05.tile %few, 257 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found 257 to 512
%r = tcgen05.tile %behind, 257 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found 257 to 512
%r = tcgen05.tile %outside, 257 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found 257 to 512
%r = wgmma.uninitialized : !tirx.tile<2x64x64xf32, register, #tirx.tile_layout<S[(2, 64, 64) : (1, 2, 128)]>>
    expected accumulators as a matrix in registers with a layout, found !tirx.tile<2x64x64xf32, register,
    #tirx.tile_layout<S[(2, 64, 64) : (1, 2, 128)]>>
%r = tcgen05.tile %lane, -1 : i32 -> !t
    expected columns 0 to 511 of tensor memory, found -1 to 254
tcgen05.shift %a : !a
    expected a tile in tensor memory with a layout, found !tirx.tile<128x64xf16, shared,
    #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
tcgen05.cp "128x256b" %a, %d : !a
    expected a tile in tensor memory with a layout, found !tirx.tile<128x64xf16, shared,
    #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
%r = tcgen05.ld "32x32b" %0 offset 4 : !t -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) :
(1@warpid, 1@laneid, 1)]>>
    tcgen05.ld: expected num, offset and half_split_offset with an address only
%r = tcgen05.ld "32x32b" num 2 %0 : !t -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) :
(1@warpid, 1@laneid, 1)]>>
    tcgen05.ld: expected num, offset and half_split_offset with an address only
%r = tcgen05.ld "16x32bx2" %0 half_split_offset 4 : !t -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4,
32, 256) : (1@warpid, 1@laneid, 1)]>>
    tcgen05.ld: expected num, offset and half_split_offset with an address only
"""
_MODULES = """
tirx.kernel @k() target("sm_90a") threads(32) {
%q = "tirx.param"() <{parameter = "bm"}> : () -> index
tirx.return
}
    expected a name that begins with a capital letter, found bm
tirx.kernel @k(%m: memref<4x4xf16>) params(A = size(9, 0) in [1]) threads(32) { tirx.return }
    A: expected a memref argument of the kernel that has size(9, 0), found no such argument
tirx.kernel @k(%m: memref<4x4xf16>) params(A = size(0, 7) in [1]) threads(32) { tirx.return }
    A: expected a memref argument of the kernel that has size(0, 7), found memref<4x4xf16>
tirx.kernel @k() params(A in [4]) threads(32) {
%t = tirx.alloc : !tirx.tile<[A]xf16, shared, #tirx.tile_layout<S[4]>> tirx.return }
    expected no layout on a tile whose extents depend on parameters
tirx.kernel @k() params(A in [4]) threads(32) { %t = tirx.alloc : !tirx.tile<[A floordiv 0]xf16, shared> tirx.return }
    expected a positive divisor, found 0
tirx.kernel @k() params(A in ["x"]) threads(32) { %t = tirx.alloc : !tirx.tile<[A]xf16, shared> tirx.return }
    expected a number for A in A, found 'x'; with A = x
tirx.kernel @k() params(A in [4]) threads(32) { %t = tirx.alloc : !tirx.tile<[B]xf16, shared> tirx.return }
    expected a number, found the parameter B; run tirx-specialize first
tirx.kernel @k() params(A in [1, 1]) threads(32) { tirx.return }
    expected different candidates of A, one or more numbers or words, found [1, 1]
tirx.kernel @k() params(A in [1, "x"]) threads(32) { tirx.return }
    expected different candidates of A, one or more numbers or words, found [1, 'x']
tirx.kernel @k() params(A in [1], A in [2]) threads(32) { tirx.return }
    expected parameters of different names, found A, A
tirx.kernel @k() params(A in []) threads(32) { tirx.return }
    expected different candidates of A, one or more numbers or words, found []
ptx.entry @k() target("sm_90a") grid(1, 2, 3, 4) {
ptx.ret
}
    expected a grid of one to three extents, found 4
ptx.entry @k(a : b8[40000]) target("sm_90a") {
ptx.ret
}
    expected at most 32764 bytes of parameters, found 40000
ptx.entry @k(a : b8) target("sm_90a") {
ptx.ret
}
    expected a length for b8 parameters and for no others, parameter 'a'
ptx.entry @k(a : u32 align 4) target("sm_90a") {
ptx.ret
}
    expected an alignment only on pointers and arrays, parameter 'a'
ptx.entry @k(a : b8[0]) target("sm_90a") {
ptx.ret
}
    expected length of parameter 'a' to be positive, found 0
ptx.entry @k(a : b8[-4]) target("sm_90a") {
ptx.ret
}
    expected length of parameter 'a' to be positive, found -4
ptx.entry @k(a : b8[true]) target("sm_90a") {
ptx.ret
}
    Expected integer literal
ptx.entry @k(a : u64 ptr align true) target("sm_90a") {
ptx.ret
}
    Expected integer literal
ptx.entry @k(a : u32 ptr) target("sm_90a") {
ptx.ret
}
    expected pointer parameter 'a' to be u64, found u32
ptx.entry @"1k"() target("sm_90a") {
ptx.ret
}
    expected entry name to be a PTX identifier ([A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+), found '1k'
ptx.entry @WARP_SZ() target("sm_90a") {
ptx.ret
}
    expected entry name to be a name that PTX does not reserve, found 'WARP_SZ'
"test.op"() {map = #tirx.tensor_map<argument = -1, type = "f16", dims = [128], strides = [], box = [64]>} : () -> ()
    expected the position of an argument, 0 or more, found -1
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [128], strides = [], box = [64], swizzle =
"256B">} : () -> ()
    expected a swizzle of none, 32B, 64B, 128B, 128B_atom_32B, found 256B
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [128], strides = [], box = [64], fill = "one">}
: () -> ()
    expected fill to be zero or nan, found one
"test.op"() {plan = #tirx.memory_plan<shared = -1, alignment = 1024>} : () -> ()
    expected shared of 0 or more, found -1
"test.op"() {plan = #tirx.memory_plan<shared = 16, alignment = 12>} : () -> ()
    expected an alignment that is a power of two, found 12
"test.op"() {plan = #tirx.memory_plan<shared = 16, alignment = 2147483648>} : () -> ()
    expected an alignment of at most 1073741824 bytes, found 2147483648
ptx.binary @k target("sm_90aa") launch {} text ""
    unknown target 'sm_90aa'; did you mean 'sm_90a'? Supported targets: TARGETS
"test.op"() {s = #tirx.size<3>} : () -> ()
    expected an expression of parameters, found 3
"test.op"() {s = #tirx.size<BM floordiv 0>} : () -> ()
    expected a positive divisor, found 0
"test.op"() {f = #ptx.formula<foo(1, 2)>} : () -> ()
    expected an integer or a function of size, stride, sm_count, cluster_count, add, mul, ceildiv, min, max, found 'foo'
ptx.entry @k(3 : u32) target("sm_90a") { ptx.ret }
    identifier expected for parameter name
ptx.entry @k(a : 3) target("sm_90a") { ptx.ret }
    identifier expected for parameter type
tirx.kernel @k(%a: memref<4xf16>) grid("x") threads(32) { tirx.return }
    identifier expected or a number for a formula of the launch
""".replace("TARGETS", ", ".join(TARGETS))


def test_questions_without_an_answer():
    with pytest.raises(KeyError, match="index|Index"):
        width(IndexType())
    with pytest.raises(ValueError, match="expected 'test.op' inside a kernel, found it in none"):
        thread_set(test.TestOp())


def test_slots_that_hold_no_float():
    with pytest.raises(VerifyException, match="found f32"):
        RingType.get([("x", f32)])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("%s = tirx.alloc fill(0.0) : !tirx.tile<8xf16, shared>", "expected a tile without contents: this parser"),
        ("%s = tirx.alloc copy(%v) : !v, !tirx.tile<8xf16, shared>", "expected a tile without contents: this parser"),
        ("%w = tirx.view %a[3 + %i] : memref<64xf16> -> !v", "expected a value as index: this parser takes no others"),
        ("%w = tirx.view %a : memref<64xf16> -> !v", "expected places in brackets, '['"),
        ("%w = tirx.view %a[%i] : memref<64xf16> -> !v\n%s = tirx.alloc : !tirx.tile<8xf16, shared>", None),
    ],
)
def test_parsers_of_others_take_no_short_forms(statement: str, message: str | None):
    """Such forms are several operations, and other parsers insert one."""
    head = "!v = !tirx.tile<8xf16, global>\ntirx.kernel @k(%a: memref<64xf16>, %v: !v, %i: index) threads(32) {"
    parser = Parser(new_context(), f"{head}\n{statement}\ntirx.return\n}}")
    if message is None:
        assert len([*parser.parse_module().walk()]) == 5
        return
    with pytest.raises(ParseError) as found:
        parser.parse_module()
    assert message in str(found.value)


@together(("text", "message"), cases(_OPERATIONS))
def test_operations(text: str, message: str):
    assert refusal(_KERNEL.replace("%s", text, 1)) == message


@together(("text", "message"), cases(_ON_TENSOR_MEMORY))
def test_operations_on_tensor_memory(text: str, message: str):
    assert refusal(_DESCRIPTORS.replace("%s", text, 1)) == message


@together(("text", "message"), cases(_MODULES))
def test_modules(text: str, message: str):
    assert refusal(text) == message
