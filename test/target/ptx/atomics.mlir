// RUN: tirx-opt %s -t ptx | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s --check-prefix=IR

// CHECK-LABEL: .visible .entry atomics(
// CHECK:         atom.relaxed.gpu.global.add.u32 %r{{[0-9]+}}, [%rd[[A:[0-9]+]]+16], %r[[X:[0-9]+]];
// CHECK-NEXT:    atom.acq_rel.sys.shared.min.u32 %r{{[0-9]+}}, [%r[[S:[0-9]+]]], %r[[X]];
// CHECK-NEXT:    atom.acquire.cta.global.cas.b32 %r{{[0-9]+}}, [%rd[[A]]], %r[[X]], %r[[S]];
// CHECK-NEXT:    atom.release.gpu.global.exch.b32 %r{{[0-9]+}}, [%rd[[A]]], %r[[X]];
// CHECK-NEXT:    ld.acquire.gpu.global.b32 %r{{[0-9]+}}, [%rd[[A]]+4];
// CHECK-NEXT:    st.release.sys.global.b32 [%rd[[A]]], %r[[X]];
// CHECK-NEXT:    nanosleep.u32 32;
// IR: ptx.atom add relaxed gpu %a offset 16, %x : i64, i32 -> i32
// IR: ptx.atom min acq_rel sys unsigned %s, %x : i32, i32 -> i32
// IR: ptx.atom cas acquire cta %a, %x, %s : i64, i32, i32 -> i32
// IR: ptx.ld.strong acquire gpu %a offset 4 : i64 -> i32
// IR: ptx.st.strong release sys %a, %x : i64, i32
// IR: ptx.nanosleep %t
ptx.entry @atomics(a : u64, x : u32, s : u32) target("sm_70") {
  %a = ptx.ld.param @a : i64
  %x = ptx.ld.param @x : i32
  %s = ptx.ld.param @s : i32
  %0 = ptx.atom add relaxed gpu %a offset 16, %x : i64, i32 -> i32
  %1 = ptx.atom min acq_rel sys unsigned %s, %x : i32, i32 -> i32
  %2 = ptx.atom cas acquire cta %a, %x, %s : i64, i32, i32 -> i32
  %3 = ptx.atom exch release gpu %a, %x : i64, i32 -> i32
  %4 = ptx.ld.strong acquire gpu %a offset 4 : i64 -> i32
  ptx.st.strong release sys %a, %x : i64, i32
  %t = ptx.constant 32 : i32
  ptx.nanosleep %t
  ptx.ret
}
