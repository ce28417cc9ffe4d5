// The page of a pprof profile: figures as the program prints them, and what a user can do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { number, textOf } from "./support/figures.mjs";
import { accessibilityProblems, folder, longTest, open, run, sextant, sextantJson, test } from "./support/harness.mjs";
import { makeProfile } from "./support/profiles.mjs";

const report = (...files) => {
  const out = join(folder, "page.html");
  sextant("report", ...files, "-o", out);
  return out;
};
const opened = async (files, options) => {
  const page = await open(report(...[files].flat()), options);
  await page.locator("#totals").waitFor();
  return page;
};
const names = (page) => page.evaluate(() => [...document.querySelectorAll(".top-table .space .name bdi")].map((one) => one.textContent));
const header = (page, title) => page.getByRole("columnheader", { name: title }).getByRole("button");

const before = makeProfile("before");
const after = makeProfile("after");

test("totals and functions are those of the program", async () => {
  const page = await opened(before);
  const [total, ...functions] = sextantJson("report", before);
  assert.ok((await textOf(page, "#totals")).includes(`${number(total.value)} ${total.unit} of ${total.type} in ${number(total.samples)} samples`));
  assert.deepEqual(await names(page), functions.map((one) => one.function));
  await screenshot(page, "profile");
});

test("a comparison says the change, and which functions were added and removed", async () => {
  const page = await opened([before, after]);
  const [total] = sextantJson("report", before, after);
  const totals = await textOf(page, "#totals");
  assert.ok(totals.includes(`+${number(total.change)} ${total.unit}`), totals);
  assert.ok(totals.includes("1 function added, 1 removed"), totals);
  assert.equal(await textOf(page, "h1"), "before.pb → after.pb");
  assert.ok((await names(page)).includes("after_only"));
  await screenshot(page, "profile-diff");
});

longTest("each kind of value adds up, in both directions of the graph", async () => {
  const page = await opened(before, { hash: "type=samples" });
  assert.match(await textOf(page, "#totals"), /^12 count of samples/);
  await page.getByLabel("Graph", { exact: false }).and(page.locator("select")).selectOption("bottom-up");
  await page.waitForFunction(() => location.hash.includes("view=bottom-up"));
  await page.locator(".flame canvas").focus();
  await page.keyboard.press("Home");
  assert.match(await textOf(page, ".flame output"), /12, 100.0 %/);
});

longTest("the table is sorted by any column, in both directions", async () => {
  const page = await opened(before);
  await header(page, "Function").click();
  const sorted = (await names(page)).map((name) => name.toLowerCase());
  assert.deepEqual(sorted, sorted.slice().sort());
  await header(page, "Function").click();
  assert.deepEqual((await names(page)).map((name) => name.toLowerCase()), sorted.reverse());
  await header(page, "total").click();
  assert.equal((await names(page))[0], "main");
  await header(page, "total").click();
  assert.equal((await names(page)).at(-1), "main");
  await page.waitForFunction(() => location.hash.includes("sort=-total"));
});

longTest("search finds functions, and says what is not a pattern", async () => {
  const page = await opened(before);
  await page.locator("input[type=search]").fill("^z");
  assert.equal(await textOf(page, ".filters output"), "2 functions found");
  await page.waitForFunction(() => document.querySelectorAll(".top-table .space .name").length === 2);
  await page.locator("input[type=search]").fill("(");
  assert.equal(await textOf(page, ".filters output"), "not a regular expression");
});

longTest("SVG of what is shown", async () => {
  const page = await opened([before, after]);
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByText("Save SVG").click()]);
  const svg = readFileSync(await saved.path(), "utf8");
  assert.match(svg, /^<svg /);
  assert.ok(svg.includes("render"));
});

longTest("a profile is known by what is in it", async () => {
  const page = await opened(makeProfile("before", "profile"));
  assert.ok((await names(page)).includes("render"));
});

for (const kind of ["hostile", "empty", "one"])
  longTest(`opens a profile that is ${kind}`, async () => {
    const path = makeProfile(kind);
    const page = await opened(path);
    const [total] = sextantJson("report", path);
    assert.ok((await textOf(page, "#totals")).includes(`${number(total.value)} ${total.unit}`));
    await page.locator("input[type=search]").fill("<");
    assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script").length), 0);
    await screenshot(page, "profile-" + kind);
    await opened([path, before]);
  });

for (const dark of [false, true])
  longTest(`axe-core finds nothing serious, ${dark ? "dark" : "light"}`, async () => {
    assert.equal(await accessibilityProblems(await opened(before, { dark, hash: "search=a" })), "");
    assert.equal(await accessibilityProblems(await opened([before, after], { dark })), "");
  });

await run();
