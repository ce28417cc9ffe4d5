// What a profile page is about. src/report/profile_page.c writes the table.
import { Calls } from "../common/calls";
import { Source, TableReader } from "../common/data";

export interface ProfileInfo {
  kind: "profile" | "profilediff";
  name: string;
  /** Of a comparison. */
  before_name?: string;
  frames: number;
  nodes: number;
  default_type: number;
  types: { name: string; unit: string }[];
  sides: { samples: number; unnamed: number; values: number[] }[];
}

export class ProfileModel {
  readonly info: ProfileInfo;
  private strings!: string[];
  private functions!: Uint32Array;
  private files!: Uint32Array;
  private binaries!: Uint32Array;
  private parent!: Uint32Array;
  private frame!: Uint32Array;
  private values!: Float64Array[];

  constructor(private readonly source: Source) {
    this.info = source.json<ProfileInfo>();
  }

  get isDiff(): boolean {
    return this.info.kind === "profilediff";
  }

  async load(): Promise<void> {
    const { info } = this;
    const table = new TableReader(await this.source.block("calls"));
    this.strings = table.strings();
    this.functions = table.sums(new Uint32Array(info.frames));
    this.files = table.sums(new Uint32Array(info.frames));
    this.binaries = table.sums(new Uint32Array(info.frames));
    const distance = table.numbers(new Uint32Array(info.nodes - 1));
    const frames = table.sums(new Uint32Array(info.nodes - 1));
    this.parent = new Uint32Array(info.nodes);
    this.frame = new Uint32Array(info.nodes);
    for (let i = 1; i < info.nodes; i++) {
      this.parent[i] = i - distance[i - 1];
      this.frame[i] = frames[i - 1];
    }
    this.values = info.sides.flatMap(() => info.types.map(() => table.signed(new Float64Array(info.nodes))));
  }

  /** The calls with one kind of value; of two profiles, the first is the one before. */
  calls(type: number): Calls {
    const types = this.info.types.length;
    const last = this.info.sides.length - 1;
    return { parent: this.parent, frame: this.frame, self: this.values[last * types + type], before: last > 0 ? this.values[type] : null };
  }

  functionName(frame: number): string {
    return frame < 0 ? "all" : this.strings[this.functions[frame]] || "(unknown)";
  }

  file(frame: number): string {
    return frame < 0 ? "" : this.strings[this.files[frame]];
  }

  binary(frame: number): string {
    return frame < 0 ? "" : this.strings[this.binaries[frame]];
  }
}
