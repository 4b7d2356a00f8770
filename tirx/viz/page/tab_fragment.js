// The operands of one mma.sync instruction together, as the product is drawn: B above, A to the left, C below.

import { apply, axesOf, inverse, permute, sizeOf } from "./algebra.js";
import { field, h, replace, select, showError, table } from "./dom.js";
import { Grid } from "./grid.js";
import { parseLayout } from "./notation.js";
import { state } from "./state.js";
import { elementText, logicalView } from "./views.js";

const WARP = 32;

export function fragmentTab(app) {
  const variants = app.variants;
  const variant = select(variants.map((row) => [row.name, row.name]), state.fv, (value) => app.change({ fv: value }), { id: "variant" });
  const lane = h("input", { class: "mono", size: 4, id: "in-ft", "aria-label": "lane" });
  lane.addEventListener("input", () => app.change({ ft: lane.value }));
  const mnemonic = h("p", {}, h("code", { id: "mnemonic" }));
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const held = h("section", { class: "card", id: "held" });
  const panels = Object.fromEntries(["A", "B", "C"].map((letter) => {
    const grid = new Grid({ title: `fragment of ${letter}`, height: letter === "B" ? 400 : 420, onPick: (r, c) => pick(letter, r, c) });
    const title = h("h2", {});
    return [letter, { grid, title, element: h("section", { class: `panel fragment-${letter}` }, h("header", {}, title), grid.element) }];
  }));
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("instruction", variant), field("lane", lane)), mnemonic, error,
    h("div", { class: "product" }, h("div", { class: "fragment-corner" }, held), panels.B.element, panels.A.element, panels.C.element));
  const models = {};
  let shown = "";

  function pick(letter, r, c) {
    const { tile, view } = models[letter];
    app.change({ ft: String(apply(tile.layout, view.elementAt(r, c)[0]).laneid ?? 0) });
  }

  // B is N x K in the tables, and K x N in the picture.
  function tileOf(operand, letter) {
    const layout = parseLayout(operand.text);
    const dims = operand.shape.map((_, d) => d);
    const swapped = [...dims.slice(0, -2), dims.length - 1, dims.length - 2];
    const tile = { layout, shape: operand.shape, dtype: operand.dtype, bits: operand.bits };
    return letter === "B" ? { ...tile, layout: permute(layout, swapped, operand.shape), shape: swapped.map((d) => operand.shape[d]) } : tile;
  }

  function draw(row) {
    for (const letter of ["A", "B", "C"]) {
      const operand = row.operands[letter];
      const tile = tileOf(operand, letter);
      models[letter] = { tile, view: logicalView(tile, "axis:laneid"), operand };
      const [rows, columns] = tile.shape.slice(-2);
      const of = { A: "M × K", B: "K × N", C: "M × N" }[letter];
      panels[letter].title.textContent = `${letter}: ${rows} × ${columns} ${operand.dtype} (${of}), ${operand.registers} .${operand.register_type} registers`;
      panels[letter].grid.show(models[letter].view, false);
    }
    replace(mnemonic.firstChild, `${row.mnemonic};`);
  }

  function update() {
    const row = variants.find((each) => each.name === state.fv) ?? variants[0];
    variant.value = row.name;
    if (lane.value !== state.ft) lane.value = state.ft;
    const key = `${row.name} ${document.documentElement.dataset.theme}`;
    if (shown !== key) {
      shown = key;
      draw(row);
    }
    const chosen = Number(state.ft);
    const legal = /^\d+$/.test(state.ft.trim()) && chosen < WARP;
    showError(error, legal ? null : { message: `expected a lane from 0 to ${WARP - 1}, found '${state.ft}'` });
    const rows = [];
    for (const letter of ["A", "B", "C"]) {
      const { tile, view } = models[letter];
      const flats = legal ? inverse(tile.layout, { laneid: chosen }, sizeOf(tile.layout)) : [];
      panels[letter].grid.cursor = null;
      panels[letter].grid.mark([{ kind: "select", cells: flats.flatMap((flat) => view.cellOf(flat)) }]);
      const slot = (flat) => (axesOf(tile.layout).includes("m") ? apply(tile.layout, flat).m : 0);
      const order = [...flats].sort((a, b) => slot(a) - slot(b));
      rows.push([letter, h("code", {}, order.map((flat) => `(${elementText(flat, tile.shape)})`).join(" "))]);
    }
    replace(held, h("h3", {}, legal ? `Lane ${chosen} holds, in the order of its registers` : "No lane"), legal ? table([], rows, { class: "formula" }) : null);
  }
  return { element, update, grids: () => Object.entries(panels).map(([name, each]) => [name, each.grid]) };
}
