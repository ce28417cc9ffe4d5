// Pages of `sextant view`: they ask the program for their data. A report has no such element, and asks nobody.
import { embedded, inflate, Source } from "./data";

/** What src/view/shell.c writes. */
interface Served {
  /** Where the data is: a path that ends with a slash. */
  data: string;
  /** All pages of the same file. */
  pages: { title: string; url: string; current: boolean }[];
  /** What every request for data has: the window of the page. */
  query: Record<string, string>;
  /** The list of all files, if there are several. */
  files?: string;
}

function readServed(): Served | null {
  const element = typeof document === "undefined" ? null : document.getElementById("served");
  return element ? (JSON.parse(element.textContent!) as Served) : null;
}

/** Null in a report. */
export const served = readServed();

async function get(name: string, query?: Record<string, string>): Promise<Response> {
  const text = new URLSearchParams({ ...served!.query, ...query }).toString();
  const response = await fetch(served!.data + name + (text ? "?" + text : ""));
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return response;
}

/** Asks the program for an object. */
export async function askJson<T>(name: string, query?: Record<string, string>): Promise<T> {
  return (await (await get(name, query)).json()) as T;
}

/** Asks the program for bytes, as they are. */
export async function askBytes(name: string, query?: Record<string, string>): Promise<Uint8Array> {
  return new Uint8Array(await (await get(name, query)).arrayBuffer());
}

/** Says from time to time how much is done until the function that it returns is called. */
function watchProgress(show: (percent: number) => void): () => void {
  let timer = 0;
  let isEnded = false;
  const ask = async () => {
    try {
      const { done, all } = await askJson<{ done: number; all: number }>("progress");
      if (!isEnded && all > 0) show(Math.min(99, Math.floor((done / all) * 100)));
    } catch {
      // The request for the page itself says what is wrong.
    }
    if (!isEnded) timer = window.setTimeout(ask, 300);
  };
  timer = window.setTimeout(ask, 300);
  return () => {
    isEnded = true;
    window.clearTimeout(timer);
  };
}

/** The data of this page, wherever it is. While the program makes it, SHOW is called with how much of that is done. */
export async function openSource(show: (percent: number) => void): Promise<Source> {
  if (!served) return embedded;
  const stop = watchProgress(show);
  try {
    const json = await askJson<unknown>("page");
    return {
      json: <T,>() => json as T,
      block: async (name: string) => inflate(await askBytes(name)),
    };
  } finally {
    stop();
  }
}

/** Why a page cannot be shown. */
export function failureText(error: unknown): string {
  if (served) return `This page cannot be shown. ${error instanceof TypeError ? "Is sextant view still running?" : ""} (${error instanceof Error ? error.message : String(error)})`;
  return `This page could not be read. It may be cut off, or the browser too old. (${String(error)})`;
}
