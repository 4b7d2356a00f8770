// RUN: tirx-opt--tirx-check-layouts --tirx-tile-linalg --tirx-split-pairs --convert-arith-to-ptx
"tirx.kernel"()<{sym_name="",function_type=()->(),grid=[1:f128]}>({tirx.return}):()->()