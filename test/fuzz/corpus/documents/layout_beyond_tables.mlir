5 22
!s=#tirx.tile_layout<S[(1000000000000000000000000000000)]>


  
  
  tirx.copy%s, %t : !s