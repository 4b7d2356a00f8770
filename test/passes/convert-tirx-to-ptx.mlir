// RUN: tirx-opt %s --tirx-allocate-memory --convert-tirx-to-ptx | filecheck %s

// Parameters, the grid, shared memory: names are those of the program where PTX allows them.

#row = #tirx.tile_layout<S[(8, 32) : (32, 1)]>
#lanes = #tirx.tile_layout<S[(8, 32) : (1, 1@laneid)]>
!g = !tirx.tile<8x32xf32, global, #row>
!s = !tirx.tile<8x32xf32, shared, #row>
!r = !tirx.tile<8x32xf32, register, #lanes>

// CHECK-LABEL: ptx.entry @kernel(x : u64 ptr align 16 from memref<64x32xf32>, n : u32 from i32, k : u64 from index, y_in_2 : u64 ptr align 16 from memref<8xf32>, f : f64 from f64, unused : u64 from i64) target("sm_90") reqntid(64, 1, 1) {
// CHECK:         %0 = ptx.ld.param @x : i64
// CHECK-NEXT:    %1 = ptx.cvta.to.global %0
// CHECK-NEXT:    %n = ptx.ld.param @n : i32
// CHECK-NEXT:    %2 = ptx.ld.param @k : i64
// CHECK-NEXT:    %k = builtin.unrealized_conversion_cast %2 : i64 to index
// CHECK-NEXT:    %f = ptx.ld.param @f : f64
// CHECK-NEXT:    %3 = ptx.read_special tid.x
// CHECK-NEXT:    %4 = ptx.shared_alloc @shared bytes 1024 align 128
// CHECK-NEXT:    %5 = ptx.read_special ctaid.y
// CHECK-NEXT:    %i = arith.index_cast %5 : i32 to index
// CHECK-NEXT:    %6 = arith.addi %i, %k : index
// CHECK-NEXT:    %7 = arith.addi %n, %n : i32
// CHECK-NEXT:    %8 = arith.addf %f, %f : f64
// CHECK-NEXT:    %9 = arith.index_cast %6 : index to i64
// CHECK-NEXT:    %10 = arith.constant 7 : i64
// CHECK-NEXT:    %11 = arith.shli %9, %10 : i64
// CHECK-NEXT:    %12 = arith.addi %1, %11 : i64
// CHECK-NEXT:    %13 = arith.index_cast %i : index to i64
// CHECK-NEXT:    %14 = arith.constant 2 : i64
// CHECK-NEXT:    %15 = arith.shli %13, %14 : i64
// CHECK-NEXT:    %16 = arith.addi %12, %15 : i64
// CHECK-NEXT:    %17 = arith.constant 5 : i32
// CHECK-NEXT:    %18 = arith.shrui %3, %17 : i32
// CHECK-NEXT:    %19 = arith.constant 0 : i32
// CHECK-NEXT:    %20 = arith.cmpi eq, %18, %19 : i32
// CHECK-NEXT:    %21 = ptx.elect.sync
// CHECK-NEXT:    %p = arith.andi %20, %21 : i1
// CHECK-NEXT:    ptx.bar.sync 0
// CHECK-NEXT:    ptx.ret
tirx.kernel @kernel(%x: memref<64x32xf32>, %n: i32, %k: index, %y.in-2: memref<8xf32>, %f: f64, %unused: i64) target("sm_90") threads(64) {
  %i = tirx.block_id y
  %0 = arith.addi %i, %k : index
  %1 = arith.addi %n, %n : i32
  %2 = arith.addf %f, %f : f64
  %g = tirx.view %x[%0, %i] : memref<64x32xf32> -> !g
  %s = tirx.alloc : !s
  %p = tirx.leader
  tirx.barrier
  tirx.return
}

// A warp moves 8 rows of 32 words, one row at a time.

// CHECK-LABEL: ptx.entry @words
// CHECK:         %0 = ptx.ld.param @x : i64
// CHECK-NEXT:    %1 = ptx.cvta.to.global %0
// CHECK-NEXT:    %2 = ptx.read_special tid.x
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %3 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %4 = arith.constant 7 : i64
// CHECK-NEXT:    %5 = arith.shli %3, %4 : i64
// CHECK-NEXT:    %6 = arith.addi %1, %5 : i64
// CHECK-NEXT:    %7 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %8 = arith.constant 2 : i64
// CHECK-NEXT:    %9 = arith.shli %7, %8 : i64
// CHECK-NEXT:    %10 = arith.addi %6, %9 : i64
// CHECK-NEXT:    %11 = arith.constant 2 : i32
// CHECK-NEXT:    %12 = arith.shli %2, %11 : i32
// CHECK-NEXT:    %13 = arith.extui %12 : i32 to i64
// CHECK-NEXT:    %14 = arith.addi %10, %13 : i64
// CHECK-NEXT:    %15 = ptx.ld global %14 : i64
// CHECK-NEXT:    %16 = ptx.ld global %14 offset 128 : i64
// CHECK-NEXT:    %17 = ptx.ld global %14 offset 256 : i64
// CHECK-NEXT:    %18 = ptx.ld global %14 offset 384 : i64
// CHECK-NEXT:    %19 = ptx.ld global %14 offset 512 : i64
// CHECK-NEXT:    %20 = ptx.ld global %14 offset 640 : i64
// CHECK-NEXT:    %21 = ptx.ld global %14 offset 768 : i64
// CHECK-NEXT:    %22 = ptx.ld global %14 offset 896 : i64
// CHECK-NEXT:    %23 = arith.constant 2 : i32
// CHECK-NEXT:    %24 = arith.shli %2, %23 : i32
// CHECK-NEXT:    %25 = arith.extui %24 : i32 to i64
// CHECK-NEXT:    %26 = arith.addi %10, %25 : i64
// CHECK-NEXT:    ptx.st global %26, %15 : i64
// CHECK-NEXT:    ptx.st global %26 offset 128, %16 : i64
// CHECK-NEXT:    ptx.st global %26 offset 256, %17 : i64
// CHECK-NEXT:    ptx.st global %26 offset 384, %18 : i64
// CHECK-NEXT:    ptx.st global %26 offset 512, %19 : i64
// CHECK-NEXT:    ptx.st global %26 offset 640, %20 : i64
// CHECK-NEXT:    ptx.st global %26 offset 768, %21 : i64
// CHECK-NEXT:    ptx.st global %26 offset 896, %22 : i64
// CHECK-NEXT:    ptx.ret
tirx.kernel @words(%x: memref<8x32xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x32xf32> -> !g
  %v = tirx.load %g : !g -> !r
  tirx.store %v, %g : !r, !g
  tirx.return
}

// What four warps hold alike, all of them load, and one stores.

// CHECK-LABEL: ptx.entry @copies
// CHECK-NOT:     scf.if
// CHECK:         %24 = ptx.ld global %16 offset 896
// CHECK:         scf.if
// CHECK:           ptx.st global {{.*}}, %17
// CHECK:           ptx.st global {{.*}} offset 896, %24
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.bar.warp.sync
tirx.kernel @copies(%x: memref<8x32xf32>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x32xf32> -> !g
  %v = tirx.load %g : !g -> !r
  tirx.store %v, %g : !r, !g
  tirx.return
}

// Vectors of 16 bytes from global to swizzled shared memory: 8 f16 in 4 registers. 16-byte chunk c of row r goes to
// chunk c ^ (r & 7).

#rows = #tirx.tile_layout<S[(16, 64) : (64, 1)]>
#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #rows>
#vectors = #tirx.tile_layout<S[(128, 8) : (1@tx, 1)]>

// CHECK-LABEL: ptx.entry @vectors
// CHECK:         %0 = ptx.ld.param @x : i64
// CHECK-NEXT:    %1 = ptx.cvta.to.global %0
// CHECK-NEXT:    %2 = ptx.read_special tid.x
// CHECK-NEXT:    %3 = ptx.shared_alloc @shared bytes 2048 align 1024
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %4 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %5 = arith.constant 7 : i64
// CHECK-NEXT:    %6 = arith.shli %4, %5 : i64
// CHECK-NEXT:    %7 = arith.addi %1, %6 : i64
// CHECK-NEXT:    %8 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %9 = arith.constant 1 : i64
// CHECK-NEXT:    %10 = arith.shli %8, %9 : i64
// CHECK-NEXT:    %11 = arith.addi %7, %10 : i64
// CHECK-NEXT:    %12 = arith.constant 4 : i32
// CHECK-NEXT:    %13 = arith.shli %2, %12 : i32
// CHECK-NEXT:    %14 = arith.extui %13 : i32 to i64
// CHECK-NEXT:    %15 = arith.addi %11, %14 : i64
// CHECK-NEXT:    %16, %17, %18, %19 = ptx.ld global %15 : i64 -> i32, i32, i32, i32
// CHECK-NEXT:    %20 = arith.constant 3 : i32
// CHECK-NEXT:    %21 = arith.shrui %2, %20 : i32
// CHECK-NEXT:    %22 = arith.constant 7 : i32
// CHECK-NEXT:    %23 = arith.andi %21, %22 : i32
// CHECK-NEXT:    %24 = arith.constant 3 : i32
// CHECK-NEXT:    %25 = arith.shli %23, %24 : i32
// CHECK-NEXT:    %26 = arith.constant 3 : i32
// CHECK-NEXT:    %27 = arith.shli %2, %26 : i32
// CHECK-NEXT:    %28 = arith.xori %25, %27 : i32
// CHECK-NEXT:    %29 = arith.constant 1 : i32
// CHECK-NEXT:    %30 = arith.shli %28, %29 : i32
// CHECK-NEXT:    %31 = arith.addi %3, %30 : i32
// CHECK-NEXT:    ptx.st shared %31, {{.*}}, %19 : i32, i32, i32, i32, i32
// CHECK-NEXT:    ptx.ret
tirx.kernel @vectors(%x: memref<16x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<16x64xf16> -> !tirx.tile<16x64xf16, global, #rows>
  %s = tirx.alloc : !tirx.tile<16x64xf16, shared, #swizzled>
  %v = tirx.load %g : !tirx.tile<16x64xf16, global, #rows> -> !tirx.tile<16x64xf16, register, #vectors>
  tirx.store %v, %s : !tirx.tile<16x64xf16, register, #vectors>, !tirx.tile<16x64xf16, shared, #swizzled>
  tirx.return
}

// A view at a column that is not known to be a multiple of 4 has no vectors; at %m * 4 it has.

// CHECK-LABEL: ptx.entry @alignment
// CHECK:         %0 = ptx.ld.param @x : i64
// CHECK-NEXT:    %1 = ptx.cvta.to.global %0
// CHECK-NEXT:    %2 = ptx.ld.param @m : i64
// CHECK-NEXT:    %m = builtin.unrealized_conversion_cast %2 : i64 to index
// CHECK-NEXT:    %3 = ptx.read_special tid.x
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %m4 = arith.muli %m, %c4 : index
// CHECK-NEXT:    %4 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %5 = arith.constant 9 : i64
// CHECK-NEXT:    %6 = arith.shli %4, %5 : i64
// CHECK-NEXT:    %7 = arith.addi %1, %6 : i64
// CHECK-NEXT:    %8 = arith.index_cast %m : index to i64
// CHECK-NEXT:    %9 = arith.constant 2 : i64
// CHECK-NEXT:    %10 = arith.shli %8, %9 : i64
// CHECK-NEXT:    %11 = arith.addi %7, %10 : i64
// CHECK-NEXT:    %12 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %13 = arith.constant 9 : i64
// CHECK-NEXT:    %14 = arith.shli %12, %13 : i64
// CHECK-NEXT:    %15 = arith.addi %1, %14 : i64
// CHECK-NEXT:    %16 = arith.index_cast %m4 : index to i64
// CHECK-NEXT:    %17 = arith.constant 2 : i64
// CHECK-NEXT:    %18 = arith.shli %16, %17 : i64
// CHECK-NEXT:    %19 = arith.addi %15, %18 : i64
// CHECK-NEXT:    %20 = arith.constant 4 : i32
// CHECK-NEXT:    %21 = arith.shli %3, %20 : i32
// CHECK-NEXT:    %22 = arith.extui %21 : i32 to i64
// CHECK-NEXT:    %23 = arith.addi %11, %22 : i64
// CHECK-NEXT:    %24 = ptx.ld global %23 : i64
// CHECK-NEXT:    %25 = ptx.ld global %23 offset 4 : i64
// CHECK-NEXT:    %26 = ptx.ld global %23 offset 8 : i64
// CHECK-NEXT:    %27 = ptx.ld global %23 offset 12 : i64
// CHECK-NEXT:    %28 = arith.constant 4 : i32
// CHECK-NEXT:    %29 = arith.shli %3, %28 : i32
// CHECK-NEXT:    %30 = arith.extui %29 : i32 to i64
// CHECK-NEXT:    %31 = arith.addi %19, %30 : i64
// CHECK-NEXT:    ptx.st global %31, {{.*}}, %27 : i64
// CHECK-NEXT:    ptx.ret
tirx.kernel @alignment(%x: memref<64x128xf32>, %m: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m4 = arith.muli %m, %c4 : index
  %g = tirx.view %x[%c0, %m] : memref<64x128xf32> -> !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>>
  %h = tirx.view %x[%c0, %m4] : memref<64x128xf32> -> !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>>
  %v = tirx.load %g : !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>> -> !tirx.tile<128xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>
  tirx.store %v, %h : !tirx.tile<128xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>, !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>>
  tirx.return
}

// Single f16 elements: 16-bit accesses, packed two to a register; the first is in the low half.

// CHECK-LABEL: ptx.entry @halves
// CHECK:         %0 = ptx.ld.param @x : i64
// CHECK-NEXT:    %1 = ptx.cvta.to.global %0
// CHECK-NEXT:    %2 = ptx.ld.param @y : i64
// CHECK-NEXT:    %3 = ptx.cvta.to.global %2
// CHECK-NEXT:    %4 = ptx.read_special tid.x
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %5 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %6 = arith.constant 6 : i64
// CHECK-NEXT:    %7 = arith.shli %5, %6 : i64
// CHECK-NEXT:    %8 = arith.addi %1, %7 : i64
// CHECK-NEXT:    %9 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %10 = arith.constant 1 : i64
// CHECK-NEXT:    %11 = arith.shli %9, %10 : i64
// CHECK-NEXT:    %12 = arith.addi %8, %11 : i64
// CHECK-NEXT:    %13 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %14 = arith.constant 6 : i64
// CHECK-NEXT:    %15 = arith.shli %13, %14 : i64
// CHECK-NEXT:    %16 = arith.addi %3, %15 : i64
// CHECK-NEXT:    %17 = arith.index_cast %c0 : index to i64
// CHECK-NEXT:    %18 = arith.constant 1 : i64
// CHECK-NEXT:    %19 = arith.shli %17, %18 : i64
// CHECK-NEXT:    %20 = arith.addi %16, %19 : i64
// CHECK-NEXT:    %21 = arith.constant 1 : i32
// CHECK-NEXT:    %22 = arith.shli %4, %21 : i32
// CHECK-NEXT:    %23 = arith.extui %22 : i32 to i64
// CHECK-NEXT:    %24 = arith.addi %12, %23 : i64
// CHECK-NEXT:    %25 = ptx.ld global %24 : i64 -> i16
// CHECK-NEXT:    %26 = ptx.ld global %24 offset 64 : i64 -> i16
// CHECK-NEXT:    %27 = ptx.pack %25, %26 : i16 -> i32
// CHECK-NEXT:    %28, %29 = ptx.unpack %27 : i32 -> i16
// CHECK-NEXT:    %30 = arith.constant 1 : i32
// CHECK-NEXT:    %31 = arith.shli %4, %30 : i32
// CHECK-NEXT:    %32 = arith.extui %31 : i32 to i64
// CHECK-NEXT:    %33 = arith.addi %20, %32 : i64
// CHECK-NEXT:    ptx.st global %33, %28 : i64, i16
// CHECK-NEXT:    ptx.st global %33 offset 64, %29 : i64, i16
// CHECK-NEXT:    ptx.ret
tirx.kernel @halves(%x: memref<2x32xf16>, %y: memref<2x32xf16>, %f: f64) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<2x32xf16> -> !tirx.tile<2x32xf16, global, #tirx.tile_layout<S[(2, 32) : (32, 1)]>>
  %h = tirx.view %y[%c0, %c0] : memref<2x32xf16> -> !tirx.tile<2x32xf16, global, #tirx.tile_layout<S[(2, 32) : (32, 1)]>>
  %v = tirx.load %g : !tirx.tile<2x32xf16, global, #tirx.tile_layout<S[(2, 32) : (32, 1)]>> -> !tirx.tile<2x32xf16, register, #tirx.tile_layout<S[(2, 32) : (1, 1@laneid)]>>
  tirx.store %v, %h : !tirx.tile<2x32xf16, register, #tirx.tile_layout<S[(2, 32) : (1, 1@laneid)]>>, !tirx.tile<2x32xf16, global, #tirx.tile_layout<S[(2, 32) : (32, 1)]>>
  tirx.return
}

// Register tiles in loops and branches become registers there, behind what the program carries itself. Products of
// `mma.sync` have all registers that as many blocks leave as run on an SM, lest ptxas spills some for one block more.

#c = #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>
!a = !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!c = !tirx.tile<8x8xf64, register, #c>

// CHECK-LABEL: ptx.entry @control_flow{{.*}} reqntid(32, 1, 1) maxnreg(48) {
// CHECK:         %0 = ptx.ld.param @n : i64
// CHECK-NEXT:    %n = builtin.unrealized_conversion_cast %0 : i64 to index
// CHECK-NEXT:    %f = ptx.ld.param @f : f64
// CHECK-NEXT:    %q = ptx.ld.param @q : i32
// CHECK-NEXT:    %1 = ptx.read_special tid.x
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %p = arith.cmpi eq, %q, %q : i32
// CHECK-NEXT:    %k, %2, %3 = scf.for %i = %c0 to %n step %c1 iter_args(%j = %c0, %4 = %f, %5 = %f)
// CHECK-NEXT:      %6, %7 = ptx.mma.m8n8k4.f64 %f, %f, %4, %5
// CHECK-NEXT:      scf.yield %i, %6, %7 : index, f64, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %8, %9 = scf.if %p
// CHECK-NEXT:      scf.yield %2, %3
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %f, %f
// CHECK-NEXT:    }
// CHECK-NEXT:    %10, %11 = ptx.mma.m8n8k4.f64 %f, %f, %8, %9
// CHECK-NEXT:    ptx.ret
tirx.kernel @control_flow(%n: index, %f: f64, %q: i32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.cmpi eq, %q, %q : i32
  %a = tirx.splat %f : f64 -> !a
  %z = tirx.splat %f : f64 -> !c
  %k, %acc = scf.for %i = %c0 to %n step %c1 iter_args(%j = %c0, %x = %z) -> (index, !c) {
    %y = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %a[0], %x[0] : !a, !a, !c
    scf.yield %i, %y : index, !c
  }
  %r = scf.if %p -> (!c) {
    scf.yield %acc : !c
  } else {
    scf.yield %z : !c
  }
  %d = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %a[0], %r[0] : !a, !a, !c
  tirx.return
}

// Single bytes travel one at a time and share registers; 4-bit elements go in whole bytes.

#columns = #tirx.tile_layout<S[(2, 32) : (32, 1)]>

// CHECK-LABEL: ptx.entry @bytes
// CHECK:         [[LOW:%[0-9]+]] = ptx.ld.u8 global [[A:%[0-9]+]] : i64
// CHECK-NEXT:    [[HIGH:%[0-9]+]] = ptx.ld.u8 global [[A]] offset 32 : i64
// CHECK-NEXT:    [[EIGHT:%[0-9]+]] = arith.constant 8 : i32
// CHECK-NEXT:    [[SHIFTED:%[0-9]+]] = arith.shli [[HIGH]], [[EIGHT]] : i32
// CHECK-NEXT:    [[BOTH:%[0-9]+]] = arith.ori [[LOW]], [[SHIFTED]] : i32
// CHECK:         ptx.st.u8 global [[B:%[0-9]+]], [[BOTH]] : i64
// CHECK:         [[UP:%[0-9]+]] = arith.shrui [[BOTH]], {{.*}} : i32
// CHECK-NEXT:    ptx.st.u8 global [[B]] offset 32, [[UP]] : i64
tirx.kernel @bytes(%x: memref<2x32xsi8>, %y: memref<2x32xsi8>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<2x32xsi8> -> !tirx.tile<2x32xsi8, global, #columns>
  %h = tirx.view %y[%c0, %c0] : memref<2x32xsi8> -> !tirx.tile<2x32xsi8, global, #columns>
  %v = tirx.load %g : !tirx.tile<2x32xsi8, global, #columns> -> !tirx.tile<2x32xsi8, register, #tirx.tile_layout<S[(2, 32) : (1, 1@laneid)]>>
  tirx.store %v, %h : !tirx.tile<2x32xsi8, register, #tirx.tile_layout<S[(2, 32) : (1, 1@laneid)]>>, !tirx.tile<2x32xsi8, global, #columns>
  tirx.return
}

// CHECK-LABEL: ptx.entry @nibbles
// CHECK:         [[PAIR:%[0-9]+]] = ptx.ld.u8 global {{.*}} : i64
// CHECK:         ptx.st.u8 global {{.*}}, [[PAIR]] : i64
tirx.kernel @nibbles(%x: memref<4x64xf4E2M1FN>, %y: memref<64xf4E2M1FN>) target("sm_80") threads(32) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%i, %c0] : memref<4x64xf4E2M1FN> -> !tirx.tile<64xf4E2M1FN, global, #tirx.tile_layout<S[64 : 1]>>
  %h = tirx.view %y[%c0] : memref<64xf4E2M1FN> -> !tirx.tile<64xf4E2M1FN, global, #tirx.tile_layout<S[64 : 1]>>
  %v = tirx.load %g : !tirx.tile<64xf4E2M1FN, global, #tirx.tile_layout<S[64 : 1]>> -> !tirx.tile<64xf4E2M1FN, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>
  tirx.store %v, %h : !tirx.tile<64xf4E2M1FN, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>, !tirx.tile<64xf4E2M1FN, global, #tirx.tile_layout<S[64 : 1]>>
  tirx.return
}

// A pair of blocks: block_id counts pairs, a barrier is one of both blocks.

// CHECK-LABEL: ptx.entry @pairs(out : u64 ptr align 16 from memref<64xf32>) target("sm_100a") grid(mul(ceildiv(size(0, 0), 8), 2), 3) reqntid(32, 1, 1) cluster(2, 1, 1) {
// CHECK-NEXT:    %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = ptx.read_special cluster_ctarank
// CHECK-NEXT:    %r = arith.index_cast %1 : i32 to index
// CHECK-NEXT:    %2 = ptx.read_special ctaid.x
// CHECK-NEXT:    %3 = arith.constant 1 : i32
// CHECK-NEXT:    %4 = arith.shrui %2, %3 : i32
// CHECK-NEXT:    %x = arith.index_cast %4 : i32 to index
// CHECK-NEXT:    %5 = ptx.read_special ctaid.y
// CHECK-NEXT:    %y = arith.index_cast %5 : i32 to index
// CHECK-NEXT:    ptx.bar.warp.sync
// CHECK-NEXT:    ptx.barrier.cluster.arrive aligned
// CHECK-NEXT:    ptx.barrier.cluster.wait aligned
// CHECK-NEXT:    ptx.ret
tirx.kernel @pairs(%out: memref<64xf32>) target("sm_100a") grid(ceildiv(size(0, 0), 8), 3) cluster(2) per_cta threads(32) {
  %r = tirx.cta_rank
  %x = tirx.block_id x
  %y = tirx.block_id y
  tirx.barrier
  tirx.return
}

// One warpgroup: its threads count from its first one on.

// CHECK-LABEL: ptx.entry @warpgroup
// CHECK:         %[[TID:.*]] = ptx.read_special tid.x
// CHECK:         %[[GROUP:.*]] = arith.shrui %[[TID]]
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[MINE:.*]] = arith.cmpi eq, %[[GROUP]], %[[ONE]] : i32
// CHECK-NEXT:    scf.if %[[MINE]] {
// CHECK-NEXT:      %[[DISTANCE:.*]] = arith.constant -128 : i32
// CHECK-NEXT:      %[[THREAD:.*]] = arith.addi %[[TID]], %[[DISTANCE]] : i32
// CHECK:           arith.extui %[[OFFSET:.*]] : i32 to i64
// CHECK:           ptx.st global
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.ret
tirx.kernel @warpgroup(%x: memref<128xf32>, %f: f32) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<128xf32> -> !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>>
  tirx.warpgroup 1 {
    %v = tirx.splat %f : f32 -> !tirx.tile<128xf32, register, #tirx.tile_layout<S[128 : 1@tx]>>
    tirx.store %v, %g : !tirx.tile<128xf32, register, #tirx.tile_layout<S[128 : 1@tx]>>, !tirx.tile<128xf32, global, #tirx.tile_layout<S[128 : 1]>>
  }
  tirx.return
}

// Tiles are chosen register by register; zero is one register for all.

!pairs = !tirx.tile<64xf32, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>

// CHECK-LABEL: ptx.entry @select
// CHECK:         %[[ZERO:.*]] = ptx.constant
// CHECK-NEXT:    %[[A:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ZERO]] : f32
// CHECK-NEXT:    %[[B:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ZERO]] : f32
// CHECK:         ptx.st global %{{.*}}, %[[A]], %[[B]]
tirx.kernel @select(%x: memref<64xf32>, %n: i32, %f: f32) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global, #tirx.tile_layout<S[64 : 1]>>
  %p = arith.cmpi eq, %n, %n : i32
  %v = tirx.splat %f : f32 -> !pairs
  %z = tirx.zero : !pairs
  %s = arith.select %p, %v, %z : !pairs
  tirx.store %s, %g : !pairs, !tirx.tile<64xf32, global, #tirx.tile_layout<S[64 : 1]>>
  tirx.return
}

// Matrix instructions: lanes give the addresses of rows, and get fragments. 16 rows of 64 f16: one instruction for
// every 16 columns.

#fragment = #tirx.tile_layout<S[(2, 8, 8, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>
!matrices = !tirx.tile<16x64xf16, shared, #swizzled>
!fragment = !tirx.tile<16x64xf16, register, #fragment>

// CHECK-LABEL: ptx.entry @matrices
// CHECK-COUNT-4: ptx.ldmatrix "m8n8" {{%[0-9]+}} -> i32, i32, i32, i32
// CHECK-COUNT-4: ptx.stmatrix "m8n8" {{%[0-9]+}}, {{.*}} : i32, i32, i32, i32
// CHECK-NEXT:    ptx.ret
tirx.kernel @matrices() target("sm_90") threads(32) {
  %s = tirx.alloc : !matrices
  %v = tirx.load %s engine ldmatrix : !matrices -> !fragment
  tirx.store %v, %s engine stmatrix : !fragment, !matrices
  tirx.return
}

// One parameter for each number that the launch computes.

// CHECK-LABEL: ptx.entry @launch_values(
// CHECK-SAME:    m : u64 from #ptx.formula<size(0, 0)>
// CHECK:         ptx.ld.param @m
// CHECK-NOT:     ptx.ld.param @m
tirx.kernel @launch_values(%a: memref<?x8xf32>) target("sm_90") threads(32) {
  %m = tirx.launch_value size(0, 0)
  %again = tirx.launch_value size(0, 0)
  %n = arith.addi %m, %again : index
  tirx.return
}

// Numbers in memory: all threads load the same one.

// CHECK-LABEL: ptx.entry @numbers
// CHECK:         [[A:%.*]] = ptx.cvta.to.global
// CHECK:         [[ROW:%.*]] = arith.shli
// CHECK-NEXT:    [[AT:%.*]] = arith.addi [[A]], [[ROW]] : i64
// CHECK:         [[COLUMN:%.*]] = arith.shli
// CHECK-NEXT:    [[PLACE:%.*]] = arith.addi [[AT]], [[COLUMN]] : i64
// CHECK-NEXT:    %n = ptx.ld global [[PLACE]] : i64 -> i32
// CHECK:         %x = ptx.ld global {{%.*}} : i64 -> f64
tirx.kernel @numbers(%a: memref<?x8xi32>, %b: memref<4xf64>) target("sm_80") threads(32) {
  %c1 = arith.constant 1 : index
  %i = tirx.block_id x
  %n = memref.load %a[%i, %c1] : memref<?x8xi32>
  %x = memref.load %b[%c1] : memref<4xf64>
  "test.op"(%n, %x) : (i32, f64) -> ()
  tirx.return
}
