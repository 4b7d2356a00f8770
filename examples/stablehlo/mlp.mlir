module @jit_mlp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x64xf16>, %arg1: tensor<64x128xf16>, %arg2: tensor<128xf32>, %arg3: tensor<128x64xf16>) -> (tensor<128x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<128x128xf32>
    %3 = stablehlo.add %0, %2 : tensor<128x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<128x128xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<128x128xf32>
    %6 = stablehlo.convert %5 : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %7 = stablehlo.dot_general %6, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x128xf16>, tensor<128x64xf16>) -> tensor<128x64xf32>
    return %7 : tensor<128x64xf32>
  }
}
