// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-instructions --split-input-file --verify-diagnostics

// A written plan must be one that the hardware has for the product.

tirx.kernel @shape() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected the plan tcgen05, kind = "f16", m = 128, n = 128, k = 16, a_major = "K", b_major = "K", found tcgen05, kind = "f16", m = 64, n = 128, k = 16, a_major = "K", b_major = "K"}}
  tirx.mma %a, %a, %acc plan(tcgen05, kind = "f16", m = 64, n = 128, k = 16, a_major = "K", b_major = "K") : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @kind() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x128xf8E4M3FN, shared>
  %s = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected a plan of kind mxf8f6f4, found mxf4}}
  tirx.mma %a, %a, %acc scales(%s, %s) plan(tcgen05, kind = "mxf4", m = 128, n = 128, k = 64, a_major = "K", b_major = "K", scale_vector = "block32") : !tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.return
}

tirx.kernel @types() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  %b = tirx.alloc : !tirx.tile<8x16xf16, register>
  %acc = tirx.alloc : !tirx.tile<16x8xf32, register>
  // expected-error@+1 {{m16n8k8.row.col.f32.f16, found one of m16n8k8.row.col.f32.bf16}}
  tirx.mma %a, %b, %acc plan(mma_sync, variants = ["m16n8k8.row.col.f32.bf16"]) : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return
}

tirx.kernel @no_tcgen05() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{'tcgen05' does not exist on sm_90a; supported on}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @target() target("sm_75") threads(32) {
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  %b = tirx.alloc : !tirx.tile<8x16xf16, register>
  %acc = tirx.alloc : !tirx.tile<16x8xf32, register>
  // expected-error@+1 {{'mma.m16n8k16.f16' does not exist on sm_75; supported on}}
  tirx.mma %a, %b, %acc plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"]) : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return
}
