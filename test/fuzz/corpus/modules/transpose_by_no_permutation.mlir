// RUN: tirx-opt "--tirx-tile-linalg=tile=16 target=sm_80"
func.func @turned(%a: memref<6x33xf32>, %d: memref<33x6xf32>) {
  linalg.transpose ins(%a : memref<6x33xf32>) outs(%d : memref<33x6xf32>) permutation = [128, 0]
  func.return
}
