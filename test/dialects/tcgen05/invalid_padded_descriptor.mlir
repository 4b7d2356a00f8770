// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!a = !tirx.tile<128x32xf8E4M3FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
func.func @bytes(%a: !a) {
  // expected-error@+1 {{expected elements of 4 bits for 'padded', found f8E4M3FN}}
  %0 = tcgen05.smem_descriptor %a, 0 of 32 padded : !a -> i64
  func.return
}

// -----

#a = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x128xf4E2M1FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
func.func @packed_for_f8f6f4(%a: !a, %d: !d, %p: i1) {
  %i = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128> : i32
  %0 = tcgen05.smem_descriptor %a, 0 of 32 : !a -> i64
  // expected-error@+1 {{expected A of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, found 4; pad it, or use the kind that reads it packed [a-packing]}}
  tcgen05.mma kind "f8f6f4" %d, %0, %0, %i, %p : !d
  func.return
}
