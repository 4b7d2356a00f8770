// Copies: a box of the tensor memory accelerator and where it lands in shared memory, and threads that load or store a
// tile, access by access.

import { LayoutError, product, sizeOf } from "./algebra.js";
import { addressesOf } from "./banks.js";
import { colouring } from "./colors.js";
import { accessesOf, boxLayout, encodeTensorMap, heldBy, tensorMap } from "./copy.js";
import { field, h, number, replace, select, showError, table } from "./dom.js";
import { Grid } from "./grid.js";
import { layoutText, parseIntegers } from "./notation.js";
import { state } from "./state.js";
import { formula, readTile } from "./tiles.js";
import { banksView, coordinateOf, elementText, logicalGrid, onBanks, placesView } from "./views.js";
import { hex } from "./words.js";

const WARP = 32;
const MOST_ELEMENTS = 1 << 16;
const MOST_ROWS = 64; // of the table of accesses

export function copyTab(app) {
  const { tables } = app;
  const input = (name, attributes) => {
    const element = h("input", { class: "mono", spellcheck: "false", autocomplete: "off", id: `copy-${name}`, ...attributes });
    element.addEventListener("input", () => app.change({ [name]: element.value, ...(name === "l" || name === "rl" ? { ka: "" } : {}) }));
    return element;
  };
  const inputs = {
    td: input("td", { size: 14, "aria-label": "tensor" }), tb: input("tb", { size: 10, "aria-label": "box" }), ts: input("ts", { size: 10, "aria-label": "corner of the box" }),
    l: input("l", { class: "mono wide", "aria-label": "layout in memory" }), s: input("s", { size: 10, "aria-label": "shape" }),
    rl: input("rl", { class: "mono wide", "aria-label": "who holds what", placeholder: "16 bytes for each lane" }), ft: input("ft", { size: 4, "aria-label": "thread" }),
  };
  const engine = select([["tma", "tensor memory accelerator"], ["threads", "loads and stores of threads"]], state.eng, (value) => app.change({ eng: value, e: "" }), { id: "engine" });
  const dtype = select(tables.dtypes.filter((row) => row.storage <= 64).map((row) => [row.name, row.name]), state.d, (value) => app.change({ d: value }), { id: "copy-dtype" });
  const mode = select(Object.keys(tables.tma.swizzles).map((name) => [name, name]), state.tw, (value) => app.change({ tw: value }), { id: "copy-swizzle" });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const from = new Grid({ title: "elements", height: 360, onPick: (r, c) => pick(models.from, r, c) });
  const to = new Grid({ title: "memory", height: 360, onPick: (r, c) => pick(models.to, r, c) });
  const fromTitle = h("h2", {}), toTitle = h("h2", {});
  const facts = h("section", { class: "card", id: "copy-facts" });
  const more = h("section", { class: "card", id: "copy-more" });
  const chosen = h("section", { class: "card", id: "copy-element" });
  const controls = h("div", { class: "inputs" });
  const second = h("div", { class: "inputs" });
  const chips = h("p", { class: "chips" });
  const element = h("div", { class: "tab" }, controls, second, chips, error,
    h("div", { class: "two" },
      h("section", { class: "panel" }, h("header", {}, fromTitle), from.element),
      h("section", { class: "panel" }, h("header", {}, toTitle), to.element)),
    h("div", { class: "three" }, facts, more, chosen));
  const models = { from: null, to: null };
  let shown = "";
  let run = () => {};

  function pick(model, r, c) {
    const found = model.elementAt(r, c);
    app.change({ e: found.length ? String(found[0]) : "" });
  }

  function selected(size) {
    const flat = Number(state.e);
    return state.e !== "" && Number.isInteger(flat) && flat >= 0 && flat < size ? flat : null;
  }

  // Grids come again only where something else than the choice of an element changed.
  function show(key, make) {
    const all = `${key} ${document.documentElement.dataset.theme}`;
    if (shown === all) return;
    make();
    shown = all;
    from.show(models.from, true);
    to.show(models.to, true);
  }

  // The tensor memory accelerator.

  function readBox() {
    const dims = parseIntegers(state.td, "a tensor"), box = parseIntegers(state.tb, "a box");
    const start = state.ts.trim().split(/\s*,\s*/).map(Number);
    if (start.length !== dims.length || start.some((x) => !Number.isInteger(x))) throw new LayoutError(`expected ${dims.length} integers for the corner, found '${state.ts}'`);
    const map = tensorMap({ dims, box, dtype: state.d, mode: state.tw }, tables);
    if (product(box) > MOST_ELEMENTS) throw new LayoutError(`expected a box of at most ${MOST_ELEMENTS} elements, found ${product(box)}`);
    const bits = tables.dtypes.find((row) => row.name === state.d).storage;
    return { dims, box, start, map, tile: { layout: boxLayout(box, bits, state.tw, tables), shape: box, dtype: state.d, bits } };
  }

  function globalModel({ dims, box, start, tile }, landing, paint) {
    const low = start.map((x, d) => Math.max(Math.min(0, x), x - Math.ceil(box[d] / 4)));
    const high = start.map((x, d) => Math.min(Math.max(dims[d], x + box[d]), x + box[d] + Math.ceil(box[d] / 4)));
    const shape = low.map((x, d) => high[d] - x);
    const { rows, cols, flatAt, cellOf, blockRows, blockCols } = logicalGrid(shape);
    const at = (r, c) => coordinateOf(flatAt(r, c), shape).map((x, d) => x + low[d]);
    const inTensor = (place) => place.every((x, d) => x >= 0 && x < dims[d]);
    const flatOf = (place) => (place.every((x, d) => x >= start[d] && x < start[d] + box[d]) ? place.reduce((flat, x, d) => flat * box[d] + x - start[d], 0) : -1);
    const byte = (flat) => (landing(flat) * tile.bits) / 8;
    const grey = colouring(0, 7)(7);
    return {
      rows, cols, wide: 1.7, lines: 1,
      colour: (r, c) => {
        const place = at(r, c), flat = flatOf(place);
        return flat < 0 ? -1 : inTensor(place) ? paint(flat) : grey;
      },
      text: (r, c) => {
        const place = at(r, c), flat = flatOf(place);
        return flat < 0 ? [] : inTensor(place) ? [`${byte(flat)}`] : ["0"];
      },
      rowLabel: (r) => at(r, 0).slice(0, -1).join(",") || `${at(r, 0)}`,
      colLabel: (c) => `${at(0, c)[dims.length - 1]}`,
      everyRow: blockRows < rows ? blockRows : 0, everyCol: blockCols < cols ? blockCols : 0,
      say: (r, c) => {
        const place = at(r, c), flat = flatOf(place);
        if (flat < 0) return `element (${place}): not in the box`;
        return `element (${place}): ${inTensor(place) ? "" : "outside of the tensor, zero is written; "}byte ${byte(flat)} of the box`;
      },
      elementAt: (r, c) => [flatOf(at(r, c))].filter((flat) => flat >= 0),
      cellOf: (flat) => [cellOf(coordinateOf(flat, box).reduce((sum, x, d) => sum * shape[d] + x + start[d] - low[d], 0))],
    };
  }

  function drawBox() {
    const read = readBox();
    const { dims, box, start, map, tile } = read;
    show(["tma", state.td, state.tb, state.ts, state.tw, state.d].join("|"), () => {
      const chunk = Math.max(1, 128 / tile.bits), columns = box[box.length - 1];
      const colours = colouring(0, Math.min(8, Math.max(1, Math.ceil(columns / chunk))) - 1);
      const paint = (flat) => colours(Math.floor((flat % columns) / chunk) % 8);
      const view = banksView(tile, "piece");
      models.to = { ...view, colour: (r, c) => (view.elementAt(r, c).length ? paint(view.elementAt(r, c)[0]) : -1) };
      models.from = globalModel(read, addressesOf(tile.layout), paint);
    });
    fromTitle.textContent = `Global memory: the box, and the byte where each element lands`;
    toTitle.textContent = `Shared memory: lines of 32 banks, coordinates inside of the box`;
    const reversed = [...start].reverse().map((x, d) => (d ? x : x / map.unit.elements));
    const list = (values) => h("code", {}, `{${values.join(", ")}}`);
    const outside = box.reduce((n, _, d) => n * Math.max(0, Math.min(dims[d], start[d] + box[d]) - Math.max(0, start[d])), 1);
    replace(facts, h("h3", {}, "Tensor map"), map.problems.map((each) => h("p", { class: "problem" }, each)),
      table([], [
        ["tensorDataType", h("code", {}, map.unit.type + (map.unit.elements > 1 ? " (two elements each)" : ""))], ["tensorRank", String(dims.length)],
        ["globalDim", list(map.dims)], ["globalStrides", list(map.strides)], ["boxDim", list(map.box)], ["elementStrides", list(dims.map(() => 1))],
        ["interleave", "none"], ["swizzle", h("code", {}, `${map.swizzle.name}${map.swizzle.since ? ` (${map.swizzle.since} and later)` : ""}`)], ["oobFill", "zero"],
        ["mbarrier expects", `${number(map.bytes)} bytes, those outside of the tensor included${outside < product(box) ? ` (${number(product(box) - outside)} elements)` : ""}`],
        ["shared memory", `aligned to ${map.alignment} bytes`],
      ], { class: "formula" }),
      h("p", { class: "note" }, "The arguments of cuTensorMapEncodeTiled, innermost dimension first."));
    const words = map.problems.length ? null : encodeTensorMap(map, 0, tables);
    const coordinates = `[map, {${reversed.join(", ")}}]`;
    replace(more, h("h3", {}, "PTX"),
      h("pre", { class: "ptx" }, [
        `cp.async.bulk.tensor.${dims.length}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], ${coordinates}, [mbar];`,
        `cp.async.bulk.tensor.${dims.length}d.global.shared::cta.tile.bulk_group ${coordinates}, [tile];`].join("\n")),
      words === null ? null : [h("h4", {}, "The map of a tensor at address 0, as 64-bit words"),
        h("pre", { class: "ptx" }, Array.from({ length: 5 }, (_, row) => Array.from({ length: 2 }, (_, k) => hex((words >> BigInt(64 * (2 * row + k))) & (2n ** 64n - 1n))).join(" ")).join("\n")),
        h("p", { class: "note" }, "The other six words are 0. Addresses fill the first one.")]);
    drawElement(tile, (flat) => `Element (${coordinateOf(flat, box).map((x, d) => x + start[d])}) of the tensor, (${elementText(flat, box)}) of the box`, []);
    const open = () => app.change({ tab: "layout", l: layoutText(tile.layout), s: box.join(","), e: "", c: "", v: "" });
    replace(chips, h("button", { type: "button", class: "link", onclick: open }, "open the box as a layout"),
      h("button", { type: "button", class: "link", onclick: () => app.change({ tab: "descriptor", l: layoutText(tile.layout), s: box.join(",") }) }, "its matrix descriptor"),
      h("button", { type: "button", class: "link", onclick: () => app.change({ ts: dims.map((n, d) => n - Math.ceil(box[d] / 2)).join(",") }) }, "over the edge"));
  }

  function drawElement(tile, title, marks, extra = []) {
    const flat = selected(sizeOf(tile.layout));
    const mark = (model) => [...marks.map((cells) => ({ kind: "pattern", cells: cells.flatMap((each) => model.cellOf(each)) })),
      ...(flat === null ? [] : [{ kind: "select", cells: model.cellOf(flat) }])];
    for (const [grid, model] of [[from, models.from], [to, models.to]]) {
      grid.cursor = flat === null ? null : model.cellOf(flat)[0];
      grid.mark(mark(model));
    }
    replace(chosen, h("h3", {}, flat === null ? "Element" : title(flat)), flat === null ? h("p", { class: "note" }, "Click an element or its place.")
      : table([], [...formula(tile, flat), ...(flat === null ? [] : extra.map((each) => each(flat)))].map(([name, value]) => [name, h("code", {}, value)]), { class: "formula" }));
  }

  // Loads and stores of threads.

  function coalesced(tile) {
    const size = sizeOf(tile.layout);
    let chunk = Math.max(1, 128 / tile.bits);
    while (chunk > 1 && size % (WARP * chunk)) chunk /= 2;
    return spread(size, chunk);
  }

  const spread = (size, chunk) => {
    const lanes = Math.min(WARP, Math.max(1, size / chunk));
    return `S[(${Math.max(1, size / (lanes * chunk))}, ${lanes}, ${chunk}) : (${chunk}, 1@laneid, 1)]`;
  };

  function drawThreads() {
    const tile = readTile(state.l, state.s, state.d, tables);
    if (!onBanks(tile) || tile.layout.replica.length) throw new LayoutError("expected a tile in memory, on axis m only and without copies");
    if (sizeOf(tile.layout) > MOST_ELEMENTS) throw new LayoutError(`expected at most ${MOST_ELEMENTS} elements, found ${sizeOf(tile.layout)}`);
    const text = state.rl.trim() || coalesced(tile);
    let held;
    try {
      held = heldBy(text, tile.shape);
    } catch (failure) {
      failure.input = "rl";
      throw failure;
    }
    const thread = Number(state.ft);
    if (!/^\d+$/.test(state.ft.trim()) || thread >= held.threads) throw new LayoutError(`expected a thread from 0 to ${held.threads - 1}, found '${state.ft}'`);
    const warp = Math.floor(thread / WARP);
    show(["threads", state.l, state.s, state.d, text].join("|"), () => {
      const { rows, cols, flatAt, cellOf } = logicalGrid(tile.shape);
      const colours = colouring(0, Math.min(held.threads, WARP) - 1);
      const paint = (flat) => (held.owners[flat]?.length ? colours(held.owners[flat][0][0] % WARP) : -1);
      const name = (flat) => (held.owners[flat].length ? [`T${held.owners[flat][0][0]}`, `r${held.owners[flat][0][1]}`] : []);
      const say = (flat) => `element (${elementText(flat, tile.shape)}): ${held.owners[flat].map(([t, r]) => `thread ${t}, register ${r}`).join(" and ") || "no thread"}`;
      models.from = {
        rows, cols, wide: 1.4, lines: 2, colour: (r, c) => paint(flatAt(r, c)), text: (r, c) => name(flatAt(r, c)),
        rowLabel: (r) => elementText(flatAt(r, 0), tile.shape).split(",").slice(0, -1).join(",") || `${r * cols}`, colLabel: (c) => `${c}`,
        say: (r, c) => say(flatAt(r, c)), elementAt: (r, c) => [flatAt(r, c)], cellOf: (flat) => [cellOf(flat)],
      };
      const view = (1024 % tile.bits ? placesView : banksView)(tile, "axis:m");
      models.to = {
        ...view, wide: 1.4, lines: 2, colour: (r, c) => (view.elementAt(r, c).length ? paint(view.elementAt(r, c)[0]) : -1),
        text: (r, c) => (view.elementAt(r, c).length ? name(view.elementAt(r, c)[0]) : []),
        say: (r, c) => `${view.say(r, c)}${view.elementAt(r, c).length ? `; ${say(view.elementAt(r, c)[0])}` : ""}`,
      };
    });
    fromTitle.textContent = `Elements: the threads and registers that hold them`;
    toTitle.textContent = "Memory: lines of 32 banks, the threads that access them";
    const accesses = accessesOf(held, tile.layout, tile.bits, warp);
    const known = accesses.filter((each) => each.conflicts !== null);
    const access = accesses[state.ka === "" ? -1 : Number(state.ka)];
    const total = (of) => known.reduce((sum, each) => sum + of(each), 0);
    const wavefronts = total((each) => each.conflicts.wavefronts), phases = total((each) => each.conflicts.degrees.length);
    const touched = total((each) => each.global.touched), least = total((each) => each.global.least);
    const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
    replace(facts, h("h3", {}, `Warp ${warp}: ${number(accesses.length)} access${accesses.length === 1 ? "" : "es"}`),
      table([], [
        ["shared memory", h("span", { class: wavefronts === phases ? "ok" : "warn" }, `${count(wavefronts, "wavefront")}, ${number(phases)} without conflicts`)],
        ["global memory", h("span", { class: touched === least ? "ok" : "warn" }, `${count(touched, "sector")} of 32 bytes, ${number(least)} at least`)],
        ["threads", `${held.threads}, ${count(held.registers, "register")} of an element each`],
      ], { class: "formula" }),
      h("p", { class: "note" }, "Accesses are as wide as registers and memory allow: neighbours in both, and aligned."));
    const rows = accesses.slice(0, MOST_ROWS).map((each, k) => {
      const press = h("button", { type: "button", class: "link", "data-access": k, "aria-pressed": String(state.ka === String(k)), onclick: () => app.change({ ka: state.ka === String(k) ? "" : String(k) }) },
        each.count > 1 ? `registers ${each.first}–${each.first + each.count - 1}` : `register ${each.first}`);
      if (each.conflicts === null) return [press, `${each.bytes}`, "–", "–"];
      const { degree } = each.conflicts;
      return [press, `${each.bytes}`, h("span", { class: `degree ${degree === 1 ? "ok" : degree < 4 ? "warn" : "bad"}` }, degree === 1 ? "1" : `${degree}-way`),
        h("span", { class: `degree ${each.global.touched === each.global.least ? "ok" : "warn"}` }, `${each.global.touched} / ${each.global.least}`)];
    });
    replace(more, h("h3", {}, "Accesses"), table(["", "bytes a lane", "bank conflict", "sectors"], rows, { class: "conflicts" }),
      accesses.length > rows.length ? h("p", { class: "note" }, `and ${accesses.length - rows.length} more`) : null);
    const own = Array.from({ length: held.registers }, (_, r) => held.at(thread, r)).filter((flat) => flat >= 0);
    const marks = [access === undefined ? own : access.lanes.flat().filter((flat) => flat >= 0)];
    drawElement(tile, (flat) => `Element (${elementText(flat, tile.shape)})`, marks, [(flat) => ["held by", held.owners[flat].map(([t, r]) => `thread ${t}, register ${r}`).join("; ") || "no thread"]]);
    const size = sizeOf(tile.layout), [high, wide] = tile.shape.slice(-2);
    const fragment = tile.shape.length === 2 && high % 8 === 0 && wide % 8 === 0
      ? `S[(${high / 8}, 8, ${wide / 8}, 4, 2) : (${wide / 4}, 4@laneid, 2, 1@laneid, 1)]` : null;
    const chip = (title, value) => h("button", { type: "button", class: "link", onclick: () => app.change({ rl: value, ka: "" }) }, title);
    replace(chips, "who holds what: ", chip("16 bytes for each lane", ""), chip("an element for each lane", spread(size, 1)),
      fragment === null ? null : chip("a fragment of mma.m16n8", fragment),
      tile.shape.length === 2 && high % WARP === 0 ? chip("a row for each lane", `S[(${high / WARP}, 32, ${wide}) : (${wide}, 1@laneid, 1)]`) : null);
  }

  function update() {
    for (const [name, each] of Object.entries(inputs)) if (each.value !== state[name]) each.value = state[name];
    engine.value = state.eng;
    dtype.value = state.d;
    mode.value = state.tw;
    const isBox = state.eng === "tma";
    const kind = isBox ? "tma" : "threads";
    if (controls.dataset.kind !== kind) {
      controls.dataset.kind = kind;
      replace(controls, field("engine", engine), isBox
        ? [field("tensor", inputs.td), field("element", dtype), field("box", inputs.tb), field("corner", inputs.ts), field("swizzle", mode)]
        : [field("layout in memory", inputs.l, { class: "field grow" }), field("shape", inputs.s), field("element", dtype)]);
      replace(second, isBox ? [] : [field("registers: a layout, or CuTe's thread-value layout", inputs.rl, { class: "field grow" }), field("thread", inputs.ft)]);
      second.hidden = isBox;
    }
    run = isBox ? drawBox : drawThreads;
    try {
      run();
      showError(error, null);
      element.classList.remove("stale");
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      element.classList.add("stale");
      showError(error, failure, failure.input === "rl" ? state.rl : failure.where === "layout" ? state.l : "");
    }
  }
  return { element, update, grids: () => [["elements", from], ["memory", to]] };
}
