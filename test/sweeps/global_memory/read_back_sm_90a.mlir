// pipeline: multiprocessors=1
// A persistent kernel reads a part of each tile that it has stored.

!s = !tirx.tile<64x16xf16, shared>
!g = !tirx.tile<64x16xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @read_back_sm_90a(%a: memref<192x64xf16>, %b: memref<64x64xf16>, %d: memref<192x64xf16>, %e: memref<192x32xf16>) target("sm_90a") grid(1, 3) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %m = arith.muli %i, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c64 step %c16 {
    %ga = tirx.view %a[%m, %k] : memref<192x64xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x64xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%x: f32):
    %r = arith.truncf %x : f32 to f16
    tirx.yield %r : f16
  } -> !tirx.tile<64x64xf16, register>
  %gd = tirx.view %d[%m, %c0] : memref<192x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.copy %y, %gd : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, global>
  %m8 = arith.addi %m, %c8 : index
  %gp = tirx.view %d[%m8, %c16] : memref<192x64xf16> -> !tirx.tile<32x32xf16, global>
  %p = tirx.load %gp : !tirx.tile<32x32xf16, global> -> !tirx.tile<32x32xf16, register>
  %ge = tirx.view %e[%m, %c0] : memref<192x32xf16> -> !tirx.tile<32x32xf16, global>
  tirx.store %p, %ge : !tirx.tile<32x32xf16, register>, !tirx.tile<32x32xf16, global>
  tirx.return
}
