// Reading and writing the layout notation; every error carries the character offset of the mistake.

import { LayoutError, axisRow, iter, makeLayout, rowMajor } from "./algebra.js";

const LARGEST = 2 ** 48; // extents, strides and sums stay exact

class Scanner {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }
  skip() {
    while (/\s/.test(this.text[this.at] ?? "")) this.at++;
    return this.at;
  }
  peek(token) {
    this.skip();
    return this.text.startsWith(token, this.at);
  }
  take(token) {
    if (!this.peek(token)) return false;
    this.at += token.length;
    return true;
  }
  match(pattern) {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }
  found() {
    this.skip();
    if (this.at >= this.text.length) return "the end of the text";
    const before = this.at;
    const token = this.match(/-?[\w.]+/y) ?? this.text[this.at];
    this.at = before;
    return `'${token.length > 40 ? token.slice(0, 40) + "..." : token}'`;
  }
  fail(expected) {
    return new LayoutError(`expected ${expected}, found ${this.found()}`, this.skip());
  }
  expect(token) {
    if (!this.take(token)) throw this.fail(`'${token}'`);
  }
  integer(what) {
    const at = this.skip();
    const digits = this.match(/-?[0-9]+(?![A-Za-z_0-9])/y);
    if (digits === null) throw this.fail(what);
    const value = Number(digits);
    if (Math.abs(value) > LARGEST) throw new LayoutError(`expected an integer up to 2**48, found ${digits}`, at);
    return value;
  }
  extent() {
    const at = this.skip();
    const value = this.integer("an extent (a positive integer)");
    if (value < 1) throw new LayoutError(`an extent must be positive, found ${value}`, at);
    return value;
  }
}

function axisName(scan) {
  scan.take("Axis.");
  const at = scan.skip();
  const quote = scan.take('"') ? '"' : scan.take("'") ? "'" : "";
  const name = scan.match(/[A-Za-z_]\w*/y);
  if (name === null) throw scan.fail("an axis name");
  if (quote) scan.expect(quote);
  return axisRow(name, at).name;
}

function scaledInteger(scan, what) {
  const count = scan.integer(what);
  return scan.take("@") ? [count, axisName(scan)] : [count, "m"];
}

function listOf(scan, item) {
  if (!scan.take("(")) return [item()];
  const items = [];
  do {
    if (scan.peek(")")) break;
    items.push(item());
  } while (scan.take(","));
  scan.expect(")");
  return items;
}

function bracket(scan) {
  scan.expect("[");
  if (scan.take("]")) return [];
  const parenthesised = scan.peek("(");
  const extents = listOf(scan, () => scan.extent());
  if (!parenthesised) while (scan.take(",")) extents.push(scan.extent());
  if (scan.take("]")) return rowMajor(extents).shard;
  scan.expect(":");
  const at = scan.skip();
  const strides = listOf(scan, () => scaledInteger(scan, "a stride"));
  if (strides.length !== extents.length) {
    throw new LayoutError(`expected ${extents.length} strides, found ${strides.length}`, at);
  }
  scan.expect("]");
  return extents.map((extent, k) => iter(extent, ...strides[k]));
}

function readTile(scan) {
  const wrapped = scan.match(/(?:T\.)?TileLayout\s*\(/y) !== null;
  if (scan.match(/(?:T\.)?S(?=\s*\[)/y) === null) throw scan.fail("'S['");
  const shard = bracket(scan);
  const replica = [];
  const offset = {};
  for (;;) {
    const at = scan.skip();
    const sign = scan.take("+") ? 1 : scan.take("-") ? -1 : 0;
    if (!sign) break;
    if (scan.match(/(?:T\.)?R(?=\s*\[)/y) !== null) {
      if (sign < 0) throw new LayoutError("expected '+' before a replica, found '-'", at);
      replica.push(...bracket(scan));
      continue;
    }
    const open = scan.take("(");
    do {
      const [count, name] = scaledInteger(scan, "an offset or R[...]");
      offset[name] = (offset[name] ?? 0) + sign * count;
    } while (open && scan.take("+"));
    if (open) scan.expect(")");
  }
  if (wrapped) scan.expect(")");
  return makeLayout(shard, replica, offset);
}

function readSwizzle(scan) {
  scan.expect("(");
  const at = scan.skip();
  const numbers = [];
  let inner = true;
  do {
    if (scan.match(/swizzle_inner\s*=/y) !== null) {
      const word = scan.match(/True|False/y);
      if (word === null) throw scan.fail("True or False");
      inner = word === "True";
    } else {
      scan.match(/(per_element|swizzle_len|atom_len)\s*=/y);
      numbers.push(scan.integer("a number of the swizzle"));
    }
  } while (scan.take(","));
  scan.expect(")");
  if (numbers.length !== 3) throw new LayoutError(`expected 3 numbers of a swizzle, found ${numbers.length}`, at);
  const [m, b, s] = numbers;
  return checkSwizzle({ m, b, s, inner }, at);
}

export function checkSwizzle(swizzle, at = null) {
  const { m, b, s } = swizzle;
  for (const [name, value] of [["per_element", m], ["swizzle_len", b], ["atom_len", s]]) {
    if (value < 0) throw new LayoutError(`${name} of a swizzle must not be negative, found ${value}`, at);
  }
  if (s < b) throw new LayoutError(`atom_len must be at least swizzle_len (${b}), found ${s}`, at);
  if (m + s + b > 48) throw new LayoutError(`expected at most 48 address bits, found ${m + s + b}`, at);
  return swizzle;
}

// A tile, `Swizzle(M, B, S)` with the shape that it is of, or `ComposeLayout(Swizzle(...), S[...])`.
export function parseLayout(text, shape = null) {
  const scan = new Scanner(text);
  let found;
  if (scan.match(/(?:T\.)?ComposeLayout\s*\(/y) !== null) {
    let swizzle;
    if (/[0-9]/.test(text[scan.skip()] ?? "")) {
      const at = scan.skip();
      const numbers = [0, 1, 2].map(() => {
        const value = scan.integer("a number of the swizzle");
        scan.expect(",");
        return value;
      });
      swizzle = checkSwizzle({ m: numbers[0], b: numbers[1], s: numbers[2], inner: true }, at);
    } else {
      if (scan.match(/(?:T\.)?Swizzle(Layout)?/y) === null) throw scan.fail("'Swizzle('");
      swizzle = readSwizzle(scan);
      scan.expect(",");
    }
    found = { ...readTile(scan), swizzle };
    if (scan.take(",")) {
      if (scan.match(/swizzle_inner\s*=\s*False/y) !== null) found.swizzle = { ...swizzle, inner: false };
      else if (scan.match(/swizzle_inner\s*=\s*True/y) === null) throw scan.fail("swizzle_inner=");
    }
    scan.expect(")");
    checkOnMemory(found);
  } else if (scan.match(/(?:T\.)?Swizzle(Layout)?(?=\s*\()/y) !== null) {
    const swizzle = readSwizzle(scan);
    if (shape === null) throw new LayoutError("a bare swizzle needs a shape", 0);
    found = { ...rowMajor(shape), swizzle };
  } else {
    found = readTile(scan);
  }
  scan.skip();
  if (scan.at < text.length) throw scan.fail("the end of the layout");
  return found;
}

function checkOnMemory(layout) {
  const others = [...layout.shard, ...layout.replica].map((it) => it.axis).concat(Object.keys(layout.offset));
  const foreign = others.find((name) => name !== "m");
  if (foreign !== undefined) throw new LayoutError(`a swizzle acts on axis m only, found ${foreign}`);
}

export const scaledText = (count, name) => (name === "m" ? `${count}` : `${count}@${name}`);

function bracketText(letter, iters) {
  if (!iters.length) return `${letter}[]`;
  const strides = iters.map((it) => scaledText(it.stride, it.axis));
  if (iters.length === 1) return `${letter}[${iters[0].extent} : ${strides[0]}]`;
  return `${letter}[(${iters.map((it) => it.extent).join(", ")}) : (${strides.join(", ")})]`;
}

export const swizzleText = ({ m, b, s, inner }) => `Swizzle(${m}, ${b}, ${s}${inner ? "" : ", swizzle_inner=False"})`;

export function layoutText(layout) {
  let text = bracketText("S", layout.shard);
  if (layout.replica.length) text += ` + ${bracketText("R", layout.replica)}`;
  for (const [name, count] of Object.entries(layout.offset)) {
    text += ` ${count < 0 ? "-" : "+"} ${scaledText(Math.abs(count), name)}`;
  }
  return layout.swizzle === null ? text : `ComposeLayout(${swizzleText(layout.swizzle)}, ${text})`;
}

// Integers with commas, as in a shape: "8, 16" or "(8, 16)" or "8x16".
export function parseIntegers(text, what = "a shape") {
  const inside = text.trim().replace(/^[([]|[)\]]$/g, "");
  const parts = inside.split(/\s*[,x×]\s*/).filter((part) => part !== "");
  if (!parts.length || parts.some((part) => !/^\d+$/.test(part.trim()) || Number(part) > LARGEST)) {
    throw new LayoutError(`expected ${what} as 8,16, found '${text}'`);
  }
  return parts.map(Number);
}

// A box as "0:8, 4:16".
export function parseRegion(text) {
  return text.split(",").map((part) => {
    const found = /^\s*(\d+)\s*:\s*(\d+)\s*$/.exec(part);
    if (found === null) throw new LayoutError(`expected a box as 0:8, 4:16, found '${text}'`);
    return [Number(found[1]), Number(found[2])];
  });
}
