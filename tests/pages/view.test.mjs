// Pages of `sextant view`: they ask the server for their data, and nobody else for anything.
import assert from "node:assert/strict";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { number, ready, sum, symbolsOf, textOf } from "./support/figures.mjs";
import { accessibilityProblems, folder, longTest, open, python, run, sextantJson } from "./support/harness.mjs";
import { makeLongTrace, makeTrace } from "./support/traces.mjs";
import { startView, withView } from "./support/view.mjs";

const SIZES = `
import sys
from support.size_writer import Container, Size, Symbol, save

def build(more):
    symbols, at = [], 0x1000
    for i in range(60):
        symbols.append(Symbol(".text", at, 40 + i + more, f"app::part{i % 7}::f{i}(int)", f"o/{i % 5}.o", f"src/part{i % 7}/{i % 5}.cc"))
        at += 40 + i + more
    symbols += [Symbol(".data", 0x9000, 10, "<img src=x onerror=console.log(1)>", "o/x.o", "src/<b>.cc")]
    total = sum(symbol.size for symbol in symbols if symbol.section == ".text")
    return save(Size(symbols, [Container("", {}, {".text": total, ".data": 10})]))

open(sys.argv[1], "wb").write(build(0))
open(sys.argv[2], "wb").write(build(8))
`;
const [before, after] = [join(folder, "old <b>.size"), join(folder, "new.size")];
python(SIZES, before, after);
const trace = makeTrace("before");
const [figures] = sextantJson("heap", trace);

const sizeTotal = (path) => sum(symbolsOf(path));

const heapReady = async (page) => {
  await page.locator("#totals").waitFor();
  return page;
};

longTest("a trace: figures are those of the program, and an address has its history", async () => {
  await withView([trace], async ({ url, origin }) => {
    const page = await heapReady(await open(url, { origin }));
    const totals = await textOf(page, "#totals");
    for (const [size, blocks] of [["peak_bytes", "peak_allocations"], ["leaked_bytes", "leaked_allocations"], ["allocated_bytes", "allocations"]])
      assert.ok(totals.includes(`${number(figures[size])} bytes in ${number(figures[blocks])} blocks`), `${size}: ${totals}`);
    const address = "0x" + (0x10000 + 0x1000 * 2 + 1).toString(16);
    const events = sextantJson("heap", trace, "--address", address);
    assert.ok(events.length > 0);
    const box = page.locator(".address-box");
    await box.getByLabel("Address").fill(address);
    await box.getByLabel("Address").press("Enter");
    await box.locator("output").waitFor();
    assert.equal(await box.locator("output").textContent(), `${events.length} events at ${address}`);
    assert.equal(await box.locator("tr").count(), events.length);
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "view-heap");
  });
});

longTest("a window in finer bins has the figures that heap prints for it", async () => {
  const bins = 64;
  const large = makeLongTrace();
  await withView([large], async ({ url, origin }) => {
    const page = await heapReady(await open(url, { origin, hash: `cost=allocated&window=10-${10 + bins}` }));
    const coarse = await textOf(page, "#window");
    const address = await page.locator("#finer").getAttribute("href");
    await page.locator("#finer").click();
    await page.locator(".fine-window b").waitFor();
    const [, from, until] = /from=(\d+)&until=(\d+)/.exec(address);
    for (const [cost, size, blocks] of [["peak", "peak_bytes", "peak_allocations"], ["allocated", "allocated_bytes", "allocations"], ["leaked", "leaked_bytes", "leaked_allocations"], ["temporary", "temporary_bytes", "temporary_allocations"]]) {
      const rows = sextantJson("heap", large, "--from", from, "--until", until, "--top=" + (cost === "allocated" ? "bytes" : cost), "-n", "100000");
      await page.getByLabel("Show").selectOption(cost);
      const sums = [size, blocks].map((key) => number(rows.reduce((sum, row) => sum + (row[key] ?? 0), 0)));
      await page.waitForFunction((text) => document.getElementById("window").textContent.includes(text), `${sums[0]} bytes in ${sums[1]} blocks`);
      if (cost === "allocated") assert.ok(coarse.includes(`${sums[0]} bytes in ${sums[1]} blocks`), coarse);
    }
    const { bin_width: fine } = await page.evaluate(async () => (await fetch(JSON.parse(document.getElementById("served").textContent).data + "page" + location.search)).json());
    const { bin_width: wide } = await page.evaluate(async () => (await fetch(JSON.parse(document.getElementById("served").textContent).data + "page")).json());
    assert.ok(fine < wide, `${fine} ${wide}`);
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "view-heap-window");
    await page.getByRole("link", { name: "Whole trace in coarse bins" }).click();
    await page.locator("#totals", { hasText: number(sextantJson("heap", large)[0].allocated_bytes) }).waitFor();
  });
});

longTest("sizes: load_url and before_url show a file, and what changed", async () => {
  await withView([before, after], async ({ url, origin }) => {
    const query = (words) => url + "?" + new URLSearchParams(words).toString();
    const page = await ready(await open(query({ load_url: after }), { origin }));
    assert.match(await textOf(page, "#totals"), new RegExp(number(sizeTotal(after))));
    const diff = await ready(await open(query({ load_url: after, before_url: before }), { origin }));
    const change = sizeTotal(after) - sizeTotal(before);
    assert.match(await textOf(diff, "#totals"), new RegExp(number(change)));
    assert.match(await diff.title(), /old <b>\.size → new\.size/);
    await screenshot(diff, "view-diff");
  });
});

longTest("small symbols of large files are summed up, and found by the program", async () => {
  await withView(["--rows", "20", after], async ({ url, origin }) => {
    const page = await ready(await open(url, { origin }));
    const symbols = symbolsOf(after);
    const totals = await textOf(page, "#totals");
    assert.ok(totals.includes(`${number(sum(symbols))} bytes`) && totals.includes(`${symbols.length} symbols`), totals);
    assert.ok(!totals.includes("does not list"), totals);
    await page.locator("#search").fill("F1(");
    const output = page.locator(".small-found output");
    await output.waitFor();
    assert.equal(await output.textContent(), "1 of them found");
    await output.click();
    assert.equal(await page.locator(".small-found tr bdi").first().textContent(), "app::part1::f1(int)");
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "view-small");
  });
});

longTest("several files are listed, and their pages lead back to the list", async () => {
  await withView([before, after, trace], async ({ url, origin }) => {
    const page = await open(url, { origin });
    assert.equal(await page.locator("tbody tr").count(), 3);
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "view-list");
    await page.locator("tbody a", { hasText: "before.mlyze" }).first().click();
    await heapReady(page);
    await page.getByRole("link", { name: "All files" }).click();
    await page.getByRole("button", { name: "Show what changed" }).click();
    await ready(page);
    assert.match(await page.title(), /old <b>\.size → new\.size/);
  });
});

longTest("a profile", async () => {
  const path = join(folder, "cpu");
  python(`
import sys
from support import pprof
functions = [pprof.Function(1, "main"), pprof.Function(2, "work", filename="w.c")]
locations = [pprof.Location(1, lines=[(1, 3)]), pprof.Location(2, lines=[(2, 5)])]
open(sys.argv[1], "wb").write(pprof.encode(pprof.Profile(locations=locations, functions=functions, samples=[([2, 1], [70]), ([1], [5])])))
`, path);
  await withView([path], async ({ url, origin }) => {
    const page = await open(url, { origin });
    await page.locator("canvas").waitFor();
    assert.match(await page.locator("header").textContent(), /75/);
  });
});

longTest("a binary has a page of its functions and one of its sizes", async () => {
  await withView(["/bin/true"], async ({ url, origin }) => {
    const page = await open(url, { origin });
    await page.getByRole("link", { name: "Sizes" }).click();
    await ready(page);
    const [{ size }] = sextantJson("info", "/bin/true");
    assert.ok(size > 0);
    assert.ok((await textOf(page, "#totals")).includes("bytes in the file"));
    await page.getByRole("link", { name: "Functions" }).waitFor();
  });
});

longTest("two traces are compared", async () => {
  const other = makeTrace("after");
  await withView([trace, other], async ({ url, origin }) => {
    const page = await open(url + "?" + new URLSearchParams({ load_url: other, before_url: trace }).toString(), { origin });
    await page.locator("#totals").waitFor();
    await screenshot(page, "view-heap-diff");
  });
});

longTest("a page says why it cannot be shown when the server has ended", async () => {
  const { url, origin, stop } = await startView(trace);
  const page = await heapReady(await open(url, { origin, expect: /Failed to load resource|ERR_CONNECTION/ })).finally(stop);
  await page.locator(".address-box").getByLabel("Address").fill("0x1");
  await page.locator(".address-box").getByRole("button").click();
  await page.locator(".address-box [role=status]", { hasText: /fail/i }).waitFor();
});

await run();
