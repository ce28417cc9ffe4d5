// Measures a page of a heap trace in Chromium: node bench/pages_heap.mjs PAGE
//
// Prints JSON: milliseconds until the page is shown; the longest and the middle time between two frames while a window is
// drawn over the whole timeline, in some views; and the most processor time for one step. Each figure is the best of
// several rounds.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "..", "web", "package.json"));
const { chromium } = require("playwright-core");
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"];
const ROUNDS = 3;
const VIEWS = { "peak": "", "allocated, functions": "cost=allocated&table=functions", "bottom-up": "view=bottom-up" };

/** Moves the end of a window over the timeline, a step each frame. Runs in the page. */
async function scrub() {
  const canvas = document.querySelector(".timeline canvas");
  const box = canvas.getBoundingClientRect();
  const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: box.top + 50, pointerId: 1, bubbles: true }));
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  canvas.setPointerCapture = () => {};
  globalThis.moveTo = async (step) => {
    send("pointermove", box.left + 80 + (step * (box.width - 100)) / 100);
    await frame();
    await frame();
  };
  send("pointerdown", box.left + 80);
  const times = [];
  let last = await frame();
  for (let step = 1; step <= 100; step++) {
    send("pointermove", box.left + 80 + (step * (box.width - 100)) / 100);
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  times.sort((a, b) => a - b);
  return { longest: times[99], middle: times[50] };
}

/** The same steps backwards: the most processor time that the page takes for one, which other programs do not change. */
async function mostProcessorTime(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const taken = async () => (await session.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "TaskDuration").value * 1000;
  let most = 0;
  for (let step = 100; step > 0; step--) {
    const before = await taken();
    await page.evaluate((at) => globalThis.moveTo(at), step);
    most = Math.max(most, (await taken()) - before);
  }
  return most;
}

async function measure(browser, address) {
  const figures = {};
  for (const [name, hash] of Object.entries(VIEWS)) {
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    await page.goto(address + "#" + hash, { waitUntil: "commit" });
    await page.waitForFunction(() => document.querySelector(".flame canvas")?.width > 300, null, { polling: "raf" });
    if (hash === "") figures.paint = await page.evaluate(() => performance.now());
    await page.waitForTimeout(500);
    const { longest, middle } = await page.evaluate(scrub);
    figures[`longest frame, ${name}`] = longest;
    figures[`middle frame, ${name}`] = middle;
    figures[`processor time of a frame, ${name}`] = await mostProcessorTime(page);
    await page.context().close();
  }
  return figures;
}

const browser = await chromium.launch({ executablePath: process.env.SEXTANT_CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS });
const best = {};
for (let round = 0; round < ROUNDS; round++)
  for (const [name, value] of Object.entries(await measure(browser, "file://" + process.argv[2]))) best[name] = Math.min(best[name] ?? Infinity, value);
await browser.close();
console.log(JSON.stringify(best));
