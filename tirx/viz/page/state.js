// What the page shows, as texts, kept in the address: whoever gets the address sees the same.

const DEFAULTS = {
  tab: "layout",
  l: "", s: "", d: "f16", // layout, shape, element type
  c: "", v: "", e: "", p: "", // colour, view of places, element, access pattern
  mesh: "",
  lb: "", sb: "", // the second layout
  op: "tile", os: "", is: "", bx: "0:8, 0:8", pm: "1,0",
  ca: "((2,2),4):((1,8),2)", cb: "4:2", co: "logical_divide",
  fam: "tcgen05", base: "0", word: "", kind: "f16", idesc: "",
  fv: "m16n8k16.row.col.f32.f16", fn: "", ft: "5",
  eng: "tma", td: "256, 192", tb: "16, 64", ts: "8, 64", tw: "128B", // copies: a box of a tensor
  rl: "", ka: "", // or who holds what, and an access
  pk: "", pl: "", pv: "", // a kernel of a program, a line, and "ptx" beside it
  mm: "64", mn: "256", mask: "",
};

export const state = { ...DEFAULTS };

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(DEFAULTS)) state[name] = given.get(name) ?? DEFAULTS[name];
}

export function writeAddress() {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value !== DEFAULTS[name]) kept.set(name, value);
  const hash = kept.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

export const hasAddress = () => new URLSearchParams(location.hash.slice(1)).has("l");
