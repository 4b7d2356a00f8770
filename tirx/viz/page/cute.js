// CuTe layouts, shape:stride with nested modes, and its operations. Digits are colexicographic: the first is fastest.
//
// Source of the semantics: CUTLASS documentation, "CuTe Layout Algebra". The tests check each operation against its
// definition on every element.

import { LayoutError, iter, makeLayout, product } from "./algebra.js";

// A layout is { shape, stride }, both integers or both arrays of the same nesting.
export const cute = (shape, stride) => ({ shape, stride });

const isLeaf = (x) => !Array.isArray(x);
export const flatten = (x) => (isLeaf(x) ? [x] : x.flatMap(flatten));
export const cuteSize = (layout) => product(flatten(layout.shape));
export const modes = (layout) =>
  isLeaf(layout.shape) ? [layout] : layout.shape.map((shape, i) => cute(shape, layout.stride[i]));
const joined = (parts) => cute(parts.map((part) => part.shape), parts.map((part) => part.stride));

// The index at which coordinate number `i` (colexicographic) lies.
export function cuteAt(layout, i) {
  const shape = flatten(layout.shape), stride = flatten(layout.stride);
  let sum = 0;
  for (let k = 0; k < shape.length; k++) {
    const digit = k === shape.length - 1 ? i : i % shape[k];
    sum += digit * stride[k];
    i = Math.floor(i / shape[k]);
  }
  return sum;
}

export function cosize(layout) {
  const shape = flatten(layout.shape), stride = flatten(layout.stride);
  return 1 + shape.reduce((sum, extent, k) => sum + (extent - 1) * Math.abs(stride[k]), 0);
}

// Text.

const tupleText = (x) => (isLeaf(x) ? `${x}` : `(${x.map(tupleText).join(",")})`);
export const cuteText = (layout) => `${tupleText(layout.shape)}:${tupleText(layout.stride)}`;

export function parseCute(text) {
  let at = 0;
  const space = () => {
    while (/\s/.test(text[at] ?? "")) at++;
  };
  const fail = (expected) => {
    space();
    const found = at < text.length ? `'${text.slice(at, at + 12)}'` : "the end of the text";
    return new LayoutError(`expected ${expected}, found ${found}`, at);
  };
  function tuple() {
    space();
    if (text[at] !== "(") {
      const found = /^_?(-?\d+)/.exec(text.slice(at));
      if (found === null) throw fail("an integer or '('");
      at += found[0].length;
      return Number(found[1]);
    }
    at++;
    const items = [];
    for (;;) {
      items.push(tuple());
      space();
      if (text[at] === ",") {
        at++;
        continue;
      }
      if (text[at] !== ")") throw fail("',' or ')'");
      at++;
      return items;
    }
  }
  const shape = tuple();
  if (flatten(shape).some((extent) => extent < 1)) throw new LayoutError("extents must be positive", 0);
  space();
  let stride;
  if (text[at] === ":") {
    const start = ++at;
    stride = tuple();
    if (!sameProfile(shape, stride)) throw new LayoutError("expected strides nested like the shape", start);
  } else {
    let next = 1;
    const compact = (x) => {
      if (!isLeaf(x)) return x.map(compact);
      const own = next;
      next *= x;
      return own;
    };
    stride = compact(shape);
  }
  space();
  if (at < text.length) throw fail("the end of the layout");
  return cute(shape, stride);
}

function sameProfile(a, b) {
  if (isLeaf(a) || isLeaf(b)) return isLeaf(a) && isLeaf(b);
  return a.length === b.length && a.every((each, i) => sameProfile(each, b[i]));
}

// Operations.

export function coalesce(layout) {
  const shape = [], stride = [];
  const leaves = flatten(layout.stride);
  flatten(layout.shape).forEach((extent, k) => {
    if (extent === 1) return;
    const last = shape.length - 1;
    if (last >= 0 && stride[last] * shape[last] === leaves[k]) shape[last] *= extent;
    else {
      shape.push(extent);
      stride.push(leaves[k]);
    }
  });
  if (!shape.length) return cute(1, 0);
  return shape.length === 1 ? cute(shape[0], stride[0]) : cute(shape, stride);
}

// R(c) = A(B(c)): the modes of B keep their places.
export function composition(a, b) {
  if (!isLeaf(b.shape)) return joined(modes(b).map((mode) => composition(a, mode)));
  return composeLeaf(coalesce(a), b.shape, b.stride);
}

function composeLeaf(a, extent, stride) {
  if (stride === 0) return cute(extent, 0);
  const shapes = flatten(a.shape), strides = flatten(a.stride);
  const shape = [], result = [];
  let restShape = extent, restStride = stride;
  for (let k = 0; k < shapes.length - 1; k++) {
    const divides = shapes[k] % restStride === 0 || restStride % shapes[k] === 0;
    if (!divides) {
      throw new LayoutError(`expected stride ${restStride} to divide extent ${shapes[k]} of the left layout, or the reverse`);
    }
    const left = Math.ceil(shapes[k] / restStride);
    const taken = Math.min(Math.max(left, 1), restShape);
    if (taken > 1) {
      if (restShape % taken) {
        throw new LayoutError(`expected extent ${restShape} to be a multiple of ${taken}, what is left of ${shapes[k]}`);
      }
      shape.push(taken);
      result.push(restStride * strides[k]);
    }
    restShape /= taken;
    restStride = Math.ceil(restStride / shapes[k]);
  }
  if (restShape !== 1 || !shape.length) {
    shape.push(restShape);
    result.push(restStride * strides[strides.length - 1]);
  }
  return shape.length === 1 ? cute(shape[0], result[0]) : cute(shape, result);
}

// The layout of what A leaves out of [0, cotarget), in order.
export function complement(a, cotarget) {
  const found = coalesce(a);
  const shapes = flatten(found.shape), strides = flatten(found.stride);
  const order = shapes.map((_, k) => k).filter((k) => strides[k] !== 0 && shapes[k] !== 1);
  order.sort((x, y) => strides[x] - strides[y]);
  const shape = [], stride = [];
  let current = 1;
  for (const k of order) {
    if (strides[k] < current || strides[k] % current) {
      throw new LayoutError(`complement: expected stride ${strides[k]} to be a multiple of ${current}, found overlap or a gap`);
    }
    if (strides[k] > current) {
      shape.push(strides[k] / current);
      stride.push(current);
    }
    current = strides[k] * shapes[k];
  }
  const rest = Math.ceil(cotarget / current);
  shape.push(rest);
  stride.push(current);
  return coalesce(cute(shape, stride));
}

// (A at the elements of B, A at the tiles that B leaves over).
export function logicalDivide(a, b) {
  const rest = complement(b, cuteSize(a));
  const parts = [b, rest];
  return joined(parts.map((part) => composition(a, part)));
}

// (A, A repeated at the places of B).
export function logicalProduct(a, b) {
  const rest = complement(a, cuteSize(a) * cosize(b));
  return joined([a, composition(rest, b)]);
}

// A repeated at the places of B, mode by mode: copies of A are blocks, or (raked) lie between one another.
function productByMode(a, b, order) {
  const own = modes(a), by = modes(b);
  const rank = Math.max(own.length, by.length);
  const padded = (parts) => joined([...parts, ...Array.from({ length: rank - parts.length }, () => cute(1, 0))]);
  const [first, second] = modes(logicalProduct(padded(own), padded(by))).map(modes);
  return joined(first.map((mode, i) => joined(order === "blocked" ? [mode, second[i]] : [second[i], mode])));
}

export const blockedProduct = (a, b) => productByMode(a, b, "blocked");
export const rakedProduct = (a, b) => productByMode(a, b, "raked");

// Division by a tiler of one layout per mode: ((tile modes), (rest modes)).
export function zippedDivide(a, tiler) {
  const own = modes(a), by = modes(tiler);
  if (by.length > own.length) throw new LayoutError(`expected at most ${own.length} modes in the tiler, found ${by.length}`);
  const parts = own.map((mode, i) => (i < by.length ? modes(logicalDivide(mode, by[i])) : [cute(1, 0), mode]));
  return joined([joined(parts.map((part) => part[0])), joined(parts.map((part) => part[1]))]);
}

// A layout of numbers 0.. that is inverse to A where A is one to one: A(R(i)) = i.
export function rightInverse(a) {
  const found = coalesce(a);
  const shapes = flatten(found.shape), strides = flatten(found.stride);
  const order = shapes.map((_, k) => k).sort((x, y) => strides[x] - strides[y]);
  const prefix = shapes.map((_, k) => product(shapes.slice(0, k)));
  const shape = [], stride = [];
  let current = 1;
  for (const k of order) {
    if (shapes[k] === 1) continue;
    if (strides[k] !== current) break;
    shape.push(shapes[k]);
    stride.push(prefix[k]);
    current *= shapes[k];
  }
  return shape.length ? coalesce(cute(shape, stride)) : cute(1, 0);
}

// The top-level modes as the dimensions of a row-major tensor, for the grids of the page.
export function toTile(layout) {
  const dims = modes(layout);
  const shape = dims.map(cuteSize);
  const shard = dims.flatMap((mode) => {
    const extents = flatten(mode.shape), strides = flatten(mode.stride);
    return extents.map((extent, k) => iter(extent, strides[k])).reverse();
  });
  return { layout: makeLayout(shard), shape };
}

export const CUTE_OPERATIONS = {
  composition: { title: "composition(A, B)", says: "R(c) = A(B(c))", run: (a, b) => composition(a, b) },
  complement: {
    title: "complement(A, size B)",
    says: "what A leaves out of [0, size(B)), in order",
    run: (a, b) => complement(a, cuteSize(b)),
  },
  logical_divide: {
    title: "logical_divide(A, B)",
    says: "mode 0: A at the elements of B; mode 1: the tiles",
    run: (a, b) => logicalDivide(a, b),
  },
  zipped_divide: {
    title: "zipped_divide(A, tiler B)",
    says: "by mode: ((tile), (rest))",
    run: (a, b) => zippedDivide(a, b),
  },
  logical_product: {
    title: "logical_product(A, B)",
    says: "mode 0: A; mode 1: A repeated at the places of B",
    run: (a, b) => logicalProduct(a, b),
  },
  blocked_product: {
    title: "blocked_product(A, B)",
    says: "copies of A are blocks of a larger matrix, one at each place of B",
    run: (a, b) => blockedProduct(a, b),
  },
  raked_product: {
    title: "raked_product(A, B)",
    says: "the same copies, one between another: what make_layout_tv is made of",
    run: (a, b) => rakedProduct(a, b),
  },
  coalesce: { title: "coalesce(A)", says: "the same function with the fewest modes", run: (a) => coalesce(a) },
  right_inverse: { title: "right_inverse(A)", says: "A(R(i)) = i", run: (a) => rightInverse(a) },
};
