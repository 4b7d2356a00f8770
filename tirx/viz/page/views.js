// Models of grids: a tile by its elements, and by its places.

import {
  axesOf, axisRow, canonicalName, displacements, evaluator, footprint, inverse, isMemory, product, sizeOf, swizzleAddress,
} from "./algebra.js";
import { bankOf } from "./banks.js";
import { colouring } from "./colors.js";

const SHORT = {
  laneid: "L", warpid: "W", wgid: "G", tx: "T", tid: "T", tid_in_wg: "T", wid_in_wg: "W", pid: "D", TLane: "L",
  TCol: "C", P: "P", F: "F", Bank: "B", bx: "bx", by: "by", bz: "bz", cbx: "c", cby: "cy", cbz: "cz",
};
const MOST_TABLE = 1 << 22; // cells of a table of places
const MOST_FORWARD = 1 << 19; // elements and copies that are entered into one

// A tile that is shown: { layout, shape, dtype, bits }.
export function shortName(layout, name) {
  if (name !== "m") return SHORT[name] ?? name;
  return axesOf(layout).some((each) => each !== "m") ? "r" : "";
}

export function coordinateOf(flat, shape) {
  const found = new Array(shape.length);
  for (let d = shape.length - 1; d >= 0; d--) {
    found[d] = flat % shape[d];
    flat = Math.floor(flat / shape[d]);
  }
  return found;
}

export const elementText = (flat, shape) => coordinateOf(flat, shape).join(",");

// How elements are laid out on the screen: the last two dimensions down and across, blocks of further ones beside or
// below one another; a line is folded. { rows, cols, flatAt(r, c), cellOf(flat), blockRows, blockCols }.
export function logicalGrid(shape) {
  const size = product(shape);
  if (shape.length < 2) {
    let cols = Math.min(size, 32);
    while (size % cols) cols--;
    if (cols <= 4 && size > 8) cols = size;
    return plainGrid(size / cols, cols);
  }
  const [high, wide] = shape.slice(-2);
  const blocks = size / high / wide;
  if (blocks === 1 || (blocks * wide > 64 && blocks * wide > 4 * high)) {
    return { ...plainGrid(size / wide, wide), blockRows: high };
  }
  return {
    rows: high,
    cols: blocks * wide,
    flatAt: (r, c) => (Math.floor(c / wide) * high + r) * wide + (c % wide),
    cellOf: (flat) => {
      const block = Math.floor(flat / (high * wide));
      return [Math.floor(flat / wide) % high, block * wide + (flat % wide)];
    },
    blockRows: high,
    blockCols: wide,
  };
}

const plainGrid = (rows, cols) => ({
  rows, cols, blockRows: rows, blockCols: cols,
  flatAt: (r, c) => r * cols + c,
  cellOf: (flat) => [Math.floor(flat / cols), flat % cols],
});

// What cells can be coloured by: axes, dimensions, and for memory banks and pieces of 16 bytes.
export function colourKeys(tile) {
  const ends = footprint(tile.layout);
  const keys = axesOf(tile.layout).map((name) => [`axis:${name}`, name]);
  for (const name of axesOf(tile.layout).filter((each) => axisRow(each).kind === "thread" && ends[each][1] - ends[each][0] >= 8)) {
    keys.push([`mod8:${name}`, `${name} mod 8`]);
  }
  keys.push(...tile.shape.map((_, d) => [`dim:${d}`, `dimension ${d}`]));
  if (onBanks(tile)) keys.push(["piece", "16-byte piece of a row"], ["bank", "bank"], ["line", "line of banks"]);
  return keys;
}

export const onBanks = (tile) =>
  axesOf(tile.layout).every((name) => name === "m") && sizeOf(tile.layout) > 1 && tile.bits <= 128;

export function defaultColour(tile) {
  const pieces = (tile.shape[tile.shape.length - 1] * tile.bits) / 128;
  if (onBanks(tile)) return pieces > 1 && pieces <= 64 ? "piece" : "axis:m";
  const ends = footprint(tile.layout);
  const moving = Object.entries(ends).filter(([, [low, high]]) => high > low);
  const best = (names) => names.sort((a, b) => b[1][1] - b[1][0] - (a[1][1] - a[1][0]))[0]?.[0];
  const name = best(moving.filter(([each]) => !isMemory(each))) ?? best(moving) ?? Object.keys(ends)[0];
  return name === undefined ? "dim:0" : `axis:${name}`;
}

// A function (flat, place) -> 0xRRGGBB; `place` has a coordinate for each axis of `axesOf`.
export function painter(tile, key) {
  const axes = axesOf(tile.layout);
  const ends = footprint(tile.layout);
  const [kind, which] = key.split(":");
  if (kind === "mod8") {
    const at = axes.indexOf(which), paint = colouring(0, 7);
    return (flat, place) => paint((((place[at] ?? 0) % 8) + 8) % 8);
  }
  if (kind === "axis") {
    const at = axes.indexOf(which);
    const [low, high] = ends[which] ?? [0, 0];
    const paint = colouring(low, high);
    return (flat, place) => paint(place[at] ?? 0);
  }
  if (kind === "dim") {
    const paint = colouring(0, tile.shape[Number(which)] - 1);
    return (flat) => paint(coordinateOf(flat, tile.shape)[Number(which)]);
  }
  const linear = axes.indexOf("m");
  if (kind === "piece") {
    const chunk = Math.max(1, 128 / tile.bits);
    const columns = tile.shape[tile.shape.length - 1];
    const paint = colouring(0, Math.max(0, Math.min(8, Math.ceil(columns / chunk)) - 1));
    return (flat) => paint(Math.floor((flat % columns) / chunk) % 8);
  }
  const [low, high] = (ends.m ?? [0, 0]).map((address) => bankOf(address, tile.bits).line);
  const paint = kind === "bank" ? colouring(0, 31) : colouring(low, high);
  return (flat, place) => paint(bankOf(place[linear] ?? 0, tile.bits)[kind]);
}

export function logicalView(tile, key) {
  const { rows, cols, flatAt, cellOf, blockRows, blockCols } = logicalGrid(tile.shape);
  const { axes, at } = evaluator(tile.layout);
  const paint = painter(tile, key);
  const place = new Array(axes.length);
  const names = axes.map((name) => shortName(tile.layout, name));
  // Threads before what they hold.
  const order = axes.map((_, a) => a).sort((a, b) => isMemory(axes[a]) - isMemory(axes[b]));
  const outer = tile.shape.slice(0, -1);
  const beside = blockCols < cols;
  return {
    rows,
    cols,
    wide: axes.length > 2 ? 1 : axes.length > 1 ? 1.35 : 1.7,
    lines: axes.length,
    colour: (r, c) => paint(flatAt(r, c), at(flatAt(r, c), place)),
    text: (r, c) => {
      at(flatAt(r, c), place);
      return order.map((a) => `${names[a]}${place[a]}`);
    },
    rowLabel: (r) => (beside ? `${r}` : outer.length > 1 ? elementText(r, outer) : `${tile.shape.length > 1 ? r : r * cols}`),
    colLabel: (c) => (beside ? `${Math.floor(c / blockCols)}:${c % blockCols}` : `${c}`),
    everyRow: blockRows < rows ? blockRows : 0,
    everyCol: beside ? blockCols : 0,
    say: (r, c) => {
      const flat = flatAt(r, c);
      const owners = placesOf(tile, flat).map((each) => axes.map((name) => `${name} ${each[name]}`).join(", "));
      const more = owners.length > 4 ? ` and ${owners.length - 4} more` : "";
      return `element (${elementText(flat, tile.shape)}): ${owners.slice(0, 4).join("; ")}${more}`;
    },
    cellOf: (flat) => [cellOf(flat)],
    elementAt: (r, c) => [flatAt(r, c)],
  };
}

// The distinct coordinates that a layout has on an axis, or all between the ends for memories and long axes.
function coordinatesOn(layout, name, from = null, to = null) {
  const [low, high] = footprint(layout)[name] ?? [0, 0];
  const first = Math.min(low, from ?? low), last = Math.max(high, to ?? high);
  if (isMemory(name) || last - first > 4096) return { count: last - first + 1, at: (k) => first + k, of: (v) => v - first };
  let sums = new Set([layout.offset[name] ?? 0]);
  for (const it of [...layout.shard, ...layout.replica].filter((each) => each.axis === name)) {
    const grown = new Set();
    for (const sum of sums) for (let k = 0; k < it.extent; k++) grown.add(sum + k * it.stride);
    sums = grown;
  }
  const values = [...sums].sort((a, b) => a - b);
  const index = new Map(values.map((value, k) => [value, k]));
  return { count: values.length, at: (k) => values[k], of: (v) => index.get(v) };
}

// The places of a tile: axes of threads and devices down, axes of memory across (TLane down).
export function placesView(tile, key, options = {}) {
  const layout = tile.layout;
  const axes = axesOf(layout);
  const rank = (name) => {
    const row = axisRow(canonicalName(name));
    if (row.kind === "device") return -1e12;
    if (row.unit === "cta") return -1e9;
    return -(row.weight ?? 0);
  };
  const range = (name) => coordinatesOn(layout, name, ...(options.range?.[name] ?? []));
  let down = axes.filter((name) => !isMemory(name) || name === "TLane" || name === "P").sort((a, b) => rank(a) - rank(b));
  let across = axes.filter((name) => !down.includes(name));
  const wrap = !down.length || !across.length;
  const counted = (names) => product(names.map((name) => range(name).count));
  const inner = down[down.length - 1];
  if (!wrap && !isMemory(inner) && counted(down) > 2 * counted(across)) {
    // Many threads of few values each: the innermost threads across, their values below one another.
    down = [...down.slice(0, -1), ...across];
    across = [inner];
  }
  const lanes = down.map(range), cells = across.map(range);
  const rowCount = product(lanes.map((each) => each.count)), colCount = product(cells.map((each) => each.count));
  let rows = rowCount, cols = colCount;
  if (wrap) {
    const total = rowCount * colCount;
    cols = Math.min(total, options.wrap ?? (total > 2048 ? 64 : 32));
    rows = Math.ceil(total / cols);
  }
  const split = (index, ranges) => {
    const found = new Array(ranges.length);
    for (let k = ranges.length - 1; k >= 0; k--) {
      found[k] = ranges[k].at(index % ranges[k].count);
      index = Math.floor(index / ranges[k].count);
    }
    return found;
  };
  function placeAt(r, c) {
    const index = wrap ? r * cols + c : null;
    if (wrap && index >= rowCount * colCount) return null;
    const [y, x] = wrap ? (across.length ? [0, index] : [index, 0]) : [r, c];
    const values = { ...Object.fromEntries(split(y, lanes).map((v, k) => [down[k], v])) };
    split(x, cells).forEach((v, k) => (values[across[k]] = v));
    return values;
  }
  function cellOfPlace(place) {
    let y = 0, x = 0;
    down.forEach((name, k) => (y = y * lanes[k].count + lanes[k].of(place[name] ?? 0)));
    across.forEach((name, k) => (x = x * cells[k].count + cells[k].of(place[name] ?? 0)));
    if (!wrap) return [y, x];
    const index = across.length ? x : y;
    return [Math.floor(index / cols), index % cols];
  }
  const held = tableOfPlaces(tile, rows, cols, cellOfPlace);
  const at = (r, c) => {
    const place = placeAt(r, c);
    if (place === null) return [];
    if (held === null) return inverse(layout, place, 16);
    const first = held.first[r * cols + c];
    return first < 0 ? [] : [first, ...(held.more.get(r * cols + c) ?? [])];
  };
  const paint = painter(tile, key);
  const last = down[down.length - 1];
  return {
    rows,
    cols,
    slow: held === null,
    wide: 1.4,
    lines: tile.shape.filter((extent) => extent > 1).length || 1,
    joint: ",",
    colour: (r, c) => {
      const found = held !== null ? held.first[r * cols + c] : (at(r, c)[0] ?? -1);
      return found < 0 ? -1 : paint(found, axes.map((name) => placeAt(r, c)[name] ?? 0));
    },
    text: (r, c) => {
      const found = at(r, c);
      if (!found.length) return [];
      const coordinate = coordinateOf(found[0], tile.shape).map(String);
      return found.length > 1 ? [...coordinate, `+${found.length - 1}`] : coordinate;
    },
    rowLabel: (r) => {
      if (wrap) return `${across.length ? placeAt(r, 0)[across[0]] : r * cols}`;
      const values = split(r, lanes);
      return down.map((name, k) => (down.length > 1 ? `${SHORT[name] ?? "r"}${values[k]}` : values[k])).join(" ");
    },
    colLabel: (c) => (wrap ? `${c}` : split(c, cells).join(",")),
    everyRow: !wrap && down.length > 1 ? lanes[lanes.length - 1].count : last === "TLane" ? 32 : 0,
    everyCol: options.everyCol ?? 0,
    say: (r, c) => {
      const place = placeAt(r, c);
      if (place === null) return "";
      const where = Object.entries(place).map(([name, value]) => `${name} ${value}`).join(", ");
      const found = at(r, c);
      return found.length ? `${where}: element ${found.map((flat) => `(${elementText(flat, tile.shape)})`).join(" and ")}` : `${where}: nothing`;
    },
    cellOf: (flat) => placesOf(tile, flat).map(cellOfPlace),
    elementAt: at,
    down,
    across,
  };
}

// All places of an element as {axis: coordinate}.
export function placesOf(tile, flat) {
  const plain = { ...tile.layout, swizzle: null };
  const { axes, at } = evaluator(plain);
  const base = at(flat, new Array(axes.length));
  return displacements(tile.layout).map((steps) => {
    const place = Object.fromEntries(axes.map((name, a) => [name, base[a] + steps[a]]));
    if (place.m !== undefined) place.m = swizzleAddress(tile.layout.swizzle, place.m);
    return place;
  });
}

// For every cell the elements in it, entered one by one; null where that would be too many.
function tableOfPlaces(tile, rows, cols, cellOfPlace) {
  const copies = product(tile.layout.replica.map((it) => it.extent));
  if (rows * cols > MOST_TABLE || sizeOf(tile.layout) * copies > MOST_FORWARD) return null;
  const first = new Int32Array(rows * cols).fill(-1);
  const more = new Map();
  const plain = { ...tile.layout, swizzle: null };
  const { axes, at } = evaluator(plain);
  const base = new Array(axes.length);
  const steps = displacements(tile.layout);
  const place = {};
  for (let flat = 0; flat < sizeOf(tile.layout); flat++) {
    at(flat, base);
    for (const step of steps) {
      axes.forEach((name, a) => (place[name] = base[a] + step[a]));
      if (place.m !== undefined) place.m = swizzleAddress(tile.layout.swizzle, place.m);
      const [r, c] = cellOfPlace(place);
      const cell = r * cols + c;
      if (first[cell] < 0) first[cell] = flat;
      else if (first[cell] !== flat) more.set(cell, [...(more.get(cell) ?? []), flat]);
    }
  }
  return { first, more };
}

// Shared memory by lines of 32 banks.
export function banksView(tile, key) {
  const slots = Math.max(1, 1024 / tile.bits);
  const [low, high] = footprint(tile.layout).m ?? [0, 0];
  const first = Math.floor(low / slots) * slots;
  const view = placesView(tile, key, { wrap: slots, range: { m: [first, Math.ceil((high + 1) / slots) * slots - 1] } });
  const perBank = Math.max(1, 32 / tile.bits);
  return {
    ...view,
    wide: perBank > 1 ? 1.1 : 1.5,
    everyCol: perBank,
    rowLabel: (r) => `${Math.floor(first / slots) + r}`,
    colLabel: (c) => `${Math.floor((c * tile.bits) / 32)}`,
    say: (r, c) => `line ${Math.floor(first / slots) + r}, bank ${Math.floor((c * tile.bits) / 32)}, ${view.say(r, c)}`,
  };
}

// Tensor memory: 128 lanes by columns of 32 bits.
export function tensorView(tile, key) {
  const perColumn = Math.max(1, 32 / tile.bits);
  const [, high] = footprint(tile.layout).TCol ?? [0, 0];
  const last = Math.ceil((high + 1) / perColumn) * perColumn - 1;
  const view = placesView(tile, key, { range: { TLane: [0, 127], TCol: [0, last] }, everyCol: perColumn > 1 ? perColumn : 0 });
  const plain = view.across.length === 1;
  return {
    ...view,
    everyRow: 32,
    colLabel: plain ? (c) => `${Math.floor(c / perColumn)}` : view.colLabel,
    say: (r, c) => (plain && perColumn > 1 ? `column ${Math.floor(c / perColumn)}, ${view.say(r, c)}` : view.say(r, c)),
  };
}

// The views of a tile's places that make sense, the best first.
export function placeViews(tile) {
  const axes = axesOf(tile.layout);
  const views = [];
  if (axes.includes("TLane") || axes.includes("TCol")) views.push(["tensor", "Tensor memory"]);
  if (axes.some((name) => axisRow(name).kind === "device")) views.push(["parts", "Devices"]);
  if (onBanks(tile)) views.push(["banks", "Banks"]);
  const threads = axes.some((name) => axisRow(name).kind === "thread");
  views.push(["places", threads ? "Threads × values" : "Places"]);
  if (threads && !views.some(([name]) => name === "parts")) views.push(["parts", "Shares"]);
  return views;
}
