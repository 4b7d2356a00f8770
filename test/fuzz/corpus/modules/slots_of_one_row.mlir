// RUN: tirx-opt --tirx-lower-rings
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (0, 1)]>>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!r = !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(4, 128, 8) : (8, 1@tx, 1)]>>
tirx.kernel @roles(%a: memref<?x64xf16>, %d: memref<?x64xf16>, %n: index) target("sm_90a") threads(160) {
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @i %i = 0 to %n {
        %row = arith.muli %i, %c64 : index
        %from = tirx.view %a[%row, %c0] : memref<?x64xf16> -> !g
        %s = tirx.acquire %ring at(fill)
        tirx.async_copy %from, %s engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
    tirx.role @read warps(4) {
      tirx.for @i %i = 0 to %n {
        %row = arith.muli %i, %c64 : index
        %to = tirx.view %d[%row, %c0] : memref<?x64xf16> -> !g
        %s = tirx.acquire %ring at(use)
        %r = tirx.load %s : !s -> !r
        tirx.release %ring at(use)
      }
    }
  }
  tirx.return
}
tirx.kernel @groups(%a: memref<?x64xf16>, %d: memref<?x64xf16>, %n: index) target("sm_80") threads(128) {
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @i %i = 0 to %n skew(1) {
    tirx.at(1) {
      %row = arith.muli %i, %c64 : index
      %to = tirx.view %d[%row, %c0] : memref<?x64xf16> -> !g
      %s = tirx.acquire %ring at(use)
      %r = tirx.load %s : !s -> !r
      tirx.release %ring at(use)
    }
    tirx.at(0) {
      %row = arith.muli %i, %c64 : index
      %from = tirx.view %a[%row, %c0] : memref<?x64xf16> -> !g
      %s = tirx.acquire %ring at(fill)
      tirx.async_copy %from, %s engine(cp_async) : !g, !s
      tirx.release %ring at(fill) after(cp_async)
    }
  }
  tirx.return
}
tirx.kernel @baton() target("sm_90a") threads(256) {
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.roles {
    tirx.role @math warps(8) unit(warpgroup) {
      tirx.acquire %turn at(self)
      tirx.release %turn at(self)
    }
  }
  tirx.return
}
tirx.kernel @integers(%d: memref<?xf32>, %n: index, %f: f32) target("sm_90a") threads(96) {
  %c0 = arith.constant 0 : index
  %r = tirx.ring slots(2) stations(write, read) : !tirx.ring<row: index, last: i1>
  tirx.roles {
    tirx.role @one warps(2) {
      %last = arith.cmpi eq, %n, %c0 : index
      tirx.acquire %r at(write)
      tirx.release %r at(write) with(%n, %last)
    }
    tirx.role @two warps(1) {
      %at, %last = tirx.acquire %r at(read)
      tirx.release %r at(read)
    }
  }
  tirx.return
}