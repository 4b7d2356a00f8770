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

// Codes of 4 bits name elements of a table: no thread loads a single code, so that what the map makes of them is converted.

// CHECK-LABEL: tirx.kernel @table
// CHECK:         tirx.yield %{{.*}} : i32
// CHECK-NEXT:    } -> [[OWN:.*]]
// CHECK-NEXT:    %[[AT:.*]] = tirx.convert %at : [[OWN]] -> !tirx.tile<64x64xi32, register, #tirx.tile_layout<S[(32, 128) : (1, 1@tx)]>>
// CHECK-NEXT:    %g = tirx.view %t[[%[[AT]]]] clipped
tirx.kernel @table(%w: memref<64x64xi4>, %t: memref<16xf32>, %d: memref<64x64xf32>) target("sm_80") grid(1) threads(128) {
  %c = tirx.load %w[0, 0] : memref<64x64xi4> -> !tirx.tile<64x64xi4, register>
  %at = tirx.map ins(%c : !tirx.tile<64x64xi4, register>) (%e) { i32(%e) & 15 } -> !tirx.tile<64x64xi32, register>
  %g = tirx.view %t[[%at]] clipped : memref<16xf32>, !tirx.tile<64x64xi32, register> -> !tirx.tile<64x64xf32, global>
  %x = tirx.load %g : !tirx.tile<64x64xf32, global> -> !tirx.tile<64x64xf32, register>
  tirx.store %x, %d[0, 0] : !tirx.tile<64x64xf32, register>, memref<64x64xf32>
}
