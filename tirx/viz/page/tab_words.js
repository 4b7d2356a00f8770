// Descriptors bit by bit: shared-memory descriptors of a canonical tile, instruction descriptors, zero-column masks.

import { LayoutError } from "./algebra.js";
import { field, h, replace, select, showError, table } from "./dom.js";
import { decodeMask, encodeMask, expandMask, lateStarts, maskOf, MAX_SHIFT, SUB_MASKS } from "./mask.js";
import { state } from "./state.js";
import { readTile } from "./tiles.js";
import {
  bitsText, canonicalFits, decodeInstruction, describeField, encodeDescriptor, encodeInstruction, extract, hex, kSteps, parseWord, ptxConstant,
} from "./words.js";

// The bits of a word from the highest to the lowest, each field in its own colour; `onToggle(bit)` flips one.
export function bitMap(word, width, fields, onToggle = null) {
  const names = Object.keys(fields);
  const owner = new Array(width).fill(null);
  for (const [name, [first, count]] of Object.entries(fields)) for (let k = 0; k < count; k++) owner[first + k] = name;
  const cells = [];
  for (let bit = width - 1; bit >= 0; bit--) {
    const one = (word >> BigInt(bit)) & 1n;
    const name = owner[bit];
    const last = bit === 0 || owner[bit - 1] !== name;
    cells.push(h(onToggle ? "button" : "span", {
      ...(onToggle ? { type: "button", onclick: () => onToggle(bit) } : {}),
      class: `bit ${one ? "one" : ""} ${name === null ? "reserved" : `f${names.indexOf(name) % 8}`} ${last ? "last" : ""}`,
      title: `bit ${bit}: ${name ?? "reserved"}`, "aria-label": `bit ${bit} of ${name ?? "reserved bits"}: ${one}`,
    }, String(one)));
  }
  const rows = [];
  for (let k = 0; k < width; k += 32) {
    rows.push(h("div", { class: "bits" },
      h("span", { class: "bit-label" }, String(width - 1 - k)), cells.slice(k, k + 32), h("span", { class: "bit-label" }, String(width - 32 - k))));
  }
  return h("div", { class: "bitmap" }, rows);
}

const swatch = (name, names) => h("span", { class: `swatch f${names.indexOf(name) % 8}` });

function constants(word, width, register) {
  const lines = [ptxConstant(word, width, register)];
  if (width === 64) {
    const low = word & 0xffffffffn, top = word >> 32n;
    lines.push(`mov.b64 ${register}, {${hex(low, 32)}, ${hex(top, 32)}};   // low, high word`);
  }
  return h("pre", { class: "ptx" }, lines.join("\n"));
}

export function descriptorTab(app) {
  const { tables } = app;
  const input = (name, attributes) => {
    const element = h("input", { class: "mono", spellcheck: "false", id: `in-${name}`, ...attributes });
    element.addEventListener("input", () => app.change({ [name]: element.value }));
    return element;
  };
  const inputs = {
    l: input("l", { class: "mono wide", "aria-label": "layout" }), s: input("s", { size: 12, "aria-label": "shape" }),
    base: input("base", { size: 8, "aria-label": "base address in bytes" }),
    word: input("word", { size: 20, "aria-label": "descriptor", placeholder: "0x4000404000010000" }),
    idesc: input("idesc", { size: 12, "aria-label": "instruction descriptor", placeholder: "0x08400010" }),
  };
  const families = select(tables.families.map((row) => [row.name, row.instruction]), state.fam, (value) => app.change({ fam: value, word: "" }), { id: "family" });
  const kinds = select(tables.kinds.map((row) => [row.name, `kind::${row.name}`]), state.kind, (value) => app.change({ kind: value, idesc: "" }), { id: "kind" });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const out = h("div", { id: "descriptor" });
  const wordOut = h("div", { id: "decoded" });
  const idescOut = h("div", { id: "instruction" });
  const dtypes = tables.dtypes.map((row) => [row.name, row.name]);
  const dtype = select(dtypes, state.d, (value) => app.change({ d: value }), { id: "descriptor-dtype" });
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("operand in shared memory", inputs.l, { class: "field grow" }), field("shape (MN, K)", inputs.s), field("element", dtype), field("read by", families), field("base address", inputs.base)),
    error,
    h("div", { class: "two" },
      h("section", { class: "card" }, h("h2", {}, "Matrix descriptor of the tile"), out),
      h("div", { class: "stack" },
        h("section", { class: "card" }, h("h2", {}, "Any matrix descriptor"), field("word", inputs.word), wordOut),
        h("section", { class: "card" }, h("h2", {}, "Instruction descriptor of tcgen05.mma"),
          h("div", { class: "inputs" }, field("kind", kinds), field("word", inputs.idesc)), idescOut))));

  function fieldTable(word, family) {
    const names = Object.keys(family.fields);
    return table(["", "field", "bits", "code", "meaning"], names.map((name) => {
      const code = extract(word, family.fields[name]);
      return [swatch(name, names), name, bitsText(family.fields[name]), h("code", {}, `0x${code.toString(16)}`), describeField(name, code, family)];
    }), { class: "fields" });
  }

  function drawTile(family) {
    const tile = readTile(state.l, state.s, state.d, tables);
    const legal = family.legal[tile.dtype];
    const fits = canonicalFits(tile.layout, tile.shape, tile.bits, tables).filter((fit) => family.name === "tcgen05" || fit.mode.wgmma_code !== null);
    if (!fits.length) throw new LayoutError("no descriptor reads this layout: it is none of the canonical ones, of either major-ness and any swizzle");
    // Where several fit (a single repeat), the widest swizzle that the hardware reads.
    const isLegal = (fit) => (legal?.[fit.major] ?? []).includes(fit.mode.name);
    const fit = [...fits].sort((a, b) => isLegal(b) - isLegal(a) || b.mode.row_bytes - a.mode.row_bytes)[0];
    if (!/^\d+$/.test(state.base.trim())) throw new LayoutError(`expected a base address in bytes, found '${state.base}'`);
    const base = Number(state.base);
    const word = encodeDescriptor(fit, base + fit.start, family);
    const steps = kSteps(fit, tile.shape, tile.bits, 32);
    const problems = [];
    if (!isLegal(fit)) problems.push(`${family.instruction} reads no ${fit.major}-major ${tile.dtype} with swizzle ${fit.mode.name}`);
    if (base % fit.mode.base_alignment) problems.push(`the base must be aligned to ${fit.mode.base_alignment} bytes, found ${base}`);
    const others = fits.filter((each) => each !== fit).map((each) => `${each.major}-major ${each.mode.name}`);
    replace(out,
      h("p", { class: "facts" }, [`${fit.major}-major`, `swizzle ${fit.mode.name}`, `LBO ${fit.lbo ?? "unread"}`, `SBO ${fit.sbo ?? "unread"}`, `alignment ${fit.mode.base_alignment}`].map((each) => h("span", {}, each))),
      problems.map((each) => h("p", { class: "problem" }, each)),
      bitMap(word, 64, family.fields),
      fieldTable(word, family),
      h("h4", {}, "PTX"), constants(word, 64, "%rd1"),
      h("h4", {}, `${steps.length} K step${steps.length > 1 ? "s" : ""} of 32 bytes`),
      table(["K", "start address", "descriptor"], steps.slice(0, 16).map((step) => [
        String(step.k0), String(base + step.start), h("code", {}, hex(encodeDescriptor(fit, base + step.start, family)))]), { class: "fields" }),
      others.length ? h("p", { class: "note" }, `Also ${others.join(", ")}.`) : null);
    return word;
  }

  function drawWord(family, fallback) {
    const word = state.word.trim() ? parseWord(state.word) : fallback;
    if (word === null) return;
    const flip = (bit) => app.change({ word: hex(word ^ (1n << BigInt(bit))) });
    const wrong = family.reserved.filter((bits) => extract(word, bits)).map((bits) => `reserved ${bitsText(bits)}: expected 0`);
    if (family.fields.constant && extract(word, family.fields.constant) !== family.constant) wrong.push(`${bitsText(family.fields.constant)}: expected ${family.constant}`);
    if (family.swizzles[extract(word, family.fields.swizzle)] === undefined) wrong.push(`${bitsText(family.fields.swizzle)}: no swizzle mode has code ${extract(word, family.fields.swizzle)}`);
    // A single repeat may have any SBO, of which 0 is usual.
    const mode = tables.modes.find((row) => row.name === family.swizzles[extract(word, family.fields.swizzle)]);
    const sbo = extract(word, family.fields.sbo) * 16;
    if (mode !== undefined && mode.b > 0 && sbo > 0 && sbo < mode.row_bytes * mode.rows) wrong.push(`repeats overlap: SBO is ${sbo} bytes, and one repeat of the pattern takes ${mode.row_bytes * mode.rows}`);
    replace(wordOut, h("p", { class: "note" }, "Click a bit to flip it."), bitMap(word, 64, family.fields, flip), fieldTable(word, family), wrong.map((each) => h("p", { class: "problem" }, each)), constants(word, 64, "%rd1"));
  }

  function instructionValues(kind) {
    if (state.idesc.trim()) return decodeInstruction(kind, parseWord(state.idesc, 32));
    const values = {};
    for (const name of Object.keys(kind.fields)) {
      const legal = kind.legal[name] ?? [];
      const preferred = { d: "f32", m: "128", n: "256" }[name];
      values[name] = String(legal.map(String).includes(preferred) ? preferred : legal[0] ?? kind.codes[name][0][1]);
    }
    return values;
  }

  function drawInstruction() {
    const kind = tables.kinds.find((row) => row.name === state.kind);
    const values = instructionValues(kind);
    const word = encodeInstruction(kind, values);
    const names = Object.keys(kind.fields).sort((a, b) => kind.fields[a][0] - kind.fields[b][0]);
    const rows = names.map((name) => {
      const legal = (kind.legal[name] ?? []).map(String);
      const options = kind.codes[name].map(([, value]) => [String(value), legal.includes(String(value)) ? String(value) : `${value} (not for this kind)`]);
      const control = select(options, values[name], (value) => app.change({ idesc: hex(encodeInstruction(kind, { ...values, [name]: value }), 32) }), { "aria-label": name, "data-field": name });
      return [swatch(name, names), name, bitsText(kind.fields[name]), h("code", {}, `0x${extract(word, kind.fields[name]).toString(16)}`), control];
    });
    const wrong = names.filter((name) => kind.legal[name] && !kind.legal[name].map(String).includes(values[name])).map((name) => `kind::${kind.name} has no ${name} = ${values[name]}`);
    const rowsOfShape = tables.shapes.filter((row) => row.kinds.includes(kind.name) && String(row.sparse) === String(values.sparse) && ["wide_k", "widest_k"].every((name) => String(row[name]) === String(values[name] ?? "false")) && row.m.includes(Number(values.m)) && row.n.includes(Number(values.n)));
    const variants = rowsOfShape.map((row) => `cta_group::${row.cta_group}${row.ws ? " .ws" : ""}`);
    if (!variants.length) wrong.push(`no tcgen05.mma of kind::${kind.name} has M = ${values.m} and N = ${values.n}`);
    const flip = (bit) => app.change({ idesc: hex(word ^ (1n << BigInt(bit)), 32) });
    const ordered = Object.fromEntries(names.map((name) => [name, kind.fields[name]]));
    replace(idescOut, bitMap(word, 32, ordered, flip), table(["", "field", "bits", "code", "value"], rows, { class: "fields" }),
      wrong.map((each) => h("p", { class: "problem" }, each)),
      variants.length ? h("p", { class: "note" }, `M × N = ${values.m} × ${values.n} exists for ${[...new Set(variants)].join(", ")}.`) : null,
      constants(word, 32, "%r1"));
  }

  function attempt(run, box, text = "") {
    try {
      return run();
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      if (box === error) {
        replace(out);
        showError(error, failure, failure.where === "layout" ? state.l : "");
      } else replace(box, h("p", { class: "problem" }, failure.message), text);
      return null;
    }
  }

  return {
    element,
    update() {
      for (const [name, each] of Object.entries(inputs)) if (each.value !== state[name]) each.value = state[name];
      families.value = state.fam;
      kinds.value = state.kind;
      dtype.value = state.d;
      const family = tables.families.find((row) => row.name === state.fam) ?? tables.families[0];
      showError(error, null);
      const word = attempt(() => drawTile(family), error);
      replace(wordOut);
      attempt(() => drawWord(family, word), wordOut);
      attempt(drawInstruction, idescOut);
    },
    grids: () => [],
  };
}

export function maskTab(app) {
  const { fields, reserved } = app.tables.mask;
  const m = select(Object.keys(SUB_MASKS).map((each) => [each, `M = ${each}`]), state.mm, (value) => app.change({ mm: value }), { id: "mask-m" });
  const n = h("input", { class: "mono", size: 5, id: "in-mn", "aria-label": "N" });
  n.addEventListener("input", () => app.change({ mn: n.value, mask: "" }));
  const word = h("input", { class: "mono", size: 20, id: "in-mask", spellcheck: "false", "aria-label": "descriptor" });
  word.addEventListener("input", () => {
    draft = null;
    app.change({ mask: word.value });
  });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const examples = h("div", { class: "chips" }, "examples of the PTX ISA:", app.tables.mask.examples.map((each, i) =>
    h("button", { type: "button", class: "link", "data-example": i + 1, onclick: () => {
      draft = null;
      app.change({ mm: String(each.m), mn: String(each.n), mask: each.word });
    } }, String(i + 1))));
  const columns = h("div", { class: "mask", id: "mask-columns", role: "grid", "aria-label": "columns of B" });
  const out = h("div", { id: "mask-out" });
  const clear = h("button", { type: "button", onclick: () => {
    draft = null;
    app.change({ mask: "" });
  } }, "use all columns");
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("instruction", m), field("N", n), field("descriptor", word), clear), examples,
    h("p", { class: "note" }, "Click or drag over columns of B to zero them; the descriptor follows. Or write a descriptor: the columns follow."),
    error, h("section", { class: "card" }, columns), h("section", { class: "card" }, out));
  let draft = null; // columns that no descriptor has
  let paint = null;

  function setColumn(zero, j, value) {
    const changed = [...zero];
    changed[j] = value;
    try {
      const mask = maskOf(changed, Number(state.mm), shift);
      draft = null;
      app.change({ mask: mask.generate || mask.shift ? hex(encodeMask(mask, fields)) : "" });
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      draft = { zero: changed, failure };
      update();
    }
  }

  let shift = 0;
  let shown = [];
  const endPaint = () => (paint = null);
  addEventListener("pointerup", endPaint);

  function cell(j) {
    const name = shown[j] ? "zeroed" : "used";
    return h("button", {
      type: "button", class: `column ${name}`, "data-column": j, title: `column ${j}: ${name}`, "aria-label": `column ${j}: ${name}`, "aria-pressed": String(shown[j]),
      onpointerdown: (event) => {
        event.preventDefault();
        event.target.focus();
        paint = !shown[j];
        setColumn(shown, j, paint);
      },
      onpointerenter: () => paint !== null && shown[j] !== paint && setColumn(shown, j, paint),
      onkeydown: (event) => {
        const across = getComputedStyle(columns).gridTemplateColumns.split(" ").length;
        const next = { ArrowLeft: j - 1, ArrowRight: j + 1, ArrowUp: j - across, ArrowDown: j + across }[event.key];
        if (event.key === " " || event.key === "Enter") {
          event.preventDefault();
          setColumn(shown, j, !shown[j]);
        } else if (next !== undefined && next >= 0 && next < shown.length) {
          event.preventDefault();
          columns.children[next].focus();
        }
      },
    }, String(j));
  }

  function update() {
    m.value = state.mm;
    if (n.value !== state.mn) n.value = state.mn;
    if (word.value !== state.mask) word.value = state.mask;
    try {
      const count = Number(state.mn);
      const value = state.mask.trim() ? parseWord(state.mask) : 0n;
      const mask = decodeMask(value, fields, reserved);
      shift = mask.shift;
      shown = draft !== null && draft.zero.length === count ? draft.zero : expandMask(mask, Number(state.mm), count);
      if (columns.children.length !== count) replace(columns, shown.map((_, j) => cell(j)));
      const width = count / SUB_MASKS[state.mm];
      [...columns.children].forEach((each, j) => {
        each.className = `column ${shown[j] ? "zeroed" : "used"} ${j % width === 0 ? "first" : ""} ${draft !== null && draft.failure.column === j ? "wrong" : ""}`;
        each.setAttribute("aria-pressed", String(shown[j]));
        each.title = `column ${j}: ${shown[j] ? "zeroed" : "used"}`;
      });
      const names = Object.keys(fields);
      const rows = names.map((name) => [swatch(name, names), name, bitsText(fields[name]), h("code", {}, String(extract(value, fields[name]))), meaning(name, extract(value, fields[name]))]);
      const zeroed = shown.filter((each) => each).length;
      const toggle = (bit) => {
        draft = null;
        app.change({ mask: hex(value ^ (1n << BigInt(bit))) });
      };
      replace(out, h("p", { class: "facts" }, h("span", {}, `${zeroed} of ${count} columns zeroed`), h("span", {}, `${SUB_MASKS[state.mm]} sub-mask${SUB_MASKS[state.mm] > 1 ? "s" : ""} of ${width}`), h("span", {}, `shift up to ${MAX_SHIFT[state.mm]}`)),
        ...lateStarts(mask, Number(state.mm)).map((i) => h("p", { class: "note" }, `Sub-mask ${i} skips more columns than its first run has. No example of the PTX ISA does so; these are the columns after so many bits of the pattern.`)),
        bitMap(value, 64, fields, toggle), table(["", "field", "bits", "code", "meaning"], rows, { class: "fields" }), constants(value, 64, "%rd2"));
      showError(error, draft === null ? null : draft.failure);
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      showError(error, failure);
    }
  }

  const meaning = (name, code) => {
    if (name === "skip_span") return `runs of ${code + 1} zeroed columns, as in the examples of the ISA; its table exchanges the two`;
    if (name === "use_span") return `runs of ${code + 1} used columns, as in the examples of the ISA`;
    if (name === "generate") return code ? "columns are zeroed" : "all columns are used";
    if (name === "shift") return `column j reads column j + ${code} of B`;
    if (name.startsWith("first")) return `sub-mask ${name.at(-2)} starts in a ${code ? "zeroed" : "used"} run`;
    return `sub-mask ${name.at(-2)} starts ${code} columns into its first run`;
  };
  return { element, update, grids: () => [] };
}
