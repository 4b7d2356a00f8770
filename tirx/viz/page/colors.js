// Colours that people with any colour vision tell apart.
//
// Categories: M. Okabe and K. Ito, "Color Universal Design" (2008). Scale: cividis, J. Nunez, C. Anderton and
// R. Renslow, PLOS ONE 13(7), 2018. Both as tints, chosen so that every pair of categories stays apart without red,
// green or blue receptors (the tests measure it); every cell also says its number.

const CATEGORIES = {
  light: ["#78c3ed", "#e8a91a", "#2daf8c", "#db7321", "#d591b7", "#f2e85f", "#cce3f0", "#c4c4c4"],
  dark: ["#4287ae", "#8b640b", "#0b3d35", "#73390d", "#68435c", "#898430", "#035e92", "#6c6e70"],
};
const SCALE = {
  light: ["#7f90b3", "#949fb6", "#a9aeb5", "#bdbcae", "#d0c9a4", "#e0d493", "#efdf7c", "#faea5c"],
  dark: ["#20345f", "#38466a", "#4d566f", "#63676f", "#7b7868", "#948b58", "#ae9e40", "#c9b21e"],
};

export const isDark = () => document.documentElement.dataset.theme === "dark";

const parse = (text) => Number.parseInt(text.slice(1), 16);
const channels = (rgb) => [(rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255];

function mix(a, b, t) {
  const x = channels(a), y = channels(b);
  const [r, g, bl] = x.map((value, i) => Math.round(value + (y[i] - value) * t));
  return (r << 16) | (g << 8) | bl;
}

// A function from a value in low..high to 0xRRGGBB: categories for up to eight values, a scale for more.
export function colouring(low, high) {
  const theme = isDark() ? "dark" : "light";
  const count = high - low + 1;
  if (count <= 8) {
    const palette = CATEGORIES[theme].map(parse);
    return (value) => palette[(((value - low) % 8) + 8) % 8];
  }
  const steps = SCALE[theme].map(parse);
  return (value) => {
    const at = (Math.min(Math.max(value - low, 0), count - 1) / (count - 1)) * (steps.length - 1);
    const k = Math.min(Math.floor(at), steps.length - 2);
    return mix(steps[k], steps[k + 1], at - k);
  };
}

export const cssColour = (rgb) => `#${rgb.toString(16).padStart(6, "0")}`;

export function inkOn(rgb) {
  const [r, g, b] = channels(rgb);
  return 0.299 * r + 0.587 * g + 0.114 * b > 125 ? "#141c26" : "#f4f6f8";
}

export const cssVariable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
