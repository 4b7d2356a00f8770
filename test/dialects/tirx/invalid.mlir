// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Kernels.

// expected-error@+1 {{unknown target 'sm100a'; did you mean 'sm_100a'? Supported targets: sm_70,}}
tirx.kernel @k() target("sm100a") threads(32) {
  tirx.return
}

// expected-error@+1 {{grid: expected a memref argument of the kernel that has size(0, 1), found memref<8xf32>}}
tirx.kernel @k2(%a: memref<8xf32>) grid(ceildiv(size(0, 1), 8)) threads(32) {
  tirx.return
}

// expected-error@+1 {{grid: expected a positive divisor in mul(2, ceildiv(size(0, 0), 0)), found 0}}
tirx.kernel @k3(%a: memref<8xf32>) grid(mul(2, ceildiv(size(0, 0), 0))) threads(32) {
  tirx.return
}

// expected-error@+1 {{expected the kernel to end in 'tirx.return'}}
tirx.kernel @k4() threads(32) {
  "test.termop"() : () -> ()
}

// expected-error@+1 {{expected a single block, but got 2 blocks}}
tirx.kernel @k6() threads(32) {
  tirx.return
^second:
  tirx.return
}

tirx.kernel @outer() threads(32) {
  // expected-error@+1 {{expected 'tirx.kernel' in a symbol table, such as builtin.module or gpu.module, found it in 'tirx.kernel'}}
  tirx.kernel @inner() threads(32) {
    tirx.return
  }
  tirx.return
}

// expected-error@+1 {{'tirx.return' expects parent op 'tirx.kernel'}}
tirx.return

// -----

// expected-error@+1 {{string literal expected}}
tirx.kernel @k() target(sm_100a) threads(32) {
}

// -----

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found ()}}
tirx.kernel @k() grid() threads(32) {
}

// -----

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (1, 2, 3, 4)}}
tirx.kernel @k() grid(1, 2, 3, 4) threads(32) {
}

// -----

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (0)}}
tirx.kernel @k() grid(0) threads(32) {
}

// -----

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (1, 65536)}}
tirx.kernel @k() grid(1, 65536) threads(32) {
}

// -----

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (2147483648)}}
tirx.kernel @k() grid(2147483648) threads(32) {
}

// -----

// expected-error@+1 {{expected an integer or a function of size, stride, sm_count, cluster_count, add, mul, ceildiv, min, max, found 'true'}}
tirx.kernel @k() grid(true) threads(32) {
}

// -----

// expected-error@+1 {{expected two operands for ceildiv, found ceildiv(8)}}
tirx.kernel @k() grid(ceildiv(8)) threads(32) {
}

// -----

// expected-error@+1 {{expected 2 numbers of 0 or more for size, found size(-1, 0)}}
tirx.kernel @k() grid(size(-1, 0)) threads(32) {
}

// -----

// expected-error@+1 {{expected 1 to 1024 threads, found 0}}
tirx.kernel @k() threads(0) {
}

// -----

// expected-error@+1 {{expected 1 to 1024 threads, found 1025}}
tirx.kernel @k() threads(1025) {
}

// -----

// expected-error@+1 {{expected a number or the name of a parameter}}
tirx.kernel @k() threads() {
}

// -----

// expected-error@+1 {{expected the clause threads(n), next to target(...) and grid(...)}}
tirx.kernel @k() {
}

// -----

// expected-error@+1 {{expected 'grid' in its own place, found it among the attributes}}
tirx.kernel @k() threads(32) attributes {tag, grid = [4 : i32]} {
}

// -----

// expected-error@+1 {{expected the clause 'threads' once, found it again}}
tirx.kernel @k() threads(32) target("sm_80") threads(32) {
}

// -----

// expected-error@+1 {{'(' expected}}
tirx.kernel @k threads(32) {
}

// -----

// expected-error@+1 {{expect symbol name}}
tirx.kernel () threads(32) {
}

// -----

// expected-error@+1 {{Expected ':' after block argument name!}}
tirx.kernel @k(%a) threads(32) {
}

// -----

// expected-error@+1 {{SSA value %a is already defined}}
tirx.kernel @k(%a: f32, %a: f32) threads(32) {
}

// -----

// Kernels in generic form.

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found ()}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 32 : i32, grid = []}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (1, 0)}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 32 : i32, grid = [1 : i32, 0 : i32]}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{Expected attribute i32 but got i64}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 32 : i32, grid = [1 : i64]}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{expected 1 to 1024 threads, found 0}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 0 : i32}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{property 'threads' expected in operation 'tirx.kernel'}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> ()}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{property 'stages' is not defined by the operation 'tirx.kernel'}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 32 : i32, stages = 3 : i32}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{expected the entry block to have the kernel's arguments (f32), found ()}}
"tirx.kernel"() <{sym_name = "k", function_type = (f32) -> (), threads = 32 : i32}> ({
  tirx.return
}) : () -> ()

// expected-error@+1 {{expected the entry block to have the kernel's arguments (), found (f32)}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> (), threads = 32 : i32}> ({
^entry(%x: f32):
  tirx.return
}) : () -> ()

// expected-error@+1 {{expected a kernel without results, found (f32)}}
"tirx.kernel"() <{sym_name = "k", function_type = () -> f32, threads = 32 : i32}> ({
  tirx.return
}) : () -> ()

// -----

// Positions in the grid and allocations.

// expected-error@+1 {{Expected `x`, `y`, or `z`.}}
%i = tirx.block_id w

// -----

// expected-error@+1 {{expected 'axis' in its own place, found it among the attributes}}
%i = tirx.block_id x {axis = #tirx<grid_axis y>}

// -----

// expected-error@+1 {{result 'result' at position 0 does not verify:}}
%i = "tirx.block_id"() <{axis = #tirx<grid_axis x>}> : () -> i32
// expected-error@+1 {{expected a shared, tensor or register tile, found a global one: kernels get global memory as memref arguments}}
%t = tirx.alloc : !tirx.tile<8xf32, global>

// -----

// expected-error@+1 {{memref<8xf32> should be of base attribute tirx.tile}}
%t = tirx.alloc : memref<8xf32>

// -----

// Views.

func.func @f(
    %a: memref<8x8xf32>, %i: index, %a2: memref<8xf32>, %a3: memref<f32>, %a4: memref<8x8xf32, 3 : i32>,
    %a5: memref<8x8xf32, strided<[8, 1], offset: 4>>, %a6: memref<8x8xf32, strided<[8, 1], offset: ?>>, %a7: memref<8x?xf32>,
    %a8: memref<8x8xf32, strided<[?, 1]>>, %a9: memref<8x8xf32, strided<[-8, 1]>>, %a10: memref<8x8xf32, strided<[1]>>,
    %a11: memref<8x8xf32, strided<[8, 1, 1]>>, %a12: memref<8x8xf32, strided<[?]>>, %a13: memref<8x8xf32, affine_map<(d0, d1) -> (d1, d0)>>) {
  // expected-error@+1 {{expected 2 indices into memref<8x8xf32>, found 1}}
  %t = tirx.view %a[%i] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected 2 indices into memref<8x8xf32>, found 0}}
  %t2 = tirx.view %a[] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected 1 index into memref<8xf32>, found 2}}
  %t3 = tirx.view %a2[%i, %i] : memref<8xf32> -> !tirx.tile<4xf32, global>
  // expected-error@+1 {{expected a global tile, found a shared one}}
  %t4 = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected a tile of rank 2 or less in memref<8x8xf32>, found 1x4x4}}
  %t5 = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<1x4x4xf32, global>
  // expected-error@+1 {{expected a tile of rank 0 or less in memref<f32>, found 1}}
  %t6 = tirx.view %a3[] : memref<f32> -> !tirx.tile<1xf32, global>
  // expected-error@+1 {{expected f32 elements, found f16}}
  %t7 = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<4x4xf16, global>
  // expected-error@+1 {{expected a tile that fits into memref<8x8xf32>, found 4x9}}
  %t8 = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<4x9xf32, global>
  // expected-error@+1 {{expected a tile that fits into memref<8x8xf32>, found 9}}
  %t9 = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<9xf32, global>
  // expected-error@+1 {{expected a memref in global memory, without a memory space, found memref<8x8xf32, 3 : i32>}}
  %t10 = tirx.view %a4[%i, %i] : memref<8x8xf32, 3 : i32> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref that starts at its pointer, without an offset, found memref<8x8xf32, strided<[8, 1], offset: 4>>}}
  %t11 = tirx.view %a5[%i, %i] : memref<8x8xf32, strided<[8, 1], offset: 4>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref that starts at its pointer, without an offset, found memref<8x8xf32, strided<[8, 1], offset: ?>>}}
  %t12 = tirx.view %a6[%i, %i] : memref<8x8xf32, strided<[8, 1], offset: ?>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected static strides for a layout (only the outermost extent may be dynamic), found memref<8x?xf32>}}
  %t13 = tirx.view %a7[%i, %i] : memref<8x?xf32> -> !tirx.tile<4x4xf32, global, #tirx.tile_layout<S[(4, 4) : (8, 1)]>>
  // expected-error@+1 {{expected static strides for a layout (only the outermost extent may be dynamic), found memref<8x8xf32, strided<[?, 1]>>}}
  %t14 = tirx.view %a8[%i, %i] : memref<8x8xf32, strided<[?, 1]>> -> !tirx.tile<4x4xf32, global, #tirx.tile_layout<S[(4, 4) : (8, 1)]>>
  // expected-error@+1 {{expected strides of 0 or more, found memref<8x8xf32, strided<[-8, 1]>>}}
  %t15 = tirx.view %a9[%i, %i] : memref<8x8xf32, strided<[-8, 1]>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref with a strided layout of its rank, found memref<8x8xf32, strided<[1]>>}}
  %t16 = tirx.view %a10[%i, %i] : memref<8x8xf32, strided<[1]>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref with a strided layout of its rank, found memref<8x8xf32, strided<[8, 1, 1]>>}}
  %t17 = tirx.view %a11[%i, %i] : memref<8x8xf32, strided<[8, 1, 1]>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref with a strided layout of its rank, found memref<8x8xf32, strided<[?]>>}}
  %t18 = tirx.view %a12[%i, %i] : memref<8x8xf32, strided<[?]>> -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a memref with a strided layout of its rank, found memref<8x8xf32, affine_map<(d0, d1) -> (d1, d0)>>}}
  %t19 = tirx.view %a13[%i, %i] : memref<8x8xf32, affine_map<(d0, d1) -> (d1, d0)>> -> !tirx.tile<4x4xf32, global>
  func.return
}

// -----

!g = !tirx.tile<4x4xf32, global>
func.func @f(%a: memref<8x8xf32>, %i: index, %v: !tirx.tile<4xi32, register>, %s: !tirx.tile<4xi32, shared>,
             %h: !tirx.tile<4xi16, register>, %w: !tirx.tile<2x4xi32, register>, %c: !tirx.tile<1x1xi32, register>) {
  // expected-error@+1 {{expected dims of 2 dimensions of the tile, found 1}}
  %0 = tirx.view %a[%i, %i] dims(1) : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected dims to name dimensions of memref<8x8xf32>, each once, found [1, 1]}}
  %1 = tirx.view %a[%i, %i] dims(1, 1) : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected dims to name dimensions of memref<8x8xf32>, each once, found [0, 2]}}
  %2 = tirx.view %a[%i, %i] dims(0, 2) : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected dimension 1 of the tile to be one of the memref, found none}}
  %3 = tirx.view %a[%i, %i] dims(1, _) : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected steps along 2 dimensions, found 1}}
  %4 = tirx.view %a[%i, %i] steps [2] : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected a step of 1 or more along dimension 1, and 1 where the tile does not move along it or an index tile says how, found -1}}
  %5 = tirx.view %a[%i, %i] steps [1, -1] : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected a step of 1 or more along dimension 0, and 1 where the tile does not move along it or an index tile says how, found 2}}
  %6 = tirx.view %a[%i, %i] steps [2, 1] : memref<8x8xf32> -> !tirx.tile<4xf32, global>
  // expected-error@+1 {{expected a tile that fits into memref<8x8xf32>, found 4x4}}
  %7 = tirx.view %a[%i, %i] steps [1, 3] : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected sizes behind clipped only, found them without}}
  %8 = "tirx.view"(%a, %i, %i, %i) <{sized = [0 : i32]}> : (memref<8x8xf32>, index, index, index) -> !g
  // expected-error@+1 {{expected sizes of dimensions of memref<8x8xf32>, in order, found [3]}}
  %9 = "tirx.view"(%a, %i, %i, %i) <{clipped, sized = [3 : i32]}> : (memref<8x8xf32>, index, index, index) -> !g
  // expected-error@+1 {{expected '*' for dimension 0, which the tile does not have, found a size}}
  %10 = tirx.view %a[%i, %i] clipped to [%i, *] : memref<8x8xf32> -> !tirx.tile<4xf32, global>
  // expected-error@+1 {{expected a register value as index tile (tirx.load gives one), found !tirx.tile<4xi32, shared>}}
  %11 = tirx.view %a[[%s], %i] : memref<8x8xf32>, !tirx.tile<4xi32, shared> -> !g
  // expected-error@+1 {{expected indices of i32, i64 or index, found i16}}
  %12 = tirx.view %a[[%h], %i] : memref<8x8xf32>, !tirx.tile<4xi16, register> -> !g
  // expected-error@+1 {{expected an index tile along dimension 0 of one index for each element of the 4x4 tile, or for each position along a dimension that it has, found 2x4}}
  %13 = tirx.view %a[[%w], %i] : memref<8x8xf32>, !tirx.tile<2x4xi32, register> -> !g
  // expected-error@+1 {{expected dimension 0 of the tile to be one of the memref, found none}}
  %14 = tirx.view %a[[%c], %i] : memref<8x8xf32>, !tirx.tile<1x1xi32, register> -> !g
  // expected-error@+1 {{found 4}}
  %15 = tirx.view %a[[%v], %i] dims(1, _) : memref<8x8xf32>, !tirx.tile<4xi32, register> -> !tirx.tile<4x1xf32, global>
  // expected-error@+1 {{expected begins_inside behind clipped only: other views are inside altogether}}
  %16 = tirx.view %a[%i, %i] begins_inside : memref<8x8xf32> -> !g
  // expected-error@+1 {{expected a shared tile, found a global one}}
  %17 = tirx.view %s[[%v]] : !tirx.tile<4xi32, shared>, !tirx.tile<4xi32, register> -> !tirx.tile<4xi32, global>
  // expected-error@+1 {{expected a register tile, found a shared one}}
  %18 = tirx.view %v[[%v]] : !tirx.tile<4xi32, register>, !tirx.tile<4xi32, register> -> !tirx.tile<4xi32, shared>
  // expected-error@+1 {{expected a pad of type i32, found index}}
  %19 = tirx.load %s pad(%i) : !tirx.tile<4xi32, shared> -> !tirx.tile<4xi32, register>
  func.return
}

// -----

#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
func.func @f(%s: !tirx.tile<8x64xf16, shared, #swizzled>, %i: index) {
  // expected-error@+1 {{expected a shared tile with a stride along each dimension, found ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])}}
  %0 = tirx.view %s[%i, %i] : !tirx.tile<8x64xf16, shared, #swizzled> -> !tirx.tile<8x64xf16, shared>
  func.return
}

// -----

func.func @f(%a: memref<8x8xf32>, %i: index) {
  // expected-error@+1 {{expected 2 sizes or '*', found 1}}
  %t = tirx.view %a[%i, %i] clipped to [%i] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
}

// -----

func.func @f(%a: memref<8x8xf32>, %i: index) {
  // expected-error@+1 {{expected ':' and types or a clause (dims, steps, clipped, begins_inside), found 'step'}}
  %t = tirx.view %a[%i, %i] step [2, 2] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
}

// -----

func.func @f(%a: memref<8x8xf32>, %i: index, %n: i32) {
  // expected-error@+1 {{operand is used with type index, but has been previously used or defined with type i32}}
  %t = tirx.view %a[%i, %n] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
}

// -----

func.func @f(%a: memref<*xf32>, %i: index) {
  // expected-error@+1 {{memref<*xf32> should be of base attribute memref}}
  %t = tirx.view %a[%i, %i] : memref<*xf32> -> !tirx.tile<4x4xf32, global>
}

// -----

func.func @f(%a: memref<8x8xf32>, %i: index) {
  // expected-error@+1 {{expected the layout of memref<8x8xf32>, S[(4, 4) : (8, 1)], found S[(4, 4) : (4, 1)]}}
  %t = tirx.view %a[%i, %i] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global, #tirx.tile_layout<S[4, 4]>>
  func.return
}

tirx.kernel @third_warpgroup() threads(288) {
  // expected-error@+1 {{expected a warpgroup of the 288 threads from thread 0 on, found warpgroup 2}}
  tirx.warpgroup 2 {
  }
  tirx.return
}

func.func @warpgroup_of_no_kernel() {
  // expected-error@+1 {{expected a kernel around, found none}}
  tirx.warpgroup 0 {
  }
  func.return
}

!r = !tirx.tile<128xf32, register>

tirx.kernel @registers_of_others(%x: f32, %m: memref<128xf32>) threads(256) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0] : memref<128xf32> -> !tirx.tile<128xf32, global>
  %v = tirx.splat %x : f32 -> !r
  // expected-error@+1 {{expected register tiles of this warpgroup's threads, found one of other threads: !tirx.tile<128xf32, register>}}
  tirx.warpgroup 1 {
    tirx.store %v, %g : !r, !tirx.tile<128xf32, global>
  }
  tirx.return
}

tirx.kernel @k(%a: memref<8xf32>) threads(32) {
  // no argument: expected-error@+1 {{expected a memref argument of the kernel that has size(1, 0), found no such argument}}
  %m = tirx.launch_value size(1, 0)
  // no dimension: expected-error@+1 {{expected a memref argument of the kernel that has stride(0, 1), found memref<8xf32>}}
  %m2 = tirx.launch_value add(1, stride(0, 1))
  tirx.return
}

tirx.kernel @inside(%a: memref<8x8xf32>, %i: index) threads(32) {
  // expected-error@+1 {{expected begins_inside behind clipped only: other views are inside altogether}}
  %t = tirx.view %a[%i, %i] begins_inside : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
  tirx.return
}
