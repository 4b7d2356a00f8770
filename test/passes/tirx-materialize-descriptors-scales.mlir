// RUN: tirx-opt %s --tirx-materialize-descriptors | filecheck %s

// Blocks of scale factors for tcgen05.cp: no swizzle, SBO 128 bytes (8 rows of 16), LBO not read and 1; by hand
// 1 << 16 | 8 << 32 | 1 << 46 = 70403103916032 + 34359738368 + 65536. The second block is 512 bytes on, 32 units of 16.

!blocks = !tirx.tile<128x8xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>>

// CHECK-LABEL: tirx.kernel @blocks
// CHECK:         %[[ADDRESS:.*]] = tirx.address %s
// CHECK:         arith.shrui %[[ADDRESS]]
// CHECK:         %[[START:.*]] = arith.extui
// CHECK-NEXT:    %[[FIELDS:.*]] = arith.constant 70403103981568 : i64
// CHECK-NEXT:    %[[FIRST:.*]] = arith.ori %[[START]], %[[FIELDS]] : i64
// CHECK-NEXT:    %[[FAR:.*]] = arith.constant 32 : i64
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[FAR]] : i64
// CHECK-NEXT:    arith.addi %[[FIRST]], %[[SECOND]] : i64
tirx.kernel @blocks() target("sm_100a") threads(128) {
  %s = tirx.alloc : !blocks
  %0 = tcgen05.cp_descriptor %s, 0 : !blocks -> i64
  %1 = tcgen05.cp_descriptor %s, 512 : !blocks -> i64
  %2 = arith.addi %0, %1 : i64
  tirx.return
}

// K = 96: 48 bytes of K at a time, in the 128-byte swizzle, rows of 256 elements. Slices 0 and 1 are within a row and have
// an LBO that is not read, 0x4000404000010000 as ever; the second starts at byte 48, 3 units on. Slice 2 is the last 32
// bytes of a row and goes on in the next 256 elements, 16384 bytes from the base: absolute mode is bit 52, and the address
// of the tile counts in both fields, bits 0 and 16 on. 0x4010404004000000 is 4616260261743951872; it starts at byte 96.

#k96 = #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 3, 256) : (256, 32768, 1)]>>
!k96 = !tirx.tile<128x768xf4E2M1FN, shared, #k96>

// CHECK-LABEL: tirx.kernel @k96
// CHECK:         %[[START:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK-NEXT:    %[[FIELDS:.*]] = arith.constant 4611756662049538048 : i64
// CHECK-NEXT:    %[[BASE:.*]] = arith.ori %[[START]], %[[FIELDS]] : i64
// CHECK-NEXT:    %[[THREE:.*]] = arith.constant 3 : i64
// CHECK-NEXT:    %[[FIRST:.*]] = arith.addi %[[BASE]], %[[THREE]] : i64
// CHECK:         %[[START:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK-NEXT:    %[[FIELDS:.*]] = arith.constant 4616260261743951872 : i64
// CHECK-NEXT:    %[[BOTH:.*]] = arith.constant 65537 : i64
// CHECK-NEXT:    %[[ADDRESS:.*]] = arith.muli %[[START]], %[[BOTH]] : i64
// CHECK-NEXT:    %[[BASE:.*]] = arith.addi %[[ADDRESS]], %[[FIELDS]] : i64
// CHECK-NEXT:    %[[SIX:.*]] = arith.constant 6 : i64
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[BASE]], %[[SIX]] : i64
// CHECK-NEXT:    arith.addi %[[FIRST]], %[[SECOND]] : i64
tirx.kernel @k96() target("sm_103a") threads(128) {
  %s = tirx.alloc : !k96
  %1 = tcgen05.smem_descriptor %s, 1 of 96 absolute_lbo : !k96 -> i64
  %2 = tcgen05.smem_descriptor %s, 2 of 96 absolute_lbo : !k96 -> i64
  %3 = arith.addi %1, %2 : i64
  tirx.return
}
