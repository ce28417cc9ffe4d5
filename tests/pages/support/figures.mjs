// What the page of a size file should show, computed from what `sextant dump` prints.
import { sextantJson } from "./harness.mjs";

const BSS = [".bss", ".bss.rel.ro", ".part.end", ".relro_padding", ".tbss"];

export const number = (value) => Math.round(value).toLocaleString("en-US");

/** The symbols of a size file that have bytes in it, with their proportional size. */
export function symbolsOf(path) {
  return sextantJson("dump", path).filter((line) => line.section && !BSS.includes(line.section))
    .map((symbol) => ({ ...symbol, pss: symbol.size / symbol.aliases }));
}

export function sum(symbols) {
  return symbols.reduce((total, symbol) => total + symbol.pss, 0);
}

/** The lines that the table shows: [name, first column] of each. */
export async function tableLines(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('.tree-table [role="row"]:not(.head)')].map((row) => [
      row.querySelector("bdi").textContent, row.querySelector(".number span")?.title ?? "",
    ]),
  );
}

export async function textOf(page, selector) {
  return ((await page.locator(selector).first().textContent()) ?? "").replace(/\s+/g, " ");
}

/** Waits until the page has read everything. */
export async function ready(page) {
  await page.waitForFunction(() => document.querySelector("canvas") && !document.getElementById("app").textContent.includes("reading names"));
  return page;
}
