// RUN: tirx-opt %s --tirx-release-early | filecheck %s

!s = !tirx.tile<64x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 16) : (16, 1)]>>>
!t = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>>
!g = !tirx.tile<64x16xf16, global>

// A has a ring of its own: its slots come back when the products have read them, those of B and of the sum when they are
// complete.

// CHECK-LABEL: @apart
// CHECK:       tirx.release %a at(use) after(tcgen05) early
// CHECK-NEXT:  tirx.release %b at(use) after(tcgen05)
// CHECK-NEXT:  }
// CHECK-NEXT:  tirx.release %sum at(sum) after(tcgen05)
tirx.kernel @apart(%n: index) target("sm_107a") threads(32) {
  %zero = arith.constant false
  %a = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %b = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %sum = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sum at(sum)
      tirx.for @k %k = 0 to %n {
        %ta = tirx.acquire %a at(use)
        %tb = tirx.acquire %b at(use)
        tirx.async_mma %ta, %tb, %t accumulate(%zero) : !s, !s, !t
        tirx.release %a at(use) after(tcgen05)
        tirx.release %b at(use) after(tcgen05)
      }
      tirx.release %sum at(sum) after(tcgen05)
    }
  }
  tirx.return
}

// A and B of one slot, a slot that is A and B, and a target without such a commit.

// CHECK-LABEL: @together
// CHECK-NOT:   early
tirx.kernel @together(%n: index) target("sm_107a") threads(32) {
  %zero = arith.constant false
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %sum = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sum at(sum)
      tirx.for @k %k = 0 to %n {
        %ta, %tb = tirx.acquire %ab at(use)
        tirx.async_mma %ta, %tb, %t accumulate(%zero) : !s, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      tirx.release %sum at(sum) after(tcgen05)
    }
  }
  tirx.return
}

// CHECK-LABEL: @squared
// CHECK-NOT:   early
tirx.kernel @squared(%n: index) target("sm_107a") threads(32) {
  %zero = arith.constant false
  %a = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %sum = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sum at(sum)
      tirx.for @k %k = 0 to %n {
        %ta = tirx.acquire %a at(use)
        tirx.async_mma %ta, %ta, %t accumulate(%zero) : !s, !s, !t
        tirx.release %a at(use) after(tcgen05)
      }
      tirx.release %sum at(sum) after(tcgen05)
    }
  }
  tirx.return
}

// CHECK-LABEL: @older
// CHECK-NOT:   early
tirx.kernel @older(%n: index) target("sm_100a") threads(32) {
  %zero = arith.constant false
  %a = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %b = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %sum = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sum at(sum)
      tirx.for @k %k = 0 to %n {
        %ta = tirx.acquire %a at(use)
        %tb = tirx.acquire %b at(use)
        tirx.async_mma %ta, %tb, %t accumulate(%zero) : !s, !s, !t
        tirx.release %a at(use) after(tcgen05)
        tirx.release %b at(use) after(tcgen05)
      }
      tirx.release %sum at(sum) after(tcgen05)
    }
  }
  tirx.return
}
