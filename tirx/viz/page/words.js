// Words of tensor-core instructions: fields, matrix descriptors of canonical tiles, instruction descriptors.
//
// The tables of fields and modes come from the encoders of `tirx.smem` and `tirx.tcgen05`; this module has none of its
// own. `canonicalFits` is the address walk of `tirx.smem.walk`.

import { LayoutError, sizeOf, swizzleAddress } from "./algebra.js";
import { addressesOf } from "./banks.js";

export const extract = (word, [first, width]) => Number((word >> BigInt(first)) & ((1n << BigInt(width)) - 1n));

export function deposit(word, [first, width], code) {
  if (code < 0 || code >= 2 ** width) throw new LayoutError(`expected ${width} bits, found ${code}`);
  return word | (BigInt(code) << BigInt(first));
}

export const hex = (word, width = 64) => `0x${word.toString(16).padStart(width / 4, "0")}`;

export function parseWord(text, width = 64) {
  let word;
  try {
    word = BigInt(text.trim().replace(/_/g, ""));
  } catch {
    throw new LayoutError(`expected a word as 0x4000404000010000, found '${text}'`);
  }
  if (word < 0n || word >= 1n << BigInt(width)) throw new LayoutError(`expected a word of ${width} bits, found '${text}'`);
  return word;
}

export const bitsText = ([first, width]) => (width === 1 ? `bit ${first}` : `bits ${first}-${first + width - 1}`);

// Matrix descriptors.

// Every descriptor that reads exactly this layout of (MN, K) elements, with those that the hardware refuses for the type.
// `tables.modes`: name, code, wgmma_code, row_bytes, rows, base_alignment, m, b, s (of the XOR on bytes).
export function canonicalFits(layout, shape, bits, tables) {
  if (shape.length !== 2) throw new LayoutError(`expected an operand of shape (MN, K), found rank ${shape.length}`);
  const [mn, k] = shape;
  if (layout.replica.length) throw new LayoutError("expected one copy of every element in shared memory, found replicas");
  const foreign = [...layout.shard.map((it) => it.axis), ...Object.keys(layout.offset)].find((name) => name !== "m");
  if (foreign !== undefined) throw new LayoutError(`expected a shared-memory layout, on axis m only, found ${foreign}`);
  if (sizeOf(layout) > 2 ** 18) throw new LayoutError(`expected at most ${2 ** 18} elements, found ${sizeOf(layout)}`);
  if ((k * bits) % 128) throw new LayoutError(`expected K in steps of ${128 / bits} elements (16 bytes), found ${k}`);
  const address = addressesOf(layout);
  const bytes = (flat) => (address(flat) * bits) / 8;
  const fits = [];
  for (const major of ["K", "MN"]) {
    for (const mode of tables.modes) {
      const fit = fitOne(major, mode, mn, k, bits, bytes);
      if (fit !== null) fits.push(fit);
    }
  }
  return fits;
}

function fitOne(major, mode, mn, k, bits, bytes) {
  const xor = { m: mode.m, b: mode.b, s: mode.s, inner: true };
  // Without the XOR; sub-byte elements keep their fraction of a byte.
  const plain = (flat) => {
    const at = bytes(flat), whole = Math.floor(at);
    return swizzleAddress(xor, whole) + (at - whole);
  };
  const size = bits / 8;
  const row = mode.row_bytes;
  const swizzled = mode.b > 0;
  const atom = 2 ** mode.m;
  const start = plain(0);
  if (start < 0 || start % atom) return null;
  const outerMn = major === "K" ? (i) => Math.floor(i / 8) : (i) => Math.floor((i * size) / row);
  const outerK = major === "K"
    ? (j) => (swizzled ? 0 : Math.floor((j * size) / 16))
    : (j) => Math.floor(j / mode.rows);
  const inner = major === "K"
    ? (i, j) => (i % 8) * row + (swizzled ? j * size : (j * size) % 16)
    : (i, j) => ((i * size) % row) + (j % mode.rows) * row;
  const perMn = major === "K" ? 8 : row / size;
  const perK = major === "K" ? (swizzled ? Infinity : 16 / size) : mode.rows;
  const strideMn = mn > perMn ? plain(perMn * k) - start : null;
  const strideK = k > perK ? plain(perK) - start : null;
  if (major === "K" && swizzled && (start % row) + k * size > row) return fitSteps();
  if (major === "MN" && start % row) return null;
  for (const stride of [strideMn, strideK]) {
    if (stride !== null && (stride < 0 || stride % 16 || stride >= 2 ** 18)) return null;
  }
  for (let i = 0; i < mn; i++) {
    for (let j = 0; j < k; j++) {
      const wanted = start + inner(i, j) + outerMn(i) * (strideMn ?? 0) + outerK(j) * (strideK ?? 0);
      if (plain(i * k + j) !== wanted) return null;
    }
  }
  const traded = major === "MN" && swizzled;
  const [lbo, sbo] = traded ? [strideMn, strideK] : [strideK, strideMn];
  return { major, mode, lbo, sbo, start, steps: [{ k0: 0, start }] };

  // A tile wider than the row of its swizzle has one start address for every row's worth of K.
  function fitSteps() {
    const columns = row / size;
    if (k % columns) return null;
    const steps = [];
    for (let k0 = 0; k0 < k; k0 += columns) {
      const part = fitOne(major, mode, mn, columns, bits, (flat) => bytes(Math.floor(flat / columns) * k + k0 + (flat % columns)));
      if (part === null || (steps.length && part.sbo !== steps[0].sbo)) return null;
      steps.push({ k0, start: part.start, sbo: part.sbo });
    }
    return { major, mode, lbo: null, sbo: steps[0].sbo, start, steps };
  }
}

// The word of a fit for a tile at byte address `base`; `family` is a row of `tables.families`.
export function encodeDescriptor(fit, start, family) {
  const code = family.name === "wgmma" ? fit.mode.wgmma_code : fit.mode.code;
  if (code === null) throw new LayoutError(`${family.name} has no swizzle ${fit.mode.name}`);
  const codes = {
    start: start / 16,
    lbo: (fit.lbo ?? 16) / 16,
    sbo: (fit.sbo ?? 0) / 16,
    constant: family.constant,
    swizzle: code,
  };
  let word = 0n;
  for (const [name, bits] of Object.entries(family.fields)) word = deposit(word, bits, codes[name] ?? 0);
  return word;
}

// The start addresses of one instruction of `kBytes` bytes of K after another, for a K-major swizzled tile.
export function kSteps(fit, shape, bits, kBytes) {
  const size = bits / 8;
  const per = kBytes / size;
  const steps = [];
  for (let k0 = 0; k0 + per <= shape[1] || k0 === 0; k0 += per) {
    const own = [...fit.steps].reverse().find((step) => step.k0 <= k0);
    let start;
    if (fit.major === "K") {
      const ahead = (k0 - own.k0) * size;
      start = own.start + (fit.mode.b > 0 ? ahead : (ahead / 16) * (fit.lbo ?? 16));
    } else {
      const stride = fit.mode.b > 0 ? fit.sbo : fit.lbo;
      start = own.start + Math.floor(k0 / fit.mode.rows) * (stride ?? 0) + (k0 % fit.mode.rows) * fit.mode.row_bytes;
    }
    steps.push({ k0, start });
    if (k0 + per > shape[1]) break;
  }
  return steps;
}

export function describeField(name, code, family) {
  if (name === "start") return `byte ${code * 16} of shared memory`;
  if (name === "lbo" || name === "sbo") return `${code * 16} bytes`;
  if (name === "swizzle") return family.swizzles[code] ?? "no swizzle mode";
  if (name === "constant") return code === family.constant ? "as it must be" : `must be ${family.constant}`;
  if (name === "lbo_absolute") return code ? "LBO is an address" : "LBO is an offset";
  if (name === "base_offset") return code ? `the pattern starts ${code} rows off` : "the pattern is aligned";
  return "";
}

// Instruction descriptors: `kind` is a row of `tables.kinds`, `values` {field: text}.
export function encodeInstruction(kind, values) {
  let word = 0n;
  for (const [name, bits] of Object.entries(kind.fields)) {
    const code = kind.codes[name].find(([, value]) => String(value) === String(values[name]));
    if (code === undefined) throw new LayoutError(`kind::${kind.name}: no code for ${name} = ${values[name]}`);
    word = deposit(word, bits, code[0]);
  }
  return word;
}

export function decodeInstruction(kind, word) {
  const values = {};
  for (const [name, bits] of Object.entries(kind.fields)) {
    const code = extract(word, bits);
    const found = kind.codes[name].find(([each]) => each === code);
    if (found === undefined) throw new LayoutError(`kind::${kind.name}: ${bitsText(bits)} (${name}): no meaning of code ${code}`);
    values[name] = String(found[1]);
  }
  for (const bits of kind.reserved) {
    if (extract(word, bits)) throw new LayoutError(`kind::${kind.name}: reserved ${bitsText(bits)}: expected 0`);
  }
  return values;
}

export function ptxConstant(word, width, register) {
  return `mov.b${width} ${register}, ${hex(word, width)};`;
}
