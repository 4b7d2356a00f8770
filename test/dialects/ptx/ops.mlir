// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK:      ptx.entry @core(a : u64 ptr align 16 from memref<?x8xf32>, n : s32 from #ptx.formula<size(0, 0)>, map : b8[128] align 64) target("sm_100a") grid(ceildiv(size(0, 0), 8), min(sm_count(), 4)) reqntid(128, 2) cluster(2) attributes {tag} {
// CHECK-NEXT:   %a = ptx.ld.param @a : i64
// CHECK-NEXT:   %n = ptx.ld.param @n : i32
// CHECK-NEXT:   %tid = ptx.read_special tid.x
// CHECK-NEXT:   %s = ptx.shared_alloc @tile bytes 16384 align 1024
// CHECK-NEXT:   %c = ptx.constant -1 : i64
// CHECK-NEXT:   %f = ptx.constant {note = "half"} 1.500000e+00 : bf16
// CHECK-NEXT:   %p = ptx.constant true
// CHECK-NEXT:   ptx.cond_bra %p, ^next(%n : i32), ^end
// CHECK-NEXT: ^next(%x: i32):
// CHECK-NEXT:   ptx.bra ^end
// CHECK-NEXT: ^end:
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }
ptx.entry @core(a : u64 ptr align 16 from memref<?x8xf32>, n : s32 from #ptx.formula<size(0, 0)>, map : b8[128] align 64) target("sm_100a") grid(ceildiv(size(0, 0), 8), min(sm_count(), 4)) reqntid(128, 2) cluster(2) attributes {tag} {
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i32
  %tid = ptx.read_special tid.x
  %s = ptx.shared_alloc @tile bytes 16384 align 1024
  %c = ptx.constant -1 : i64
  %f = ptx.constant {note = "half"} 1.5 : bf16
  %p = ptx.constant true
  ptx.cond_bra %p, ^next(%n : i32), ^end
^next(%x : i32):
  ptx.bra ^end
^end:
  ptx.ret
}

// CHECK:      ptx.entry @arith() target("sm_90") {
// CHECK-NEXT:   %i = ptx.constant 1 : i32
// CHECK-NEXT:   %f = ptx.constant 1.000000e+00 : f32
// CHECK-NEXT:   %0 = ptx.add %i, %i : i32
// CHECK-NEXT:   %1 = ptx.div unsigned %i, %i : i32
// CHECK-NEXT:   %2 = ptx.min unsigned %i, %i : i32
// CHECK-NEXT:   %3 = ptx.max nan %f, %f : f32
// CHECK-NEXT:   %4 = ptx.shr unsigned %i, %i : i32
// CHECK-NEXT:   %5 = ptx.mul.wide unsigned %i, %i : i32 -> i64
// CHECK-NEXT:   %6 = ptx.setp lt unsigned %i, %i : i32
// CHECK-NEXT:   %7 = ptx.setp neu %f, %f : f32
// CHECK-NEXT:   %8 = ptx.selp %6, %f, %f : f32
// CHECK-NEXT:   %9 = ptx.fma %f, %f, %f : f32
// CHECK-NEXT:   %10 = ptx.cvt unsigned %i : i32 -> f32
// CHECK-NEXT:   %11 = ptx.pack %i, %i : i32 -> i64
// CHECK-NEXT:   %12, %13 = ptx.unpack %11 : i64 -> f32
// CHECK-NEXT:   %14 = ptx.mov %f : f32 -> i32
ptx.entry @arith() target("sm_90") {
  %i = ptx.constant 1 : i32
  %f = ptx.constant 1.0 : f32
  %0 = ptx.add %i, %i : i32
  %1 = ptx.div unsigned %i, %i : i32
  %2 = ptx.min unsigned %i, %i : i32
  %3 = ptx.max nan %f, %f : f32
  %4 = ptx.shr unsigned %i, %i : i32
  %5 = ptx.mul.wide unsigned %i, %i : i32 -> i64
  %6 = ptx.setp lt unsigned %i, %i : i32
  %7 = ptx.setp neu %f, %f : f32
  %8 = ptx.selp %6, %f, %f : f32
  %9 = ptx.fma %f, %f, %f : f32
  %10 = ptx.cvt unsigned %i : i32 -> f32
  %11 = ptx.pack %i, %i : i32 -> i64
  %12, %13 = ptx.unpack %11 : i64 -> f32
  %14 = ptx.mov %f : f32 -> i32
  ptx.ret
}

// CHECK:      ptx.entry @memory_and_sync(a : u64) target("sm_90") {
// CHECK:        %g = ptx.cvta.to.global %a
// CHECK-NEXT:   %0, %1 = ptx.ld global %g offset -8 : i64 -> i32, i32
// CHECK-NEXT:   %2 = ptx.ld shared %s : i32 -> f64
// CHECK-NEXT:   ptx.st global %g, %2 : i64, f64
// CHECK-NEXT:   ptx.st shared %s offset 4, %0, %1 : i32, i32, i32
// CHECK-NEXT:   %byte = ptx.ld.u8 global %g offset 3 : i64
// CHECK-NEXT:   ptx.st.u8 shared %s, %byte : i32
// CHECK-NEXT:   ptx.bar.sync 0
// CHECK-NEXT:   ptx.bar.sync 1 threads 64
// CHECK-NEXT:   ptx.bar.warp.sync
// CHECK-NEXT:   ptx.bar.warp.sync mask 1
// CHECK-NEXT:   ptx.fence.proxy.async
// CHECK-NEXT:   ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:   ptx.fence.mbarrier_init
// CHECK-NEXT:   ptx.mbarrier.init %s, 1
// CHECK-NEXT:   ptx.mbarrier.arrive %s
// CHECK-NEXT:   ptx.mbarrier.arrive %s, 3
// CHECK-NEXT:   ptx.mbarrier.arrive.expect_tx %s, 32768
// CHECK-NEXT:   ptx.mbarrier.wait_parity %s, %0
// CHECK-NEXT:   ptx.mbarrier.inval %s
// CHECK-NEXT:   %3 = ptx.elect.sync
// CHECK-NEXT:   ptx.trap %3
// CHECK-NEXT:   %4 = ptx.elect.sync mask 65535
ptx.entry @memory_and_sync(a : u64) target("sm_90") {
  %a = ptx.ld.param @a : i64
  %s = ptx.shared_alloc @tile bytes 64 align 16
  %g = ptx.cvta.to.global %a
  %0, %1 = ptx.ld global %g offset -8 : i64 -> i32, i32
  %2 = ptx.ld shared %s : i32 -> f64
  ptx.st global %g, %2 : i64, f64
  ptx.st shared %s offset 4, %0, %1 : i32, i32, i32
  %byte = ptx.ld.u8 global %g offset 3 : i64
  ptx.st.u8 shared %s, %byte : i32
  ptx.bar.sync 0
  ptx.bar.sync 1 threads 64
  ptx.bar.warp.sync
  ptx.bar.warp.sync mask 1
  ptx.fence.proxy.async
  ptx.fence.proxy.async "shared::cta"
  ptx.fence.mbarrier_init
  ptx.mbarrier.init %s, 1
  ptx.mbarrier.arrive %s
  ptx.mbarrier.arrive %s, 3
  ptx.mbarrier.arrive.expect_tx %s, 32768
  ptx.mbarrier.wait_parity %s, %0
  ptx.mbarrier.inval %s
  %3 = ptx.elect.sync
  ptx.trap %3
  %4 = ptx.elect.sync mask 65535
  ptx.ret
}

// CHECK:      ptx.entry @tensor_cores(x : f64, t : u32, d : u64) target("sm_100a") {
// CHECK:        %0, %1 = ptx.mma.m8n8k4.f64 %x, %x, %x, %x
// CHECK-NEXT:   %2, %3, %4, %5 = ptx.mma.m8n8k4.f16 row col a(%t, %t : i32, i32) b(%t, %t : i32, i32) c(%t, %t, %t, %t : i32, i32, i32, i32) -> i32, i32, i32, i32
// CHECK-NEXT:   tcgen05.alloc %t columns 64
// CHECK-NEXT:   tcgen05.relinquish_alloc_permit
// CHECK-NEXT:   %6, %7 = tcgen05.ld "32x32b" num 2 %t offset 32 pack : i32 -> i32, i32
// CHECK-NEXT:   tcgen05.wait ld
// CHECK-NEXT:   tcgen05.st "16x32bx2" num 1 %t half_split_offset 16, %6 : i32, i32
// CHECK-NEXT:   tcgen05.wait st
// CHECK-NEXT:   tcgen05.fence before_thread_sync
// CHECK-NEXT:   tcgen05.fence after_thread_sync
// CHECK-NEXT:   tcgen05.mma f16 %t, %d, %d, %t, %p : i32, i64
// CHECK-NEXT:   tcgen05.mma tf32 %t, %t, %d, %t, %p sparse(%t : i32) disable_lanes(%t, %t, %t, %t) ashift collector discard scale_d 4 : i32, i32
// CHECK-NEXT:   tcgen05.mma mxf4 "block32" %t, %d, %d, %t, %p scales(%t, %t : i32, i32) sparse(%t : i32) collector fill collector_b use : i32, i64
// CHECK-NEXT:   tcgen05.mma ws i8 %t, %d, %d, %t, %p zero_column_mask %d sparse(%t : i32) buffer "b1" collector lastuse : i32, i64
// CHECK-NEXT:   tcgen05.mma mxf8f6f4 "block32" %t, %d, %d, %t, %p scales(%t, %t : i32, i32) table(%t : i32) collector_b fill : i32, i64
// CHECK-NEXT:   tcgen05.commit %t multicast %m
// CHECK-NEXT:   tcgen05.dealloc %t columns 64
ptx.entry @tensor_cores(x : f64, t : u32, d : u64) target("sm_100a") {
  %x = ptx.ld.param @x : f64
  %t = ptx.ld.param @t : i32
  %d = ptx.ld.param @d : i64
  %m = ptx.constant 3 : i16
  %p = ptx.constant false
  %0, %1 = ptx.mma.m8n8k4.f64 %x, %x, %x, %x
  %2, %3, %4, %5 = ptx.mma.m8n8k4.f16 row col a(%t, %t : i32, i32) b(%t, %t : i32, i32) c(%t, %t, %t, %t : i32, i32, i32, i32) -> i32, i32, i32, i32
  tcgen05.alloc %t columns 64
  tcgen05.relinquish_alloc_permit
  %6, %7 = tcgen05.ld "32x32b" num 2 %t offset 32 pack : i32 -> i32, i32
  tcgen05.wait ld
  tcgen05.st "16x32bx2" num 1 %t half_split_offset 16, %6 : i32, i32
  tcgen05.wait st
  tcgen05.fence before_thread_sync
  tcgen05.fence after_thread_sync
  tcgen05.mma f16 %t, %d, %d, %t, %p : i32, i64
  tcgen05.mma tf32 %t, %t, %d, %t, %p sparse(%t : i32) disable_lanes(%t, %t, %t, %t) ashift collector discard scale_d 4 : i32, i32
  tcgen05.mma mxf4 "block32" %t, %d, %d, %t, %p scales(%t, %t : i32, i32) sparse(%t : i32) collector fill collector_b use : i32, i64
  tcgen05.mma ws i8 %t, %d, %d, %t, %p zero_column_mask %d sparse(%t : i32) buffer "b1" collector lastuse : i32, i64
  tcgen05.mma mxf8f6f4 "block32" %t, %d, %d, %t, %p scales(%t, %t : i32, i32) table(%t : i32) collector_b fill : i32, i64
  tcgen05.commit %t multicast %m
  tcgen05.dealloc %t columns 64
  ptx.ret
}
