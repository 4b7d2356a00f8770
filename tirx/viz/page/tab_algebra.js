// Operations on layouts, ours and CuTe's, and two layouts side by side: inputs and result next to each other.

import { canonicalize, compose, differences, directSum, group, permute, sizeOf, slice, tile as tileOf } from "./algebra.js";
import { CUTE_OPERATIONS, cuteAt, cuteSize, cuteText, parseCute, toTile } from "./cute.js";
import { elements, field, h, replace, select, showError, number } from "./dom.js";
import { Grid } from "./grid.js";
import { layoutText, parseIntegers, parseRegion } from "./notation.js";
import { state } from "./state.js";
import { readTile } from "./tiles.js";
import { defaultColour, elementText, logicalView, onBanks } from "./views.js";

const input = (app, name, attributes = {}) => {
  const element = h("input", { class: "mono", spellcheck: "false", autocomplete: "off", id: `in-${name}`, ...attributes });
  element.addEventListener("input", () => app.change({ [name]: element.value }));
  return element;
};

const sync = (inputs) => {
  for (const [name, element] of Object.entries(inputs)) if (element.value !== state[name]) element.value = state[name];
};

function panel(title, id, onPick = () => {}) {
  const grid = new Grid({ title, onPick, height: 340 });
  const heading = h("h2", {}, title);
  const code = h("code", { class: "result", id });
  const note = h("p", { class: "note" });
  return { grid, heading, code, note, element: h("section", { class: "panel" }, h("header", {}, heading), h("p", {}, code), grid.element, note) };
}

const OPERATIONS = {
  tile: { title: "tile: A repeated by B", needs: ["b", "os", "is"], says: "element o · inner + n lies at A(n) + span(A) · B(o)" },
  direct_sum: { title: "direct_sum: A + B", needs: ["b", "os", "is"], says: "element o · inner + n lies at A(n) + B(o); strides are taken as they are" },
  slice: { title: "slice: a box of A", needs: ["bx"], says: "the layout of the elements begin ≤ x < end of every dimension" },
  group: { title: "group: iters of A by shape", needs: ["os"], says: "the same map, with iters cut so that each dimension owns a run of them" },
  permute: { title: "permute: A transposed", needs: ["pm"], says: "new dimension i is old dimension perm[i]" },
  compose: { title: "compose: A ∘ B", needs: ["b"], says: "element x lies at A(B(x)); B is on axis m" },
  canonicalize: { title: "canonicalize: normal form of A", needs: [], says: "the shortest shard and replica of the same map" },
};

export function algebraTab(app) {
  const inputs = {
    l: input(app, "l", { class: "mono wide", "aria-label": "layout A" }),
    s: input(app, "s", { size: 12, "aria-label": "shape of A" }),
    lb: input(app, "lb", { class: "mono wide", "aria-label": "layout B", placeholder: "S[(2, 4) : (1@warpid, 4)]" }),
    sb: input(app, "sb", { size: 12, "aria-label": "shape of B" }),
    os: input(app, "os", { size: 12, "aria-label": "outer shape" }),
    is: input(app, "is", { size: 12, "aria-label": "inner shape" }),
    bx: input(app, "bx", { size: 16, "aria-label": "box" }),
    pm: input(app, "pm", { size: 8, "aria-label": "permutation" }),
  };
  const op = select(Object.entries(OPERATIONS).map(([name, each]) => [name, each.title]), state.op, (value) => app.change({ op: value }), { id: "op" });
  const says = h("p", { class: "note" });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const panels = { a: panel("A", "algebra-a"), b: panel("B", "algebra-b"), r: panel("Result", "algebra-result") };
  const fields = {
    b: [field("B", inputs.lb, { class: "field grow" }), field("shape of B", inputs.sb)],
    os: [field("outer shape", inputs.os)],
    is: [field("inner shape", inputs.is)],
    bx: [field("box", inputs.bx)],
    pm: [field("permutation", inputs.pm)],
  };
  const use = h("button", { type: "button", onclick: () => result && app.change({ tab: "layout", l: layoutText(result.layout), s: result.shape.join(","), e: "", c: "", v: "" }) }, "open the result");
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("operation", op), field("A", inputs.l, { class: "field grow" }), field("shape of A", inputs.s)),
    h("div", { class: "inputs" }, Object.values(fields), use), says, error,
    h("div", { class: "columns" }, panels.a.element, panels.b.element, panels.r.element));
  let result = null;

  const shapeOr = (text, fallback) => (text.trim() ? parseIntegers(text) : fallback);

  function run(a, b) {
    switch (state.op) {
      case "tile":
      case "direct_sum": {
        const inner = shapeOr(state.is, a.shape), outer = shapeOr(state.os, b.shape);
        const layout = (state.op === "tile" ? tileOf : directSum)(a.layout, b.layout, outer, inner);
        return { layout, shape: inner.map((extent, d) => extent * outer[d]) };
      }
      case "slice": {
        const region = parseRegion(state.bx);
        return { layout: slice(a.layout, a.shape, region), shape: region.map(([begin, end]) => end - begin) };
      }
      case "group": {
        const shape = shapeOr(state.os, a.shape);
        const found = group(a.layout, shape);
        return { layout: found.layout, shape, note: `dimensions begin at iters ${found.separators.slice(0, -1).join(", ")}` };
      }
      case "permute": {
        const perm = parseIntegers(state.pm, "a permutation");
        return { layout: permute(a.layout, perm, a.shape), shape: perm.map((d) => a.shape[d]) };
      }
      case "compose":
        return { layout: compose(a.layout, b.layout), shape: b.shape };
      default:
        return { layout: canonicalize(a.layout), shape: a.shape };
    }
  }

  function update() {
    sync(inputs);
    op.value = state.op;
    const { needs, says: text } = OPERATIONS[state.op];
    says.textContent = text;
    for (const [name, list] of Object.entries(fields)) for (const each of list) each.hidden = !needs.includes(name);
    panels.b.element.hidden = !needs.includes("b");
    try {
      const a = readTile(state.l, state.s, state.d, app.tables);
      const b = needs.includes("b") ? readTile(state.lb || "S[(1, 1) : (1, 1)]", state.sb, state.d, app.tables) : null;
      const found = run(a, b);
      result = { ...a, ...found };
      for (const [name, each] of [["a", a], ["b", b], ["r", result]]) {
        if (each === null) continue;
        panels[name].code.textContent = layoutText(each.layout);
        panels[name].note.textContent = `${elements(sizeOf(each.layout))}, shape ${each.shape.join(" × ")}${each.note ? `; ${each.note}` : ""}`;
        panels[name].grid.show(logicalView(each, defaultColour(each)), true);
      }
      showError(error, null);
      element.classList.remove("stale");
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      element.classList.add("stale");
      result = null;
      panels.r.code.textContent = "";
      showError(error, failure, failure.where === "layout" ? state.l : "");
    }
  }
  return { element, update, grids: () => [["a", panels.a.grid], ["b", panels.b.grid], ["result", panels.r.grid]] };
}

export function compareTab(app) {
  const inputs = {
    l: input(app, "l", { class: "mono wide", "aria-label": "layout A" }),
    s: input(app, "s", { size: 12, "aria-label": "shape of A" }),
    lb: input(app, "lb", { class: "mono wide", "aria-label": "layout B" }),
    sb: input(app, "sb", { size: 12, "aria-label": "shape of B" }),
  };
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const verdict = h("p", { class: "facts", id: "verdict" });
  const pick = (r, c) => app.change({ e: String(models.a.elementAt(r, c)[0]) });
  const panels = { a: panel("A", "compare-a", pick), b: panel("B", "compare-b", (r, c) => app.change({ e: String(models.b.elementAt(r, c)[0]) })) };
  const swap = h("button", { type: "button", onclick: () => app.change({ l: state.lb, s: state.sb, lb: state.l, sb: state.s }) }, "swap");
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("A", inputs.l, { class: "field grow" }), field("shape", inputs.s)),
    h("div", { class: "inputs" }, field("B", inputs.lb, { class: "field grow" }), field("shape", inputs.sb), swap),
    error, verdict, h("div", { class: "two" }, panels.a.element, panels.b.element));
  const models = { a: null, b: null };

  function update() {
    sync(inputs);
    try {
      const a = readTile(state.l, state.s, state.d, app.tables);
      const b = readTile(state.lb || state.l, state.sb || state.s, state.d, app.tables);
      const differing = differences(a.layout, b.layout);
      const text = differing === null
        ? sizeOf(a.layout) === sizeOf(b.layout) ? "too large to compare element by element" : `${number(sizeOf(a.layout))} and ${elements(sizeOf(b.layout))}`
        : differing.length ? `${number(differing.length)} of ${number(sizeOf(a.layout))} elements lie elsewhere; the first is (${elementText(differing[0], a.shape)})` : "equivalent: every element has the same places";
      replace(verdict, h("span", { class: differing !== null && !differing.length ? "ok" : "warn" }, text));
      const flat = state.e === "" ? null : Number(state.e);
      const flats = differing === null ? [] : differing.slice(0, 20000);
      for (const [name, each] of [["a", a], ["b", b]]) {
        models[name] = logicalView(each, onBanks(each) ? "bank" : defaultColour(each));
        panels[name].code.textContent = layoutText(each.layout);
        panels[name].grid.show(models[name], true);
        const marks = [{ kind: "differ", cells: flats.flatMap((each_) => models[name].cellOf(each_)) }];
        const inside = flat !== null && flat < sizeOf(each.layout);
        panels[name].grid.cursor = inside ? models[name].cellOf(flat)[0] : null;
        panels[name].grid.mark(marks);
        panels[name].note.textContent = inside ? models[name].say(...models[name].cellOf(flat)[0]) : "";
      }
      showError(error, null);
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      showError(error, failure, failure.where === "layout" ? state.l : "");
    }
  }
  return { element, update, grids: () => [["a", panels.a.grid], ["b", panels.b.grid]] };
}

const EXAMPLES = [
  ["composition", "(6,2):(8,2)", "(4,3):(3,1)"],
  ["complement", "(2,2):(1,6)", "24:1"],
  ["logical_divide", "(4,2,3):(2,1,8)", "4:2"],
  ["zipped_divide", "(9,(4,8)):(59,(13,1))", "(3:3,(2,4):(1,8))"],
  ["logical_product", "(2,2):(4,1)", "6:1"],
  ["blocked_product", "(2,5):(5,1)", "(3,4):(1,3)"],
  ["raked_product", "(2,5):(5,1)", "(3,4):(1,3)"],
  ["coalesce", "(2,(1,6)):(1,(6,2))", ""],
  ["right_inverse", "(8,4):(4,1)", ""],
];

export function cuteTab(app) {
  const inputs = {
    ca: input(app, "ca", { class: "mono wide", "aria-label": "CuTe layout A" }),
    cb: input(app, "cb", { class: "mono wide", "aria-label": "CuTe layout B" }),
  };
  const op = select(Object.entries(CUTE_OPERATIONS).map(([name, each]) => [name, each.title]), state.co, (value) => app.change({ co: value }), { id: "cute-op" });
  const says = h("p", { class: "note" });
  const error = h("div", { class: "error", role: "alert", hidden: true });
  const panels = { ca: panel("A", "cute-a"), cb: panel("B", "cute-b"), r: panel("Result", "cute-result") };
  const examples = h("p", { class: "chips" }, "examples ", EXAMPLES.filter(([name]) => name !== "zipped_divide").map(([name, a, b]) =>
    h("button", { type: "button", class: "link", onclick: () => app.change({ co: name, ca: a, cb: b }) }, name)));
  const use = h("button", { type: "button", onclick: () => {
    const found = toTile(last);
    app.change({ tab: "layout", l: layoutText(found.layout), s: found.shape.join(","), e: "", c: "", v: "" });
  } }, "open the result");
  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" }, field("operation", op), field("A", inputs.ca, { class: "field grow" }), field("B", inputs.cb, { class: "field grow" }), use),
    says, examples, error, h("div", { class: "columns" }, panels.ca.element, panels.cb.element, panels.r.element));
  let last = null;

  function update() {
    sync(inputs);
    op.value = state.co;
    const operation = CUTE_OPERATIONS[state.co];
    says.textContent = operation.says;
    const two = operation.run.length > 1;
    panels.cb.element.hidden = !two;
    try {
      const read = (name) => {
        try {
          return parseCute(state[name]);
        } catch (failure) {
          failure.input = name;
          throw failure;
        }
      };
      const a = read("ca"), b = two ? read("cb") : null;
      last = operation.run(a, b);
      for (const [name, each] of [["ca", a], ["cb", b], ["r", last]]) if (each !== null) draw(panels[name], each);
      showError(error, null);
      element.classList.remove("stale");
    } catch (failure) {
      if (failure.position === undefined) throw failure;
      element.classList.add("stale");
      panels.r.code.textContent = "";
      showError(error, failure, failure.input === undefined ? "" : state[failure.input]);
    }
  }

  // Mode 0 goes down and all others across, as CuTe prints a layout; every cell is the index.
  function draw(target, layout) {
    target.code.textContent = cuteText(layout);
    target.note.textContent = elements(cuteSize(layout));
    const found = toTile(layout);
    const shape = found.shape.length > 1 ? [found.shape[0], found.shape.slice(1).reduce((x, y) => x * y, 1)] : found.shape;
    const rows = shape[0], cols = shape.length > 1 ? shape[1] : 1;
    const flip = cols === 1 && rows > 1;
    const tile = { layout: found.layout, shape: found.shape, dtype: "f16", bits: 16 };
    const view = logicalView(tile, "axis:m");
    const at = (r, c) => cuteAt(layout, flip ? c : r + c * rows);
    const base = view.colour;
    const flat = (r, c) => {
      // Colexicographic over all modes but the first, row-major in the tile.
      let rest = flip ? 0 : c, index = flip ? c : r;
      for (const extent of found.shape.slice(1)) {
        index = index * extent + (rest % extent);
        rest = Math.floor(rest / extent);
      }
      return index;
    };
    const width = view.cols;
    target.grid.show({
      ...view,
      rows: flip ? 1 : rows,
      cols: flip ? rows : cols,
      everyRow: 0,
      colour: (r, c) => base(Math.floor(flat(r, c) / width), flat(r, c) % width),
      text: (r, c) => [`${at(r, c)}`],
      rowLabel: (r) => `${r}`,
      colLabel: (c) => `${c}`,
      say: (r, c) => `coordinate (${flip ? c : `${r}, ${c}`}): index ${at(r, c)}`,
    }, false);
  }
  return { element, update, grids: () => [["a", panels.ca.grid], ["b", panels.cb.grid], ["result", panels.r.grid]] };
}
