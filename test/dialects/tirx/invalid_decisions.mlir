// RUN: tirx-opt %s --split-input-file --verify-diagnostics

tirx.kernel @family(%a: !tirx.tile<128x64xf16, shared>) threads(128) {
  // expected-error@+1 {{expected a family of products, tcgen05, mma_sync, wgmma, found wmma}}
  tirx.mma %a, %a, %acc plan(wmma, m = 16) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
}

// -----

tirx.kernel @other_family(%a: !tirx.tile<128x64xf16, shared>) threads(128) {
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected a plan of another family for an accumulator in tensor memory, found one of mma_sync}}
  tirx.mma %a, %a, %acc plan(mma_sync, variants = ["m8n8k4.row.col.f64"]) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

// expected-error@+1 {{expected the fields k, a_major, b_major too}}
"test.op"() {p = #tirx.plan<tcgen05, kind = "f16", m = 128, n = 128>} : () -> ()

// -----

// expected-error@+1 {{expected a new field out of kind, m, n, k, a_major, b_major, cta_group, scale_vector, found m}}
"test.op"() {p = #tirx.plan<tcgen05, kind = "f16", m = 128, m = 128>} : () -> ()

// -----

// expected-error@+1 {{expected a kind of tcgen05.mma, f16,}}
"test.op"() {p = #tirx.plan<tcgen05, kind = "f18", m = 128, n = 128, k = 16, a_major = "K", b_major = "K">} : () -> ()

// -----

// expected-error@+1 {{expected a_major to be K or MN, found M}}
"test.op"() {p = #tirx.plan<tcgen05, kind = "f16", m = 128, n = 128, k = 16, a_major = "M", b_major = "K">} : () -> ()

// -----

// expected-error@+1 {{expected a variant of mma.sync such as m8n8k4.row.col.f64, found m8n8k4.row.col.f65}}
"test.op"() {p = #tirx.plan<mma_sync, variants = ["m8n8k4.row.col.f65"]>} : () -> ()

// -----

// expected-error@+1 {{expected a variant of mma.sync or more, found none}}
"test.op"() {p = #tirx.plan<mma_sync, variants = []>} : () -> ()

// -----

tirx.kernel @engine() threads(128) {
  // expected-error@+1 {{Expected `tma`, `tma_multicast`,}}
  tirx.copy %a, %a engine dma : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>
}

// -----

// expected-error@+1 {{expected a shape of wgmma such as m64n256k16, found m128n256k16}}
"test.op"() {p = #tirx.plan<wgmma, shapes = ["m128n256k16"], a_major = "K", b_major = "K">} : () -> ()

// -----

// expected-error@+1 {{expected a shape of wgmma or more, found none}}
"test.op"() {p = #tirx.plan<wgmma, shapes = [], a_major = "K", b_major = "K">} : () -> ()

// -----

// expected-error@+1 {{expected b_major to be K or MN, found N}}
"test.op"() {p = #tirx.plan<wgmma, shapes = ["m64n8k16"], a_major = "K", b_major = "N">} : () -> ()
