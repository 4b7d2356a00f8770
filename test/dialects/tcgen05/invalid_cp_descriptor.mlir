// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!blocks = !tirx.tile<128x4xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 4) : (4, 16, 1)]>>
!factors = !tirx.tile<128x4xf8E4M3FN, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!plain = !tirx.tile<128x4xf8E4M3FN, shared>
func.func @f(%s: !blocks, %s2: !factors, %s3: !plain) {
  // half a row: expected-error@+1 {{expected an offset of 0 or more in steps of 16 bytes, found 8}}
  %0 = tcgen05.cp_descriptor %s, 8 : !blocks -> i64
  // in tensor memory: expected-error@+1 {{expected a tile in shared memory with a layout, found !tirx.tile<128x4xf8E4M3FN, tensor}}
  %100 = tcgen05.cp_descriptor %s2, 0 : !factors -> i64
  // without a layout: expected-error@+1 {{expected a tile in shared memory with a layout, found !tirx.tile<128x4xf8E4M3FN, shared>}}
  %200 = tcgen05.cp_descriptor %s3, 0 : !plain -> i64
  func.return
}
