// RUN: tirx-opt %s --tirx-set-target="target=sm_103a" --split-input-file --verify-diagnostics

!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @at_the_instruction(%base: i32, %a: i64, %i: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %d = tcgen05.tile %base, 0 : i32 -> !d
  // expected-error@+1 {{'tcgen05.kind::i8' does not exist on sm_103a; supported on}}
  tcgen05.mma i8 %d, %a, %a, %i, %p : !d, i64
  tirx.return
}
