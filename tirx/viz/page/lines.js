// Lines from an element to its places, over two grids.

const SVG = "http://www.w3.org/2000/svg";

export class Lines {
  // `ends()`: the cell of the first grid and those of the second, or null.
  constructor(box, from, to, ends) {
    Object.assign(this, { box, from, to, ends });
    this.picture = document.createElementNS(SVG, "svg");
    this.picture.setAttribute("class", "lines");
    this.picture.setAttribute("aria-hidden", "true");
    box.append(this.picture);
    from.onPaint = to.onPaint = () => this.draw();
  }

  // The middle of a cell in the box; null if it is scrolled out of sight.
  middle(grid, [r, c]) {
    const [x, y] = grid.place(r, c);
    const w = grid.cellWidth(), hh = grid.cellHeight();
    const seen = x + w / 2 >= 0 && y + hh / 2 >= 0 && x + w / 2 <= grid.width && y + hh / 2 <= grid.height;
    const canvas = grid.canvas.getBoundingClientRect(), own = this.box.getBoundingClientRect();
    return seen ? [canvas.x - own.x + x + w / 2, canvas.y - own.y + y + hh / 2] : null;
  }

  draw() {
    const found = this.ends();
    const start = found === null ? null : this.middle(this.from, found[0]);
    const stops = start === null ? [] : found[1].map((cell) => this.middle(this.to, cell)).filter((each) => each !== null);
    this.picture.replaceChildren(...stops.map(([x, y]) => {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M ${start[0]} ${start[1]} L ${x} ${y}`);
      return path;
    }));
  }
}
