// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!blocks = !tirx.tile<128x4xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 4) : (4, 16, 1)]>>
func.func @half_a_row(%s: !blocks) {
  // expected-error@+1 {{expected an offset of 0 or more in steps of 16 bytes, found 8}}
  %0 = tcgen05.cp_descriptor %s, 8 : !blocks -> i64
  func.return
}

// -----

!factors = !tirx.tile<128x4xf8E4M3FN, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
func.func @in_tensor_memory(%s: !factors) {
  // expected-error@+1 {{expected a tile in shared memory with a layout, found !tirx.tile<128x4xf8E4M3FN, tensor}}
  %0 = tcgen05.cp_descriptor %s, 0 : !factors -> i64
  func.return
}

// -----

!plain = !tirx.tile<128x4xf8E4M3FN, shared>
func.func @without_a_layout(%s: !plain) {
  // expected-error@+1 {{expected a tile in shared memory with a layout, found !tirx.tile<128x4xf8E4M3FN, shared>}}
  %0 = tcgen05.cp_descriptor %s, 0 : !plain -> i64
  func.return
}
