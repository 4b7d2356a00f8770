// RUN: tirx-opt %s --lower-to-ptx="target=sm_80 lines=on" -t ptx | filecheck %s
// RUN: tirx-opt %s --lower-to-ptx="target=sm_80" -t ptx | filecheck %s --check-prefix OFF

// CHECK:      .file 1 "{{.*}}tirx-keep-lines.mlir"
// CHECK:      .loc 1 18 3
// CHECK:      st.global
// CHECK:      .loc 1 19 3
// CHECK-NEXT: ret;
// OFF-NOT:    .loc
tirx.kernel @fill(%a: memref<4xf32>) grid(1) threads(1) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32





  memref.store %one, %a[%c0] : memref<4xf32>
  tirx.return
}
