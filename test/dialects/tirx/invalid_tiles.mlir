// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Fills and copies.

func.func @f(
    %t: !tirx.tile<8x4xf32, shared>, %x: f16, %x2: f32, %b: !tirx.tile<32xf32, shared>, %b2: !tirx.tile<4x8xf32, tensor>,
    %b3: !tirx.tile<8x4xf16, shared>, %b4: memref<8x4xf32>) {
  // expected-error@+1 {{expected a value of type f32, found f16}}
  tirx.fill %t, %x : f16, !tirx.tile<8x4xf32, shared>
  // expected-error@+1 {{operand 'tile' at position 0 does not verify:}}
  "tirx.fill"(%x2, %x2) : (f32, f32) -> ()
  // expected-error@+1 {{expected tiles of one shape, found 8x4 and 32}}
  tirx.copy %t, %b : !tirx.tile<8x4xf32, shared>, !tirx.tile<32xf32, shared>
  // expected-error@+1 {{expected tiles of one shape, found 8x4 and 4x8}}
  tirx.copy %t, %b2 : !tirx.tile<8x4xf32, shared>, !tirx.tile<4x8xf32, tensor>
  // expected-error@+1 {{expected tiles of one element type, found f32 and f16}}
  tirx.copy %t, %b3 : !tirx.tile<8x4xf32, shared>, !tirx.tile<8x4xf16, shared>
  // expected-error@+1 {{memref<8x4xf32> should be of base attribute tirx.tile}}
  tirx.copy %t, %b4 : !tirx.tile<8x4xf32, shared>, memref<8x4xf32>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xf32, shared>, %x: f32) {
  // expected-error@+1 {{f32 should be of base attribute tirx.tile}}
  tirx.fill %t, %x : !tirx.tile<8x4xf32, shared>, f32
}

// -----

// Parts of tiles.

func.func @f(
    %t: !tirx.tile<8x8xf32, shared>, %i: index, %t2: !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>>,
    %t3: !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>>,
    %t4: !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>>, %t5: !tirx.tile<12xf32, shared, #tirx.tile_layout<S[(3, 4) : (100, 1)]>>,
    %t6: memref<8x8xf32>) {
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 1 offsets and a 4x4 tile}}
  %s = tirx.subview %t[4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 0 offsets and a 4x4 tile}}
  %s2 = tirx.subview %t[] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 2 offsets and a 4 tile}}
  %s3 = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4xf32, shared>
  // expected-error@+1 {{expected a part of the 8x8 tile, found 4x4 at [4, 5]}}
  %s4 = tirx.subview %t[4, 5] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected an operand for each computed offset, found 1}}
  %s5 = "tirx.subview"(%t, %i) <{offsets = [4 : i32, 4 : i32]}> : (!tirx.tile<8x8xf32, shared>, index) -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected an operand for each computed offset, found 0}}
  %s6 = "tirx.subview"(%t) <{offsets = [-1 : i32, 4 : i32]}> : (!tirx.tile<8x8xf32, shared>) -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{Expected attribute i32 but got i64}}
  %s7 = "tirx.subview"(%t) <{offsets = [4 : i64, 4 : i64]}> : (!tirx.tile<8x8xf32, shared>) -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f16 in shared memory}}
  %s8 = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf16, shared>
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f32 in tensor memory}}
  %s9 = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, tensor>
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (8, 1)] + 36>>, found !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (4, 1)] + 36>>}}
  %s10 = tirx.subview %t2[4, 4] : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (4, 1)] + 36>>
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (8, 1)] + 36>>, found !tirx.tile<4x4xf32, shared>}}
  %s11 = tirx.subview %t2[4, 4] : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>>, found !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>}}
  %s12 = tirx.subview %t3[4, 0] : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>> -> !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>, found}}
  %s13 = tirx.subview %t4[4, 0] : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>> -> !tirx.tile<4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>>
  // expected-error@+1 {{no tile layout describes [3, 7) of dimension 0 of shape (12,): the longest part from 3 that one does starts with [3, 5)}}
  %s14 = tirx.subview %t5[3] : !tirx.tile<12xf32, shared, #tirx.tile_layout<S[(3, 4) : (100, 1)]>> -> !tirx.tile<4xf32, shared>
  // expected-error@+1 {{operand 'source' at position 0 does not verify:}}
  %s15 = tirx.subview %t6[4, 4] : memref<8x8xf32> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{result 'result' at position 0 does not verify:}}
  %s16 = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> memref<4x4xf32>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected offsets of 0 or more, below 2**31, found [-1, 4]}}
  %s = tirx.subview %t[-1, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected offsets of 0 or more, below 2**31, found [4, 99999999999999]}}
  %s = tirx.subview %t[4, 99999999999999] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected a parameter, whose name begins with a capital letter, found}}
  %s = tirx.subview %t[4, true] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 'offsets' in its own place, found it among the attributes}}
  %s = tirx.subview %t[4, 4] {offsets = [0 : i32]} : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
}

// -----

// Other shapes.

func.func @f(%t: !tirx.tile<8x8xf32, shared>, %t2: !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>>) {
  // expected-error@+1 {{expected 64 elements, found 63}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<63xf32, shared>
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f32 in tensor memory}}
  %r2 = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xf32, tensor>
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found i32 in shared memory}}
  %r3 = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xi32, shared>
  // expected-error@+1 {{expected the layout of the source, none, found S[64 : 1]}}
  %r4 = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xf32, shared, #tirx.tile_layout<S[64]>>
  // expected-error@+1 {{expected the layout of the source, S[(8, 8) : (8, 1)], found none}}
  %r5 = tirx.reshape %t2 : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<64xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{memref<64xf32> should be of base attribute tirx.tile}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> memref<64xf32>
}

// -----

// Register tiles.

func.func @f(
    %t: !tirx.tile<8x4xf64, global>, %t2: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>,
    %t3: !tirx.tile<32xf64, shared>, %t4: !tirx.tile<8x4xi64, global>, %v5: !tirx.tile<8x4xf64, shared>, %t5: !tirx.tile<8x4xf64, shared>,
    %t6: !tirx.tile<4x8xf64, shared>, %x: f32, %x2: f64) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v = tirx.load %t : !tirx.tile<8x4xf64, global> -> !tirx.tile<8x4xf64, shared>
  // expected-error@+1 {{expected a tile in global, shared or tensor memory, found !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v2 = tirx.load %t2 : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<32xf64, shared> and !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v3 = tirx.load %t3 : !tirx.tile<32xf64, shared> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<8x4xi64, global> and !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v4 = tirx.load %t4 : !tirx.tile<8x4xi64, global> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  tirx.store %v5, %t5 : !tirx.tile<8x4xf64, shared>, !tirx.tile<8x4xf64, shared>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>> and !tirx.tile<4x8xf64, shared>}}
  tirx.store %t2, %t6 : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<4x8xf64, shared>
  // expected-error@+1 {{expected a f64 value, found f32}}
  %v6 = tirx.splat %x : f32 -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v7 = tirx.splat %x2 : f64 -> !tirx.tile<8x4xf64, shared>
  func.return
}

// -----

// Threads and addresses.

func.func @f(%t: !tirx.tile<8x4xf64, global>) {
  // expected-error@+1 {{expected a shared tile, found a global one}}
  %p = tirx.address %t : !tirx.tile<8x4xf64, global> -> i32
  // expected-error@+1 {{result 'result' at position 0 does not verify:}}
  %p2 = "tirx.leader"() : () -> i32
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v = tirx.zero : !tirx.tile<8x4xf64, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xf64, shared>) {
  // expected-error@+1 {{Expected attribute i32 but got i64}}
  %p = tirx.address %t : !tirx.tile<8x4xf64, shared> -> i64
}
