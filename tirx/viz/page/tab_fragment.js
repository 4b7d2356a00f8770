// The registers of one instruction: of mma.sync as the product is drawn, B above, A to the left, C below; of wgmma,
// tcgen05.ld and ldmatrix beside one another.

import { apply, axesOf, inverse, makeLayout, permute, product, sizeOf, tile as repeated } from "./algebra.js";
import { field, h, replace, select, showError, table } from "./dom.js";
import { Grid } from "./grid.js";
import { layoutText, parseLayout } from "./notation.js";
import { state } from "./state.js";
import { elementText, logicalView } from "./views.js";

const WARP = 32;
const WARPS = 4;
const WARP_AXES = ["warpid", "wid_in_wg"];

export function fragmentTab(app) {
  const variants = app.variants;
  const groups = [...new Set(variants.map((row) => row.group))];
  const firstOf = (group) => variants.find((row) => row.group === group).name;
  const family = select(groups.map((name) => [name, name]), groups[0], (value) => app.change({ fv: firstOf(value), fn: "" }), { id: "fragment-group" });
  const formBox = h("span", {}), sizeBox = h("span", {});
  const lane = h("input", { class: "mono", size: 4, id: "in-ft", "aria-label": "thread" });
  lane.addEventListener("input", () => app.change({ ft: lane.value }));
  const mnemonic = h("code", { id: "mnemonic" });
  const note = h("p", { class: "note" });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const held = h("section", { class: "card", id: "held" });
  const body = h("div", {});
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("instructions", family), formBox, sizeBox, field("thread", lane)), h("p", {}, mnemonic), note, error, body);
  let panels = {};
  let models = {};
  let shown = "";

  function pick(letter, r, c) {
    const { tile, view } = models[letter];
    app.change({ ft: String(threadOf(apply(tile.layout, view.elementAt(r, c)[0]))) });
  }

  // B of mma.sync is N x K in the tables, and K x N in the picture.
  function tileOf(operand, letter, count) {
    let layout = parseLayout(operand.text);
    let shape = operand.shape;
    if (operand.grows) {
      const outer = shape.map((_, d) => (d === shape.length - 1 ? count : 1));
      layout = repeated(layout, makeLayout([{ extent: count, stride: 1, axis: "m" }]), outer, shape);
      shape = [shape[0], product(shape.slice(1)) * count];
    }
    const known = app.tables.dtypes.find((row) => row.name === operand.dtype);
    const tile = { layout, shape, dtype: known?.name ?? "f16", bits: known?.storage ?? 16 };
    if (letter !== "B") return tile;
    const dims = shape.map((_, d) => d);
    const swapped = [...dims.slice(0, -2), dims.length - 1, dims.length - 2];
    return { ...tile, layout: permute(layout, swapped, shape), shape: swapped.map((d) => shape[d]) };
  }

  // Of a warpgroup a cell names the thread first: there is room for two words.
  function viewOf(tile, row) {
    const view = logicalView(tile, "axis:laneid");
    if (row.operands.B !== undefined) return view;
    const place = (r, c) => apply(tile.layout, view.elementAt(r, c)[0]);
    return { ...view, wide: 1.7, lines: 2, text: (r, c) => [`T${threadOf(place(r, c))}`, ...(place(r, c).m === undefined ? [] : [`r${place(r, c).m}`])] };
  }

  function draw(row, count) {
    const isProduct = row.operands.B !== undefined;
    panels = {};
    models = {};
    const made = {};
    for (const [letter, operand] of Object.entries(row.operands)) {
      const tile = tileOf(operand, letter, count);
      const height = isProduct ? (letter === "B" ? 400 : 420) : Math.min(900, Math.max(320, 13 * tile.shape[0] + 30));
      const grid = new Grid({ title: `fragment of ${letter}`, height, onPick: (r, c) => pick(letter, r, c) });
      models[letter] = { tile, view: viewOf(tile, row) };
      panels[letter] = grid;
      const open = h("button", { type: "button", class: "link", onclick: () => app.change({ tab: "layout", l: layoutText(tile.layout), s: tile.shape.join(","), d: tile.dtype, e: "", c: "", v: "" }) }, "open");
      made[letter] = h("section", { class: `panel fragment-${letter}` }, h("header", {}, h("h2", {}, operand.title), h("span", { class: "grow" }), open), grid.element);
      grid.show(models[letter].view, false);
    }
    body.className = isProduct ? "product" : "stack";
    replace(body, isProduct ? [h("div", { class: "fragment-corner" }, held), made.B, made.A, made.C, made.D]
      : [h("div", { class: "columns" }, Object.values(made)), held]);
    replace(formBox, field("form", select(variants.filter((each) => each.group === row.group).map((each) => [each.name, each.name]), row.name, (value) => app.change({ fv: value, fn: "" }), { id: "variant" })));
    replace(sizeBox, row.sizes === undefined ? null : field(row.unit, select(row.sizes.map((n) => [String(n), String(n)]), String(count * row.step), (value) => app.change({ fn: value }), { id: "fragment-size" })));
    note.textContent = row.note ?? "";
    mnemonic.textContent = `${row.mnemonic.replace("{n}", String(count * row.step))};`;
  }

  function update() {
    const row = variants.find((each) => each.name === state.fv) ?? variants[0];
    family.value = row.group;
    const size = row.sizes === undefined ? 1 : row.sizes.includes(Number(state.fn)) ? Number(state.fn) : row.sizes[Math.min(3, row.sizes.length - 1)];
    if (lane.value !== state.ft) lane.value = state.ft;
    const key = `${row.name} ${size} ${document.documentElement.dataset.theme}`;
    if (shown !== key) {
      shown = key;
      draw(row, size / (row.step ?? 1));
    }
    const warps = Object.values(models).some(({ tile }) => axesOf(tile.layout).some((name) => WARP_AXES.includes(name))) ? WARPS : 1;
    const chosen = Number(state.ft);
    const legal = /^\d+$/.test(state.ft.trim()) && chosen < WARP * warps;
    const noun = warps > 1 ? "thread" : "lane";
    showError(error, legal ? null : { message: `expected a ${noun} from 0 to ${WARP * warps - 1}, found '${state.ft}'` });
    const rows = [];
    for (const [letter, { tile, view }] of Object.entries(models)) {
      const axes = axesOf(tile.layout);
      const where = { laneid: chosen % WARP };
      for (const name of WARP_AXES) if (axes.includes(name)) where[name] = Math.floor(chosen / WARP);
      const flats = legal ? inverse(tile.layout, where, sizeOf(tile.layout)) : [];
      panels[letter].cursor = null;
      panels[letter].mark([{ kind: "select", cells: flats.flatMap((flat) => view.cellOf(flat)) }]);
      const slot = (flat) => (axes.includes("m") ? apply(tile.layout, flat).m : 0);
      const order = [...flats].sort((a, b) => slot(a) - slot(b));
      rows.push([letter, h("code", {}, order.map((flat) => `(${elementText(flat, tile.shape)})`).join(" ") || "nothing")]);
    }
    const who = warps > 1 ? `Thread ${chosen} (warp ${Math.floor(chosen / WARP)}, lane ${chosen % WARP})` : `Lane ${chosen}`;
    replace(held, h("h3", {}, legal ? `${who} holds, in the order of its registers` : `No ${noun}`), legal ? table([], rows, { class: "formula" }) : null);
  }
  return { element, update, grids: () => Object.entries(panels) };
}

const threadOf = (place) => (place.laneid ?? 0) + WARP * (place.warpid ?? place.wid_in_wg ?? 0);
