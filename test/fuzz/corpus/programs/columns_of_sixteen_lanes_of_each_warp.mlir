// pipeline: pipeline=off
tirx.kernel @k(%m0: memref<?x5x1xf32>, %m1: memref<?x5x1xf32>) target("sm_100a") grid(1) threads(128) {
  %v1 = arith.constant 0 : index
  %v5 = tirx.view %m0[%v1, %v1, %v1] clipped : memref<?x5x1xf32> -> !tirx.tile<4x64x1xf32, global>
  %v6 = tirx.view %m1[%v1, %v1, %v1] clipped : memref<?x5x1xf32> -> !tirx.tile<4x64x1xf32, global>
  %v7 = tirx.load %v5 : !tirx.tile<4x64x1xf32, global> -> !tirx.tile<4x64x1xf32, register>
  %v22 = tirx.alloc : !tirx.tile<4x64x1xf32, tensor>
  tirx.copy %v7, %v22 : !tirx.tile<4x64x1xf32, register>, !tirx.tile<4x64x1xf32, tensor>
  tirx.copy %v22, %v6 : !tirx.tile<4x64x1xf32, tensor>, !tirx.tile<4x64x1xf32, global>
  tirx.return
}
