// RUN: tirx-opt %s --tirx-resolve-accumulators --split-input-file --verify-diagnostics --remarks

!s = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, accumulator>

tirx.kernel @says_where() target("sm_90a") threads(128) {
  %a = tirx.alloc : !s
  // expected-remark@+1 {{accumulator in registers, for wgmma, not in tensor memory: 'tcgen05' does not exist on sm_90a}}
  %acc = tirx.alloc : !acc
  tirx.mma %a, %a, %acc : !s, !s, !acc
  tirx.return
}

tirx.kernel @says_where_on_blackwell() target("sm_100a") threads(128) {
  %a = tirx.alloc : !s
  // expected-remark@+1 {{accumulator in tensor memory, for tcgen05.mma of kind f16}}
  %acc = tirx.alloc : !acc
  tirx.mma %a, %a, %acc : !s, !s, !acc
  // expected-remark@+1 {{accumulator in registers, for mma.sync, not in tensor memory: expected no instruction of mma.sync, found "m16n8k16"}}
  %sums = tirx.alloc : !acc
  tirx.mma %a, %a, %sums instruction("m16n8k16") : !s, !s, !acc
  // expected-remark@+1 {{accumulator in registers, not in tensor memory: no product adds to it}}
  %other = tirx.alloc : !acc
  tirx.return
}

// -----

!s = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, accumulator>

tirx.kernel @clause() target("sm_90a") threads(128) {
  %a = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected an accumulator in tensor memory for weight_stationary, found one in registers (not in tensor memory: 'tcgen05' does not exist on sm_90a}}
  tirx.mma %a, %a, %acc weight_stationary : !s, !s, !acc
  tirx.return
}

// -----

tirx.kernel @memory() threads(128) {
  // expected-error@+1 {{expected no layout on an accumulator, whose memory depends on the target, found S[(64, 64) : (64, 1)]}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
  tirx.return
}

// -----

!s = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, accumulator>

tirx.kernel @operands() threads(128) {
  %a = tirx.alloc : !s
  %b = tirx.alloc : !tirx.tile<128x64xf16, tensor>
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected B in registers or shared memory, found it in tensor memory}}
  tirx.mma %a, %b, %acc : !s, !tirx.tile<128x64xf16, tensor>, !acc
  tirx.return
}

!values = !tirx.tile<64x64xf32, register>

tirx.kernel @results() threads(128) {
  %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
  // expected-error@+1 {{expected a register tile, found !tirx.tile<64x64xf32, accumulator>}}
  %b = tirx.convert %acc : !tirx.tile<64x64xf32, accumulator> -> !tirx.tile<64x64xf32, accumulator>
  tirx.return
}

// -----

!acc = !tirx.tile<8x8xf32, accumulator>

tirx.kernel @select(%p: i1) threads(32) {
  %t = tirx.alloc : !acc
  // expected-error@+1 {{expected arith.select on register tiles, which are values, found !tirx.tile<8x8xf32, accumulator>}}
  %r = arith.select %p, %t, %t : !acc
  tirx.return
}

// -----

!acc = !tirx.tile<8x8xf32, accumulator>

tirx.kernel @branch(%p: i1) threads(32) {
  %t = tirx.alloc : !acc
  // expected-error@+1 {{expected scf.if on register tiles, which are values, found !tirx.tile<8x8xf32, accumulator>}}
  %r = scf.if %p -> (!acc) {
    scf.yield %t : !acc
  } else {
    scf.yield %t : !acc
  }
  tirx.return
}

// -----

// A product that tcgen05 or wgmma would do in other sizes is slow without them: the number that they want.

!a = !tirx.tile<96x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<96x64xf32, accumulator>
tirx.kernel @rows() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  // expected-remark@+1 {{accumulator in registers, for mma.sync, not in tensor memory}}
  %acc = tirx.alloc : !acc
  // expected-warning@+1 {{multiplied by mma.sync instead of tcgen05: kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64}}
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// -----

// Without an instruction of mma.sync for these types, the error says what tcgen05 wants.

!a = !tirx.tile<128x128xf8E4M3FN, shared>
!b = !tirx.tile<64x128xf8E4M3FN, shared>
!x = !tirx.tile<128x4xf8E8M0FNU, accumulator>
!y = !tirx.tile<64x4xf8E8M0FNU, accumulator>
!acc = !tirx.tile<128x64xf32, accumulator>
tirx.kernel @rows_of_factors() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %x = tirx.alloc : !x
  %y = tirx.alloc : !y
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected SFB of 128 rows, 64 rounded up to whole blocks of 128, which tcgen05.cp copies, found 64}}
  tirx.mma %a, %b, %acc scales(%x, %y) : !a, !b, !acc, !x, !y
  tirx.return
}

// -----

!a = !tirx.tile<96x64xf8E4M3FN, shared>
!b = !tirx.tile<64x64xf8E5M2, shared>
!acc = !tirx.tile<96x64xf32, accumulator>
tirx.kernel @rows_of_two_types() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{kind::f8f6f4, cta_group 1: expected M in {64, 128}, found 96; nearest is 64}}
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// -----

!r = !tirx.tile<128x64xf16, register>
!s = !tirx.tile<256x64xf16, shared>
!c = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x256xf32, accumulator>

tirx.kernel @columns(%a: !r) target("sm_100a") threads(128) {
  %b = tirx.alloc : !s
  %c = tirx.alloc : !c
  // expected-remark@+1 {{accumulator in tensor memory, for tcgen05.mma of kind f16}}
  %other = tirx.alloc : !acc
  tirx.mma %c, %b, %other : !c, !s, !acc
  // expected-remark@+1 {{not in tensor memory: expected A in shared memory, or tiles of at most 512 columns of tensor memory with it, found A in registers and 544 columns}}
  %acc = tirx.alloc : !acc
  tirx.mma %a, %b, %acc : !r, !s, !acc
  tirx.return
}

// -----

!f = !tirx.tile<128x4xf8E8M0FNU, accumulator>
!s = !tirx.tile<128x128xf8E4M3FN, shared>
!acc = !tirx.tile<128x128xf32, accumulator>

tirx.kernel @factors() target("sm_100a") threads(128) {
  %a = tirx.alloc : !s
  // expected-error@+1 {{expected scale factors of products that all accumulate in one memory, found some in registers and some in tensor memory}}
  %f = tirx.alloc : !f
  // expected-remark@+1 {{accumulator in tensor memory, for tcgen05.mma of kind mxf8f6f4}}
  %t = tirx.alloc : !acc
  tirx.mma %a, %a, %t scales(%f, %f) : !s, !s, !acc, !f, !f
  // expected-remark@+1 {{accumulator in registers, for mma.sync, not in tensor memory: expected no instruction of mma.sync, found "m16n8k32"}}
  %r = tirx.alloc : !acc
  tirx.mma %a, %a, %r scales(%f, %f) instruction("m16n8k32") : !s, !s, !acc, !f, !f
  tirx.return
}
