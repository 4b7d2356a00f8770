// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!s = !tirx.tile<128x32xf8E4M3FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
!w = !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>
!s2 = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
!w2 = !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (3, 384, 1)]>>
!s3 = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 32) : (40, 1)]>>
!w3 = !tirx.tile<128x2x3xi32, shared>
!r = !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>
!w4 = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 1)]>>
!r2 = !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 2, 8) : (1@laneid, 1, 2)]>>
!w5 = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 2)]>>
!s4 = !tirx.tile<32x16xf6E3M2FN, shared, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>
func.func @f(%s: !s, %s2: !s2, %s3: !s3, %r: !r, %r2: !r2, %w: !w5, %s4: !s4) {
  // bytes: expected-error@+1 {{expected a tile of 6-bit elements and a layout in global or shared memory or in registers, found !tirx.tile<128x32xf8E4M3FN, shared}}
  %0 = tirx.words %s : !s -> !w
  // packed in shared memory: expected-error@+1 {{expected !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>, found !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (3, 384, 1)]>>}}
  %100 = tirx.words %s2 : !s2 -> !w2
  // split runs: expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(128, 32) : (40, 1)]}}
  %200 = tirx.words %s3 : !s3 -> !w3
  // words of registers: expected-error@+1 {{expected a tile in global or shared memory, found !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>; tirx.pack is for registers}}
  %300 = tirx.words %r : !r -> !w4
  // no runs: expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(32, 2, 8) : (1@laneid, 1, 2)]}}
  %400 = tirx.pack %r2 : !r2 -> !w4
  // other words: expected-error@+1 {{expected words of !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>> as !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 1, 3) : (1@laneid, 0@laneid, 1)]>>, found}}
  %500 = tirx.unpack %w : !w5 -> !r
  // pack memory: expected-error@+1 {{expected a register tile, found !tirx.tile<32x16xf6E3M2FN, shared}}
  %600 = tirx.pack %s4 : !s4 -> !w4
  func.return
}
