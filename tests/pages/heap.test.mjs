// The page of a heap trace: figures as the program prints them, and what a user can do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { accessibilityProblems, folder, longTest, open, run, sextant, sextantJson, test, trySextant, writeFile } from "./support/harness.mjs";
import { makeTrace } from "./support/traces.mjs";

const report = (...words) => {
  const out = join(folder, "page.html");
  sextant("report", ...words, "-o", out);
  return out;
};
const number = (value) => value.toLocaleString("en-US");
const textOf = async (page, selector) => ((await page.locator(selector).textContent()) ?? "").replace(/\s+/g, " ");
const opened = async (path, options) => {
  const page = await open(path, options);
  await page.locator("#totals").waitFor();
  return page;
};
/** Bytes and blocks of what is shown in the window. */
const windowFigures = async (page) => {
  const match = /: ([\d,-]+) bytes in ([\d,-]+) blocks/.exec(await textOf(page, "#window"));
  return [1, 2].map((i) => Number(match[i].replaceAll(",", "")));
};

const source = writeFile("node.c", "// one\n// two\nreturn malloc(sizeof(struct node)); // the <line>\n// four\n");
const before = makeTrace("before", source);
const after = makeTrace("after", source);
const [figures] = sextantJson("heap", before);

longTest("totals are those of the program", async () => {
  const page = await opened(report(before));
  const totals = await textOf(page, "#totals");
  for (const [size, blocks] of [["peak_bytes", "peak_allocations"], ["leaked_bytes", "leaked_allocations"], ["allocated_bytes", "allocations"], ["temporary_bytes", "temporary_allocations"]])
    assert.ok(totals.includes(`${number(figures[size])} bytes in ${number(figures[blocks])} blocks`), `${size}: ${totals}`);
  await screenshot(page, "heap");
});

longTest("each cost of the whole trace adds up to the total", async () => {
  for (const [cost, size, blocks] of [["peak", "peak_bytes", "peak_allocations"], ["leaked", "leaked_bytes", "leaked_allocations"], ["allocated", "allocated_bytes", "allocations"], ["temporary", "temporary_bytes", "temporary_allocations"], ["growth", "live_bytes", "live_allocations"]]) {
    const page = await opened(report(before), { hash: "cost=" + cost });
    assert.deepEqual(await windowFigures(page), [figures[size], figures[blocks]], cost);
  }
});

test("a window has the figures that heap prints for it, and the keys move its ends", async () => {
  const page = await opened(report(before), { hash: "cost=allocated" });
  const ends = page.getByRole("slider");
  await ends.first().focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("Shift+ArrowRight");
  await ends.last().focus();
  for (let i = 0; i < 6; i++) await page.keyboard.press("Shift+ArrowLeft");
  const { start_us: start } = figures;
  const width = await page.evaluate(() => JSON.parse(document.getElementById("page").textContent).bin_width);
  const [from, to] = [await ends.first().getAttribute("aria-valuenow"), await ends.last().getAttribute("aria-valuenow")].map(Number);
  assert.ok(from > 0 && to > from, `${from} ${to}`);
  const rows = (cost) => sextantJson("heap", before, "--from", String(start + from * width), "--until", String(start + to * width - 1), "--top=" + cost, "-n", "1000");
  const sums = (cost, size, blocks) => [size, blocks].map((key) => rows(cost).reduce((sum, row) => sum + (row[key] ?? 0), 0));
  assert.deepEqual(await windowFigures(page), sums("bytes", "allocated_bytes", "allocations"));
  const peak = sums("peak", "peak_bytes", "peak_allocations");
  await page.getByLabel("Show").selectOption("peak");
  assert.deepEqual(await windowFigures(page), peak);
  await page.waitForFunction((window) => location.hash.includes(window), `window=${from}-${to}`);
  const again = await opened(report(before), { hash: `cost=peak&window=${from}-${to}` });
  assert.deepEqual(await windowFigures(again), peak);
});

longTest("the mouse chooses a window, and a double click the whole trace", async () => {
  const page = await opened(report(before));
  const box = await page.locator(".timeline canvas").boundingBox();
  await page.mouse.move(box.x + 400, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 80, { steps: 5 });
  await page.mouse.up();
  assert.match(await textOf(page, "#window"), /^Window from/);
  await screenshot(page, "heap-window");
  await page.locator(".timeline canvas").dblclick({ position: { x: 300, y: 60 } });
  assert.match(await textOf(page, "#window"), /^Whole trace/);
});

longTest("search finds functions and filters the table", async () => {
  const page = await opened(report(before), { hash: "table=functions" });
  await page.locator("input[type=search]").fill("parse");
  assert.match(await textOf(page, "output >> nth=0"), /functions? found/);
  const rows = page.locator(".top-table .space [role=row]");
  await page.waitForFunction(() => [...document.querySelectorAll(".top-table .space .name")].every((line) => /parse/.test(line.textContent)));
  assert.ok((await rows.count()) > 0);
});

longTest("threads, stacks and the history of an address", async () => {
  const address = "0x11000";
  const page = await opened(report(before, "--address", address), { hash: "by=thread&table=stacks" });
  assert.match(await textOf(page, ".charts"), /thread 1 \(worker\)/);
  const history = sextantJson("heap", before, "--address", address);
  const shown = page.locator(".chart", { hasText: "History of 0x11000" });
  assert.equal(await shown.locator("tbody tr").count(), history.length);
  await shown.locator("summary").first().click();
  await shown.locator("details li").first().waitFor();
  assert.equal(await shown.locator("details li").count(), history[0].frames.length);
  await page.locator(".top-table .space [role=row]").first().click();
  await page.locator(".detail h3").first().waitFor();
  assert.match(await textOf(page, ".detail"), /Stack \d+:/);
  await page.getByLabel("Close the details").click();
  assert.equal(await page.locator(".detail h3").count(), 0);
});

longTest("source lines are in the page only if they are asked for", async () => {
  const plain = report(before);
  assert.ok(!readFileSync(plain, "utf8").includes('id="block-sources"'));
  const page = await opened(report(before, "--sources"), { hash: "search=alloc_node" });
  const line = page.locator(".top-table .source-line").first();
  await line.waitFor();
  assert.equal(await line.textContent(), "return malloc(sizeof(struct node)); // the <line>");
  await page.locator(".top-table .space [role=row]").first().click();
  await page.locator(".source .here").first().waitFor();
  await screenshot(page, "heap-sources");
});

longTest("SVG of what is shown", async () => {
  const page = await opened(report(before));
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByText("Save SVG").click()]);
  const svg = readFileSync(await saved.path(), "utf8");
  assert.match(svg, /^<svg /);
  assert.ok(svg.includes(`${number(figures.peak_bytes)} bytes`));
});

test("a comparison has the totals of diff", async () => {
  const page = await opened(report(before, after));
  const { summary } = sextantJson("diff", before, after).at(-1);
  const totals = await textOf(page, "#totals");
  for (const name of ["peak_bytes", "leaked_bytes", "allocated_bytes"]) {
    const [old, now] = [summary[name + "_before"], summary[name + "_after"]];
    assert.ok(totals.includes(`${now > old ? "+" : ""}${number(now - old)} bytes ${number(old)} before, ${number(now)} after`), totals);
  }
  for (const status of ["added", "removed", "changed", "unchanged"]) assert.ok(totals.includes(`${number(summary[status])} ${status}`), totals);
  await screenshot(page, "heap-diff");
});

for (const dark of [false, true])
  longTest(`axe-core finds nothing serious, ${dark ? "dark" : "light"}`, async () => {
    const page = await opened(report(before), { dark, hash: "chosen=functions-1" });
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, dark ? "heap-dark" : "heap-light");
    const diff = await opened(report(before, after), { dark });
    assert.equal(await accessibilityProblems(diff), "");
  });

for (const kind of ["hostile", "empty", "one"])
  (kind === "hostile" ? test : longTest)(`opens a trace that is ${kind}`, async () => {
    const path = makeTrace(kind);
    const page = await opened(report(path), { hash: "table=functions" });
    const [expected] = sextantJson("heap", path);
    assert.ok((await textOf(page, "#totals")).includes(`${number(expected.peak_bytes)} bytes in ${number(expected.peak_allocations)} block`));
    await page.locator("input[type=search]").fill("<");
    assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script").length), 0);
    await screenshot(page, "heap-" + kind);
    await opened(report(path, before));
  });

longTest("what is wrong is said", async () => {
  const result = trySextant("report", before, "--address", "xyz", "-o", join(folder, "x.html"));
  assert.equal(result.status, 2);
  assert.match(result.stderr, /not a hexadecimal address/);
});

await run();
