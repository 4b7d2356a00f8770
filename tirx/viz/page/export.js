// What is shown as SVG, PNG, or through the print dialogue as PDF.

import { cssColour, cssVariable, inkOn } from "./colors.js";
import { download } from "./dom.js";
import { state } from "./state.js";

const MOST_CELLS = 16384;
const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// The grids side by side, each as vectors; cells that are not on the screen are part of it.
export function gridsSvg(grids) {
  const visible = grids.filter(([, grid]) => grid.model !== null && !grid.element.closest("[hidden]"));
  const blocks = [];
  let left = 12, tallest = 0;
  for (const [name, grid] of visible) {
    const { model } = grid;
    const rows = Math.min(model.rows, Math.max(1, Math.floor(MOST_CELLS / Math.min(model.cols, MOST_CELLS)))), cols = Math.min(model.cols, MOST_CELLS);
    const named = rows * cols <= 4096;
    const hh = named ? 22 : 4, w = Math.max(named ? 30 : 4, hh * (model.wide ?? 1.5));
    const margin = 10 + 6 * model.rowLabel(model.rows - 1).length;
    const out = [`<text x="${left}" y="34" font-weight="600">${escape(name)}${rows < model.rows ? ` (the first ${rows} of ${model.rows} rows)` : ""}</text>`];
    for (let c = 0; c < cols; c += named ? 1 : 16) out.push(`<text x="${left + margin + (c + 0.5) * w}" y="50" text-anchor="middle" class="q">${escape(model.colLabel(c))}</text>`);
    for (let r = 0; r < rows; r++) {
      const y = 56 + r * hh;
      if (named || r % 16 === 0) out.push(`<text x="${left + margin - 4}" y="${y + hh / 2 + 3}" text-anchor="end" class="q">${escape(model.rowLabel(r))}</text>`);
      for (let c = 0; c < cols; c++) {
        const rgb = model.colour(r, c);
        const fill = rgb < 0 ? cssVariable("--empty") : cssColour(rgb);
        const x = left + margin + c * w;
        out.push(`<rect x="${x}" y="${y}" width="${w - (named ? 1 : 0)}" height="${hh - (named ? 1 : 0)}" fill="${fill}"/>`);
        if (named && rgb >= 0) {
          const text = model.text(r, c).join(" ");
          out.push(`<text x="${x + w / 2}" y="${y + hh / 2 + 3}" text-anchor="middle" fill="${inkOn(rgb)}" textLength="${Math.min(w - 4, 6 * text.length)}" lengthAdjust="spacingAndGlyphs">${escape(text)}</text>`);
        }
      }
    }
    for (const [r, c] of grid.cursor ? [grid.cursor] : []) {
      if (r < rows && c < cols) out.push(`<rect x="${left + margin + c * w}" y="${56 + r * hh}" width="${w - 1}" height="${hh - 1}" fill="none" stroke="${cssVariable("--accent")}" stroke-width="2"/>`);
    }
    blocks.push(out.join("\n"));
    left += margin + cols * w + 24;
    tallest = Math.max(tallest, 56 + rows * hh + 12);
  }
  const width = Math.max(left, 480, 24 + 7.5 * state.l.length), height = Math.max(tallest, 60);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="10">
<style>.q{fill:${cssVariable("--quiet")}}</style>
<rect width="100%" height="100%" fill="${cssVariable("--paper")}"/>
<text x="12" y="16" font-size="12" fill="${cssVariable("--ink")}">${escape(state.l)}</text>
<g fill="${cssVariable("--ink")}">${blocks.join("\n")}</g>
</svg>
`;
}

export function pngOf(svg) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      const scale = Math.min(2, 8192 / Math.max(image.width, image.height));
      canvas.width = image.width * scale;
      canvas.height = image.height * scale;
      const context = canvas.getContext("2d");
      context.scale(scale, scale);
      context.drawImage(image, 0, 0);
      canvas.toBlob((blob) => (blob === null ? failed(new Error("the picture is too large")) : done(blob)), "image/png");
    };
    image.onerror = () => failed(new Error("the picture cannot be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}

export async function exportAs(kind, grids) {
  if (kind === "pdf") {
    window.print();
    return;
  }
  const svg = gridsSvg(grids);
  const blob = kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await pngOf(svg);
  download(`layout.${kind}`, blob);
}
