// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s
// RUN: tirx-opt %s -t ptx | filecheck %s --check-prefix PTX

ptx.entry @warp(p : u64 ptr) target("sm_100a") reqntid(32) {
  %x = ptx.read_special tid.x
  %c = ptx.constant 1 : i32
  %f = ptx.mov %x : i32 -> f32
  // CHECK:      ptx.shfl.sync bfly %{{.*}}, %{{.*}} : i32
  // PTX:      shfl.sync.bfly.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 1, 0x1f, 0xffffffff;
  %0 = ptx.shfl.sync bfly %x, %c : i32
  // CHECK-NEXT: ptx.shfl.sync up %{{.*}}, %{{.*}} clamp 6144 mask 65535 : f32
  // PTX-NEXT: shfl.sync.up.b32 %f{{[0-9]+}}, %f{{[0-9]+}}, 1, 0x1800, 0xffff;
  %1 = ptx.shfl.sync up %f, %c clamp 6144 mask 65535 : f32
  // CHECK-NEXT: ptx.redux.sync add unsigned %{{.*}} : i32
  // PTX-NEXT: redux.sync.add.u32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0xffffffff;
  %2 = ptx.redux.sync add unsigned %x : i32
  // CHECK-NEXT: ptx.redux.sync or %{{.*}} mask 255 : i32
  // PTX-NEXT: redux.sync.or.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0xff;
  %3 = ptx.redux.sync or %x mask 255 : i32
  // CHECK-NEXT: ptx.redux.sync max abs nan %{{.*}} : f32
  // PTX-NEXT: redux.sync.max.abs.NaN.f32 %f{{[0-9]+}}, %f{{[0-9]+}}, 0xffffffff;
  %4 = ptx.redux.sync max abs nan %f : f32
  // CHECK-NEXT: ptx.ex2.approx ftz %{{.*}} : f32
  // PTX-NEXT: ex2.approx.ftz.f32 %f{{[0-9]+}}, %f{{[0-9]+}};
  %5 = ptx.ex2.approx ftz %f : f32
  ptx.ret
}
