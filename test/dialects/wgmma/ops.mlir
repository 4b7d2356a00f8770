// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)] + 4@warpid>
#fragment = #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
#codes = #tirx.tile_layout<S[(4, 2, 8, 2, 4) : (1@warpid, 4, 4@laneid, 1@laneid, 1)]>
#d64 = #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x64xf32, register, #d>
!a16 = !tirx.tile<64x16xf16, register, #fragment>
!d64 = !tirx.tile<64x64xf32, register, #d64>
!codes = !tirx.tile<64x8xi4, register, #codes>

// CHECK-LABEL: func.func @two_warpgroups(
// CHECK-NEXT:    wgmma.fence
// CHECK-NEXT:    %0 = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [0, 64] warpgroup 1 : !tirx.tile<128x64xf16, shared, {{.*}}> -> i64
// CHECK-NEXT:    %1 = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [0] {tag} : !tirx.tile<128x64xf16, shared, {{.*}}> -> i64
// CHECK-NEXT:    %2 = wgmma.uninitialized : !tirx.tile<128x64xf32, register, [[D:.*]]>
// CHECK-NEXT:    %3 = wgmma.mma_async "f16" "f16" n 64 a(%0 : i64) b(%1) c(%2 : !tirx.tile<128x64xf32, register, [[D]]>) at 0 overwrite -> !tirx.pending<!tirx.tile<128x64xf32, register, [[D]]>>
// CHECK-NEXT:    %4 = wgmma.mma_async "f16" "f16" n 64 a(%0 : i64) b(%1) c(%3 : !tirx.pending<!tirx.tile<128x64xf32, register, [[D]]>>) at 0 scale_d %p negate_a negate_b {tag} -> !tirx.pending<!tirx.tile<128x64xf32, register, [[D]]>>
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 1
// CHECK-NEXT:    %5 = wgmma.wait_group 0(%4 : !tirx.pending<!tirx.tile<128x64xf32, register, [[D]]>>) -> !tirx.tile<128x64xf32, register, [[D]]> {tag}
func.func @two_warpgroups(%a: !a, %p: i1) {
  wgmma.fence
  %0 = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [0, 64] warpgroup 1 : !a -> i64
  %1 = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [0] {tag} : !a -> i64
  %2 = wgmma.uninitialized : !d
  %3 = wgmma.mma_async "f16" "f16" n 64 a(%0 : i64) b(%1) c(%2 : !d) at 0 overwrite -> !tirx.pending<!d>
  %4 = wgmma.mma_async "f16" "f16" n 64 a(%0 : i64) b(%1) c(%3 : !tirx.pending<!d>) at 0 scale_d %p negate_a negate_b {tag} -> !tirx.pending<!d>
  wgmma.commit_group
  wgmma.wait_group 1
  %5 = wgmma.wait_group 0 (%4 : !tirx.pending<!d>) -> !d {tag}
  func.return
}

// A part of the accumulators; A in registers; sparse A.

// CHECK-LABEL: func.func @parts(
// CHECK-NEXT:    %0 = wgmma.smem_descriptor %a, 0 of 16 rows 32 from [32] : {{.*}} -> i64
// CHECK-NEXT:    %1 = wgmma.mma_async "f16" "f16" n 32 a(%r : {{.*}}) b(%0) c(%d : {{.*}}) at 16 a_at 0 -> {{.*}}
// CHECK-NEXT:    %2 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%1 : {{.*}}) at 0 metadata(%e : {{.*}}) metadata_at 0 selector 1 transpose_a transpose_b -> {{.*}}
func.func @parts(%a: !a, %x: i64, %d: !d64, %r: !a16, %e: !codes) {
  %0 = wgmma.smem_descriptor %a, 0 of 16 rows 32 from [32] : !a -> i64
  %1 = wgmma.mma_async "f16" "f16" n 32 a(%r : !a16) b(%0) c(%d : !d64) at 16 a_at 0 -> !tirx.pending<!d64>
  %2 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%1 : !tirx.pending<!d64>) at 0 metadata(%e : !codes) metadata_at 0 selector 1 transpose_a transpose_b -> !tirx.pending<!d64>
  func.return
}
