// RUN: tirx-opt--print-debuginfo
tirx.kernel@k()threads(32){%z=tirx.zero:!tirx.tile<8xf32,register>%r=tirx.map ins(%z:!tirx.tile<8xf32,register>)(%x){%x}->!tirx.tile<8xf32,register>}
