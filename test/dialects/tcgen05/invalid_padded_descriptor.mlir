// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!a = !tirx.tile<128x32xf8E4M3FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
#a = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a2 = !tirx.tile<128x128xf4E2M1FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
func.func @f(%a: !a, %a2: !a2, %d: !d, %p: i1) {
  // bytes: expected-error@+1 {{expected elements of 4 bits for 'padded', found f8E4M3FN}}
  %0 = tcgen05.smem_descriptor %a, 0 of 32 padded : !a -> i64
  %i = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128> : i32
  %100 = tcgen05.smem_descriptor %a2, 0 of 32 : !a2 -> i64
  // packed for f8f6f4: expected-error@+1 {{expected A of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, found 4; pad it, or use the kind that reads it packed [a-packing]}}
  tcgen05.mma f8f6f4 %d, %100, %100, %i, %p : !d, i64
  func.return
}
