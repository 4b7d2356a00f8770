// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK: [[RING:%.*]] = tirx.alloc : [[STORAGE:!tirx.tile<.*>]]
// CHECK: tirx.roles lowered {
// CHECK: tirx.slot [[RING]][%i] : [[STORAGE]] -> !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>

tirx.kernel @slots(%i: i32) threads(32) {
  %ring = tirx.alloc : !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(4, 8, 64) : (512, 64, 1)]>>
  tirx.roles lowered {
    tirx.role @all warps(1) {
      %s = tirx.slot %ring[%i] : !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(4, 8, 64) : (512, 64, 1)]>>
        -> !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
    }
  }
  tirx.return
}
