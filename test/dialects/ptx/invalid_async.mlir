// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // arrivals: expected-error@+1 {{expected an arrival count from 1 to 2^20 - 1, found 1048576}}
  ptx.mbarrier.arrive %d, 1048576 cluster
  // orders: expected-error@+1 {{expected remote without cluster and relaxed, found one of them}}
  ptx.mbarrier.arrive %d cluster remote
  // expected-error@+1 {{expected remote without cluster and relaxed, found one of them}}
  ptx.mbarrier.arrive %d remote relaxed
  // expect: expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found 1048576}}
  ptx.mbarrier.expect_tx %d, 1048576
  // arrive expect: expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found -1}}
  ptx.mbarrier.arrive.expect_tx %d, -1 cluster
  // complete: expected-error@+1 {{expected a transaction count from 0 to 2^20 - 1 bytes, found -1}}
  ptx.mbarrier.complete_tx %d, -1
  // hint: expected-error@+1 {{expected a hint of 0 nanoseconds or more, found -1}}
  ptx.mbarrier.wait_parity %d, %d hint -1
  %two = ptx.constant 2 : i32
  // parity: expected-error@+1 {{expected a parity of 0 or 1, found 2}}
  ptx.mbarrier.wait_parity %d, %two
  // tested parity: expected-error@+1 {{expected a parity of 0 or 1, found 2}}
  %p = ptx.mbarrier.test_wait_parity %d, %two
  // registers: expected-error@+1 {{expected a multiple of 8 registers from 24 to 256, found 100}}
  ptx.setmaxnreg inc 100
  // few registers: expected-error@+1 {{expected a multiple of 8 registers from 24 to 256, found 16}}
  ptx.setmaxnreg dec 16
  // map: expected-error@+1 {{expected one of the entry's parameters (d, a), found 'map'}}
  %0 = ptx.param_address @map
  ptx.ret
}

tirx.kernel @map_of_a_kernel() target("sm_100a") threads(32) {
  // expected-error@+1 {{expected a parameter of a ptx.entry, found one in a kernel, which has arguments}}
  %0 = ptx.param_address @map
  tirx.return
}

ptx.entry @k2(d : u32, a : u64) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  // cluster address: expected-error@+1 {{expected shared_cluster address of type i32, found i64}}
  %0 = ptx.ld shared_cluster %a : i64 -> i32
  %d = ptx.ld.param @d : i32
  // load space: expected-error@+1 {{expected space to be one of shared::cta, shared::cluster, found global}}
  ptx.cp.async.bulk.tensor.load "global" %d, %a[%d], %d
  // load rank: expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d, %d, %d, %d, %d, %d], %d
  // load group: expected-error@+1 {{expected cta_group to be one of 1, 2, found 3}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d], %d cta_group 3
  // load rows: expected-error@+1 {{expected 5 coordinates for a gather (the column and 4 rows), found 2}}
  ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %d, %a[%d, %d], %d
  %m = ptx.constant 3 : i16
  // load multicast: expected-error@+1 {{expected space to be shared::cluster with multicast, found shared::cta}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %d, %a[%d], %d multicast %m
  // store rows: expected-error@+1 {{expected 5 coordinates for a scatter (the column and 4 rows), found 1}}
  ptx.cp.async.bulk.tensor.store scatter4 %a[%d], %d
  ptx.ret
}

// -----

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %m = ptx.constant 3 : i16
  // load masks: expected-error@+1 {{expected one mask of CTAs, of 16 or of 32 bits, found both}}
  ptx.cp.async.bulk.tensor.load "shared::cluster" %d, %a[%d], %d multicast %m multicast_32b %d
  // load elsewhere: expected-error@+1 {{expected an address for a box, found it with four rows}}
  ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %d, %a[%d, %d, %d, %d, %d] at %a, %d
  // mask: expected-error@+1 {{expected multicast_32b with cluster, found it without}}
  ptx.mbarrier.complete_tx %d, 16 multicast_32b %d
  // store rank: expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.tensor.store %a[%d, %d, %d, %d, %d, %d], %d
  // store reduction: expected-error@+1 {{expected reduce to be one of add, min, max, inc, dec, and, or, xor, found mul}}
  ptx.cp.async.bulk.tensor.store reduce "mul" %a[%d], %d
  // store both: expected-error@+1 {{expected reduce or scatter4, found both (add)}}
  ptx.cp.async.bulk.tensor.store reduce "add" scatter4 %a[%d, %d, %d, %d, %d], %d
  // prefetch rank: expected-error@+1 {{expected 1 to 5 coordinates, found 6}}
  ptx.cp.async.bulk.prefetch.tensor %a[%d, %d, %d, %d, %d, %d]
  // pending: expected-error@+1 {{expected 0 or more pending groups, found -1}}
  ptx.cp.async.bulk.wait_group -1
  // ldmatrix shape: expected-error@+1 {{expected shape to be one of m8n8, m16n16, found m8n16}}
  %0 = ptx.ldmatrix "m8n16" %d -> i32
  // ldmatrix count: expected-error@+1 {{expected number of registers for m8n8 to be one of 1, 2, 4, found 3}}
  %100, %1, %2 = ptx.ldmatrix "m8n8" %d -> i32, i32, i32
  // expect tx: expected-error@+1 {{expected remote without cluster, found both}}
  ptx.mbarrier.arrive.expect_tx %d, 16 cluster remote
  // ldmatrix trans: expected-error@+1 {{expected 'trans' for shape m16n16, found none}}
  %200, %101 = ptx.ldmatrix "m16n16" %d -> i32, i32
  // stmatrix shape: expected-error@+1 {{expected shape to be one of m8n8, m16n8, found m16n16}}
  ptx.stmatrix "m16n16" %d, %d : i32
  // stmatrix count: expected-error@+1 {{expected number of registers for m16n8 to be one of 1, 2, 4, found 3}}
  ptx.stmatrix "m16n8" trans %d, %d, %d, %d : i32, i32, i32
  ptx.ret
}
