// Linear layouts of Triton, as it prints them, to tiles. As `tirx.layout.interop.linear`.

import { LayoutError, canonicalize, iter, makeLayout, product } from "./algebra.js";

const AXES = { register: "m", offset: "m", lane: "laneid", warp: "warpid", block: "cbx", row: "TLane", col: "TCol" };
export const isLinear = (text) => /^\s*(?:#\w+\s*=\s*)?#(?:ttg|triton_gpu)\.|^\s*-\s*(?:register|offset|lane|warp|block)\b/.test(text);

// [input dimension, its images as coordinates], from `#ttg.linear<{register = [[0, 1]], ...}>` or the list of a dump.
function basesOf(text) {
  const found = [...text.matchAll(/(\w+)\s*=\s*\[((?:\s*\[[\d\s,]*\]\s*,?)*)\s*\]/g)].map(([, name, images]) =>
    [name, [...images.matchAll(/\[([\d\s,]*)\]/g)].map(([, each]) => each.split(",").map(Number))]);
  for (const [, name, , image] of found.length ? [] : text.matchAll(/(\w+)=(\d+)\s*->\s*\(([^)]*)\)/g)) {
    if (found.at(-1)?.[0] !== name) found.push([name, []]);
    found.at(-1)[1].push(image.split(",").filter((each) => each.trim()).map(Number));
  }
  if (!found.length) throw new LayoutError("expected bases as in #ttg.linear<{register = [[0, 1]], lane = [[1, 0]]}>", 0);
  return found;
}

export function linearTile(text) {
  const bases = basesOf(text);
  const images = bases.flatMap(([, each]) => each);
  const rank = images[0]?.length ?? 1;
  if (images.some((each) => each.length !== rank)) throw new LayoutError("expected bases of one rank", 0);
  const sizes = [...text.matchAll(/\(size (\d+)\)/g)].map(([, size]) => Number(size));
  const least = Array.from({ length: rank }, (_, d) => 2 ** Math.max(0, ...images.map((each) => each[d].toString(2).length * (each[d] > 0))));
  const shape = sizes.length === rank ? sizes : least;
  const steps = shape.map((_, d) => product(shape.slice(d + 1)));
  const columns = bases.flatMap(([name, each]) => {
    if (AXES[name] === undefined) throw new LayoutError(`expected the input dimensions ${Object.keys(AXES).join(", ")}, found ${name}`, 0);
    return each.map((image, k) => ({ axis: AXES[name], stride: 2 ** k, bits: image.reduce((sum, x, d) => sum + x * steps[d], 0) }));
  });
  const plain = strided(columns, product(shape));
  if (plain !== null) return { layout: plain, shape };
  const moved = columns.filter((each) => each.axis === "m");
  if (moved.length === columns.length) {
    for (const [b, s, m] of swizzles(columns.length)) {
      const behind = columns.map((each, k) => (k >= m + s && k < m + s + b ? { ...each, bits: each.bits ^ columns[k - s].bits } : each));
      const layout = strided(behind, product(shape));
      if (layout !== null) return { layout: { ...layout, swizzle: { m, b, s, inner: true } }, shape };
    }
  }
  throw new LayoutError("linear, but neither strided nor a swizzle of a strided layout", 0);
}

function* swizzles(bits) {
  for (let b = 1; b < bits; b++) for (let s = b; s + b <= bits; s++) for (let m = 0; m + s + b <= bits; m++) yield [b, s, m];
}

// One iter for each bit of the flat index; images that add no element are copies. Null where bits are mixed or left out.
function strided(columns, size) {
  const shard = [];
  for (let step = size / 2; step >= 1; step /= 2) {
    const held = columns.filter((each) => each.bits === step);
    if (held.length !== 1) return null;
    shard.push(iter(2, held[0].stride, held[0].axis));
  }
  const copies = columns.filter((each) => each.bits === 0);
  if (shard.length + copies.length !== columns.length) return null;
  return canonicalize(makeLayout(shard, copies.map((each) => iter(2, each.stride, each.axis))));
}
