// The data of a page: JSON, and blocks of bytes. A report has them in the page; `sextant view` answers them one by one.

const DIGITS = new Uint8Array(128);
for (let i = 0; i < 64; i++)
  DIGITS["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(i)] = i;

/** Decodes base64 with padding. It is the program's own, so it is not checked. */
export function decodeBase64(text: string): Uint8Array {
  const { fromBase64 } = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array };
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  let size = (text.length / 4) * 3;
  if (text.endsWith("==")) size -= 2;
  else if (text.endsWith("=")) size -= 1;
  const bytes = new Uint8Array(size);
  for (let from = 0, to = 0; to < size; from += 4) {
    const four =
      (DIGITS[text.charCodeAt(from)] << 18) |
      (DIGITS[text.charCodeAt(from + 1)] << 12) |
      (DIGITS[text.charCodeAt(from + 2)] << 6) |
      DIGITS[text.charCodeAt(from + 3)];
    bytes[to++] = four >> 16;
    if (to < size) bytes[to++] = four >> 8;
    if (to < size) bytes[to++] = four;
  }
  return bytes;
}

/** Expands raw deflate. */
export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Where the data of a page comes from. */
export interface Source {
  json<T>(): T;
  block(name: string): Promise<Uint8Array>;
}

/** The data in the page itself. Each block can be read once: its text is then removed, which frees the memory. */
export const embedded: Source = {
  json<T>(): T {
    return JSON.parse(document.getElementById("page")!.textContent!) as T;
  },
  async block(name: string): Promise<Uint8Array> {
    const element = document.getElementById("block-" + name)!;
    const bytes = decodeBase64(element.textContent!);
    element.remove();
    return inflate(bytes);
  },
};

/** Reads what src/report/columns.c writes. */
export class TableReader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  private size(): number {
    const { bytes, at } = this;
    this.at += 4;
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }

  private column(): Uint8Array {
    const size = this.size();
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  /** A column of numbers below 2^53. */
  numbers<T extends Uint8Array | Uint32Array | Float64Array>(to: T): T {
    const bytes = this.column();
    for (let i = 0, at = 0; i < to.length; i++) {
      let value = bytes[at++];
      if (value > 127) {
        value &= 127;
        for (let scale = 128, byte = 128; byte > 127; scale *= 128) {
          byte = bytes[at++];
          value += (byte & 127) * scale;
        }
      }
      to[i] = value;
    }
    return to;
  }

  /** A column of signed numbers. */
  signed<T extends Int32Array | Float64Array>(to: T): T {
    const bytes = this.column();
    for (let i = 0, at = 0; i < to.length; i++) {
      let value = bytes[at++];
      if (value > 127) {
        value &= 127;
        for (let scale = 128, byte = 128; byte > 127; scale *= 128) {
          byte = bytes[at++];
          value += (byte & 127) * scale;
        }
      }
      to[i] = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    return to;
  }

  /** A column of differences: each number is the sum up to it. */
  sums<T extends Int32Array | Uint32Array | Float64Array>(to: T): T {
    const signed = this.signed(new Float64Array(to.length));
    let sum = 0;
    for (let i = 0; i < to.length; i++) to[i] = sum += signed[i];
    return to;
  }

  /** A whole column of differences, however long it is. */
  allSums(): number[] {
    const bytes = this.column();
    const list: number[] = [];
    for (let at = 0, sum = 0; at < bytes.length; ) {
      let value = 0;
      for (let scale = 1, byte = 128; byte > 127; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      list.push((sum += value % 2 === 0 ? value / 2 : -(value + 1) / 2));
    }
    return list;
  }

  /** A list of strings. */
  strings(): string[] {
    const count = this.size();
    const bytes = this.column();
    return plainStrings(bytes, count) ?? allStrings(bytes, count);
  }

  /** COUNT numbers of 8 bytes, which come last in a table. */
  doubles(count: number): Float64Array {
    return new Float64Array(this.bytes.slice(this.at, this.at + 8 * count).buffer);
  }
}

/** Reads numbers out of bytes, one after another. */
class NumberReader {
  at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  next(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
}

/** Strings of ASCII characters, which can be cut out of one text; null if others are among them. */
function plainStrings(bytes: Uint8Array, count: number): string[] | null {
  const text = new TextDecoder("latin1").decode(bytes);
  const numbers = new NumberReader(bytes);
  const list = new Array<string>(count);
  let last = "";
  for (let i = 0; i < count; i++) {
    const shared = numbers.next();
    const more = numbers.next();
    for (let at = numbers.at; at < numbers.at + more; at++) if (bytes[at] > 127) return null;
    last = last.slice(0, shared) + text.slice(numbers.at, numbers.at + more);
    numbers.at += more;
    list[i] = last;
  }
  return list;
}

function allStrings(bytes: Uint8Array, count: number): string[] {
  const numbers = new NumberReader(bytes);
  const decoder = new TextDecoder();
  const list = new Array<string>(count);
  let last = new Uint8Array(256);
  for (let i = 0; i < count; i++) {
    const shared = numbers.next();
    const more = numbers.next();
    if (shared + more > last.length) {
      const larger = new Uint8Array(2 * (shared + more));
      larger.set(last);
      last = larger;
    }
    last.set(bytes.subarray(numbers.at, numbers.at + more), shared);
    numbers.at += more;
    list[i] = decoder.decode(last.subarray(0, shared + more));
  }
  return list;
}
