// The product of wgmma_ring_gemm.mlir with warps of their own for the copies: four warps load (one thread of them starts all
// copies, and gives registers back), eight multiply and store.
//
//   tirx-opt --lower-to-ptx wgmma_roles_gemm.mlir

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!b = !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>
!acc = !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(2, 4, 2, 8, 32, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<256x64xf16, global>
!gd = !tirx.tile<128x256xf32, global>

tirx.kernel @wgmma_roles_gemm(%a: memref<?x256xf16>, %b: memref<?x256xf16>, %d: memref<?x512xf32>, %rows: index,
    %columns: index, %steps: index) target("sm_90a") threads(384) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index

  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  tirx.roles {
    tirx.role @math warps(8) registers(232) {
      tirx.tiles @tile %i, %j = order(group 8) of (%rows, %columns) {
        %zeros = tirx.zero : !acc
        %sums = tirx.for @k %step = 0 to %steps iter(%acc : !tirx.pending<!acc> = %zeros) {
          %sa, %sb = tirx.acquire %ab at(use)
          %product = tirx.async_mma %sa, %sb, %acc : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
          tirx.release %ab at(use) after(wgmma)
          tirx.await wgmma pending(1)
          tirx.yield %product
        }
        %sum = tirx.await %sums : !tirx.pending<!acc>
        %m = arith.muli %i, %c128 : index
        %n = arith.muli %j, %c256 : index
        %gd = tirx.view %d[%m, %n] : memref<?x512xf32> -> !gd
        tirx.store %sum, %gd : !acc, !gd
      }
    }
    tirx.role @load warps(4) registers(40) {
      tirx.tiles @tile %i, %j = order(group 8) of (%rows, %columns) {
        %m = arith.muli %i, %c128 : index
        %n = arith.muli %j, %c256 : index
        tirx.for @k %step = 0 to %steps {
          %k = arith.muli %step, %c64 : index
          %ga = tirx.view %a[%m, %k] : memref<?x256xf16> -> !ga
          %gb = tirx.view %b[%n, %k] : memref<?x256xf16> -> !gb
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %sb engine(tma) : !gb, !b
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}
