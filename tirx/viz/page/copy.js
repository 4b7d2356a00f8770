// Who moves what: the box of a tensor map and where it lands, and the accesses of threads that hold a tile in registers.
// As `tirx.copy.tma`, `tirx.copy.tensor_map_bits`, `tirx.copy.access` and `tirx.layout.ownership`.

import { LayoutError, axesOf, axisRow, displacements, evaluator, iter, makeLayout, product, sizeOf } from "./algebra.js";
import { addressesOf, analyse, sectors } from "./banks.js";
import { cuteAt, cuteSize, modes, parseCute } from "./cute.js";
import { parseLayout } from "./notation.js";
import { deposit } from "./words.js";

const MOST_THREADS = 1024;
const WARP = 32;
const WIDEST = 128; // bits of an access

// Bytes after which the pattern of a swizzle repeats.
function period(mode, tables) {
  const row = tables.modes.find((each) => each.name === mode);
  return row.b ? 2 ** (row.m + row.b + row.s) : 1;
}

// A box of a row-major tensor, as a tensor map has it: everything in units (of two elements where they are packed), and
// innermost first, as in CUDA. `problems` are the limits that it breaks.
export function tensorMap({ dims, box, dtype, mode }, tables) {
  const rules = tables.tma;
  const unit = rules.units[dtype];
  if (unit === undefined) throw new LayoutError(`expected elements that tensor maps have or bytes of them, found ${dtype}`);
  const rank = dims.length;
  if (box.length !== rank) throw new LayoutError(`expected a box of rank ${rank}, as the tensor, found ${box.length}`);
  const problems = [];
  if (rank > rules.most_rank) problems.push(`expected at most ${rules.most_rank} dimensions, found ${rank}`);
  if (dims[rank - 1] % unit.elements || box[rank - 1] % unit.elements) problems.push(`expected rows of whole bytes, found ${box[rank - 1]} elements of half a byte`);
  const inUnits = (extents) => extents.map((n, d) => (d === rank - 1 ? Math.ceil(n / unit.elements) : n)).reverse();
  const sizes = inUnits(dims), extents = inUnits(box);
  const strides = sizes.slice(0, -1).map((_, d) => product(sizes.slice(0, d + 1)) * unit.bytes);
  strides.forEach((stride, d) => {
    if (stride % rules.row_unit) problems.push(`globalStrides[${d}]: expected a multiple of ${rules.row_unit} bytes, found ${stride}`);
  });
  extents.forEach((n, d) => {
    if (n > rules.most_box) problems.push(`boxDim[${d}]: expected 1 to ${rules.most_box}, found ${n}`);
  });
  const swizzle = rules.swizzles[mode];
  const row = extents[0] * unit.bytes;
  if (row % rules.row_unit || (swizzle.width && row > swizzle.width)) {
    problems.push(`expected rows of a box of a multiple of ${rules.row_unit} bytes${swizzle.width ? ` of at most ${swizzle.width}, the row of swizzle ${mode}` : ""}, found ${row}`);
  }
  return { unit, dims: sizes, strides, box: extents, swizzle, row, bytes: product(extents) * unit.bytes, alignment: Math.max(rules.box_alignment, period(mode, tables)), problems };
}

// The 128 bytes of a map of a tensor at `address`, as one number.
export function encodeTensorMap(map, address, tables) {
  const { fields, elements } = tables.tma;
  const codes = {
    global_address: BigInt(address), rank: map.dims.length - 1, element: elements.indexOf(map.unit.type),
    swizzle: map.swizzle.codes[0], atomicity: map.swizzle.codes[1], swizzle_96B: map.swizzle.codes[2],
    box_bytes: map.bytes, shared_alignment: map.swizzle.alignment,
  };
  map.strides.forEach((stride, d) => {
    codes[`global_stride[${d}]`] = Math.floor(stride / 16) % 2 ** 32;
    codes[`global_stride_high[${d}]`] = Math.floor(stride / 2 ** 36);
  });
  map.dims.forEach((n, d) => (codes[`global_dim[${d}]`] = n - 1));
  map.box.forEach((n, d) => (codes[`box_dim[${d}]`] = n - 1));
  return Object.entries(codes).reduce((word, [name, code]) => deposit(word, fields[name], code), 0n);
}

// The layout in shared memory of a box: its rows are rows of the pattern of the swizzle, however much of them it fills.
export function boxLayout(box, bits, mode, tables) {
  const row = tables.modes.find((each) => each.name === mode);
  const columns = box[box.length - 1];
  const pitch = Math.max(columns, (tables.tma.swizzles[mode].width * 8) / bits);
  const shard = box.map((extent, d) => iter(extent, d === box.length - 1 ? 1 : product(box.slice(d + 1, -1)) * pitch));
  const swizzle = row.b === 0 ? null : { m: row.m + Math.log2(8 / bits), b: row.b, s: row.s, inner: true };
  return makeLayout(shard, [], {}, swizzle);
}

// Which element each register of each thread holds: { threads, registers, at(thread, register) -> flat or -1, owners }.
// A layout on thread axes and m; or CuTe's thread-value layout, whose indices count the tile colexicographically.
export function heldBy(text, shape) {
  return /^\s*(\(|_?\d)/.test(text) ? heldByCute(text, shape) : heldByLayout(parseLayout(text, shape), shape);
}

function tableOf(pairs, size) {
  const threads = Math.ceil((1 + pairs.reduce((top, [thread]) => Math.max(top, thread), 0)) / WARP) * WARP;
  const registers = 1 + pairs.reduce((top, [, register]) => Math.max(top, register), 0);
  const first = pairs.find(([thread, register]) => thread < 0 || register < 0);
  if (first !== undefined) throw new LayoutError(`expected threads and registers from 0 on, found ${Math.min(first[0], first[1])}`);
  if (threads > MOST_THREADS) throw new LayoutError(`expected at most ${MOST_THREADS} threads, found ${threads}`);
  const held = new Int32Array(threads * registers).fill(-1);
  const owners = Array.from({ length: size }, () => []);
  for (const [thread, register, flat] of pairs) {
    const slot = thread * registers + register;
    if (held[slot] >= 0 && held[slot] !== flat) throw new LayoutError(`expected one element in register ${register} of thread ${thread}, found ${held[slot]} and ${flat}`);
    held[slot] = flat;
    if (!owners[flat].some(([t, r]) => t === thread && r === register)) owners[flat].push([thread, register]);
  }
  return { threads, registers, owners, at: (thread, register) => held[thread * registers + register] };
}

function heldByLayout(layout, shape) {
  const size = sizeOf(layout);
  if (product(shape) !== size) throw new LayoutError(`expected the ${product(shape)} elements of the tile, found ${size}`);
  const { axes, at } = evaluator(layout);
  const weights = axesOf(layout).map((name) => {
    const weight = name === "m" ? 0 : axisRow(name).weight;
    if (weight === undefined) throw new LayoutError(`expected thread axes and m in a register layout, found axis ${name}`);
    return weight;
  });
  const linear = axes.indexOf("m");
  const steps = displacements(layout);
  const out = new Array(axes.length);
  const pairs = [];
  for (let flat = 0; flat < size; flat++) {
    at(flat, out);
    for (const step of steps) {
      const thread = out.reduce((sum, x, a) => sum + (x + step[a]) * weights[a], 0);
      pairs.push([thread, linear < 0 ? 0 : out[linear] + step[linear], flat]);
    }
  }
  return tableOf(pairs, size);
}

function heldByCute(text, shape) {
  const layout = parseCute(text);
  const [threads, values, more] = modes(layout);
  if (values === undefined || more !== undefined) throw new LayoutError("expected a thread-value layout of two modes, as ((4,8),(2,2)):((32,1),(16,8))");
  const rows = shape[0], size = product(shape);
  const columns = size / rows;
  const pairs = [];
  for (let v = 0; v < cuteSize(values); v++) {
    for (let t = 0; t < cuteSize(threads); t++) {
      const index = cuteAt(threads, t) + cuteAt(values, v);
      if (index >= size) throw new LayoutError(`expected indices below ${size}, the elements of the tile, found ${index}`);
      pairs.push([t, v, (index % rows) * columns + Math.floor(index / rows)]);
    }
  }
  return tableOf(pairs, size);
}

// [first register, count] of the widest accesses that every thread can do, in register order.
export function widestAccesses(held, layout, bits) {
  const address = addressesOf(layout);
  const largest = Math.max(1, WIDEST / bits);
  const found = [];
  const every = Array.from({ length: held.threads }, (_, t) => t).filter((t) => held.at(t, 0) >= 0 || Array.from({ length: held.registers }, (_, r) => held.at(t, r)).some((flat) => flat >= 0));
  const fits = (first, count) =>
    first % count === 0 && first + count <= held.registers && every.every((t) => {
      const start = held.at(t, first);
      if (start < 0 || address(start) % count) return false;
      for (let k = 1; k < count; k++) if (held.at(t, first + k) < 0 || address(held.at(t, first + k)) !== address(start) + k) return false;
      return true;
    });
  for (let first = 0; first < held.registers; ) {
    let count = largest;
    while (count > 1 && !fits(first, count)) count /= 2;
    if (count > 1 || every.some((t) => held.at(t, first) >= 0)) found.push([first, count]);
    first += count;
  }
  return found;
}

// The accesses of one warp: { first, count, bytes, lanes, conflicts, global } each.
export function accessesOf(held, layout, bits, warp) {
  return widestAccesses(held, layout, bits).map(([first, count]) => {
    const lanes = Array.from({ length: WARP }, (_, lane) => Array.from({ length: count }, (_, k) => held.at(warp * WARP + lane, first + k)));
    const idle = lanes.every((each) => each[0] < 0);
    return {
      first, count, lanes, bytes: (bits * count) / 8,
      conflicts: idle ? null : analyse(layout, lanes, bits, count),
      global: idle ? null : sectors(layout, lanes, bits, count),
    };
  });
}
