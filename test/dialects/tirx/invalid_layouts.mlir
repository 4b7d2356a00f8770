// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Tile layouts: axes.

// expected-error@+1 {{unknown axis 'lane_id'; did you mean 'laneid'? known axes: bx, by, bz, cbx, cby, cbz, tx, tid, warpid, wgid, laneid, tid_in_wg, wid_in_wg, pid, m, P, F, Bank, TLane, TCol}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1@lane_id]>} : () -> ()

// -----

// Tile layouts: shard, replicas, offsets, brackets.

// expected-error@+1 {{expected '>', found '"'}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1] "text">} : () -> ()

// -----

// expected-error@+1 {{expected ']', found '>'}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1>} : () -> ()

// -----

// expected-error@+1 {{expected '>', found '}'}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1]} : () -> ()

// -----

// expected-error@+1 {{'<' expected}}
"test.op"() {a = #tirx.tile_layout} : () -> ()

// -----

// expected-error@+1 {{expected '>' after the layout}}
#unclosed = #tirx.tile_layout<S[8 : 1]

// -----

// Swizzles.

// expected-error@+1 {{'<' expected}}
"test.op"() {a = #tirx.swizzle_layout(3, 3, 3)} : () -> ()

// -----

// Compositions.

// expected-error@+1 {{expected a #tirx.swizzle_layout first, found #tirx.tile_layout<S[(8, 64) : (64, 1)]>}}
"test.op"() {a = #tirx.compose_layout<#tirx.tile_layout<S[8, 64]>, #tirx.swizzle_layout<3, 3, 3>>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout second, found #tirx.swizzle_layout<3, 3, 3>}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.swizzle_layout<3, 3, 3>>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout second, found 3 : i64}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, 3>} : () -> ()

// -----

// expected-error@+1 {{expected a layout on axis m only, found laneid in S[32 : 1@laneid]}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[32 : 1@laneid]>>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.swizzle_layout first}}
"test.op"() {a = #tirx.compose_layout<>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout second}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, >} : () -> ()

// -----

// expected-error@+1 {{Expected ','}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>>} : () -> ()

// -----

// expected-error@+1 {{'>' expected}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>} : () -> ()

// -----

// expected-error@+1 {{undefined symbol alias '#missing'}}
"test.op"() {a = #tirx.compose_layout<#missing, #missing>} : () -> ()

// -----

// Tile types: shapes and element types.

// expected-error@+1 {{expected a tile of rank 1 or more with positive, static extents, found shape []}}
"test.op"() {a = !tirx.tile<f16, shared>} : () -> ()

// -----

// expected-error@+1 {{expected a tile of rank 1 or more with positive, static extents, found shape [4, 0]}}
"test.op"() {a = !tirx.tile<4x0xf16, shared>} : () -> ()

// -----

// expected-error@+1 {{expected a tile of rank 1 or more with positive, static extents, found shape [?, 4]}}
"test.op"() {a = !tirx.tile<?x4xf16, shared>} : () -> ()

// -----

// expected-error@+1 {{expected at most 1048576 elements, found 2147483648}}
"test.op"() {a = !tirx.tile<65536x32768xf16, global>} : () -> ()

// -----

// expected-error@+1 {{expected an extent or an element type}}
"test.op"() {a = !tirx.tile<-4x4xf16, shared>} : () -> ()

// -----

// expected-error@+1 {{Expected 'x' in shape delimiter, got COMMA}}
"test.op"() {a = !tirx.tile<4x4, shared>} : () -> ()

// -----

// expected-error@+1 {{expected an extent or an element type}}
"test.op"() {a = !tirx.tile<>} : () -> ()

// -----

// expected-error@+1 {{'<' expected}}
"test.op"() {a = !tirx.tile} : () -> ()

// -----

// expected-error@+1 {{unknown element type 'i3'; did you mean 'i32'? known types: f16, bf16, tf32}}
"test.op"() {a = !tirx.tile<4x4xi3, shared>} : () -> ()

// -----

// expected-error@+1 {{unknown element type 'f80'; known types: f16, bf16, tf32}}
"test.op"() {a = !tirx.tile<4x4xf80, shared>} : () -> ()

// -----

// expected-error@+1 {{unknown element type 'memref<4xf16>'}}
"test.op"() {a = !tirx.tile<4x4xmemref<4xf16>, shared>} : () -> ()

// -----

// Tile types: memories and layouts.

// expected-error@+1 {{Expected ','}}
"test.op"() {a = !tirx.tile<4x4xf16>} : () -> ()

// -----

// expected-error@+1 {{Expected `global`, `shared`, `tensor`, `register`, or `accumulator`.}}
"test.op"() {a = !tirx.tile<4x4xf16, smem>} : () -> ()

// -----

// expected-error@+1 {{Expected `global`, `shared`, `tensor`, `register`, or `accumulator`.}}
"test.op"() {a = #tirx<memory_space smem>} : () -> ()

// -----

// expected-error@+1 {{Expected `x`, `y`, or `z`.}}
"test.op"() {a = #tirx<grid_axis w>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout or #tirx.compose_layout}}
"test.op"() {a = !tirx.tile<4x4xf16, shared, >} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout or #tirx.compose_layout, found 3 : i64}}
"test.op"() {a = !tirx.tile<4x4xf16, shared, 3>} : () -> ()

// -----

// expected-error@+1 {{expected a #tirx.tile_layout or #tirx.compose_layout, found #tirx.swizzle_layout<3, 3, 3>}}
"test.op"() {a = !tirx.tile<4x4xf16, shared, #tirx.swizzle_layout<3, 3, 3>>} : () -> ()

// -----

// expected-error@+1 {{expected a layout of 16 elements for a 4x4 tile, found one of 8: S[(4, 2) : (2, 1)]}}
"test.op"() {a = !tirx.tile<4x4xf16, shared, #tirx.tile_layout<S[(4, 2) : (2, 1)]>>} : () -> ()

// -----

// expected-error@+1 {{expected a layout of 512 elements for a 512 tile, found one of 1024: ComposeLayout(Swizzle(3, 3, 3), S[(16, 64) : (64, 1)])}}
"test.op"() {a = !tirx.tile<512xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[16, 64]>>>} : () -> ()

// -----

// expected-error@+1 {{expected a tile layout in global memory, found a swizzle, which only shared memory has}}
"test.op"() {a = !tirx.tile<8x64xf16, global, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>>} : () -> ()

// -----

// expected-error@+1 {{expected a tile layout in registers, found a swizzle, which only shared memory has}}
"test.op"() {a = !tirx.tile<8x64xf16, register, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>>} : () -> ()

// -----

// expected-error@+1 {{expected axes of shared memory (cbx, m), found axis laneid}}
"test.op"() {a = !tirx.tile<4x4xf16, shared, #tirx.tile_layout<S[(4, 4) : (4@laneid, 1)]>>} : () -> ()

// -----

// expected-error@+1 {{expected axes of global memory (m), found axis TLane}}
"test.op"() {a = !tirx.tile<4x4xf16, global, #tirx.tile_layout<S[(4, 4) : (4, 1)] + 1@TLane>>} : () -> ()

// -----

// expected-error@+1 {{expected axes of tensor memory (TCol, TLane, cbx), found axis m}}
"test.op"() {a = !tirx.tile<4x4xf16, tensor, #tirx.tile_layout<S[(4, 4) : (4, 1)]>>} : () -> ()

// -----

// expected-error@+1 {{expected axes of registers (m and thread axes such as laneid and warpid), found axis pid}}
"test.op"() {a = !tirx.tile<4x4xf16, register, #tirx.tile_layout<S[(4, 4) : (4@pid, 1)]>>} : () -> ()

// -----

// expected-error@+1 {{expected axes of registers (m and thread axes such as laneid and warpid), found axis P}}
"test.op"() {a = !tirx.tile<4x4xf16, register, #tirx.tile_layout<S[(4, 4) : (4, 1)] + R[2 : 1@P]>>} : () -> ()

// -----

// Tile types: layouts that leave their memory.

// expected-error@+1 {{axis 'm' must stay in 0 or more, the layout S[64 : -1] reaches -63..0}}
"test.op"() {a = !tirx.tile<64xf16, shared, #tirx.tile_layout<S[64 : -1]>>} : () -> ()

// -----

// expected-error@+1 {{axis 'laneid' must stay in 0..31, the layout S[64 : 1@laneid] reaches 0..63}}
"test.op"() {a = !tirx.tile<64xf16, register, #tirx.tile_layout<S[64 : 1@laneid]>>} : () -> ()

// -----

// expected-error@+1 {{axis 'warpid' must stay in 0..31, the layout S[32 : 1@laneid] + R[2 : 32@warpid] reaches 0..32}}
"test.op"() {a = !tirx.tile<32xf16, register, #tirx.tile_layout<S[32 : 1@laneid] + R[2 : 32@warpid]>>} : () -> ()

// -----

// expected-error@+1 {{expected elements of 32 bits or fewer in tensor memory, found f64}}
"test.op"() {a = !tirx.tile<128x64xf64, tensor>} : () -> ()

// -----

// expected-error@+1 {{axis 'TLane' must stay in 0..127, the layout S[(128, 4) : (1@TLane, 1@TCol)] + 1@TLane reaches 1..128}}
"test.op"() {a = !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)] + 1@TLane>>} : () -> ()

// -----

// expected-error@+1 {{axis 'TCol' must stay in 0..511, the layout S[(128, 513) : (1@TLane, 1@TCol)] reaches 0..512}}
"test.op"() {a = !tirx.tile<128x513xf32, tensor, #tirx.tile_layout<S[(128, 513) : (1@TLane, 1@TCol)]>>} : () -> ()

// -----

// expected-error@+1 {{axis 'TCol' must stay in 0..1023, the layout S[(128, 1025) : (1@TLane, 1@TCol)] reaches 0..1024}}
"test.op"() {a = !tirx.tile<128x1025xf16, tensor, #tirx.tile_layout<S[(128, 1025) : (1@TLane, 1@TCol)]>>} : () -> ()

// -----

// Zero columns.

// expected-error@+1 {{expected a list of columns, 'start = ...' or 'start_count = ...'}}
"test.op"() {a = #tirx.zero_columns<>} : () -> ()

// -----

// expected-error@+1 {{expected a list of columns, 'start = ...' or 'start_count = ...'}}
"test.op"() {a = #tirx.zero_columns<3>} : () -> ()

// -----

// expected-error@+1 {{Expected integer literal}}
"test.op"() {a = #tirx.zero_columns<[1,>} : () -> ()

// -----

// expected-error@+1 {{Expected integer literal}}
"test.op"() {a = #tirx.zero_columns<[true]>} : () -> ()

// -----

// expected-error@+1 {{expected zero columns of 0 or more, found column -1}}
"test.op"() {a = #tirx.zero_columns<[4, -1]>} : () -> ()

// -----

// expected-error@+1 {{Expected 'zero'}}
"test.op"() {a = #tirx.zero_columns<start = 3, use = 2, zero = 1>} : () -> ()

// -----

// expected-error@+1 {{expected start >= 0, zero >= 1 and use >= 1, found start = -3, zero = 2, use = 2}}
"test.op"() {a = #tirx.zero_columns<start = -3, zero = 2, use = 2>} : () -> ()

// -----

// expected-error@+1 {{expected start >= 0, zero >= 1 and use >= 1, found start = 0, zero = 0, use = 2}}
"test.op"() {a = #tirx.zero_columns<start = 0, zero = 0, use = 2>} : () -> ()

// -----

// expected-error@+1 {{expected start_count of the 4 sub-masks, sub-mask 0 first, found 3 values}}
"test.op"() {a = #tirx.zero_columns<start_count = [0, 1, 2], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3>} : () -> ()

// -----

// expected-error@+1 {{expected first_span of the 4 sub-masks, sub-mask 0 first, found 0 values}}
"test.op"() {a = #tirx.zero_columns<start_count = [0, 1, 2, 3], first_span = [], skip_span = 2, use_span = 3>} : () -> ()

// -----

// expected-error@+1 {{start_count[0]: expected 0 to 255, found 256}}
"test.op"() {a = #tirx.zero_columns<start_count = [256, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3>} : () -> ()

// -----

// expected-error@+1 {{Expected 'use_span'}}
"test.op"() {a = #tirx.zero_columns<start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, shift = 3>} : () -> ()

// -----

// expected-error@+1 {{shift: expected 0 to 32, found 33}}
"test.op"() {a = #tirx.zero_columns<[1], shift = 33>} : () -> ()

// -----

// expected-error@+1 {{shift: expected 0 to 32, found -1}}
"test.op"() {a = #tirx.zero_columns<start = 0, zero = 1, use = 1, shift = -1>} : () -> ()

// -----

// expected-error@+1 {{Expected 'shift'}}
"test.op"() {a = #tirx.zero_columns<[1], 2>} : () -> ()

// -----

// expected-error@+1 {{expected at most 1024 copies of every element, found 4096 in S[32 : 1@laneid] + R[(64, 64) : (0@laneid, 0@laneid)]}}
"test.op"() {a = !tirx.tile<32xf16, register, #tirx.tile_layout<S[32 : 1@laneid] + R[(64, 64) : (0@laneid, 0@laneid)]>>} : () -> ()

// -----

// expected-error@+1 {{expected at most 65536 elements in a thread, found 4294967297 in S[(2, 32) : (4294967296, 1@laneid)]}}
"test.op"() {a = !tirx.tile<2x32xf16, register, #tirx.tile_layout<S[(2, 32) : (4294967296, 1@laneid)]>>} : () -> ()
