// RUN: tirx-opt %s --tirx-pick-layouts --split-input-file --verify-diagnostics --remarks | filecheck %s

// Scale factors lie in tensor memory where the product reads them, 32 rows to a column and the same in all four
// partitions of lanes, and in shared memory as tcgen05.cp takes them there: blocks of 128 rows by 4.

// CHECK-LABEL: tirx.kernel @nvfp4
// CHECK:         %sa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>>
// CHECK-NEXT:    %sb = tirx.alloc : !tirx.tile<256x8xf8E4M3FN, shared, #tirx.tile_layout<S[(2, 4, 32, 2, 4) : (1024, 4, 16, 512, 1)]>>
// CHECK-NEXT:    %ta = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor, #tirx.tile_layout<S[(4, 32, 2, 4) : (4@TCol, 1@TLane, 16@TCol, 1@TCol)] + R[4 : 32@TLane]>>
// CHECK-NEXT:    %tb = tirx.alloc : !tirx.tile<256x8xf8E4M3FN, tensor, #tirx.tile_layout<S[(8, 32, 2, 4) : (4@TCol, 1@TLane, 32@TCol, 1@TCol)] + R[4 : 32@TLane]>>
tirx.kernel @nvfp4(%s: memref<128x8xf8E4M3FN>, %d: memref<128x256xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<5, 2, 3>, #tirx.tile_layout<S[(128, 128) : (128, 1)]>>: K-major operand, swizzle 64B: no copies to suit, 0 bytes of padding, 1 block}}
  %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<5, 2, 3>, #tirx.tile_layout<S[(256, 128) : (128, 1)]>>: K-major operand, swizzle 64B: no copies to suit, 0 bytes of padding, 1 block}}
  %b = tirx.alloc : !tirx.tile<256x128xf4E2M1FN, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>: blocks of 128x4 scale factors for tcgen05.cp}}
  %sa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 4, 32, 2, 4) : (1024, 4, 16, 512, 1)]>: blocks of 128x4 scale factors for tcgen05.cp}}
  %sb = tirx.alloc : !tirx.tile<256x8xf8E4M3FN, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 32, 2, 4) : (4@TCol, 1@TLane, 16@TCol, 1@TCol)] + R[4 : 32@TLane]>: SFA of kind mxf4nvf4, block16}}
  %ta = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(8, 32, 2, 4) : (4@TCol, 1@TLane, 32@TCol, 1@TCol)] + R[4 : 32@TLane]>: SFB of kind mxf4nvf4, block16}}
  %tb = tirx.alloc : !tirx.tile<256x8xf8E4M3FN, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>: data path of a 128x256 accumulator}}
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  tirx.copy %sa, %ta : !tirx.tile<128x8xf8E4M3FN, shared>, !tirx.tile<128x8xf8E4M3FN, tensor>
  tirx.copy %sb, %tb : !tirx.tile<256x8xf8E4M3FN, shared>, !tirx.tile<256x8xf8E4M3FN, tensor>
  tirx.mma %a, %b, %acc scales(%ta, %tb) : !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<256x128xf4E2M1FN, shared>, !tirx.tile<128x256xf32, tensor>, !tirx.tile<128x8xf8E4M3FN, tensor>, !tirx.tile<256x8xf8E4M3FN, tensor>
  tirx.return
}

// -----

// Stages: the tiles of rank 3 are those of every stage behind each other, and products read a part of them.

// CHECK-LABEL: tirx.kernel @stages
// CHECK:         %s = tirx.alloc : !tirx.tile<2x128x4xf8E8M0FNU, shared, #tirx.tile_layout<S[(2, 4, 32, 4) : (512, 4, 16, 1)]>>
// CHECK-NEXT:    %t = tirx.alloc : !tirx.tile<2x128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(8, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
// CHECK:         tirx.reshape %{{.*}} -> !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 16@TCol>>
tirx.kernel @stages() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(128, 128) : (128, 1)]>>: K-major operand, swizzle 128B: no copies to suit, 0 bytes of padding, 1 block}}
  %a = tirx.alloc : !tirx.tile<128x128xf8E5M2, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 4, 32, 4) : (512, 4, 16, 1)]>: blocks of 128x4 scale factors for tcgen05.cp}}
  %s = tirx.alloc : !tirx.tile<2x128x4xf8E8M0FNU, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(8, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>: SFA of kind mxf8f6f4, block32}}
  %t = tirx.alloc : !tirx.tile<2x128x4xf8E8M0FNU, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>: data path of a 128x128 accumulator}}
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.copy %s, %t : !tirx.tile<2x128x4xf8E8M0FNU, shared>, !tirx.tile<2x128x4xf8E8M0FNU, tensor>
  %t1 = tirx.subview %t[1, 0, 0] : !tirx.tile<2x128x4xf8E8M0FNU, tensor> -> !tirx.tile<1x128x4xf8E8M0FNU, tensor>
  %m1 = tirx.reshape %t1 : !tirx.tile<1x128x4xf8E8M0FNU, tensor> -> !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.mma %a, %a, %acc scales(%m1, %m1) : !tirx.tile<128x128xf8E5M2, shared>, !tirx.tile<128x128xf8E5M2, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.return
}

// -----

// A pair with M = 128: a block has 64 rows of A, and the scale factors of each half of N are in one half of the lanes. Four
// columns are two groups of 32 rows by two of four factors.

// CHECK-LABEL: tirx.kernel @pair
// CHECK:         %sa = tirx.alloc : !tirx.tile<64x8xf8E8M0FNU, shared, #tirx.tile_layout<S[(2, 32, 2, 4) : (4, 16, 8, 1)]>>
// CHECK-NEXT:    %sb = tirx.alloc : !tirx.tile<128x8xf8E8M0FNU, shared, #tirx.tile_layout<S[(2, 2, 32, 2, 4) : (512, 4, 16, 8, 1)]>>
// CHECK-NEXT:    %ta = tirx.alloc : !tirx.tile<64x8xf8E8M0FNU, tensor, #tirx.tile_layout<S[(2, 32, 2, 4) : (4@TCol, 1@TLane, 8@TCol, 1@TCol)] + R[4 : 32@TLane]>>
// CHECK-NEXT:    %tb = tirx.alloc : !tirx.tile<128x8xf8E8M0FNU, tensor, #tirx.tile_layout<S[(2, 2, 32, 2, 4) : (64@TLane, 4@TCol, 1@TLane, 8@TCol, 1@TCol)] + R[2 : 32@TLane]>>
tirx.kernel @pair() target("sm_100a") cluster(2) per_cta threads(128) {
  // expected-remark@+1 {{picked}}
  %a = tirx.alloc : !tirx.tile<64x256xf8E4M3FN, shared>
  // expected-remark@+1 {{blocks of 64x8 scale factors for tcgen05.cp}}
  %sa = tirx.alloc : !tirx.tile<64x8xf8E8M0FNU, shared>
  // expected-remark@+1 {{blocks of 128x8 scale factors for tcgen05.cp}}
  %sb = tirx.alloc : !tirx.tile<128x8xf8E8M0FNU, shared>
  // expected-remark@+1 {{SFA of kind mxf8f6f4, block32}}
  %ta = tirx.alloc : !tirx.tile<64x8xf8E8M0FNU, tensor>
  // expected-remark@+1 {{SFB of kind mxf8f6f4, block32}}
  %tb = tirx.alloc : !tirx.tile<128x8xf8E8M0FNU, tensor>
  // expected-remark@+1 {{data path of a 64x128 accumulator}}
  %acc = tirx.alloc : !tirx.tile<64x128xf32, tensor>
  tirx.copy %sa, %ta : !tirx.tile<64x8xf8E8M0FNU, shared>, !tirx.tile<64x8xf8E8M0FNU, tensor>
  tirx.copy %sb, %tb : !tirx.tile<128x8xf8E8M0FNU, shared>, !tirx.tile<128x8xf8E8M0FNU, tensor>
  tirx.mma %a, %a, %acc scales(%ta, %tb) pair : !tirx.tile<64x256xf8E4M3FN, shared>, !tirx.tile<64x256xf8E4M3FN, shared>, !tirx.tile<64x128xf32, tensor>, !tirx.tile<64x8xf8E8M0FNU, tensor>, !tirx.tile<128x8xf8E8M0FNU, tensor>
  tirx.return
}
