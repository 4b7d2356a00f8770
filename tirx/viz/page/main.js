// The page: tabs, presets, theme, keys, and the state in the address.

import { setAxes } from "./algebra.js";
import * as algebra from "./algebra.js";
import * as banks from "./banks.js";
import * as colors from "./colors.js";
import * as copy from "./copy.js";
import * as cute from "./cute.js";
import { byId, h, replace, select } from "./dom.js";
import { exportAs, gridsSvg, pngOf } from "./export.js";
import * as mask from "./mask.js";
import * as notation from "./notation.js";
import { hasAddress, readAddress, state, writeAddress } from "./state.js";
import { algebraTab, compareTab, cuteTab } from "./tab_algebra.js";
import { copyTab } from "./tab_copy.js";
import { fragmentTab } from "./tab_fragment.js";
import { layoutTab } from "./tab_layout.js";
import { programTab } from "./tab_program.js";
import { descriptorTab, maskTab } from "./tab_words.js";
import * as tiles from "./tiles.js";
import * as words from "./words.js";

const data = JSON.parse(byId("data").textContent);
setAxes(data.tables.axes);

const TABS = [
  ["layout", "Layout", layoutTab], ["compare", "Compare", compareTab], ["algebra", "Algebra", algebraTab],
  ["cute", "CuTe", cuteTab], ["fragments", "Fragments", fragmentTab], ["copies", "Copies", copyTab], ["descriptor", "Descriptors", descriptorTab],
  ["mask", "Column mask", maskTab], ...(data.programs.length ? [["program", "Program", programTab]] : []),
];
const KEYS = [
  [`1 – ${TABS.length}`, "tabs"], ["/", "search the presets"], ["t", "light, dark"], ["?", "these keys"], ["← ↑ → ↓", "next element (in a grid), next tab (in the tabs)"],
  ["+ − 0", "zoom in, out, fit (in a grid)"], ["Ctrl + wheel", "zoom"], ["Home End PgUp PgDn", "far (in a grid)"],
];

const app = {
  tables: data.tables,
  tiles: data.tiles,
  presets: data.presets,
  variants: data.variants,
  programs: data.programs,
  change(values) {
    Object.assign(state, values);
    update();
  },
};

const listing = (shown) => {
  document.body.classList.toggle("listing", shown);
  byId("list").setAttribute("aria-expanded", String(document.body.classList.contains("listing")));
};
byId("list").addEventListener("click", () => listing());

function open(tile) {
  listing(false);
  const keep = ["layout", "compare", "algebra", "descriptor"].includes(state.tab) ? state.tab : "layout";
  app.change({ tab: keep, l: tile.text, s: tile.shape.join(","), d: tile.dtype, e: "", c: "", v: "", p: "", mesh: "", os: "", is: "" });
}

readAddress();
if (!hasAddress()) {
  const first = data.tiles[0] ?? data.presets[0];
  Object.assign(state, { l: first.text, s: first.shape.join(","), d: first.dtype, tab: data.programs.length ? "program" : state.tab });
}

const tabs = new Map();
const content = byId("content");
const bar = byId("tabs");
for (const [name, title] of TABS) {
  bar.append(h("button", { type: "button", role: "tab", "data-tab": name, onclick: () => app.change({ tab: name }) }, title));
}
bar.addEventListener("keydown", (event) => {
  const at = TABS.findIndex(([name]) => name === state.tab);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  app.change({ tab: TABS[(to + TABS.length) % TABS.length][0] });
  bar.querySelector("[aria-selected=true]").focus();
});

function tabOf(name) {
  if (!tabs.has(name)) {
    const make = (TABS.find(([each]) => each === name) ?? TABS[0])[2];
    tabs.set(name, make(app));
  }
  return tabs.get(name);
}

function update() {
  const tab = tabOf(state.tab);
  if (content.firstChild !== tab.element) replace(content, tab.element);
  for (const button of bar.children) {
    const chosen = button.dataset.tab === state.tab;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen) bar.scrollLeft = Math.min(Math.max(bar.scrollLeft, button.offsetLeft + button.offsetWidth - bar.offsetLeft - bar.clientWidth), button.offsetLeft - bar.offsetLeft);
  }
  tab.update();
  for (const each of list.querySelectorAll("button")) each.classList.toggle("current", each.dataset.text === state.l && each.dataset.shape === state.s);
  writeAddress();
}

// Presets.

const list = byId("presets");
const search = byId("search");

function drawPresets() {
  const wanted = search.value.trim().toLowerCase();
  const groups = new Map();
  for (const tile of [...data.tiles.map((each) => ({ ...each, group: each.group ?? "This file" })), ...data.presets]) {
    const found = `${tile.group} ${tile.name} ${tile.note ?? ""} ${tile.text} ${tile.place ?? ""}`.toLowerCase();
    if (wanted.split(/\s+/).every((word) => found.includes(word))) groups.set(tile.group, [...(groups.get(tile.group) ?? []), tile]);
  }
  let k = 0;
  replace(list, [...groups].map(([group, members]) => h("details", { open: wanted !== "" || k++ < (data.tiles.length ? 2 : 3) },
    h("summary", {}, group, h("span", {}, String(members.length))),
    members.map((tile) => h("button", { type: "button", title: `${tile.text}\n${tile.note ?? ""}`, "data-text": tile.text, "data-shape": tile.shape.join(","), onclick: () => open(tile) },
      tile.name, tile.place ? h("small", {}, tile.place) : null)))));
  if (!groups.size) replace(list, h("p", { class: "note" }, "Nothing found."));
}
search.addEventListener("input", () => {
  drawPresets();
});

// Theme, export, keys.

const remembered = (() => {
  try {
    return localStorage.getItem("tirx-viz-theme");
  } catch {
    return null; // a page from a file may have no storage
  }
})();

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("tirx-viz-theme", name);
  } catch {
    // see above
  }
  for (const tab of tabs.values()) for (const [, grid] of tab.grids()) grid.draw();
  if (tabs.size) update();
}
const toggleTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
document.documentElement.dataset.theme = remembered ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
byId("theme").addEventListener("click", toggleTheme);

const exporter = select([["", "Export"], ["svg", "SVG"], ["png", "PNG"], ["pdf", "PDF (print)"]], "", (kind) => {
  exporter.value = "";
  if (kind) exportAs(kind, tabOf(state.tab).grids());
}, { id: "export", "aria-label": "export" });
byId("actions").prepend(exporter);

const help = byId("help");
help.append(h("h2", {}, "Keys"), h("dl", {}, KEYS.map(([keys, text]) => [h("dt", {}, keys), h("dd", {}, text)])), h("form", { method: "dialog" }, h("button", {}, "Close")));
byId("keys").addEventListener("click", () => help.showModal());

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(event.target.tagName)) return;
  const index = Number(event.key) - 1;
  if (event.key === "/") {
    event.preventDefault();
    search.focus();
  } else if (event.key === "t") toggleTheme();
  else if (event.key === "?") help.showModal();
  else if (index >= 0 && index < TABS.length) app.change({ tab: TABS[index][0] });
});
addEventListener("hashchange", () => {
  readAddress();
  update();
});

drawPresets();
update();

// For tests, and for whoever wants to script the page.
window.tirx = {
  state, app, algebra, banks, colors, copy, cute, mask, notation, tiles, words, grids: () => tabOf(state.tab).grids(),
  svg: () => gridsSvg(tabOf(state.tab).grids()),
  png: () => pngOf(gridsSvg(tabOf(state.tab).grids())),
};
document.documentElement.dataset.ready = "true";
