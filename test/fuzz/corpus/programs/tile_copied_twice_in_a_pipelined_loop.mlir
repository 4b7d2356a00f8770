// pipeline: stages=2
tirx.kernel @two(%a: memref<128x256xf16>, %c: memref<128x256xf16>, %b: memref<128x256xf16>, %d: memref<128x64xf32>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, register>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gc = tirx.view %c[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<128x256xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gc, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register>
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, global>
  tirx.return
}
