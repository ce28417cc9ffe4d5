// The rows that are shown, as files. Keys and columns are those of `sextant diff --json` and `sextant query --json`.
import { csvField } from "../common/download";
import { InlinedModel } from "./inlined";
import { FLAGS, SizeModel, STATUS } from "./model";

type Row = Record<string, string | number>;

export function symbolRow(model: SizeModel, row: number): Row {
  const { rows, info } = model;
  const segment = info.segments[rows.segment[row]];
  const path = rows.path[row];
  const status: Row = rows.status ? { status: STATUS[rows.status[row]], size_before: rows.before![row], size_after: rows.after![row] } : {};
  return {
    ...status, container: segment.container, section: segment.section, address: model.address(row), size: rows.size[row],
    padding: rows.padding[row], pss: rows.pss[row], aliases: rows.aliases[row], flags: rows.flags[row],
    full_name: model.name(row), name: model.shortName(row), object_path: model.objects[model.pathObject[path]],
    source_path: model.sources[model.pathSource[path]], component: model.components[rows.component[row]],
  };
}

export function inlinedRow(model: InlinedModel, row: number): Row {
  return { function: model.name(row), file: model.files[row], size: model.size[row], total: model.total[row], places: model.places[row] };
}

/** Texts of a few rows each, so that no text is longer than a browser allows. */
export function toCsv(rows: Iterable<number>, get: (row: number) => Row): string[] {
  const parts: string[] = [];
  let lines: string[] = [];
  for (const row of rows) {
    const values = get(row);
    if (parts.length === 0 && lines.length === 0) lines.push(Object.keys(values).join(","));
    lines.push(Object.values(values).map(csvField).join(","));
    if (lines.length > 10_000) {
      parts.push(lines.join("\r\n") + "\r\n");
      lines = [];
    }
  }
  parts.push(lines.map((line) => line + "\r\n").join(""));
  return parts;
}

export function toJson(rows: Iterable<number>, get: (row: number) => Row): string[] {
  const parts: string[] = [];
  let separator = "[\n";
  for (const row of rows) {
    parts.push(separator + JSON.stringify(get(row)));
    separator = ",\n";
  }
  parts.push(parts.length === 0 ? "[]\n" : "\n]\n");
  return parts;
}

export function flagNames(flags: number): string[] {
  return FLAGS.filter((_, i) => (flags >> i) & 1);
}
