// Facts in words.
import { count, counted } from "../common/format";
import { ExplainedFrame, Explanation, Info } from "./model";

const FORMATS: Record<string, string> = {
  elf: "ELF file", lidia: "Lidia archive", symbfile: "symbfile", returnpads: "symbfile with return pads", ksym: "ksym blob",
};

export function formatName(info: Info): string {
  return (FORMATS[info.format] ?? info.format) + (info.version ? ` version ${info.version}` : "");
}

const SOURCES: Record<string, string> = { dwarf: "DWARF", go: "Go's function table", symtab: ".symtab", dynsym: ".dynsym" };

/** How much the file says about an address. */
export function quality(info: Info): string {
  if (info.functions === 0 && info.symbols === 0) return "no functions";
  const has = ["function names"];
  if (info.lines > 0) has.push("lines");
  if (info.inlines > 0) has.push("inlined calls");
  const lacks = info.format === "ksym" ? [] : [...(info.lines === 0 ? ["lines"] : []), ...(info.inlines === 0 ? ["inlined calls"] : [])];
  const from = info.sources.map((source) => SOURCES[source] ?? source).join(", ");
  let text = list(has) + (from ? " from " + from : "");
  if (lacks.length > 0) text += `; no ${list(lacks, "or")}`;
  if (info.damaged_units) text += `; ${counted(info.damaged_units, "damaged unit")} of ${count(info.units ?? 0)}`;
  if (info.missing_units) text += `; ${counted(info.missing_units, "unit")} without the split file that has it`;
  return text;
}

export function list(words: string[], last = "and"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
}

/** The counts that `info` prints. */
export function counts(info: Info): string[] {
  const shown = [counted(info.functions, "function")];
  if (info.symbols !== info.functions) shown.push(counted(info.symbols, "symbol"));
  shown.push(counted(info.inlines, "inlined call"), counted(info.lines, "line entry").replace("entrys", "entries"));
  if (info.return_pads) shown.push(counted(info.return_pads, "return pad"));
  return shown;
}

/** "function at 0x5e of .debug_info, unit 'a.c' at 0x0, 0x401126-0x401150"; records of an archive are in the file. */
export function recordText(frame: ExplainedFrame, isArchive: boolean): string {
  const place = isArchive || !frame.section ? "the file" : frame.section;
  let text = `${frame.record}${frame.index !== null ? ` ${frame.index}` : ""} at ${frame.entry} of ${place}`;
  if (frame.unit !== null) text += `, unit '${frame.unit}' at ${frame.unit_offset}`;
  if (frame.start !== null) text += `, ${frame.start}-${frame.end}`;
  return text;
}

/** "/src/a.c:2:71, row 0x401134 of the table at 0x0 of .debug_line" */
export function lineText(line: NonNullable<Explanation["line"]>, isArchive: boolean): string {
  const text = `${line.source ?? "(no file)"}:${line.line ?? 0}${line.column ? `:${line.column}` : ""}, `;
  if (isArchive) return `${text}from ${line.address} on, by the line entry at ${line.table} of the file`;
  const place = line.section ? line.section : "the file";
  return text + (line.address !== null ? `row ${line.address} of the table at ${line.table} of ${place}` : `by the table at ${line.table} of ${place}`);
}

/** Is QUESTION, as typed, the address itself? */
export function isSameAddress(question: string, address: string): boolean {
  return /^(0x)?[0-9a-f]+$/i.test(question) && BigInt("0x" + question.replace(/^0x/i, "")) === BigInt(address);
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A name that can be seen. */
export function shownName(name: string): string {
  return name === "" ? "(no name)" : name.trim() === "" ? "(blank)" : name;
}

/** "+0x12" from START to ADDRESS. */
export function offsetText(address: string, start: string): string {
  const distance = BigInt(address) - BigInt(start);
  return distance >= 0n ? "+0x" + distance.toString(16) : "-0x" + (-distance).toString(16);
}

/** "0x401140": where a range ends. */
export function endOf(address: string, size: number): string {
  return "0x" + BigInt.asUintN(64, BigInt(address) + BigInt(size)).toString(16);
}

/** The parts of NAME, of which those with an odd number are what is searched for, in any case unless WITH_CASE. */
export function highlights(name: string, search: string, withCase: boolean): string[] {
  if (search === "") return [name];
  const text = withCase ? name : lower(name);
  const wanted = withCase ? search : lower(search);
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(wanted); at >= 0 && parts.length < 100; at = text.indexOf(wanted, from)) {
    parts.push(name.slice(from, at), name.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...parts, name.slice(from)];
}

/** Only of A to Z, as the server compares, so that no letter changes its length. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
