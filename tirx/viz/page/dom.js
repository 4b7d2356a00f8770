// Small helpers for the document.

// An element with attributes (functions become listeners) and children.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const CONTROLS = "button, select, input, [tabindex]";

// Other children. The control that had the focus is made anew, too: the one in its place gets it.
export function replace(parent, ...children) {
  const before = [...parent.querySelectorAll(CONTROLS)].indexOf(document.activeElement);
  parent.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  if (before >= 0) parent.querySelectorAll(CONTROLS)[before]?.focus({ preventScroll: true });
  return parent;
}

export const byId = (id) => document.getElementById(id);

export function select(options, value, onchange, attributes = {}) {
  const element = h(
    "select",
    { ...attributes, onchange: () => onchange(element.value) },
    options.map(([key, title]) => h("option", { value: key }, title)),
  );
  element.value = value;
  return element;
}

export const field = (title, control, attributes = {}) => h("label", { class: "field", ...attributes }, h("span", {}, title), control);

// A message under an input, with a caret under the character of the mistake.
export function showError(box, error, text = "") {
  if (error === null) {
    replace(box);
    box.hidden = true;
    return;
  }
  box.hidden = false;
  const at = error.position;
  const lines = [h("span", { class: "message" }, error.message)];
  if (at !== null && at !== undefined && text) {
    const from = Math.max(0, at - 48);
    lines.push(h("code", {}, `${from ? "…" : ""}${text.slice(from, at + 32)}\n${" ".repeat(at - from + (from ? 1 : 0))}^`));
  }
  replace(box, lines);
}

export function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function table(head, rows, attributes = {}) {
  return h(
    "table",
    attributes,
    head.length ? h("thead", {}, h("tr", {}, head.map((each) => h("th", {}, each)))) : null,
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))),
  );
}

export const number = (value) => value.toLocaleString("en-US");
export const elements = (count) => `${number(count)} element${count === 1 ? "" : "s"}`;
