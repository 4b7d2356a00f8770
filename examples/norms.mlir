// Layer norm and RMS norm of any number of rows of 512 f16, computed in f32; gamma and beta are f16.
// Eight rows in a block: two in each warp, at the same time.
//
//   tirx-opt --lower-to-ptx norms.mlir

!tile = !tirx.tile<8x512xf32, register>
!half = !tirx.tile<8x512xf16, register>
!memory = !tirx.tile<8x512xf16, global>
!row = !tirx.tile<8x1xf32, register>
!weights = !tirx.tile<1x512xf16, register>

// y = (x - mean(x)) / sqrt(variance(x) + eps) * gamma + beta

tirx.kernel @layer_norm(%x: memref<?x512xf16>, %gamma: memref<1x512xf16>, %beta: memref<1x512xf16>,
    %y: memref<?x512xf16>, %eps: f32) target("sm_80") grid(ceildiv(size(0, 0), 8)) threads(128) {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %share = arith.constant 0.001953125 : f32
  %i = tirx.block_id x
  %first = arith.muli %i, %rows : index
  %gx = tirx.view %x[%first, %c0] clipped : memref<?x512xf16> -> !memory
  %gy = tirx.view %y[%first, %c0] clipped : memref<?x512xf16> -> !memory
  %ggamma = tirx.view %gamma[%c0, %c0] : memref<1x512xf16> -> !tirx.tile<1x512xf16, global>
  %gbeta = tirx.view %beta[%c0, %c0] : memref<1x512xf16> -> !tirx.tile<1x512xf16, global>

  %halves = tirx.load %gx : !memory -> !half
  %scale = tirx.load %ggamma : !tirx.tile<1x512xf16, global> -> !weights
  %shift = tirx.load %gbeta : !tirx.tile<1x512xf16, global> -> !weights
  %tile = tirx.map ins(%halves : !half) {
  ^bb0(%h: f16):
    %f = arith.extf %h : f16 to f32
    tirx.yield %f : f32
  } -> !tile
  %sums = tirx.reduce %tile dim(1) add : !tile -> !row
  %centred, %squares = tirx.map ins(%tile, %sums : !tile, !row) {
  ^bb0(%a: f32, %s: f32):
    %mean = arith.mulf %s, %share : f32
    %d = arith.subf %a, %mean : f32
    %q = arith.mulf %d, %d : f32
    tirx.yield %d, %q : f32, f32
  } -> !tile, !tile
  %spread = tirx.reduce %squares dim(1) add : !tile -> !row
  %factor = tirx.map ins(%spread : !row) {
  ^bb0(%s: f32):
    %v = math.fma %s, %share, %eps : f32
    %f = math.rsqrt %v : f32
    tirx.yield %f : f32
  } -> !row
  %result = tirx.map ins(%centred, %factor, %scale, %shift : !tile, !row, !weights, !weights) {
  ^bb0(%d: f32, %f: f32, %gh: f16, %bh: f16):
    %g = arith.extf %gh : f16 to f32
    %b = arith.extf %bh : f16 to f32
    %n = arith.mulf %d, %f : f32
    %r = math.fma %n, %g, %b : f32
    %h = arith.truncf %r : f32 to f16
    tirx.yield %h : f16
  } -> !half
  tirx.copy %result, %gy : !half, !memory
  tirx.return
}

// y = x / sqrt(mean(x^2) + eps) * gamma

tirx.kernel @rms_norm(%x: memref<?x512xf16>, %gamma: memref<1x512xf16>, %y: memref<?x512xf16>, %eps: f32)
    target("sm_80") grid(ceildiv(size(0, 0), 8)) threads(128) {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %share = arith.constant 0.001953125 : f32
  %i = tirx.block_id x
  %first = arith.muli %i, %rows : index
  %gx = tirx.view %x[%first, %c0] clipped : memref<?x512xf16> -> !memory
  %gy = tirx.view %y[%first, %c0] clipped : memref<?x512xf16> -> !memory
  %ggamma = tirx.view %gamma[%c0, %c0] : memref<1x512xf16> -> !tirx.tile<1x512xf16, global>

  %halves = tirx.load %gx : !memory -> !half
  %scale = tirx.load %ggamma : !tirx.tile<1x512xf16, global> -> !weights
  %tile, %squares = tirx.map ins(%halves : !half) {
  ^bb0(%h: f16):
    %f = arith.extf %h : f16 to f32
    %q = arith.mulf %f, %f : f32
    tirx.yield %f, %q : f32, f32
  } -> !tile, !tile
  %sums = tirx.reduce %squares dim(1) add : !tile -> !row
  %factor = tirx.map ins(%sums : !row) {
  ^bb0(%s: f32):
    %v = math.fma %s, %share, %eps : f32
    %f = math.rsqrt %v : f32
    tirx.yield %f : f32
  } -> !row
  %result = tirx.map ins(%tile, %factor, %scale : !tile, !row, !weights) {
  ^bb0(%a: f32, %f: f32, %gh: f16):
    %g = arith.extf %gh : f16 to f32
    %n = arith.mulf %a, %f : f32
    %r = arith.mulf %n, %g : f32
    %h = arith.truncf %r : f32 to f16
    tirx.yield %h : f16
  } -> !half
  tirx.copy %result, %gy : !half, !memory
  tirx.return
}
