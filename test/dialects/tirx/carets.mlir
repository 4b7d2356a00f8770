// RUN: not tirx-opt %s --split-input-file 2>&1 | filecheck %s

// Errors inside of attributes and types point at the part that is wrong.

// CHECK:      error: unknown axis 'lane_id'
// CHECK-NEXT: "test.op"() {a = #tirx.tile_layout<S[8 : 1@lane_id]>} : () -> ()
// CHECK-NEXT: {{^                                           \^$}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1@lane_id]>} : () -> ()

// -----

// CHECK:      error: expected ']', found '>'
// CHECK-NEXT: "test.op"() {a = #tirx.tile_layout<S[8 : 1>} : () -> ()
// CHECK-NEXT: {{^                                          \^$}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1>} : () -> ()

// -----

// CHECK:      error: expected '>', found '*'
// CHECK-NEXT:   + R[2 : 4] * 3>} : () -> ()
// CHECK-NEXT: {{^             \^$}}
"test.op"() {a = #tirx.tile_layout<S[8 : 1]  // a comment with '>'
  + R[2 : 4] * 3>} : () -> ()

// -----

// CHECK:      error: atom_len must be at least swizzle_len (3), found 2
// CHECK-NEXT: "test.op"() {a = #tirx.swizzle_layout<3, 3, 2>} : () -> ()
// CHECK-NEXT: {{^                                      \^$}}
"test.op"() {a = #tirx.swizzle_layout<3, 3, 2>} : () -> ()

// -----

// CHECK:      error: expected ',' and atom_len, found '>'
// CHECK-NEXT: "test.op"() {a = #tirx.swizzle_layout<3, 3>} : () -> ()
// CHECK-NEXT: {{^                                          \^$}}
"test.op"() {a = #tirx.swizzle_layout<3, 3>} : () -> ()

// -----

// CHECK:      error: expected a layout on axis m only, found laneid
// CHECK-NEXT: "test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[32 : 1@laneid]>>} : () -> ()
// CHECK-NEXT: {{^                                                                     \^$}}
"test.op"() {a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[32 : 1@laneid]>>} : () -> ()

// -----

// CHECK:      error: expected a tile of rank 1 or more with positive, static extents, found shape [4, ?]
// CHECK-NEXT: %t = tirx.alloc : !tirx.tile<4x?xf16, shared>
// CHECK-NEXT: {{^                             \^$}}
%t = tirx.alloc : !tirx.tile<4x?xf16, shared>

// -----

// CHECK:      error: unknown element type 'i3'
// CHECK-NEXT: %t = tirx.alloc : !tirx.tile<4x4xi3, shared>
// CHECK-NEXT: {{^                                 \^$}}
%t = tirx.alloc : !tirx.tile<4x4xi3, shared>

// -----

// CHECK:      error: axis 'TLane' must stay in 0..127
// CHECK-NEXT: %t = tirx.alloc : !tirx.tile<256x4xf32, tensor, #tirx.tile_layout<S[(256, 4) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT: {{^                                                \^$}}
%t = tirx.alloc : !tirx.tile<256x4xf32, tensor, #tirx.tile_layout<S[(256, 4) : (1@TLane, 1@TCol)]>>

// -----

// CHECK:      error: expected a grid of 1 to 3 positive extents
// CHECK-NEXT: tirx.kernel @k() grid(0) threads(32) {
// CHECK-NEXT: {{^                     \^$}}
tirx.kernel @k() grid(0) threads(32) {
  tirx.return
}

// -----

// CHECK:      error: expected 1 to 1024 threads, found 2048
// CHECK-NEXT: tirx.kernel @k() threads(2048) {
// CHECK-NEXT: {{^                         \^$}}
tirx.kernel @k() threads(2048) {
  tirx.return
}

// -----

// An error of a whole operation points at its name.
// CHECK:      error: expected a shared, tensor or register tile, found a global one
// CHECK-NEXT:   %t = tirx.alloc : !tirx.tile<8xf32, global>
// CHECK-NEXT: {{^       \^$}}
func.func @f() {
  %t = tirx.alloc : !tirx.tile<8xf32, global>
  func.return
}
