// RUN: tirx-opt %s --tirx-select-instructions --convert-tirx-to-mma | filecheck %s

!a = !tirx.tile<16x16xf64, register, #tirx.tile_layout<S[(2, 8, 4, 4) : (1, 4@laneid, 2, 1@laneid)]>>
!b = !tirx.tile<8x16xf64, register, #tirx.tile_layout<S[(8, 4, 4) : (4@laneid, 1, 1@laneid)]>>
!c = !tirx.tile<16x8xf64, register, #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>>

// These f64 registers are eight fragments of m8n8k4, four pairs of them for m16n8k4, two for m16n8k8, or one for
// m16n8k16: m8n8k4 by default, otherwise what the product asks for.

// CHECK-LABEL: tirx.kernel @f64
// CHECK:         %d = tirx.mma_sync "m16n8k16.row.col.f64" %a[0], %b[0], %c[0]
// CHECK-NEXT:    %0 = tirx.mma_sync "m16n8k8.row.col.f64" %a[0], %b[0], %d[0]
// CHECK-NEXT:    %e = tirx.mma_sync "m16n8k8.row.col.f64" %a[4], %b[2], %0[0]
// CHECK-NEXT:    tirx.return
tirx.kernel @f64(%f: f64) target("sm_90") threads(32) {
  %a = tirx.splat %f : f64 -> !a
  %b = tirx.splat %f : f64 -> !b
  %c = tirx.splat %f : f64 -> !c
  %d = tirx.mma %a, %b, %c instruction("m16n8k16") : !a, !b, !c -> !c
  %e = tirx.mma %a, %b, %d instruction("m16n8k8") : !a, !b, !c -> !c
  tirx.return
}

#a16 = #tirx.tile_layout<S[(2, 8, 3, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>
#b16 = #tirx.tile_layout<S[(8, 3, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>
!a16 = !tirx.tile<16x24xbf16, register, #a16>
!b16 = !tirx.tile<8x24xbf16, register, #b16>
!acc = !tirx.tile<16x8xf32, register, #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>>

// The largest instructions first, and what is left over.

// CHECK-LABEL: tirx.kernel @bf16
// CHECK:         %0 = tirx.mma_sync "m16n8k16.row.col.f32.bf16" %a[0], %b[0], %c[0]
// CHECK-NEXT:    %d = tirx.mma_sync "m16n8k8.row.col.f32.bf16" %a[8], %b[4], %0[0]
// CHECK-NEXT:    tirx.return
tirx.kernel @bf16(%f: bf16, %x: f32) target("sm_80") threads(32) {
  %a = tirx.splat %f : bf16 -> !a16
  %b = tirx.splat %f : bf16 -> !b16
  %c = tirx.splat %x : f32 -> !acc
  %d = tirx.mma %a, %b, %c : !a16, !b16, !acc -> !acc
  tirx.return
}
