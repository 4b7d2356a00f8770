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

// Targets that have no products of floats of 8 bits multiply them in f16, a part of K at a time.

// CHECK-LABEL: tirx.kernel @in_f16(
// CHECK:         [[P:%.*]] = tirx.subview %a[0, 0] : {{.*}} -> !tirx.tile<64x32xf8E4M3FN, shared>
// CHECK-NEXT:    [[L:%.*]] = tirx.load [[P]]
// CHECK-NEXT:    [[A:%.*]] = tirx.map ins([[L]] : !tirx.tile<64x32xf8E4M3FN, register>) {
// CHECK-NEXT:    ^bb0([[E:%.*]]: f8E4M3FN):
// CHECK-NEXT:      [[W:%.*]] = arith.extf [[E]] : f8E4M3FN to f16
// CHECK-NEXT:      tirx.yield [[W]] : f16
// CHECK-NEXT:    } -> !tirx.tile<64x32xf16, register>
// CHECK:         %c = tirx.mma [[A]], {{%.*}}, %zeros :
// CHECK:         tirx.subview %a[0, 32] : {{.*}} -> !tirx.tile<64x16xf8E4M3FN, shared>
// CHECK:         %c_1 = tirx.mma {{%.*}}, {{%.*}}, %c :
// CHECK-NEXT:    "test.op"(%c_1)
!e4m3 = !tirx.tile<64x48xf8E4M3FN, shared>
!e4m3_sums = !tirx.tile<64x64xf32, register>
tirx.kernel @in_f16() target("sm_80") threads(128) {
  %a = tirx.alloc : !e4m3
  %b = tirx.alloc : !e4m3
  %zeros = tirx.zero : !e4m3_sums
  %c = tirx.mma %a, %b, %zeros : !e4m3, !e4m3, !e4m3_sums -> !e4m3_sums
  "test.op"(%c) : (!e4m3_sums) -> ()
  tirx.return
}
