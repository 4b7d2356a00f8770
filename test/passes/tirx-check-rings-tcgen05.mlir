// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-check-rings

// (c) A pair of blocks with roles for tiles, loads, products and epilogue: cluster launch control, block scales.

!a = !tirx.tile<128x128xf8E4M3FN, shared>
!b = !tirx.tile<128x128xf8E4M3FN, shared>
!sa = !tirx.tile<128x4xf8E8M0FNU, shared>
!sb = !tirx.tile<256x4xf8E8M0FNU, shared>
!ga = !tirx.tile<128x128xf8E4M3FN, global>
!gsa = !tirx.tile<128x4xf8E8M0FNU, global>
!gsb = !tirx.tile<256x4xf8E8M0FNU, global>
!ta = !tirx.tile<128x4xf8E8M0FNU, tensor>
!tb = !tirx.tile<256x4xf8E8M0FNU, tensor>
!acc = !tirx.tile<128x256xf32, tensor>
!sum = !tirx.tile<128x256xf32, register>

tirx.kernel @pair(%a: memref<?x4096xf8E4M3FN>, %b: memref<?x4096xf8E4M3FN>, %x: memref<?x4xf8E8M0FNU>, %nk: index)
    target("sm_100a") cluster(2) per_cta threads(224) {
  %c0 = arith.constant 0 : index
  // expected-remark@+1 {{%ab is right with 1 or more slots, found 4}}
  %ab = tirx.ring slots(4) stations(fill, use) across(pair) : !tirx.ring<a: !a, b: !b, sfa: !sa, sfb: !sb>
  // expected-remark@+1 {{%sf@0 is right with 1 or more slots, found 2}}
  %sf = tirx.ring slots(2) stations(cp, use) : !tirx.ring<ta: !ta, tb: !tb>
  // expected-remark@+1 {{%acc is right with 1 or more slots, found 2}}
  %acc = tirx.ring slots(2) stations(sum, read) across(pair) : !tirx.ring<!acc>
  // expected-remark@+1 {{%clc is right with 1 or more slots, found 2}}
  %clc = tirx.ring slots(2) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
      }
    }
    tirx.role @load warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.for @k %k = 0 to %nk {
          %ga = tirx.view %a[%i, %k] : memref<?x4096xf8E4M3FN> -> !ga
          %gb = tirx.view %b[%j, %k] : memref<?x4096xf8E4M3FN> -> !ga
          %gsa = tirx.view %x[%i, %c0] : memref<?x4xf8E8M0FNU> -> !gsa
          %gsb = tirx.view %x[%j, %c0] : memref<?x4xf8E8M0FNU> -> !gsb
          %sa, %sb, %ssa, %ssb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %sb engine(tma) : !ga, !b
          tirx.async_copy %gsa, %ssa engine(tma) : !gsa, !sa
          tirx.async_copy %gsb, %ssb engine(tma) : !gsb, !sb
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @mma warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        %t = tirx.acquire %acc at(sum)
        tirx.for @k %k = 0 to %nk {
          %first = arith.cmpi ne, %k, %c0 : index
          %sa, %sb, %ssa, %ssb = tirx.acquire %ab at(use)
          %ta, %tb = tirx.acquire %sf at(cp)
          tirx.async_copy %ssa, %ta engine(tcgen05_cp) : !sa, !ta
          tirx.async_copy %ssb, %tb engine(tcgen05_cp) : !sb, !tb
          tirx.release %sf at(cp) after(tcgen05)
          %ua, %ub = tirx.acquire %sf at(use)
          tirx.async_mma %sa, %sb, %t scales(%ua, %ub) pair accumulate(%first) : !a, !b, !acc, !ta, !tb
          tirx.release %sf at(use) after(tcgen05)
          tirx.release %ab at(use) after(tcgen05)
        }
        tirx.release %acc at(sum) after(tcgen05)
      }
    }
    tirx.role @epilogue warps(4) {
      %zeros = tirx.zero : !sum
      %none = arith.cmpi eq, %nk, %c0 : index
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        %t = tirx.acquire %acc at(read)
        %d = tirx.load %t : !acc -> !sum
        tirx.release %acc at(read)
        // Without iterations nobody has written the accumulator.
        %e = arith.select %none, %zeros, %d : !sum
        "test.op"(%e, %i, %j) : (!sum, index, index) -> ()
      }
    }
  }
  tirx.return
}

// -----

// (f) Attention on tcgen05: S and P in one slot of three stations, O carried in place, a role that corrects it.

!q = !tirx.tile<128x64xf16, shared>
!k = !tirx.tile<128x64xf16, shared>
!v = !tirx.tile<64x128xf16, shared>
!gq = !tirx.tile<128x64xf16, global>
!gv = !tirx.tile<64x128xf16, global>
!s = !tirx.tile<128x128xf32, tensor>
!p = !tirx.tile<128x128xf16, tensor>
!o = !tirx.tile<128x64xf32, tensor>
!m = !tirx.tile<128x2xf32, shared>
!rs = !tirx.tile<128x128xf32, register>
!rp = !tirx.tile<128x128xf16, register>
!ro = !tirx.tile<128x64xf32, register>
!rm = !tirx.tile<128x2xf32, register>

tirx.kernel @attention(%mq: memref<?x64xf16>, %mk: memref<?x64xf16>, %mv: memref<64x4096xf16>, %nj: index)
    target("sm_100a") threads(320) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %yes = arith.constant true
  // expected-remark@+1 {{%q is right with 1 or more slots, found 1}}
  %q = tirx.ring slots(1) stations(fill, use) : !tirx.ring<!q>
  // expected-remark@+1 {{%K is right with 1 or more slots, found 2}}
  %K = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!k>
  // expected-remark@+1 {{%V is right with 1 or more slots, found 2}}
  %V = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!v>
  // expected-remark@+1 {{%sp is right with 2 or more slots, found 2}}
  %sp = tirx.ring slots(2) stations(qk, softmax, pv) : !tirx.ring<s: !s | p: !p>
  // expected-remark@+1 {{%o is right with 1 or more slots, found 1}}
  %o = tirx.ring slots(1) stations(pv, correct) carries : !tirx.ring<!o>
  // expected-remark@+1 {{%m is right with 1 or more slots, found 2}}
  %m = tirx.ring slots(2) stations(softmax, correct) : !tirx.ring<!m>
  tirx.roles {
    tirx.role @load warps(1) {
      %gq = tirx.view %mq[%c0, %c0] : memref<?x64xf16> -> !gq
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
    tirx.role @mma warps(1) {
      %sq = tirx.acquire %q at(use)
      tirx.for @j %j = 0 to %nj skew(1) {
        tirx.at(0) {
          %no = arith.constant false
          %sk = tirx.acquire %K at(use)
          %s, %unused = tirx.acquire %sp at(qk)
          tirx.async_mma %sq, %sk, %s accumulate(%no) : !q, !k, !s
          tirx.release %sp at(qk) after(tcgen05)
          tirx.release %K at(use) after(tcgen05)
        }
        tirx.at(1) {
          %more = arith.cmpi ne, %j, %c0 : index
          %sv = tirx.acquire %V at(use)
          %old, %p = tirx.acquire %sp at(pv)
          %t = tirx.acquire %o at(pv)
          tirx.async_mma %p, %sv, %t accumulate(%more) : !p, !v, !o
          tirx.release %o at(pv) after(tcgen05)
          tirx.release %sp at(pv) after(tcgen05)
          tirx.release %V at(use) after(tcgen05)
        }
      }
      tirx.release %q at(use) after(tcgen05)
    }
    tirx.role @softmax warps(4) {
      tirx.for @j %j = 0 to %nj {
        %s, %p = tirx.acquire %sp at(softmax)
        %x = tirx.load %s : !s -> !rs
        %y, %z = "test.op"(%x) : (!rs) -> (!rp, !rm)
        %row = tirx.acquire %m at(softmax)
        tirx.store %z, %row : !rm, !m
        tirx.release %m at(softmax)
        tirx.store %y, %p : !rp, !p
        tirx.release %sp at(softmax)
      }
    }
    tirx.role @correct warps(4) {
      tirx.for @j %j = 0 to %nj skew(1) {
        %scale = tirx.at(0) {
          %row = tirx.acquire %m at(correct)
          %r = tirx.load %row : !m -> !rm
          tirx.release %m at(correct)
          tirx.yield %r
        }
        tirx.at(1) {
          %next = arith.addi %j, %c1 : index
          %again = arith.cmpi slt, %next, %nj : index
          %t = tirx.acquire %o at(correct)
          scf.if %again {
            %u = tirx.load %t : !o -> !ro
            %w = "test.op"(%u, %scale) : (!ro, !rm) -> !ro
            tirx.store %w, %t : !ro, !o
          } else {
            %u = tirx.load %t : !o -> !ro
            "test.op"(%u, %scale) : (!ro, !rm) -> ()
          }
          tirx.release %o at(correct)
        }
      }
    }
  }
  tirx.return
}
