// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-instructions --tirx-select-instructions | filecheck %s

// A plan says the family, the kind, the shape of the instruction and the major-ness of the operands. Selecting again
// finds the same plan.

// CHECK-LABEL: tirx.kernel @f16
// CHECK:         tirx.mma {{.*}} plan(tcgen05, kind = "f16", m = 128, n = 256, k = 16, a_major = "K", b_major = "K") :
tirx.kernel @f16() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<256x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, tensor>
  tirx.return
}

// Both blocks of a pair: M is that of the instruction.

// CHECK-LABEL: tirx.kernel @pair
// CHECK:         tirx.mma {{.*}} pair plan(tcgen05, kind = "f16", m = 256, n = 128, k = 16, a_major = "K", b_major = "K", cta_group = 2) :
tirx.kernel @pair() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %b, %acc pair : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// Types that two kinds multiply: packed with the larger K, unless a plan asks for the other, which reads them padded.

// CHECK-LABEL: tirx.kernel @packed
// CHECK:         %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<5, 2, 3>,
// CHECK:         tirx.mma {{.*}} plan(tcgen05, kind = "mxf4", m = 128, n = 128, k = 64, a_major = "K", b_major = "K", scale_vector = "block32") :
tirx.kernel @packed() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared>
  %s = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %a, %acc scales(%s, %s) : !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @padded
// CHECK:         %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>,
// CHECK:         tirx.mma {{.*}} plan(tcgen05, kind = "mxf8f6f4", m = 128, n = 128, k = 32, a_major = "K", b_major = "K", scale_vector = "block32") :
tirx.kernel @padded() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared>
  %s = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %a, %acc scales(%s, %s) plan(tcgen05, kind = "mxf8f6f4", m = 128, n = 128, k = 32, a_major = "K", b_major = "K", scale_vector = "block32") : !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @k96
// CHECK:         tirx.mma {{.*}} instruction("k96") plan(tcgen05, kind = "mxf4", m = 128, n = 128, k = 96, a_major = "K", b_major = "K", scale_vector = "block32") :
tirx.kernel @k96() target("sm_103a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x384xf4E2M1FN, shared>
  %s = tirx.alloc : !tirx.tile<128x12xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %a, %acc scales(%s, %s) instruction("k96") : !tirx.tile<128x384xf4E2M1FN, shared>, !tirx.tile<128x384xf4E2M1FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x12xf8E8M0FNU, tensor>, !tirx.tile<128x12xf8E8M0FNU, tensor>
  tirx.return
}

// Register tiles: the variant that the target has.

// CHECK-LABEL: tirx.kernel @ampere
// CHECK:         tirx.mma {{.*}} plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"]) :
tirx.kernel @ampere() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  %b = tirx.alloc : !tirx.tile<8x16xf16, register>
  %acc = tirx.alloc : !tirx.tile<16x8xf32, register>
  tirx.mma %a, %b, %acc : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @turing
// CHECK:         tirx.mma {{.*}} plan(mma_sync, variants = ["m16n8k8.row.col.f32.f16"]) :
tirx.kernel @turing() target("sm_75") threads(32) {
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  %b = tirx.alloc : !tirx.tile<8x16xf16, register>
  %acc = tirx.alloc : !tirx.tile<16x8xf32, register>
  tirx.mma %a, %b, %acc plan(mma_sync, variants = ["m16n8k8.row.col.f32.f16"]) : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return
}

// Accumulators in registers and B in shared memory: wgmma on sm_90a, with one instruction for each part of N.

// CHECK-LABEL: tirx.kernel @warpgroups
// CHECK:         %b = tirx.alloc : !tirx.tile<272x32xbf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(272, 32) : (32, 1)]>>>
// CHECK:         %acc = {{.*}} -> !tirx.tile<128x272xf32, register, #tirx.tile_layout<S[(2, 4, 2, 8, 34, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
// CHECK:         tirx.mma {{.*}} plan(wgmma, shapes = ["m64n136k16", "m64n136k16"], a_major = "K", b_major = "K") :
tirx.kernel @warpgroups() target("sm_90a") threads(256) {
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !tirx.tile<128x32xbf16, shared>
  %b = tirx.alloc : !tirx.tile<272x32xbf16, shared>
  %acc = tirx.splat %zero : f32 -> !tirx.tile<128x272xf32, register>
  %0 = tirx.mma %a, %b, %acc : !tirx.tile<128x32xbf16, shared>, !tirx.tile<272x32xbf16, shared>, !tirx.tile<128x272xf32, register> -> !tirx.tile<128x272xf32, register>
  tirx.return
}

// B of a sparse product is read 64 bytes of K at a time, more than a row of the 32B swizzle. Warpgroups that M does not
// give rows to share out the columns; A in registers and metadata have copies then.

// CHECK-LABEL: tirx.kernel @sparse
// CHECK:         %b = tirx.alloc : !tirx.tile<32x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(32, 32) : (32, 1)]>>>
// CHECK:         %a = {{.*}} -> !tirx.tile<64x16xf16, register, #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)] + R[2 : 4@warpid]>>
// CHECK:         tirx.mma {{.*}} plan(wgmma, shapes = ["m64n16k32"], a_major = "K", b_major = "K") :
tirx.kernel @sparse(%m: memref<64x8xi4>) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 1.0 : f16
  %g = tirx.view %m[%c0, %c0] : memref<64x8xi4> -> !tirx.tile<64x8xi4, global>
  %b = tirx.alloc : !tirx.tile<32x32xf16, shared>
  %a = tirx.splat %h : f16 -> !tirx.tile<64x16xf16, register>
  %acc = tirx.splat %zero : f32 -> !tirx.tile<64x32xf32, register>
  %e = tirx.load %g : !tirx.tile<64x8xi4, global> -> !tirx.tile<64x8xi4, register>
  %0 = tirx.mma %a, %b, %acc metadata(%e) : !tirx.tile<64x16xf16, register>, !tirx.tile<32x32xf16, shared>, !tirx.tile<64x32xf32, register>, !tirx.tile<64x8xi4, register> -> !tirx.tile<64x32xf32, register>
  tirx.return
}
