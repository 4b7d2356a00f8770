// RUN: tirx-opt --split-input-file %s | filecheck %s
// RUN: not tirx-opt %s 2>&1 | filecheck %s --check-prefix=WHOLE

// CHECK:      func.func @f()
// CHECK:      {{^}}// -----{{$}}
// CHECK:      func.func @f()
// CHECK-NOT:  // -----
// WHOLE: split-input-file.mlir:{{[0-9]+}}:{{[0-9]+}}: error:
#alias = 1 : i32
func.func @f() {
  func.return
}

//-------------------------------------------------------- a ruler is not the end of a chunk
// ------------------------------------------------------- and neither is this one

// -----

#alias = 2 : i32
func.func @f() {
  func.return
}
