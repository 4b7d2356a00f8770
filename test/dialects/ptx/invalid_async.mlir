// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @arrivals(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected an arrival count from 1 to 2^20 - 1, found 1048576}}
  ptx.mbarrier.arrive %d, 1048576 cluster
  ptx.ret
}

// -----

ptx.entry @orders(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected remote without cluster and relaxed, found one of them}}
  ptx.mbarrier.arrive %d cluster remote
  ptx.ret
}

// -----

ptx.entry @expect(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found 1048576}}
  ptx.mbarrier.expect_tx %d, 1048576
  ptx.ret
}

// -----

ptx.entry @arrive_expect(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found -1}}
  ptx.mbarrier.arrive.expect_tx %d, -1 cluster
  ptx.ret
}

// -----

ptx.entry @complete(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found -1}}
  ptx.mbarrier.complete_tx %d, -1
  ptx.ret
}

// -----

ptx.entry @hint(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a hint of 0 nanoseconds or more, found -1}}
  ptx.mbarrier.wait_parity %d, %d hint -1
  ptx.ret
}

// -----

ptx.entry @parity(d : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %two = ptx.constant 2 : i32
  // expected-error@+1 {{expected a parity of 0 or 1, found 2}}
  ptx.mbarrier.wait_parity %d, %two
  ptx.ret
}

// -----

ptx.entry @tested_parity(d : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %two = ptx.constant 2 : i32
  // expected-error@+1 {{expected a parity of 0 or 1, found 2}}
  %p = ptx.mbarrier.test_wait_parity %d, %two
  ptx.ret
}

// -----

ptx.entry @registers(d : u32, a : u64) target("sm_100a") {
  // expected-error@+1 {{expected a multiple of 8 registers from 24 to 256, found 100}}
  ptx.setmaxnreg inc 100
  ptx.ret
}

// -----

ptx.entry @few_registers(d : u32, a : u64) target("sm_100a") {
  // expected-error@+1 {{expected a multiple of 8 registers from 24 to 256, found 16}}
  ptx.setmaxnreg dec 16
  ptx.ret
}

// -----

ptx.entry @map(d : u32, a : u64) target("sm_100a") {
  // expected-error@+1 {{expected one of the entry's parameters (d, a), found 'map'}}
  %0 = ptx.param_address @map
  ptx.ret
}

// -----

tirx.kernel @map_of_a_kernel() target("sm_100a") threads(32) {
  // expected-error@+1 {{expected a parameter of a ptx.entry, found one in a kernel, which has arguments}}
  %0 = ptx.param_address @map
  tirx.return
}

// -----

ptx.entry @cluster_address(d : u32, a : u64) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected shared_cluster address of type i32, found i64}}
  %0 = ptx.ld shared_cluster %a : i64 -> i32
  ptx.ret
}

// -----

ptx.entry @load_space(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected space to be one of shared::cta, shared::cluster, found global}}
  ptx.cp.async.bulk.tensor.load "global" %d, %a[%d], %d
  ptx.ret
}

// -----

ptx.entry @load_rank(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d, %d, %d, %d, %d, %d], %d
  ptx.ret
}

// -----

ptx.entry @load_group(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected cta_group to be one of 1, 2, found 3}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d], %d cta_group 3
  ptx.ret
}

// -----

ptx.entry @load_rows(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected 5 coordinates for a gather (the column and 4 rows), found 2}}
  ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %d, %a[%d, %d], %d
  ptx.ret
}

// -----

ptx.entry @load_multicast(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %m = ptx.constant 3 : i16
  // expected-error@+1 {{expected space to be shared::cluster with multicast, found shared::cta}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d], %d multicast %m
  ptx.ret
}

// -----

ptx.entry @store_rows(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected 5 coordinates for a scatter (the column and 4 rows), found 1}}
  ptx.cp.async.bulk.tensor.store scatter4 %a[%d], %d
  ptx.ret
}

// -----

ptx.entry @store_rank(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.tensor.store %a[%d, %d, %d, %d, %d, %d], %d
  ptx.ret
}

// -----

ptx.entry @store_reduction(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected reduce to be one of add, min, max, inc, dec, and, or, xor, found mul}}
  ptx.cp.async.bulk.tensor.store reduce "mul" %a[%d], %d
  ptx.ret
}

// -----

ptx.entry @store_both(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected reduce or scatter4, found both (add)}}
  ptx.cp.async.bulk.tensor.store reduce "add" scatter4 %a[%d, %d, %d, %d, %d], %d
  ptx.ret
}

// -----

ptx.entry @prefetch_rank(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.prefetch.tensor %a[%d, %d, %d, %d, %d, %d]
  ptx.ret
}

// -----

ptx.entry @pending(d : u32, a : u64) target("sm_100a") {
  // expected-error@+1 {{expected 0 or more pending groups, found -1}}
  ptx.cp.async.bulk.wait_group -1
  ptx.ret
}

// -----

ptx.entry @ldmatrix_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected shape to be one of m8n8, m16n16, found m8n16}}
  %0 = ptx.ldmatrix "m8n16" %d -> i32
  ptx.ret
}

// -----

ptx.entry @ldmatrix_count(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected number of registers for m8n8 to be one of 1, 2, 4, found 3}}
  %0, %1, %2 = ptx.ldmatrix "m8n8" %d -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @expect_tx(d : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected remote without cluster, found both}}
  ptx.mbarrier.arrive.expect_tx %d, 16 cluster remote
  ptx.ret
}

// -----

ptx.entry @ldmatrix_trans(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected 'trans' for shape m16n16, found none}}
  %0, %1 = ptx.ldmatrix "m16n16" %d -> i32, i32
  ptx.ret
}

// -----

ptx.entry @stmatrix_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected shape to be one of m8n8, m16n8, found m16n16}}
  ptx.stmatrix "m16n16" %d, %d : i32
  ptx.ret
}

// -----

ptx.entry @stmatrix_count(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected number of registers for m16n8 to be one of 1, 2, 4, found 3}}
  ptx.stmatrix "m16n8" trans %d, %d, %d, %d : i32, i32, i32
  ptx.ret
}
