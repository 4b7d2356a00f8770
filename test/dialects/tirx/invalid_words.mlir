// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!s = !tirx.tile<128x32xf8E4M3FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
!w = !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>
func.func @bytes(%s: !s) {
  // expected-error@+1 {{expected a tile of 6-bit elements and a layout in global or shared memory or in registers, found !tirx.tile<128x32xf8E4M3FN, shared}}
  %0 = tirx.words %s : !s -> !w
  func.return
}

// -----

!s = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
!w = !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (3, 384, 1)]>>
func.func @packed_in_shared_memory(%s: !s) {
  // expected-error@+1 {{expected !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>, found !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (3, 384, 1)]>>}}
  %0 = tirx.words %s : !s -> !w
  func.return
}

// -----

!s = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 32) : (40, 1)]>>
!w = !tirx.tile<128x2x3xi32, shared>
func.func @split_runs(%s: !s) {
  // expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(128, 32) : (40, 1)]}}
  %0 = tirx.words %s : !s -> !w
  func.return
}

// -----

!r = !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>
!w = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 1)]>>
func.func @words_of_registers(%r: !r) {
  // expected-error@+1 {{expected a tile in global or shared memory, found !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>; tirx.pack is for registers}}
  %0 = tirx.words %r : !r -> !w
  func.return
}

// -----

!r = !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 2, 8) : (1@laneid, 1, 2)]>>
!w = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 1)]>>
func.func @no_runs(%r: !r) {
  // expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(32, 2, 8) : (1@laneid, 1, 2)]}}
  %0 = tirx.pack %r : !r -> !w
  func.return
}

// -----

!r = !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>
!w = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 2)]>>
func.func @other_words(%w: !w) {
  // expected-error@+1 {{expected words of !tirx.tile<32x16xf6E3M2FN, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>> as !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 1, 3) : (1@laneid, 0@laneid, 1)]>>, found}}
  %0 = tirx.unpack %w : !w -> !r
  func.return
}

// -----

!s = !tirx.tile<32x16xf6E3M2FN, shared, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>
!w = !tirx.tile<32x1x3xi32, register, #tirx.tile_layout<S[(32, 3) : (1@laneid, 1)]>>
func.func @pack_memory(%s: !s) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<32x16xf6E3M2FN, shared}}
  %0 = tirx.pack %s : !s -> !w
  func.return
}
