// The layout algebra of the page: shard, replica, offset and swizzle as plain objects.
//
// A layout is { shard: [iter], replica: [iter], offset: {axis: n}, swizzle: null | {m, b, s, inner} } with iters
// { extent, stride, axis }, outermost first. Every function is that of the same name in `tirx.layout`; the tests compare
// both over random layouts. Integers are exact up to 2**53.

export class LayoutError extends Error {
  constructor(message, position = null) {
    super(message);
    this.position = position;
  }
}

const MOST_COPIES = 1 << 16; // displacements of one element that the page lists
const MOST_LISTED = 1 << 20; // elements that a question lists one by one

let AXES = new Map(); // name -> row of the table of axes

export function setAxes(rows) {
  AXES = new Map(rows.map((row) => [row.name, row]));
}

// How many letters are to be changed, added or left out to make one word the other.
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] !== b[j - 1]));
  }
  return row[b.length];
}

export function axisRow(name, position = null) {
  const found = AXES.get(name);
  if (found === undefined) {
    const [close] = [...AXES.keys()].filter((known) => edits(known.toLowerCase(), name.toLowerCase()) <= name.length / 3)
      .sort((a, b) => edits(a, name) - edits(b, name));
    const hint = close === undefined ? "" : `did you mean '${close}'? `;
    throw new LayoutError(`unknown axis '${name}'; ${hint}known axes: ${[...AXES.keys()].join(", ")}`, position);
  }
  return found;
}

export const canonicalName = (name) => axisRow(name).alias_of ?? name;
export const isMemory = (name) => axisRow(name).kind === "memory";

export const iter = (extent, stride, axis = "m") => ({ extent, stride, axis });
export const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
export const mod = (a, b) => ((a % b) + b) % b;

export function makeLayout(shard, replica = [], offset = {}, swizzle = null) {
  return { shard, replica, offset: cleanOffset(Object.entries(offset)), swizzle };
}

function cleanOffset(pairs) {
  const sums = {};
  for (const [name, count] of pairs) sums[name] = (sums[name] ?? 0) + count;
  return Object.fromEntries(Object.entries(sums).filter(([, count]) => count).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const addOffsets = (...offsets) => cleanOffset(offsets.flatMap((each) => Object.entries(each)));

export function rowMajor(shape, axis = "m") {
  return makeLayout(shape.map((extent, d) => iter(extent, product(shape.slice(d + 1)), axis)));
}

export const sizeOf = (layout) => product(layout.shard.map((it) => it.extent));
export const extentsOf = (layout) => layout.shard.map((it) => it.extent);

export function axesOf(layout) {
  const names = [...layout.shard, ...layout.replica].map((it) => it.axis);
  return [...new Set([...names, ...Object.keys(layout.offset)])];
}

// The swizzle.

const high = (x, bits) => Math.floor(x / 2 ** bits);

function xor(a, b) {
  // 32-bit operators see the low words only.
  const low = ((a % 2 ** 32) ^ (b % 2 ** 32)) >>> 0;
  return ((high(a, 32) ^ high(b, 32)) >>> 0) * 2 ** 32 + low;
}

export function swizzleAddress(swizzle, address) {
  if (swizzle === null || swizzle.b === 0) return address;
  const { m, b, s } = swizzle;
  const field = swizzle.inner ? high(address, m + s) % 2 ** b : high(address, m) % 2 ** b;
  return xor(address, field * 2 ** (swizzle.inner ? m : m + s));
}

// Evaluation.

// Returns { axes, at(flat, out) }: `at` writes the base coordinate of an element, in the order of `axes`, into `out`.
export function evaluator(layout) {
  const axes = axesOf(layout);
  const base = axes.map((name) => layout.offset[name] ?? 0);
  const digits = layout.shard
    .map((it) => [it.extent, it.stride, axes.indexOf(it.axis)])
    .filter(([extent]) => extent > 1)
    .reverse();
  const linear = axes.indexOf("m");
  const swizzle = layout.swizzle;
  function at(flat, out) {
    for (let a = 0; a < base.length; a++) out[a] = base[a];
    for (const [extent, stride, axis] of digits) {
      const rest = Math.floor(flat / extent);
      out[axis] += (flat - rest * extent) * stride;
      flat = rest;
    }
    if (swizzle !== null && linear >= 0) out[linear] = swizzleAddress(swizzle, out[linear]);
    return out;
  }
  return { axes, at };
}

export function apply(layout, flat) {
  const { axes, at } = evaluator(layout);
  const out = at(flat, new Array(axes.length));
  return Object.fromEntries(axes.map((name, a) => [name, out[a]]));
}

// The distinct displacements of the replica iters, per axis in the order of `axesOf`.
export function displacements(layout) {
  const axes = axesOf(layout);
  const sets = axes.map((name) => {
    let sums = new Set([0]);
    for (const it of layout.replica.filter((each) => each.axis === name)) {
      if (sums.size * it.extent > MOST_COPIES) {
        throw new LayoutError(`expected at most ${MOST_COPIES} copies of an element, found more on axis '${name}'`);
      }
      const grown = new Set();
      for (const sum of sums) for (let r = 0; r < it.extent; r++) grown.add(sum + r * it.stride);
      sums = grown;
    }
    return [...sums].sort((a, b) => a - b);
  });
  if (product(sets.map((set) => set.length)) > MOST_COPIES) {
    throw new LayoutError(`expected at most ${MOST_COPIES} copies of an element`);
  }
  return sets.reduce((rows, set) => rows.flatMap((row) => set.map((step) => [...row, step])), [[]]);
}

// All places of an element, each once, sorted, as rows in the order of `axesOf`.
export function owners(layout, flat) {
  const plain = { ...layout, swizzle: null };
  const { axes, at } = evaluator(plain);
  const base = at(flat, new Array(axes.length));
  const linear = axes.indexOf("m");
  const rows = displacements(layout).map((steps) => {
    const row = base.map((value, a) => value + steps[a]);
    if (linear >= 0) row[linear] = swizzleAddress(layout.swizzle, row[linear]);
    return row;
  });
  const unique = new Map(rows.map((row) => [row.join(), row]));
  return [...unique.values()].sort(compareRows);
}

export function compareRows(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}

function reach(iters, name) {
  const ends = iters.filter((it) => it.axis === name).map((it) => (it.extent - 1) * it.stride);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  return [sum(ends.filter((end) => end < 0)), sum(ends.filter((end) => end > 0))];
}

// {axis: [smallest, largest]} of any copy of any element. With a swizzle it is the whole periods that are touched.
export function footprint(layout) {
  const found = {};
  for (const name of axesOf(layout)) {
    const [low, top] = reach([...layout.shard, ...layout.replica], name);
    const base = layout.offset[name] ?? 0;
    found[name] = [low + base, top + base];
  }
  if (layout.swizzle !== null && layout.swizzle.b > 0 && found.m !== undefined) {
    const period = periodOf(layout.swizzle);
    const [low, top] = found.m;
    if (top - low < MOST_LISTED && sizeOf(layout) <= MOST_LISTED && !layout.replica.length) {
      const { axes, at } = evaluator(layout);
      const out = new Array(axes.length);
      const linear = axes.indexOf("m");
      let least = Infinity, most = -Infinity;
      for (let flat = 0; flat < sizeOf(layout); flat++) {
        const value = at(flat, out)[linear];
        if (value < least) least = value;
        if (value > most) most = value;
      }
      found.m = [least, most];
    } else {
      found.m = [Math.floor(low / period) * period, Math.ceil((top + 1) / period) * period - 1];
    }
  }
  return found;
}

export const periodOf = (swizzle) => (swizzle === null ? 1 : 2 ** (swizzle.m + swizzle.b + swizzle.s));

export function span(layout, name) {
  const [low, top] = reach([...layout.shard, ...layout.replica], name);
  return top - low + 1;
}

// Flat indices of which a copy lies at `where`, {axis: coordinate}; axes left out are free. Sorted, at most `most`.
export function inverse(layout, where, most = 4096) {
  const axes = axesOf(layout);
  const wanted = { ...where };
  if (wanted.m !== undefined && layout.swizzle !== null) {
    if (wanted.m < 0) return [];
    wanted.m = swizzleAddress(layout.swizzle, wanted.m); // a swizzle undoes itself
  }
  for (const name of Object.keys(wanted)) if (!axes.includes(name) && wanted[name] !== 0) return [];
  let weight = 1;
  const weights = layout.shard.map(() => 1);
  for (let k = layout.shard.length - 1; k >= 0; k--) {
    weights[k] = weight;
    weight *= layout.shard[k].extent;
  }
  const steps = { iters: [], weights: [] };
  let found = [0];
  for (const name of axes) {
    const own = layout.shard.map((it, k) => ({ ...it, weight: weights[k] })).filter((it) => it.axis === name);
    const copies = layout.replica.filter((it) => it.axis === name).map((it) => ({ ...it, weight: 0 }));
    const target = wanted[name] === undefined ? null : wanted[name] - (layout.offset[name] ?? 0);
    const partial = solveAxis([...own, ...copies], target, most);
    if (!partial.length) return [];
    found = found.flatMap((flat) => partial.map((part) => flat + part)).slice(0, most * 4);
  }
  return [...new Set(found)].sort((a, b) => a - b).slice(0, most);
}

// Sums of digit * weight over all digits with sum of digit * stride equal to the target (null: any).
function solveAxis(iters, target, most) {
  const sorted = [...iters].sort((a, b) => Math.abs(b.stride) - Math.abs(a.stride));
  const low = new Array(sorted.length + 1).fill(0), top = new Array(sorted.length + 1).fill(0);
  for (let k = sorted.length - 1; k >= 0; k--) {
    const end = (sorted[k].extent - 1) * sorted[k].stride;
    low[k] = low[k + 1] + Math.min(end, 0);
    top[k] = top[k + 1] + Math.max(end, 0);
  }
  const found = new Set();
  function visit(k, rest, sum) {
    if (found.size >= most * 4) return;
    if (target !== null && (rest < low[k] || rest > top[k])) return;
    if (k === sorted.length) {
      found.add(sum);
      return;
    }
    const { extent, stride, weight } = sorted[k];
    let first = 0, last = extent - 1;
    if (target !== null && stride !== 0) {
      const ends = [(rest - top[k + 1]) / stride, (rest - low[k + 1]) / stride].sort((a, b) => a - b);
      first = Math.max(first, Math.ceil(ends[0]));
      last = Math.min(last, Math.floor(ends[1]));
    }
    if (weight === 0 && target === null) last = first; // copies of one element
    for (let digit = first; digit <= last; digit++) visit(k + 1, rest - digit * stride, sum + digit * weight);
  }
  visit(0, target ?? 0, 0);
  return [...found];
}

// True, false, or null where the answer would list more than a million places.
export function isInjective(layout) {
  if (layout.shard.some((it) => it.extent > 1 && it.stride === 0)) return false;
  const separate = axesOf(layout).every((name) => {
    const own = [...layout.shard, ...layout.replica].filter((it) => it.axis === name && it.extent > 1);
    own.sort((a, b) => Math.abs(a.stride) - Math.abs(b.stride));
    let reached = 0;
    for (const it of own) {
      if (Math.abs(it.stride) <= reached) return false;
      reached += (it.extent - 1) * Math.abs(it.stride);
    }
    return true;
  });
  if (separate) return true;
  const copies = product(layout.replica.map((it) => it.extent));
  if (sizeOf(layout) * copies > MOST_LISTED) return null;
  const { axes, at } = evaluator({ ...layout, swizzle: null });
  const steps = displacements(layout);
  const out = new Array(axes.length);
  const seen = new Map();
  for (let flat = 0; flat < sizeOf(layout); flat++) {
    at(flat, out);
    for (const step of steps) {
      const key = out.map((value, a) => value + step[a]).join();
      const other = seen.get(key);
      if (other !== undefined && other !== flat) return false;
      seen.set(key, flat);
    }
  }
  return true;
}

// Normal form.

function canonicalShard(iters) {
  const fused = [];
  for (const each of iters) {
    if (each.extent === 1) continue;
    const it = iter(each.extent, each.stride, canonicalName(each.axis));
    const last = fused[fused.length - 1];
    if (last !== undefined && last.stride === it.extent * it.stride && (last.axis === it.axis || !it.stride)) {
      fused[fused.length - 1] = iter(last.extent * it.extent, it.stride, it.axis);
    } else {
      fused.push(it);
    }
  }
  return fused;
}

function canonicalReplica(replica) {
  const shift = {};
  const byAxis = new Map();
  for (const it of replica) {
    const name = canonicalName(it.axis);
    if (it.extent === 1 || it.stride === 0) continue;
    if (it.stride < 0) shift[name] = (shift[name] ?? 0) + (it.extent - 1) * it.stride;
    const steps = byAxis.get(name) ?? new Map();
    const stride = Math.abs(it.stride);
    steps.set(stride, (steps.get(stride) ?? 0) + it.extent - 1);
    byAxis.set(name, steps);
  }
  const iters = [];
  for (const name of [...byAxis.keys()].sort()) {
    const steps = byAxis.get(name);
    for (const low of [...steps.keys()].sort((a, b) => a - b)) {
      let absorbed = steps.has(low);
      while (absorbed) {
        absorbed = false;
        for (const top of [...steps.keys()].sort((a, b) => a - b)) {
          if (top > low && top % low === 0 && top / low <= steps.get(low) + 1) {
            steps.set(low, steps.get(low) + (top / low) * steps.get(top));
            steps.delete(top);
            absorbed = true;
          }
        }
      }
    }
    for (const [stride, count] of [...steps].sort(([a], [b]) => a - b)) iters.push(iter(count + 1, stride, name));
  }
  return { iters, shift };
}

// The normal form. Where a replica is not nested (rare), Python's may have still fewer steps.
export function canonicalize(layout) {
  const { iters, shift } = canonicalReplica(layout.replica);
  const offset = cleanOffset([
    ...Object.entries(layout.offset).map(([name, count]) => [canonicalName(name), count]),
    ...Object.entries(shift),
  ]);
  let shard = canonicalShard(layout.shard);
  const moving = [...shard, ...iters].filter((it) => it.stride).map((it) => it.axis).concat(Object.keys(offset));
  const rank = (name) => [isMemory(name) ? 0 : 1, name];
  const free = [...new Set(moving)].sort((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    return x[0] - y[0] || (x[1] < y[1] ? -1 : 1);
  })[0] ?? "m";
  shard = shard.map((it) => (it.stride ? it : iter(it.extent, 0, free)));
  return { shard: canonicalShard(shard), replica: iters, offset, swizzle: layout.swizzle };
}

// Grouping and products.

export function checkShape(shape, size) {
  if (shape.some((extent) => !Number.isInteger(extent) || extent < 1)) {
    throw new LayoutError(`every extent of a shape must be positive, found (${shape.join(", ")})`);
  }
  if (product(shape) !== size) {
    throw new LayoutError(`the layout has ${size} elements, shape (${shape.join(", ")}) has ${product(shape)}`);
  }
}

export function groupIters(iters, shape, unitAxis) {
  const pending = [...iters];
  const groups = [];
  for (let d = shape.length - 1; d >= 0; d--) {
    let need = shape[d];
    const group = [];
    if (need === 1 && pending.length && pending[pending.length - 1].extent === 1) group.push(pending.pop());
    while (need > 1) {
      if (!pending.length) throw new LayoutError(`shape (${shape.join(", ")}) has more elements than the layout`);
      const it = pending.pop();
      if (it.extent === 1) continue;
      if (need % it.extent === 0) {
        need /= it.extent;
        group.push(it);
      } else if (it.extent % need === 0) {
        group.push(iter(need, it.stride, it.axis));
        pending.push(iter(it.extent / need, it.stride * need, it.axis));
        need = 1;
      } else {
        throw new LayoutError(
          `dimension ${d} of shape (${shape.join(", ")}) does not line up with the iters of the layout: ${need} ` +
            `elements remain where an iter of extent ${it.extent} stands, and neither divides the other`,
        );
      }
    }
    groups.push(group.length ? group : [iter(1, 0, unitAxis)]);
  }
  if (pending.some((it) => it.extent !== 1)) {
    throw new LayoutError(`shape (${shape.join(", ")}) has fewer elements than the layout`);
  }
  return groups.reverse().map((group) => group.reverse());
}

export function group(layout, shape) {
  checkShape(shape, sizeOf(layout));
  const groups = groupIters(layout.shard, shape, layout.shard[0]?.axis ?? "m");
  const separators = [0];
  for (const each of groups) separators.push(separators[separators.length - 1] + each.length);
  return { layout: { ...layout, shard: groups.flat() }, separators };
}

function noSwizzle(layout, what) {
  if (layout.swizzle !== null) throw new LayoutError(`${what}: expected a tile layout, found a swizzle`);
  return canonicalize(layout);
}

export function directSum(right, left, leftShape, rightShape) {
  return directSumOf(noSwizzle(right, "direct_sum"), noSwizzle(left, "direct_sum"), leftShape, rightShape);
}

function directSumOf(right, left, leftShape, rightShape) {
  checkShape(leftShape, sizeOf(left));
  checkShape(rightShape, sizeOf(right));
  if (leftShape.length !== rightShape.length) {
    throw new LayoutError(`expected shapes of one rank, found (${leftShape}) and (${rightShape})`);
  }
  const a = groupIters(left.shard, leftShape, "m");
  const b = groupIters(right.shard, rightShape, "m");
  const shard = a.flatMap((each, d) => [...each, ...b[d]]);
  return canonicalize(makeLayout(shard, [...left.replica, ...right.replica], addOffsets(left.offset, right.offset)));
}

// `inner` repeated by `outer`, whose strides count spans of `inner`.
export function tile(inner, outer, outerShape, innerShape) {
  const [own, other] = [noSwizzle(inner, "tile"), noSwizzle(outer, "tile")];
  const scaled = (it) => iter(it.extent, it.stride * span(own, it.axis), it.axis);
  const offset = Object.fromEntries(Object.entries(other.offset).map(([a, n]) => [a, n * span(own, a)]));
  return directSumOf(own, makeLayout(other.shard.map(scaled), other.replica.map(scaled), offset), outerShape, innerShape);
}

export function permute(layout, perm, shape) {
  if ([...perm].sort((a, b) => a - b).some((d, i) => d !== i) || perm.length !== shape.length) {
    throw new LayoutError(`expected a permutation of 0..${shape.length - 1}, found (${perm.join(", ")})`);
  }
  checkShape(shape, sizeOf(layout));
  const groups = groupIters(layout.shard, shape, layout.shard[0]?.axis ?? "m");
  return { ...layout, shard: perm.flatMap((d) => groups[d]) };
}

// Layouts from tables.

// The iters of a sequence of coordinates that starts at 0 on every axis, or the length of the part that has iters.
export function inferIters(points, axes) {
  const found = [];
  let covered = 1;
  while (points.length > 1) {
    const step = points[1];
    const moving = axes.map((_, a) => a).filter((a) => step[a] !== 0);
    if (moving.length > 1) return { prefix: covered };
    let extent = points.findIndex((point, i) => point.some((value, a) => value !== step[a] * i));
    if (extent < 0) extent = points.length;
    if (points.length % extent) return { prefix: covered * extent };
    const outer = [];
    for (let i = 0; i < points.length; i += extent) {
      outer.push(points[i]);
      for (let j = 1; j < extent; j++) {
        if (points[i + j].some((value, a) => value !== points[i][a] + step[a] * j)) return { prefix: covered * extent };
      }
    }
    found.unshift(moving.length ? iter(extent, step[moving[0]], axes[moving[0]]) : iter(extent, 0, "m"));
    points = outer;
    covered *= extent;
  }
  return { iters: found };
}

function fromPoints(points, axes, replica, swizzle, what) {
  if (points.length > MOST_LISTED) {
    throw new LayoutError(`expected at most ${MOST_LISTED} elements, found ${points.length}`);
  }
  const first = points[0];
  const relative = points.map((point) => point.map((value, a) => value - first[a]));
  const { iters, prefix } = inferIters(relative, axes);
  if (iters === undefined) throw new LayoutError(`no tile layout is ${what}: only its first ${prefix} elements are one`);
  const offset = Object.fromEntries(axes.map((name, a) => [name, first[a]]));
  return canonicalize(makeLayout(iters, replica, offset, swizzle));
}

// The layout of a box; `region` has one [begin, end) per dimension of `shape`.
export function slice(layout, shape, region) {
  checkShape(shape, sizeOf(layout));
  if (region.length !== shape.length) {
    throw new LayoutError(`expected a region of rank ${shape.length}, found rank ${region.length}`);
  }
  region.forEach(([begin, end], d) => {
    if (!(begin >= 0 && begin < end && end <= shape[d])) {
      throw new LayoutError(
        `dimension ${d} of the region must satisfy 0 <= begin < end <= ${shape[d]}, found (${begin}, ${end})`,
      );
    }
  });
  const normal = canonicalize(layout);
  const { axes, at } = evaluator({ ...normal, swizzle: null });
  const count = product(region.map(([begin, end]) => end - begin));
  if (count > MOST_LISTED) throw new LayoutError(`expected at most ${MOST_LISTED} elements, found ${count}`);
  const points = [];
  for (let i = 0; i < count; i++) {
    let rest = i, flat = 0, weight = 1;
    for (let d = shape.length - 1; d >= 0; d--) {
      const extent = region[d][1] - region[d][0];
      flat += (region[d][0] + (rest % extent)) * weight;
      rest = Math.floor(rest / extent);
      weight *= shape[d];
    }
    points.push(at(flat, new Array(axes.length)));
  }
  return fromPoints(points, axes, normal.replica, layout.swizzle, "this box");
}

// x -> outer(inner(x)); `inner` is on axis m.
export function compose(outer, inner) {
  const own = canonicalize(outer);
  const other = noSwizzle(inner, "compose");
  const foreign = axesOf(other).filter((name) => name !== "m");
  if (foreign.length) throw new LayoutError(`expected a layout on axis m only, found ${foreign.join(", ")}`);
  if (other.replica.length) throw new LayoutError("expected an inner layout without replica");
  const { axes, at } = evaluator({ ...own, swizzle: null });
  const index = evaluator(other);
  const out = new Array(index.axes.length);
  const points = [];
  const count = sizeOf(other);
  if (count > MOST_LISTED) throw new LayoutError(`expected at most ${MOST_LISTED} elements, found ${count}`);
  for (let x = 0; x < count; x++) {
    const flat = index.at(x, out)[0] ?? 0;
    if (flat < 0 || flat >= sizeOf(own)) {
      throw new LayoutError(`expected flat indices of the ${sizeOf(own)} elements, found ${flat} for element ${x}`);
    }
    points.push(at(flat, new Array(axes.length)));
  }
  return fromPoints(points, axes, own.replica, outer.swizzle, "this composition");
}

// The elements whose places differ, in order; null for layouts of different sizes, and for more than can be listed.
//
// In normal form a set of copies starts at 0 on every axis, so two elements have the same places exactly when their base
// coordinates and the sets of copies are the same. Only a swizzle makes copies of each element different.
export function differences(a, b) {
  const size = sizeOf(a);
  if (size !== sizeOf(b) || size > MOST_LISTED) return null;
  const [x, y] = [canonicalize(a), canonicalize(b)];
  const all = (test) => Array.from({ length: size }, (_, flat) => flat).filter(test);
  const copies = product([...x.replica, ...y.replica].map((it) => it.extent));
  if (copies > 1 && [x, y].some((each) => each.swizzle !== null && each.swizzle.b > 0)) {
    if (size * copies > MOST_COPIES) return null;
    const places = (layout) => (flat) => JSON.stringify([axesOf(layout), owners(layout, flat)]);
    const [first, second] = [places(x), places(y)];
    return all((flat) => first(flat) !== second(flat));
  }
  const set = (layout) => {
    const own = { shard: [], replica: layout.replica, offset: {}, swizzle: null };
    return JSON.stringify([axesOf(own), displacements(own)]);
  };
  if (set(x) !== set(y)) return all(() => true);
  const [mine, theirs] = [evaluator(x), evaluator(y)];
  const axes = [...new Set([...mine.axes, ...theirs.axes])];
  const pairs = axes.map((name) => [mine.axes.indexOf(name), theirs.axes.indexOf(name)]);
  const [p, q] = [new Array(mine.axes.length), new Array(theirs.axes.length)];
  return all((flat) => {
    mine.at(flat, p);
    theirs.at(flat, q);
    return pairs.some(([i, j]) => (i < 0 ? 0 : p[i]) !== (j < 0 ? 0 : q[j]));
  });
}

// The digest of all base coordinates that Python's `digest_of` computes from the tables of `tirx.layout`.
export function digest(layout) {
  const prime = 67108859;
  const { axes, at } = evaluator(layout);
  const out = new Array(axes.length);
  const order = axes.map((_, a) => a).sort((a, b) => (axes[a] < axes[b] ? -1 : 1));
  let sum = 0;
  for (let flat = 0; flat < sizeOf(layout); flat++) {
    at(flat, out);
    order.forEach((a, k) => {
      sum = (sum + mod(out[a], prime) * ((flat * (k + 3) + k + 1) % prime)) % prime;
    });
  }
  return sum;
}
