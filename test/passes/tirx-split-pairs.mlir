// RUN: tirx-opt %s --tirx-split-pairs | filecheck %s

// Of A, B and the accumulator, M = 256, every block keeps its half of the rows: 128 of A, N/2 = 64 of B. Views of global
// memory start 128 rows further down in the second one.

!a = !tirx.tile<256x64xf16, shared>
!b = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<256x128xf32, tensor>

// CHECK-LABEL: tirx.kernel @product
// CHECK-SAME:  grid(4, 2) cluster(2) per_cta threads(128)
// CHECK-NEXT:    %0 = tirx.cta_rank
// CHECK-NEXT:    %i = tirx.block_id x
// CHECK-NEXT:    %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
// CHECK-NEXT:    %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
// CHECK-NEXT:    %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
// CHECK-NEXT:    %1 = arith.constant 7 : index
// CHECK-NEXT:    %2 = arith.shli %0, %1 : index
// CHECK-NEXT:    %3 = arith.addi %i, %2 : index
// CHECK-NEXT:    %4 = tirx.view %a[%3, %i] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
// CHECK-NEXT:    tirx.copy %4, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
// CHECK:         tirx.copy %{{.*}}, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
// CHECK-NEXT:    tirx.mma %sa, %sb, %acc pair : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
// CHECK-NEXT:    %r = tirx.alloc : !tirx.tile<128x128xf32, register>
// CHECK-NEXT:    tirx.copy %acc, %r : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, register>
// CHECK-NEXT:    tirx.return
tirx.kernel @product(%a: memref<512x256xf16>) target("sm_100a") grid(4, 2) cluster(2) threads(128) {
  %i = tirx.block_id x
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %ga = tirx.view %a[%i, %i] : memref<512x256xf16> -> !tirx.tile<256x64xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<256x64xf16, global>, !a
  %gb = tirx.view %a[%i, %i] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
  tirx.copy %gb, %sb : !tirx.tile<128x64xf16, global>, !b
  tirx.mma %sa, %sb, %acc : !a, !b, !acc
  %r = tirx.alloc : !tirx.tile<256x128xf32, register>
  tirx.copy %acc, %r : !acc, !tirx.tile<256x128xf32, register>
  tirx.return
}

// Written layouts: cbx goes, the rest is the layout of one block's part, here of data path B. A tile without it is kept by
// both blocks, and what is copied to it is copied by both. Other dimensions than the first may be shared out, too.

!b_path = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(2, 64, 2, 32) : (1@cbx, 1@TLane, 64@TLane, 1@TCol)]>>
!columns = !tirx.tile<8x64xf32, shared, #tirx.tile_layout<S[(8, 2, 32) : (32, 1@cbx, 1)]>>
!both = !tirx.tile<8x64xf32, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>

// CHECK-LABEL: tirx.kernel @written
// CHECK:         %t = tirx.alloc : !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]>>
// CHECK-NEXT:    %c = tirx.alloc : !tirx.tile<8x32xf32, shared, #tirx.tile_layout<S[(8, 32) : (32, 1)]>>
// CHECK-NEXT:    %s = tirx.alloc : !tirx.tile<8x64xf32, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
// CHECK-NEXT:    %g = tirx.view %e[%i, %i] : memref<64x64xf32> -> !tirx.tile<8x64xf32, global>
// CHECK-NEXT:    %1 = arith.constant 5 : index
// CHECK-NEXT:    %2 = arith.shli %0, %1 : index
// CHECK-NEXT:    %3 = arith.addi %i, %2 : index
// CHECK-NEXT:    %4 = tirx.view %d[%i, %3] : memref<64x64xf32> -> !tirx.tile<8x32xf32, global>
// CHECK-NEXT:    tirx.copy %c, %4 : !tirx.tile<8x32xf32, shared, #tirx.tile_layout<S[(8, 32) : (32, 1)]>>, !tirx.tile<8x32xf32, global>
// CHECK-NEXT:    tirx.copy %g, %s : !tirx.tile<8x64xf32, global>, !tirx.tile<8x64xf32, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
tirx.kernel @written(%d: memref<64x64xf32>, %e: memref<64x64xf32>) target("sm_100a") cluster(2) threads(128) {
  %i = tirx.block_id x
  %t = tirx.alloc : !b_path
  %c = tirx.alloc : !columns
  %s = tirx.alloc : !both
  %g = tirx.view %e[%i, %i] : memref<64x64xf32> -> !tirx.tile<8x64xf32, global>
  %to = tirx.view %d[%i, %i] : memref<64x64xf32> -> !tirx.tile<8x64xf32, global>
  tirx.copy %c, %to : !columns, !tirx.tile<8x64xf32, global>
  tirx.copy %g, %s : !tirx.tile<8x64xf32, global>, !both
  tirx.return
}

// R[2 : 1@cbx] says of a tile that both blocks have all of it, as the scale factors of B have: it goes, too.

!sf = !tirx.tile<256x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(2, 4, 32, 4) : (1@cbx, 4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!whole = !tirx.tile<2x128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(8, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[(4, 2) : (32@TLane, 1@cbx)]>>
!part = !tirx.tile<1x128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[(4, 2) : (32@TLane, 1@cbx)] + 16@TCol>>
!b_sf = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[(4, 2) : (32@TLane, 1@cbx)] + 16@TCol>>

// CHECK-LABEL: tirx.kernel @copies
// CHECK:         %p = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
// CHECK-NEXT:    %w = tirx.alloc : !tirx.tile<2x128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(8, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
// CHECK-NEXT:    %q1 = tirx.subview %w[1, 0, 0] : {{.*}} -> !tirx.tile<1x128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 16@TCol>>
// CHECK-NEXT:    %q = tirx.reshape %q1 : {{.*}} -> !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 16@TCol>>
// CHECK:         tirx.mma %a, %b, %acc scales(%p, %q) pair
tirx.kernel @copies() target("sm_100a") cluster(2) threads(128) {
  %p = tirx.alloc : !sf
  %w = tirx.alloc : !whole
  %q1 = tirx.subview %w[1, 0, 0] : !whole -> !part
  %q = tirx.reshape %q1 : !part -> !b_sf
  %a = tirx.alloc : !tirx.tile<256x128xf8E4M3FN, shared>
  %b = tirx.alloc : !tirx.tile<64x128xf8E4M3FN, shared>
  %acc = tirx.alloc : !tirx.tile<256x64xf32, tensor>
  tirx.mma %a, %b, %acc scales(%p, %q) : !tirx.tile<256x128xf8E4M3FN, shared>, !tirx.tile<64x128xf8E4M3FN, shared>, !tirx.tile<256x64xf32, tensor>, !sf, !b_sf
  tirx.return
}

// Stages of an operand, and a part of a view.

!stages = !tirx.tile<2x256x64xf16, shared>
!stage = !tirx.tile<1x256x64xf16, shared>

// CHECK-LABEL: tirx.kernel @parts
// CHECK:         %st = tirx.alloc : !tirx.tile<2x128x64xf16, shared>
// CHECK-NEXT:    %s1 = tirx.subview %st[1, 0, 0] : !tirx.tile<2x128x64xf16, shared> -> !tirx.tile<1x128x64xf16, shared>
// CHECK-NEXT:    %sa = tirx.reshape %s1 : !tirx.tile<1x128x64xf16, shared> -> !tirx.tile<128x64xf16, shared>
// CHECK:         %1 = arith.constant 64 : index
// CHECK-NEXT:    %2 = arith.addi %i, %1 : index
// CHECK-NEXT:    %3 = arith.constant 7 : index
// CHECK-NEXT:    %4 = arith.shli %0, %3 : index
// CHECK-NEXT:    %5 = arith.addi %i, %4 : index
// CHECK-NEXT:    %6 = tirx.view %a[%5, %2] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
// CHECK-NEXT:    tirx.copy %6, %sa
tirx.kernel @parts(%a: memref<512x256xf16>) target("sm_100a") cluster(2) threads(128) {
  %i = tirx.block_id x
  %st = tirx.alloc : !stages
  %s1 = tirx.subview %st[1, 0, 0] : !stages -> !stage
  %sa = tirx.reshape %s1 : !stage -> !a
  %acc = tirx.alloc : !tirx.tile<256x256xf32, tensor>
  %g = tirx.view %a[%i, %i] : memref<512x256xf16> -> !tirx.tile<256x128xf16, global>
  %right = tirx.subview %g[0, 64] : !tirx.tile<256x128xf16, global> -> !tirx.tile<256x64xf16, global>
  tirx.copy %right, %sa : !tirx.tile<256x64xf16, global>, !a
  tirx.mma %sa, %sa, %acc : !a, !a, !tirx.tile<256x256xf32, tensor>
  tirx.return
}

// The metadata and the scale factors of A are shared out with its rows, on their whole way; of the scale factors of B both
// blocks have all. Blocks of 128 rows in the order of cuBLAS are other shapes of the same halves.

!sa = !tirx.tile<256x128xf4E2M1FN, shared>
!sb = !tirx.tile<128x256xf4E2M1FN, shared>
!e = !tirx.tile<256x32xi4, tensor>
!sfa = !tirx.tile<256x8xf8E4M3FN, tensor>
!sfb = !tirx.tile<128x8xf8E4M3FN, tensor>
!ssfa = !tirx.tile<256x8xf8E4M3FN, shared>
!ssfb = !tirx.tile<128x8xf8E4M3FN, shared>
!ssfa_blocks = !tirx.tile<2x4x32x2x4xf8E4M3FN, shared>
!gsfa = memref<8x4x32x16x4xf8E4M3FN, strided<[8192, 4, 16, 512, 1]>>

// CHECK-LABEL: tirx.kernel @scales_and_codes
// CHECK:         %e = tirx.alloc : !tirx.tile<128x32xi4, tensor>
// CHECK-NEXT:    %ge = tirx.alloc : !tirx.tile<128x32xi4, register>
// CHECK-NEXT:    %sfa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor>
// CHECK-NEXT:    %sfb = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor>
// CHECK-NEXT:    %ssfa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared>
// CHECK-NEXT:    %ssfb = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared>
// CHECK-NEXT:    %blocks = tirx.reshape %ssfa : !tirx.tile<128x8xf8E4M3FN, shared> -> !tirx.tile<1x4x32x2x4xf8E4M3FN, shared>
// CHECK-NEXT:    %1 = arith.addi %i, %0 : index
// CHECK-NEXT:    %2 = tirx.view %f[%1, %i, %i, %i, %i] : {{.*}} -> !tirx.tile<1x4x32x2x4xf8E4M3FN, global>
// CHECK-NEXT:    tirx.copy %2, %blocks
// CHECK:         tirx.mma %a, %b, %acc scales(%sfa, %sfb) metadata(%e) pair :
tirx.kernel @scales_and_codes(%f: !gsfa) target("sm_100a") cluster(2) threads(128) {
  %i = tirx.block_id x
  %a = tirx.alloc : !sa
  %b = tirx.alloc : !sb
  %acc = tirx.alloc : !tirx.tile<256x128xf32, tensor>
  %e = tirx.alloc : !e
  %ge = tirx.alloc : !tirx.tile<256x32xi4, register>
  %sfa = tirx.alloc : !sfa
  %sfb = tirx.alloc : !sfb
  %ssfa = tirx.alloc : !ssfa
  %ssfb = tirx.alloc : !ssfb
  %gf = tirx.view %f[%i, %i, %i, %i, %i] : !gsfa -> !tirx.tile<2x4x32x2x4xf8E4M3FN, global>
  %blocks = tirx.reshape %ssfa : !ssfa -> !ssfa_blocks
  tirx.copy %gf, %blocks : !tirx.tile<2x4x32x2x4xf8E4M3FN, global>, !ssfa_blocks
  tirx.copy %ge, %e : !tirx.tile<256x32xi4, register>, !e
  tirx.copy %ssfa, %sfa : !ssfa, !sfa
  tirx.copy %ssfb, %sfb : !ssfb, !sfb
  tirx.mma %a, %b, %acc scales(%sfa, %sfb) metadata(%e) : !sa, !sb, !tirx.tile<256x128xf32, tensor>, !sfa, !sfb, !e
  tirx.return
}

// A kernel of one block stays as it is, and so does one that says what each block does.

// CHECK-LABEL: tirx.kernel @one() threads(32) {
// CHECK-LABEL: tirx.kernel @each() cluster(2) per_cta threads(32) {
tirx.kernel @one() threads(32) {
  tirx.return
}
tirx.kernel @each() cluster(2) per_cta threads(32) {
  tirx.return
}

// A copy between places in global memory: each block copies the half that it has stored, and that it stores over then.

// CHECK-LABEL: tirx.kernel @between_memrefs
// CHECK:         [[HALF:%.*]] = tirx.view %d[%i, {{.*}}] : memref<64x64xf32> -> !tirx.tile<8x32xf32, global>
// CHECK-NEXT:    tirx.copy %c, [[HALF]]
// CHECK:         [[FROM:%.*]] = tirx.view %d[%i, {{.*}}] : memref<64x64xf32> -> !tirx.tile<8x32xf32, global>
// CHECK:         [[TO:%.*]] = tirx.view %e[%i, {{.*}}] : memref<64x64xf32> -> !tirx.tile<8x32xf32, global>
// CHECK-NEXT:    tirx.copy [[FROM]], [[TO]] : !tirx.tile<8x32xf32, global>, !tirx.tile<8x32xf32, global>
// CHECK:         tirx.copy %c, %{{.*}}, !tirx.tile<8x32xf32, global>
tirx.kernel @between_memrefs(%d: memref<64x64xf32>, %e: memref<64x64xf32>) target("sm_100a") cluster(2) threads(128) {
  %i = tirx.block_id x
  %c = tirx.alloc : !columns
  %from = tirx.view %d[%i, %i] : memref<64x64xf32> -> !tirx.tile<8x64xf32, global>
  tirx.copy %c, %from : !columns, !tirx.tile<8x64xf32, global>
  %to = tirx.view %e[%i, %i] : memref<64x64xf32> -> !tirx.tile<8x64xf32, global>
  tirx.copy %from, %to : !tirx.tile<8x64xf32, global>, !tirx.tile<8x64xf32, global>
  tirx.copy %c, %from : !columns, !tirx.tile<8x64xf32, global>
  tirx.return
}

// Maps, reductions and broadcasts compute the half of a block; what has extent 1 along it stays whole, `tirx.index`
// counts from where the half begins, and views may be transposed, have steps and sizes.

!as = !tirx.tile<256x64xf16, shared>
!bs = !tirx.tile<32x64xf16, shared>
!sums = !tirx.tile<256x32xf32, tensor>
!registers = !tirx.tile<256x32xf32, register>

// CHECK-LABEL: tirx.kernel @epilogue
// CHECK-NEXT:    %0 = tirx.cta_rank
// CHECK:         %x = tirx.load %acc : !tirx.tile<128x32xf32, tensor> -> !tirx.tile<128x32xf32, register>
// CHECK:         %row = tirx.load %{{.*}} : !tirx.tile<1x32xf32, global> -> !tirx.tile<1x32xf32, register>
// CHECK:         %[[ROWS:.*]] = arith.shli %0, %{{.*}} : index
// CHECK:         %[[STEPS:.*]] = arith.shli %[[ROWS]], %{{.*}} : index
// CHECK-NEXT:    %[[PLACE:.*]] = arith.addi %{{.*}}, %[[STEPS]] : index
// CHECK-NEXT:    %[[LEFT:.*]] = arith.subi %n, %[[ROWS]] : index
// CHECK-NEXT:    %[[V:.*]] = tirx.view %s[%[[PLACE]]] dims(0, _) steps [2] clipped to [%[[LEFT]]] : memref<512xf32> -> !tirx.tile<128x1xf32, global>
// CHECK-NEXT:    %scale = tirx.load %[[V]] : !tirx.tile<128x1xf32, global> -> !tirx.tile<128x1xf32, register>
// CHECK:         %[[HALF:.*]] = arith.shli %0, %{{.*}} : index
// CHECK-NEXT:    %y = tirx.map ins(%x, %row, %scale : !tirx.tile<128x32xf32, register>, !tirx.tile<1x32xf32, register>, !tirx.tile<128x1xf32, register>) {
// CHECK-NEXT:    ^{{.*}}
// CHECK-NEXT:      %[[I:.*]] = tirx.index 0
// CHECK-NEXT:      %[[OWN:.*]] = arith.addi %[[I]], %[[HALF]] : index
// CHECK-NEXT:      %[[J:.*]] = tirx.index 1
// CHECK-NEXT:      %{{.*}} = arith.cmpi slt, %[[OWN]], %[[J]] : index
// CHECK:         %m = tirx.reduce %y dim(1) max : !tirx.tile<128x32xf32, register> -> !tirx.tile<128x1xf32, register>
// CHECK-NEXT:    %w = tirx.broadcast %m : !tirx.tile<128x1xf32, register> -> !tirx.tile<128x32xf32, register>
// CHECK:         tirx.view %d[%{{.*}}, %{{.*}}] dims(1, 0) : memref<32x256xf32> -> !tirx.tile<128x32xf32, global>
// CHECK:         tirx.view %most[%{{.*}}] dims(0, _) : memref<256xf32> -> !tirx.tile<128x1xf32, global>
tirx.kernel @epilogue(%a: memref<256x64xf16>, %b: memref<32x64xf16>, %bias: memref<1x32xf32>, %s: memref<512xf32>, %most: memref<256xf32>, %d: memref<32x256xf32>, %n: index) target("sm_100a") cluster(2) threads(128) {
  %sa = tirx.alloc copy(%a[0, 0]) : memref<256x64xf16>, !as
  %sb = tirx.alloc copy(%b[0, 0]) : memref<32x64xf16>, !bs
  %acc = tirx.alloc : !sums
  tirx.mma %sa, %sb, %acc : !as, !bs, !sums
  %x = tirx.load %acc : !sums -> !registers
  %row = tirx.load %bias[0, 0] : memref<1x32xf32> -> !tirx.tile<1x32xf32, register>
  %scale = tirx.load %s[0] dims(0, _) steps [2] clipped to [%n] : memref<512xf32> -> !tirx.tile<256x1xf32, register>
  %y = tirx.map ins(%x, %row, %scale : !registers, !tirx.tile<1x32xf32, register>, !tirx.tile<256x1xf32, register>) (%e, %f, %g) { select(index(0) < index(1), 0.0, %e * %g + %f) } -> !registers
  %m = tirx.reduce %y dim(1) max : !registers -> !tirx.tile<256x1xf32, register>
  %w = tirx.broadcast %m : !tirx.tile<256x1xf32, register> -> !registers
  tirx.store %w, %d[0, 0] dims(1, 0) : !registers, memref<32x256xf32>
  tirx.store %m, %most[0] dims(0, _) : !tirx.tile<256x1xf32, register>, memref<256xf32>
}
