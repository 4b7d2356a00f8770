// RUN: tirx-opt %s --tirx-select-instructions --convert-tirx-to-mma | filecheck %s

#a = #tirx.tile_layout<S[(2, 8, 4, 4) : (1, 4@laneid, 2, 1@laneid)]>
#a1 = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c = #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>
#c1 = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
!a = !tirx.tile<16x16xf64, register, #a>
!b = !tirx.tile<8x16xf64, register, #tirx.tile_layout<S[(8, 4, 4) : (4@laneid, 1, 1@laneid)]>>
!c = !tirx.tile<16x8xf64, register, #c>

// A chain: first all steps of K of the first fragment of the accumulator, then those of the second. The numbers are the
// first slots of the fragments: A has its rows 8 apart in slot 1, its steps of K in slots 2 apart.

// CHECK-LABEL: tirx.kernel @f64
// CHECK:         %a = tirx.splat %f : f64
// CHECK-NEXT:    %b = tirx.splat %f : f64
// CHECK-NEXT:    %c = tirx.splat %f : f64
// CHECK-NEXT:    %0 = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %b[0], %c[0]
// CHECK-NEXT:    %1 = tirx.mma_sync "m8n8k4.row.col.f64" %a[1], %b[0], %0[2]
// CHECK-NEXT:    %2 = tirx.mma_sync "m8n8k4.row.col.f64" %a[2], %b[1], %1[0]
// CHECK-NEXT:    %3 = tirx.mma_sync "m8n8k4.row.col.f64" %a[3], %b[1], %2[2]
// CHECK-NEXT:    %4 = tirx.mma_sync "m8n8k4.row.col.f64" %a[4], %b[2], %3[0]
// CHECK-NEXT:    %5 = tirx.mma_sync "m8n8k4.row.col.f64" %a[5], %b[2], %4[2]
// CHECK-NEXT:    %6 = tirx.mma_sync "m8n8k4.row.col.f64" %a[6], %b[3], %5[0]
// CHECK-NEXT:    %d = tirx.mma_sync "m8n8k4.row.col.f64" %a[7], %b[3], %6[2]
// CHECK-NEXT:    %7 = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %b[0], %d[0]
// CHECK-NEXT:    %8 = tirx.mma_sync "m8n8k4.row.col.f64" %a[1], %b[0], %7[2]
// CHECK-NEXT:    %9 = tirx.mma_sync "m8n8k4.row.col.f64" %a[2], %b[1], %8[0]
// CHECK-NEXT:    %10 = tirx.mma_sync "m8n8k4.row.col.f64" %a[3], %b[1], %9[2]
// CHECK-NEXT:    %11 = tirx.mma_sync "m8n8k4.row.col.f64" %a[4], %b[2], %10[0]
// CHECK-NEXT:    %12 = tirx.mma_sync "m8n8k4.row.col.f64" %a[5], %b[2], %11[2]
// CHECK-NEXT:    %13 = tirx.mma_sync "m8n8k4.row.col.f64" %a[6], %b[3], %12[0]
// CHECK-NEXT:    %e = tirx.mma_sync "m8n8k4.row.col.f64" %a[7], %b[3], %13[2]
// CHECK-NEXT:    tirx.return
tirx.kernel @f64(%f: f64) target("sm_80") threads(32) {
  %a = tirx.splat %f : f64 -> !a
  %b = tirx.splat %f : f64 -> !b
  %c = tirx.splat %f : f64 -> !c
  %d = tirx.mma %a, %b, %c : !a, !b, !c -> !c
  %e = tirx.mma %a, %b, %d : !a, !b, !c -> !c
  tirx.return
}

// f16 on the GPUs that have it: four products of 8x8x4 in one instruction, in all orders of A and B.

#row = #tirx.tile_layout<S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]>
#col = #tirx.tile_layout<S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1, 1@laneid)]>
#acc = #tirx.tile_layout<S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]>
!row = !tirx.tile<4x8x4xf16, register, #row>
!col = !tirx.tile<4x8x4xf16, register, #col>
!acc = !tirx.tile<4x8x8xf32, register, #acc>
!acc16 = !tirx.tile<4x8x8xf16, register, #tirx.tile_layout<S[(4, 2, 4, 8) : (4@laneid, 16@laneid, 1@laneid, 1)]>>

// CHECK-LABEL: tirx.kernel @f16
// CHECK:         %row = tirx.splat %f : f16
// CHECK-NEXT:    %col = tirx.splat %f : f16
// CHECK-NEXT:    %acc = tirx.splat %x : f32
// CHECK-NEXT:    %acc16 = tirx.splat %f : f16
// CHECK-NEXT:    %0 = tirx.mma_sync "m8n8k4.row.col.f32.f16" %row[0], %row[0], %acc[0]
// CHECK-NEXT:    %1 = tirx.mma_sync "m8n8k4.row.row.f32.f16" %row[0], %col[0], %0[0]
// CHECK-NEXT:    %2 = tirx.mma_sync "m8n8k4.col.col.f32.f16" %col[0], %row[0], %1[0]
// CHECK-NEXT:    %3 = tirx.mma_sync "m8n8k4.col.row.f32.f16" %col[0], %col[0], %2[0]
// CHECK-NEXT:    %4 = tirx.mma_sync "m8n8k4.row.col.f16" %row[0], %row[0], %acc16[0]
// CHECK-NEXT:    tirx.return
tirx.kernel @f16(%f: f16, %x: f32) target("sm_75") threads(64) {
  %row = tirx.splat %f : f16 -> !row
  %col = tirx.splat %f : f16 -> !col
  %acc = tirx.splat %x : f32 -> !acc
  %acc16 = tirx.splat %f : f16 -> !acc16
  %0 = tirx.mma %row, %row, %acc : !row, !row, !acc -> !acc
  %1 = tirx.mma %row, %col, %0 : !row, !col, !acc -> !acc
  %2 = tirx.mma %col, %row, %1 : !col, !row, !acc -> !acc
  %3 = tirx.mma %col, %col, %2 : !col, !col, !acc -> !acc
  %4 = tirx.mma %row, %row, %acc16 : !row, !row, !acc16 -> !acc16
  tirx.return
}

// In a loop that carries the accumulator.

// CHECK-LABEL: tirx.kernel @loop
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %a = tirx.splat %f : f64
// CHECK-NEXT:    %c = tirx.splat %f : f64
// CHECK-NEXT:    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c)
// CHECK-NEXT:      %y = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %a[0], %x[0]
// CHECK-NEXT:      scf.yield %y
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @loop(%n: index, %f: f64) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.splat %f : f64 -> !tirx.tile<8x4xf64, register, #a1>
  %c = tirx.splat %f : f64 -> !tirx.tile<8x8xf64, register, #c1>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c) -> (!tirx.tile<8x8xf64, register, #c1>) {
    %y = tirx.mma %a, %a, %x : !tirx.tile<8x4xf64, register, #a1>, !tirx.tile<8x4xf64, register, #a1>, !tirx.tile<8x8xf64, register, #c1> -> !tirx.tile<8x8xf64, register, #c1>
    scf.yield %y : !tirx.tile<8x8xf64, register, #c1>
  }
  tirx.return
}

// Each fragment of the result starts from one of f16, which only the first step of K reads.

!h = !tirx.tile<4x8x8xf16, register, #tirx.tile_layout<S[(4, 2, 4, 2, 4) : (4@laneid, 16@laneid, 1@laneid, 4, 1)]>>
!half = !tirx.tile<4x8x8xf16, register, #tirx.tile_layout<S[(4, 2, 4, 8) : (4@laneid, 16@laneid, 1@laneid, 1)]>>
!wide = !tirx.tile<4x8x8xf32, register, #tirx.tile_layout<S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]>>

// CHECK-LABEL: tirx.kernel @narrow_start
// CHECK:         %c = tirx.splat
// CHECK-NEXT:    [[NONE:%.*]] = tirx.zero : !tirx.tile<4x8x8xf32
// CHECK-NEXT:    [[FIRST:%.*]] = tirx.mma_sync "m8n8k4.row.col.f32.f16" %h[0], %h[0], [[NONE]][0] from %c[0] : {{.*}}, !tirx.tile<4x8x8xf16
// CHECK-NEXT:    %d = tirx.mma_sync "m8n8k4.row.col.f32.f16" %h[4], %h[4], [[FIRST]][0] :
tirx.kernel @narrow_start(%f: f16) target("sm_70") threads(32) {
  %h = tirx.splat %f : f16 -> !h
  %c = tirx.splat %f : f16 -> !half
  %d = tirx.mma %h, %h, %c : !h, !h, !half -> !wide
  tirx.return
}
