// What each device, warp or CTA holds of a tile: a small map of the tile for each.

import { axesOf, axisRow, displacements, evaluator, footprint, sizeOf } from "./algebra.js";
import { colouring, cssColour, cssVariable } from "./colors.js";
import { h, replace } from "./dom.js";
import { logicalGrid } from "./views.js";

const MOST_PARTS = 256;
const MOST_SAMPLES = 1 << 20;

// The axes that a tile can be divided by.
export const partAxes = (layout) => axesOf(layout).filter((name) => axisRow(name).kind !== "memory");

export function defaultPartAxis(layout) {
  const names = partAxes(layout);
  return names.find((name) => axisRow(name).kind === "device") ?? names.find((name) => name !== "laneid" && name !== "tx") ?? names[0];
}

// The mesh of `count` devices as [rows, columns]: what the user wrote, or the squarest.
export function meshOf(count, text) {
  const given = /^\s*(\d+)\s*[x×,]\s*(\d+)\s*$/.exec(text);
  if (given !== null && Number(given[1]) * Number(given[2]) >= count) return [Number(given[1]), Number(given[2])];
  let rows = Math.floor(Math.sqrt(count));
  while (count % rows) rows--;
  return [rows, count / rows];
}

// Which flat indices a part holds: a set of base coordinates, as copies only shift them.
function holders(tile, name) {
  const { axes, at } = evaluator({ ...tile.layout, swizzle: null });
  const which = axes.indexOf(name);
  const steps = [...new Set(displacements(tile.layout).map((step) => step[which]))];
  const out = new Array(axes.length);
  return (flat) => {
    const base = at(flat, out)[which];
    return steps.map((step) => base + step);
  };
}

export function renderParts(box, tile, name, meshText, selected, onPick) {
  const [low, high] = footprint(tile.layout)[name];
  const count = high - low + 1;
  if (count > MOST_PARTS) {
    replace(box, h("p", { class: "note" }, `${count} parts on ${name}: more than ${MOST_PARTS} are not drawn.`));
    return;
  }
  const { rows, cols, flatAt } = logicalGrid(tile.shape);
  const [meshRows, meshCols] = meshOf(high + 1 > count && low === 0 ? high + 1 : count, meshText);
  const held = holders(tile, name);
  const side = Math.max(44, Math.min(220, Math.floor(600 / meshCols) - 16, Math.floor(420 / meshRows) - 36));
  const scale = Math.min(side / cols, side / rows);
  const width = Math.max(8, Math.round(cols * scale)), height = Math.max(8, Math.round(rows * scale));
  const stepR = Math.max(1, Math.ceil(rows / height)), stepC = Math.max(1, Math.ceil(cols / width));
  const paint = colouring(low, Math.min(high, low + 7));
  const empty = cssVariable("--empty");
  const samples = Math.ceil(rows / stepR) * Math.ceil(cols / stepC);
  if (samples > MOST_SAMPLES) return;
  const canvases = new Map();
  const chosen = new Set(selected === null ? [] : held(selected));
  const cells = [];
  for (let part = low; part <= high; part++) {
    const canvas = h("canvas", { width, height, "aria-label": `what ${name} ${part} holds` });
    const context = canvas.getContext("2d");
    context.fillStyle = empty;
    context.fillRect(0, 0, width, height);
    canvases.set(part, context);
    cells.push(
      h("figure", { class: chosen.has(part) ? "part chosen" : "part", "data-part": part }, canvas, h("figcaption", {}, `${name} ${part}`)),
    );
    canvas.addEventListener("click", (event) => {
      const r = Math.min(rows - 1, Math.floor((event.offsetY / canvas.clientHeight) * rows));
      const c = Math.min(cols - 1, Math.floor((event.offsetX / canvas.clientWidth) * cols));
      onPick(flatAt(r, c));
    });
  }
  const counts = new Map();
  for (let r = 0; r < rows; r += stepR) {
    for (let c = 0; c < cols; c += stepC) {
      for (const part of held(flatAt(r, c))) {
        const context = canvases.get(part);
        counts.set(part, (counts.get(part) ?? 0) + 1);
        context.fillStyle = cssColour(paint(low + ((part - low) % 8)));
        const x = Math.floor((c * width) / cols), y = Math.floor((r * height) / rows);
        const right = Math.max(x + 1, Math.floor(((c + stepC) * width) / cols)), bottom = Math.max(y + 1, Math.floor(((r + stepR) * height) / rows));
        context.fillRect(x, y, right - x, bottom - y);
      }
    }
  }
  const total = sizeOf(tile.layout);
  for (const cell of cells) {
    const part = Number(cell.dataset.part);
    const share = Math.round(((counts.get(part) ?? 0) / samples) * total);
    cell.lastChild.textContent = `${name} ${part}: ${share ? `${share} elements` : "nothing"}`;
  }
  replace(box, h("div", { class: "mesh", style: `grid-template-columns:repeat(${meshCols},max-content)` }, cells));
  box.dataset.mesh = `${meshRows}x${meshCols}`;
}
