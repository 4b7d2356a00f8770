// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 7.0
// CHECK-NEXT: .target sm_80
// CHECK-NEXT: .address_size 64

ptx.entry @f64_product(x : f64) target("sm_80") {
  %x = ptx.ld.param @x : f64
  %d0, %d1 = ptx.mma.m8n8k4.f64 %x, %x, %x, %x
  ptx.ret
}

// CHECK:      .visible .entry f64_product(
// CHECK-NEXT:   .param .f64 x
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .f64 %fd<3>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.f64 %fd0, [x];
// CHECK-NEXT:   mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd0}, {%fd0}, {%fd0, %fd0};
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
