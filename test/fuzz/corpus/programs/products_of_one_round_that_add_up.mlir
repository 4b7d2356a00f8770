// pipeline: 
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
tirx.kernel @chain(%a: memref<128x64xf16>, %b: memref<256x64xf16>, %c: memref<64x256xf16>, %d: memref<128x64xf32>) target("sm_90a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 0.0625 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %o = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c256 step %c64 {
    %gb = tirx.view %b[%k, %c0] : memref<256x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x256xf16> -> !gb
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gb, !b
    tirx.fill %s, %zero : f32, !s
    tirx.mma %sa, %sb, %s : !a, !b, !s
    tirx.mma %sa, %sb, %s : !a, !b, !s
    %w = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    } -> !s
    %h = tirx.map ins(%w : !s) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !h

    tirx.map ins(%o, %w : !s, !s) outs(%o : !s) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tirx.yield %z : f32
    }
    tirx.mma %h, %sc, %o : !h, !b, !s
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %o, %gd : !s, !tirx.tile<128x64xf32, global>
  tirx.return
}
