// Measures a page of sizes in Chromium: node bench/pages.mjs PAGE
//
// Prints JSON: milliseconds until the treemap is painted and until all names are read, and for filters, searches and
// groupings from the event to the next frame. Each figure is the best of several rounds.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "..", "web", "package.json"));
const { chromium } = require("playwright-core");
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"];
const ROUNDS = 3;
const FILTERS = [["#search", "decoder"], ["#search", "e"], [".pattern", "Decoder.*Buffer"], [".pattern", "[^a-z]Cache"], [".bytes", "300"]];

/** Sets a control, and waits for the frame that shows it. Runs in the page. */
function set([selector, value, kind]) {
  return new Promise((done) => {
    const element = document.querySelector(selector);
    const started = performance.now();
    element.value = value;
    element.dispatchEvent(new Event(kind, { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
  });
}

async function measure(browser, address) {
  const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  await page.goto(address, { waitUntil: "commit" });
  await page.waitForFunction(() => document.querySelector("canvas")?.width > 300, null, { polling: "raf" });
  const figures = { paint_ms: await page.evaluate(() => performance.now()) };
  await page.waitForFunction(() => !document.getElementById("app").textContent.includes("reading names"), null, { polling: "raf" });
  figures.names_ms = await page.evaluate(() => performance.now());
  for (const [selector, value] of FILTERS) {
    figures[`filter ${selector.slice(1)} ${value}`] = await page.evaluate(set, [selector, value, "input"]);
    await page.evaluate(set, [selector, selector === ".bytes" ? "0" : "", "input"]);
  }
  for (const grouping of ["section", "component", "namespace"])
    figures[`group ${grouping}`] = await page.evaluate(set, [".filters select", grouping, "change"]);
  await page.context().close();
  return figures;
}

const browser = await chromium.launch({ executablePath: process.env.SEXTANT_CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS });
const best = {};
for (let round = 0; round < ROUNDS; round++)
  for (const [name, value] of Object.entries(await measure(browser, "file://" + process.argv[2]))) best[name] = Math.min(best[name] ?? Infinity, value);
await browser.close();
console.log(JSON.stringify(best));
