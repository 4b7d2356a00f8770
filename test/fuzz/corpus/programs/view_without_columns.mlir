// pipeline: pipeline=off
tirx.kernel @k(%m0: memref<92x0xf32>, %m1: memref<92x0xf32>) target("sm_100a") grid(3) threads(128) {
  %v1 = arith.constant 0 : index
  %v2 = arith.constant 32 : index
  %v3 = tirx.block_id x
  %v4 = arith.muli %v3, %v2 : index
  %v5 = tirx.view %m0[%v4, %v1] clipped : memref<92x0xf32> -> !tirx.tile<32x32xf32, global>
  %v6 = tirx.view %m1[%v4, %v1] clipped : memref<92x0xf32> -> !tirx.tile<32x32xf32, global>
  %v7 = tirx.load %v5 : !tirx.tile<32x32xf32, global> -> !tirx.tile<32x32xf32, register>
  %v8 = tirx.convert %v7 : !tirx.tile<32x32xf32, register> -> !tirx.tile<32x32xf32, register>
  %v9 = tirx.alloc : !tirx.tile<32x32xf32, shared>
  %v10 = tirx.alloc : !tirx.tile<32x32xf32, register>
  %v11 = arith.constant -1.0 : f32
  tirx.fill %v10, %v11 : f32, !tirx.tile<32x32xf32, register>
  %v12 = tirx.load %v9 : !tirx.tile<32x32xf32, shared> -> !tirx.tile<32x32xf32, register>
  %v13 = arith.constant -1.0 : f32
  %v16 = tirx.map ins(%v10, %v10 : !tirx.tile<32x32xf32, register>, !tirx.tile<32x32xf32, register>) {
  ^bb0(%v14: f32, %v15: f32):
    %v17 = arith.maximumf %v14, %v15 : f32
    %v18 = math.absf %v17 : f32
    %v19 = arith.constant -3.0 : f32
    %v20 = arith.constant 3.0 : f32
    %v21 = arith.maximumf %v18, %v19 : f32
    %v22 = arith.minimumf %v21, %v20 : f32
    tirx.yield %v22 : f32
  } -> !tirx.tile<32x32xf32, register>
  %v23 = arith.constant 3 : index
  %v24 = arith.cmpi eq, %v3, %v23 : index
  scf.if %v24 {
    tirx.map ins(%v8 : !tirx.tile<32x32xf32, register>) outs(%v10 : !tirx.tile<32x32xf32, register>) {
    ^bb0(%v25: f32):
      %v27 = arith.constant -3.0 : f32
      %v28 = arith.constant 3.0 : f32
      %v29 = arith.maximumf %v25, %v27 : f32
      %v30 = arith.minimumf %v29, %v28 : f32
      tirx.yield %v30 : f32
    }
    %v33 = arith.constant 0 : index
    %v34 = arith.constant 0 : index
    %v35 = arith.constant 1 : index
    %v31 = scf.for %v36 = %v33 to %v34 step %v35 iter_args(%v32 = %v12) -> (!tirx.tile<32x32xf32, register>) {
      tirx.map ins(%v10 : !tirx.tile<32x32xf32, register>) outs(%v10 : !tirx.tile<32x32xf32, register>) {
      ^bb0(%v37: f32):
        %v39 = arith.constant -3.0 : f32
        %v40 = arith.constant 3.0 : f32
        %v41 = arith.maximumf %v37, %v39 : f32
        %v42 = arith.minimumf %v41, %v40 : f32
        tirx.yield %v42 : f32
      }
      scf.yield %v7 : !tirx.tile<32x32xf32, register>
    }
  }
  tirx.copy %v16, %v6 : !tirx.tile<32x32xf32, register>, !tirx.tile<32x32xf32, global>
  tirx.return
}
