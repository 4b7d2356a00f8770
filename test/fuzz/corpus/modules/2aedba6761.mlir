// RUN: tirx-opt--lower-to-ptx="stages=2"
tirx.kernel@k(%x:!tirx.tile<8x8xf32,register>)threads(32){tirx.return}