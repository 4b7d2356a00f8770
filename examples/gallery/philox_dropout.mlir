// Dropout by counters: every element draws from Philox at its place, so that backward draws the same numbers again.
!m = memref<?x?xf32>
!t = !tirx.tile<32x64xf32, register>

tirx.kernel @dropout(%x: !m, %y: !m, %seed: i32, %p: f32) target("sm_90a")
    grid(%bj = ceildiv(size(0, 1), 64), %bi = ceildiv(size(0, 0), 32)) threads(128) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %keep = arith.subf %one, %p : f32
  %i = arith.muli %bi, %c32 : index
  %j = arith.muli %bj, %c64 : index
  %columns = memref.dim %x, %c1 : !m
  %v = tirx.load %x[%i, %j] clipped : !m -> !t
  %r = tirx.map ins(%v : !t) {
  ^bb0(%e: f32):
    %a = tirx.index 0
    %b = tirx.index 1
    %row = arith.addi %a, %i : index
    %column = arith.addi %b, %j : index
    %before = arith.muli %row, %columns : index
    %place = arith.addi %before, %column : index
    %c = arith.index_cast %place : index to i32
    %u = func.call @uniform(%c, %seed) : (i32, i32) -> f32
    %scaled = arith.divf %e, %keep : f32
    %drop = arith.cmpf olt, %u, %p : f32
    %s = arith.select %drop, %zero, %scaled : f32
    tirx.yield %s : f32
  } -> !t
  tirx.store %r, %y[%i, %j] clipped : !t, !m
}

// A number from 0 to 1 of 24 bits: the first word of Philox4x32-10 with counter (c, 0, 0, 0) and key (seed, 0).
func.func private @uniform(%c: i32, %seed: i32) -> f32 {
  %first = arith.constant 0 : index
  %rounds = arith.constant 10 : index
  %step = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %m0 = arith.constant 0xD2511F53 : i32
  %m1 = arith.constant 0xCD9E8D57 : i32
  %w0 = arith.constant 0x9E3779B9 : i32
  %w1 = arith.constant 0xBB67AE85 : i32
  %r:6 = scf.for %i = %first to %rounds step %step
      iter_args(%c0 = %c, %c1 = %none, %c2 = %none, %c3 = %none, %k0 = %seed, %k1 = %none)
      -> (i32, i32, i32, i32, i32, i32) {
    %l0, %h0 = arith.mului_extended %c0, %m0 : i32
    %l1, %h1 = arith.mului_extended %c2, %m1 : i32
    %x0 = arith.xori %h1, %c1 : i32
    %d0 = arith.xori %x0, %k0 : i32
    %x2 = arith.xori %h0, %c3 : i32
    %d2 = arith.xori %x2, %k1 : i32
    %n0 = arith.addi %k0, %w0 : i32
    %n1 = arith.addi %k1, %w1 : i32
    scf.yield %d0, %l1, %d2, %l0, %n0, %n1 : i32, i32, i32, i32, i32, i32
  }
  %eight = arith.constant 8 : i32
  %high = arith.shrui %r#0, %eight : i32
  %f = arith.uitofp %high : i32 to f32
  %unit = arith.constant 5.9604644775390625e-8 : f32
  %u = arith.mulf %f, %unit : f32
  func.return %u : f32
}
