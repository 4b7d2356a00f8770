// RUN: tirx-opt %s --tirx-any-strides | filecheck %s
// RUN: tirx-opt %s --lower-to-ptx="target=sm_90a strides=any" | filecheck %s --check-prefix ANY
// RUN: tirx-opt %s --lower-to-ptx="target=sm_80 strides=any" | filecheck %s --check-prefix ANY
// RUN: tirx-opt %s --lower-to-ptx="target=sm_90a" | filecheck %s --check-prefix TMA

!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>

// CHECK: tirx.kernel @copy({{.*}}) target("sm_90a") grid(1) threads(128) attributes {tirx.any_strides}
// ANY-NOT: cp.async
// ANY: ld.global{{.*}}.v4
// ANY: ld.global{{.*}}.b16
// ANY-NOT: cp.async
// TMA: cp.async.bulk.tensor
tirx.kernel @copy(%a: memref<?x?xf16>, %d: memref<?x?xf16>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] clipped : memref<?x?xf16> -> !g
  %gd = tirx.view %d[%c0, %c0] clipped : memref<?x?xf16> -> !g
  tirx.copy %ga, %s : !g, !s
  tirx.copy %s, %gd : !s, !g
  tirx.return
}
