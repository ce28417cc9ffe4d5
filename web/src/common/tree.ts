// A tree of groups with rows in them, on flat arrays. Rows are numbers; what they are is the page's business.
//
// Its shape follows from the labels of the rows alone and is made once. A filter only changes the values: the sum over
// the rows that it lets through, for each group and all groups above it. Children and rows are put in order when
// somebody looks at them, so that a million rows of which a few hundred are visible cost nothing.

export class Tree {
  /** Of each group; group 0 is the root. A group comes after its parent. */
  readonly names: string[] = [""];
  readonly parents: number[] = [-1];
  readonly depths: number[] = [0];
  private childStart!: Uint32Array;
  private childList!: Uint32Array;
  private rowStart!: Uint32Array;
  private rowList!: Uint32Array;
  private readonly groupOfRow: Uint32Array;
  /** Sums over rows that pass the filter: of values, of their absolute values, and how many there are. */
  values!: Float64Array;
  weights!: Float64Array;
  counts!: Uint32Array;
  private mask: Uint8Array | null = null;
  private sortedGroups = new Map<number, Uint32Array>();
  private sortedRows = new Map<number, Uint32Array>();

  /**
   * LABELS are texts whose parts are divided by SEPARATOR; row I belongs to the group of LABELS[labelOfRow[I]]. An empty
   * part is kept: "/usr" is below "".
   */
  constructor(labels: string[], labelOfRow: Uint32Array, separator: string, readonly rowValues: Float64Array) {
    const groups = this.makeGroups(labels, separator);
    this.groupOfRow = new Uint32Array(labelOfRow.length);
    for (let i = 0; i < labelOfRow.length; i++) this.groupOfRow[i] = groups[labelOfRow[i]];
    this.index();
    this.filter(null);
  }

  private makeGroups(labels: string[], separator: string): Uint32Array {
    const known = new Map<string, number>();
    const groups = new Uint32Array(labels.length);
    const add = (label: string): number => {
      const found = known.get(label);
      if (found !== undefined) return found;
      const end = separator === "" ? -1 : label.lastIndexOf(separator);
      const parent = end > 0 ? add(label.slice(0, end)) : 0;
      const group = this.names.length;
      this.names.push(end > 0 ? label.slice(end + separator.length) : label);
      this.parents.push(parent);
      this.depths.push(this.depths[parent] + 1);
      known.set(label, group);
      return group;
    };
    for (let i = 0; i < labels.length; i++) groups[i] = add(labels[i]);
    return groups;
  }

  private index(): void {
    const { parents, groupOfRow } = this;
    [this.childStart, this.childList] = bucket(parents.length, Int32Array.from(parents));
    [this.rowStart, this.rowList] = bucket(parents.length, groupOfRow);
  }

  get groupCount(): number {
    return this.names.length;
  }

  /** Sums up the rows whose MASK is not 0, or all. */
  filter(mask: Uint8Array | null): void {
    const { groupOfRow, rowValues, parents } = this;
    const values = new Float64Array(parents.length);
    const weights = new Float64Array(parents.length);
    const counts = new Uint32Array(parents.length);
    for (let row = 0; row < groupOfRow.length; row++) {
      if (mask !== null && mask[row] === 0) continue;
      const group = groupOfRow[row];
      values[group] += rowValues[row];
      weights[group] += Math.abs(rowValues[row]);
      counts[group]++;
    }
    for (let group = parents.length - 1; group > 0; group--) {
      values[parents[group]] += values[group];
      weights[parents[group]] += weights[group];
      counts[parents[group]] += counts[group];
    }
    this.values = values;
    this.weights = weights;
    this.counts = counts;
    this.mask = mask;
    this.sortedGroups.clear();
    this.sortedRows.clear();
  }

  /** The groups directly in a group that have rows, the heaviest first. */
  groupsIn(group: number): Uint32Array {
    let sorted = this.sortedGroups.get(group);
    if (sorted === undefined) {
      const { weights, counts } = this;
      sorted = this.childList.slice(this.childStart[group], this.childStart[group + 1]).filter((child) => counts[child] > 0);
      sorted.sort((a, b) => weights[b] - weights[a] || a - b);
      this.sortedGroups.set(group, sorted);
    }
    return sorted;
  }

  /** The rows directly in a group that pass the filter, the heaviest first. */
  rowsIn(group: number): Uint32Array {
    let sorted = this.sortedRows.get(group);
    if (sorted === undefined) {
      const { mask, rowValues } = this;
      sorted = this.rowList.slice(this.rowStart[group], this.rowStart[group + 1]);
      if (mask !== null) sorted = sorted.filter((row) => mask[row] !== 0);
      sorted.sort((a, b) => Math.abs(rowValues[b]) - Math.abs(rowValues[a]) || a - b);
      this.sortedRows.set(group, sorted);
    }
    return sorted;
  }

  /** The groups from the root down to GROUP, without the root. */
  path(group: number): number[] {
    const path: number[] = [];
    for (; group > 0; group = this.parents[group]) path.unshift(group);
    return path;
  }

  /** The group with these names, or the last one that exists on the way. */
  find(names: string[]): number {
    let group = 0;
    for (const name of names) {
      const children = this.childList.subarray(this.childStart[group], this.childStart[group + 1]);
      const next = children.find((child) => this.names[child] === name);
      if (next === undefined) break;
      group = next;
    }
    return group;
  }

  /** Does a row pass the filter? */
  passes(row: number): boolean {
    return this.mask === null || this.mask[row] !== 0;
  }

  groupOf(row: number): number {
    return this.groupOfRow[row];
  }
}

/** Items by their key, below COUNT: those of key K are list[start[K]] to list[start[K + 1] - 1]. Negative keys: none. */
function bucket(count: number, keys: Int32Array | Uint32Array): [Uint32Array, Uint32Array] {
  const start = new Uint32Array(count + 1);
  let total = 0;
  for (let i = 0; i < keys.length; i++)
    if (keys[i] >= 0) {
      start[keys[i] + 1]++;
      total++;
    }
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const list = new Uint32Array(total);
  const next = start.slice();
  for (let i = 0; i < keys.length; i++) if (keys[i] >= 0) list[next[keys[i]]++] = i;
  return [start, list];
}
