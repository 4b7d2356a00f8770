// Cumulative sums of rows of any length: four rows a block, a part of them at a time, behind what the parts before have.
!m = memref<?x?xf32>
!r = !tirx.tile<4x512xf32, register>
!c = !tirx.tile<4x1xf32, register>

tirx.kernel @cumulative_sum(%x: !m, %y: !m) target("sm_90a") grid(%b = ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %columns = memref.dim %x, %c1 : !m
  %none = tirx.zero : !c
  %all = scf.for %j = %c0 to %columns step %c512 iter_args(%before = %none) -> (!c) {
    %v = tirx.load %x[%b * 4, %j] clipped : !m -> !r
    %sums, %total = tirx.scan %v dim(1) add init(%before : !c) : !r -> !r, !c
    tirx.store %sums, %y[%b * 4, %j] clipped : !r, !m
    scf.yield %total : !c
  }
}
