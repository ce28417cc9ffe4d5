// The page of sizes: figures as the program prints them, groups, filters, search, and files of every kind.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { screenshot } from "./support/browser.mjs";
import { number, ready, sum, symbolsOf, tableLines, textOf } from "./support/figures.mjs";
import { folder, longTest, open, ROOT, run, sextant, sextantJson, test, writeFile } from "./support/harness.mjs";
import { makeSize } from "./support/sizes.mjs";

const report = (...files) => {
  const out = join(folder, "page.html");
  sextant("report", ...files, "-o", out);
  return out;
};
const show = async (files, options) => ready(await open(report(...[files].flat()), options));

const before = makeSize("before");
const after = makeSize("after");
const symbols = symbolsOf(before);

test("totals are those of the program", async () => {
  const page = await show(before);
  const total = sextantJson("size", before).find((line) => line.kind === "total");
  assert.ok((await textOf(page, "#totals")).includes(`${number(total.file)} bytes in the file`));
  assert.ok((await textOf(page, "#shown")).includes(`(${number(sum(symbols))} bytes) in ${symbols.length} symbols`));
  assert.equal(await page.title(), "before.size — sextant");
  await screenshot(page, "size");
});

test("a diff says the change, and what was added, removed and changed, in bytes and in symbols", async () => {
  const page = await show([before, after]);
  const lines = sextantJson("diff", before, after);
  const { summary } = lines.pop();
  const totals = await textOf(page, "#totals");
  assert.ok(totals.includes(`+${number(summary.total)} bytes`), totals);
  assert.ok(totals.includes(`${number(summary.before)} → ${number(summary.after)} bytes`), totals);
  for (const status of ["added", "removed", "changed"]) {
    const bytes = sum(lines.filter((line) => line.status === status));
    assert.ok(totals.includes(`${summary[status]} ${status} (${bytes > 0 ? "+" : ""}${number(bytes)} bytes`), totals);
  }
  assert.ok((await textOf(page, "h1")).includes("before.size → after.size"));
  await screenshot(page, "size-diff");
});

longTest("a stored diff is shown like one of two files", async () => {
  const path = join(folder, "stored.sizediff");
  sextant("diff", before, after, "-o", path);
  const totals = await textOf(await show(path), "#totals");
  assert.match(totals, /\+384 bytes/);
  assert.match(totals, /2 added .*1 removed .*1 changed/);
});

for (const [grouping, key] of [
  ["section", (symbol) => symbol.section],
  ["component", (symbol) => symbol.component.split(">")[0] || "(no component)"],
  ["template", (symbol) => symbol.name],
])
  longTest(`groups by ${grouping} have the sums of their symbols`, async () => {
    const page = await show(before, { hash: "group_by=" + grouping });
    const sums = new Map();
    for (const symbol of symbols) sums.set(key(symbol), (sums.get(key(symbol)) ?? 0) + symbol.pss);
    const lines = new Map(await tableLines(page));
    for (const [name, bytes] of sums) assert.equal(lines.get(name), number(bytes) + " bytes", name);
  });

longTest("groups by namespace, container and path have all bytes", async () => {
  for (const grouping of ["namespace", "container", "path"]) {
    const page = await show(before, { hash: "group_by=" + grouping });
    assert.ok((await textOf(page, "#shown")).includes(`(${number(sum(symbols))} bytes)`));
    const names = (await tableLines(page)).map(([name]) => name);
    assert.ok(names.includes({ namespace: "app", container: "(the file) › .text", path: "src" }[grouping]) || grouping === "container", String(names));
  }
});

longTest("folders with a single folder are one group", async () => {
  const page = await show(before);
  const names = (await tableLines(page)).map(([name]) => name);
  assert.ok(names.some((name) => name === "java/com/example/Thing.java"), String(names));
});

for (const [what, hash, keep] of [
  ["include", "include=Table%3C.*find", (symbol) => /Table<.*find/.test(symbol.full_name)],
  ["include of a path", "include=%5Esrc%2Fapp%2F", (symbol) => symbol.source_path.startsWith("src/app/")],
  ["exclude", "exclude=%5E%5Ba-z%5D", (symbol) => !/^[a-z]/i.test(symbol.full_name) && !/^[a-z]/i.test(symbol.source_path || symbol.object_path)],
  ["minimum size", "min_size=200", (symbol) => symbol.pss >= 200],
  ["sections", "hide=.text%1F.dex", (symbol) => ![".text", ".dex"].includes(symbol.section)],
  ["flags", "flags=hot%1Fanon", (symbol) => (symbol.flags & 0x81) !== 0],
])
  longTest(`the filter for ${what} lets the right symbols through`, async () => {
    const page = await show(before, { hash });
    const kept = symbols.filter(keep);
    assert.ok(kept.length > 0 && kept.length < symbols.length);
    const text = await textOf(page, "#shown");
    assert.ok(text.includes(`(${number(sum(kept))} bytes) in ${kept.length} symbols`), text);
  });

longTest("the filter for status", async () => {
  const page = await show([before, after], { hash: "status=added" });
  const added = sextantJson("diff", before, after).filter((line) => line.status === "added");
  assert.ok((await textOf(page, "#shown")).includes(`(${number(sum(added))} bytes) in ${added.length} symbols`));
});

longTest("a pattern that is not one is marked", async () => {
  const page = await show(before);
  const include = page.getByLabel("Include");
  await include.fill("a(");
  assert.equal(await include.getAttribute("aria-invalid"), "true");
  await include.fill("a");
  assert.equal(await include.getAttribute("aria-invalid"), "false");
});

longTest("the search shows what it finds as text, and in the treemap", async () => {
  const page = await show(before);
  const picture = () => page.evaluate(() => document.querySelector("canvas").toDataURL());
  const all = await picture();
  await page.locator("input[type=search]").pressSequentially("TABLE<");
  await page.locator("#found").waitFor();
  const found = symbols.filter((symbol) => /table</i.test(symbol.full_name));
  assert.ok((await textOf(page, "#found")).startsWith(`${found.length} found`));
  assert.deepEqual((await tableLines(page)).map(([name]) => name), ["app::Table<>::find const", "app::Table<>::find const"]);
  assert.notEqual(await picture(), all);
});

longTest("methods are counted", async () => {
  const page = await show(before);
  await page.getByLabel("Method count").check();
  assert.ok((await textOf(page, "#shown")).includes("(2 methods) in 2 methods"));
});

longTest("inlined functions of a binary are those that size prints", async () => {
  const source = writeFile("a.c", "static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + x / 3; }\nint main(int c, char **v) { (void)v; return twice(c) + twice(c + 7); }\n");
  const binary = join(folder, "a.out");
  assert.equal(spawnSync("gcc", ["-O1", "-g", source, "-o", binary]).status, 0);
  const page = await show(binary, { hash: "group_by=inlined" });
  await page.waitForFunction(() => document.getElementById("shown").textContent.includes("inlined functions"));
  const listed = sextantJson("size", "--by", "inlined", binary).filter((line) => line.function);
  const bytes = listed.reduce((total, line) => total + line.size, 0);
  assert.ok(listed.length > 0);
  assert.ok((await textOf(page, "#shown")).includes(`(${number(bytes)} bytes) in ${listed.length} inlined functions`));
  await page.getByRole("row", { name: "twice" }).click();
  assert.match(await textOf(page, ".card"), /twice.*Places/);
});

for (const kind of ["hostile", "empty", "one"])
  (kind === "hostile" ? test : longTest)(`opens a file that is ${kind}`, async () => {
    const page = await show(makeSize(kind));
    for (const view of ["Metrics", "Build", "Sizes"]) await page.getByRole("tab", { name: view }).click();
    await page.locator("input[type=search]").fill("<");
    await page.locator(".tree-table").focus();
    for (const key of ["ArrowDown", "Enter", "ArrowDown", "*", "End", "x"]) await page.keyboard.press(key);
    await page.locator("input[type=search]").fill("");
    for (const grouping of ["namespace", "template", "component", "container"]) await page.getByLabel("Group by").selectOption(grouping);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, main bdi *, .card bdi *").length), 0);
    await screenshot(page, "size-" + kind);
  });

longTest("a page without data is small", async () => {
  assert.ok(gzipSync(readFileSync(join(ROOT, "web", "dist", "size.html"))).length < 150_000);
});

longTest("a page is at most 1.5 times the size file", async () => {
  const path = join(folder, "program.size");
  sextant("archive", "-q", process.env.SEXTANT ?? join(ROOT, "build", "sextant"), "-o", path);
  const template = statSync(join(ROOT, "web", "dist", "size.html")).size;
  assert.ok(statSync(report(path)).size - template < 1.5 * statSync(path).size);
});

await run();
