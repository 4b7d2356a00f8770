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
