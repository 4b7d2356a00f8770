// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-check-rings

// (a) wgmma without roles, persistent: one thread fills two rounds ahead, two warpgroups multiply, one group pending.

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<256x64xf16, global>
!acc = !tirx.tile<128x256xf32, register>

tirx.kernel @wgmma(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %tm: index, %tn: index, %nk: index)
    target("sm_90a") threads(256) {
  // expected-remark@+1 {{%ab is right with 4 or more slots, found 4}}
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  %zeros = tirx.zero : !acc
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

// -----

// (b) A role that loads, a cluster of two blocks along M that share B by multicast, a ring of stores.

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!half = !tirx.tile<128x64xf16, shared>
!ga = !tirx.tile<128x64xf16, global>
!acc = !tirx.tile<128x256xf32, register>
!out = !tirx.tile<64x64xf32, shared>

tirx.kernel @cluster(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %d: memref<?x64xf32>, %tm: index, %tn: index, %nk: index)
    target("sm_90a") cluster(2) per_cta threads(384) {
  // expected-remark@+1 {{%ab is right with 2 or more slots, found 4}}
  %ab = tirx.ring slots(4) stations(fill, use) across(cluster) : !tirx.ring<a: !a, b: !b>
  // expected-remark@+2 {{%out@0 is right with 2 or more slots, found 2}}
  // expected-remark@+1 {{%out@1 is right with 2 or more slots, found 2}}
  %out = tirx.ring slots(2) stations(write, store) : !tirx.ring<!out>
  tirx.roles {
    tirx.role @load warps(4) registers(40) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        tirx.for @k %k = 0 to %nk {
          %rank = tirx.cta_rank
          %ga = tirx.view %a[%i, %k] : memref<?x4096xf16> -> !ga
          %gb = tirx.view %b[%j, %k] : memref<?x4096xf16> -> !ga
          %sa, %sb = tirx.acquire %ab at(fill)
          %part = "test.pureop"(%sb, %rank) : (!b, index) -> !half
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %part engine(tma_multicast) : !ga, !half
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @math warps(8) registers(232) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        %zeros = tirx.zero : !acc
        %p = tirx.for @k %k = 0 to %nk iter(%acc : !tirx.pending<!acc> = %zeros) {
          %sa, %sb = tirx.acquire %ab at(use)
          %q = tirx.async_mma %sa, %sb, %acc : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
          tirx.release %ab at(use) after(wgmma)
          tirx.await wgmma pending(1)
          tirx.yield %q
        }
        %sum = tirx.await %p : !tirx.pending<!acc>
        tirx.for @chunk %c = 0 to 8 {
          %part = "test.pureop"(%sum, %c) : (!acc, index) -> !tirx.tile<64x64xf32, register>
          %o = tirx.acquire %out at(write)
          tirx.store %part, %o : !tirx.tile<64x64xf32, register>, !out
          tirx.release %out at(write)
          %gd = tirx.view %d[%c, %c] : memref<?x64xf32> -> !tirx.tile<64x64xf32, global>
          %full = tirx.acquire %out at(store)
          tirx.async_copy %full, %gd engine(tma_store) : !out, !tirx.tile<64x64xf32, global>
          tirx.release %out at(store) after(store)
          tirx.await store pending(1)
        }
      }
      tirx.await store pending(0)
    }
  }
  tirx.return
}

// -----

// (d) f64 by mma.sync: the fragments of the next slot are loaded before the last products of this one.

!s = !tirx.tile<64x16xf64, shared>
!g = !tirx.tile<64x16xf64, global>
!f = !tirx.tile<64x16xf64, register>
!acc = !tirx.tile<64x64xf64, register>

tirx.kernel @fragments(%a: memref<?x4096xf64>, %b: memref<?x4096xf64>, %tm: index, %tn: index, %nk: index)
    target("sm_90a") threads(384) {
  // expected-remark@+1 {{%ab is right with 2 or more slots, found 4}}
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  tirx.roles {
    tirx.role @load warps(4) registers(40) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        tirx.for @k %k = 0 to %nk {
          %ga = tirx.view %a[%i, %k] : memref<?x4096xf64> -> !g
          %gb = tirx.view %b[%j, %k] : memref<?x4096xf64> -> !g
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !g, !s
          tirx.async_copy %gb, %sb engine(tma) : !g, !s
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @math warps(8) registers(232) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        %zeros = tirx.zero : !acc
        %c = tirx.for @k %k = 0 to %nk skew(1) iter(%acc = %zeros) {
          %first = tirx.at(1) {
            %more = tirx.load %sa : !s -> !f
            %d = tirx.mma %fa, %fb, %acc : !f, !f, !acc -> !acc
            tirx.yield %d
          }
          %sa, %fa, %fb = tirx.at(0) {
            %ta, %tb = tirx.acquire %ab at(use)
            %la = tirx.load %ta : !s -> !f
            %lb = tirx.load %tb : !s -> !f
            tirx.yield %ta, %la, %lb
          }
          %last = tirx.at(1) {
            %d = tirx.mma %fa, %fb, %first : !f, !f, !acc -> !acc
            tirx.release %ab at(use)
            tirx.yield %d
          }
          tirx.yield %last
        }
      }
    }
  }
  tirx.return
}

// -----

// (e) sm_80: cp.async by all warps, which also multiply.

!s = !tirx.tile<64x32xf16, shared>
!g = !tirx.tile<64x32xf16, global>
!f = !tirx.tile<64x32xf16, register>
!acc = !tirx.tile<64x64xf32, register>

tirx.kernel @cp_async(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %nk: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %zeros = tirx.zero : !acc
  // expected-remark@+1 {{%ab is right with 3 or more slots, found 3}}
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %c = tirx.for @k %k = 0 to %nk skew(2) iter(%acc = %zeros) {
    %ua, %ub = tirx.at(2) {
      %ta, %tb = tirx.acquire %ab at(use)
      tirx.yield %ta, %tb
    }
    tirx.at(0) {
      %ga = tirx.view %a[%c0, %k] : memref<?x4096xf16> -> !g
      %gb = tirx.view %b[%c0, %k] : memref<?x4096xf16> -> !g
      %sa, %sb = tirx.acquire %ab at(fill)
      tirx.async_copy %ga, %sa engine(cp_async) : !g, !s
      tirx.async_copy %gb, %sb engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)
    }
    %sum = tirx.at(2) {
      %fa = tirx.load %ua : !s -> !f
      %fb = tirx.load %ub : !s -> !f
      %d = tirx.mma %fa, %fb, %acc : !f, !f, !acc -> !acc
      tirx.release %ab at(use)
      tirx.yield %d
    }
    tirx.yield %sum
  }
  tirx.return
}

// -----

// (f) attention on wgmma: two warpgroups take turns, QK runs one iteration ahead of PV.

!q = !tirx.tile<128x64xf16, shared>
!k = !tirx.tile<128x64xf16, shared>
!v = !tirx.tile<64x128xf16, shared>
!gq = !tirx.tile<128x64xf16, global>
!gv = !tirx.tile<64x128xf16, global>
!s = !tirx.tile<128x128xf32, register>
!p = !tirx.tile<128x128xf16, register>
!o = !tirx.tile<128x64xf32, register>
!m = !tirx.tile<128xf32, register>

tirx.kernel @attention(%mq: memref<?x64xf16>, %mk: memref<?x64xf16>, %mv: memref<64x4096xf16>, %tm: index, %tn: index)
    target("sm_90a") threads(384) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{%q is right with 1 or more slots, found 1}}
  %q = tirx.ring slots(1) stations(fill, use) : !tirx.ring<!q>
  // expected-remark@+1 {{%K is right with 1 or more slots, found 2}}
  %K = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!k>
  // expected-remark@+1 {{%V is right with 1 or more slots, found 2}}
  %V = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!v>
  // expected-remark@+1 {{%turn is right with 1 or more slots, found 1}}
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.roles {
    tirx.role @load warps(4) registers(40) {
      tirx.tiles @tile %i, %h = order(row) of (%tm, %tn) {
        %nj = arith.addi %i, %c1 : index
        %gq = tirx.view %mq[%i, %c0] : memref<?x64xf16> -> !gq
        %sq = tirx.acquire %q at(fill)
        tirx.async_copy %gq, %sq engine(tma) : !gq, !q
        tirx.release %q at(fill) after(tma)
        tirx.for @j %j = 0 to %nj {
          %gk = tirx.view %mk[%j, %c0] : memref<?x64xf16> -> !gq
          %sk = tirx.acquire %K at(fill)
          tirx.async_copy %gk, %sk engine(tma) : !gq, !k
          tirx.release %K at(fill) after(tma)
          %gv = tirx.view %mv[%c0, %j] : memref<64x4096xf16> -> !gv
          %sv = tirx.acquire %V at(fill)
          tirx.async_copy %gv, %sv engine(tma) : !gv, !v
          tirx.release %V at(fill) after(tma)
        }
      }
    }
    tirx.role @math warps(8) registers(232) {
      %no = tirx.zero : !o
      %nm = tirx.zero : !m
      %ns = tirx.zero : !s
      tirx.tiles @tile %i, %h = order(row) of (%tm, %tn) {
        %nj = arith.addi %i, %c1 : index
        %sq = tirx.acquire %q at(use)
        %fo, %fm, %fl = tirx.for @j %j = 0 to %nj skew(1) iter(%o = %no, %m = %nm, %l = %nm) {
          %s = tirx.at(0) {
            tirx.acquire %turn at(self)
            %sk = tirx.acquire %K at(use)
            %r = tirx.async_mma %sq, %sk, %ns : !q, !k, !s -> !tirx.pending<!s>
            tirx.release %K at(use) after(wgmma)
            tirx.yield %r
          }
          %o1 = tirx.at(1) {
            %sv = tirx.acquire %V at(use)
            %r = tirx.async_mma %p, %sv, %o : !p, !v, !o -> !tirx.pending<!o>
            tirx.release %V at(use) after(wgmma)
            tirx.yield %r
          }
          %p, %m1, %l1 = tirx.at(0) {
            tirx.release %turn at(self)
            %s1 = tirx.await %s : !tirx.pending<!s>
            %np, %mm, %ll = "test.op"(%s1, %m, %l) : (!s, !m, !m) -> (!p, !m, !m)
            tirx.yield %np, %mm, %ll
          }
          %o2 = tirx.at(1) {
            %done = tirx.await %o1 : !tirx.pending<!o>
            tirx.yield %done
          }
          tirx.yield %o2, %m1, %l1
        }
        tirx.release %q at(use) after(wgmma)
      }
    }
  }
  tirx.return
}
