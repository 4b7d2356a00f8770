// RUN: tirx-opt %s --tirx-select-instructions --tirx-select-copies --tirx-allocate-memory --convert-tirx-to-tcgen05 | filecheck %s

#sw32 = #tirx.swizzle_layout<3, 1, 3>
#sw64 = #tirx.swizzle_layout<3, 2, 3>

// Every instruction reads its part of A: 16 elements of f16, 8 columns.

// CHECK-LABEL: tirx.kernel @a_in_tensor_memory
// CHECK:         %[[A:.*]] = tcgen05.tile %{{.*}}, 0 : i32 -> !tirx.tile<128x32xf16, tensor
// CHECK:         %[[D:.*]] = tcgen05.tile %{{.*}}, 16 : i32 -> !tirx.tile<128x64xf32, tensor
// CHECK:         tcgen05.st "32x32b" %[[A]], %r :
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    ptx.fence.proxy.async
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK:         %[[A0:.*]] = tirx.subview %[[A]][0, 0] : {{.*}} -> !tirx.tile<128x16xf16, tensor
// CHECK-NEXT:    %[[B0:.*]] = tcgen05.smem_descriptor %b, 0 of 16
// CHECK-NEXT:    %[[A1:.*]] = tirx.subview %[[A]][0, 16] : {{.*}} -> !tirx.tile<128x16xf16, tensor
// CHECK-NEXT:    %[[B1:.*]] = tcgen05.smem_descriptor %b, 1 of 16
// CHECK:           tcgen05.mma f16 %[[D]], %[[A0]], %[[B0]],
// CHECK-NEXT:      tcgen05.mma f16 %[[D]], %[[A1]], %[[B1]],
#a = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
#b = #tirx.compose_layout<#sw64, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#r2 = #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>
tirx.kernel @a_in_tensor_memory() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, tensor, #a>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared, #b>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  %r = tirx.zero : !tirx.tile<128x32xf16, register, #r2>
  tirx.store %r, %a : !tirx.tile<128x32xf16, register, #r2>, !tirx.tile<128x32xf16, tensor, #a>
  tirx.mma %a, %b, %d : !tirx.tile<128x32xf16, tensor, #a>, !tirx.tile<64x32xf16, shared, #b>, !tirx.tile<128x64xf32, tensor, #d>
  tirx.return
}

// Sums of f16 have a column each: registers of two are packed and unpacked.

// CHECK-LABEL: tirx.kernel @f16_accumulator
// CHECK:           tcgen05.alloc %{{.*}} columns 32
// CHECK:         %[[V:.*]] = tcgen05.ld "32x32b" %{{.*}} pack : !tirx.tile<128x32xf16, tensor
// CHECK-NEXT:    tcgen05.wait ld
// CHECK:         tcgen05.st "32x32b" %{{.*}} unpack, %[[V]] :
// CHECK-NEXT:    tcgen05.wait st
#d16 = #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>
tirx.kernel @f16_accumulator() target("sm_100a") threads(128) {
  %d = tirx.alloc : !tirx.tile<128x32xf16, tensor, #d16>
  %v = tirx.load %d : !tirx.tile<128x32xf16, tensor, #d16> -> !tirx.tile<128x32xf16, register, #r2>
  tirx.store %v, %d : !tirx.tile<128x32xf16, register, #r2>, !tirx.tile<128x32xf16, tensor, #d16>
  tirx.return
}

// An instruction of K = 32 reads 16 stored elements of A and one column of codes: of the two from an even one on that
// the sparsity selector names. The tile of three columns starts at an even one, behind the 5 of %x.

// CHECK-LABEL: tirx.kernel @sparse
// CHECK:         %[[E:.*]] = tcgen05.tile %{{.*}}, 6 : i32 -> !tirx.tile<128x24xi4, tensor
// CHECK:         %[[EVEN:.*]] = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, sparse = true> : i32
// CHECK-NEXT:    %[[ODD:.*]] = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, sparse = true, sparsity_selector = 1> : i32
// CHECK:         tcgen05.smem_descriptor %a, 0 of 16
// CHECK-NEXT:    tcgen05.smem_descriptor %b, 0 of 32
// CHECK-NEXT:    %[[E0:.*]] = tirx.subview %[[E]][0, 0] : {{.*}} -> !tirx.tile<128x16xi4
// CHECK:         %[[E1:.*]] = tirx.subview %[[E]][0, 0] : {{.*}} -> !tirx.tile<128x16xi4
// CHECK:         %[[E2:.*]] = tirx.subview %[[E]][0, 16] : {{.*}} -> !tirx.tile<128x8xi4
// CHECK:           tcgen05.mma f16 %{{.*}}, %{{.*}}, %{{.*}}, %[[EVEN]], %{{.*}} sparse(%[[E0]] :
// CHECK-NEXT:      tcgen05.mma f16 %{{.*}}, %{{.*}}, %{{.*}}, %[[ODD]], %{{.*}} sparse(%[[E1]] :
// CHECK-NEXT:      tcgen05.mma f16 %{{.*}}, %{{.*}}, %{{.*}}, %[[EVEN]], %{{.*}} sparse(%[[E2]] :
#as = #tirx.compose_layout<#sw32, #tirx.tile_layout<S[(128, 3, 16) : (16, 2048, 1)]>>
#bs = #tirx.compose_layout<#sw64, #tirx.tile_layout<S[(64, 3, 32) : (32, 2048, 1)]>>
#e = #tirx.tile_layout<S[(8, 2, 8, 3, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 8@TCol, 8@TLane, 1@TCol)]>
#x = #tirx.tile_layout<S[(128, 5) : (1@TLane, 1@TCol)]>
tirx.kernel @sparse() target("sm_100a") threads(128) {
  %x = tirx.alloc : !tirx.tile<128x5xf32, tensor, #x>
  %a = tirx.alloc : !tirx.tile<128x48xf16, shared, #as>
  %b = tirx.alloc : !tirx.tile<64x96xf16, shared, #bs>
  %e = tirx.alloc : !tirx.tile<128x24xi4, tensor, #e>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  %rx = tirx.zero : !tirx.tile<128x5xf32, register, #tirx.tile_layout<S[(4, 32, 5) : (1@warpid, 1@laneid, 1)]>>
  tirx.store %rx, %x : !tirx.tile<128x5xf32, register, #tirx.tile_layout<S[(4, 32, 5) : (1@warpid, 1@laneid, 1)]>>, !tirx.tile<128x5xf32, tensor, #x>
  tirx.mma %a, %b, %d metadata(%e) : !tirx.tile<128x48xf16, shared, #as>, !tirx.tile<64x96xf16, shared, #bs>, !tirx.tile<128x64xf32, tensor, #d>, !tirx.tile<128x24xi4, tensor, #e>
  %v = tirx.load %x : !tirx.tile<128x5xf32, tensor, #x> -> !tirx.tile<128x5xf32, register, #tirx.tile_layout<S[(4, 32, 5) : (1@warpid, 1@laneid, 1)]>>
  tirx.return
}
