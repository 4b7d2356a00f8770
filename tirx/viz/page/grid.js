// A grid of cells on a canvas: zoom, pan, keyboard, level of detail. It asks its model for what is visible only.
//
// A model is { rows, cols, colour(r, c) -> 0xRRGGBB or -1, text(r, c) -> lines, rowLabel(r), colLabel(c), say(r, c),
// wide (cell width / height at least), lines and joint of the text, everyRow, everyCol (separators), slow (a cell takes long to compute) }.

import { cssColour, cssVariable, inkOn } from "./colors.js";
import { h } from "./dom.js";

const MARGIN_TOP = 18;
const MOST_SAMPLES = 24000; // cells of a slow model that one picture asks for
const MOST_NAMED = 6000; // cells with text in one picture
const FONT = "10px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

export class Grid {
  constructor({ title, onPick = () => {}, height = 440 }) {
    this.title = title;
    this.tallest = height;
    this.onPick = onPick;
    this.model = null;
    this.cursor = null;
    this.marks = []; // [{cells: [[r, c]], kind}]
    this.canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": title });
    this.says = h("div", { class: "says", "aria-live": "polite" });
    const button = (text, label, run) => h("button", { type: "button", title: label, "aria-label": label, onclick: run }, text);
    this.tools = h("div", { class: "zoom" },
      button("−", "zoom out (-)", () => this.zoom(1 / 1.5)),
      button("+", "zoom in (+)", () => this.zoom(1.5)),
      button("⤢", "fit (0)", () => this.fit()),
    );
    this.box = h("div", { class: "canvas", style: `height:${height}px` }, this.canvas, this.tools);
    this.element = h("div", { class: "grid" }, this.box, this.says);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  show(model, keep = false) {
    const same = this.model !== null && this.model.rows === model.rows && this.model.cols === model.cols;
    this.model = model;
    this.cache = new Map();
    this.cursor = null;
    this.says.textContent = "";
    if (!(keep && same)) this.fit();
    else this.draw();
  }

  // What is marked, and the cell that the status line tells about.
  mark(marks, cursor = this.cursor) {
    this.marks = marks;
    this.cursor = cursor;
    if (this.model) this.says.textContent = cursor === null ? "" : this.model.say(...cursor);
    this.draw();
  }

  listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, y: event.offsetY, left: this.left, top: this.top, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
        if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
        if (drag.moved) {
          this.left = drag.left - dx;
          this.top = drag.top - dy;
          this.clamp();
          this.draw();
        }
        return;
      }
      const cell = this.cellAt(event.offsetX, event.offsetY);
      this.says.textContent = cell === null ? "" : this.model.say(...cell);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) {
        const cell = this.cellAt(event.offsetX, event.offsetY);
        if (cell !== null) this.pick(...cell);
      }
      drag = null;
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY);
        return;
      }
      this.left += event.shiftKey ? event.deltaY : event.deltaX;
      this.top += event.shiftKey ? 0 : event.deltaY;
      this.clamp();
      this.draw();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (!this.model || event.ctrlKey || event.metaKey || event.altKey) return;
    const [r, c] = this.cursor ?? [0, 0];
    const { rows, cols } = this.model;
    const page = Math.max(1, Math.floor(this.viewHeight() / this.cellHeight()) - 1);
    const moves = {
      ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1],
      Home: [r, 0], End: [r, cols - 1], PageUp: [r - page, c], PageDown: [r + page, c],
    };
    if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.fit();
    else if (event.key in moves) {
      const [y, x] = this.cursor ? moves[event.key] : [0, 0];
      this.pick(Math.min(Math.max(y, 0), rows - 1), Math.min(Math.max(x, 0), cols - 1), true);
    } else return;
    event.preventDefault();
  }

  pick(r, c, reveal = false) {
    this.cursor = [r, c];
    if (reveal) this.reveal(r, c);
    this.says.textContent = this.model.say(r, c);
    this.draw();
    this.onPick(r, c);
  }

  reveal(r, c) {
    const w = this.cellWidth(), hh = this.cellHeight();
    if (c * w < this.left) this.left = c * w;
    if ((c + 1) * w > this.left + this.viewWidth()) this.left = (c + 1) * w - this.viewWidth();
    if (r * hh < this.top) this.top = r * hh;
    if ((r + 1) * hh > this.top + this.viewHeight()) this.top = (r + 1) * hh - this.viewHeight();
    this.clamp();
  }

  cellHeight() { return this.scale; }
  cellWidth() { return this.scale * this.wide; }
  viewWidth() { return Math.max(10, this.width - this.marginLeft()); }
  viewHeight() { return Math.max(10, this.height - MARGIN_TOP); }
  marginLeft() { return Math.max(14, 7 + 6 * Math.max(...[0, this.model.rows - 1].map((r) => this.model.rowLabel(r).length))); }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.box;
    if (!clientWidth || (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio)) return;
    const first = this.width === undefined;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.canvas.style.width = `${clientWidth}px`;
    this.canvas.style.height = `${clientHeight}px`;
    if (first || this.fitted) this.fit();
    else this.draw();
  }

  // Everything, or as much of it as makes cells of a pixel's size; never larger than readable. Cells grow taller where
  // there is room for all lines of their text.
  fit() {
    if (!this.model || this.width === undefined) return;
    const { rows, cols, wide = 1.6, lines = 1 } = this.model;
    const across = Math.min(this.viewWidth() / cols, 44 * wide);
    const room = (this.tallest - MARGIN_TOP - 6) / rows;
    const wanted = across >= 13 ? Math.max(across / wide, lines * 11 + 7) : across * (across >= 5 ? 1.6 : 1 / wide);
    const scale = Math.min(wanted, Math.max(room, across / 3, 0.02));
    const fits = Math.min(scale, Math.max(room, 0.02), 48);
    const height = Math.round(Math.min(Math.max(fits * rows + MARGIN_TOP + 6, 120), this.tallest));
    this.fitted = true;
    if (Math.abs(height - this.height) > 2) {
      this.box.style.height = `${height}px`; // comes back here by `resize`
      this.resize();
      return;
    }
    this.wide = Math.max(Math.min(across / fits, Math.max(wide, 1.7)), 0.2);
    this.least = Math.min(fits, 4);
    // A tall strip is as wide as it can be read, and scrolls.
    const strip = cols * fits * this.wide < 0.3 * this.viewWidth() && fits < 8;
    this.scale = strip ? Math.min((0.45 * this.viewWidth()) / (cols * this.wide), 14) : fits;
    this.left = this.top = 0;
    this.draw();
  }

  zoom(factor, x = null, y = null) {
    if (!this.model) return;
    const old = this.scale;
    this.scale = Math.min(Math.max(old * factor, this.least ?? 0.02), 64);
    const px = (x ?? this.marginLeft() + this.viewWidth() / 2) - this.marginLeft();
    const py = (y ?? MARGIN_TOP + this.viewHeight() / 2) - MARGIN_TOP;
    this.left = ((this.left + px) * this.scale) / old - px;
    this.top = ((this.top + py) * this.scale) / old - py;
    this.fitted = false;
    this.clamp();
    this.draw();
  }

  clamp() {
    const right = Math.max(0, this.model.cols * this.cellWidth() - this.viewWidth());
    const bottom = Math.max(0, this.model.rows * this.cellHeight() - this.viewHeight());
    this.left = Math.min(Math.max(this.left, 0), right);
    this.top = Math.min(Math.max(this.top, 0), bottom);
  }

  cellAt(x, y) {
    if (!this.model) return null;
    const c = Math.floor((x - this.marginLeft() + this.left) / this.cellWidth());
    const r = Math.floor((y - MARGIN_TOP + this.top) / this.cellHeight());
    const inside = x >= this.marginLeft() && y >= MARGIN_TOP && r >= 0 && c >= 0 && r < this.model.rows && c < this.model.cols;
    return inside ? [r, c] : null;
  }

  // The screen rectangle of a cell.
  place(r, c) {
    return [this.marginLeft() + c * this.cellWidth() - this.left, MARGIN_TOP + r * this.cellHeight() - this.top];
  }

  draw() {
    if (this.pending || !this.model || this.width === undefined) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const g = this.canvas.getContext("2d");
    const { width, height, ratio, model } = this;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = FONT;
    const w = this.cellWidth(), hh = this.cellHeight(), x0 = this.marginLeft();
    g.save();
    g.beginPath();
    g.rect(x0, MARGIN_TOP, width - x0, height - MARGIN_TOP);
    g.clip();
    if (Math.min(w, hh) < 5) this.paintPixels(g);
    else this.paintCells(g);
    this.paintMarks(g);
    g.restore();
    this.paintLabels(g);
    this.onPaint?.();
    this.canvas.dataset.painted = `${model.rows}x${model.cols}`;
  }

  visible() {
    const w = this.cellWidth(), hh = this.cellHeight();
    return {
      r0: Math.floor(this.top / hh), r1: Math.min(this.model.rows, Math.ceil((this.top + this.viewHeight()) / hh)),
      c0: Math.floor(this.left / w), c1: Math.min(this.model.cols, Math.ceil((this.left + this.viewWidth()) / w)),
    };
  }

  paintCells(g) {
    const { model } = this;
    const w = this.cellWidth(), hh = this.cellHeight();
    const { r0, r1, c0, c1 } = this.visible();
    const gap = hh >= 9 ? 1 : 0.5;
    const empty = cssVariable("--empty");
    const named = [];
    for (let r = r0; r < r1; r++) {
      for (let c = c0; c < c1; c++) {
        const rgb = this.colour(r, c);
        const [x, y] = this.place(r, c);
        const apartX = model.everyCol && c % model.everyCol === 0 && c ? 1 : 0;
        const apartY = model.everyRow && r % model.everyRow === 0 && r ? 1 : 0;
        g.fillStyle = rgb < 0 ? empty : cssColour(rgb);
        g.fillRect(x + apartX, y + apartY, w - gap - apartX, hh - gap - apartY);
        if (rgb >= 0 && hh >= 10 && w >= 8) named.push([r, c, x, y, rgb]);
      }
    }
    if (named.length && named.length <= MOST_NAMED) this.paintTexts(g, named, w, hh, gap);
  }

  // All cells have their text, in one or more lines, or none has.
  paintTexts(g, named, w, hh, gap) {
    const texts = named.map(([r, c]) => this.model.text(r, c));
    const joint = this.model.joint ?? " ";
    const longest = (lists) => Math.max(0, ...lists.map((list) => Math.max(0, ...list.map((line) => line.length))));
    const joined = texts.map((list) => (list.length ? [list.join(joint)] : []));
    const most = Math.max(0, ...texts.map((list) => list.length));
    const choices = [];
    for (const size of [10, 8]) {
      choices.push([size, joined], [size, texts]);
      if (!this.model.joint) for (let k = most - 1; k > 0; k--) choices.push([size, texts.map((list) => list.slice(0, k))]);
    }
    const found = choices.find(([size, lists]) =>
      longest(lists) * size * 0.605 <= w - 4 && Math.max(0, ...lists.map((list) => list.length)) * (size + 1) <= hh - 1);
    if (found === undefined) return;
    const [size, lists] = found;
    g.font = FONT.replace("10px", `${size}px`);
    g.textAlign = "center";
    g.textBaseline = "middle";
    named.forEach(([, , x, y, rgb], i) => {
      g.fillStyle = inkOn(rgb);
      const lines = lists[i];
      lines.forEach((line, k) => g.fillText(line, x + (w - gap) / 2, y + hh / 2 + (k - (lines.length - 1) / 2) * (size + 1)));
    });
    g.font = FONT;
  }

  colour(r, c) {
    if (!this.model.slow) return this.model.colour(r, c);
    const key = r * this.model.cols + c;
    let found = this.cache.get(key);
    if (found === undefined) {
      found = this.model.colour(r, c);
      if (this.cache.size > 200000) this.cache.clear();
      this.cache.set(key, found);
    }
    return found;
  }

  // Small cells, down to many for one pixel, of which one is asked for.
  paintPixels(g) {
    const { ratio } = this;
    const wide = Math.max(1, Math.round(Math.min(this.viewWidth(), this.model.cols * this.cellWidth()) * ratio));
    const tall = Math.max(1, Math.round(Math.min(this.viewHeight(), this.model.rows * this.cellHeight()) * ratio));
    const cw = this.cellWidth() * ratio, ch = this.cellHeight() * ratio;
    const cells = Math.min(wide, wide / cw + 1) * Math.min(tall, tall / ch + 1);
    const block = this.model.slow ? Math.max(1, Math.ceil(Math.sqrt(cells / MOST_SAMPLES))) : 1;
    const stepX = Math.max(1, Math.min(cw, 1) * block), stepY = Math.max(1, Math.min(ch, 1) * block);
    const image = g.createImageData(wide, tall);
    const pixels = new Uint32Array(image.data.buffer);
    const empty = Number.parseInt(cssVariable("--empty").slice(1), 16);
    const columns = new Array(wide);
    for (let x = 0; x < wide; x++) {
      columns[x] = Math.min(this.model.cols - 1, Math.floor((Math.floor(x / stepX) * stepX + this.left * ratio) / cw));
    }
    let last = -1, from = 0;
    for (let y = 0; y < tall; y++) {
      const r = Math.min(this.model.rows - 1, Math.floor((Math.floor(y / stepY) * stepY + this.top * ratio) / ch));
      if (r === last) {
        pixels.copyWithin(y * wide, from, from + wide);
        continue;
      }
      last = r;
      from = y * wide;
      let column = -1, packed = 0;
      for (let x = 0; x < wide; x++) {
        if (columns[x] !== column) {
          column = columns[x];
          const found = this.colour(r, column);
          const rgb = found < 0 ? empty : found;
          packed = 0xff000000 | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16);
        }
        pixels[from + x] = packed;
      }
    }
    g.putImageData(image, Math.round(this.marginLeft() * ratio), Math.round(MARGIN_TOP * ratio));
  }

  paintMarks(g) {
    const w = this.cellWidth(), hh = this.cellHeight();
    const { r0, r1, c0, c1 } = this.visible();
    const styles = { pattern: cssVariable("--pattern"), select: cssVariable("--accent"), differ: cssVariable("--bad") };
    const cursor = this.cursor ? [{ cells: [this.cursor], kind: "select" }] : [];
    for (const { cells, kind } of [...this.marks, ...cursor]) {
      g.strokeStyle = g.fillStyle = styles[kind];
      g.lineWidth = kind === "select" ? 2 : w < 12 ? 1 : 1.5;
      for (const [r, c] of cells) {
        if (r < r0 || r >= r1 || c < c0 || c >= c1) continue;
        const [x, y] = this.place(r, c);
        if (kind === "differ") g.fillRect(x + w / 2 - Math.max(w / 8, 1), y + hh / 2 - Math.max(w / 8, 1), Math.max(w / 4, 1.5), Math.max(w / 4, 1.5));
        else if (Math.min(w, hh) >= 5) g.strokeRect(x + 0.5, y + 0.5, w - 2, hh - 2);
        else if (kind === "select") {
          g.beginPath();
          g.arc(x + w / 2, y + hh / 2, 6, 0, 7);
          g.stroke();
        } else g.fillRect(x, y, Math.max(w, 1.5), Math.max(hh, 1.5));
      }
    }
  }

  paintLabels(g) {
    const w = this.cellWidth(), hh = this.cellHeight(), x0 = this.marginLeft();
    const { r0, r1, c0, c1 } = this.visible();
    g.fillStyle = cssVariable("--quiet");
    g.textBaseline = "middle";
    g.textAlign = "center";
    const longest = Math.max(...[0, this.model.cols - 1].map((c) => this.model.colLabel(c).length));
    const stepC = niceStep((6 * longest + 8) / w, this.model.everyCol), stepR = niceStep(12 / hh, this.model.everyRow);
    for (let c = Math.ceil(c0 / stepC) * stepC; c < c1; c += stepC) {
      const x = x0 + (c + 0.5) * w - this.left;
      if (x > x0 - 2 && x < this.width - 2) g.fillText(this.model.colLabel(c), x, MARGIN_TOP / 2);
    }
    g.textAlign = "right";
    for (let r = Math.ceil(r0 / stepR) * stepR; r < r1; r += stepR) {
      const y = MARGIN_TOP + (r + 0.5) * hh - this.top;
      if (y > MARGIN_TOP && y < this.height - 2) g.fillText(this.model.rowLabel(r), x0 - 4, y);
    }
  }
}

function niceStep(least, every) {
  for (const step of every ? [every] : []) if (step >= least && least > 1) return step;
  let step = 1;
  while (step < least) step *= 2;
  return step;
}
