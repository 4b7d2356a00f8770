// Rows of a table by their numbers, and the gradient of the table: rows are added to where they came from.

!ids = !tirx.tile<32xi32, register>
!x = !tirx.tile<32x64xf32, register>

// y[i] = table[ids[i]]
tirx.kernel @embedding(%table: memref<?x?xf32>, %ids: memref<?xi32>, %y: memref<?x?xf32>)
    grid(%j = ceildiv(size(0, 1), 64), %i = ceildiv(size(1, 0), 32)) threads(128) {
  %none = arith.constant -1 : i32
  %row = tirx.load %ids[%i * 32] clipped pad(%none) : memref<?xi32> -> !ids
  %x = tirx.load %table[[%row], %j * 64] clipped : memref<?x?xf32> -> !x
  tirx.store %x, %y[%i * 32, %j * 64] clipped : !x, memref<?x?xf32>
}

// dtable[ids[i]] += dy[i]
tirx.kernel @embedding_backward(%dy: memref<?x?xf32>, %ids: memref<?xi32>, %dtable: memref<?x?xf32>)
    grid(%j = ceildiv(size(0, 1), 64), %i = ceildiv(size(1, 0), 32)) threads(128) {
  %none = arith.constant -1 : i32
  %row = tirx.load %ids[%i * 32] clipped pad(%none) : memref<?xi32> -> !ids
  %x = tirx.load %dy[%i * 32, %j * 64] clipped : memref<?x?xf32> -> !x
  tirx.store %x, %dtable[[%row], %j * 64] clipped reduce(add) : !x, memref<?x?xf32>
}
