// What the headers of size files say, as lists that can be compared: metrics, and settings of the build.
import { Container, Header, Json, Section, Side } from "./model";

/** One value of a list, before and after. undefined: it was not there. */
export interface Entry<T> {
  name: string;
  before: T | undefined;
  after: T | undefined;
}

export interface Part<T> {
  title: string;
  entries: Entry<T>[];
}

type Sides<T> = [T | undefined, T | undefined];

function sidesOf(before: Side | undefined, after: Side): Sides<Header> {
  return [before?.header, after.header];
}

function containersOf(header: Header | undefined): Map<string, Container> {
  if (header === undefined) return new Map();
  return new Map((header.containers ?? [header]).map((container, i) => [container.name ?? (i === 0 ? "" : String(i)), container]));
}

/** The keys of both sides, in the order of the second. */
function keysOf(...maps: (Iterable<string> | undefined)[]): string[] {
  return [...new Set(maps.reverse().flatMap((keys) => [...(keys ?? [])]))];
}

function entriesOf<T>(before: Record<string, T> | null | undefined, after: Record<string, T> | null | undefined): Entry<T>[] {
  const keys = keysOf(Object.keys(before ?? {}), Object.keys(after ?? {})).sort();
  const own = (values: Record<string, T> | null | undefined, key: string) => (values && Object.hasOwn(values, key) ? values[key] : undefined);
  return keys.map((name) => ({ name, before: own(before, name), after: own(after, name) }));
}

/** Metrics by container and file. */
export function metricParts(before: Side | undefined, after: Side): Part<number>[] {
  const [first, second] = sidesOf(before, after).map(containersOf);
  const parts: Part<number>[] = [];
  for (const name of keysOf(first.keys(), second.keys())) {
    const files: Sides<Record<string, Record<string, number>>> = [first.get(name)?.metrics_by_file, second.get(name)?.metrics_by_file];
    for (const file of keysOf(...files.map((one) => Object.keys(one ?? {}))).sort())
      parts.push({ title: name ? `${name} › ${file}` : file, entries: entriesOf(files[0]?.[file], files[1]?.[file]) });
  }
  return parts;
}

/** A setting that is a list has a line for each member: gn_args › is_debug=false. */
function settings(values: Record<string, Json> | null | undefined): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(values ?? {})) {
    if (Array.isArray(value))
      for (const member of value) {
        const text = typeof member === "string" ? member : JSON.stringify(member);
        const end = text.indexOf("=");
        result[`${key} › ${end > 0 ? text.slice(0, end) : text}`] = end > 0 ? text.slice(end + 1) : "yes";
      }
    else result[key] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return result;
}

/** Build settings, and the metadata of each container. */
export function settingParts(before: Side | undefined, after: Side): Part<string>[] {
  const headers = sidesOf(before, after);
  const parts: Part<string>[] = [];
  const config = entriesOf(settings(headers[0]?.build_config), settings(headers[1]?.build_config));
  if (config.length > 0) parts.push({ title: "Build settings", entries: config });
  const [first, second] = headers.map(containersOf);
  for (const name of keysOf(first.keys(), second.keys())) {
    const entries = entriesOf(settings(first.get(name)?.metadata), settings(second.get(name)?.metadata));
    if (entries.length > 0) parts.push({ title: name || "Metadata", entries });
  }
  return parts;
}

/** Sections of both sides, in the order of the file. */
export function sectionEntries(before: Side | undefined, after: Side): Entry<Section>[] {
  const key = (section: Section) => (section.container ? section.container + " › " : "") + section.name;
  const sides = [before?.sections ?? [], after.sections].map((list) => new Map(list.map((section) => [key(section), section])));
  return keysOf(sides[0].keys(), sides[1].keys()).map((name) => ({ name, before: sides[0].get(name), after: sides[1].get(name) }));
}
