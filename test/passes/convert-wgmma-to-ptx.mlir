// RUN: tirx-opt %s --tirx-materialize-descriptors --convert-wgmma-to-ptx --split-input-file --verify-diagnostics | filecheck %s

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 1@laneid, 1)] + 4@warpid>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x8xf32, register, #d>

// Warpgroup 1 reads rows 0 to 63, warpgroup 2 those 8192 bytes (512 units of 16) on; slice 1 starts 32 bytes in.

// CHECK-LABEL: func.func @two_warpgroups(
// CHECK-NEXT:    wgmma.fence
// CHECK-NEXT:    %[[P:.*]] = tirx.address %a
// CHECK:         %[[START:.*]] = arith.andi
// CHECK-NEXT:    %[[LBO:.*]] = arith.constant 65536 : i32
// CHECK-NEXT:    %[[LOW:.*]] = arith.addi %[[START]], %[[LBO]] : i32
// CHECK-NEXT:    %[[TID:.*]] = ptx.read_special tid.x
// CHECK-NEXT:    %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-NEXT:    %[[GROUP:.*]] = arith.shrui %[[TID]], %[[SEVEN]] : i32
// CHECK-NEXT:    %[[BACK:.*]] = arith.constant -1 : i32
// CHECK-NEXT:    %[[OWN:.*]] = arith.addi %[[GROUP]], %[[BACK]] : i32
// CHECK-NEXT:    %[[NINE:.*]] = arith.constant 9 : i32
// CHECK-NEXT:    %[[ROWS:.*]] = arith.shli %[[OWN]], %[[NINE]] : i32
// CHECK-NEXT:    %[[OF_GROUP:.*]] = arith.addi %[[LOW]], %[[ROWS]] : i32
// CHECK-NEXT:    %[[FIELDS:.*]] = arith.constant 4611686293305294848 : i64
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extui %[[OF_GROUP]] : i32 to i64
// CHECK-NEXT:    %[[START2:.*]] = arith.ori %[[WIDE]], %[[FIELDS]] : i64
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-NEXT:    %[[A:.*]] = arith.addi %[[START2]], %[[TWO]] : i64
// CHECK:         %[[D:.*]], %{{.*}}, %{{.*}}, %{{.*}} = wgmma.mma_async "f16" "f16" a(%[[A]] : i64) b(%[[B:.*]]) -> f32, f32, f32, f32
// CHECK:         wgmma.mma_async "f16" "f16" a(%[[A]] : i64) b(%[[B]]) c(%[[D]], %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32, f32) scale_d %p -> f32, f32, f32, f32
// CHECK:         wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 0
// CHECK:         func.return
func.func @two_warpgroups(%a: !a, %p: i1) {
  wgmma.fence
  %0 = wgmma.smem_descriptor %a, 1 of 16 rows 64 from [0, 64] warpgroup 1 : !a -> i64
  %1 = wgmma.smem_descriptor %a, 1 of 16 rows 8 from [0] : !a -> i64
  %2 = wgmma.uninitialized : !d
  %3 = wgmma.mma_async "f16" "f16" n 8 a(%0 : i64) b(%1) c(%2 : !d) at 0 overwrite -> !tirx.pending<!d>
  %4 = wgmma.mma_async "f16" "f16" n 8 a(%0 : i64) b(%1) c(%3 : !tirx.pending<!d>) at 0 scale_d %p -> !tirx.pending<!d>
  wgmma.commit_group
  %5 = wgmma.wait_group 0 (%4 : !tirx.pending<!d>) -> !d
  func.return
}

// -----

// A product that overwrites the sums of another one takes over their registers: they are used up.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>
#d = #tirx.tile_layout<S[(4, 2, 8, 4, 2) : (1@warpid, 2, 4@laneid, 1@laneid, 1)]>
!d = !tirx.tile<64x8xf32, register, #d>

// CHECK-LABEL: func.func @taken_over(
// CHECK:         %[[D:.*]], %[[D1:.*]], %[[D2:.*]], %[[D3:.*]] = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) -> f32, f32, f32, f32
// CHECK:         %[[NEVER:.*]] = arith.constant false
// CHECK-NEXT:    wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%[[D]], %[[D1]], %[[D2]], %[[D3]] : f32, f32, f32, f32) scale_d %[[NEVER]] -> f32, f32, f32, f32
func.func @taken_over(%a: i64, %b: i64) {
  %2 = wgmma.uninitialized : !d
  %3 = wgmma.mma_async "f16" "f16" n 8 a(%a : i64) b(%b) c(%2 : !d) at 0 overwrite -> !tirx.pending<!d>
  wgmma.commit_group
  %4 = wgmma.wait_group 0 (%3 : !tirx.pending<!d>) -> !d
  %5 = wgmma.mma_async "f16" "f16" n 8 a(%a : i64) b(%b) c(%4 : !d) at 0 overwrite -> !tirx.pending<!d>
  func.return
}

// -----

// The second part of accumulators of f16, two to a register; A and metadata in registers.

#fragment = #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
#codes = #tirx.tile_layout<S[(4, 2, 8, 2, 4) : (1@warpid, 4, 4@laneid, 1@laneid, 1)]>
#d = #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!fragment = !tirx.tile<64x32xf16, register, #fragment>
!codes = !tirx.tile<64x8xi4, register, #codes>
!d = !tirx.tile<64x16xf16, register, #d>

// CHECK-LABEL: func.func @parts(
// CHECK:         %{{.*}}, %{{.*}}, %[[D2:.*]], %[[D3:.*]] = builtin.unrealized_conversion_cast %d
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[R4:.*]], %[[R5:.*]], %[[R6:.*]], %[[R7:.*]] = builtin.unrealized_conversion_cast %r
// CHECK:         wgmma.mma_async "f16" "f16" a(%[[R4]], %[[R5]], %[[R6]], %[[R7]] : i32, i32, i32, i32) b(%b) c(%[[D2]], %[[D3]] : i32, i32) transpose_b negate_a -> i32, i32
func.func @parts(%b: i64, %d: !d, %r: !fragment) {
  %1 = wgmma.mma_async "f16" "f16" n 8 a(%r : !fragment) b(%b) c(%d : !d) at 4 a_at 8 transpose_b negate_a -> !tirx.pending<!d>
  func.return
}

// -----

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[192, 64]>>
!a = !tirx.tile<192x64xf16, shared, #a>

func.func @unequal(%a: !a) {
  // expected-error@+1 {{expected warpgroups that are equally far apart in the tile, found descriptors that start at bytes 0, 16384, 8192}}
  %0 = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0, 128, 64] : !a -> i64
  func.return
}
