// RUN: tirx-opt--lower-to-ptx
!s=!tirx.tile<8x8xf32,accumulator>tirx.kernel@select_of_shared(%n:index)threads(32){%c0=arith.constant 8:index%t=tirx.alloc:!s%p=arith.cmpi ult,%c0,%n:index%r=arith.select%p,%t,%t:!s
  tirx.return}