// RUN: tirx-opt %s --tirx-expand-copies | filecheck %s

// Between global and shared memory: every thread holds vectors of 16 bytes, neighbours next to each other.

#row = #tirx.tile_layout<S[(128, 64) : (64, 1)]>
#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #row>
!g = !tirx.tile<128x64xf16, global, #row>
!s = !tirx.tile<128x64xf16, shared, #swizzled>

// CHECK-LABEL: tirx.kernel @memory
// CHECK:         %0 = tirx.load %ga : {{.*}} -> !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(8, 128, 8) : (8, 1@tx, 1)]>>
// CHECK-NEXT:    tirx.store %0, %s
// CHECK-NEXT:    %1 = tirx.load %ga : {{.*}} -> !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(8, 128, 8) : (8, 1@tx, 1)]>>
// CHECK-NEXT:    tirx.store %1, %gb
// CHECK-NEXT:    %2 = tirx.splat %zero : {{.*}} -> !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(8, 128, 8) : (8, 1@tx, 1)]>>
// CHECK-NEXT:    tirx.store %2, %s
// CHECK-NEXT:    tirx.return
tirx.kernel @memory(%a: memref<128x64xf16>, %b: memref<128x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !g
  %gb = tirx.view %b[%c0, %c0] : memref<128x64xf16> -> !g
  %s = tirx.alloc : !s
  tirx.copy %ga, %s : !g, !s
  tirx.copy %ga, %gb : !g, !g
  tirx.fill %s, %zero : f16, !s
  tirx.return
}

// Strides that the launch knows: the last dimension is taken to have neighbours.

// CHECK-LABEL: tirx.kernel @any_strides
// CHECK:         tirx.store {{.*}} : !tirx.tile<8x32xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>, !tirx.tile<8x32xf32, global>
tirx.kernel @any_strides(%d: memref<?x?xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %gd = tirx.view %d[%c0, %c0] clipped : memref<?x?xf32> -> !tirx.tile<8x32xf32, global>
  tirx.fill %gd, %one : f32, !tirx.tile<8x32xf32, global>
  tirx.return
}

// At most 256 bytes in the registers of a thread: 32 threads take 8 KiB at a time, here two rounds of 32 rows.

#column = #tirx.tile_layout<S[(64, 64) : (1, 64)]>
!gc = !tirx.tile<64x64xf32, global, #column>
!sc = !tirx.tile<64x64xf32, shared, #column>

// CHECK-LABEL: tirx.kernel @pieces
// CHECK:         %0 = tirx.subview %ga[0, 0] {{.*}} -> !tirx.tile<32x64xf32, global, #tirx.tile_layout<S[(32, 64) : (1, 64)]>>
// CHECK-NEXT:    %1 = tirx.subview %s[0, 0] {{.*}} -> !tirx.tile<32x64xf32, shared, #tirx.tile_layout<S[(32, 64) : (1, 64)]>>
// CHECK-NEXT:    %2 = tirx.load %0 : {{.*}} -> !tirx.tile<32x64xf32, register,
// CHECK-NEXT:    tirx.store %2, %1
// CHECK-NEXT:    %3 = tirx.subview %ga[32, 0] {{.*}} -> !tirx.tile<32x64xf32, global, #tirx.tile_layout<S[(32, 64) : (1, 64)] + 32>>
// CHECK-NEXT:    %4 = tirx.subview %s[32, 0] {{.*}} -> !tirx.tile<32x64xf32, shared, #tirx.tile_layout<S[(32, 64) : (1, 64)] + 32>>
// CHECK-NEXT:    %5 = tirx.load %3
// CHECK-NEXT:    tirx.store %5, %4
// CHECK-NEXT:    tirx.return
tirx.kernel @pieces(%a: memref<64x64xf32, strided<[1, 64]>>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x64xf32, strided<[1, 64]>> -> !gc
  %s = tirx.alloc : !sc
  tirx.copy %ga, %s : !gc, !sc
  tirx.return
}

// Tensor memory: registers are what tcgen05.ld and st move, at most 64 columns at a time.

#d = #tirx.tile_layout<S[(128, 160) : (1@TLane, 1@TCol)]>
#gd = #tirx.tile_layout<S[(128, 160) : (160, 1)]>

// CHECK-LABEL: tirx.kernel @data_path_d
// CHECK:         %0 = tirx.subview %gd[0, 0]
// CHECK-NEXT:    %1 = tirx.subview %t[0, 0] {{.*}} -> !tirx.tile<128x40xf32, tensor, #tirx.tile_layout<S[(128, 40) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    %2 = tirx.load %0 : {{.*}} -> !tirx.tile<128x40xf32, register, #tirx.tile_layout<S[(4, 32, 40) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:    tirx.store %2, %1
// CHECK-NEXT:    %3 = tirx.subview %gd[0, 40] {{.*}} #tirx.tile_layout<S[(128, 40) : (160, 1)] + 40>>
// CHECK-NEXT:    %4 = tirx.subview %t[0, 40] {{.*}} #tirx.tile_layout<S[(128, 40) : (1@TLane, 1@TCol)] + 40@TCol>>
// CHECK:         tirx.subview %gd[0, 80]
// CHECK:         tirx.subview %gd[0, 120]
// CHECK-NEXT:    {{.*}} = tirx.subview %t[0, 120]
// CHECK-NOT:     tirx.subview
tirx.kernel @data_path_d(%d: memref<128x160xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %gd = tirx.view %d[%c0, %c0] : memref<128x160xf32> -> !tirx.tile<128x160xf32, global, #gd>
  %t = tirx.alloc : !tirx.tile<128x160xf32, tensor, #d>
  tirx.copy %gd, %t : !tirx.tile<128x160xf32, global, #gd>, !tirx.tile<128x160xf32, tensor, #d>
  tirx.return
}

// Data path E: columns 32 to 63 are on lanes 64 to 127, warps 2 and 3.

#e = #tirx.tile_layout<S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]>
#ge = #tirx.tile_layout<S[(64, 64) : (64, 1)]>

// CHECK-LABEL: tirx.kernel @data_path_e
// CHECK:         %0 = tirx.reshape %t {{.*}} -> !tirx.tile<64x2x32xf32, tensor,
// CHECK-NEXT:    %1 = tirx.reshape %ge {{.*}} -> !tirx.tile<64x2x32xf32, global,
// CHECK-NEXT:    %2 = tirx.load %0 : {{.*}} -> !tirx.tile<64x2x32xf32, register, #tirx.tile_layout<S[(2, 32, 2, 32) : (1@warpid, 1@laneid, 2@warpid, 1)]>>
// CHECK-NEXT:    tirx.store %2, %1
tirx.kernel @data_path_e(%e: memref<64x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %ge = tirx.view %e[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global, #ge>
  %t = tirx.alloc : !tirx.tile<64x64xf32, tensor, #e>
  tirx.copy %t, %ge : !tirx.tile<64x64xf32, tensor, #e>, !tirx.tile<64x64xf32, global, #ge>
  tirx.return
}

// Data path F uses 16 of every 32 lanes: lanes 16 to 31 of the warp take the upper half of the columns.

#f = #tirx.tile_layout<S[(4, 16, 32) : (32@TLane, 1@TLane, 1@TCol)]>

// CHECK-LABEL: tirx.kernel @data_path_f
// CHECK:         %0 = tirx.splat %one : {{.*}} -> !tirx.tile<64x32xf32, register, #tirx.tile_layout<S[(4, 16, 2, 16) : (1@warpid, 1@laneid, 16@laneid, 1)]>>
// CHECK-NEXT:    tirx.store %0, %t
tirx.kernel @data_path_f() target("sm_100a") threads(128) {
  %one = arith.constant 1.0 : f32
  %t = tirx.alloc : !tirx.tile<64x32xf32, tensor, #f>
  tirx.fill %t, %one : f32, !tirx.tile<64x32xf32, tensor, #f>
  tirx.return
}

// A part that is one column wide: its layout does not name the axis.

#third = #tirx.tile_layout<S[(4, 16) : (32@TLane, 1@TLane)] + 3@TCol>

// CHECK-LABEL: tirx.kernel @one_column
// CHECK:         %0 = tirx.load %c : {{.*}} -> !tirx.tile<64x1xf32, register, #tirx.tile_layout<S[(4, 16) : (1@warpid, 1@laneid)]>>
// CHECK-NEXT:    tirx.store %0, %gx
tirx.kernel @one_column(%x: memref<64x1xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : memref<64x1xf32> -> !tirx.tile<64x1xf32, global, #tirx.tile_layout<S[64 : 1]>>
  %t = tirx.alloc : !tirx.tile<64x32xf32, tensor, #f>
  %c = tirx.subview %t[0, 3] : !tirx.tile<64x32xf32, tensor, #f> -> !tirx.tile<64x1xf32, tensor, #third>
  tirx.copy %c, %gx : !tirx.tile<64x1xf32, tensor, #third>, !tirx.tile<64x1xf32, global, #tirx.tile_layout<S[64 : 1]>>
  tirx.return
}

// Stages with columns between them that are not the tile's: one at a time.

#stages = #tirx.tile_layout<S[(2, 128, 8) : (16@TCol, 1@TLane, 1@TCol)]>
#gs = #tirx.tile_layout<S[(2, 128, 8) : (1024, 8, 1)]>

// CHECK-LABEL: tirx.kernel @stages
// CHECK:         %0 = tirx.subview %t[0, 0, 0]
// CHECK:         %3 = tirx.subview %t[1, 0, 0] {{.*}} -> !tirx.tile<1x128x8xf32, tensor, #tirx.tile_layout<S[(128, 8) : (1@TLane, 1@TCol)] + 16@TCol>>
tirx.kernel @stages(%s: memref<2x128x8xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %gs = tirx.view %s[%c0, %c0, %c0] : memref<2x128x8xf32> -> !tirx.tile<2x128x8xf32, global, #gs>
  %t = tirx.alloc : !tirx.tile<2x128x8xf32, tensor, #stages>
  tirx.copy %t, %gs : !tirx.tile<2x128x8xf32, tensor, #stages>, !tirx.tile<2x128x8xf32, global, #gs>
  tirx.return
}

// So are the halves of a tile of 256 rows.

#tall = #tirx.tile_layout<S[(2, 128, 128) : (128@TCol, 1@TLane, 1@TCol)]>

// CHECK-LABEL: tirx.kernel @tall
// CHECK:         tirx.subview %t[0, 0] {{.*}} -> !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
// CHECK:         tirx.subview %t[128, 64] {{.*}} -> !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 192@TCol>>
tirx.kernel @tall() target("sm_100a") threads(128) {
  %one = arith.constant 1.0 : f32
  %t = tirx.alloc : !tirx.tile<256x128xf32, tensor, #tall>
  tirx.fill %t, %one : f32, !tirx.tile<256x128xf32, tensor, #tall>
  tirx.return
}

// What already goes through registers stays, in loops too.

!r = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!g32 = !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>

// CHECK-LABEL: tirx.kernel @registers
// CHECK:         scf.for
// CHECK-NEXT:      %r = tirx.load %g
// CHECK-NEXT:      tirx.store %r, %h
// CHECK-NEXT:      %0 = tirx.load %g
// CHECK-NEXT:      tirx.store %0, %h
// CHECK-NEXT:    }
tirx.kernel @registers(%x: memref<8x4xf32>, %y: memref<8x4xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !g32
  %h = tirx.view %y[%c0, %c0] : memref<8x4xf32> -> !g32
  scf.for %i = %c0 to %c1 step %c1 {
    %r = tirx.load %g : !g32 -> !r
    tirx.store %r, %h : !r, !g32
    tirx.copy %g, %h : !g32, !g32
  }
  tirx.return
}

// A number of rows without divisors: powers of two, the largest first, and not row by row.

#odd = #tirx.tile_layout<S[(257, 64) : (64, 1)]>
!go = !tirx.tile<257x64xf16, global, #odd>
!so = !tirx.tile<257x64xf16, shared, #odd>

// CHECK-LABEL: tirx.kernel @odd
// CHECK:         tirx.load {{.*}} -> !tirx.tile<256x64xf16, register
// CHECK:         tirx.load {{.*}} -> !tirx.tile<1x64xf16, register
// CHECK-NOT:     tirx.load
// CHECK:         tirx.return
tirx.kernel @odd(%a: memref<257x64xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<257x64xf16> -> !go
  %s = tirx.alloc : !so
  tirx.copy %ga, %s : !go, !so
  tirx.return
}

// Two warpgroups move the columns of a tensor tile in turns; 32 threads more do not.

// CHECK-LABEL: tirx.kernel @warpgroups
// CHECK:         tirx.warpgroup 0 {
// CHECK-NEXT:      %[[PART:.*]] = tirx.subview %t[0, 0]
// CHECK-NEXT:      %{{.*}} = tirx.subview %gd[0, 0]
// CHECK-NEXT:      %[[V:.*]] = tirx.load %[[PART]] : {{.*}} -> !tirx.tile<128x40xf32, register, #tirx.tile_layout<S[(4, 32, 40) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:      tirx.store %[[V]]
// CHECK:           tirx.subview %t[0, 80]
// CHECK:         }
// CHECK-NEXT:    tirx.warpgroup 1 {
// CHECK:           tirx.subview %t[0, 40]
// CHECK:           tirx.subview %t[0, 120]
// CHECK:         }
// CHECK-NEXT:    tirx.return
tirx.kernel @warpgroups(%d: memref<128x160xf32>) target("sm_100a") threads(288) {
  %c0 = arith.constant 0 : index
  %gd = tirx.view %d[%c0, %c0] : memref<128x160xf32> -> !tirx.tile<128x160xf32, global, #gd>
  %t = tirx.alloc : !tirx.tile<128x160xf32, tensor, #d>
  tirx.copy %t, %gd : !tirx.tile<128x160xf32, tensor, #d>, !tirx.tile<128x160xf32, global, #gd>
  tirx.return
}

// Columns without divisors are cut as well, where the threads cannot share out the rows.

#line = #tirx.tile_layout<S[20011 : 1]>
!gl = !tirx.tile<20011xf16, global, #line>
!sl = !tirx.tile<20011xf16, shared, #line>

// CHECK-LABEL: tirx.kernel @line
// CHECK:         tirx.load {{.*}} -> !tirx.tile<16384xf16, register
// CHECK:         tirx.load {{.*}} -> !tirx.tile<2048xf16, register
// CHECK:         tirx.load {{.*}} -> !tirx.tile<1024xf16, register
tirx.kernel @line(%a: memref<20011xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0] : memref<20011xf16> -> !gl
  %s = tirx.alloc : !sl
  tirx.copy %ga, %s : !gl, !sl
  tirx.return
}
