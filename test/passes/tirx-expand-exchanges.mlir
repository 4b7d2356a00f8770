// RUN: tirx-opt %s --tirx-expand-exchanges | filecheck %s

#rows = #tirx.tile_layout<S[(4, 4, 32) : (1@warpid, 1, 1@laneid)]>
#all = #tirx.tile_layout<S[(4, 4, 32) : (1, 1@warpid, 1@laneid)]>
#row = #tirx.tile_layout<S[16 : 1] + R[32 : 1@laneid]>
!rows = !tirx.tile<16x32xf32, register, #rows>
!all = !tirx.tile<16x32xf32, register, #all>

// Warps that hold whole rows reduce them alone.

// CHECK-LABEL: tirx.kernel @within_warps
// CHECK-NOT: tirx.alloc
tirx.kernel @within_warps(%x: !rows) target("sm_80") threads(128) {
  // CHECK: tirx.reduce %x dim(1) add
  %0 = tirx.reduce %x dim(1) add : !rows -> !tirx.tile<16x1xf32, register, #tirx.tile_layout<S[(4, 4) : (1@warpid, 1)] + R[32 : 1@laneid]>>
  tirx.return
}

// Warps that share a column exchange what they find.

// CHECK-LABEL: tirx.kernel @across_warps
tirx.kernel @across_warps(%x: !rows) target("sm_80") threads(128) {
  // CHECK-NEXT: [[M:%.*]] = tirx.alloc : !tirx.tile<4x1x32xf32, shared,
  // CHECK-NEXT: [[P:%.*]] = builtin.unrealized_conversion_cast %x : {{.*}} to !tirx.tile<4x4x32xf32, register,
  // CHECK-NEXT: [[Q:%.*]] = tirx.reduce [[P]] dim(1) max : {{.*}} -> !tirx.tile<4x1x32xf32, register,
  // CHECK-NEXT: tirx.store [[Q]], [[M]]
  // CHECK-NEXT: [[L:%.*]] = tirx.load [[M]] : {{.*}} -> !tirx.tile<4x1x32xf32, register, #tirx.tile_layout<S[(4, 32) : (1, 1@laneid)] + R[4 : 1@warpid]>>
  // CHECK-NEXT: tirx.reduce [[L]] dim(0) max
  %0 = tirx.reduce %x dim(0) max : !rows -> !tirx.tile<1x32xf32, register, #tirx.tile_layout<S[32 : 1@laneid] + R[4 : 1@warpid]>>
  tirx.return
}

// Other warps hold the elements: shared memory.

// CHECK-LABEL: tirx.kernel @other_warps
tirx.kernel @other_warps(%x: !rows) target("sm_80") threads(128) {
  // CHECK-NEXT: [[M:%.*]] = tirx.alloc : !tirx.tile<16x32xf32, shared,
  // CHECK-NEXT: tirx.store %x, [[M]]
  // CHECK-NEXT: tirx.load [[M]]
  %0 = tirx.convert %x : !rows -> !all
  tirx.return
}

// The warp holds them: shuffles, later.

// CHECK-LABEL: tirx.kernel @other_lanes
tirx.kernel @other_lanes(%x: !tirx.tile<32x2xf32, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>) target("sm_80") threads(32) {
  // CHECK-NEXT: tirx.convert
  %0 = tirx.convert %x : !tirx.tile<32x2xf32, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>> -> !tirx.tile<32x2xf32, register, #tirx.tile_layout<S[(2, 16, 2) : (1, 1@laneid, 16@laneid)]>>
  tirx.return
}

// Threads that share out the tile in other numbers than powers of two: it goes to warps that hold what they combine, and
// the result to where it belongs.

#sixes = #tirx.tile_layout<S[(16, 6) : (6@tx, 1@tx)]>
#sums = #tirx.tile_layout<S[6 : 1@tx]>
!sixes = !tirx.tile<16x6xf32, register, #sixes>
!sums = !tirx.tile<1x6xf32, register, #sums>

// CHECK-LABEL: tirx.kernel @three_warps
// CHECK-NEXT:    [[N:%.*]] = tirx.alloc : !tirx.tile<1x6xf32, shared,
// CHECK-NEXT:    [[M:%.*]] = tirx.alloc : !tirx.tile<16x6xf32, shared,
// CHECK-NEXT:    tirx.store %x, [[M]]
// CHECK-NEXT:    [[L:%.*]] = tirx.load [[M]] : {{.*}} -> !tirx.tile<16x6xf32, register, #tirx.tile_layout<S[(16, 3, 2) : (1@laneid, 1@warpid, 1)] + R[2 : 16@laneid]>>
// CHECK-NEXT:    [[S:%.*]] = tirx.reduce [[L]] dim(0) add
// CHECK-NEXT:    tirx.store [[S]], [[N]]
// CHECK-NEXT:    %sum = tirx.load [[N]] : {{.*}} -> !tirx.tile<1x6xf32, register, #tirx.tile_layout<S[6 : 1@tx]>>
// CHECK-NEXT:    "test.op"(%sum)
tirx.kernel @three_warps(%x: !sixes) target("sm_80") threads(96) {
  %sum = tirx.reduce %x dim(0) add : !sixes -> !sums
  "test.op"(%sum) : (!sums) -> ()
  tirx.return
}

// CHECK-LABEL: tirx.kernel @rows_of_three_warps
tirx.kernel @rows_of_three_warps(%x: !sixes) target("sm_80") threads(96) {
  %sum = tirx.reduce %x dim(1) max : !sixes -> !tirx.tile<16x1xf32, register, #tirx.tile_layout<S[16 : 1@tx]>>
  "test.op"(%sum) : (!tirx.tile<16x1xf32, register, #tirx.tile_layout<S[16 : 1@tx]>>) -> ()
  tirx.return
}

// The narrowest elements that are combined.

// CHECK-LABEL: tirx.kernel @halves
// CHECK:         tirx.alloc : !tirx.tile<4x1x32xf16, shared,
// CHECK:         tirx.reduce {{.*}} dim(0) max
tirx.kernel @halves(%x: !tirx.tile<16x32xf16, register, #rows>) target("sm_80") threads(128) {
  %0 = tirx.reduce %x dim(0) max : !tirx.tile<16x32xf16, register, #rows> -> !tirx.tile<1x32xf16, register, #tirx.tile_layout<S[32 : 1@laneid] + R[4 : 1@warpid]>>
  tirx.return
}

// Warps scan their parts behind what the warps before them have.

#line = #tirx.tile_layout<S[(1, 4, 32) : (1, 1@warpid, 1@laneid)]>
#total = #tirx.tile_layout<S[1 : 1] + R[(4, 32) : (1@warpid, 1@laneid)]>
!line = !tirx.tile<1x128xf32, register, #line>

// CHECK-LABEL: tirx.kernel @scan
tirx.kernel @scan(%x: !line) target("sm_80") threads(128) {
  // CHECK-NEXT: [[M:%.*]] = tirx.alloc : !tirx.tile<1x1x4x1xf32, shared,
  // CHECK-NEXT: [[P:%.*]] = builtin.unrealized_conversion_cast %x : {{.*}} to !tirx.tile<1x1x4x32xf32, register,
  // CHECK-NEXT: {{.*}}, [[T:%.*]] = tirx.scan [[P]] dim(3) add
  // CHECK-NEXT: tirx.store [[T]], [[M]]
  // CHECK-NEXT: [[L:%.*]] = tirx.load [[M]]
  // CHECK: [[B:%.*]], {{.*}} = tirx.scan {{.*}} dim(1) add exclusive
  // CHECK-NEXT: [[C:%.*]] = builtin.unrealized_conversion_cast [[B]]
  // CHECK-NEXT: [[O:%.*]] = tirx.convert [[C]]
  // CHECK-NEXT: tirx.scan [[P]] dim(3) add init([[O]] :
  %0 = tirx.scan %x dim(1) add : !line -> !line
  tirx.return
}
