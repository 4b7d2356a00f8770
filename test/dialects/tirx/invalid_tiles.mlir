// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Fills and copies.

func.func @f(%t: !tirx.tile<8x4xf32, shared>, %x: f16) {
  // expected-error@+1 {{expected a value of type f32, found f16}}
  tirx.fill %t, %x : f16, !tirx.tile<8x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xf32, shared>, %x: f32) {
  // expected-error@+1 {{f32 should be of base attribute tirx.tile}}
  tirx.fill %t, %x : !tirx.tile<8x4xf32, shared>, f32
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{operand 'tile' at position 0 does not verify:}}
  "tirx.fill"(%x, %x) : (f32, f32) -> ()
  func.return
}

// -----

func.func @f(%a: !tirx.tile<8x4xf32, shared>, %b: !tirx.tile<32xf32, shared>) {
  // expected-error@+1 {{expected tiles of one shape, found 8x4 and 32}}
  tirx.copy %a, %b : !tirx.tile<8x4xf32, shared>, !tirx.tile<32xf32, shared>
  func.return
}

// -----

func.func @f(%a: !tirx.tile<8x4xf32, shared>, %b: !tirx.tile<4x8xf32, tensor>) {
  // expected-error@+1 {{expected tiles of one shape, found 8x4 and 4x8}}
  tirx.copy %a, %b : !tirx.tile<8x4xf32, shared>, !tirx.tile<4x8xf32, tensor>
  func.return
}

// -----

func.func @f(%a: !tirx.tile<8x4xf32, shared>, %b: !tirx.tile<8x4xf16, shared>) {
  // expected-error@+1 {{expected tiles of one element type, found f32 and f16}}
  tirx.copy %a, %b : !tirx.tile<8x4xf32, shared>, !tirx.tile<8x4xf16, shared>
  func.return
}

// -----

func.func @f(%a: !tirx.tile<8x4xf32, shared>, %b: memref<8x4xf32>) {
  // expected-error@+1 {{memref<8x4xf32> should be of base attribute tirx.tile}}
  tirx.copy %a, %b : !tirx.tile<8x4xf32, shared>, memref<8x4xf32>
  func.return
}

// -----

// Parts of tiles.

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 1 offsets and a 4x4 tile}}
  %s = tirx.subview %t[4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 0 offsets and a 4x4 tile}}
  %s = tirx.subview %t[] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 2 offsets and a tile of that rank, found 2 offsets and a 4 tile}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected a part of the 8x8 tile, found 4x4 at [4, 5]}}
  %s = tirx.subview %t[4, 5] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected offsets of 0 or more, below 2**31, found [-1, 4]}}
  %s = tirx.subview %t[-1, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected offsets of 0 or more, below 2**31, found [4, 99999999999999]}}
  %s = tirx.subview %t[4, 99999999999999] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{Expected integer literal}}
  %s = tirx.subview %t[4, true] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>, %i: index) {
  // expected-error@+1 {{expected an operand for each computed offset, found 1}}
  %s = "tirx.subview"(%t, %i) <{offsets = [4 : i32, 4 : i32]}> : (!tirx.tile<8x8xf32, shared>, index) -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 'offsets' in its own place, found it among the attributes}}
  %s = tirx.subview %t[4, 4] {offsets = [0 : i32]} : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected an operand for each computed offset, found 0}}
  %s = "tirx.subview"(%t) <{offsets = [-1 : i32, 4 : i32]}> : (!tirx.tile<8x8xf32, shared>) -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{Expected attribute i32 but got i64}}
  %s = "tirx.subview"(%t) <{offsets = [4 : i64, 4 : i64]}> : (!tirx.tile<8x8xf32, shared>) -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f16 in shared memory}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf16, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f32 in tensor memory}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> !tirx.tile<4x4xf32, tensor>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>>) {
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (8, 1)] + 36>>, found !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (4, 1)] + 36>>}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (4, 1)] + 36>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>>) {
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x4xf32, shared, #tirx.tile_layout<S[(4, 4) : (8, 1)] + 36>>, found !tirx.tile<4x4xf32, shared>}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>>) {
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>>, found !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>}}
  %s = tirx.subview %t[4, 0] : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>> -> !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>>) {
  // expected-error@+1 {{expected the slice of the source's layout, !tirx.tile<4x64xf16, shared, #tirx.tile_layout<S[256 : 1] + 256>>, found}}
  %s = tirx.subview %t[4, 0] : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>> -> !tirx.tile<4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<12xf32, shared, #tirx.tile_layout<S[(3, 4) : (100, 1)]>>) {
  // expected-error@+1 {{no tile layout describes [3, 7) of dimension 0 of shape (12,): the longest part from 3 that one does starts with [3, 5)}}
  %s = tirx.subview %t[3] : !tirx.tile<12xf32, shared, #tirx.tile_layout<S[(3, 4) : (100, 1)]>> -> !tirx.tile<4xf32, shared>
  func.return
}

// -----

func.func @f(%t: memref<8x8xf32>) {
  // expected-error@+1 {{operand 'source' at position 0 does not verify:}}
  %s = tirx.subview %t[4, 4] : memref<8x8xf32> -> !tirx.tile<4x4xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{result 'result' at position 0 does not verify:}}
  %s = tirx.subview %t[4, 4] : !tirx.tile<8x8xf32, shared> -> memref<4x4xf32>
  func.return
}

// -----

// Other shapes.

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected 64 elements, found 63}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<63xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found f32 in tensor memory}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xf32, tensor>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected f32 elements in shared memory like the source's, found i32 in shared memory}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xi32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{expected the layout of the source, none, found S[64 : 1]}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> !tirx.tile<64xf32, shared, #tirx.tile_layout<S[64]>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>>) {
  // expected-error@+1 {{expected the layout of the source, S[(8, 8) : (8, 1)], found none}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[8, 8]>> -> !tirx.tile<64xf32, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x8xf32, shared>) {
  // expected-error@+1 {{memref<64xf32> should be of base attribute tirx.tile}}
  %r = tirx.reshape %t : !tirx.tile<8x8xf32, shared> -> memref<64xf32>
  func.return
}

// -----

// Register tiles.

func.func @f(%t: !tirx.tile<8x4xf64, global>) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v = tirx.load %t : !tirx.tile<8x4xf64, global> -> !tirx.tile<8x4xf64, shared>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>) {
  // expected-error@+1 {{expected a tile in global, shared or tensor memory, found !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v = tirx.load %t : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<32xf64, shared>) {
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<32xf64, shared> and !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v = tirx.load %t : !tirx.tile<32xf64, shared> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xi64, global>) {
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<8x4xi64, global> and !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>}}
  %v = tirx.load %t : !tirx.tile<8x4xi64, global> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  func.return
}

// -----

func.func @f(%v: !tirx.tile<8x4xf64, shared>, %t: !tirx.tile<8x4xf64, shared>) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  tirx.store %v, %t : !tirx.tile<8x4xf64, shared>, !tirx.tile<8x4xf64, shared>
  func.return
}

// -----

func.func @f(%v: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, %t: !tirx.tile<4x8xf64, shared>) {
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>> and !tirx.tile<4x8xf64, shared>}}
  tirx.store %v, %t : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<4x8xf64, shared>
  func.return
}

// -----

func.func @f(%x: f32) {
  // expected-error@+1 {{expected a f64 value, found f32}}
  %v = tirx.splat %x : f32 -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
  func.return
}

// -----

func.func @f(%x: f64) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v = tirx.splat %x : f64 -> !tirx.tile<8x4xf64, shared>
  func.return
}

// -----

// Threads and addresses.

func.func @f(%t: !tirx.tile<8x4xf64, global>) {
  // expected-error@+1 {{expected a shared tile, found a global one}}
  %p = tirx.address %t : !tirx.tile<8x4xf64, global> -> i32
  func.return
}

// -----

func.func @f(%t: !tirx.tile<8x4xf64, shared>) {
  // expected-error@+1 {{Expected attribute i32 but got i64}}
  %p = tirx.address %t : !tirx.tile<8x4xf64, shared> -> i64
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{result 'result' at position 0 does not verify:}}
  %p = "tirx.leader"() : () -> i32
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf64, shared>}}
  %v = tirx.zero : !tirx.tile<8x4xf64, shared>
  func.return
}
