// RUN: tirx-opt %s --tirx-load-operands | filecheck %s

!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<64x64xf32, register>

// mma.sync multiplies registers: each operand in shared memory is loaded, one that both read twice.

// CHECK-LABEL: tirx.kernel @mma_sync
// CHECK:         %s_1 = tirx.load %s : !tirx.tile<64x64xf16, shared> -> !tirx.tile<64x64xf16, register>
// CHECK-NEXT:    %s_2 = tirx.load %s : !tirx.tile<64x64xf16, shared> -> !tirx.tile<64x64xf16, register>
// CHECK-NEXT:    %d = tirx.mma %s_1, %s_2, %c :
// CHECK-NEXT:    %s_3 = tirx.load %s
// CHECK-NEXT:    %e = tirx.mma %r, %s_3, %d :
tirx.kernel @mma_sync() target("sm_80") threads(128) {
  %s = tirx.alloc : !s
  %c = tirx.zero : !acc
  %r = tirx.zero : !r
  %d = tirx.mma %s, %s, %c : !s, !s, !acc -> !acc
  %e = tirx.mma %r, %s, %d : !r, !s, !acc -> !acc
  tirx.return
}

// wgmma reads shared memory, unless an instruction of mma.sync is asked for.

// CHECK-LABEL: tirx.kernel @wgmma
// CHECK:         %d = tirx.mma %s, %s, %c :
// CHECK-NEXT:    %s_1 = tirx.load %s
// CHECK-NEXT:    %s_2 = tirx.load %s
// CHECK-NEXT:    %e = tirx.mma %s_1, %s_2, %d instruction("m16n8k16") :
tirx.kernel @wgmma() target("sm_90a") threads(128) {
  %s = tirx.alloc : !s
  %c = tirx.zero : !acc
  %d = tirx.mma %s, %s, %c : !s, !s, !acc -> !acc
  %e = tirx.mma %s, %s, %d instruction("m16n8k16") : !s, !s, !acc -> !acc
  tirx.return
}
