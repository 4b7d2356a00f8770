// RUN: tirx-opt --tirx-specialize="D=64" --allow-unregistered-dialect %s | filecheck %s

// A parameter that the launch knows is what the types of the arguments say, or what the kernel requires of them.

// CHECK-LABEL: tirx.kernel @known(
// CHECK-SAME:    attributes {tirx.params = {H = 4 : i64, D = 64 : i64}} {
// CHECK:         %d = arith.constant 64 : index
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    "test.op"(%d, %four) {nested = {size = 128 : i64, same = 3 : i32}}
tirx.kernel @known(%a: memref<?x256xf16>, %b: memref<?x64xf16>) target("sm_90a")
    params(H = ceildiv(size(0, 1), size(1, 1)) in [4, 8], D = size(1, 1) in [128, 64]) grid(1) threads(128) {
  %d = tirx.param D : index
  %four = tirx.param H : index
  "test.op"(%d, %four) {nested = {size = #tirx.size<D * 2>, same = 3 : i32}} : (index, index) -> ()
  tirx.return
}

// CHECK-LABEL: tirx.kernel @open(
// CHECK-SAME:    [#ptx.formula<size(0, 1)>, "equal", #ptx.formula<64>, "expected D = 64, as the kernel is compiled for"]
// CHECK:         arith.constant 64 : index
tirx.kernel @open(%a: memref<?x?xf16>) target("sm_90a") params(D = size(0, 1) in [128, 64]) grid(1) threads(128) {
  %d = tirx.param D : index
  "test.op"(%d) : (index) -> ()
  tirx.return
}

// A formula that is a number now is a constant; of others the parameter is one.
// CHECK-LABEL: tirx.kernel @formulas(
// CHECK:         %d = arith.constant 64 : index
// CHECK-NEXT:    %m = tirx.launch_value ceildiv(size(0, 0), 64)
// CHECK-NEXT:    "test.op"(%d, %m)
tirx.kernel @formulas(%a: memref<?x256xf16>) target("sm_90a") params(D in [64, 128]) grid(1) threads(128) {
  %d = tirx.launch_value D
  %m = tirx.launch_value ceildiv(size(0, 0), D)
  "test.op"(%d, %m) : (index, index) -> ()
  tirx.return
}
