// RUN: tirx-opt--lower-to-ptx
  linalg.exp ins(%a:tensor<16x16xindex>)