// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// Layouts print in the notation of the tensor-layout page.

// The tensor-layout page: the tensor-core tile, the tile of Blackwell's tensor memory, scale factors, shared memory.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid>}
"test.op"() {a = #tirx.tile_layout<S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]>}
"test.op"() {a = #tirx.tile_layout<S[(2,128,112):(112@TCol,1@TLane,1@TCol)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>}
"test.op"() {a = #tirx.tile_layout<S[(32, 4):(1@TLane, 1@TCol)] + R[4:32@TLane]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 64) : (64, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(8,64):(64@m,1@m)]>} : () -> ()

// Axes of devices, blocks, threads and scratchpads.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 2, 32) : (1@pid, 1@cbx, 1@bx)] + R[2 : 2@pid]>}
"test.op"() {a = #tirx.tile_layout<S[(2, 2, 32) : (1@pid, 1@cbx, 1@bx)] + R[2 : 2@pid]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 128) : (1@wgid, 1@tid_in_wg)]>}
"test.op"() {a = #tirx.tile_layout<S[(8, 128) : (1@wgid, 1@tid_in_wg)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]>}
"test.op"() {a = #tirx.tile_layout<S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(256, 4) : (1@tid, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(256, 4) : (1@tid, 1)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(256, 4) : (1@tx, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(256, 4) : (1@tx, 1)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 512, 8) : (1@Bank, 1@F, 1@P)]>}
"test.op"() {a = #tirx.tile_layout<S[(2, 512, 8) : (1@Bank, 1@F, 1@P)]>} : () -> ()

// Extents alone are row-major on m. One iter needs no parentheses, and a single element no iter.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 4) : (4, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[8, 4]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 4, 2) : (8, 2, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(8, 4, 2)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1]>}
"test.op"() {a = #tirx.tile_layout<S[8]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 2]>}
"test.op"() {a = #tirx.tile_layout<S[8 : 2]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 2@TCol]>}
"test.op"() {a = #tirx.tile_layout<S[(8) : (2@TCol)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 2]>}
"test.op"() {a = #tirx.tile_layout<S[(8,) : (2,)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[]>}
"test.op"() {a = #tirx.tile_layout<S[]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[]>}
"test.op"() {a = #tirx.tile_layout<S[() : ()]>} : () -> ()

// Strides that broadcast or run backwards, unit extents, numbers beyond 64 bits.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 4) : (-4, 0@laneid)] + 28>}
"test.op"() {a = #tirx.tile_layout<S[(8, 4) : (-4, 0@laneid)] + 28>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(4, 1, 2) : (2, 0, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(4, 1, 2) : (2, 0, 1)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(1, 1) : (7@laneid, -7)]>}
"test.op"() {a = #tirx.tile_layout<S[(1, 1) : (7@laneid, -7)]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 3) : (18446744073709551616, 1)]>}
"test.op"() {a = #tirx.tile_layout<S[(2, 3) : (18446744073709551616, 1)]>} : () -> ()

// Spellings of TVM can be pasted.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(2, 4) : (4@wgid, 1@laneid)] + 7 + 3@warpid>}
"test.op"() {a = #tirx.tile_layout<T.S[(2, 4):(4 @ Axis.wgid, "laneid")] + (3 @ Axis.warpid + 7)>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[] + R[8 : 1@laneid]>}
"test.op"() {a = #tirx.tile_layout<R[8 : 1@"laneid"]>} : () -> ()

// Replicas are collected; offsets are added up, sorted, and printed last.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1] + R[(2, 3, 2) : (1@wgid, 0, -4@warpid)]>}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] + R[(2, 3) : (1@wgid, 0)] + R[2 : -4@warpid]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1] + R[2 : 4@warpid] + 7>}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] + 7 + R[2 : 4@warpid]>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1] + 5@laneid + 1@warpid>}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] + 1@warpid + 2@laneid + 3@laneid>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : -1] + 7>}
"test.op"() {a = #tirx.tile_layout<S[8 : -1] + 10 - 3@m>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1] - 3 - 2@warpid>}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] - 3 - 2@warpid>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[8 : 1]>}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] + 0 + 2@warpid - 2@warpid>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[] + R[32 : 1@laneid] + 3@warpid>}
"test.op"() {a = #tirx.tile_layout<S[] + R[32 : 1@laneid] + 3@warpid>} : () -> ()

// White space and comments are free.
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 2) : (4@laneid, 1@warpid)] + R[2 : 4@warpid] + 5@laneid>}
"test.op"() {a = #tirx.tile_layout<S[( 8,2 ):( 4 @ laneid,1@ warpid )]+R[2:4 @warpid]+5 @ laneid>} : () -> ()
// CHECK: "test.op"() {a = #tirx.tile_layout<S[(8, 2) : (2, 1)] + R[2 : 16]>}
"test.op"() {a = #tirx.tile_layout<
  S[(8, 2) : (2, 1)]    // rows -> columns
    + R[2 : 16]         // two copies
>} : () -> ()

// Swizzles: by position, or with the names that the page uses.
// CHECK: "test.op"() {a = #tirx.swizzle_layout<3, 3, 3>}
"test.op"() {a = #tirx.swizzle_layout<3, 3, 3>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<0, 0, 0>}
"test.op"() {a = #tirx.swizzle_layout<0,0,0>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<4, 1, 3>}
"test.op"() {a = #tirx.swizzle_layout<4, 1, 3>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<3, 2, 2>}
"test.op"() {a = #tirx.swizzle_layout<3, 2, 2>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<2, 0, 5>}
"test.op"() {a = #tirx.swizzle_layout<2, 0, 5>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<3, 2, 4>}
"test.op"() {a = #tirx.swizzle_layout<M = 3, B = 2, S = 4>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<1, 2, 4>}
"test.op"() {a = #tirx.swizzle_layout<atom_len = 4, per_element = 1, swizzle_len = 2>} : () -> ()
// CHECK: "test.op"() {a = #tirx.swizzle_layout<20, 20, 22>}
"test.op"() {a = #tirx.swizzle_layout<20, 20, 22>} : () -> ()

// Compositions, in full and with aliases.
// CHECK: "test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>} : () -> ()

#swizzle = #tirx.swizzle_layout<3, 3, 3>
#rows = #tirx.tile_layout<S[(16, 8, 64) : (512, 64, 1)] + R[2 : 8192] + 512>
#swizzled = #tirx.compose_layout<#swizzle, #rows>
// CHECK: "test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(16, 8, 64) : (512, 64, 1)] + R[2 : 8192] + 512>>}
"test.op"() {a = #swizzled} : () -> ()

// In containers, and deep inside of brackets.
// CHECK: "test.op"() {a = [#tirx.tile_layout<S[8 : 1]>, [#tirx.swizzle_layout<3, 3, 3>]], b = {c = #tirx.tile_layout<S[]>}}
"test.op"() {a = [#tirx.tile_layout<S[8]>, [#tirx.swizzle_layout<3, 3, 3>]], b = {c = #tirx.tile_layout<S[]>}} : () -> ()

// Tiles in every memory.
// CHECK: "test.op"() {a = !tirx.tile<128x64xf16, global>}
"test.op"() {a = !tirx.tile<128x64xf16, global>} : () -> ()
// CHECK: "test.op"() {a = !tirx.tile<1xf64, global, #tirx.tile_layout<S[]>>}
"test.op"() {a = !tirx.tile<1xf64, global, #tirx.tile_layout<S[]>>} : () -> ()
// CHECK: "test.op"() {a = !tirx.tile<128x64xbf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>}
"test.op"() {a = !tirx.tile<128x64xbf16, shared, #tirx.compose_layout<#swizzle, #tirx.tile_layout<S[128, 64]>>>} : () -> ()
// CHECK: "test.op"() {a = !tirx.tile<128x224xf32, tensor, #tirx.tile_layout<S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]>>}
"test.op"() {a = !tirx.tile<128x224xf32, tensor, #tirx.tile_layout<S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]>>} : () -> ()
// CHECK: "test.op"() {a = !tirx.tile<8x16xf32, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid>>}
"test.op"() {a = !tirx.tile<8x16xf32, register, #tirx.tile_layout<S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid>>} : () -> ()

// Every element type.
// CHECK: !tirx.tile<2x8xf16, shared>
"test.op"() {a = !tirx.tile<2x8xf16, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xbf16, shared>
"test.op"() {a = !tirx.tile<2x8xbf16, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xtf32, shared>
"test.op"() {a = !tirx.tile<2x8xtf32, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf32, shared>
"test.op"() {a = !tirx.tile<2x8xf32, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf64, shared>
"test.op"() {a = !tirx.tile<2x8xf64, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf8E4M3FN, shared>
"test.op"() {a = !tirx.tile<2x8xf8E4M3FN, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf8E5M2, shared>
"test.op"() {a = !tirx.tile<2x8xf8E5M2, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf6E2M3FN, shared>
"test.op"() {a = !tirx.tile<2x8xf6E2M3FN, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf6E3M2FN, shared>
"test.op"() {a = !tirx.tile<2x8xf6E3M2FN, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf4E2M1FN, shared>
"test.op"() {a = !tirx.tile<2x8xf4E2M1FN, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xf8E8M0FNU, shared>
"test.op"() {a = !tirx.tile<2x8xf8E8M0FNU, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xi8, shared>
"test.op"() {a = !tirx.tile<2x8xi8, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xsi8, shared>
"test.op"() {a = !tirx.tile<2x8xsi8, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xui8, shared>
"test.op"() {a = !tirx.tile<2x8xui8, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xi16, shared>
"test.op"() {a = !tirx.tile<2x8xi16, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xsi16, shared>
"test.op"() {a = !tirx.tile<2x8xsi16, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xui16, shared>
"test.op"() {a = !tirx.tile<2x8xui16, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xi32, shared>
"test.op"() {a = !tirx.tile<2x8xi32, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xsi32, shared>
"test.op"() {a = !tirx.tile<2x8xsi32, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xui32, shared>
"test.op"() {a = !tirx.tile<2x8xui32, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xi64, shared>
"test.op"() {a = !tirx.tile<2x8xi64, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xsi64, shared>
"test.op"() {a = !tirx.tile<2x8xsi64, shared>} : () -> ()
// CHECK: !tirx.tile<2x8xui64, shared>
"test.op"() {a = !tirx.tile<2x8xui64, shared>} : () -> ()

// The other attributes of the dialect.
// CHECK: "test.op"() {a = #tirx<memory_space shared>, b = #tirx<grid_axis x>}
"test.op"() {a = #tirx<memory_space shared>, b = #tirx<grid_axis x>} : () -> ()
// CHECK: "test.op"() {a = #tirx.zero_columns<[]>, b = #tirx.zero_columns<[3, 4, 5]>, c = #tirx.zero_columns<[0], shift = 32>}
"test.op"() {a = #tirx.zero_columns<[]>, b = #tirx.zero_columns<[3, 4, 5]>, c = #tirx.zero_columns<[0], shift = 32>} : () -> ()
// CHECK: "test.op"() {a = #tirx.zero_columns<start = 3, zero = 2, use = 6>, b = #tirx.zero_columns<start = 0, zero = 1, use = 1, shift = 1>}
"test.op"() {a = #tirx.zero_columns<start = 3, zero = 2, use = 6, shift = 0>, b = #tirx.zero_columns<start = 0, zero = 1, use = 1, shift = 1>} : () -> ()
// CHECK: "test.op"() {a = #tirx.zero_columns<start_count = [0, 1, 2, 255], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3, shift = 2>}
"test.op"() {a = #tirx.zero_columns<start_count = [0, 1, 2, 255], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3, shift = 2>} : () -> ()
