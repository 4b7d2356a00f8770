// pipeline: stages=3
tirx.kernel @k(%m0: memref<128x256xf16>, %m1: memref<16x256xf16>, %m2: memref<64x64xf16>, %m3: memref<128x64xf32>) target("sm_100a") grid(1) threads(256) {
  %v1 = arith.constant 128 : index
  %v2 = tirx.block_id x
  %v3 = arith.muli %v2, %v1 : index
  %v4 = arith.constant 0 : index
  %v5 = arith.constant 64 : index
  %v6 = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %v7 = tirx.alloc : !tirx.tile<16x64xf16, shared>
  %v8 = tirx.alloc : !tirx.tile<128x16xf32, tensor>
  %v9 = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %v10 = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  %v11 = arith.constant 0.0 : f32
  tirx.fill %v10, %v11 : f32, !tirx.tile<128x64xf32, tensor>
  %v12 = arith.constant 256 : index
  scf.for %v13 = %v4 to %v12 step %v5 {
    %v14 = tirx.view %m0[%v3, %v13] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    tirx.copy %v14, %v6 : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    %v15 = tirx.view %m1[%v4, %v13] : memref<16x256xf16> -> !tirx.tile<16x64xf16, global>
    tirx.copy %v15, %v7 : !tirx.tile<16x64xf16, global>, !tirx.tile<16x64xf16, shared>
    %v16 = arith.divsi %v13, %v5 : index
    %v17 = arith.constant 16 : index
    %v18 = arith.muli %v16, %v17 : index
    %v19 = tirx.view %m2[%v4, %v18] : memref<64x64xf16> -> !tirx.tile<64x16xf16, global>
    tirx.copy %v19, %v9 : !tirx.tile<64x16xf16, global>, !tirx.tile<64x16xf16, shared>
    %v20 = arith.constant 0.0 : f32
    tirx.fill %v8, %v20 : f32, !tirx.tile<128x16xf32, tensor>
    tirx.mma %v6, %v7, %v8 : !tirx.tile<128x64xf16, shared>, !tirx.tile<16x64xf16, shared>, !tirx.tile<128x16xf32, tensor>
    %v21 = tirx.load %v8 : !tirx.tile<128x16xf32, tensor> -> !tirx.tile<128x16xf32, register>
    %v22 = tirx.map ins(%v21 : !tirx.tile<128x16xf32, register>) {
    ^bb0(%v23: f32):
    %v24 = arith.constant 0.0625 : f32
    %v25 = arith.mulf %v23, %v24 : f32
    tirx.yield %v25 : f32
    } -> !tirx.tile<128x16xf32, register>
    %v26 = tirx.map ins(%v22 : !tirx.tile<128x16xf32, register>) {
    ^bb0(%v27: f32):
    %v28 = arith.constant 0.0625 : f32
    %v29 = arith.mulf %v27, %v28 : f32
    %v30 = arith.truncf %v29 : f32 to f16
    tirx.yield %v30 : f16
    } -> !tirx.tile<128x16xf16, register>
    %v31 = tirx.alloc : !tirx.tile<128x16xf16, tensor>
    tirx.store %v26, %v31 : !tirx.tile<128x16xf16, register>, !tirx.tile<128x16xf16, tensor>
    tirx.mma %v31, %v9, %v10 : !tirx.tile<128x16xf16, tensor>, !tirx.tile<64x16xf16, shared>, !tirx.tile<128x64xf32, tensor>
  }
  %v32 = arith.constant 0 : index
  %v33 = tirx.load %v10 : !tirx.tile<128x64xf32, tensor> -> !tirx.tile<128x64xf32, register>
  %v34 = tirx.map ins(%v33 : !tirx.tile<128x64xf32, register>) {
  ^bb0(%v35: f32):
  tirx.yield %v35 : f32
  } -> !tirx.tile<128x64xf32, register>
  %v36 = tirx.view %m3[%v3, %v32] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %v34, %v36 : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, global>
  tirx.return
}