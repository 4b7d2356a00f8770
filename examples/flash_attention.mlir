// Attention, O = softmax(Q K^T / sqrt(128)) V, as FlashAttention orders it, for any number of heads and any lengths: Q and O
// are heads x queries x 128, K and V heads x keys x 128 (V by its columns), and several heads of Q may share one of K and V.
//
// A block has 128 queries and goes through the keys 128 at a time, with the largest score, the total of the weights and the
// sums of each row in registers. On Hopper K and V come by TMA into rings that warps of their own fill, two warpgroups
// multiply 64 rows each, and the products of the weights with V run while the weights of the next keys are computed.
//
// On other targets the products are mma.sync, and cp.async brings the keys where there is no TMA.
//
//   tirx-opt --lower-to-ptx flash_attention.mlir
//   tirx-opt --lower-to-ptx="target=sm_80" flash_attention.mlir

!memory = memref<?x?x128xf16>
!columns = memref<?x128x?xf16, strided<[?, 1, 128]>>  // V, whose rows are the K of the second product
!queries_part = !tirx.tile<128x128xf16, global>
!keys_part = !tirx.tile<128x128xf16, global>
!values_part = !tirx.tile<128x128xf16, global>
!queries = !tirx.tile<128x128xf16, shared>
!keys = !tirx.tile<128x128xf16, shared>
!values = !tirx.tile<128x128xf16, shared>
!scores = !tirx.tile<128x128xf32, register>
!weights = !tirx.tile<128x128xf16, register>
!sums = !tirx.tile<128x128xf32, register>
!result = !tirx.tile<128x128xf16, register>
!row = !tirx.tile<128x1xf32, register>
!limits = !tirx.tile<128x1xi32, register>

tirx.kernel @flash_attention(%q: !memory, %k: !memory, %v: !columns, %o: !memory)
    target("sm_90a") grid(ceildiv(size(0, 1), 128), size(0, 0)) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.12751743 : f32  // log2(e) / sqrt(128)

  %block = tirx.block_id x
  %head = tirx.block_id y
  %m = arith.muli %block, %rows : index

  %heads = memref.dim %q, %c0 : !memory
  %heads_of_keys = memref.dim %k, %c0 : !memory
  %length_of_keys = memref.dim %k, %c1 : !memory
  %share = arith.divui %heads, %heads_of_keys : index
  %head_of_keys = arith.divui %head, %share : index

  %sq = tirx.alloc : !queries
  %sk = tirx.alloc : !keys
  %sv = tirx.alloc : !values
  %scores = tirx.alloc : !scores
  %out = tirx.alloc : !sums
  %most = tirx.alloc : !row
  %total = tirx.alloc : !row

  %gq = tirx.view %q[%head, %m, %c0] clipped : !memory -> !queries_part
  tirx.copy %gq, %sq : !queries_part, !queries
  tirx.fill %out, %zero : f32, !sums
  tirx.fill %most, %low : f32, !row
  tirx.fill %total, %zero : f32, !row
  scf.for %n = %c0 to %length_of_keys step %step {
    %gk = tirx.view %k[%head_of_keys, %n, %c0] clipped : !memory -> !keys_part
    %gv = tirx.view %v[%head_of_keys, %c0, %n] clipped : !columns -> !values_part
    tirx.copy %gk, %sk : !keys_part, !keys
    tirx.copy %gv, %sv : !values_part, !values
    tirx.fill %scores, %zero : f32, !scores
    tirx.mma %sq, %sk, %scores : !queries, !keys, !scores
    %stop = arith.addi %n, %step : index
    %partly = arith.cmpi ugt, %stop, %length_of_keys : index
    scf.if %partly {
      %left = arith.subi %length_of_keys, %n : index
      %limit = arith.index_cast %left : index to i32
      tirx.map ins(%scores : !scores) outs(%scores : !scores) {
      ^bb0(%score: f32):
        %j = tirx.index 1
        %column = arith.index_cast %j : index to i32
        %seen = arith.cmpi slt, %column, %limit : i32
        %r = arith.select %seen, %score, %low : f32
        tirx.yield %r : f32
      }
    }

    // The largest score so far, and what it makes of the sums so far.
    %largest = tirx.reduce %scores dim(1) max : !scores -> !row
    %new, %offset, %factor = tirx.map ins(%most, %largest : !row, !row) {
    ^bb0(%before: f32, %now: f32):
      %larger = arith.maxnumf %before, %now : f32
      %scaled = arith.mulf %larger, %scale : f32
      %negative = arith.negf %scaled : f32
      %exponent = math.fma %before, %scale, %negative : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %larger, %negative, %power : f32, f32, f32
    } -> !row, !row, !row
    tirx.copy %new, %most : !row, !row
    %weights = tirx.map ins(%scores, %offset : !scores, !row) {
    ^bb0(%score: f32, %by: f32):
      %exponent = math.fma %score, %scale, %by : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %power : f32
    } -> !scores
    %added = tirx.reduce %weights dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %added : !row, !row, !row) outs(%total : !row) {
    ^bb0(%before: f32, %by: f32, %now: f32):
      %r = math.fma %before, %by, %now : f32
      tirx.yield %r : f32
    }
    tirx.map ins(%out, %factor : !sums, !row) outs(%out : !sums) {
    ^bb0(%before: f32, %by: f32):
      %r = arith.mulf %before, %by : f32
      tirx.yield %r : f32
    }
    %rounded = tirx.map ins(%weights : !scores) {
    ^bb0(%weight: f32):
      %r = arith.truncf %weight : f32 to f16
      tirx.yield %r : f16
    } -> !weights
    tirx.mma %rounded, %sv, %out : !weights, !values, !sums
  }

  %inverse = tirx.map ins(%total : !row) {
  ^bb0(%t: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %t : f32
    tirx.yield %r : f32
  } -> !row
  %result = tirx.map ins(%out, %inverse : !sums, !row) {
  ^bb0(%sum: f32, %by: f32):
    %product = arith.mulf %sum, %by : f32
    %r = arith.truncf %product : f32 to f16
    tirx.yield %r : f16
  } -> !result
  %go = tirx.view %o[%head, %m, %c0] clipped : !memory -> !queries_part
  tirx.copy %result, %go : !result, !queries_part
  tirx.return
}

// The same for queries that see the keys up to their own only.

tirx.kernel @causal_flash_attention(%q: !memory, %k: !memory, %v: !columns, %o: !memory)
    target("sm_90a") grid(mul(size(0, 0), ceildiv(size(0, 1), 128))) threads(256)
    attributes {tirx.order = "row"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.12751743 : f32  // log2(e) / sqrt(128)

  // Heads come in groups whose keys and values fit into the L2 cache. In one group the blocks of queries that see the most
  // keys come first, in the next one last, so that all blocks of a persistent grid do the same amount of work.
  %c4 = arith.constant 4 : index
  %number = tirx.block_id x
  %heads = memref.dim %q, %c0 : !memory
  %length = memref.dim %q, %c1 : !memory
  %blocks = arith.ceildivui %length, %rows : index
  %of_group = arith.muli %blocks, %c4 : index
  %group = arith.divui %number, %of_group : index
  %within = arith.remui %number, %of_group : index
  %first_head = arith.muli %group, %c4 : index
  %left = arith.subi %heads, %first_head : index
  %heads_of_group = arith.minui %left, %c4 : index
  %from_first = arith.remui %within, %heads_of_group : index
  %head = arith.addi %first_head, %from_first : index
  %block = arith.divui %within, %heads_of_group : index
  %last = arith.subi %blocks, %c1 : index
  %from_end = arith.subi %last, %block : index
  %odd = arith.andi %group, %c1 : index
  %ascends = arith.cmpi eq, %odd, %c1 : index
  %place = arith.select %ascends, %block, %from_end : index
  %m = arith.muli %place, %rows : index

  %heads_of_keys = memref.dim %k, %c0 : !memory
  %length_of_keys = memref.dim %k, %c1 : !memory
  %share = arith.divui %heads, %heads_of_keys : index
  %head_of_keys = arith.divui %head, %share : index
  // Queries see the keys up to their own: all of a block see those before `whole`, none those from `end` on.
  %next = arith.addi %m, %c1 : index
  %behind = arith.addi %m, %rows : index
  %whole = arith.minui %next, %length_of_keys : index
  %end = arith.minui %behind, %length_of_keys : index

  %sq = tirx.alloc : !queries
  %sk = tirx.alloc : !keys
  %sv = tirx.alloc : !values
  %scores = tirx.alloc : !scores
  %out = tirx.alloc : !sums
  %most = tirx.alloc : !row
  %total = tirx.alloc : !row

  %gq = tirx.view %q[%head, %m, %c0] clipped : !memory -> !queries_part
  tirx.copy %gq, %sq : !queries_part, !queries
  tirx.fill %out, %zero : f32, !sums
  tirx.fill %most, %low : f32, !row
  tirx.fill %total, %zero : f32, !row
  scf.for %n = %c0 to %end step %step {
    %gk = tirx.view %k[%head_of_keys, %n, %c0] clipped : !memory -> !keys_part
    %gv = tirx.view %v[%head_of_keys, %c0, %n] clipped : !columns -> !values_part
    tirx.copy %gk, %sk : !keys_part, !keys
    tirx.copy %gv, %sv : !values_part, !values
    tirx.fill %scores, %zero : f32, !scores
    tirx.mma %sq, %sk, %scores : !queries, !keys, !scores
    %stop = arith.addi %n, %step : index
    %partly = arith.cmpi ugt, %stop, %whole : index
    scf.if %partly {
      // How many of these keys each row sees, from -127 to 128: 32 bits are enough, and faster.
      %limits = tirx.map ins(%most : !row) {
      ^bb0(%unused: f32):
        %i = tirx.index 0
        %row = arith.addi %i, %next : index
        %seen = arith.minui %row, %length_of_keys : index
        %here = arith.subi %seen, %n : index
        %limit = arith.index_cast %here : index to i32
        tirx.yield %limit : i32
      } -> !limits
      tirx.map ins(%scores, %limits : !scores, !limits) outs(%scores : !scores) {
      ^bb0(%score: f32, %limit: i32):
        %j = tirx.index 1
        %column = arith.index_cast %j : index to i32
        %is_seen = arith.cmpi slt, %column, %limit : i32
        %r = arith.select %is_seen, %score, %low : f32
        tirx.yield %r : f32
      }
    }

    // The largest score so far, and what it makes of the sums so far.
    %largest = tirx.reduce %scores dim(1) max : !scores -> !row
    %new, %offset, %factor = tirx.map ins(%most, %largest : !row, !row) {
    ^bb0(%before: f32, %now: f32):
      %larger = arith.maxnumf %before, %now : f32
      %scaled = arith.mulf %larger, %scale : f32
      %negative = arith.negf %scaled : f32
      %exponent = math.fma %before, %scale, %negative : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %larger, %negative, %power : f32, f32, f32
    } -> !row, !row, !row
    tirx.copy %new, %most : !row, !row
    %weights = tirx.map ins(%scores, %offset : !scores, !row) {
    ^bb0(%score: f32, %by: f32):
      %exponent = math.fma %score, %scale, %by : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %power : f32
    } -> !scores
    %added = tirx.reduce %weights dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %added : !row, !row, !row) outs(%total : !row) {
    ^bb0(%before: f32, %by: f32, %now: f32):
      %r = math.fma %before, %by, %now : f32
      tirx.yield %r : f32
    }
    tirx.map ins(%out, %factor : !sums, !row) outs(%out : !sums) {
    ^bb0(%before: f32, %by: f32):
      %r = arith.mulf %before, %by : f32
      tirx.yield %r : f32
    }
    %rounded = tirx.map ins(%weights : !scores) {
    ^bb0(%weight: f32):
      %r = arith.truncf %weight : f32 to f16
      tirx.yield %r : f16
    } -> !weights
    tirx.mma %rounded, %sv, %out : !weights, !values, !sums
  }

  %inverse = tirx.map ins(%total : !row) {
  ^bb0(%t: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %t : f32
    tirx.yield %r : f32
  } -> !row
  %result = tirx.map ins(%out, %inverse : !sums, !row) {
  ^bb0(%sum: f32, %by: f32):
    %product = arith.mulf %sum, %by : f32
    %r = arith.truncf %product : f32 to f16
    tirx.yield %r : f16
  } -> !result
  %go = tirx.view %o[%head, %m, %c0] clipped begins_inside : !memory -> !queries_part
  tirx.copy %result, %go : !result, !queries_part
  tirx.return
}
