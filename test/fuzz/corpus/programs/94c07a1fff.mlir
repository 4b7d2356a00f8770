// pipeline: stages=2 roles=load
!s = !tirx.tile<64x64xf8E5M2, shared>
!g = !tirx.tile<64x64xf8E5M2, global>


tirx.kernel @launched(%a: memref<?x?x?xf8E5M2>) target("sm_100f") grid(4, 5, 2) threads(128) attributes {tirx.order = "hardware"} {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %z = tirx.block_id z
  %sa = tirx.alloc : !s
  %ga = tirx.view %a[%z, %y, %x] : memref<?x?x?xf8E5M2> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.return
}