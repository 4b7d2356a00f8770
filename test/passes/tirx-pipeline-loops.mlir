// RUN: tirx-opt %s --tirx-pipeline-loops --tirx-check-rings | filecheck %s
// RUN: tirx-opt %s --tirx-pipeline-loops | tirx-opt --tirx-check-rings | filecheck %s

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (4096, 1)]>>
!f = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<64x64xf32, register>
!t = !tirx.tile<128x64xf32, tensor>
!h = !tirx.tile<64x64xf32, tensor>

// One thread fills by TMA; the run-time number of iterations is 0 where the bounds say so. Two tiles that are filled and
// given back together are one ring. All memory that is left becomes slots, 4 at most for this family.

// CHECK-LABEL: tirx.kernel @tma(
// CHECK:         %sa_sb = tirx.ring slots(4) stations(fill, use) : !tirx.ring<sa: !tirx.tile<64x64xf16, shared, #{{.*}}>, sb:
// CHECK-NEXT:    %zeros = tirx.zero
// CHECK-NEXT:    %0 = arith.constant 0 : index
// CHECK-NEXT:    %1 = arith.subi %high, %low : index
// CHECK-NEXT:    %2 = arith.maxsi %1, %0 : index
// CHECK-NEXT:    %k_trips = arith.ceildivui %2, %step : index
// CHECK-NEXT:    %sum = tirx.for @k %k = 0 to %k_trips skew(3) iter(%c = %zeros) {
// CHECK-NEXT:      tirx.at(0) {
// CHECK-NEXT:        %3 = arith.muli %k, %step : index
// CHECK-NEXT:        %k_1 = arith.addi %3, %low : index
// CHECK-NEXT:        %ga = tirx.view %a[%low, %k_1]
// CHECK-NEXT:        %gb = tirx.view %b[%low, %k_1]
// CHECK-NEXT:        %sa, %sb = tirx.acquire %sa_sb at(fill)
// CHECK-NEXT:        tirx.async_copy %ga, %sa engine(tma)
// CHECK-NEXT:        tirx.async_copy %gb, %sb engine(tma)
// CHECK-NEXT:        tirx.release %sa_sb at(fill) after(tma)
// CHECK-NEXT:      }
// CHECK-NEXT:      %d = tirx.at(3) {
// CHECK-NEXT:        %sa_1, %sb_1 = tirx.acquire %sa_sb at(use)
// CHECK-NEXT:        %fa = tirx.load %sa_1
// CHECK-NEXT:        %fb = tirx.load %sb_1
// CHECK-NEXT:        %d_1 = tirx.mma %fa, %fb, %c
// CHECK-NEXT:        tirx.release %sa_sb at(use)
// CHECK-NEXT:        tirx.yield %d_1
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.yield %d
// CHECK-NEXT:    }
// CHECK-NEXT:    "test.op"(%sum)
tirx.kernel @tma(%a: memref<64x4096xf16>, %b: memref<64x4096xf16>, %low: index, %high: index, %step: index) target("sm_90") threads(128) {
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %zeros = tirx.zero : !acc
  %sum = scf.for %k = %low to %high step %step iter_args(%c = %zeros) -> (!acc) {
    %ga = tirx.view %a[%low, %k] : memref<64x4096xf16> -> !g
    %gb = tirx.view %b[%low, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    %fa = tirx.load %sa : !s -> !f
    %fb = tirx.load %sb : !s -> !f
    %d = tirx.mma %fa, %fb, %c : !f, !f, !acc -> !acc
    scf.yield %d : !acc
  }
  "test.op"(%sum) : (!acc) -> ()
  tirx.return
}

// All threads copy by cp.async, so the wait for a slot also says that the slot of the round before is read.

// CHECK-LABEL: tirx.kernel @cp_async(
// CHECK:         %sa = tirx.ring slots(5) stations(fill, use)
// CHECK:         tirx.for @k %k = 0 to 64 skew(4) {
// CHECK-NEXT:      %sa_1 = tirx.at(4) {
// CHECK-NEXT:        %sa_2 = tirx.acquire %sa at(use)
// CHECK-NEXT:        tirx.yield %sa_2
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.at(0) {
// CHECK-NEXT:        %k_1 = arith.muli %k, %c64 : index
// CHECK-NEXT:        %ga = tirx.view %a[%c0, %k_1]
// CHECK-NEXT:        %sa_3 = tirx.acquire %sa at(fill)
// CHECK-NEXT:        tirx.async_copy %ga, %sa_3 engine(cp_async)
// CHECK-NEXT:        tirx.release %sa at(fill) after(cp_async)
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.at(4) {
// CHECK-NEXT:        %k_2 = arith.muli %k, %c64 : index
// CHECK-NEXT:        %half = tirx.subview %sa_1[32, 0]
// CHECK-NEXT:        %f = tirx.load %half
// CHECK-NEXT:        tirx.release %sa at(use)
// CHECK-NEXT:        "test.op"(%f, %k_2)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
tirx.kernel @cp_async(%a: memref<64x4096xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %sa = tirx.alloc : !s
  %half = tirx.subview %sa[32, 0] : !s -> !tirx.tile<32x64xf16, shared, #tirx.tile_layout<S[2048 : 1] + 2048>>
  scf.for %k = %c0 to %c4096 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %f = tirx.load %half : !tirx.tile<32x64xf16, shared, #tirx.tile_layout<S[2048 : 1] + 2048>> -> !tirx.tile<32x64xf16, register>
    "test.op"(%f, %k) : (!tirx.tile<32x64xf16, register>, index) -> ()
  } {tirx.stages = 5 : i32}
  tirx.return
}

// Products on tensor memory run asynchronously: their accumulator is the slot of a ring, even where a fill starts it.
// B of the first product has a ring of its own, since its slot is free earlier.

// CHECK-LABEL: tirx.kernel @tcgen05(
// CHECK:         %sa_sc = tirx.ring slots(2) stations(fill, use)
// CHECK-NEXT:    %sb = tirx.ring slots(2) stations(fill, use)
// CHECK-NEXT:    %acc = tirx.ring slots(1) stations(init, sum, read) : !tirx.ring<acc: !tirx.tile<128x64xf32, tensor>>
// CHECK-NEXT:    %acc_1 = tirx.acquire %acc at(init)
// CHECK-NEXT:    tirx.fill %acc_1, %zero
// CHECK-NEXT:    tirx.release %acc at(init)
// CHECK:         %acc_2 = tirx.acquire %acc at(sum)
// CHECK:         tirx.for @k %k = 0 to %k_trips skew(1) {
// CHECK:           tirx.at(1) {
// CHECK-NEXT:        %sa_1, %sc_1 = tirx.acquire %sa_sc at(use)
// CHECK-NEXT:        %sb_2 = tirx.acquire %sb at(use)
// CHECK-NEXT:        tirx.async_mma %sa_1, %sb_2, %acc_2
// CHECK-NEXT:        tirx.release %sb at(use) after(tcgen05)
// CHECK-NEXT:        tirx.async_mma %sa_1, %sc_1, %acc_2
// CHECK-NEXT:        tirx.release %sa_sc at(use) after(tcgen05)
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.release %acc at(sum) after(tcgen05)
// CHECK-NEXT:    %acc_3 = tirx.acquire %acc at(read)
// CHECK-NEXT:    %part = tirx.subview %acc_3[0, 32]
// CHECK-NEXT:    %r = tirx.load %part
// CHECK-NEXT:    tirx.release %acc at(read)
tirx.kernel @tcgen05(%a: memref<128x4096xf16>, %b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
  %sb = tirx.alloc : !s
  %sc = tirx.alloc : !s
  %acc = tirx.alloc : !t
  tirx.fill %acc, %zero : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
    tirx.copy %gb, %sb : !g, !s
    tirx.copy %gb, %sc : !g, !s
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>, !s, !t
    tirx.mma %sa, %sc, %acc : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>, !s, !t
  } {tirx.stages = 2 : i32}
  %part = tirx.subview %acc[0, 32] : !t -> !tirx.tile<128x32xf32, tensor>
  %r = tirx.load %part : !tirx.tile<128x32xf32, tensor> -> !tirx.tile<128x32xf32, register>
  "test.op"(%r) : (!tirx.tile<128x32xf32, register>) -> ()
  tirx.return
}

// Commits of sm_107a tell when A is read: what products only read as A has a ring of its own, so that its slots come back
// before the product is complete.

// CHECK-LABEL: tirx.kernel @early(
// CHECK:         %sa = tirx.ring slots(2) stations(fill, use)
// CHECK-NEXT:    %sb = tirx.ring slots(2) stations(fill, use)
// CHECK:           %sa_2 = tirx.acquire %sa at(use)
// CHECK-NEXT:      %sb_2 = tirx.acquire %sb at(use)
// CHECK-NEXT:      tirx.async_mma %sa_2, %sb_2, %acc_2
// CHECK-NEXT:      tirx.release %sb at(use) after(tcgen05)
// CHECK-NEXT:      tirx.release %sa at(use) after(tcgen05)
tirx.kernel @early(%a: memref<64x4096xf16>, %b: memref<64x4096xf16>, %n: index) target("sm_107a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !h
  tirx.fill %acc, %zero : f32, !h
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !h
  } {tirx.stages = 2 : i32}
  %r = tirx.load %acc : !h -> !tirx.tile<64x64xf32, register>
  "test.op"(%r) : (!tirx.tile<64x64xf32, register>) -> ()
  tirx.return
}

// Scale factors in tensor memory are read until the last product of the iteration is complete.

// CHECK-LABEL: tirx.kernel @scales_of_two_products(
// CHECK:         %fa_fb = tirx.ring slots(1) stations(cp, use)
// CHECK:           %fa, %fb = tirx.acquire %fa_fb at(cp)
// CHECK:           tirx.release %fa_fb at(cp) after(tcgen05)
// CHECK-NEXT:      %fa_1, %fb_1 = tirx.acquire %fa_fb at(use)
// CHECK-NEXT:      tirx.async_mma {{.*}} scales(%fa_1, %fb_1)
// CHECK-NEXT:      tirx.async_mma {{.*}} scales(%fb_1, %fa_1)
// CHECK-NEXT:      tirx.release %fa_fb at(use) after(tcgen05)
!packed = !tirx.tile<128x256xf4E2M1FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 256) : (256, 1)]>>>
!packed_global = !tirx.tile<128x256xf4E2M1FN, global>
!factors = !tirx.tile<128x16xf8E4M3FN, tensor>
!factors_shared = !tirx.tile<128x16xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 4, 4) : (4, 16, 512, 1)]>>
!blocks = !tirx.tile<1x4x32x4x4xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 4, 4) : (4, 16, 512, 1)]>>
!blocks_global = !tirx.tile<1x4x32x4x4xf8E4M3FN, global>
!sum = !tirx.tile<128x128xf32, tensor>
tirx.kernel @scales_of_two_products(%a: memref<128x4096xf4E2M1FN>, %f: memref<1x4x32x64x4xf8E4M3FN, strided<[32768, 4, 16, 512, 1]>>, %n: index)
    target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %s = tirx.alloc : !packed
  %sf = tirx.alloc : !factors_shared
  %fa = tirx.alloc : !factors
  %fb = tirx.alloc : !factors
  %acc = tirx.alloc : !sum
  %other = tirx.alloc : !sum
  tirx.fill %acc, %zero : f32, !sum
  tirx.fill %other, %zero : f32, !sum
  scf.for %k = %c0 to %n step %c1 {
    %ka = arith.muli %k, %c256 : index
    %kf = arith.muli %k, %c4 : index
    %g = tirx.view %a[%c0, %ka] : memref<128x4096xf4E2M1FN> -> !packed_global
    %gf = tirx.view %f[%c0, %c0, %c0, %kf, %c0] : memref<1x4x32x64x4xf8E4M3FN, strided<[32768, 4, 16, 512, 1]>> -> !blocks_global
    %blocks = tirx.reshape %sf : !factors_shared -> !blocks
    tirx.copy %g, %s : !packed_global, !packed
    tirx.copy %gf, %blocks : !blocks_global, !blocks
    tirx.copy %sf, %fa : !factors_shared, !factors
    tirx.copy %sf, %fb : !factors_shared, !factors
    tirx.mma %s, %s, %acc scales(%fa, %fb) : !packed, !packed, !sum, !factors, !factors
    tirx.mma %s, %s, %other scales(%fb, %fa) : !packed, !packed, !sum, !factors, !factors
  }
  %r = tirx.load %acc : !sum -> !tirx.tile<128x128xf32, register>
  %q = tirx.load %other : !sum -> !tirx.tile<128x128xf32, register>
  "test.op"(%r, %q) : (!tirx.tile<128x128xf32, register>, !tirx.tile<128x128xf32, register>) -> ()
  tirx.return
}

// What places of copies depend on is loaded a round before the copies, and again where something else needs it.

// CHECK-LABEL: tirx.kernel @loaded_places(
// CHECK:         tirx.for @k %k = 0 to 8 skew(4) {
// CHECK-NEXT:      %sa_1 = tirx.at(4) {
// CHECK:           tirx.at(1) {
// CHECK-NEXT:        %i = tirx.map ins(%rows : {{.*}}) {
// CHECK:               arith.addi {{.*}}, %column
// CHECK:             tirx.view %a[{{\[}}%i], %column] clipped
// CHECK-NEXT:        tirx.acquire %sa at(fill)
// CHECK-NEXT:        tirx.async_copy
// CHECK-NEXT:        tirx.release %sa at(fill) after(cp_async)
// CHECK-NEXT:      }
// CHECK-NEXT:      %rows, %column = tirx.at(0) {
// CHECK-NEXT:        tirx.view %ids[%k, %c0]
// CHECK-NEXT:        %rows_1 = tirx.load
// CHECK-NEXT:        %column_1 = memref.load %at[%k]
// CHECK-NEXT:        tirx.yield %rows_1, %column_1
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.at(4) {
// CHECK-NEXT:        %column_2 = memref.load %at[%k]
// CHECK-NEXT:        tirx.load %sa_1
!indices = !tirx.tile<64xi32, register, #tirx.tile_layout<S[(4, 16) : (1, 8@tx)] + R[8 : 1@tx]>>
!plain = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @loaded_places(%a: memref<?x4096xf16>, %ids: memref<8x64xi32>, %at: memref<8xindex>) target("sm_80")
    threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !plain
  scf.for %k = %c0 to %c8 step %c1 {
    %gi = tirx.view %ids[%k, %c0] : memref<8x64xi32> -> !tirx.tile<64xi32, global>
    %rows = tirx.load %gi : !tirx.tile<64xi32, global> -> !indices
    %column = memref.load %at[%k] : memref<8xindex>
    %i = tirx.map ins(%rows : !indices) {
    ^bb0(%e: i32):
      %p = tirx.index 0
      %n = arith.addi %p, %column : index
      %n32 = arith.index_cast %n : index to i32
      %m = arith.addi %e, %n32 : i32
      tirx.yield %m : i32
    } -> !indices
    %ga = tirx.view %a[[%i], %column] clipped : memref<?x4096xf16>, !indices -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa engine cp_async : !tirx.tile<64x64xf16, global>, !plain
    %fa = tirx.load %sa : !plain -> !tirx.tile<64x64xf16, register>
    "test.op"(%fa, %column) : (!tirx.tile<64x64xf16, register>, index) -> ()
  }
  tirx.return
}
