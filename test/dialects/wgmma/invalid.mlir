// RUN: tirx-opt %s --split-input-file --verify-diagnostics

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x64xf32, register, #d>
func.func @f(
    %d: !tirx.pending<!d>, %b: !tirx.tile<128x64xf16, shared>, %a: !a, %x: i64, %d2: !d, %p: i1,
    %d3: !tirx.tile<64x8xf32, register, #tirx.tile_layout<S[(4, 16, 4, 2) : (1@warpid, 2@laneid, 2, 1)]>>) {
  // pending: expected-error@+1 {{expected 0 to 7 pending groups, found 8}}
  wgmma.wait_group 8
  // fewer than none: expected-error@+1 {{expected 0 to 7 pending groups, found -1}}
  wgmma.wait_group -1
  // awaited: expected-error@+1 {{expected the pending tiles as results}}
  %0 = wgmma.wait_group 0 (%d : !tirx.pending<!d>) -> !tirx.tile<64x64xf32, register>
  // plain layout: expected-error@+1 {{expected an operand of shape MNxK in shared memory with a layout}}
  %100 = wgmma.smem_descriptor %b, 0 of 16 rows 64 from [0] : !tirx.tile<128x64xf16, shared> -> i64
  // step: expected-error@+1 {{expected slice 0 to 3 of 16 elements of K = 64, found 4}}
  %200 = wgmma.smem_descriptor %a, 4 of 16 rows 64 from [0] : !a -> i64
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of 24}}
  %300 = wgmma.smem_descriptor %a, 0 of 24 rows 64 from [0] : !a -> i64
  // rows: expected-error@+1 {{expected rows [first, first + rows) of 128 in steps of 8, found [72, 136)}}
  %400 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0, 72] : !a -> i64
  // no rows: expected-error@+1 {{expected the first row for each warpgroup, found none}}
  %500 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [] : !a -> i64
  // accumulator in memory: expected-error@+1 {{expected accumulators as a matrix in registers with a layout}}
  %600 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%a : !a) at 0 -> !tirx.pending<!d>
  // result: expected-error@+1 {{expected a result of type !tirx.pending}}
  %700 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%d2 : !d) at 0 -> !tirx.pending<!tirx.tile<64x64xf32, register>>
  // both: expected-error@+1 {{expected scale_d or overwrite, found both}}
  %800 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%d2 : !d) at 0 scale_d %p overwrite -> !tirx.pending<!d>
  // selector: expected-error@+1 {{expected both or neither of metadata and selector, found one}}
  %900 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%d2 : !d) at 0 selector 0 -> !tirx.pending<!d>
  // types: expected-error@+1 {{found f16 x e4m3; use types that wgmma multiplies [types]}}
  %1000 = wgmma.mma_async "f16" "e4m3" n 64 a(%x : i64) b(%x) c(%d2 : !d) at 0 -> !tirx.pending<!d>
  // expected-error@+1 {{expected N from 8 to 256 in steps of 8, found 60; nearest is 56 [shape]}}
  %1100 = wgmma.mma_async "f16" "f16" n 60 a(%x : i64) b(%x) c(%d2 : !d) at 0 -> !tirx.pending<!d>
  // no part: expected-error@+1 {{expected a 64x64 part of D from register 4 on, in all warpgroups, found none}}
  %1200 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%d2 : !d) at 4 -> !tirx.pending<!d>
  // not a fragment: expected-error@+1 {{expected element (0, 2) of D in register 0 of thread 1}}
  %1300 = wgmma.mma_async "f16" "f16" n 8 a(%x : i64) b(%x) c(%d3 : !tirx.tile<64x8xf32, register, #tirx.tile_layout<S[(4, 16, 4, 2) : (1@warpid, 2@laneid, 2, 1)]>>) at 0 -> !tirx.pending<!tirx.tile<64x8xf32, register, #tirx.tile_layout<S[(4, 16, 4, 2) : (1@warpid, 2@laneid, 2, 1)]>>>
  %1400 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0, 64] : !a -> i64
  // major: expected-error@+1 {{expected MN-major A with imm-trans = 1, found K-major}}
  %1 = wgmma.mma_async "f16" "f16" n 64 a(%1400 : i64) b(%x) c(%d2 : !d) at 0 transpose_a -> !tirx.pending<!d>
  %1500 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0, 64] : !a -> i64
  // element type: expected-error@+1 {{expected A of bf16, as the instruction says, found f16}}
  %101 = wgmma.mma_async "bf16" "bf16" n 64 a(%1500 : i64) b(%x) c(%d2 : !d) at 0 -> !tirx.pending<!d>
  %1600 = wgmma.smem_descriptor %a, 0 of 32 rows 64 from [0] : !a -> i64
  // slices: expected-error@+1 {{expected slices of B of 16 stored elements along K, found slices of 32}}
  %201 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%1600) c(%d2 : !d) at 0 -> !tirx.pending<!d>
  func.return
}

// -----

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x64xf32, register, #d>
#d64 = #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
#codes = #tirx.tile_layout<S[(4, 2, 8, 2, 4) : (1@warpid, 4, 4@laneid, 1@laneid, 1)]>
!d64 = !tirx.tile<64x64xf32, register, #d64>
!codes = !tirx.tile<64x8xui8, register, #codes>
func.func @f(%a: !a, %d: !d, %x: i64, %a2: !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>, %d2: !d64, %e: !codes) {
  %0 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [64, 0] : !a -> i64
  // rows of another warpgroup: expected-error@+1 {{expected the descriptor of 64 rows of A from 0, 64 on, for warpgroups 0, 1, as the accumulators have them, found 64 rows from 64, 0 on}}
  %1 = wgmma.mma_async "f16" "f16" n 64 a(%0 : i64) b(%x) c(%d : !d) at 0 -> !tirx.pending<!d>
  %100 = wgmma.smem_descriptor %a, 0 of 16 rows 32 from [0] : !a -> i64
  // columns of another part: expected-error@+1 {{expected the descriptor of 32 rows of B from 32, 32 on}}
  %101 = wgmma.mma_async "f16" "f16" n 32 a(%x : i64) b(%100) c(%d : !d) at 16 -> !tirx.pending<!d>
  %200 = wgmma.smem_descriptor %a2, 0 of 16 rows 64 from [0, 64] : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  // unreadable: expected-error@+1 {{is not canonical}}
  %201 = wgmma.mma_async "f16" "f16" n 64 a(%200 : i64) b(%x) c(%d : !d) at 0 -> !tirx.pending<!d>
  // codes of bytes: expected-error@+1 {{expected metadata of i4, a code of 4 bits, found !tirx.tile<64x8xui8, register}}
  %300 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%d2 : !d64) at 0 metadata(%e : !codes) metadata_at 0 selector 1 -> !tirx.pending<!d64>
  func.return
}

// -----

// Which rows and columns of a tile descriptors are of.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(2, 4, 2, 8, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
func.func @slices(%a: !a, %d2: !d) {
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of -16}}
  %301 = wgmma.smem_descriptor %a, 0 of -16 rows 64 from [0] : !a -> i64
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of 0}}
  %305 = wgmma.smem_descriptor %a, 0 of 0 rows 64 from [0] : !a -> i64
  %306 = wgmma.smem_descriptor %a, 63 of 1 rows 8 from [120] : !a -> i64
  // registers: expected-error@+1 {{expected an operand of shape MNxK in shared memory with a layout, found !tirx.tile<128x64xf32, register}}
  %302 = wgmma.smem_descriptor %d2, 0 of 16 rows 64 from [0] : !d -> i64
  %three = "test.op"() : () -> !tirx.tile<2x64x64xf16, shared, #tirx.tile_layout<S[2, 64, 64]>>
  // expected-error@+1 {{expected an operand of shape MNxK in shared memory with a layout, found !tirx.tile<2x64x64xf16}}
  %303 = wgmma.smem_descriptor %three, 0 of 16 rows 64 from [0] : !tirx.tile<2x64x64xf16, shared, #tirx.tile_layout<S[2, 64, 64]>> -> i64
  // expected-error@+1 {{of 128 in steps of 8, found [-8, 56)}}
  %401 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [-8] : !a -> i64
  // expected-error@+1 {{of 128 in steps of 8, found [4, 68)}}
  %402 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [4] : !a -> i64
  // expected-error@+1 {{of 128 in steps of 8, found [8, 8)}}
  %403 = wgmma.smem_descriptor %a, 0 of 16 rows 0 from [8] : !a -> i64
  // expected-error@+1 {{of 128 in steps of 8, found [0, 12)}}
  %404 = wgmma.smem_descriptor %a, 0 of 16 rows 12 from [0] : !a -> i64
  func.return
}
