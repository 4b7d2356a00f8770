// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-pipeline-loops

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @cannot(%a: memref<64x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
    // expected-error@+1 {{expected a loop that can be pipelined for tirx.stages, found that %sa keeps one buffer: 'tirx.copy' writes it behind 'tirx.load', which reads it}}
    tirx.copy %ga, %sa : !g, !s
  } {tirx.stages = 4 : i32}
  tirx.return
}

// -----

!s = !tirx.tile<256x256xf16, shared, #tirx.tile_layout<S[256, 256]>>
!g = !tirx.tile<256x256xf16, global>
!f = !tirx.tile<256x256xf16, register>
tirx.kernel @room(%a: memref<256x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  // expected-error@+1 {{expected room for tirx.stages, found none for 2 slots of 131072 bytes, with 231424 bytes of shared memory left}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<256x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  } {tirx.stages = 2 : i32}
  tirx.return
}

// -----

tirx.kernel @wrong(%n: index) target("sm_90") threads(128) {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected tirx.stages to be an integer of 1 or more, found 0 : i32}}
  scf.for %k = %c1 to %n step %c1 {
  } {tirx.stages = 0 : i32}
  tirx.return
}

// -----

tirx.kernel @nothing(%n: index) target("sm_90") threads(128) {
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{expected a loop that copies global tiles to shared memory for tirx.stages}}
  scf.for %k = %c1 to %n step %c1 {
  } {tirx.stages = 2 : i32}
  tirx.return
}
