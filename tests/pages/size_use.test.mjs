// What people do with the page of sizes: keys, the address, the card, views, exports, dark and light, paper.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { number, ready, sum, symbolsOf, tableLines, textOf } from "./support/figures.mjs";
import { accessibilityProblems, folder, longTest, open, run, sextant, test } from "./support/harness.mjs";
import { makeSize } from "./support/sizes.mjs";

const report = (name, ...files) => {
  const out = join(folder, name + ".html");
  sextant("report", ...files, "-o", out);
  return out;
};
const before = makeSize("before");
const after = makeSize("after");
const pages = { size: report("size", before), diff: report("diff", before, after), hostile: report("hostile", makeSize("hostile")) };
const show = async (kind, options) => ready(await open(pages[kind], options));
const hashOf = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

longTest("the treemap can be used with the keyboard", async () => {
  const page = await show("size");
  await page.locator("canvas").focus();
  await page.keyboard.press("ArrowRight");
  const first = await textOf(page, ".card");
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await textOf(page, ".card"), first);
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  assert.deepEqual((await hashOf(page)).focus, "src");
  assert.match(await textOf(page, ".crumbs"), /All ?› ?src/);
  await page.keyboard.press("Escape");
  assert.equal((await hashOf(page)).focus, undefined);
  await page.goBack();
  assert.match(await textOf(page, ".crumbs"), /src/);
});

longTest("the table can be used with the keyboard", async () => {
  const page = await show("size");
  const table = page.locator(".tree-table");
  await table.focus();
  const count = (await tableLines(page)).length;
  await page.keyboard.press("Home");
  await page.keyboard.press("j");
  assert.match(await textOf(page, ".card"), /java\/com/);
  await page.keyboard.press("ArrowRight");
  assert.ok((await tableLines(page)).length > count);
  await page.keyboard.press("ArrowLeft");
  assert.equal((await tableLines(page)).length, count);
  await page.keyboard.press("Enter");
  assert.match((await hashOf(page)).focus, /java/);
});

longTest("keys for the search box and for help", async () => {
  const page = await show("size");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await page.locator("canvas").focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  assert.equal(await accessibilityProblems(page), "");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

longTest("the table is sorted by any column, in both directions", async () => {
  const page = await show("size", { hash: "group_by=section" });
  const lines = async () => (await tableLines(page)).filter(([name]) => name.startsWith("."));
  const bytes = (line) => Number(line[1].replace(/\D/g, ""));
  const header = (name) => page.getByRole("columnheader", { name }).getByRole("button");
  const first = (await lines()).map(bytes);
  assert.deepEqual(first, first.slice().sort((a, b) => b - a));
  await header("size").click();
  assert.deepEqual((await lines()).map(bytes), first.reverse());
  await header("Name").click();
  const names = (await lines()).map(([name]) => name);
  assert.deepEqual(names, names.slice().sort());
  await header("Name").focus();
  await page.keyboard.press("Enter");
  assert.deepEqual((await lines()).map(([name]) => name), names.reverse());
  await header("symbols").click();
  assert.equal((await lines())[0][0], ".text");
  assert.match(page.url(), /sort=symbols/);
});

longTest("a search lists what it finds in the group that is shown", async () => {
  const page = await show("size", { hash: "group_by=component&search=app" });
  const all = await textOf(page, "#found");
  await page.locator("input[type=search]").fill("");
  await page.getByRole("row", { name: "App" }).first().dblclick();
  await page.locator("input[type=search]").fill("app");
  await page.waitForFunction((text) => !["", text].includes(document.getElementById("found")?.textContent ?? ""), all);
  const inside = symbolsOf(before).filter((symbol) => symbol.component.split(">")[0] === "App" && /app/i.test(symbol.full_name + symbol.source_path));
  assert.ok((await textOf(page, "#found")).startsWith(`${inside.length} found here, `), await textOf(page, "#found"));
  assert.equal((await tableLines(page)).length, inside.length);
});

longTest("the address has what was chosen, and brings it back", async () => {
  const page = await show("size");
  await page.getByLabel("Group by").selectOption("component");
  await page.getByLabel("Include").fill("app");
  await page.getByLabel("Unit").selectOption("B");
  await page.getByRole("row", { name: "App" }).first().dblclick();
  const address = page.url();
  const shown = await textOf(page, "#shown");
  const again = await ready(await open(pages.size, { hash: address.split("#")[1] }));
  assert.equal(await textOf(again, "#shown"), shown);
  assert.equal(await again.getByLabel("Group by").inputValue(), "component");
  assert.equal(await again.getByLabel("Include").inputValue(), "app");
  assert.match(await textOf(again, ".crumbs"), /App/);
});

longTest("an address that does not fit the file does no harm", async () => {
  const page = await show("size", { hash: "group_by=nothing&view=x&color=y&row=99999&focus=a%1Fb&min_size=x&flags=q&status=z&hide=q&byteunit=TB" });
  assert.ok((await textOf(page, "#shown")).includes(`(${number(sum(symbolsOf(before)))} bytes)`));
});

longTest("the card has every field, and other names of the same bytes", async () => {
  const page = await show("size", { hash: "search=app%3A%3Aone" });
  await page.getByRole("row", { name: "app::one" }).first().click();
  const card = await textOf(page, ".card");
  for (const text of ["app::one()", ".text", "0x1700", "src/one.cc", "obj/one.o", "App", "3 names", "app::two()", "app::three()"])
    assert.ok(card.includes(text), `${text} in ${card}`);
  await page.getByRole("button", { name: "app::two()" }).click();
  assert.ok((await textOf(page, ".card")).includes("src/two.cc"));
});

longTest("the card of a group has its sections", async () => {
  const page = await show("size");
  const main = symbolsOf(before).filter((symbol) => symbol.section === ".rodata");
  assert.ok((await textOf(page, ".breakdown")).includes(`.rodata${main.length}`));
});

longTest("stored disassembly is shown side by side", async () => {
  const page = await show("diff", { hash: "row=0" });
  await page.getByRole("button", { name: "Show before and after" }).click();
  await page.getByRole("dialog").waitFor();
  assert.equal(await textOf(page, "td.removed"), "call old");
  assert.equal(await textOf(page, "td.added"), "call new");
  assert.equal(await accessibilityProblems(page), "");
  await screenshot(page, "size-disassembly");
});

longTest("metrics and build settings, with what changed", async () => {
  const page = await show("diff");
  await page.getByRole("tab", { name: "Metrics" }).click();
  assert.ok((await textOf(page, "tr:has-text('Relocations')")).includes("1252+40"));
  assert.equal(await accessibilityProblems(page), "");
  await screenshot(page, "size-metrics");
  await page.keyboard.press("ArrowRight");
  assert.equal((await hashOf(page)).view, "build");
  assert.ok((await textOf(page, "tr:has-text('git_revision')")).includes("oldnewchanged"));
  assert.ok((await textOf(page, "tr:has-text('lto')")).includes("–trueadded"));
  assert.equal(await accessibilityProblems(page), "");
});

async function exported(page, kind) {
  await page.getByText("Export").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: kind }).click()]);
  return readFileSync(await download.path(), "utf8");
}

longTest("exports have the symbols that pass the filter", async () => {
  const page = await show("size", { hash: "include=Table" });
  const kept = symbolsOf(before).filter((symbol) => /Table/.test(symbol.full_name));
  const rows = JSON.parse(await exported(page, "JSON"));
  assert.deepEqual(rows.map((row) => [row.full_name, row.size, row.address, row.source_path, row.name]),
    kept.map((symbol) => [symbol.full_name, symbol.size, symbol.address, symbol.source_path, symbol.name]));
  const lines = (await exported(page, "CSV")).trimEnd().split("\r\n");
  assert.equal(lines.length, kept.length + 1);
  assert.match(lines[0], /^container,section,address,size,padding,pss,aliases,flags,full_name/);
});

longTest("short names are those of the program for every symbol", async () => {
  const library = ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/aarch64-linux-gnu/libstdc++.so.6"].find(existsSync);
  const names = join(folder, "names.size");
  sextant("archive", "-q", library ?? process.env.SEXTANT, "-o", names);
  for (const file of [names, makeSize("hostile")]) {
    const page = await ready(await open(report("names", file)));
    const rows = JSON.parse(await exported(page, "JSON"));
    const symbols = symbolsOf(file);
    assert.equal(rows.length, symbols.length);
    for (const [i, row] of rows.entries()) assert.equal(row.name, symbols[i].name, row.full_name);
  }
});

longTest("an SVG of hostile names is well-formed", async () => {
  const page = await show("hostile");
  const svg = await exported(page, "SVG");
  const [problems, scripts] = await page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    return [parsed.querySelectorAll("parsererror").length, parsed.querySelectorAll("script, img, b").length];
  }, svg);
  assert.deepEqual([problems, scripts], [0, 0]);
});

for (const dark of [false, true])
  (dark ? test : longTest)(`axe-core finds nothing serious, ${dark ? "dark" : "light"}`, async () => {
    const page = await show("diff", { dark, hash: "search=app&row=0" });
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, dark ? "size-dark" : "size-light");
  });

longTest("axe-core finds nothing serious in a small window", async () => {
  assert.equal(await accessibilityProblems(await show("size", { width: 420, height: 800 })), "");
});

longTest("the theme can be switched, and stays", async () => {
  const page = await show("size");
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.getByLabel("Theme").selectOption("dark");
  assert.notEqual(await back(), light);
  await page.reload();
  assert.notEqual(await back(), light);
});

longTest("prints the treemap and the table in light colours, without controls", async () => {
  const page = await show("size", { dark: true });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.locator(".filters").isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.ok(await page.locator("canvas").isVisible());
  await screenshot(page, "size-print");
});

longTest("choosing something does not move the rest of the page", async () => {
  const page = await show("size");
  const places = () => page.evaluate(() => [...document.querySelectorAll("canvas, .tree-table, nav, .card")].map((element) => JSON.stringify(element.getBoundingClientRect())));
  const first = await places();
  await page.getByRole("row", { name: "src" }).first().click();
  assert.deepEqual(await places(), first);
});

await run();
