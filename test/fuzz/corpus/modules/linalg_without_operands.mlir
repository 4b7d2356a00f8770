// RUN: tirx-opt--lower-to-ptx
  linalg.exp