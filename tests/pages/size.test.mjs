// The page of sizes: figures as the program prints them, and what a user can do.
import assert from "node:assert/strict";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { accessibilityProblems, folder, open, run, sextant, sextantJson, test } from "./support/harness.mjs";
import { makeSize } from "./support/sizes.mjs";

const report = (...files) => {
  const out = join(folder, "page.html");
  sextant("report", ...files, "-o", out);
  return out;
};
const number = (value) => value.toLocaleString("en-US");
const textOf = async (page, selector) => (await page.locator(selector).textContent()) ?? "";

const before = makeSize("before");
const after = makeSize("after");

test("totals are those of the program", async () => {
  const page = await open(report(before));
  const total = sextantJson("size", before).find((line) => line.kind === "total");
  const totals = await textOf(page, "#totals");
  assert.ok(totals.includes(`${number(total.file)} bytes in the file`), totals);
  await screenshot(page, "size");
});

test("a diff says what changed, what was added and what was removed", async () => {
  const page = await open(report(before, after));
  const { summary } = sextantJson("diff", before, after).at(-1);
  const totals = await textOf(page, "#totals");
  for (const status of ["added", "removed", "changed"]) assert.ok(totals.includes(`${summary[status]} ${status}`), totals);
  await screenshot(page, "size-diff");
});

for (const dark of [false, true])
  test(`axe-core finds nothing serious, ${dark ? "dark" : "light"}`, async () => {
    const page = await open(report(before, after), { dark });
    await page.getByRole("row").nth(1).waitFor();
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, dark ? "size-dark" : "size-light");
  });

for (const kind of ["hostile", "empty", "one"])
  test(`opens a file that is ${kind}`, async () => {
    const page = await open(report(makeSize(kind)));
    await page.locator("canvas").waitFor();
    await page.locator("input[type=search]").fill("<");
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, main b").length), 0);
    await screenshot(page, "size-" + kind);
  });

await run();
