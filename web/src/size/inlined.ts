// Functions that were inlined into others: what they take in all places. src/report/size_about.c writes the table.
import { Source, TableReader } from "../common/data";
import { Labelled, intern, tidyPath } from "./groups";
import { stripName } from "./names";

export class InlinedModel {
  size: Float64Array;
  total: Float64Array;
  places: Float64Array;
  files: string[] = [];
  /** All names, one a line, as in SizeModel. */
  names = "";
  nameStarts: Uint32Array = new Uint32Array(1);

  constructor(readonly count: number, readonly codeBytes: number) {
    this.size = new Float64Array(count);
    this.total = new Float64Array(count);
    this.places = new Float64Array(count);
  }

  async load(source: Source): Promise<void> {
    const table = new TableReader(await source.block("inlined"));
    table.numbers(this.size);
    table.numbers(this.total);
    table.numbers(this.places);
    const names = table.strings().map((name) => name.replaceAll("\n", " "));
    this.nameStarts = new Uint32Array(names.length + 1);
    names.forEach((name, i) => (this.nameStarts[i + 1] = this.nameStarts[i] + name.length + 1));
    this.names = names.join("\n") + "\n";
    this.files = table.strings();
  }

  name(row: number): string {
    return this.names.slice(this.nameStarts[row], this.nameStarts[row + 1] - 1);
  }

  shortName(row: number): string {
    return stripName(this.name(row));
  }

  labels(): Labelled {
    return intern(this.count, (row) => tidyPath(this.files[row]), "/");
  }
}
