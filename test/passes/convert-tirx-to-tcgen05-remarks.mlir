// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-instructions --tirx-select-copies --tirx-allocate-memory --convert-tirx-to-tcgen05 --verify-diagnostics --remarks

// Sources disagree on N = 24 with M = 128; N = 32 is safe.

!a = !tirx.tile<128x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(128, 16) : (16, 1)]>>>
!b24 = !tirx.tile<24x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(24, 16) : (16, 1)]>>>
!b32 = !tirx.tile<32x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>>
!d24 = !tirx.tile<128x24xf32, tensor, #tirx.tile_layout<S[(128, 24) : (1@TLane, 1@TCol)]>>
!d32 = !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b24 = tirx.alloc : !b24
  %b32 = tirx.alloc : !b32
  %d24 = tirx.alloc : !d24
  %d32 = tirx.alloc : !d32
  tirx.mma %a, %b24, %d24 : !a, !b24, !d24 // expected-remark {{M = 128 with N = 24 is in the PTX ISA's table, but other sources ask for larger steps of N}}
  tirx.mma %a, %b32, %d32 : !a, !b32, !d32
  tirx.return
}
