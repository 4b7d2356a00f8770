// RUN: tirx-opt %s --convert-tirx-to-wgmma | filecheck %s

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[128, 32]>>
#b = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[32, 32]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 4, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x32xf16, shared, #a>
!b = !tirx.tile<32x32xf16, shared, #b>
!d = !tirx.tile<128x32xf32, register, #d>

// Two warpgroups read their own rows of A and all of B, one slice of K after the other. The first product may leave out
// what the accumulators held.

// CHECK-LABEL: tirx.kernel @sequential
// CHECK:         %[[A0:.*]] = wgmma.smem_descriptor %sa, 0 of 16 rows 64 from [0, 64] :
// CHECK-NEXT:    %[[B0:.*]] = wgmma.smem_descriptor %sb, 0 of 16 rows 32 from [0] :
// CHECK-NEXT:    %[[A1:.*]] = wgmma.smem_descriptor %sa, 1 of 16 rows 64 from [0, 64] :
// CHECK-NEXT:    %[[B1:.*]] = wgmma.smem_descriptor %sb, 1 of 16 rows 32 from [0] :
// CHECK-NEXT:    wgmma.fence
// CHECK-NEXT:    %[[P0:.*]] = wgmma.mma_async "f16" "f16" n 32 a(%[[A0]] : i64) b(%[[B0]]) c(%z : {{.*}}) at 0 scale_d %p negate_a ->
// CHECK-NEXT:    %[[P1:.*]] = wgmma.mma_async "f16" "f16" n 32 a(%[[A1]] : i64) b(%[[B1]]) c(%[[P0]] : {{.*}}) at 0 negate_a ->
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    %[[D:.*]] = wgmma.wait_group 0(%[[P1]] : {{.*}}) ->
// CHECK:         tirx.store %[[D]], %gd
tirx.kernel @sequential(%d: memref<128x32xf32>) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %p = arith.cmpi ne, %c0, %c0 : index
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %0 = tirx.mma %sa, %sb, %z negate_a accumulate(%p) plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !d
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.store %0, %gd : !d, !tirx.tile<128x32xf32, global>
  tirx.return
}

// Accumulators that never count are overwritten. A in registers starts at element 8 of the tile in the second step.

#ra = #tirx.tile_layout<S[(2, 4, 2, 8, 2, 2, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 8, 4, 1@laneid, 1)]>
!ra = !tirx.tile<128x32xf16, register, #ra>

// CHECK-LABEL: tirx.kernel @registers
// CHECK:         wgmma.fence
// CHECK-NEXT:    %[[P0:.*]] = wgmma.mma_async "f16" "f16" n 32 a(%ra : {{.*}}) b(%{{.*}}) c(%z : {{.*}}) at 0 a_at 0 overwrite ->
// CHECK-NEXT:    wgmma.mma_async "f16" "f16" n 32 a(%ra : {{.*}}) b(%{{.*}}) c(%[[P0]] : {{.*}}) at 0 a_at 8 ->
tirx.kernel @registers() target("sm_90a") threads(256) {
  %never = arith.constant false
  %zero = arith.constant 0.0 : f32
  %h = arith.constant 0.0 : f16
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %ra = tirx.splat %h : f16 -> !ra
  %0 = tirx.mma %ra, %sb, %z accumulate(%never) plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !ra, !b, !d -> !d
  tirx.return
}

// Products that are pending are groups of their own. A tile is awaited for with as many groups pending as all paths have
// committed since.

// CHECK-LABEL: tirx.kernel @pending
// CHECK:         wgmma.mma_async
// CHECK-NEXT:    wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK:         %[[LOOP:.*]] = scf.for
// CHECK:           wgmma.commit_group
// CHECK-NEXT:      wgmma.wait_group 1
// CHECK-NEXT:      scf.yield
// CHECK:         wgmma.commit_group
// CHECK-NEXT:    %d1 = wgmma.wait_group 1(%[[LOOP]]
// CHECK-NEXT:    %d2 = wgmma.wait_group 0(%
tirx.kernel @pending(%n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %0 = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %0) -> (!tirx.pending<!d>) {
    %2 = tirx.async_mma %sa, %sb, %acc plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !tirx.pending<!d> -> !tirx.pending<!d>
    tirx.await wgmma pending(1)
    scf.yield %2 : !tirx.pending<!d>
  }
  %other = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %d1 = tirx.await %1 : !tirx.pending<!d>
  %d2 = tirx.await %other : !tirx.pending<!d>
  tirx.return
}

// A branch that commits nothing makes the count smaller.

// CHECK-LABEL: tirx.kernel @branch
// CHECK:         scf.if
// CHECK:         %d = wgmma.wait_group 0(%
tirx.kernel @branch(%n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %p = arith.cmpi ne, %n, %c0 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %0 = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  scf.if %p {
    wgmma.commit_group
  }
  %d = tirx.await %0 : !tirx.pending<!d>
  tirx.return
}

// Behind a loop of products that wait for themselves nothing is pending, whether it ran or not.

// CHECK-LABEL: tirx.kernel @loop
// CHECK:         scf.for
// CHECK:           wgmma.wait_group 0(%
// CHECK:         wgmma.commit_group
// CHECK-NEXT:    %d1 = wgmma.wait_group 1(%
// CHECK-NEXT:    %d2 = wgmma.wait_group 0(%
tirx.kernel @loop(%n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %0 = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %sums = scf.for %i = %c0 to %c2 step %c1 iter_args(%c = %z) -> (!d) {
    %sum = tirx.mma %sa, %sb, %c plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !d
    scf.yield %sum : !d
  }
  %1 = tirx.async_mma %sa, %sb, %sums plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %d1 = tirx.await %0 : !tirx.pending<!d>
  %d2 = tirx.await %1 : !tirx.pending<!d>
  tirx.return
}

// A wait that an earlier one includes is none of its own: the earlier one gives its sum, if that is there already. How many
// groups a loop in between has committed is not known.

// CHECK-LABEL: tirx.kernel @included
// CHECK:         wgmma.commit_group
// CHECK:         wgmma.commit_group
// CHECK:         wgmma.commit_group
// CHECK-NEXT:    %second_1, %first_1 = wgmma.wait_group 1(%{{.*}}, %{{.*}} :
// CHECK-NEXT:    "test.op"(%second_1)
// CHECK-NEXT:    "test.op"(%first_1)
// CHECK-NEXT:    wgmma.wait_group 0(%
// CHECK:         wgmma.commit_group
// CHECK:         wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 1(%
// CHECK-NEXT:    scf.for
// CHECK:         wgmma.wait_group 1
// CHECK-NEXT:    %[[CHOSEN:.*]] = arith.select
// CHECK-NEXT:    wgmma.wait_group 1(%[[CHOSEN]]
tirx.kernel @included(%n: index, %p: i1) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.splat %zero : f32 -> !d
  %first = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %second = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %third = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %second_1 = tirx.await %second : !tirx.pending<!d>
  "test.op"(%second_1) : (!d) -> ()
  %first_1 = tirx.await %first : !tirx.pending<!d>
  "test.op"(%first_1) : (!d) -> ()
  %third_1 = tirx.await %third : !tirx.pending<!d>
  %4 = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %5 = tirx.async_mma %sa, %sb, %z plan(wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K") : !a, !b, !d -> !tirx.pending<!d>
  %6 = tirx.await %4 : !tirx.pending<!d>
  scf.for %i = %c0 to %n step %c1 {
    wgmma.commit_group
  }
  tirx.await wgmma pending(1)
  %chosen = arith.select %p, %4, %4 : !tirx.pending<!d>
  %7 = tirx.await %chosen : !tirx.pending<!d>
  tirx.return
}
