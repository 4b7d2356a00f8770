// RUN: tirx-opt --tirx-hoist-addresses %s | filecheck %s

// Four instructions for a register go; what is known to ptxas stays with the slot, which is part of the instruction.
// CHECK-LABEL: ptx.entry @lanes
ptx.entry @lanes(a : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %n = ptx.ld.param @a : i64
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %x = ptx.read_special tid.x
  // CHECK: %x = ptx.read_special tid.x
  // CHECK-NEXT: [[TWO:%.*]] = ptx.constant 2 : i32
  // CHECK-NEXT: [[ROW:%.*]] = ptx.shr unsigned %x, [[TWO]] : i32
  // CHECK-NEXT: [[SEVEN:%.*]] = ptx.constant 7 : i32
  // CHECK-NEXT: [[COLUMN:%.*]] = ptx.and [[ROW]], [[SEVEN]] : i32
  // CHECK-NEXT: [[WORDS:%.*]] = ptx.shl [[COLUMN]], [[TWO]] : i32
  // CHECK-NEXT: [[LANE:%.*]] = ptx.xor [[ROW]], [[WORDS]] : i32
  // CHECK-NEXT: scf.for
  scf.for %k = %c0 to %n step %c1 : i64 {
    // CHECK-NEXT: [[SLOT:%.*]] = ptx.cvt
    // CHECK: [[START:%.*]] = ptx.add %tile, [[SLOT]] : i32
    // CHECK-NEXT: [[AT:%.*]] = ptx.add [[START]], [[LANE]] : i32
    // CHECK-NEXT: ptx.ld shared [[AT]]
    %two = ptx.constant 2 : i32
    %seven = ptx.constant 7 : i32
    %row = ptx.shr unsigned %x, %two : i32
    %column = ptx.and %row, %seven : i32
    %words = ptx.shl %column, %two : i32
    %lane = ptx.xor %row, %words : i32
    %slot = ptx.cvt %k : i64 -> i32
    %start = ptx.add %tile, %slot : i32
    %at = ptx.add %start, %lane : i32
    %value = ptx.ld shared %at : i32 -> i32
    ptx.st shared %at, %value : i32, i32
    scf.yield
  }
  ptx.ret
}

// A division is many instructions.
// CHECK-LABEL: ptx.entry @divided
ptx.entry @divided(a : u64, n : u64, d : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i64
  %d = ptx.ld.param @d : i64
  // CHECK: [[HEAD:%.*]] = ptx.div unsigned %n, %d : i64
  // CHECK-NEXT: [[AT:%.*]] = ptx.add %a, [[HEAD]] : i64
  // CHECK-NEXT: scf.for
  scf.for %k = %c0 to %n step %c1 : i64 {
    // CHECK-NEXT: ptx.add [[AT]], %k
    %head = ptx.div unsigned %n, %d : i64
    %at = ptx.add %a, %head : i64
    %next = ptx.add %at, %k : i64
    %value = ptx.ld global %next : i64 -> i32
    ptx.st global %next, %value : i64, i32
    scf.yield
  }
  ptx.ret
}

// Of a sum the terms that do not change come first; the loop carries the address, which grows by a constant. Less than
// three instructions for a register of 32 bits stay.
// CHECK-LABEL: ptx.entry @terms
ptx.entry @terms(a : u64, n : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i64
  %x = ptx.read_special tid.x
  %block = ptx.read_special ctaid.x
  // CHECK: [[MATRIX:%.*]] = ptx.add %a, [[OFFSET:%.*]] : i64
  // CHECK: [[STEP:%.*]] = ptx.shl %c0
  // CHECK: [[ALL:%.*]] = ptx.add [[MATRIX]], [[LANES:%.*]] : i64
  // CHECK-NEXT: [[FIRST:%.*]] = ptx.add [[STEP]], [[ALL]] : i64
  // CHECK-NEXT: scf.for {{.*}} iter_args([[AT:%.*]] = [[FIRST]]) -> (i64)
  scf.for %k = %c0 to %n step %c1 : i64 {
    // CHECK-NOT: ptx.mul.lo
    // CHECK-NOT: ptx.add
    // CHECK: ptx.ld global [[AT]]
    %four = ptx.constant 4 : i32
    %five = ptx.constant 5 : i32
    %tiles = ptx.mul.lo %block, %five : i32
    %rows = ptx.xor %tiles, %block : i32
    %wide = ptx.cvt %rows : i32 -> i64
    %offset = ptx.shl %wide, %four : i64
    %matrix = ptx.add %a, %offset : i64
    %step = ptx.shl %k, %four : i64
    %tile = ptx.add %matrix, %step : i64
    %both = ptx.mul.lo %x, %five : i32
    %lane = ptx.xor %both, %x : i32
    %lanes = ptx.cvt %lane : i32 -> i64
    %at = ptx.add %tile, %lanes : i64
    %value = ptx.ld global %at : i64 -> i32
    // CHECK: ptx.shr unsigned %x
    %sum = ptx.shr unsigned %x, %four : i32
    %twice = ptx.add %sum, %value : i32
    ptx.st global %at, %twice : i64, i32
    scf.yield
  }
  ptx.ret
}

// Steps backwards. Nothing is left of a shift by more than all bits; the amount is unsigned.
// CHECK-LABEL: ptx.entry @backwards
ptx.entry @backwards(a : u64, n : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i64
  // CHECK: scf.for {{.*}} iter_args([[BACK:%.*]] = {{.*}}) -> (i64)
  scf.for %k = %c0 to %n step %c1 : i64 {
    // CHECK: ptx.ld global [[BACK]]
    // CHECK: [[BY:%.*]] = ptx.constant -48 : i64
    // CHECK-NEXT: ptx.add [[BACK]], [[BY]]
    %four = ptx.constant 4 : i32
    %many = ptx.constant -1 : i32
    %three = ptx.constant -3 : i64
    %near = ptx.shl %k, %four : i64
    %none = ptx.shl %k, %many : i64
    %back = ptx.mul.lo %near, %three : i64
    %sum = ptx.add %back, %none : i64
    %at = ptx.add %sum, %a : i64
    %value = ptx.ld global %at : i64 -> i32
    ptx.st global %at, %value : i64, i32
    scf.yield
  }
  ptx.ret
}

// Two loops use one result; what a loop inside of another has in front of it moves on.
// CHECK-LABEL: ptx.entry @loops
ptx.entry @loops(n : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %n = ptx.ld.param @n : i64
  %x = ptx.read_special tid.x
  // CHECK: [[LANE:%.*]] = ptx.xor
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: ptx.st shared [[LANE]]
  scf.for %i = %c0 to %n step %c1 : i64 {
    scf.for %j = %c0 to %n step %c1 : i64 {
      %two = ptx.constant 2 : i32
      %row = ptx.shr unsigned %x, %two : i32
      %next = ptx.add %row, %two : i32
      %words = ptx.shl %next, %two : i32
      %lane = ptx.xor %row, %words : i32
      ptx.st shared %lane, %x : i32, i32
      scf.yield
    }
    scf.yield
  }
  // CHECK-NOT: ptx.xor
  // CHECK: scf.for
  // CHECK-NEXT: ptx.st shared [[LANE]]
  scf.for %k = %c0 to %n step %c1 : i64 {
    %two = ptx.constant 2 : i32
    %row = ptx.shr unsigned %x, %two : i32
    %next = ptx.add %row, %two : i32
    %words = ptx.shl %next, %two : i32
    %lane = ptx.xor %row, %words : i32
    ptx.st shared %lane, %x : i32, i32
    scf.yield
  }
  ptx.ret
}

// A loop without registers to spare stays as it is.
// CHECK-LABEL: ptx.entry @full
ptx.entry @full(n : u64) target("sm_90") reqntid(128) maxnreg(8) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %n = ptx.ld.param @n : i64
  %x = ptx.read_special tid.x
  // CHECK: scf.for
  // CHECK: ptx.xor
  scf.for %k = %c0 to %n step %c1 : i64 {
    %two = ptx.constant 2 : i32
    %row = ptx.shr unsigned %x, %two : i32
    %next = ptx.add %row, %two : i32
    %words = ptx.shl %next, %two : i32
    %lane = ptx.xor %row, %words : i32
    ptx.st shared %lane, %x : i32, i32
    scf.yield
  }
  ptx.ret
}

// What an earlier loop has in front of it would live through a full loop, too: that stays as it is.
// CHECK-LABEL: ptx.entry @full_behind
ptx.entry @full_behind(n : u64) target("sm_90") reqntid(128) maxnreg(16) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %n = ptx.ld.param @n : i64
  %x = ptx.read_special tid.x
  // CHECK: ptx.xor
  // CHECK: scf.for
  // CHECK-NOT: ptx.xor
  scf.for %k = %c0 to %n step %c1 : i64 {
    %two = ptx.constant 2 : i32
    %row = ptx.shr unsigned %x, %two : i32
    %next = ptx.add %row, %two : i32
    %words = ptx.shl %next, %two : i32
    %lane = ptx.xor %row, %words : i32
    ptx.st shared %lane, %x : i32, i32
    scf.yield
  }
  // CHECK: scf.for
  // CHECK: ptx.xor
  scf.for %k = %c0 to %n step %c1 : i64 {
    %two = ptx.constant 2 : i32
    %row = ptx.shr unsigned %x, %two : i32
    %next = ptx.add %row, %two : i32
    %words = ptx.shl %next, %two : i32
    %lane = ptx.xor %row, %words : i32
    %a = ptx.ld shared %lane : i32 -> i64
    %b = ptx.ld shared %lane : i32 -> i64
    %c = ptx.ld shared %lane : i32 -> i64
    %d = ptx.ld shared %lane : i32 -> i64
    ptx.st shared %lane, %a : i32, i64
    ptx.st shared %lane, %b : i32, i64
    ptx.st shared %lane, %c : i32, i64
    ptx.st shared %lane, %d : i32, i64
    scf.yield
  }
  ptx.ret
}

// 64 bits take several instructions. What is in front of the loop for one use is there for all others.
// CHECK-LABEL: ptx.entry @wide
ptx.entry @wide(n : u64) target("sm_90") reqntid(128) {
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %n = ptx.ld.param @n : i64
  %x = ptx.read_special tid.x
  // CHECK: ptx.mul.lo
  // CHECK-NEXT: %[[ROW:.*]] = ptx.add {{.*}} : i64
  // CHECK-NEXT: %[[NEXT:.*]] = ptx.add %[[ROW]], {{.*}} : i64
  // CHECK: scf.for
  // CHECK-NOT: ptx.mul.lo
  // CHECK: ptx.st global %[[NEXT]]
  // CHECK: ptx.st global %[[ROW]]
  scf.for %k = %c0 to %n step %c1 : i64 {
    %a = ptx.cvt unsigned %x : i32 -> i64
    %b = ptx.mul.lo %a, %n : i64
    %row = ptx.add %n, %b : i64
    %next = ptx.add %row, %n : i64
    ptx.st global %next, %x : i64, i32
    %c = ptx.mul.lo %a, %n : i64
    %same = ptx.add %n, %c : i64
    ptx.st global %same, %x : i64, i32
    scf.yield
  }
  ptx.ret
}
