// What the page asks its server. docs/openapi.json describes it.

export interface Quality {
  symtab: boolean;
  dwarf: boolean;
  lines: boolean;
  inlines: boolean;
  go: boolean;
  returnpads: boolean;
  executable: boolean;
  debuginfo: boolean;
}

export interface Binary {
  tenant: string | null;
  file_id: string | null;
  build_id: string | null;
  name: string | null;
  arch: string | null;
  source: string | null;
  quality: Quality;
  functions: number;
  size: number;
  created: string | null;
  missing: string | null;
  incomplete: { parts: number; of: number } | null;
}

export interface Report {
  name: string;
  kind: "size" | "sizediff" | "mlyze";
  size: number;
  created: string;
  sha256: string;
  url: string;
}

export interface Frame {
  function: string | null;
  file: string | null;
  line: number | null;
  inlined: boolean;
}

export interface Answer {
  module: string | null;
  address: string;
  frames: Frame[];
}

export interface TextModule {
  name: string | null;
  build_id: string | null;
  file_id: string | null;
  found: boolean;
  problem: string | null;
}

export interface Named {
  lines: { text: string; answers: Answer[] }[];
  modules: TextModule[];
  answered: number;
  complete: boolean;
  warning: string | null;
}

/** What the page says about whoever looks at it. */
export interface About {
  version: string;
  has_keys: boolean;
  key: string;
  tenant: string;
  has_upstream: boolean;
  retention_seconds: number;
  scopes: string[];
}

export class Failure extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

async function ask(path: string, options: RequestInit): Promise<unknown> {
  const reply = await fetch(path, { credentials: "same-origin", redirect: "error", ...options });
  if (reply.ok) return reply.json();
  // The session is over: the server answers with the form for the key.
  if (reply.status === 401) location.reload();
  let text = `the server answered ${reply.status}`;
  try {
    const body = (await reply.json()) as { error?: { Text?: string } };
    text = body.error?.Text ?? text;
  } catch {
    // It is not JSON.
  }
  throw new Failure(reply.status, text);
}

function query(values: Record<string, string | number | undefined>): string {
  const list = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== "") list.set(key, String(value));
  const text = list.toString();
  return text === "" ? "" : "?" + text.replaceAll("+", "%20");
}

export interface BinaryPage {
  files: Binary[];
  next: string | null;
}

export const PAGE = 100;

export function listBinaries(search: string, after: string | undefined, signal?: AbortSignal, limit = PAGE): Promise<BinaryPage> {
  return ask("/api/v1/files" + query({ search: searched(search), after, limit }), { signal }) as Promise<BinaryPage>;
}

export function describe(id: string): Promise<Binary> {
  return ask("/api/v1/files/" + encodeURIComponent(id), {}) as Promise<Binary>;
}

export async function listReports(search: string, signal?: AbortSignal): Promise<Report[]> {
  const reports: Report[] = [];
  for (let after: string | undefined; ; ) {
    const page = (await ask("/api/v1/reports" + query({ search, after }), { signal })) as { reports: Report[]; next: string | null };
    reports.push(...page.reports);
    if (page.next === null || reports.length >= 10_000) return reports;
    after = page.next;
  }
}

export function removeReport(name: string): Promise<unknown> {
  return ask("/api/v1/reports/" + name, { method: "DELETE" });
}

export function nameText(text: string, file: string, areReturns: boolean): Promise<Named> {
  const path = "/api/v1/symbolize-text" + query({ file, return_addresses: areReturns ? "true" : "" });
  return ask(path, { method: "POST", body: text, headers: { "Content-Type": "text/plain; charset=utf-8" } }) as Promise<Named>;
}

/** A FileID in base64url is searched as the server lists it. */
export function searched(text: string): string {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9_-]{22}(==)?$/.test(trimmed) || /^[0-9a-fA-F]+$/.test(trimmed)) return trimmed;
  return base64ToHex(trimmed.slice(0, 22));
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function base64ToHex(text: string): string {
  let bits = 0;
  let value = 0;
  let out = "";
  for (const letter of text) {
    value = ((value << 6) | DIGITS.indexOf(letter)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += ((value >> bits) & 255).toString(16).padStart(2, "0");
    }
  }
  return out;
}

export function hexToBase64(hex: string): string {
  let bits = 0;
  let value = 0;
  let out = "";
  for (let i = 0; i < hex.length; i += 2) {
    value = ((value << 8) | parseInt(hex.slice(i, i + 2), 16)) & 0xffff;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += DIGITS[(value >> bits) & 63];
    }
  }
  return bits > 0 ? out + DIGITS[(value << (6 - bits)) & 63] : out;
}

/** The id by which the server is asked about a binary. */
export function idOf(binary: { build_id: string | null; file_id: string | null }): string {
  return binary.build_id ?? binary.file_id ?? "";
}
