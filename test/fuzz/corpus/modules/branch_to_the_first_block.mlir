// RUN: tirx-opt
ptx.entry@k()target("sm_90a"){^bb1(%x:index):ptx.bra^bb1(%x:index)}
