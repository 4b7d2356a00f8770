// RUN: tirx-opt--print-debuginfo
#b=!tirx.tile<64x64xf64,register>tirx.kernel@dgemm(%a:memref<256x192xf64>)target("sm_80")threads(128){tirx.return}