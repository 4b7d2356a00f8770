// RUN: tirx-opt --split-input-file --verify-diagnostics %s

%g, %s = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>)
%bar = arith.constant 0 : i32
// expected-error@+1 {{expected a tile in global memory, found one in shared memory}}
tirx.tma_load %s, %s, %bar : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>
%g2, %s2 = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x32xf16, shared>)
// expected-error@+1 {{expected tiles of one shape, found 64x64 in global and 64x32 in shared memory}}
tirx.cp_async %g2, %s2 : !tirx.tile<64x64xf16, global>, !tirx.tile<64x32xf16, shared>
%g3, %s3 = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x64xbf16, shared>)
// expected-error@+1 {{expected tiles of one element type, found f16 in global and bf16 in shared memory}}
tirx.tma_store %s3, %g3 : !tirx.tile<64x64xbf16, shared>, !tirx.tile<64x64xf16, global>
%g4, %s4 = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>)
%bar2 = arith.constant 0 : i32
// expected-error@+1 {{expected cta_group 1 or 2, found 3}}
tirx.tma_load %g4, %s4, %bar2 cta_group 3 : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
%g5, %r = "test.op"() : () -> (!tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, register>)
// expected-error@+1 {{expected a copy to global memory from another one with reduce, found one from registers to shared memory}}
tirx.copy %r, %g5 reduce(add) : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, shared>
// expected-error@+1 {{expected a copy to global memory from another one with reduce, found one from global memory to global memory}}
tirx.copy %g4, %g4 reduce(add) : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, global>

// -----

%g, %s = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>)
// expected-error@+1 {{Expected `add`, `min`, `max`, `and`, `or`, or `xor`.}}
tirx.tma_store %s, %g reduce(mul) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, global>

// -----

// expected-error@+1 {{expected rows of a box of a multiple of 16 bytes of at most 128, found 256}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [128], strides = [], box = [128], swizzle = "128B">} : () -> ()

// -----

// expected-error@+1 {{expected an integer or a function of size, stride, sm_count, cluster_count, add, mul, ceildiv, min, max, found 'rows'}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [rows], strides = [], box = [64]>} : () -> ()

// -----

// expected-error@+1 {{expected 1 to 5 dims, a box of as many and one stride less, found 2 dims, 2 sizes of a box and 0 strides}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [64, 64], strides = [], box = [64, 64]>} : () -> ()

// -----

// expected-error@+1 {{expected sizes of a box from 1 to 256, found [64, 512]}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f16", dims = [64, 64], strides = [128], box = [64, 512]>} : () -> ()

// -----

// expected-error@+1 {{expected fill zero for u8, found nan}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "u8", dims = [64], strides = [], box = [64], fill = "nan">} : () -> ()

// -----

// expected-error@+1 {{expected an element type of u8, u16, u32, s32, u64, s64, f16, bf16, f32, f64, found f8}}
"test.op"() {map = #tirx.tensor_map<argument = 0, type = "f8", dims = [64], strides = [], box = [64]>} : () -> ()

// -----

%g, %s = "test.op"() : () -> (!tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>)
// expected-error@+1 {{Expected `add`, `min`, `max`, `and`, `or`, or `xor`.}}
tirx.copy %s, %g reduce(mul) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, global>
