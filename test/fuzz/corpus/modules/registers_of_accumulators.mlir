// RUN: tirx-opt--lower-to-ptx=""
!a=!tirx.tile<128x64xf16,shared>!b=!tirx.tile<768x64xf16,shared>!sums=!tirx.tile<128x768xf32,register>!halves=!tirx.tile<128x768xf16,register>tirx.kernel@grouped_gemm(%x:memref<?x128xf16>,%w:memref<?x768x128xf16>,%experts:memref<?xi32>,%y:memref<?x768xf16>)target("sm_90a")grid(1,ceildiv(size(0,0),128))threads(768){%c0=arith.constant 0:index%c64=arith.constant 64:index%c128=arith.constant 128:index%c256=arith.constant 768:index%zero=arith.constant 0.0:f32%i=tirx.block_id y%j=tirx.block_id x%m=arith.muli%i,%c128:index%n=arith.muli%j,%c256:index%expert=memref.load%experts[%i]:memref<?xi32>%e=arith.index_cast%expert:i32 to index%sa=tirx.alloc:!a%sb=tirx.alloc:!b%acc=tirx.alloc:!sums
  tirx.fill%acc,%zero:f32,!sums
  scf.for%k=%c0 to%c128 step%c64{%gx=tirx.view%x[%m,%k]:memref<?x128xf16>->!tirx.tile<128x64xf16,global>%gw=tirx.view%w[%e,%n,%k]:memref<?x768x128xf16>->!tirx.tile<768x64xf16,global>tirx.copy%gx,%sa:!tirx.tile<128x64xf16,global>,!a
    tirx.copy%gw,%sb:!tirx.tile<768x64xf16,global>,!b
    tirx.mma%sa,%sb,%acc:!a,!b,!sums}tirx.map ins(%acc : !sums) {
  ^bb0(%s: f32):
    %h = arith.truncf %s : f32 to f16
    tirx.yield %h : f16
  } -> !halves
  tirx.return
}