// RUN: tirx-opt %s --split-input-file --verify-diagnostics

tirx.kernel @k(%x: !tirx.tile<8x4xf32, register>, %g: !tirx.tile<8x4xf32, global>, %n: i32) threads(32) {
  // expected-error@+1 {{expected a scalar, or a tile in registers or shared memory, of i1, index, i8, i16, i32, i64, f16, bf16, tf32, f32, f64, found !tirx.tile<8x4xf32, global>}}
  tirx.print "g", %g : !tirx.tile<8x4xf32, global>
  // expected-error@+1 {{expected a scalar, or a tile in registers or shared memory, of i1, i8, i16, i32, i64, found !tirx.tile<8x4xf32, register>}}
  tirx.assert %x, "x" : !tirx.tile<8x4xf32, register>
  // expected-error@+1 {{expected a scalar, or a tile in registers or shared memory, of i1, found i32}}
  tirx.assert %n, "n" : i32
  tirx.return
}
