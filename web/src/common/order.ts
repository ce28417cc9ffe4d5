// The order of many rows by their values, much faster than a comparison sort.

/** Row numbers with the largest absolute value first; equal ones in their own order. */
export function orderBySize(values: Float64Array): Uint32Array {
  const count = values.length;
  const keys = new Uint32Array(count);
  const floats = new Float32Array(keys.buffer);
  // The bits of positive floats are in the order of the floats. Complements, so that the largest is first.
  for (let i = 0; i < count; i++) floats[i] = Math.abs(values[i]);
  for (let i = 0; i < count; i++) keys[i] = ~keys[i];
  let rows = new Uint32Array(count);
  for (let i = 0; i < count; i++) rows[i] = i;
  for (const shift of [0, 16]) rows = sortByDigit(rows, keys, shift);
  // Floats have 24 bits. What they cannot tell apart is close together, and is put in order by insertion.
  for (let i = 1; i < count; i++) {
    const row = rows[i];
    const size = Math.abs(values[row]);
    let at = i;
    for (; at > 0 && Math.abs(values[rows[at - 1]]) < size; at--) rows[at] = rows[at - 1];
    rows[at] = row;
  }
  return rows;
}

function sortByDigit(rows: Uint32Array<ArrayBuffer>, keys: Uint32Array, shift: number): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(65537);
  for (let i = 0; i < rows.length; i++) starts[((keys[i] >>> shift) & 0xffff) + 1]++;
  for (let i = 0; i < 65536; i++) starts[i + 1] += starts[i];
  const sorted = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) sorted[starts[(keys[rows[i]] >>> shift) & 0xffff]++] = rows[i];
  return sorted;
}
