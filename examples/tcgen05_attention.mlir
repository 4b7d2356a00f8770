// Attention, O = softmax(Q K^T / sqrt(128)) V, on Blackwell, for any number of heads and any lengths; the arguments are those of
// flash_attention.mlir. Scores and sums are in tensor memory, and so are the weights: there they are A of the second product.
// Each thread has a row of 128 scores in its registers while it computes the weights. Meanwhile one warp multiplies: the
// scores of the next keys, then the weights of the keys before with V. Another one copies.
//
//   tirx-opt --lower-to-ptx tcgen05_attention.mlir

!memory = memref<?x?x128xf16>
!columns = memref<?x128x?xf16, strided<[?, 1, 128]>>  // V, whose rows are the K of the second product
!queries_part = !tirx.tile<128x128xf16, global>
!keys_part = !tirx.tile<128x128xf16, global>
!values_part = !tirx.tile<128x128xf16, global>
!queries = !tirx.tile<128x128xf16, shared>
!keys = !tirx.tile<128x128xf16, shared>
!values = !tirx.tile<128x128xf16, shared>
!products = !tirx.tile<128x128xf32, tensor>
!scores = !tirx.tile<128x128xf32, register>
!weights = !tirx.tile<128x128xf16, tensor>
!halves = !tirx.tile<128x128xf16, register>
!sums = !tirx.tile<128x128xf32, tensor>
!parts = !tirx.tile<128x128xf32, register>
!result = !tirx.tile<128x128xf16, register>
!row = !tirx.tile<128x1xf32, register>

tirx.kernel @tensor_attention(%q: !memory, %k: !memory, %v: !columns, %o: !memory)
    target("sm_100a") grid(ceildiv(size(0, 1), 128), size(0, 0)) threads(128) {
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
  %products = tirx.alloc : !products
  %scores = tirx.alloc : !scores
  %weights = tirx.alloc : !weights
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
    tirx.fill %products, %zero : f32, !products
    tirx.mma %sq, %sk, %products : !queries, !keys, !products
    tirx.copy %products, %scores : !products, !scores
    %stop = arith.addi %n, %step : index
    %partly = arith.cmpi ugt, %stop, %length_of_keys : index
    scf.if %partly {
      tirx.map ins(%scores : !scores) outs(%scores : !scores) {
      ^bb0(%score: f32):
        %j = tirx.index 1
        %column = arith.addi %j, %n : index
        %seen = arith.cmpi ult, %column, %length_of_keys : index
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
    %powers = tirx.map ins(%scores, %offset : !scores, !row) {
    ^bb0(%score: f32, %by: f32):
      %exponent = math.fma %score, %scale, %by : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %power : f32
    } -> !scores
    %added = tirx.reduce %powers dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %added : !row, !row, !row) outs(%total : !row) {
    ^bb0(%before: f32, %by: f32, %now: f32):
      %r = math.fma %before, %by, %now : f32
      tirx.yield %r : f32
    }
    %rounded = tirx.map ins(%powers : !scores) {
    ^bb0(%weight: f32):
      %r = arith.truncf %weight : f32 to f16
      tirx.yield %r : f16
    } -> !halves
    tirx.copy %rounded, %weights : !halves, !weights
    %before = tirx.load %out : !sums -> !parts
    %scaled = tirx.map ins(%before, %factor : !parts, !row) {
    ^bb0(%sum: f32, %by: f32):
      %r = arith.mulf %sum, %by : f32
      tirx.yield %r : f32
    } -> !parts
    tirx.copy %scaled, %out : !parts, !sums
    tirx.mma %weights, %sv, %out : !weights, !values, !sums
  }

  %inverse = tirx.map ins(%total : !row) {
  ^bb0(%t: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %t : f32
    tirx.yield %r : f32
  } -> !row
  %all = tirx.load %out : !sums -> !parts
  %result = tirx.map ins(%all, %inverse : !parts, !row) {
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

tirx.kernel @causal_tensor_attention(%q: !memory, %k: !memory, %v: !columns, %o: !memory)
    target("sm_100a") grid(size(0, 0), ceildiv(size(0, 1), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.12751743 : f32  // log2(e) / sqrt(128)

  // The blocks of queries that see the most keys come first.
  %head = tirx.block_id x
  %block = tirx.block_id y
  %length = memref.dim %q, %c1 : !memory
  %blocks = arith.ceildivui %length, %rows : index
  %last = arith.subi %blocks, %c1 : index
  %from_end = arith.subi %last, %block : index
  %m = arith.muli %from_end, %rows : index

  %heads = memref.dim %q, %c0 : !memory
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
  %products = tirx.alloc : !products
  %scores = tirx.alloc : !scores
  %weights = tirx.alloc : !weights
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
    tirx.fill %products, %zero : f32, !products
    tirx.mma %sq, %sk, %products : !queries, !keys, !products
    tirx.copy %products, %scores : !products, !scores
    %stop = arith.addi %n, %step : index
    %partly = arith.cmpi ugt, %stop, %whole : index
    scf.if %partly {
      tirx.map ins(%scores : !scores) outs(%scores : !scores) {
      ^bb0(%score: f32):
        %j = tirx.index 1
        %column = arith.addi %j, %n : index
        %i = tirx.index 0
        %row = arith.addi %i, %m : index
        %before = arith.cmpi ule, %column, %row : index
        %exists = arith.cmpi ult, %column, %length_of_keys : index
        %seen = arith.andi %before, %exists : i1
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
    %powers = tirx.map ins(%scores, %offset : !scores, !row) {
    ^bb0(%score: f32, %by: f32):
      %exponent = math.fma %score, %scale, %by : f32
      %power = math.exp2 %exponent fastmath<afn> : f32
      tirx.yield %power : f32
    } -> !scores
    %added = tirx.reduce %powers dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %added : !row, !row, !row) outs(%total : !row) {
    ^bb0(%before: f32, %by: f32, %now: f32):
      %r = math.fma %before, %by, %now : f32
      tirx.yield %r : f32
    }
    %rounded = tirx.map ins(%powers : !scores) {
    ^bb0(%weight: f32):
      %r = arith.truncf %weight : f32 to f16
      tirx.yield %r : f16
    } -> !halves
    tirx.copy %rounded, %weights : !halves, !weights
    %before = tirx.load %out : !sums -> !parts
    %scaled = tirx.map ins(%before, %factor : !parts, !row) {
    ^bb0(%sum: f32, %by: f32):
      %r = arith.mulf %sum, %by : f32
      tirx.yield %r : f32
    } -> !parts
    tirx.copy %scaled, %out : !parts, !sums
    tirx.mma %weights, %sv, %out : !weights, !values, !sums
  }

  %inverse = tirx.map ins(%total : !row) {
  ^bb0(%t: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %t : f32
    tirx.yield %r : f32
  } -> !row
  %all = tirx.load %out : !sums -> !parts
  %result = tirx.map ins(%all, %inverse : !parts, !row) {
  ^bb0(%sum: f32, %by: f32):
    %product = arith.mulf %sum, %by : f32
    %r = arith.truncf %product : f32 to f16
    tirx.yield %r : f16
  } -> !result
  %go = tirx.view %o[%head, %m, %c0] clipped begins_inside : !memory -> !queries_part
  tirx.copy %result, %go : !result, !queries_part
  tirx.return
}
