// RUN: tirx-opt %s --split-input-file --verify-diagnostics | tirx-opt --split-input-file | filecheck %s

// Stored decisions, in text and back.

// CHECK-LABEL: tirx.kernel @decisions
// CHECK:         tirx.copy %a, %b engine cp_async {note} :
// CHECK-NEXT:    tirx.mma %a, %a, %acc instruction("k96") plan(tcgen05, kind = "mxf4", m = 256, n = 128, k = 96, a_major = "K", b_major = "MN", cta_group = 2, scale_vector = "block32") {note} :
// CHECK-NEXT:    tirx.mma %x, %y, %z plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16", "m16n8k8.row.col.f32.f16"]) :
// CHECK-NEXT:    tirx.return {e = #tirx<engine tma_multicast>, p = #tirx.plan<mma_sync, variants = ["m8n8k4.row.col.f64"]>}
tirx.kernel @decisions() threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  %x = tirx.alloc : !tirx.tile<16x16xf16, register>
  %y = tirx.alloc : !tirx.tile<8x16xf16, register>
  %z = tirx.alloc : !tirx.tile<16x8xf32, register>
  tirx.copy %a, %b engine cp_async {note} : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>
  tirx.mma %a, %a, %acc instruction("k96") plan(tcgen05, kind = "mxf4", m = 256, n = 128, k = 96, a_major = "K", b_major = "MN", cta_group = 2, scale_vector = "block32") {note} : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.mma %x, %y, %z plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16", "m16n8k8.row.col.f32.f16"]) : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return {e = #tirx<engine tma_multicast>, p = #tirx.plan<mma_sync, variants = ["m8n8k4.row.col.f64"]>}
}
