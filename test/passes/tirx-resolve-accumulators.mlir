// RUN: tirx-opt %s --tirx-resolve-accumulators | filecheck %s
// RUN: tirx-opt %s --tirx-set-target="target=sm_100a" --tirx-resolve-accumulators | filecheck %s --check-prefix=TENSOR

!s = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, accumulator>
!values = !tirx.tile<128x128xf32, register>
!row = !tirx.tile<128x1xf32, register>

// In registers, where wgmma and mma.sync have it, the accumulator is a tile like any other; in tensor memory it is
// loaded for each operation that computes with it, and stored behind each that writes it.

// CHECK-LABEL: tirx.kernel @epilogue
// CHECK:         %acc = tirx.alloc : !tirx.tile<128x128xf32, register>
// CHECK-NEXT:    tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, register>
// CHECK-NEXT:    tirx.mma %a, %a, %acc : {{.*}}, !tirx.tile<128x128xf32, register>
// CHECK-NEXT:    %most = tirx.reduce %acc dim(1) max
// CHECK-NEXT:    tirx.map ins(%acc, %most : !tirx.tile<128x128xf32, register>, !tirx.tile<128x1xf32, register>)
// CHECK-SAME:      outs(%acc : !tirx.tile<128x128xf32, register>)
// CHECK:         %values = tirx.convert %acc
// CHECK-NEXT:    tirx.copy %values, %acc
// CHECK-NEXT:    tirx.copy %acc, %gd

// TENSOR-LABEL: tirx.kernel @epilogue
// TENSOR:         %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
// TENSOR-NEXT:    tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
// TENSOR-NEXT:    tirx.mma %a, %a, %acc : {{.*}}, !tirx.tile<128x128xf32, tensor>
// TENSOR-NEXT:    %acc_1 = tirx.load %acc : !tirx.tile<128x128xf32, tensor> -> !tirx.tile<128x128xf32, register>
// TENSOR-NEXT:    %most = tirx.reduce %acc_1 dim(1) max
// TENSOR-NEXT:    %0 = tirx.alloc : !tirx.tile<128x128xf32, register>
// TENSOR-NEXT:    %acc_2 = tirx.load %acc
// TENSOR-NEXT:    tirx.map ins(%acc_2, %most : !tirx.tile<128x128xf32, register>, !tirx.tile<128x1xf32, register>)
// TENSOR-SAME:      outs(%0 : !tirx.tile<128x128xf32, register>)
// TENSOR:         tirx.copy %0, %acc : !tirx.tile<128x128xf32, register>, !tirx.tile<128x128xf32, tensor>
// TENSOR-NEXT:    %values = tirx.load %acc
// TENSOR-NEXT:    tirx.store %values, %acc
// TENSOR-NEXT:    tirx.copy %acc, %gd
tirx.kernel @epilogue(%d: memref<128x128xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  %a = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %a, %a, %acc : !s, !s, !acc
  %most = tirx.reduce %acc dim(1) max : !acc -> !row
  tirx.map ins(%acc, %most : !acc, !row) outs(%acc : !acc) {
  ^bb0(%x: f32, %m: f32):
    %y = arith.subf %x, %m : f32
    tirx.yield %y : f32
  }
  %values = tirx.load %acc : !acc -> !values
  tirx.store %values, %acc : !values, !acc
  tirx.copy %acc, %gd : !acc, !tirx.tile<128x128xf32, global>
  tirx.return
}

// An A in registers goes to tensor memory; tcgen05 has no f64, and stores from whole warpgroups.

// TENSOR-LABEL: tirx.kernel @registers
// TENSOR-NEXT:    %a = tirx.alloc : !tirx.tile<128x64xf16, tensor>
// TENSOR:         %0 = tirx.alloc : !tirx.tile<128x128xf32, tensor>
// TENSOR:         %1 = tirx.alloc : !tirx.tile<64x64xf64, register>
// TENSOR-NEXT:    tirx.copy %a_1, %a
// TENSOR-NEXT:    tirx.mma %a, %b, %0
// TENSOR-LABEL: tirx.kernel @two_warps
// TENSOR:         %{{.*}} = tirx.alloc : !tirx.tile<128x128xf32, register>
tirx.kernel @registers() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, register>
  %b = tirx.alloc : !s
  %x = tirx.alloc : !tirx.tile<64x64xf64, register>
  %0 = tirx.alloc : !acc
  %1 = tirx.alloc : !tirx.tile<64x64xf64, accumulator>
  tirx.mma %a, %b, %0 : !tirx.tile<128x64xf16, register>, !s, !acc
  tirx.mma %x, %x, %1 : !tirx.tile<64x64xf64, register>, !tirx.tile<64x64xf64, register>, !tirx.tile<64x64xf64, accumulator>
  tirx.return
}
tirx.kernel @two_warps() target("sm_90a") threads(64) {
  %a = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.mma %a, %a, %acc : !s, !s, !acc
  tirx.return
}

// An accumulator of 256 rows in tensor memory is two of 128 rows, in columns side by side.

// CHECK-LABEL: tirx.kernel @rows_of_two
// CHECK:         %acc = tirx.alloc : !tirx.tile<256x64xf32, tensor, #tirx.tile_layout<S[(2, 128, 64) : (64@TCol, 1@TLane, 1@TCol)]>>
// CHECK-NEXT:    [[A0:%.*]] = tirx.subview %a[0, 0] {{.*}} -> !tirx.tile<128x16xf16, shared>
// CHECK-NEXT:    [[ACC0:%.*]] = tirx.subview %acc[0, 0] {{.*}} -> !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tirx.mma [[A0]], %b, [[ACC0]] :
// CHECK-NEXT:    [[A1:%.*]] = tirx.subview %a[128, 0]
// CHECK-NEXT:    [[ACC1:%.*]] = tirx.subview %acc[128, 0] {{.*}} -> !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 64@TCol>>
// CHECK-NEXT:    tirx.mma [[A1]], %b, [[ACC1]] :
tirx.kernel @rows_of_two() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<256x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<256x64xf32, accumulator>
  tirx.mma %a, %b, %acc : !tirx.tile<256x16xf16, shared>, !tirx.tile<64x16xf16, shared>,
    !tirx.tile<256x64xf32, accumulator>
  tirx.return
}

// Stages of such an accumulator follow each other.

// CHECK-LABEL: tirx.kernel @stages_of_two
// CHECK:         %acc = tirx.alloc : !tirx.tile<2x256x64xf32, tensor, #tirx.tile_layout<S[(2, 2, 128, 64) : (128@TCol, 64@TCol, 1@TLane, 1@TCol)]>>
// CHECK:         tirx.mma %{{.*}}, %b, %{{.*}} : {{.*}} + 128@TCol>>
// CHECK:         tirx.mma %{{.*}}, %b, %{{.*}} : {{.*}} + 192@TCol>>
tirx.kernel @stages_of_two() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<256x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<2x256x64xf32, tensor>
  %part = tirx.subview %acc[1, 0, 0] : !tirx.tile<2x256x64xf32, tensor> -> !tirx.tile<1x256x64xf32, tensor>
  %one = tirx.reshape %part : !tirx.tile<1x256x64xf32, tensor> -> !tirx.tile<256x64xf32, tensor>
  tirx.mma %a, %b, %one : !tirx.tile<256x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<256x64xf32, tensor>
  tirx.return
}

// Those of a pair of blocks have 128 rows in each of them.

// CHECK-LABEL: tirx.kernel @rows_of_a_pair
// CHECK:         tirx.mma %a, %b, %acc :
tirx.kernel @rows_of_a_pair() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<256x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<256x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<256x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<256x64xf32, tensor>
  tirx.return
}
