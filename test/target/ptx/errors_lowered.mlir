// RUN: tirx-opt %s --lower-to-ptx --split-input-file --verify-diagnostics

// What is known only of the instructions is still an error of the operation that they come from.

!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @computed_descriptor(%start : i64, %base : i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %d = tcgen05.tile %base, 0 : i32 -> !d
  %fields = arith.constant 4503599627370496 : i64
  %a = arith.ori %start, %fields : i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // expected-error@+1 {{descriptor of A: absolute LBO: expected target}}
  tcgen05.mma f16 %d, %a, %start, %i, %p : !d, i64
  tirx.return
}

tirx.kernel @every_thread(%a : i64) target("sm_100a") threads(128) {
  %p = arith.constant true
  %base = arith.constant 0 : i32
  %d = tcgen05.tile %base, 0 : i32 -> !d
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // expected-error@+1 {{expected one thread to execute 'tcgen05.mma', found all 128 of the CTA; elect one of a warp}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : !d, i64
  tirx.return
}
