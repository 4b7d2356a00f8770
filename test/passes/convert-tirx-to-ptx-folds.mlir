// RUN: tirx-opt %s --convert-tirx-to-ptx --convert-arith-to-ptx --tirx-cse | filecheck %s

#rows = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
#part = #tirx.tile_layout<S[8 : 4@laneid] + R[4 : 1@laneid]>
!x = !tirx.tile<8x8xf32, register, #rows>
!m = !tirx.tile<8x1xf32, register, #part>

// In the thread, two rounds over the four lanes of a row, and the elements behind what comes before them.

// CHECK-LABEL: ptx.entry @scan
tirx.kernel @scan(%d: memref<8x8xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
  %x = tirx.load %g : !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (8, 1)]>> -> !x
  // CHECK: [[S:%.*]] = ptx.add [[A:%.*]], [[B:%.*]] : f32
  // CHECK: ptx.shfl.sync up [[S]], {{.*}} : f32
  // CHECK: ptx.selp
  // CHECK: ptx.shfl.sync up
  // CHECK: ptx.selp
  // CHECK: ptx.shfl.sync up
  // CHECK: ptx.selp
  // CHECK: ptx.add
  // CHECK: ptx.add
  // CHECK-NOT: ptx.add
  %y = tirx.scan %x dim(1) add : !x -> !x
  tirx.store %y, %g : !x, !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
  tirx.return
}

// Lanes combine in one order: the accumulator of the lower one is the first.

// CHECK-LABEL: ptx.entry @region
tirx.kernel @region(%d: memref<8x1xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %d[%c0, %c0] : memref<8x1xf32> -> !tirx.tile<8x1xf32, global, #tirx.tile_layout<S[(8, 1) : (1, 1)]>>
  %x = tirx.zero : !x
  // CHECK: ptx.sub
  // CHECK: [[O:%.*]] = ptx.shfl.sync bfly [[S:%.*]], {{.*}} : f32
  // CHECK: [[L:%.*]] = ptx.selp {{.*}}, [[O]], [[S]] : f32
  // CHECK-NEXT: [[U:%.*]] = ptx.selp {{.*}}, [[S]], [[O]] : f32
  // CHECK-NEXT: ptx.sub [[L]], [[U]] : f32
  %y = tirx.reduce ins(%x : !x) dim(1) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    tirx.yield %c : f32
  } -> !m
  tirx.store %y, %g : !m, !tirx.tile<8x1xf32, global, #tirx.tile_layout<S[(8, 1) : (1, 1)]>>
  tirx.return
}
