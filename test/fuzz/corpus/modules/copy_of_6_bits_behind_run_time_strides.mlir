// RUN: tirx-opt --explain
tirx.kernel @k(%a: memref<?x?xf6E3M2FN>) target("sm_100") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.alloc : !tirx.tile<64x64xf6E3M2FN, register>
  %ga = tirx.view %a[%c0, %c0] : memref<?x?xf6E3M2FN> -> !tirx.tile<64x64xf6E3M2FN, global>
  tirx.copy %ga, %sa : !tirx.tile<64x64xf6E3M2FN, global>, !tirx.tile<64x64xf6E3M2FN, register>
  tirx.return
}
