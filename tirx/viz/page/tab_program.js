// A program beside what the compiler decided about it (layouts, engines, plans, descriptors, memory, roles, rings), or
// beside its PTX, with lines linked both ways.

import { h, replace, select, field } from "./dom.js";
import { state } from "./state.js";

const SECTIONS = [
  ["tiles", "Tiles"], ["copies", "Copies"], ["products", "Products"], ["memory", "Memory"], ["schedule", "Roles and rings"],
];
const WORD = /^(0x[0-9a-f]+)(.*)$/s;
const NOTHING = { name: "", head: "This program has an error.", notes: [], ...Object.fromEntries(SECTIONS.map(([name]) => [name, []])) };
const VIEWS = [["", "Decisions"], ["ptx", "PTX"]];

const TOKENS = /(?<comment>\/\/.*)|(?<string>"[^"]*")|(?<value>%[\w.#-]+)|(?<label>\$\w+)|(?<name>[@^][\w.-]+)|(?<type>[!#][\w.]+|\b(?:index|[su]?i\d+|b?f\d+\w*)\b)|(?<operation>\b[a-z_]\w*(?:\.\w+)+)|(?<number>\b\d[\w.]*)/g;

// A line of MLIR or PTX, each word in the colour of its kind.
function highlighted(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [kind] = Object.entries(found.groups).find(([, each]) => each !== undefined);
    parts.push(text.slice(at, found.index), h("i", { class: `t-${kind}` }, found[0]));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

export function programTab(app) {
  const { programs } = app;
  const keys = programs.flatMap((program) => (program.kernels.length ? program.kernels : [NOTHING]).map((kernel) => [kernel === NOTHING ? program.name : `${program.name}@${kernel.name}`, program, kernel]));
  const kernel = select(keys.map(([key]) => [key, key]), keys[0]?.[0] ?? "", (value) => app.change({ pk: value, pl: "" }), { id: "kernel" });
  const head = h("p", { class: "facts" });
  const error = h("pre", { class: "error", hidden: true });
  // Lines of text; the arrow keys go to the next line that is linked.
  const listing = (attributes) => h("div", { class: "source", tabindex: "0", ...attributes, onkeydown: (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const linked = [...event.currentTarget.querySelectorAll(".decided")].map((each) => each.dataset.line);
    const distinct = linked.filter((each, k) => each !== linked[k - 1]);
    const at = distinct.indexOf(state.pl);
    app.change({ pl: distinct[at < 0 ? 0 : Math.min(Math.max(at + step, 0), distinct.length - 1)] ?? "" });
  } });
  const source = listing({ id: "source", "aria-label": "program" });
  const ptx = listing({ id: "ptx", "aria-label": "PTX" });
  const viewBar = h("div", { class: "segments", role: "group", "aria-label": "beside the program" }, VIEWS.map(([name, title]) =>
    h("button", { type: "button", "data-beside": name, onclick: () => app.change({ pv: name }) }, title)));
  const instructions = h("section", { class: "panel" }, h("header", {}, h("h2", {}, "PTX")), ptx);
  const decisions = h("div", { class: "stack", id: "decisions" });
  const element = h("div", { class: "tab" }, h("div", { class: "inputs" }, field("kernel", kernel), viewBar), head, error,
    h("div", { class: "two" }, h("section", { class: "panel sticky" }, h("header", {}, h("h2", {}, "Program")), source), decisions, instructions));
  let shown = "", revealed = "";

  const link = (title, change) => h("button", { type: "button", class: "link", onclick: () => app.change(change) }, title);

  // The text of a fact; a word is a link to its bits.
  function valueOf(name, text, decision) {
    const found = WORD.exec(text);
    const plan = decision.facts.plan ?? "";
    if (found === null) return h("code", {}, text);
    const [, word, rest] = found;
    const [, kind] = /kind = "(\w+)"/.exec(plan) ?? [];
    const change = name === "instruction descriptor" ? { tab: "descriptor", idesc: word, ...(kind ? { kind } : {}) }
      : name === "zero-column mask" ? { tab: "mask", mask: word, mm: /\bm = (\d+)/.exec(plan)?.[1] ?? state.mm, mn: /\bn = (\d+)/.exec(plan)?.[1] ?? state.mn }
        : { tab: "descriptor", word, fam: plan.startsWith("wgmma") ? "wgmma" : "tcgen05" };
    return h("code", {}, link(word, change), rest);
  }

  // The tile of the page with this layout on this line.
  function tileOf(decision) {
    const text = decision.facts.layout;
    if (text === undefined) return null;
    const swizzle = /swizzle_layout<([^>]*)>/.exec(text)?.[1];
    const plain = /tile_layout<(.*?)>+$/.exec(text)?.[1];
    const wanted = swizzle === undefined ? plain : `ComposeLayout(Swizzle(${swizzle}), ${plain})`;
    return app.tiles.find((tile) => tile.text === wanted && Number(tile.place?.split(":").at(-2)) === decision.line) ?? null;
  }

  function card(decision) {
    const tile = tileOf(decision);
    return h("div", { class: "decision", "data-line": decision.line },
      h("h4", {}, decision.line === null ? null : link(`line ${decision.line}`, { pl: String(decision.line) }), " ", decision.what,
        tile === null ? null : [" ", link("open", { tab: "layout", l: tile.text, s: tile.shape.join(","), d: tile.dtype, e: "", c: "", v: "" })]),
      h("dl", {}, Object.entries(decision.facts).map(([name, text]) => [h("dt", {}, name), h("dd", {}, valueOf(name, text, decision))]),
        decision.why.map((text) => [h("dt", {}, "why"), h("dd", {}, text)])));
  }

  // A memory as a bar of what lies in it.
  function bar(decision) {
    const spans = Object.keys(decision.facts).map((name) => name.split("-").map(Number)).map(([first, last]) => [first, last ?? first]);
    const total = Math.max(1, ...spans.map(([, last]) => last + 1));
    return h("div", { class: "memory" }, spans.map(([first, last], k) => h("span", {
      class: `f${k % 8}`, style: `left:${(100 * first) / total}%;width:${(100 * (last - first + 1)) / total}%`, title: `${Object.keys(decision.facts)[k]}: ${Object.values(decision.facts)[k]}`,
    }, (last - first + 1) / total > Object.values(decision.facts)[k].length / 60 ? Object.values(decision.facts)[k] : "")));
  }

  // A numbered line, which goes to what is linked with the line `to` of the program.
  const lineOf = (text, number, to, attributes) => h("div", { ...attributes, ...(to ? { "data-line": to, onclick: () => app.change({ pl: String(to) }) } : {}) },
    h("span", {}, String(number)), highlighted(text));

  function draw(program, found) {
    head.textContent = found.head;
    error.hidden = !program.error;
    error.textContent = program.error ?? "";
    const linked = new Set(program.lines ?? []);
    for (const [name] of SECTIONS) for (const each of found[name]) linked.add(each.line);
    const wrong = new Set((program.error ?? "").split("\n").filter((each) => each.startsWith(`${program.name}:`)).map((each) => parseInt(each.slice(program.name.length + 1), 10)));
    replace(source, program.source.split("\n").map((text, k) =>
      lineOf(text, k + 1, linked.has(k + 1) ? k + 1 : 0, { class: `line${linked.has(k + 1) ? " decided" : ""}${wrong.has(k + 1) ? " wrong" : ""}` })));
    replace(ptx, (program.ptx ?? "").split("\n").map((text, k) => lineOf(text, k + 1, program.lines?.[k], { class: program.lines?.[k] ? "line decided" : "line" })));
    const notes = found.notes.map(([line, text]) => h("p", {}, line === null ? null : link(`line ${line}`, { pl: String(line) }), ` ${text}`));
    replace(decisions,
      SECTIONS.filter(([name]) => found[name].length).map(([name, title]) => h("section", { class: "card" }, h("h2", {}, title), found[name].map((each) => [card(each), name === "memory" ? bar(each) : null]))),
      notes.length ? h("section", { class: "card" }, h("h2", {}, "Notes"), notes) : null);
  }

  // Scrolls to the first chosen part of a box, and the page to it, unless one is in sight.
  function reveal(box) {
    const chosen = [...box.querySelectorAll(".chosen")];
    const inSight = (each) => {
      const [line, all] = [each, box].map((part) => part.getBoundingClientRect());
      return line.top >= Math.max(all.top, 0) && line.bottom <= Math.min(all.bottom, innerHeight);
    };
    if (!chosen.length || chosen.some(inSight)) return;
    if (box.scrollHeight > box.clientHeight) box.scrollTop += chosen[0].getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
    if (!inSight(chosen[0])) chosen[0].scrollIntoView({ block: "center" });
  }

  function update() {
    const [key, program, found] = keys.find(([each]) => each === state.pk) ?? keys[0];
    kernel.value = key;
    if (shown !== key) {
      shown = key;
      draw(program, found);
    }
    const beside = program.ptx === undefined ? "" : state.pv;
    viewBar.hidden = program.ptx === undefined;
    for (const each of viewBar.children) each.setAttribute("aria-pressed", String(each.dataset.beside === beside));
    decisions.hidden = beside === "ptx";
    instructions.hidden = beside !== "ptx";
    for (const each of element.querySelectorAll("[data-line]")) each.classList.toggle("chosen", each.dataset.line === state.pl && state.pl !== "");
    const place = `${key} ${state.pl} ${beside}`;
    if (place === revealed) return;
    revealed = place;
    for (const box of [source, decisions, ptx]) reveal(box);
    if (state.pl === "") source.querySelector(".wrong")?.scrollIntoView({ block: "nearest" });
  }
  return { element, update, grids: () => [] };
}
