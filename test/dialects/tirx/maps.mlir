// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

!x = !tirx.tile<16x32xf32, register>
!h = !tirx.tile<16x32xf16, register>
!row = !tirx.tile<1x32xf16, register>
!sum = !tirx.tile<16x1xf32, register>

// CHECK-LABEL: tirx.kernel @maps
tirx.kernel @maps(%s: f32) target("sm_80") threads(32) {
  %zero = arith.constant 0.0 : f32
  // CHECK: [[X:%.*]] = tirx.alloc : !tirx.tile<16x32xf32, register>
  %x = tirx.alloc : !x
  %row = tirx.alloc : !row
  // CHECK: %y, %z = tirx.map ins(%x, %row : !tirx.tile<16x32xf32, register>, !tirx.tile<1x32xf16, register>) attributes {tag} {
  // CHECK-NEXT: ^bb0(%a: f32, %b: f16):
  %y, %z = tirx.map ins(%x, %row : !x, !row) attributes {tag} {
  ^bb0(%a: f32, %b: f16):
    %c = arith.extf %b : f16 to f32
    %d = arith.addf %a, %c : f32
    %e = arith.mulf %d, %s : f32
    %h = arith.truncf %e : f32 to f16
    // CHECK: tirx.yield %h, %d : f16, f32
    tirx.yield %h, %d : f16, f32
  // CHECK-NEXT: } -> !tirx.tile<16x32xf16, register>, !tirx.tile<16x32xf32, register>
  } -> !h, !x
  // CHECK: tirx.map outs(%x : !tirx.tile<16x32xf32, register>) {
  tirx.map outs(%x : !x) {
    // CHECK-NEXT: %i = tirx.index 0
    // CHECK-NEXT: %j = tirx.index 1 {tag}
    %i = tirx.index 0
    %j = tirx.index 1 {tag}
    %p = arith.cmpi ult, %i, %j : index
    %v = arith.select %p, %s, %zero : f32
    // CHECK: tirx.yield %v : f32
    tirx.yield %v : f32
  // CHECK-NEXT: }
  }
  // CHECK: %sum = tirx.reduce %z dim(1) add {tag} : !tirx.tile<16x32xf32, register> -> !tirx.tile<16x1xf32, register>
  %sum = tirx.reduce %z dim(1) add {tag} : !x -> !sum
  // CHECK-NEXT: %most = tirx.reduce %z dim(0, 1) max : !tirx.tile<16x32xf32, register> -> !tirx.tile<1x1xf32, register>
  %most = tirx.reduce %z dim(0, 1) max : !x -> !tirx.tile<1x1xf32, register>
  // CHECK-NEXT: %wide = tirx.broadcast %sum : !tirx.tile<16x1xf32, register> -> !tirx.tile<16x32xf32, register>
  %wide = tirx.broadcast %sum : !sum -> !x
  // CHECK-NEXT: %other = tirx.convert %wide : !tirx.tile<16x32xf32, register> -> !tirx.tile<16x32xf32, register>
  %other = tirx.convert %wide : !x -> !x
  tirx.return
}
