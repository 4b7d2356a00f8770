// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-instructions --tirx-select-copies --tirx-prefetch-fragments --tirx-check-rings | filecheck %s
// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-instructions --tirx-select-copies --tirx-prefetch-fragments="next_slot=false" --tirx-check-rings | filecheck %s --check-prefix ALONE

#rows = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
!s = !tirx.tile<64x32xf16, shared, #rows>
!g = !tirx.tile<64x32xf16, global>
!f = !tirx.tile<64x32xf16, register>
!acc = !tirx.tile<64x64xf32, register>

// Two steps of m16n8k16: the fragments of the second are loaded before the products of the first.

// CHECK-LABEL: tirx.kernel @steps(
// CHECK:         %0 = tirx.subview %sa[0, 0] :
// CHECK-NEXT:    %fa = tirx.load %0 engine ldmatrix : {{.*}} -> !tirx.tile<64x16xf16, register, #tirx.tile_layout<S[(2, 2, 2, 8, 2, 4, 2) : (2@warpid, 8, 2, 4@laneid, 4, 1@laneid, 1)] + R[2 : 1@warpid]>>
// CHECK-NEXT:    %1 = tirx.subview %sb[0, 0] :
// CHECK-NEXT:    %fb = tirx.load %1 engine ldmatrix :
// CHECK-NEXT:    %2 = tirx.subview %sa[0, 16] :
// CHECK-NEXT:    %fa_1 = tirx.load %2 engine ldmatrix :
// CHECK-NEXT:    %3 = tirx.subview %sb[0, 16] :
// CHECK-NEXT:    %fb_1 = tirx.load %3 engine ldmatrix :
// CHECK-NEXT:    %d = tirx.mma %fa, %fb, %zeros plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"]) : !tirx.tile<64x16xf16,
// CHECK-NEXT:    %d_1 = tirx.mma %fa_1, %fb_1, %d plan
// CHECK-NEXT:    "test.op"(%d_1)
tirx.kernel @steps() target("sm_80") threads(128) {
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %zeros = tirx.zero : !acc
  %fa = tirx.load %sa : !s -> !f
  %fb = tirx.load %sb : !s -> !f
  %d = tirx.mma %fa, %fb, %zeros : !f, !f, !acc -> !acc
  "test.op"(%d) : (!acc) -> ()
  tirx.return
}

// Loads stay where something may write to memory behind them, and where the fragments are used again.

// CHECK-LABEL: tirx.kernel @stay(
// CHECK:         %fa = tirx.load %sa engine ldmatrix : {{.*}} -> !tirx.tile<64x32xf16,
// CHECK-NEXT:    %fb = tirx.load %sb engine ldmatrix :
// CHECK-NEXT:    tirx.store
// CHECK-NEXT:    %d = tirx.mma {{.*}} : !tirx.tile<64x32xf16,
// CHECK-NEXT:    %fc = tirx.load %sb engine ldmatrix :
// CHECK-NEXT:    %e = tirx.mma {{.*}} : !tirx.tile<64x32xf16,
tirx.kernel @stay() target("sm_80") threads(128) {
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %zeros = tirx.zero : !acc
  %fa = tirx.load %sa : !s -> !f
  %fb = tirx.load %sb : !s -> !f
  tirx.store %fa, %sb : !f, !s
  %d = tirx.mma %fa, %fb, %zeros : !f, !f, !acc -> !acc
  %fc = tirx.load %sb : !s -> !f
  %e = tirx.mma %fa, %fc, %d : !f, !f, !acc -> !acc
  "test.op"(%e) : (!acc) -> ()
  tirx.return
}

// A product of one step stays; so does one with a store behind its loads. Other products may stand in between.

!t = !tirx.tile<64x16xf16, shared>
!u = !tirx.tile<64x16xf16, register>

// CHECK-LABEL: tirx.kernel @between(
// CHECK:         %fa = tirx.load %sa engine ldmatrix : {{.*}} -> !tirx.tile<64x16xf16,
// CHECK-NEXT:    %fb = tirx.load %sb engine ldmatrix : {{.*}} -> !tirx.tile<64x16xf16,
// CHECK-NEXT:    %d = tirx.mma %fa, %fb, %zeros plan{{.*}} : !tirx.tile<64x16xf16,
// CHECK-NEXT:    tirx.subview %sc[0, 0]
// CHECK:         %e = tirx.mma {{.*}} %d plan
// CHECK-NEXT:    %e_1 = tirx.mma {{.*}} %e plan
// CHECK-NEXT:    "test.op"(%e_1)
// CHECK-NEXT:    %fe = tirx.load
// CHECK-NEXT:    %ff = tirx.load
// CHECK-NEXT:    %x = tirx.zero
// CHECK-NEXT:    tirx.store
// CHECK-NEXT:    %g = tirx.mma %fe, %ff, {{.*}} : !tirx.tile<64x32xf16,
tirx.kernel @between() target("sm_80") threads(128) {
  %sa = tirx.alloc : !t
  %sb = tirx.alloc : !t
  %sc = tirx.alloc : !s
  %sd = tirx.alloc : !s
  %zeros = tirx.zero : !acc
  %fc = tirx.load %sc : !s -> !f
  %fd = tirx.load %sd : !s -> !f
  %fa = tirx.load %sa : !t -> !u
  %fb = tirx.load %sb : !t -> !u
  %d = tirx.mma %fa, %fb, %zeros : !u, !u, !acc -> !acc
  %e = tirx.mma %fc, %fd, %d : !f, !f, !acc -> !acc
  "test.op"(%e) : (!acc) -> ()
  %fe = tirx.load %sc : !s -> !f
  %ff = tirx.load %sd : !s -> !f
  %x = tirx.zero : !u
  tirx.store %x, %sa : !u, !t
  %g = tirx.mma %fe, %ff, %zeros : !f, !f, !acc -> !acc
  "test.op"(%g) : (!acc) -> ()
  tirx.return
}

// In a role that reads what another one fills. The slot is given back behind its last load, before the next is acquired.

// CHECK-LABEL: tirx.kernel @role(
// CHECK:         tirx.for @k %k_1 = 0 to %n skew(1) iter(%c = %zeros) {
// CHECK-NEXT:      %fa, %fb, %d = tirx.at(1) {
// CHECK-NEXT:        {{.*}} = tirx.subview %a_1[0, 16]
// CHECK-NEXT:        {{.*}} = tirx.load
// CHECK-NEXT:        {{.*}} = tirx.subview %b_1[0, 16]
// CHECK-NEXT:        {{.*}} = tirx.load
// CHECK-NEXT:        {{.*}} = tirx.mma %fa_{{[0-9]}}, %fb_{{[0-9]}}, %c plan
// CHECK-NEXT:        tirx.release %ab at(use)
// CHECK-NEXT:        tirx.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %a_1, %b_1, {{.*}} = tirx.at(0) {
// CHECK-NEXT:        {{.*}} = tirx.acquire %ab at(use)
// CHECK-NEXT:        {{.*}} = tirx.subview {{.*}}[0, 0]
// CHECK-NEXT:        {{.*}} = tirx.load
// CHECK-NEXT:        {{.*}} = tirx.subview {{.*}}[0, 0]
// CHECK-NEXT:        {{.*}} = tirx.load
// CHECK-NEXT:        tirx.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %{{.*}} = tirx.at(1) {
// CHECK-NEXT:        {{.*}} = tirx.mma %fa, %fb, %d plan
// CHECK-NEXT:        tirx.yield

// ALONE-LABEL: tirx.kernel @role(
// ALONE:         tirx.for @k %k_1 = 0 to %n iter(%c = %zeros) {
// ALONE-NEXT:      {{.*}} = tirx.acquire %ab at(use)
// ALONE:           tirx.mma
// ALONE-NEXT:      {{.*}} = tirx.mma
// ALONE-NEXT:      tirx.release %ab at(use)
tirx.kernel @role(%x: memref<64x4096xf16>, %n: index) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  tirx.roles {
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %kk = arith.muli %k, %c32 : index
        %g = tirx.view %x[%c0, %kk] : memref<64x4096xf16> -> !g
        %a, %b = tirx.acquire %ab at(fill)
        tirx.async_copy %g, %a engine(tma) : !g, !s
        tirx.async_copy %g, %b engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @math warps(4) {
      %zeros = tirx.zero : !acc
      %sum = tirx.for @k %k = 0 to %n iter(%c = %zeros) {
        %a, %b = tirx.acquire %ab at(use)
        %fa = tirx.load %a : !s -> !f
        %fb = tirx.load %b : !s -> !f
        %d = tirx.mma %fa, %fb, %c : !f, !f, !acc -> !acc
        tirx.release %ab at(use)
        tirx.yield %d
      }
      "test.op"(%sum) : (!acc) -> ()
    }
  }
  tirx.return
}

// All threads fill by cp.async, behind the acquire, which waits for the fills and is a barrier. It comes a round earlier
// than the products; with all slots but one filled ahead, the fill keeps its distance. Half of its copies start behind the
// acquire, half behind the first products of the next round.

// CHECK-LABEL: tirx.kernel @cp_async(
// CHECK:         skew(3) iter(%c = %zeros) {
// CHECK-NEXT:      %fa, %fb, %d = tirx.at(3) {
// CHECK:             tirx.release %ab at(use)
// CHECK:           tirx.at(1) {
// CHECK:             %[[G:.*]] = tirx.subview %g[32, 0]
// CHECK-NEXT:        %[[A:.*]] = tirx.subview %[[SLOT:.*]][32, 0]
// CHECK-NEXT:        tirx.async_copy %[[G]], %[[A]] engine(cp_async)
// CHECK:             tirx.async_copy
// CHECK-NEXT:        tirx.release %ab at(fill) after(cp_async)
// CHECK:           %a, %b, {{.*}} = tirx.at(2) {
// CHECK-NEXT:        {{.*}} = tirx.acquire %ab at(use)
// CHECK:           %[[SLOT]], {{.*}} = tirx.at(0) {
// CHECK:             tirx.acquire %ab at(fill)
// CHECK:             tirx.subview %{{.*}}[0, 0]
// CHECK-NOT:         tirx.release
// CHECK:           tirx.at(3) {
// CHECK-NEXT:        {{.*}} = tirx.mma

// With two slots the fill of the next one is not complete before it starts: nothing is loaded ahead.

// CHECK:         skew(1) iter
// CHECK-NEXT:      tirx.at(0)
// CHECK:           tirx.at(1) {
// CHECK-NEXT:        tirx.acquire
tirx.kernel @cp_async(%x: memref<64x4096xf16>, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = tirx.zero : !acc
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %sum = tirx.for @k %k = 0 to %n skew(2) iter(%c = %zeros) {
    %ua, %ub = tirx.at(2) {
      %a, %b = tirx.acquire %ab at(use)
      tirx.yield %a, %b
    }
    tirx.at(0) {
      %kk = arith.muli %k, %c32 : index
      %g = tirx.view %x[%c0, %kk] : memref<64x4096xf16> -> !g
      %a, %b = tirx.acquire %ab at(fill)
      tirx.async_copy %g, %a engine(cp_async) : !g, !s
      tirx.async_copy %g, %b engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)
    }
    %next = tirx.at(2) {
      %fa = tirx.load %ua : !s -> !f
      %fb = tirx.load %ub : !s -> !f
      %d = tirx.mma %fa, %fb, %c : !f, !f, !acc -> !acc
      tirx.release %ab at(use)
      tirx.yield %d
    }
    tirx.yield %next
  }
  %two = tirx.ring slots(2) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %more = tirx.for @j %k = 0 to %n skew(1) iter(%c = %sum) {
    tirx.at(0) {
      %kk = arith.muli %k, %c32 : index
      %g = tirx.view %x[%c0, %kk] : memref<64x4096xf16> -> !g
      %a, %b = tirx.acquire %two at(fill)
      tirx.copy %g, %a : !g, !s
      tirx.copy %g, %b : !g, !s
      tirx.release %two at(fill)
    }
    %next = tirx.at(1) {
      %a, %b = tirx.acquire %two at(use)
      %fa = tirx.load %a : !s -> !f
      %fb = tirx.load %b : !s -> !f
      %d = tirx.mma %fa, %fb, %c : !f, !f, !acc -> !acc
      tirx.release %two at(use)
      tirx.yield %d
    }
    tirx.yield %next
  }
  "test.op"(%more) : (!acc) -> ()
  tirx.return
}

// A slot that a part of an outer loop has acquired is that of all iterations of an inner one.

// CHECK-LABEL: tirx.kernel @inner(
// CHECK:           tirx.acquire %ab at(use)
// CHECK-NEXT:        tirx.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      {{.*}} = tirx.at(0) {
// CHECK-NEXT:        {{.*}} = tirx.for @j %j = 0 to %n iter(%e = %c) {
// CHECK-NEXT:          {{.*}} = tirx.subview {{.*}}[0, 0]
// CHECK:               tirx.mma
// CHECK-NEXT:          {{.*}} = tirx.mma
// CHECK-NEXT:          tirx.yield
// CHECK-NEXT:        }
// CHECK-NEXT:        tirx.release %ab at(use)
tirx.kernel @inner(%x: memref<64x4096xf16>, %n: index) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<64x4096xf16> -> !g
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  tirx.roles {
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %a, %b = tirx.acquire %ab at(fill)
        tirx.async_copy %g, %a engine(tma) : !g, !s
        tirx.async_copy %g, %b engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @math warps(4) {
      %zeros = tirx.zero : !acc
      %sum = tirx.for @k %k = 0 to %n iter(%c = %zeros) {
        %ua, %ub = tirx.at(0) {
          %a, %b = tirx.acquire %ab at(use)
          tirx.yield %a, %b
        }
        %next = tirx.at(0) {
          %d = tirx.for @j %j = 0 to %n iter(%e = %c) {
            %fa = tirx.load %ua : !s -> !f
            %fb = tirx.load %ub : !s -> !f
            %h = tirx.mma %fa, %fb, %e : !f, !f, !acc -> !acc
            tirx.yield %h
          }
          tirx.release %ab at(use)
          tirx.yield %d
        }
        tirx.yield %next
      }
      "test.op"(%sum) : (!acc) -> ()
    }
  }
  tirx.return
}
