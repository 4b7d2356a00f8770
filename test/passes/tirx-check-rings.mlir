// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-check-rings

// (a) wgmma without roles, persistent: one thread fills two rounds ahead, two warpgroups multiply, one group pending.

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<256x64xf16, global>
!acc = !tirx.tile<128x256xf32, register>

tirx.kernel @wgmma(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %tm: index, %tn: index, %nk: index)
    target("sm_90a") threads(256) {
  // expected-remark@+1 {{%ab is right with 4 slots or more, found 4}}
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  %zeros = tirx.alloc : !acc
  tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tn) {
    %p = tirx.for @k %k = 0 to %nk skew(2) iter(%acc : !tirx.pending<!acc> = %zeros) {
      tirx.at(0) {
        %ga = tirx.view %a[%i, %k] : memref<?x4096xf16> -> !ga
        %gb = tirx.view %b[%j, %k] : memref<?x4096xf16> -> !gb
        %sa, %sb = tirx.acquire %ab at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !ga, !a
        tirx.async_copy %gb, %sb engine(tma) : !gb, !b
        tirx.release %ab at(fill) after(tma)
      }
      %q = tirx.at(2) {
        %sa, %sb = tirx.acquire %ab at(use)
        %r = tirx.async_mma %sa, %sb, %acc : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
        tirx.release %ab at(use) after(wgmma)
        tirx.await wgmma pending(1)
        tirx.yield %r
      }
      tirx.yield %q
    }
    %d = tirx.await %p : !tirx.pending<!acc>
  }
  tirx.return
}
