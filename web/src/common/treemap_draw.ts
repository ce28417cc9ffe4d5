// Draws the rectangles of a treemap: on a canvas, or as SVG.
import { mixColors } from "./colors";
import { count } from "./format";
import { Tree } from "./tree";
import { Rectangles, countRest } from "./treemap";

/** How items look. */
export interface Look {
  tree: Tree;
  name(item: number): string;
  /** "#rrggbb", of a row. */
  color(row: number): string;
  /** Rows that a search found, and how many are in each group; null if there is no search. */
  found: Uint8Array | null;
  foundIn: Uint32Array | null;
  /** The item that is chosen. */
  chosen: number | null;
}

export interface Palette {
  text: string;
  dim: string;
  panel: string;
  back: string;
  accent: string;
}

export const LIGHT: Palette = { text: "#1b1f24", dim: "#57606a", panel: "#f0f2f5", back: "#ffffff", accent: "#0b5cad" };
const ON_COLOR = "#101418";
const MOST_MIXED = 24;

/** What is drawn for one rectangle. */
interface Cell {
  fill: string;
  isDim: boolean;
  text: string;
  textColor: string;
}

function cellOf(rectangles: Rectangles, i: number, look: Look, palette: Palette): Cell {
  const { tree, found, foundIn } = look;
  const item = rectangles.item[i];
  const width = rectangles.width[i];
  const height = rectangles.height[i];
  if (rectangles.hasHeader[i]) return { fill: palette.panel, isDim: false, text: look.name(item), textColor: palette.text };
  const rest = rectangles.rests.get(i);
  const isWide = width > 34 && height > 13;
  if (rest !== undefined) {
    const isDim = found !== null && !rest.some((some) => (some < 0 ? found[-1 - some] : foundIn![some]) > 0);
    const text = isWide ? restText(countRest(tree, rest), width) : "";
    return { fill: mixedColor(look, rest), isDim, text, textColor: isDim ? palette.dim : ON_COLOR };
  }
  const isDim = found !== null && (item < 0 ? found[-1 - item] : foundIn![item]) === 0;
  const row = item < 0 ? -1 - item : tree.heavyRow(item);
  const isDivided = i + 1 < rectangles.count && rectangles.depth[i + 1] > rectangles.depth[i];
  if (isDivided) return { fill: palette.panel, isDim: false, text: "", textColor: palette.text };
  const isMixed = item >= 0 && width * height > 100;
  return {
    fill: row < 0 ? palette.panel : isMixed ? mixedColor(look, tree.fewIn(item, MOST_MIXED)) : look.color(row), isDim,
    text: isWide ? look.name(item) : "",
    textColor: isDim ? palette.dim : ON_COLOR,
  };
}

/** How many symbols a cell stands for, as long as that fits. */
function restText(symbols: number, width: number): string {
  const texts = [`${count(symbols)} smaller symbols`, `${count(symbols)} smaller`, count(symbols)];
  return texts.find((text) => text.length * 6.5 + 8 < width) ?? "";
}

/** The colour of many small items: those of the largest of them, mixed. */
function mixedColor(look: Look, items: Int32Array): string {
  const colors: string[] = [];
  for (let i = 0; i < items.length && colors.length < MOST_MIXED; i++) {
    const row = items[i] < 0 ? -1 - items[i] : look.tree.heavyRow(items[i]);
    if (row >= 0) colors.push(look.color(row));
  }
  return mixColors(colors);
}

export function drawTreemap(context: CanvasRenderingContext2D, rectangles: Rectangles, look: Look, palette: Palette): void {
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  let chosen = -1;
  for (let i = 0; i < rectangles.count; i++) {
    const x = rectangles.x[i];
    const y = rectangles.y[i];
    const width = rectangles.width[i];
    const height = rectangles.height[i];
    const cell = cellOf(rectangles, i, look, palette);
    if (rectangles.item[i] === look.chosen && !rectangles.rests.has(i)) chosen = i;
    context.globalAlpha = cell.isDim ? 0.18 : 1;
    context.fillStyle = cell.fill;
    // A line between cells is what is left free, except where a cell is too small for that.
    if (width > 3 && height > 3) context.fillRect(x + 0.5, y + 0.5, width - 1, height - 1);
    else context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
    if (cell.text !== "") write(context, cell.text, x + 4, y + 8.5, width - 7, cell.textColor);
  }
  if (chosen >= 0) outline(context, rectangles, chosen, palette);
}

function outline(context: CanvasRenderingContext2D, rectangles: Rectangles, i: number, palette: Palette): void {
  const x = rectangles.x[i];
  const y = rectangles.y[i];
  const width = Math.max(4, rectangles.width[i]);
  const height = Math.max(4, rectangles.height[i]);
  context.strokeStyle = palette.back;
  context.lineWidth = 5;
  context.strokeRect(x + 1.5, y + 1.5, width - 3, height - 3);
  context.strokeStyle = palette.text;
  context.lineWidth = 2.5;
  context.strokeRect(x + 1.5, y + 1.5, width - 3, height - 3);
}

/** As much of a text as fits. */
function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, color: string): void {
  // A character is hardly narrower than 3 pixels, so a long name need not be measured as a whole.
  const most = Math.ceil(room / 3);
  const shown = text.length > most ? text.slice(0, most) : text;
  context.fillStyle = color;
  if (shown.length === text.length && context.measureText(shown).width <= room) {
    context.fillText(shown, x, y);
    return;
  }
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(shown.slice(0, middle) + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  if (low > 1) context.fillText(shown.slice(0, low) + "…", x, y);
}

// --- SVG ---

export function escapeXml(text: string): string {
  // XML has no place for some characters, escaped or not.
  const clean = text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd");
  return clean.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** The same picture as a file. TITLE is its accessible name; DESCRIBE gives the tooltips. */
export function treemapSvg(
  rectangles: Rectangles, width: number, height: number, title: string, look: Look, describe: (item: number) => string,
): string {
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="11" role="img">`,
    `<title>${escapeXml(title)}</title><rect width="100%" height="100%" fill="${LIGHT.back}"/>\n`,
  ];
  const short = (value: number) => Number(value.toFixed(2));
  for (let i = 0; i < rectangles.count; i++) {
    const cell = cellOf(rectangles, i, look, LIGHT);
    const [x, y, w, h] = [rectangles.x[i], rectangles.y[i], rectangles.width[i], rectangles.height[i]];
    const gap = w > 3 && h > 3 ? 0.5 : 0;
    const rest = rectangles.rests.has(i);
    parts.push(
      `<rect x="${short(x + gap)}" y="${short(y + gap)}" width="${short(w - 2 * gap)}" height="${short(h - 2 * gap)}" fill="${cell.fill}"`,
      cell.isDim ? ` opacity="0.18">` : ">",
      `<title>${escapeXml(rest ? cell.text : describe(rectangles.item[i]))}</title></rect>`,
    );
    const letters = Math.floor((w - 7) / 6.2);
    if (cell.text !== "" && letters > 2) {
      const text = cell.text.length > letters ? cell.text.slice(0, letters - 1) + "…" : cell.text;
      parts.push(`<text x="${short(x + 4)}" y="${short(y + 12)}" fill="${cell.textColor}">${escapeXml(text)}</text>`);
    }
    parts.push("\n");
  }
  parts.push("</svg>\n");
  return parts.join("");
}
