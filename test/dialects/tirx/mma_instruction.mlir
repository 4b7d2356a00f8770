// RUN: tirx-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: tirx-opt %s --split-input-file --verify-diagnostics --print-op-generic | filecheck %s --check-prefix=GENERIC

!a = !tirx.tile<16x16xf64, register>
!b = !tirx.tile<8x16xf64, register>
!c = !tirx.tile<16x8xf64, register>

// CHECK:       tirx.mma %a, %b, %c instruction("m16n8k16") {tag} : !tirx.tile<16x16xf64, register>, !tirx.tile<8x16xf64, register>, !tirx.tile<16x8xf64, register>
// GENERIC:     "tirx.mma"(%a, %b, %c) <{instruction = "m16n8k16", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> {tag} :
func.func @named(%a: !a, %b: !b, %c: !c) {
  tirx.mma %a, %b, %c instruction("m16n8k16") {tag} : !a, !b, !c
  func.return
}

// -----

!a = !tirx.tile<128x192xf4E2M1FN, shared>
!s = !tirx.tile<128x12xf8E4M3FN, tensor>
!c = !tirx.tile<128x128xf32, tensor>

// CHECK:       tirx.mma %a, %a, %c scales(%s, %s) accumulate(%p) instruction("k96") : !tirx.tile<128x192xf4E2M1FN, shared>,
// GENERIC:     instruction = "k96"
func.func @tensor_memory(%a: !a, %s: !s, %c: !c, %p: i1) {
  tirx.mma %a, %a, %c scales(%s, %s) accumulate(%p) instruction("k96") : !a, !a, !c, !s, !s
  func.return
}

// -----

func.func @unknown(%a: !tirx.tile<16x16xf64, register>, %b: !tirx.tile<8x16xf64, register>, %c: !tirx.tile<16x8xf64, register>) {
  // expected-error@+1 {{expected an instruction of mma.sync (m8n8k4, m16n8k16, m16n8k8, m16n8k4, m16n8k32, m16n8k64), found 'm16n16k16'}}
  tirx.mma %a, %b, %c instruction("m16n16k16") : !tirx.tile<16x16xf64, register>, !tirx.tile<8x16xf64, register>, !tirx.tile<16x8xf64, register>
  func.return
}

// -----

func.func @on_tensor_memory(%a: !tirx.tile<128x64xf16, shared>, %c: !tirx.tile<128x128xf32, tensor>) {
  // expected-error@+1 {{expected instruction "k96" or none for an accumulator in tensor memory, found "m16n8k16"}}
  tirx.mma %a, %a, %c instruction("m16n8k16") : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  func.return
}

// -----

func.func @k96_of_registers(%a: !tirx.tile<16x16xf64, register>, %b: !tirx.tile<8x16xf64, register>, %c: !tirx.tile<16x8xf64, register>) {
  // expected-error@+1 {{expected an instruction of mma.sync (m8n8k4, m16n8k16, m16n8k8, m16n8k4, m16n8k32, m16n8k64), found 'k96'}}
  tirx.mma %a, %b, %c instruction("k96") : !tirx.tile<16x16xf64, register>, !tirx.tile<8x16xf64, register>, !tirx.tile<16x8xf64, register>
  func.return
}
