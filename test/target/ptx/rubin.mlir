// RUN: tirx-opt %s -t ptx | filecheck %s

// What registers of sm_107a have: two of four elements, with their indices.

// CHECK-LABEL: .visible .entry registers(
// CHECK:       spcompress
// CHECK:       spdecompress
ptx.entry @registers(x : u32, y : u32, d : u64 ptr) target("sm_107a") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i32
  %d = ptx.ld.param @d : i64
  %m, %c0, %c1 = ptx.spcompress "b16" "b4" %x, %y, %x, %y by %y -> i32, i32, i32
  %e:4 = ptx.spdecompress "b16" "b4" "2:4" 2 metadata(%m) %c0, %c1 -> i32, i32, i32, i32
  ptx.st global %d, %e#0, %e#1, %e#2, %e#3 : i64, i32, i32, i32, i32
  ptx.ret
}
