// The lines of the table that were fetched, in blocks. What was asked for is not asked for again.
import { Row, Rows } from "./model";

export const BLOCK = 200;
const MOST_BLOCKS = 200;

export class RowCache {
  private blocks = new Map<number, Row[]>();
  private pending = new Set<number>();
  isFilled = false;
  found = 0;
  total = 0;

  /** FETCH gets the lines from a number on; CHANGED is called when some have come. */
  constructor(
    private fetch: (from: number, count: number) => Promise<Rows>,
    private changed: () => void,
    private failed: (error: Error) => void,
  ) {}

  row(at: number): Row | undefined {
    return this.blocks.get(Math.floor(at / BLOCK))?.[at % BLOCK];
  }

  take(rows: Rows): void {
    this.isFilled = true;
    this.found = rows.found;
    this.total = rows.total;
    this.blocks.set(Math.floor(rows.from / BLOCK), rows.rows);
    for (const oldest of this.blocks.keys()) {
      if (this.blocks.size <= MOST_BLOCKS) break;
      this.blocks.delete(oldest);
    }
  }

  /** Fetches the blocks of the lines from FIRST to LAST that are missing. */
  async want(first: number, last: number): Promise<void> {
    const missing: number[] = [];
    for (let block = Math.floor(first / BLOCK); block * BLOCK < last; block++)
      if (!this.blocks.has(block) && !this.pending.has(block)) missing.push(block);
    await Promise.all(missing.map((block) => this.load(block)));
  }

  private async load(block: number): Promise<void> {
    this.pending.add(block);
    try {
      this.take(await this.fetch(block * BLOCK, BLOCK));
      this.changed();
    } catch (error) {
      this.failed(error as Error);
    } finally {
      this.pending.delete(block);
    }
  }
}
