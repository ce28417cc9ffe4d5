// The page of functions: figures as the program prints them, search, addresses, keys, and hostile names.
import assert from "node:assert/strict";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { accessibilityProblems, BUILD, folder, longTest, open, python, run, sextant, sextantJson } from "./support/harness.mjs";
import { withView } from "./support/view.mjs";

const SCRIPT = `
import sys
from support import ksym_writer
from support.lidia_reference import Row, write

HOSTILE = ["</script><script>console.log(1)</script>", "<img src=x onerror=console.log(2)>", "\\u202eright to left\\u202c", "\\u05e9\\u05dc\\u05d5\\u05dd()",
           "x" * 100_000, "", " ", "javascript:console.log(3)", "a\\nb", "{{x}}", "&lt;b&gt;"]
rows = []
for i in range(600):
    at = 0x401000 + 0x100 * i
    name = f"app::part{i % 7}::f{i}(int)".encode()
    rows.append(Row(at, 16 + i % 200, name, file=b"/src/part%d.cc" % (i % 7), lines=[(0, 10 + i), (4, 11 + i)]))
    if i % 3 == 0:
        rows.append(Row(at + 4, 8, b"app::inner(char)", 1, b"/src/inner.h", [(0, 3), (2, 4)], b"/src/part%d.cc" % (i % 7), 12 + i))
        rows.append(Row(at + 6, 4, b"app::innermost()", 2, b"/src/inner.h", [(0, 9)], b"/src/inner.h", 4))
open("app.lidia", "wb").write(write(rows))
open("hostile.lidia", "wb").write(write([Row(0x1000 + 0x100 * i, 64, name.encode(), file=name[:300].encode(), lines=[(0, 1)]) for i, name in enumerate(HOSTILE)]))
open("empty.lidia", "wb").write(write([]))
open("k.ksym", "wb").write(ksym_writer.write([(0xffffffff81000000 + 64 * i, "Tt"[i % 2], f"symbol_{i}") for i in range(300)]))
`;
python(SCRIPT);
const app = join(folder, "app.lidia");
const number = (value) => value.toLocaleString("en-US");
const functionsOf = (path) => sextantJson("dump", path).filter((row) => row.depth === 0);

const opened = async (url, options) => {
  const page = await open(url, options);
  await page.locator(".functions .space .line, .functions .empty").first().waitFor();
  return page;
};
const found = (page) => page.locator("#search-found");
const rowsOf = (page) => page.locator(".functions .space .line").evaluateAll((lines) =>
  lines.map((line) => [line.querySelector(".address").textContent, Number(line.querySelector(".size").textContent.replaceAll(",", "")), line.querySelector(".name bdi").textContent]));
const wait = async (locator, text) => {
  for (let i = 0; i < 400; i++) {
    if ((await locator.textContent({ timeout: 20_000 }))?.includes(text)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${await locator.textContent()} has no ${text}`);
};

longTest("figures are those of the program, a search finds, and a function is described", async () => {
  await withView([app], async ({ url, origin }) => {
    const page = await opened(url, { origin });
    const [info] = sextantJson("info", app);
    const functions = functionsOf(app);
    assert.equal(await page.locator("#counts").textContent(), `${number(info.functions)} functions, ${number(info.inlines)} inlined calls, ${number(info.lines)} line entries`);
    assert.match(await page.locator("#quality").textContent(), /function names, lines and inlined calls/);
    assert.equal(await found(page).textContent(), `${number(info.functions)} functions`);
    const shown = await rowsOf(page);
    assert.ok(shown.length > 20);
    assert.deepEqual(shown, functions.slice(0, shown.length).map((row) => [row.va, row.length, row.function]));

    await page.getByRole("searchbox").fill("PART3::");
    const wanted = functions.filter((row) => row.function.includes("part3::"));
    await wait(found(page), `${wanted.length} of ${number(info.functions)} functions found`);
    assert.deepEqual((await rowsOf(page)).slice(0, 10), wanted.slice(0, 10).map((row) => [row.va, row.length, row.function]));
    assert.equal(await page.locator(".functions mark").first().textContent(), "part3::");

    const chosen = wanted.find((row) => functions.indexOf(row) % 3 === 0);
    await page.getByRole("row", { name: chosen.va }).click();
    await wait(page.locator(".card h2"), chosen.function);
    await page.getByRole("tab", { name: "Inlined calls 2" }).click();
    await page.locator(".list tbody tr").first().waitFor();
    const inlines = sextantJson("dump", app);
    const at = inlines.findIndex((row) => row.va === chosen.va && row.depth === 0);
    const cells = await page.locator(".list tbody tr").evaluateAll((lines) => lines.map((line) => [...line.cells].map((cell, i) => (i === 2 ? cell.querySelector("bdi") : cell).textContent)));
    assert.deepEqual(cells, [1, 2].map((i) => {
      const row = inlines[at + i];
      return [row.va, String(row.length), row.function, `${row.call_file.split("/").pop()}:${row.call_line}`];
    }));
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "symbols");
  });
});

longTest("addresses are answered as lookup --explain does", async () => {
  await withView([app], async ({ url, origin }) => {
    const page = await opened(url, { origin });
    const [first] = functionsOf(app);
    const addresses = [BigInt(first.va) + 7n, BigInt(first.va) + 250n, 0n].map((value) => "0x" + value.toString(16));
    await page.keyboard.press("a");
    await page.keyboard.type(addresses.join(" "));
    await page.keyboard.press("Enter");
    await wait(page.locator("#answered"), "3 answers");
    for (const [i, line] of sextantJson("lookup", "--explain", app, ...addresses).entries()) {
      const answer = page.locator(".answer").nth(i);
      const text = await answer.textContent();
      assert.ok(text.startsWith(line.address), text);
      for (const frame of line.frames) for (const part of [frame.function, `${frame.file}:${frame.line}`, frame.start]) assert.ok(text.includes(part), `${part}: ${text}`);
      assert.equal(await answer.locator(".tag").count(), line.frames.filter((frame) => frame.inlined).length);
      for (const part of [line.explanation.why, ...line.explanation.todo, ...line.explanation.frames.flatMap((frame) => [frame.entry, frame.record])]) if (part) assert.ok(text.includes(part), `${part}: ${text}`);
      assert.equal(await answer.locator(".unknown").count(), line.frames.length === 0 ? 1 : 0);
    }
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "symbols-addresses");
    await page.getByRole("button", { name: "Show function" }).first().click();
    await wait(page.locator(".card h2"), first.function);
    assert.match(new URL(page.url()).hash, /function=0\b/);
  });
});

longTest("orders, keys, and the state in the address", async () => {
  await withView([app], async ({ url, origin }) => {
    const page = await opened(url, { origin });
    const functions = functionsOf(app);
    await page.getByRole("button", { name: "Bytes" }).click();
    const bySize = functions.map((row, i) => [row, i]).sort((a, b) => b[0].length - a[0].length || b[1] - a[1]).map(([row]) => [row.va, row.length, row.function]);
    await page.waitForFunction((va) => document.querySelector(".functions .space .address").textContent === va, bySize[0][0]);
    assert.deepEqual((await rowsOf(page)).slice(0, 20), bySize.slice(0, 20));
    assert.equal(await page.getByRole("columnheader", { name: "Bytes" }).getAttribute("aria-sort"), "descending");
    await page.locator(".functions").focus();
    await page.keyboard.press("End");
    await wait(page.locator(".card h2"), bySize.at(-1)[2]);
    await page.keyboard.press("ArrowUp");
    await wait(page.locator(".card h2"), bySize.at(-2)[2]);
    await page.keyboard.press("Home");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("PageUp");
    await wait(page.locator(".card h2"), bySize[0][2]);
    await page.keyboard.press("/");
    await page.keyboard.type("^app::part1");
    await wait(found(page), "0 of 600");
    await page.getByLabel("regular expression").check();
    await wait(found(page), "86 of 600");
    assert.match(page.url(), /#.*search=%5Eapp%3A%3Apart1.*/);
    const again = await opened(page.url(), { origin });
    await wait(found(again), "86 of 600");
    await wait(again.locator(".card h2"), bySize[0][2]);
    assert.equal(await again.getByRole("searchbox").inputValue(), "^app::part1");
    await again.getByRole("searchbox").fill("[");
    await wait(found(again), "bad regular expression");
    await again.getByRole("searchbox").fill("");
    await wait(found(again), "600 functions");
  });
});

longTest("what is chosen by a link is scrolled to", async () => {
  await withView([app], async ({ url, origin }) => {
    const page = await opened(url, { origin, hash: "function=555" });
    const row = functionsOf(app)[555];
    await wait(page.locator(".functions .chosen"), row.va);
    assert.ok(await page.locator(".functions .chosen").isVisible());
    assert.equal(await page.locator(".functions .chosen").getAttribute("aria-selected"), "true");
  });
});

longTest("hostile names are texts, and do not break the page", async () => {
  await withView([join(folder, "hostile.lidia")], async ({ url, origin }) => {
    const page = await opened(url, { origin });
    for (const [i, row] of functionsOf(join(folder, "hostile.lidia")).entries()) {
      const name = row.function === "" ? "(no name)" : row.function === " " ? "(blank)" : row.function;
      const go = (hash) => page.evaluate((text) => { location.hash = text; }, hash);
      await go(`function=${i}`);
      await page.waitForFunction((text) => document.querySelector(".card h2")?.textContent === text, name);
      await go(`function=${i}&tab=addresses&at=${row.va}`);
      await page.waitForFunction((va) => document.querySelector(".answer h2 .mono")?.textContent === va, row.va);
      const [width, inner] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(width <= inner, `${width} > ${inner}`);
      assert.equal(await page.locator("main script, main img").count(), 0);
      if (i === 4) await screenshot(page, "symbols-hostile");
    }
  });
});

longTest("a ksym blob, a file without functions, a small window, dark, and paper", async () => {
  const ksym = join(folder, "k.ksym");
  await withView([ksym], async ({ url, origin }) => {
    const page = await opened(url, { origin, dark: true, width: 420, height: 800 });
    assert.equal(await found(page).textContent(), "300 symbols");
    const rows = await rowsOf(page);
    assert.deepEqual(rows[0], ["0xffffffff81000000", 64, "symbol_0"]);
    assert.deepEqual(await page.locator(".functions .space .kind").evaluateAll((cells) => cells.slice(0, 2).map((cell) => cell.textContent)), ["T", "t"]);
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "symbols-small");
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction(() => document.querySelectorAll(".functions .space .line").length === 100);
    assert.equal(await page.locator(".tools").isVisible(), false);
  });
  await withView([join(folder, "empty.lidia")], async ({ url, origin }) => {
    const page = await opened(url, { origin, hash: "function=3" });
    assert.equal(await found(page).textContent(), "0 functions");
    assert.match(await page.locator(".panel").textContent(), /This file has no functions/);
  });
});

longTest("a real program: every kind of detail", async () => {
  const program = join(BUILD, "sextant");
  const archive = join(folder, "sextant.lidia");
  sextant("archive", program, "-o", archive);
  await withView([archive, program], async ({ url, origin }) => {
    const [info] = sextantJson("info", program);
    const page = await opened(url + "1/", { origin, hash: "search=main&function=0" });
    assert.ok((await page.locator("#counts").textContent()).startsWith(`${number(info.functions)} functions, ${number(info.symbols)} symbols`));
    const [main] = sextantJson("lookup", "--name", "main", program);
    await page.getByRole("textbox", { name: "Addresses" }).fill("main+4");
    await page.getByRole("button", { name: "Look up" }).click();
    await wait(page.locator("#answered"), "1 answer");
    const [line] = sextantJson("lookup", "--explain", program, (BigInt(main.address) + 4n).toString(16));
    const text = await page.locator(".answer").textContent();
    for (const frame of line.explanation.frames) assert.ok(text.includes(frame.unit ?? frame.section), text);
    await page.getByRole("button", { name: "Show function" }).click();
    await wait(page.locator(".card h2"), "main");
    for (const tab of ["Lines", "Inlined calls", "Ranges"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.locator("#part-body table, #part-body p").first().waitFor();
    }
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "symbols-program");
  });
});

await run();
