// RUN: tirx-opt %s --tirx-allocate-memory --tirx-allocate-memory --tirx-insert-barriers --split-input-file | filecheck %s

// Tiles in use at the same time lie behind each other, swizzled ones at multiples of 1024 bytes. What is not in use at
// the same time shares bytes. Allocating again gives the same plan.

// The largest first takes fewer bytes here. Columns: %t and %u are in use together, %v comes after %t. The mbarrier and the slot follow the tiles.

// CHECK-LABEL: tirx.kernel @together
// CHECK-SAME:    memory(shared = 2572, alignment = 1024, columns = 128, mbarrier = 2560, slot = 2568)
// CHECK:         %a = tirx.alloc at 0 : !tirx.tile<8x64xf16, shared,
// CHECK-NEXT:    %b = tirx.alloc at 2048 : !tirx.tile<4x64xf16, shared,
// CHECK-NEXT:    %c = tirx.alloc at 1024 : !tirx.tile<8x64xf16, shared,
// CHECK-NEXT:    %t = tirx.alloc at 0 : !tirx.tile<128x64xf32, tensor,
// CHECK-NEXT:    %u = tirx.alloc at 64 : !tirx.tile<128x64xf32, tensor,
// CHECK-NEXT:    %v = tirx.alloc at 0 : !tirx.tile<128x64xf32, tensor,
#s = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
#p = #tirx.tile_layout<S[(4, 64) : (64, 1)]>
#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @together() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f16
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.alloc : !tirx.tile<8x64xf16, shared, #s>
  %b = tirx.alloc : !tirx.tile<4x64xf16, shared, #p>
  %c = tirx.alloc : !tirx.tile<8x64xf16, shared, #s>
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  %u = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  %v = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  scf.for %i = %c0 to %c1 step %c1 {
    tirx.fill %a, %zero : f16, !tirx.tile<8x64xf16, shared, #s>
    tirx.fill %b, %zero : f16, !tirx.tile<4x64xf16, shared, #p>
    tirx.fill %c, %zero : f16, !tirx.tile<8x64xf16, shared, #s>
    tirx.fill %t, %one : f32, !tirx.tile<128x64xf32, tensor, #d>
    tirx.fill %u, %one : f32, !tirx.tile<128x64xf32, tensor, #d>
  }
  tirx.fill %u, %one : f32, !tirx.tile<128x64xf32, tensor, #d>
  tirx.fill %v, %one : f32, !tirx.tile<128x64xf32, tensor, #d>
  tirx.return
}

// -----

// One after the other: the bytes are shared, and a barrier keeps the threads that still read %a from those that write
// %b already. %c lies beside %b and needs none.

// CHECK-LABEL: tirx.kernel @in_turn
// CHECK-SAME:    memory(shared = 4096, alignment = 128)
// CHECK:         %a = tirx.alloc at 0
// CHECK-NEXT:    %b = tirx.alloc at 0
// CHECK-NEXT:    %c = tirx.alloc at 2048
// CHECK:         tirx.copy %x, %a
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %a, %x
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %y, %b
// CHECK-NEXT:    tirx.copy %z, %c
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %b, %c
// CHECK-NEXT:    tirx.return
!g = !tirx.tile<8x64xf32, global, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
!s = !tirx.tile<8x64xf32, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
tirx.kernel @in_turn(%m: memref<8x64xf32>, %n: memref<8x64xf32>, %o: memref<8x64xf32>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %m[%c0, %c0] : memref<8x64xf32> -> !g
  %y = tirx.view %n[%c0, %c0] : memref<8x64xf32> -> !g
  %z = tirx.view %o[%c0, %c0] : memref<8x64xf32> -> !g
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %c = tirx.alloc : !s
  tirx.copy %x, %a : !g, !s
  tirx.copy %a, %x : !s, !g
  tirx.copy %y, %b : !g, !s
  tirx.copy %z, %c : !g, !s
  tirx.copy %b, %c : !s, !s
  tirx.return
}

// -----

// The address of %a may be kept, and a tensor core may still read %b when its descriptor has been made: they share bytes
// with no other tile, used before them or after them.

// CHECK-LABEL: tirx.kernel @escaping
// CHECK:         %a = tirx.alloc at 0
// CHECK-NEXT:    %b = tirx.alloc at 2048
// CHECK-NEXT:    %c = tirx.alloc at 4096
// CHECK-NEXT:    %d = tirx.alloc at 4096
!g = !tirx.tile<16x64xf16, global, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>
!s = !tirx.tile<16x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>>
tirx.kernel @escaping(%m: memref<16x64xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %m[%c0, %c0] : memref<16x64xf16> -> !g
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %c = tirx.alloc : !s
  %d = tirx.alloc : !s
  tirx.copy %x, %c : !g, !s
  tirx.copy %c, %x : !s, !g
  tirx.copy %x, %a : !g, !s
  tirx.copy %x, %b : !g, !s
  %p = tirx.address %a : !s -> i32
  %q = tcgen05.smem_descriptor %b, 0 of 16 : !s -> i64
  tirx.copy %x, %d : !g, !s
  tirx.return
}

// -----

// Beyond what an entry of the target may declare, shared memory is dynamic; sm_90a may declare all there is.

// CHECK-LABEL: tirx.kernel @dynamic
// CHECK-SAME:    memory(shared = 65536, alignment = 128, dynamic = true)
tirx.kernel @dynamic() target("sm_90") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x1024xi8, shared, #tirx.tile_layout<S[(64, 1024) : (1024, 1)]>>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @static
// CHECK-SAME:    memory(shared = 65536, alignment = 128)
tirx.kernel @static() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x1024xi8, shared, #tirx.tile_layout<S[(64, 1024) : (1024, 1)]>>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @nothing
// CHECK-SAME:    memory(shared = 0)
tirx.kernel @nothing() target("sm_90a") threads(128) {
  tirx.return
}
