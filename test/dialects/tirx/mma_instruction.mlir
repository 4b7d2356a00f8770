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

func.func @unknown(%a: !tirx.tile<16x16xf64, register>, %b: !tirx.tile<8x16xf64, register>, %c: !tirx.tile<16x8xf64, register>) {
  // expected-error@+1 {{expected an instruction of mma.sync (m8n8k4, m16n8k16, m16n8k8, m16n8k4, m16n8k32), found 'm16n16k16'}}
  tirx.mma %a, %b, %c instruction("m16n16k16") : !tirx.tile<16x16xf64, register>, !tirx.tile<8x16xf64, register>, !tirx.tile<16x8xf64, register>
  func.return
}

// -----

func.func @on_tensor_memory(%a: !tirx.tile<128x64xf16, shared>, %c: !tirx.tile<128x128xf32, tensor>) {
  // expected-error@+1 {{expected an accumulator in registers for instruction, found one in tensor memory}}
  tirx.mma %a, %a, %c instruction("m16n8k16") : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  func.return
}
