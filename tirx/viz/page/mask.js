// Zero-column mask descriptors of tcgen05.mma.ws, both ways. As `tirx.tcgen05.zero_column_mask`.

import { LayoutError } from "./algebra.js";
import { deposit, extract } from "./words.js";

export const SUB_MASKS = { 128: 1, 64: 2, 32: 4 };
export const MAX_SHIFT = { 128: 32, 64: 32, 32: 16 };

function subMaskWidth(m, n) {
  if (SUB_MASKS[m] === undefined) throw new LayoutError(`expected M = 32, 64, 128, found ${m}`);
  if (!(n > 0 && n <= 256) || n % SUB_MASKS[m]) {
    throw new LayoutError(`expected N from 1 to 256, a multiple of ${SUB_MASKS[m]} for M = ${m}, found ${n}`);
  }
  return n / SUB_MASKS[m];
}

// The mask of a descriptor: an array of N booleans, true where a column counts as zero.
export function expandMask(mask, m, n) {
  const width = subMaskWidth(m, n);
  if (mask.shift > MAX_SHIFT[m]) {
    throw new LayoutError(`shift: expected at most ${MAX_SHIFT[m]} for M = ${m}, found ${mask.shift}`);
  }
  const zero = new Array(n).fill(false);
  if (!mask.generate) return zero;
  const skip = mask.skip_span + 1, use = mask.use_span + 1;
  for (let i = 0; i < SUB_MASKS[m]; i++) {
    const phase = mask.start_count[i] + (mask.first_span[i] ? 0 : skip);
    for (let j = 0; j < width; j++) zero[i * width + j] = (phase + j) % (skip + use) < skip;
  }
  return zero;
}

// The sub-masks that skip more than their first run: legal, though no example of the ISA does so.
export function lateStarts(mask, m) {
  if (!mask.generate) return [];
  const ends = mask.first_span.map((first) => (first ? mask.skip_span : mask.use_span));
  return ends.flatMap((end, i) => (i < SUB_MASKS[m] && mask.start_count[i] > end ? [i] : []));
}

function runsOf(zero, start, stop) {
  const runs = [];
  for (let j = start; j < stop; ) {
    let end = j;
    while (end < stop && zero[end] === zero[j]) end++;
    runs.push({ start: j, stop: end, zeroed: zero[j], bounded: j > start && end < stop, length: end - j });
    j = end;
  }
  return runs;
}

function spanOf(runs, zeroed) {
  const own = runs.filter((run) => run.zeroed === zeroed);
  const model = own.find((run) => run.bounded);
  if (model === undefined) return Math.max(1, ...own.map((run) => run.length));
  for (const run of own) {
    if (run.length > model.length || (run.bounded && run.length < model.length)) {
      const kind = zeroed ? "zeroed" : "used";
      const column = run.length > model.length ? run.start + model.length : run.stop;
      const error = new LayoutError(
        `no zero-column mask descriptor has these columns: columns ${model.start} to ${model.stop - 1} make a run of ` +
          `${model.length} ${kind} columns and all such runs must have that length; the run at column ${run.start} ` +
          `has ${run.length}`,
      );
      error.column = column;
      throw error;
    }
  }
  return model.length;
}

// The smallest descriptor that zeroes exactly these columns; LayoutError, with `column`, where none does.
export function maskOf(zero, m, shift = 0) {
  const n = zero.length;
  const width = subMaskWidth(m, n);
  const mask = { start_count: [0, 0, 0, 0], first_span: [0, 0, 0, 0], skip_span: 0, use_span: 0, shift, generate: 0 };
  if (zero.some((each) => each)) {
    const subs = [];
    for (let first = 0; first < n; first += width) subs.push(runsOf(zero, first, first + width));
    const skip = spanOf(subs.flat(), true), use = spanOf(subs.flat(), false);
    subs.forEach(([first, ...rest], i) => {
      mask.first_span[i] = first.zeroed ? 1 : 0;
      mask.start_count[i] = rest.length ? (first.zeroed ? skip : use) - first.length : 0;
    });
    Object.assign(mask, { skip_span: skip - 1, use_span: use - 1, generate: 1 });
  }
  expandMask(mask, m, n);
  return mask;
}

const isFour = (name) => /^(start_count|first_span)\[(\d)\]$/.exec(name);

export function encodeMask(mask, fields) {
  let word = 0n;
  for (const [name, bits] of Object.entries(fields)) {
    const four = isFour(name);
    word = deposit(word, bits, four ? mask[four[1]][Number(four[2])] : Number(mask[name]));
  }
  return word;
}

export function decodeMask(word, fields, reserved) {
  for (const bits of reserved) {
    if (extract(word, bits)) throw new LayoutError(`reserved bits ${bits[0]}-${bits[0] + bits[1] - 1}: expected 0`);
  }
  const mask = { start_count: [0, 0, 0, 0], first_span: [0, 0, 0, 0] };
  for (const [name, bits] of Object.entries(fields)) {
    const four = isFour(name);
    if (four) mask[four[1]][Number(four[2])] = extract(word, bits);
    else mask[name] = extract(word, bits);
  }
  return mask;
}
