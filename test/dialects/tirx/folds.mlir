// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

!x = !tirx.tile<16x32xf32, register>
!i = !tirx.tile<16x32xi32, register>
!m = !tirx.tile<16x1xf32, register>
!n = !tirx.tile<16x1xi32, register>

// CHECK-LABEL: tirx.kernel @folds
tirx.kernel @folds(%s: f32) target("sm_80") threads(32) {
  %x = tirx.zero : !x
  %i = tirx.zero : !i
  %c = tirx.zero : !m
  %d = tirx.zero : !n
  // CHECK: %y = tirx.scan %x dim(1) add {tag} : !tirx.tile<16x32xf32, register> -> !tirx.tile<16x32xf32, register>
  %y = tirx.scan %x dim(1) add {tag} : !x -> !x
  // CHECK-NEXT: %z, %all = tirx.scan %x dim(1) max exclusive reverse init(%c : !tirx.tile<16x1xf32, register>) : !tirx.tile<16x32xf32, register> -> !tirx.tile<16x32xf32, register>, !tirx.tile<16x1xf32, register>
  %z, %all = tirx.scan %x dim(1) max reverse init(%c : !m) exclusive : !x -> !x, !m
  // CHECK-NEXT: %p, %q = tirx.scan ins(%x, %i : !tirx.tile<16x32xf32, register>, !tirx.tile<16x32xi32, register>) dim(1) reverse init(%c, %d : !tirx.tile<16x1xf32, register>, !tirx.tile<16x1xi32, register>) attributes {tag} {
  // CHECK-NEXT: ^bb0(%a0: f32, %a1: i32, %b0: f32, %b1: i32):
  %p, %q = tirx.scan ins(%x, %i : !x, !i) dim(1) reverse init(%c, %d : !m, !n) attributes {tag} {
  ^bb0(%a0: f32, %a1: i32, %b0: f32, %b1: i32):
    %e = arith.addf %a0, %b0 : f32
    %f = arith.maxsi %a1, %b1 : i32
    // CHECK: tirx.yield %e, %f : f32, i32
    tirx.yield %e, %f : f32, i32
  // CHECK-NEXT: } -> !tirx.tile<16x32xf32, register>, !tirx.tile<16x32xi32, register>
  } -> !x, !i
  // CHECK-NEXT: %sum = tirx.reduce ins(%x : !tirx.tile<16x32xf32, register>) dim(0, 1) {
  %sum = tirx.reduce ins(%x : !x) dim(0, 1) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    tirx.yield %t : f32
  // CHECK: } -> !tirx.tile<1x1xf32, register>
  } -> !tirx.tile<1x1xf32, register>
  tirx.return
}
