// pipeline: stages=2
// Each round of a block stores what the next one multiplies.

!s = !tirx.tile<64x32xf16, shared>
!g = !tirx.tile<64x32xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @next_source(%m: memref<512x64xf16>, %b: memref<64x64xf16>) target("sm_90a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id x
  %first = arith.muli %i, %c256 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  scf.for %t = %c0 to %c3 step %c1 {
    %above = arith.muli %t, %c64 : index
    %row = arith.addi %first, %above : index
    %next = arith.addi %row, %c64 : index
    tirx.fill %acc, %zero : f32, !acc
    scf.for %k = %c0 to %c64 step %c32 {
      %ga = tirx.view %m[%row, %k] : memref<512x64xf16> -> !g
      %gb = tirx.view %b[%c0, %k] : memref<64x64xf16> -> !g
      tirx.copy %ga, %sa : !g, !s
      tirx.copy %gb, %sb : !g, !s
      tirx.mma %sa, %sb, %acc : !s, !s, !acc
    }
    %y = tirx.map ins(%acc : !acc) {
    ^bb0(%x: f32):
      %low = arith.constant -2.0 : f32
      %high = arith.constant 2.0 : f32
      %u = arith.maximumf %x, %low : f32
      %v = arith.minimumf %u, %high : f32
      %r = arith.truncf %v : f32 to f16
      tirx.yield %r : f16
    } -> !tirx.tile<64x64xf16, register>
    %gd = tirx.view %m[%next, %c0] : memref<512x64xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %y, %gd : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, global>
  }
  tirx.return
}
