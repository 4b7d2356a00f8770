// The first tab: one tile, its elements and its places side by side.

import { digest, product, sizeOf } from "./algebra.js";
import { analyse, elementsOf, fitsBanks, patterns, sectors } from "./banks.js";
import { field, h, replace, select, showError, table } from "./dom.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { layoutText } from "./notation.js";
import { defaultPartAxis, partAxes, renderParts } from "./parts.js";
import { state } from "./state.js";
import { agrees, facts, formula, modeOf, placeText, readTile, validity, withMode } from "./tiles.js";
import {
  banksView, colourKeys, defaultColour, elementText, logicalView, onBanks, placeViews, placesOf, placesView, tensorView,
} from "./views.js";

const VIEWS = { places: placesView, banks: banksView, tensor: tensorView };

export function layoutTab(app) {
  const { tables } = app;
  const text = h("input", { id: "layout", class: "mono wide", spellcheck: "false", autocomplete: "off", "aria-label": "layout" });
  const shape = h("input", { id: "shape", class: "mono", size: 12, spellcheck: "false", "aria-label": "shape" });
  const dtypes = tables.dtypes.filter((row) => row.storage <= 128).map((row) => [row.name, row.name]);
  const dtype = select(dtypes, state.d, (value) => app.change({ d: value, c: "", v: "" }), { id: "dtype", "aria-label": "element type" });
  const mode = select([], "none", (value) => {
    if (tile !== null) app.change({ l: layoutText(withMode(tile, value, tables).layout), s: tile.shape.join(","), c: "", v: "" });
  }, { id: "mode", "aria-label": "swizzle" });
  text.addEventListener("input", () => app.change({ l: text.value, e: "", c: "", v: "" }));
  shape.addEventListener("input", () => app.change({ s: shape.value, e: "", c: "", v: "" }));
  const error = h("div", { class: "error", id: "error", role: "alert", hidden: true });
  const summary = h("p", { class: "facts", id: "facts" });
  const note = h("p", { class: "note", id: "note" });

  const logical = new Grid({ title: "elements of the tile", onPick: (r, c) => pick(logicalModel.elementAt(r, c)[0]) });
  const physical = new Grid({ title: "places of the tile", onPick: (r, c) => pickPlace(r, c) });
  const parts = h("div", { class: "parts", id: "parts", hidden: true });
  const viewBar = h("div", { class: "segments", role: "group", "aria-label": "view of the places" });
  const colourBox = h("span", {});
  const partBox = h("span", {});
  const inspector = h("section", { class: "card", id: "inspector" });
  const checks = h("section", { class: "card", id: "validity" });
  const access = h("section", { class: "card", id: "access" });

  const element = h("div", { class: "tab" },
    h("div", { class: "inputs" },
      field("layout", text, { class: "field grow" }), field("shape", shape), field("element", dtype), field("swizzle", mode),
    ),
    error, summary, note,
    h("div", { class: "two" },
      h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Elements"), h("span", { class: "grow" }), colourBox), logical.element),
      h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Places"), h("span", { class: "grow" }), partBox, viewBar), physical.element, parts),
    ),
    h("div", { class: "three" }, inspector, checks, access),
  );

  const lines = new Lines(element.querySelector(".two"), logical, physical, () => {
    const flat = selected();
    if (flat === null || tile === null || physicalModel === null || !parts.hidden) return null;
    return [logicalModel.cellOf(flat)[0], physicalModel.cellOf(flat).slice(0, 16)];
  });

  let tile = null, logicalModel = null, physicalModel = null, shown = "";

  function pick(flat) {
    if (flat !== undefined) app.change({ e: String(flat) });
  }

  function pickPlace(r, c) {
    const found = physicalModel.elementAt(r, c);
    if (found.length) pick(found[0]);
    else app.change({ e: "" });
  }

  function update() {
    if (text.value !== state.l) text.value = state.l;
    if (shape.value !== state.s) shape.value = state.s;
    dtype.value = state.d;
    try {
      tile = readTile(state.l, state.s, state.d, tables);
      showError(error, null);
    } catch (failure) {
      if (failure.name !== "Error" || failure.where === undefined) throw failure;
      showError(error, failure, failure.where === "layout" ? state.l : state.s);
      element.classList.add("stale");
      for (const grid of [logical, physical]) grid.says.textContent = "";
      for (const box of [summary, note]) replace(box); // they are of the layout before
      shown = "";
      return;
    }
    element.classList.remove("stale");
    const key = [state.l, state.s, state.d, state.c, state.v, state.mesh, document.documentElement.dataset.theme].join("|");
    if (key !== shown) {
      shown = key;
      draw();
    }
    drawSelection();
  }

  function draw() {
    const colours = colourKeys(tile);
    const colour = colours.some(([name]) => name === state.c) ? state.c : defaultColour(tile);
    replace(colourBox, field("colour", select(colours, colour, (value) => app.change({ c: value }), { id: "colour" }), { class: "field inline" }));
    const views = placeViews(tile);
    const view = views.some(([name]) => name === state.v) ? state.v : views[0][0];
    replace(viewBar, views.map(([name, title]) =>
      h("button", { type: "button", "aria-pressed": String(name === view), "data-view": name, onclick: () => app.change({ v: name }) }, title)));
    const modes = tables.modes.map((row) => [row.name, row.name]);
    const current = modeOf(tile, tables);
    mode.replaceChildren(...(current === "other" ? [...modes, ["other", "other"]] : modes).map(([name, title]) => h("option", { value: name }, title)));
    mode.value = current;
    mode.disabled = !onBanks(tile);
    replace(summary, facts(tile).map((each) => h("span", {}, each)));
    const given = [...app.tiles, ...app.presets].find((each) => each.text === state.l && each.shape.join() === tile.shape.join());
    replace(note, given?.place ? h("strong", {}, given.place, " ") : null, given?.note ?? "", check());
    logicalModel = logicalView(tile, colour);
    logical.show(logicalModel, true);
    const isParts = view === "parts";
    parts.hidden = !isParts;
    physical.element.hidden = isParts;
    replace(partBox);
    if (isParts) drawParts();
    else {
      physicalModel = VIEWS[view](tile, colour);
      physical.show(physicalModel, true);
    }
    replace(checks, h("h3", {}, "Validity"), h("ul", { class: "checks" }, validity(tile, tables).map((each) => h("li", { class: each.level }, each.text))));
    drawAccess();
  }

  function drawParts() {
    const names = partAxes(tile.layout);
    const [chosen, meshText] = state.mesh.includes(":") ? state.mesh.split(":") : ["", state.mesh];
    const name = names.includes(chosen) ? chosen : defaultPartAxis(tile.layout);
    const meshInput = h("input", { class: "mono", size: 5, value: meshText, placeholder: "2x2", "aria-label": "mesh", id: "mesh" });
    meshInput.addEventListener("change", () => app.change({ mesh: `${name}:${meshInput.value}` }));
    replace(partBox,
      field("by", select(names.map((each) => [each, each]), name, (value) => app.change({ mesh: `${value}:` })), { class: "field inline" }),
      field("mesh", meshInput, { class: "field inline" }));
    renderParts(parts, tile, name, meshText, selected(), pick);
    physicalModel = null;
  }

  // The page's algebra against the table that Python made.
  function check() {
    const found = agrees({ ...tile, text: state.l }, [...app.tiles, ...app.presets], digest);
    if (found === null) return null;
    return h("span", { class: found ? "agrees" : "differs", id: "agrees" }, found
      ? ` All ${sizeOf(tile.layout)} elements agree with tirx.layout.`
      : " The table differs from that of tirx.layout: please report it.");
  }

  function selected() {
    const flat = Number(state.e);
    return state.e !== "" && Number.isInteger(flat) && flat >= 0 && flat < sizeOf(tile.layout) ? flat : null;
  }

  function pattern() {
    if (!onBanks(tile)) return null;
    return patterns(tile.shape, tile.bits).find((each) => each.name === state.p) ?? null;
  }

  function drawSelection() {
    const flat = selected();
    const marks = [], places = [];
    const chosen = pattern();
    if (chosen !== null) {
      const elements = elementsOf(chosen.lanes);
      marks.push({ kind: "pattern", cells: elements.flatMap((each) => logicalModel.cellOf(each)) });
      if (physicalModel !== null) places.push({ kind: "pattern", cells: elements.flatMap((each) => physicalModel.cellOf(each)) });
    }
    if (flat !== null) {
      const copies = product(tile.layout.replica.map((it) => it.extent));
      marks.push({ kind: "select", cells: logicalModel.cellOf(flat) });
      if (physicalModel !== null && copies <= 4096) {
        // A place that is shared shows all of its elements.
        const cells = physicalModel.cellOf(flat);
        places.push({ kind: "select", cells });
        const shared = physicalModel.elementAt(...cells[0]).filter((each) => each !== flat);
        marks.push({ kind: "select", cells: shared.flatMap((each) => logicalModel.cellOf(each)) });
      }
    }
    let place = null;
    const here = physicalModel === null ? null : physical.cursor;
    if (physicalModel !== null && flat !== null) {
      const cells = physicalModel.cellOf(flat);
      place = here !== null && cells.some(([r, c]) => r === here[0] && c === here[1]) ? here : cells[0];
    } else if (here !== null && !physicalModel.elementAt(...here).length) place = here; // a place that holds nothing
    logical.mark(marks, flat === null ? null : logicalModel.cellOf(flat)[0]);
    physical.mark(places, place);
    lines.draw();
    if (!parts.hidden) {
      drawParts();
    }
    drawInspector(flat);
  }

  function drawInspector(flat) {
    if (flat === null) {
      replace(inspector, h("h3", {}, "Element"),
        h("p", { class: "note" }, "Click an element or a place, or move with the arrow keys: all its owners light up."));
      return;
    }
    const places = placesOf(tile, flat);
    const shown = places.slice(0, 12);
    replace(inspector,
      h("h3", {}, `Element (${elementText(flat, tile.shape)})`),
      table([], formula(tile, flat).map(([name, value]) => [name, h("code", {}, value)]), { class: "formula" }),
      h("h4", {}, places.length > 1 ? `${places.length} owners` : "Owner"),
      h("ol", { class: "owners" }, shown.map((place) => h("li", {}, placeText(place)))),
      places.length > shown.length ? h("p", { class: "note" }, `and ${places.length - shown.length} more`) : null);
  }

  function drawAccess() {
    access.hidden = !onBanks(tile) || !fitsBanks(tile.layout, tile.bits) || tile.layout.replica.length > 0;
    if (access.hidden) return;
    const all = patterns(tile.shape, tile.bits);
    const variants = [["this", tile], ...["none", "32B", "64B", "128B"].map((name) => [name, withMode(tile, name, tables)])];
    const degree = (each, lanes, vector) => {
      try {
        return analyse(each.layout, lanes, each.bits, vector);
      } catch {
        return null; // torn: the pattern does not fit this swizzle
      }
    };
    const rows = all.map((each) => {
      const results = variants.map(([, variant]) => degree(variant, each.lanes, each.vector));
      const cells = results.map((found, k) => h("span", { class: `degree ${found === null ? "" : found.degree === 1 ? "ok" : found.degree < 4 ? "warn" : "bad"} ${k ? "" : "this"}` },
        found === null ? "–" : found.degree === 1 ? "1" : `${found.degree}-way`));
      const button = h("button", { type: "button", class: "link", "data-pattern": each.name, "aria-pressed": String(state.p === each.name),
        onclick: () => app.change({ p: state.p === each.name ? "" : each.name }) }, each.title);
      const global = sectors(tile.layout, each.lanes, tile.bits, each.vector);
      return [button, ...cells, h("span", { class: `degree ${global.touched === global.least ? "ok" : "warn"}` }, `${global.touched} / ${global.least}`)];
    });
    const chosen = pattern();
    const found = chosen === null ? null : degree(tile, chosen.lanes, chosen.vector);
    replace(access, h("h3", { title: "Conflicts of shared memory by swizzle; sectors of 32 bytes, touched / least, if the tile is in global memory" }, "Bank conflicts and sectors"),
      rows.length ? table(["access of a warp", "this", "none", "32B", "64B", "128B", "sectors"], rows, { class: "conflicts" }) : h("p", { class: "note" }, "The tile is too small for the patterns."),
      chosen === null || found === null ? null : h("p", { class: "note", id: "worst" }, worstText(found)));
  }

  function worstText(found) {
    const phases = found.degrees.length;
    const count = (value, noun) => `${value} ${noun}${value === 1 ? "" : "s"}`;
    const head = `${count(found.wavefronts, "wavefront")} for ${count(phases, "phase")} of ${found.together} lanes × ${found.bytes} bytes. `;
    if (found.degree === 1) return `${head}No conflicts.`;
    const { worst } = found;
    const words = [...worst.lines].slice(0, 4).map(([word, users]) => `lane ${users[0].lane} (${elementText(users[0].flat, tile.shape)}) in line ${Math.floor(word / 32)}`);
    const more = worst.lines.size - words.length;
    return `${head}Worst: lanes ${worst.first}–${worst.last}, ${worst.degree} words of bank ${worst.bank}: ${words.join("; ")}${more > 0 ? `; ${more} more` : ""}.`;
  }

  let shownPattern = null;
  return {
    element,
    update: () => {
      update();
      if (tile !== null && state.p !== shownPattern && !element.classList.contains("stale")) {
        shownPattern = state.p;
        drawAccess();
      }
    },
    tile: () => tile,
    grids: () => [["elements", logical], ["places", physical]],
  };
}
