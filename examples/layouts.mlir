// The layouts of the TIRx tensor-layout page, each on a tile that a kernel uses.

// Swizzled shared memory: an (8, 64) f16 tile in which a row is one line of 32 banks. The swizzle spreads the eight
// 16-byte chunks of every column over all banks.
#plain = #tirx.tile_layout<S[(8, 64) : (64, 1)]>
#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #plain>

// Tensor memory: two stages of 112 columns each. 224 columns are no power of two, and need not be.
#stages = #tirx.tile_layout<S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]>

// Scale factors: 32 rows on 32 lanes, copied to the lanes of all four warps.
#scales = #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>

// A tensor-core tile: (8, 16) elements over two warps, two neighbouring elements in every lane, copied to two other
// warps; the first four warps and two in between hold nothing.
#tensor_core = #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid>

// Layouts over other hardware travel as attributes: a 2x2 mesh of devices that shards rows and copies columns, and a
// scratchpad of partitions.
tirx.kernel @memories(%x: memref<8x64xf16>, %y: memref<8x64xf16>, %d: memref<2x128x112xf32>, %s: memref<32x4xf32>)
    target("sm_100a") grid(1) threads(128) attributes {
      mesh = #tirx.tile_layout<S[(2, 64) : (2@pid, 1)] + R[2 : 1@pid]>,
      scratchpad = #tirx.tile_layout<S[(128, 512) : (1@P, 1@F)]>
    } {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32

  // y = x, through swizzled shared memory.
  %gx = tirx.view %x[%c0, %c0] : memref<8x64xf16> -> !tirx.tile<8x64xf16, global>
  %gy = tirx.view %y[%c0, %c0] : memref<8x64xf16> -> !tirx.tile<8x64xf16, global>
  %shared = tirx.alloc : !tirx.tile<8x64xf16, shared, #swizzled>
  tirx.copy %gx, %shared : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared, #swizzled>
  tirx.copy %shared, %gy : !tirx.tile<8x64xf16, shared, #swizzled>, !tirx.tile<8x64xf16, global>

  // d = 2 everywhere, through two stages of tensor memory.
  %stages = tirx.alloc : !tirx.tile<2x128x112xf32, tensor, #stages>
  %gd = tirx.view %d[%c0, %c0, %c0] : memref<2x128x112xf32> -> !tirx.tile<2x128x112xf32, global>
  tirx.fill %stages, %two : f32, !tirx.tile<2x128x112xf32, tensor, #stages>
  tirx.copy %stages, %gd : !tirx.tile<2x128x112xf32, tensor, #stages>, !tirx.tile<2x128x112xf32, global>

  // Every warp holds the scale factors, and all of them write the same values back.
  %scales = tirx.alloc : !tirx.tile<32x4xf32, tensor, #scales>
  %gs = tirx.view %s[%c0, %c0] : memref<32x4xf32> -> !tirx.tile<32x4xf32, global>
  tirx.copy %gs, %scales : !tirx.tile<32x4xf32, global>, !tirx.tile<32x4xf32, tensor, #scales>
  tirx.copy %scales, %gs : !tirx.tile<32x4xf32, tensor, #scales>, !tirx.tile<32x4xf32, global>
  tirx.return
}

tirx.kernel @registers(%x: memref<8x16xf32>, %y: memref<8x16xf32>) target("sm_100a") grid(1) threads(352) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : memref<8x16xf32> -> !tirx.tile<8x16xf32, global>
  %gy = tirx.view %y[%c0, %c0] : memref<8x16xf32> -> !tirx.tile<8x16xf32, global>
  %tile = tirx.alloc : !tirx.tile<8x16xf32, register, #tensor_core>
  tirx.copy %gx, %tile : !tirx.tile<8x16xf32, global>, !tirx.tile<8x16xf32, register, #tensor_core>
  tirx.copy %tile, %gy : !tirx.tile<8x16xf32, register, #tensor_core>, !tirx.tile<8x16xf32, global>
  tirx.return
}
