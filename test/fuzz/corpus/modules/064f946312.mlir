// RUN: tirx-opt--lower-to-ptx
"tirx.kernel"()<{""=32:f128}>:()->()