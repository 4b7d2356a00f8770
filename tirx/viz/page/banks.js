// Shared-memory banks: 32 banks of 4 bytes, and the conflicts of access patterns. As `tirx.copy.banks`.

import { LayoutError, evaluator, product, sizeOf } from "./algebra.js";

export const BANKS = 32;
const WORD_BITS = 32;
const LANES_TOGETHER = { 1: 32, 2: 32, 4: 32, 8: 16, 16: 8 }; // lanes that one phase serves, by bytes of a lane

// Bank, line and position inside of its word of an element address.
export function bankOf(address, bits) {
  const word = Math.floor((address * bits) / WORD_BITS);
  return { bank: ((word % BANKS) + BANKS) % BANKS, line: Math.floor(word / BANKS), word };
}

export function addressesOf(layout) {
  const { axes, at } = evaluator(layout);
  const linear = axes.indexOf("m");
  const out = new Array(axes.length);
  return (flat) => (linear < 0 ? 0 : at(flat, out)[linear]);
}

// The patterns that the page offers. Each is a function to (threads, elements) of flat indices, or null where it does
// not fit; `vector` elements are accessed at once.
export function patterns(shape, bits) {
  const columns = shape[shape.length - 1];
  const rows = product(shape) / columns;
  const chunk = Math.max(1, 128 / bits);
  const at = (row, column) => row * columns + column;
  const range = (count, item) => Array.from({ length: count }, (_, i) => item(i));
  const all = {
    row: {
      title: "a row, 1 element a lane",
      vector: 1,
      lanes: columns >= 1 && rows * columns >= 32 ? range(32, (lane) => [lane]) : null,
    },
    rowVector: {
      title: `a row, ${chunk} elements (16 bytes) a lane`,
      vector: chunk,
      lanes: rows * columns >= 32 * chunk ? range(32, (lane) => range(chunk, (k) => lane * chunk + k)) : null,
    },
    column: {
      title: "a column, 1 element a lane",
      vector: 1,
      lanes: rows >= 8 ? range(Math.min(rows, 32), (lane) => [at(lane, 0)]) : null,
    },
    columnVector: {
      title: `a column of 16-byte pieces`,
      vector: chunk,
      lanes: rows >= 8 && columns >= chunk ? range(Math.min(rows, 32), (lane) => range(chunk, (k) => at(lane, k))) : null,
    },
    ldmatrix: {
      title: "ldmatrix.x4: 16 x 32 bytes",
      vector: chunk,
      lanes:
        bits <= 32 && rows >= 16 && columns >= 2 * chunk
          ? range(32, (lane) => range(chunk, (k) => at((lane % 8) + (lane & 8), (lane >= 16 ? chunk : 0) + k)))
          : null,
    },
    fragment: {
      title: "an mma.m16n8 fragment: lane 4g + t reads pair t of row g",
      vector: 2,
      lanes: bits <= 32 && rows >= 8 && columns >= 8 ? range(32, (lane) => range(2, (k) => at(lane >> 2, (lane & 3) * 2 + k))) : null,
    },
  };
  return Object.entries(all)
    .map(([name, each]) => ({ name, ...each }))
    .filter((each) => each.lanes !== null && LANES_TOGETHER[(bits * each.vector) / 8] !== undefined);
}

// The conflicts of a pattern: { degree, wavefronts, degrees, worst }. Throws LayoutError where an access is torn.
export function analyse(layout, lanes, bits, vector) {
  const bytes = (bits * vector) / 8;
  const together = LANES_TOGETHER[bytes];
  if (together === undefined) {
    throw new LayoutError(`an access takes 1, 2, 4, 8, 16 bytes, found ${vector} elements of ${bits} bits`);
  }
  const address = addressesOf(layout);
  const warps = Math.ceil(lanes.length / 32);
  const accesses = lanes[0].length / vector;
  const degrees = [];
  let worst = null;
  for (let warp = 0; warp < warps; warp++) {
    for (let access = 0; access < accesses; access++) {
      for (let first = 0; first < 32; first += together) {
        const words = new Map(); // bank -> word -> lanes
        for (let lane = first; lane < first + together; lane++) {
          const held = lanes[warp * 32 + lane]?.slice(access * vector, (access + 1) * vector);
          if (held === undefined || held[0] < 0) continue;
          const start = address(held[0]);
          if (start % vector || held.some((flat, k) => address(flat) !== start + k)) {
            throw new LayoutError(`the ${vector} elements of lane ${lane} are not consecutive and aligned`);
          }
          const count = Math.max(1, (bits * vector) / WORD_BITS);
          const word = Math.floor((start * bits) / WORD_BITS);
          for (let k = 0; k < count; k++) {
            const bank = (word + k) % BANKS;
            const lines = words.get(bank) ?? new Map();
            words.set(bank, lines);
            lines.set(word + k, [...(lines.get(word + k) ?? []), { lane, flat: held[0] }]);
          }
        }
        if (!words.size) continue;
        const [bank, lines] = [...words].sort(([a, x], [b, y]) => y.size - x.size || a - b)[0];
        degrees.push(lines.size);
        if (worst === null || lines.size > worst.degree) {
          worst = { warp, access, first, last: first + together - 1, bank, degree: lines.size, lines };
        }
      }
    }
  }
  if (worst === null) throw new LayoutError("expected an access pattern in which some thread accesses an element");
  const wavefronts = degrees.reduce((a, b) => a + b, 0);
  return { degree: worst.degree, wavefronts, degrees, worst, together, bytes };
}

// The 32-byte sectors that the accesses of a warp touch if the tile is in global memory, and the fewest that could hold
// their bytes: { touched, least }. CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
export function sectors(layout, lanes, bits, vector) {
  const address = addressesOf(layout);
  let touched = 0, least = 0;
  for (let access = 0; access < lanes[0].length / vector; access++) {
    const found = new Set();
    const bytes = new Set();
    for (const lane of lanes.slice(0, 32)) {
      for (const flat of lane.slice(access * vector, (access + 1) * vector)) {
        if (flat < 0) continue;
        const first = address(flat) * bits;
        for (let bit = first; bit < first + bits; bit += Math.min(8, bits)) {
          bytes.add(Math.floor(bit / 8));
          found.add(Math.floor(bit / 256));
        }
      }
    }
    touched += found.size;
    least += Math.ceil(bytes.size / 32);
  }
  return { touched, least };
}

// The elements that a pattern reads, for the grids.
export const elementsOf = (lanes) => lanes.flat().filter((flat) => flat >= 0);

export function fitsBanks(layout, bits) {
  return sizeOf(layout) > 0 && bits <= 128 && layout.shard.every((it) => it.axis === "m") && 128 % bits === 0;
}
