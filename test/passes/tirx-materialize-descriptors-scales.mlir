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
