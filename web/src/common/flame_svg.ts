// A flame graph as an SVG file: what is drawn, with the whole names as tooltips.
import { CallView } from "./calls";
import { layFlame } from "./flame";

const LEVEL = 18;
const WIDTH = 1200;
const LETTER = 6.6;

export interface SvgOptions {
  title: string;
  isDiff: boolean;
  isInverted: boolean;
  name(node: number): string;
  color(node: number): string;
  describe(node: number): string;
}

/** Characters that XML does not allow are replaced. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export function flameSvg(view: CallView, node: number, options: SvgOptions): string {
  const bars = layFlame(view, node, WIDTH, options.isDiff);
  const height = bars.levels * LEVEL + 30;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="8" y="20">${escapeXml(options.title.slice(0, 200))}</text>`,
  ];
  for (let i = 0; i < bars.count; i++) {
    const y = 30 + (options.isInverted ? bars.levels - 1 - bars.depth[i] : bars.depth[i]) * LEVEL;
    const width = Math.max(0.5, bars.width[i] - 0.5);
    const room = Math.floor((width - 6) / LETTER);
    const name = options.name(bars.node[i]);
    const text = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 1) + "…";
    parts.push(
      `<g><title>${escapeXml(options.describe(bars.node[i]).slice(0, 2000))}</title>` +
      `<rect x="${bars.x[i].toFixed(2)}" y="${y}" width="${width.toFixed(2)}" height="${LEVEL - 1}" fill="${options.color(bars.node[i])}"/>` +
      (text === "" ? "" : `<text x="${(bars.x[i] + 3).toFixed(2)}" y="${y + 13}">${escapeXml(text)}</text>`) + "</g>",
    );
  }
  return parts.join("\n") + "\n</svg>\n";
}
