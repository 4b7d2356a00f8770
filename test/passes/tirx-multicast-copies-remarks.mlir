// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks -p "tirx-multicast-copies{cluster=rows}"

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>

// Without roles all warps would wait for both blocks.

tirx.kernel @alone(%b: memref<64x4096xf16>, %n: index) target("sm_90a") grid(1, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
    %filled = tirx.acquire %ring at(fill)
    // expected-remark@+1 {{@alone has no pairs of blocks: no role of its own fills its rings}}
    tirx.async_copy %gb, %filled engine(tma) : !g, !s
    tirx.release %ring at(fill) after(tma)
    %used = tirx.acquire %ring at(use)
    "test.op"(%used, %i) : (!s, index) -> ()
    tirx.release %ring at(use)
  }
  tirx.return
}


// Both operands depend on the row.

// expected-remark@+1 {{@own has no pairs of blocks: it has no copy by TMA that is the same in both blocks of a pair}}
tirx.kernel @own(%a: memref<128x4096xf16>, %n: index) target("sm_90a") grid(1, 2) threads(256) {
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %m = arith.muli %i, %c64 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used) : (!s) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %ga = tirx.view %a[%m, %k] : memref<128x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %ga, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}


// The blocks of a pair would go through their rings in another number of rounds.

tirx.kernel @rounds(%b: memref<64x4096xf16>) target("sm_90a") grid(1, 2) threads(256) {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      // expected-remark@+1 {{@rounds has no pairs of blocks: 'tirx.for' may do something else in the other block of a pair}}
      tirx.for @k %k = 0 to %i {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used) : (!s) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %i {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// A copy that only one block of a pair starts.

tirx.kernel @if(%b: memref<64x4096xf16>, %n: index) target("sm_90a") grid(1, 2) threads(256) {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %first = arith.cmpi eq, %i, %c0 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        scf.if %first {
          "test.op"(%used) : (!s) -> ()
        }
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        // expected-remark@+1 {{@if has no pairs of blocks: 'scf.if' may do something else in the other block of a pair}}
        scf.if %first {
          tirx.async_copy %gb, %filled engine(tma) : !g, !s
        }
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// expected-remark@+1 {{@plain has no pairs of blocks: copies to several blocks need sm_90a or another target of one chip, not sm_90}}
tirx.kernel @plain() target("sm_90") threads(128) {
  tirx.return
}

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!b = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!gb = !tirx.tile<128x64xf16, global>

// The rows of B come of the coordinate of the pair through a branch.

// expected-remark@+1 {{@branch has no pairs of blocks: it has no copy by TMA that is the same in both blocks of a pair}}
tirx.kernel @branch(%a: memref<256x4096xf16>, %b: memref<?x4096xf16>, %n: index) target("sm_90a") grid(min(12, sm_count()))
    threads(256) {
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c4, %c3) {
        tirx.for @k %k = 0 to %n {
          %sa, %sb = tirx.acquire %ab at(use)
          "test.op"(%sa, %sb) : (!a, !b) -> ()
          tirx.release %ab at(use)
        }
      }
    }
    tirx.role @load warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c4, %c3) {
        %m = arith.muli %i, %c64 : index
        %isz = arith.cmpi eq, %j, %c3 : index
        %n0 = scf.if %isz -> (index) {
          %x = arith.muli %i, %c128 : index
          scf.yield %x : index
        } else {
          scf.yield %c64 : index
        }
        tirx.for @k %k = 0 to %n {
          %kk = arith.muli %k, %c64 : index
          %ga = tirx.view %a[%m, %kk] : memref<256x4096xf16> -> !g
          %gb = tirx.view %b[%n0, %kk] : memref<?x4096xf16> -> !gb
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !g, !a
          tirx.async_copy %gb, %sb engine(tma) : !gb, !b
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}

// -----

!s = !tirx.tile<36x64xf16, shared, #tirx.tile_layout<S[(36, 64) : (64, 1)]>>
!g = !tirx.tile<36x64xf16, global>

// Each of eight blocks would load as many rows.

tirx.kernel @eighths(%b: memref<36x4096xf16>, %n: index) target("sm_90a") grid(1, 8) threads(256)
    attributes {tirx.cluster = "8x1"} {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used, %i) : (!s, index) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %gb = tirx.view %b[%c0, %k] : memref<36x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        // expected-remark@+1 {{@eighths has no clusters of 8 blocks: a tile of 36 rows has no 8 equal parts}}
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// expected-error@+1 {{expected a cluster of auto, none, rows, columns, 4x1, 1x4, 2x2, 4x2, 2x4, 8x1, 1x8, found squares}}
tirx.kernel @word() target("sm_90a") threads(128) attributes {tirx.cluster = "squares"} {
  tirx.return
}

// -----

// Eight pairs would be more blocks than every GPU runs together.

!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!gb = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<64x128xf32, tensor, #tirx.tile_layout<S[(64, 2, 64) : (1@TLane, 64@TLane, 1@TCol)]>>

// expected-remark@+1 {{@eight_pairs has no clusters of 16 blocks: not every GPU runs clusters of more than 8 blocks}}
tirx.kernel @eight_pairs(%a: !b, %t: !t) target("sm_100a") grid(4, 4) cluster(2) per_cta threads(192)
    attributes {tirx.cluster = "2x4"} {
  tirx.async_mma %a, %a, %t pair : !b, !b, !t
  tirx.return
}

// Threads read what the pairs would have to share.

tirx.kernel @read_by_threads(%b: memref<128x4096xf16>, %n: index) target("sm_100a") grid(1, 2) cluster(2) per_cta
    threads(320) attributes {tirx.cluster = "rows"} {
  %rank = tirx.cta_rank
  %c64 = arith.constant 64 : index
  %columns = arith.muli %rank, %c64 : index
  %ring = tirx.ring slots(4) stations(fill, use) across(pair) : !tirx.ring<!b>
  %sums = tirx.ring slots(1) stations(sum, read) across(pair) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @epilogue warps(4) {
      %t = tirx.acquire %sums at(read)
      tirx.release %sums at(read)
    }
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %kk = arith.muli %k, %c64 : index
        %gb = tirx.view %b[%columns, %kk] : memref<128x4096xf16> -> !gb
        %filled = tirx.acquire %ring at(fill)
        // expected-remark@+1 {{@read_by_threads has no clusters of 4 blocks: its slots are not read by products of pairs alone}}
        tirx.async_copy %gb, %filled engine(tma) : !gb, !b
        tirx.release %ring at(fill) after(tma)
      }
    }
    tirx.role @look warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used) : (!b) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sums at(sum)
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        tirx.async_mma %used, %used, %t pair : !b, !b, !t
        tirx.release %ring at(use) after(tcgen05)
      }
      tirx.release %sums at(sum) after(tcgen05)
    }
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @more_rounds(%b: memref<64x4096xf16>) target("sm_90a") grid(1, 8) threads(256)
    attributes {tirx.cluster = "8x1"} {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      // expected-remark@+1 {{@more_rounds has no clusters of 8 blocks: 'tirx.for' may do something else in another block of a cluster}}
      tirx.for @k %k = 0 to %i {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used) : (!s) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %i {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// The second row of tiles is one too many: what would be written of it cannot be clipped.

!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<64x128xf32, tensor, #tirx.tile_layout<S[(64, 2, 64) : (1@TLane, 64@TLane, 1@TCol)]>>
!gd = !tirx.tile<64x128xf32, global>
tirx.kernel @folded(%b: memref<64x4096xf16>, %d: memref<64x128xf32>, %n: index) target("sm_100a") grid(1, 1) threads(288)
    attributes {tirx.cluster = "rows"} {
  %c0 = arith.constant 0 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %sums = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @epilogue warps(4) {
      %t = tirx.acquire %sums at(read)
      %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !gd
      // expected-remark@+1 {{@folded has no pairs of blocks: 'tirx.copy', whose tile of tensor memory has its columns in several runs of lanes, would access a tile more than 1}}
      tirx.copy %t, %gd : !t, !gd
      tirx.release %sums at(read)
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sums at(sum)
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used, %t) : (!s, !t) -> ()
        tirx.release %ring at(use)
      }
      tirx.release %sums at(sum)
    }
  }
  tirx.return
}
