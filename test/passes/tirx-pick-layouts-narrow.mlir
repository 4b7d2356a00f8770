// RUN: tirx-opt %s --tirx-pick-layouts | filecheck %s

// 4-bit elements: kind mxf4 and mxf4nvf4 read them packed, 32 to 16 bytes; f8f6f4 and mxf8f6f4 padded, 16 to 16 bytes
// with the data first. A layout counts nibbles, so that a step of 16 along K is 32 nibbles.

// CHECK-LABEL: tirx.kernel @padded
// CHECK:         %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 8, 16) : (256, 32, 1)]>>>
// CHECK-NEXT:    %b = tirx.alloc : !tirx.tile<64x128xf6E3M2FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(64, 128) : (128, 1)]>>>
tirx.kernel @padded() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x128xf4E2M1FN, shared>
  %b = tirx.alloc : !tirx.tile<64x128xf6E3M2FN, shared>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %d : !tirx.tile<128x128xf4E2M1FN, shared>, !tirx.tile<64x128xf6E3M2FN, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @packed
// CHECK:         %a = tirx.alloc : !tirx.tile<128x256xf4E2M1FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 256) : (256, 1)]>>>
tirx.kernel @packed() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x256xf4E2M1FN, shared>
  %s = tirx.alloc : !tirx.tile<128x8xf8E8M0FNU, tensor>
  %d = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %a, %d scales(%s, %s) : !tirx.tile<128x256xf4E2M1FN, shared>, !tirx.tile<128x256xf4E2M1FN, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x8xf8E8M0FNU, tensor>, !tirx.tile<128x8xf8E8M0FNU, tensor>
  tirx.return
}
