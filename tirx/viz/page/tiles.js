// Tiles from what a user writes, what follows from them, and what is wrong with them.

import {
  LayoutError, apply, axesOf, axisRow, canonicalName, canonicalize, checkShape, displacements, evaluator, extentsOf,
  footprint, isInjective, makeLayout, periodOf, product, sizeOf, span, swizzleAddress,
} from "./algebra.js";
import { bankOf } from "./banks.js";
import { parseCute, toTile } from "./cute.js";
import { elements, number } from "./dom.js";
import { isLinear, linearTile } from "./linear.js";
import { checkSwizzle, layoutText, parseIntegers, parseLayout, scaledText, swizzleText } from "./notation.js";
import { coordinateOf, onBanks } from "./views.js";

const SWIZZLED = /^\s*(?:Swizzle|Sw|S)\s*<\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*>\s*o\s*(?:_?smem_ptr\[(\d+)b\]\([^)]*\)\s*o\s*|(\d+)\s*o\s*)?/;
const ATTRIBUTE = /^(\s*(?:#\w+\s*=\s*)?#tirx\.(?:tile|swizzle|compose)_layout<)(.*)>\s*$/s;

// A layout of CuTe, with or without a swizzle, or of Triton, as the command line reads them; null for other texts.
function otherNotation(text, bits) {
  if (isLinear(text)) return linearTile(text);
  const found = SWIZZLED.exec(text);
  if (found === null) return /^\s*(\(|_?\d)/.test(text) ? toTile(parseCute(text)) : null;
  const [head, b, base, shift, width, offset] = found;
  const unit = Number(width ?? bits);
  if (width !== undefined && unit !== bits) throw new LayoutError(`expected a pointer to elements of ${bits} bits, found ${unit} bits`, 0);
  // On offsets in elements where an offset is written, otherwise on bytes.
  const m = Number(base) + (offset === undefined ? 3 - Math.log2(unit) : 0);
  let tile;
  try {
    tile = toTile(parseCute(text.slice(head.length)));
  } catch (error) {
    if (error instanceof LayoutError && error.position !== null) error.position += head.length;
    throw error;
  }
  const swizzle = checkSwizzle({ m, b: Number(b), s: Math.abs(shift), inner: shift >= 0 }, 0);
  const moved = makeLayout(tile.layout.shard, [], offset > 0 ? { m: Number(offset) } : {}, Number(b) ? swizzle : null);
  return { ...tile, layout: moved };
}

// The text of an attribute of the IR in the notation of layouts, and how much was cut off in front of it.
function plainText(text) {
  const found = ATTRIBUTE.exec(text);
  if (found === null) return [text, 0];
  if (found[1].includes("tile_layout")) return [found[2], found[1].length];
  const swizzle = /<?\s*(\d+\s*,\s*\d+\s*,\s*\d+)\s*>?/.exec(found[2]);
  if (found[1].includes("swizzle_layout")) return [`Swizzle(${swizzle?.[1] ?? found[2]})`, 0];
  const tile = /\bS\s*\[[^<>]*/.exec(found[2]);
  return [`ComposeLayout(Swizzle(${swizzle?.[1] ?? ""}), ${tile?.[0] ?? ""})`, 0];
}

// { layout, shape, dtype, bits, text }. An error has `where`: "layout" or "shape".
export function readTile(text, shapeText, dtype, tables) {
  const bits = tables.dtypes.find((row) => row.name === dtype)?.storage ?? 16;
  const at = (where, run) => {
    try {
      return run();
    } catch (error) {
      if (error instanceof LayoutError) error.where ??= where;
      throw error;
    }
  };
  let shape = at("shape", () => (shapeText.trim() ? parseIntegers(shapeText) : null));
  let layout;
  const other = at("layout", () => otherNotation(text, bits));
  if (other !== null) {
    layout = other.layout;
    shape ??= other.shape;
  } else {
    const [plain, cut] = plainText(text);
    layout = at("layout", () => {
      try {
        return parseLayout(plain, shape);
      } catch (error) {
        if (error instanceof LayoutError && error.position) error.position += cut;
        throw error;
      }
    });
    shape ??= extentsOf(layout);
  }
  if (!shape.length) shape = [1];
  at("layout", () => displacements(layout)); // as many copies as can be shown
  at("shape", () => checkShape(shape, sizeOf(layout)));
  return { layout, shape, dtype, bits, text };
}

// Short facts for the line under the input.
export function facts(tile) {
  const { layout } = tile;
  const copies = product(layout.replica.map((it) => it.extent));
  const found = [elements(sizeOf(layout))];
  if (copies > 1) found.push(`${number(copies)} copies of each`);
  for (const [name, [low, high]] of Object.entries(footprint(layout))) found.push(`${name} ${number(low)}–${number(high)}`);
  const canonical = layoutText(canonicalize(layout));
  if (canonical !== layoutText(layout)) found.push(`normal form ${canonical}`);
  return found;
}

// Bounds, one place for each element, alignment, scopes: [{ level: "ok" | "warn" | "bad", text }].
export function validity(tile, tables) {
  const { layout, bits } = tile;
  const found = [];
  const ends = footprint(layout);
  let bounded = true;
  for (const [name, [low, high]] of Object.entries(ends)) {
    const row = axisRow(canonicalName(name));
    const limit = row.bound === undefined ? null : row.cell_bits === undefined ? row.bound : Math.floor((row.bound * row.cell_bits) / bits);
    if (low < 0 || (limit !== null && high >= limit)) {
      bounded = false;
      const legal = limit === null ? "0 or more" : `0..${limit - 1}`;
      found.push({ level: "bad", text: `${name} must stay in ${legal}, found ${low}..${high}` });
    }
  }
  if (bounded) found.push({ level: "ok", text: "every coordinate is inside of its axis" });
  const injective = isInjective(layout);
  if (injective === null) found.push({ level: "warn", text: "too many places to tell whether two elements share one" });
  else if (injective) found.push({ level: "ok", text: "no two elements share a place" });
  else found.push({ level: "warn", text: "some elements share a place (broadcast or overlap)" });
  found.push(...scopes(layout));
  if (axesOf(layout).some((name) => name === "TCol" || name === "TLane")) {
    const [low, high] = ends.TCol ?? [0, 0];
    const columns = Math.ceil(((high + 1) * bits) / 32);
    let allocated = 32;
    while (allocated < columns) allocated *= 2;
    const level = columns <= 512 ? "ok" : "bad";
    found.push({ level, text: `${columns} columns of 32 bits from ${Math.floor((low * bits) / 32)}; an allocation has ${allocated}` });
  }
  if (onBanks(tile)) found.push(...alignment(tile, tables));
  return found;
}

function scopes(layout) {
  const rows = [...new Set(axesOf(layout).map(canonicalName))].map((name) => axisRow(name)).filter((row) => row.kind === "thread");
  for (const a of rows) {
    for (const b of rows) {
      if (a === b || a.weight === undefined || b.weight === undefined) continue;
      const end = (row) => row.weight * (row.bound ?? Infinity);
      if (a.name < b.name && Math.max(a.weight, b.weight) < Math.min(end(a), end(b))) {
        return [{ level: "bad", text: `${a.name} and ${b.name} depend on the same bits of the thread index` }];
      }
    }
  }
  if (!rows.length) return [];
  const chained = rows.every((row) => rows.some((other) => other.unit === row.parent) || rows.filter((other) => !rows.some((each) => each.unit === other.parent)).length === 1);
  const names = rows.map((row) => `${row.unit} in ${row.parent}`).join(", ");
  return [chained ? { level: "ok", text: `scopes follow each other: ${names}` } : { level: "warn", text: `scopes leave a level open: ${names}` }];
}

function alignment(tile, tables) {
  const { layout, bits } = tile;
  if (layout.swizzle === null || layout.swizzle.b === 0) return [];
  const period = (periodOf(layout.swizzle) * bits) / 8;
  const { m, b, s } = layout.swizzle;
  const mode = tables.modes.find((row) => row.b === b && row.s === s && 2 ** row.m * 8 === 2 ** m * bits);
  const found = [];
  if (mode === undefined) {
    found.push({ level: "warn", text: `${swizzleText(layout.swizzle)} of ${tile.dtype} is no swizzle that descriptors name` });
  } else {
    found.push({ level: "ok", text: `${mode.name} swizzle; the base of the tile is aligned to ${mode.base_alignment} bytes` });
  }
  const length = (span(layout, "m") * bits) / 8;
  if (length % period) found.push({ level: "warn", text: `${length} bytes are no whole periods of ${period}: the tile cannot be repeated` });
  return found;
}

// The steps from an element to its places, as lines of text.
export function formula(tile, flat) {
  const { layout, shape, bits } = tile;
  const at = coordinateOf(flat, shape);
  const lines = [];
  const terms = at.map((x, d) => {
    const weight = product(shape.slice(d + 1));
    return weight === 1 ? `${x}` : `${x}·${weight}`;
  });
  lines.push(["flat", shape.length > 1 ? `${terms.join(" + ")} = ${flat}` : `${flat}`]);
  const extents = extentsOf(layout);
  const digits = coordinateOf(flat, extents);
  if (extents.length) lines.push(["digits", `(${digits.join(", ")}) over (${extents.join(", ")})`]);
  const base = apply({ ...layout, swizzle: null }, flat);
  for (const name of axesOf(layout)) {
    const own = layout.shard.map((it, k) => [it, digits[k]]).filter(([it]) => it.axis === name);
    const parts = own.map(([it, digit]) => (it.stride === 1 ? `${digit}` : `${digit}·${it.stride}`));
    const offset = layout.offset[name];
    let text = parts.join(" + ") || "0";
    if (offset !== undefined) text += ` ${offset < 0 ? "−" : "+"} ${Math.abs(offset)}`;
    if (parts.length > 1 || offset !== undefined || own.some(([it]) => it.stride !== 1)) text += ` = ${base[name]}`;
    const copies = layout.replica.filter((it) => it.axis === name).map((it) => `${scaledText(it.stride, "m")}·r, r < ${it.extent}`);
    if (copies.length) text += `; copies: + ${copies.join(" + ")}`;
    lines.push([name, text]);
  }
  if (layout.swizzle !== null && base.m !== undefined) {
    const { m, b, s } = layout.swizzle;
    const moved = swizzleAddress(layout.swizzle, base.m);
    const x = Math.floor(base.m / 2 ** m);
    const field = Math.floor(x / 2 ** s) % 2 ** b;
    const what = layout.swizzle.inner ? `piece ${x} xor ${field}` : "higher bits xor lower bits";
    lines.push(["swizzled", `${base.m} → ${moved} (${what})`]);
    base.m = moved;
  }
  if (onBanks(tile)) {
    const { bank, line } = bankOf(base.m ?? 0, bits);
    lines.push(["memory", `byte ${((base.m ?? 0) * bits) / 8}, bank ${bank}, line ${line}`]);
  }
  return lines;
}

export function copiesOf(layout) {
  return displacements(layout).length;
}

export const placeText = (place) => Object.entries(place).map(([name, value]) => `${name} ${value}`).join(", ");

// The same tile with a swizzle of a hardware mode, or without one.
export function withMode(tile, mode, tables) {
  const row = tables.modes.find((each) => each.name === mode);
  const shift = Math.log2(8 / tile.bits);
  const swizzle = row === undefined || row.b === 0 ? null : { m: row.m + shift, b: row.b, s: row.s, inner: true };
  return { ...tile, layout: { ...tile.layout, swizzle } };
}

export function modeOf(tile, tables) {
  const { swizzle } = tile.layout;
  if (swizzle === null || swizzle.b === 0) return "none";
  const found = tables.modes.find((row) => row.b === swizzle.b && row.s === swizzle.s && 2 ** row.m * 8 === 2 ** swizzle.m * tile.bits);
  return found?.name ?? "other";
}

// Whether the page's algebra gives the table that `tirx.layout` made, for a tile that was not edited.
export function agrees(tile, given, digest) {
  const known = given.find((each) => each.text === tile.text && each.digest !== undefined);
  if (known === undefined) return null;
  return digest(tile.layout) === known.digest;
}

export { evaluator };
