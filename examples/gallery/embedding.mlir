// Rows of a table by their numbers, and the gradient of the table: rows are added to where they came from.

!ids = !tirx.tile<32xi32, register>
!rows = !tirx.tile<32x64xf32, global>
!x = !tirx.tile<32x64xf32, register>

// y[i] = table[ids[i]]
tirx.kernel @embedding(%table: memref<?x?xf32>, %ids: memref<?xi32>, %y: memref<?x?xf32>)
    grid(ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 32)) threads(128) {
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c32 : index
  %n = arith.muli %j, %c64 : index
  %gids = tirx.view %ids[%m] clipped : memref<?xi32> -> !tirx.tile<32xi32, global>
  %row = tirx.load %gids pad(%none) : !tirx.tile<32xi32, global> -> !ids
  %from = tirx.view %table[[%row], %n] clipped : memref<?x?xf32>, !ids -> !rows
  %to = tirx.view %y[%m, %n] clipped : memref<?x?xf32> -> !rows
  %x = tirx.load %from : !rows -> !x
  tirx.store %x, %to : !x, !rows
  tirx.return
}

// dtable[ids[i]] += dy[i]
tirx.kernel @embedding_backward(%dy: memref<?x?xf32>, %ids: memref<?xi32>, %dtable: memref<?x?xf32>)
    grid(ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 32)) threads(128) {
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c32 : index
  %n = arith.muli %j, %c64 : index
  %gids = tirx.view %ids[%m] clipped : memref<?xi32> -> !tirx.tile<32xi32, global>
  %row = tirx.load %gids pad(%none) : !tirx.tile<32xi32, global> -> !ids
  %from = tirx.view %dy[%m, %n] clipped : memref<?x?xf32> -> !rows
  %to = tirx.view %dtable[[%row], %n] clipped : memref<?x?xf32>, !ids -> !rows
  %x = tirx.load %from : !rows -> !x
  tirx.store %x, %to reduce(add) : !x, !rows
  tirx.return
}
