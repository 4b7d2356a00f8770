// RUN: tirx-opt %s --tirx-load-operands | filecheck %s

!a = !tirx.tile<128x128xf8E4M3FN, shared>
!acc = !tirx.tile<128x128xf32, tensor>
!sf = !tirx.tile<128x4xf8E8M0FNU, tensor>
!gsf = !tirx.tile<128x4xf8E8M0FNU, global>

// tcgen05.cp copies scale factors from shared memory only.

// CHECK-LABEL: tirx.kernel @scales
// CHECK-NEXT:    %gs = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, shared>
// CHECK:         %gs_1 = tirx.view
// CHECK-NEXT:    tirx.copy %gs_1, %gs : !tirx.tile<128x4xf8E8M0FNU, global>, !tirx.tile<128x4xf8E8M0FNU, shared>
// CHECK-NEXT:    tirx.copy %gs, %t : !tirx.tile<128x4xf8E8M0FNU, shared>, !tirx.tile<128x4xf8E8M0FNU, tensor>
tirx.kernel @scales(%s: memref<128x4xf8E8M0FNU>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.alloc : !a
  %t = tirx.alloc : !sf
  %acc = tirx.alloc : !acc
  %gs = tirx.view %s[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !gsf
  tirx.copy %gs, %t : !gsf, !sf
  tirx.mma %a, %a, %acc scales(%t, %t) : !a, !a, !acc, !sf, !sf
  tirx.return
}
