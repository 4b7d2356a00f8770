// RUN: tirx-opt--convert-math-to-ptx --convert-wgmma-to-ptx
ptx.entry@no_rule()target("sm_80"){scf.execute_region{scf.yield}ptx.ret}