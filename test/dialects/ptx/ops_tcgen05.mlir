// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK:      ptx.entry @copies(t : u32, s : u64, n : u32) target("sm_100a") cluster(2) {
// CHECK-NEXT:   %t = ptx.ld.param @t : i32
// CHECK-NEXT:   %s = ptx.ld.param @s : i64
// CHECK-NEXT:   %n = ptx.ld.param @n : i32
// CHECK-NEXT:   tcgen05.alloc %t columns_in %n cta_group 2
// CHECK-NEXT:   tcgen05.cp "128x256b" %t, %s cta_group 2 : i32
// CHECK-NEXT:   tcgen05.cp "4x256b" %t, %s decompress "b6x16_p32" cta_group 2 : i32
// CHECK-NEXT:   tcgen05.cp "128x128b" %t, %s decompress "b4x16_p64" cta_group 2 : i32
// CHECK-NEXT:   tcgen05.cp "64x128b" %t, %s multicast "warpx2::02_13" cta_group 2 : i32
// CHECK-NEXT:   tcgen05.cp "64x128b" %t, %s multicast "warpx2::01_23" cta_group 2 : i32
// CHECK-NEXT:   tcgen05.cp "32x128b" %t, %s multicast "warpx4" decompress "b4x16_p64" cta_group 2 : i32
// CHECK-NEXT:   tcgen05.shift %t cta_group 2 : i32
// CHECK-NEXT:   tcgen05.dealloc %t columns_in %n cta_group 2
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @copies(t : u32, s : u64, n : u32) target("sm_100a") cluster(2) {
  %t = ptx.ld.param @t : i32
  %s = ptx.ld.param @s : i64
  %n = ptx.ld.param @n : i32
  tcgen05.alloc %t columns_in %n cta_group 2
  tcgen05.cp "128x256b" %t, %s cta_group 2 : i32
  tcgen05.cp "4x256b" %t, %s decompress "b6x16_p32" cta_group 2 : i32
  tcgen05.cp "128x128b" %t, %s decompress "b4x16_p64" cta_group 2 : i32
  tcgen05.cp "64x128b" %t, %s multicast "warpx2::02_13" cta_group 2 : i32
  tcgen05.cp "64x128b" %t, %s multicast "warpx2::01_23" cta_group 2 : i32
  tcgen05.cp "32x128b" %t, %s multicast "warpx4" decompress "b4x16_p64" cta_group 2 : i32
  tcgen05.shift %t cta_group 2 : i32
  tcgen05.dealloc %t columns_in %n cta_group 2
  ptx.ret
}

// CHECK:      ptx.entry @reductions(t : u32) target("sm_103a") {
// CHECK-NEXT:   %t = ptx.ld.param @t : i32
// CHECK-NEXT:   %max, %0, %1 = tcgen05.ld.red max "32x32b" num 2 %t as "f32" : i32 -> f32, f32, f32
// CHECK-NEXT:   %min, %2, %3 = tcgen05.ld.red min "32x32b" num 2 %t offset 16 as "f32" abs nan : i32 -> f32, i32, i32
// CHECK-NEXT:   %umax, %4, %5 = tcgen05.ld.red max "16x32bx2" num 2 %t as "u32" half_split_offset 16 : i32 -> i32, i32, i32
// CHECK-NEXT:   %smin, %6, %7 = tcgen05.ld.red min "32x32b" num 2 %t as "s32" : i32 -> i32, i32, i32
// CHECK-NEXT:   tcgen05.wait ld
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @reductions(t : u32) target("sm_103a") {
  %t = ptx.ld.param @t : i32
  %max, %0, %1 = tcgen05.ld.red max "32x32b" num 2 %t as "f32" : i32 -> f32, f32, f32
  %min, %2, %3 = tcgen05.ld.red min "32x32b" num 2 %t offset 16 as "f32" abs nan : i32 -> f32, i32, i32
  %umax, %4, %5 = tcgen05.ld.red max "16x32bx2" num 2 %t as "u32" half_split_offset 16 : i32 -> i32, i32, i32
  %smin, %6, %7 = tcgen05.ld.red min "32x32b" num 2 %t as "s32" : i32 -> i32, i32, i32
  tcgen05.wait ld
  ptx.ret
}

// CHECK:      ptx.entry @products(t : u32, d : u64) target("sm_100a") {
// CHECK-NEXT:   %t = ptx.ld.param @t : i32
// CHECK-NEXT:   %d = ptx.ld.param @d : i64
// CHECK-NEXT:   %p = ptx.constant true
// CHECK-NEXT:   tcgen05.mma mxf8f6f4 %t, %d, %d, %t, %p scales(%t, %t : i32, i32) : i32, i64
// CHECK-NEXT:   tcgen05.mma mxf4nvf4 "block16" %t, %t, %d, %t, %p scales(%t, %t : i32, i32) collector lastuse : i32, i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @products(t : u32, d : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %d = ptx.ld.param @d : i64
  %p = ptx.constant true
  tcgen05.mma mxf8f6f4 %t, %d, %d, %t, %p scales(%t, %t : i32, i32) : i32, i64
  tcgen05.mma mxf4nvf4 "block16" %t, %t, %d, %t, %p scales(%t, %t : i32, i32) collector lastuse : i32, i32
  ptx.ret
}
