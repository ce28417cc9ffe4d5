// The page of a program that is being recorded: figures grow, can be paused, and are those of the trace at the end.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { accessibilityProblems, BUILD, folder, longTest, open, run, sextantJson, writeFile } from "./support/harness.mjs";
import { withView } from "./support/view.mjs";

const PROGRAM = process.env.SEXTANT ?? join(BUILD, "sextant");

// A line on standard input leaks 100 blocks of 1,000 bytes, and frees 1,000 others; a line is the answer.
const SOURCE = `
#include <stdlib.h>
#include <unistd.h>
void *kept[1000000];
static size_t count;
__attribute__((noinline)) static void load_settings(void) { for (int i = 0; i < 100; i++) { kept[count++] = malloc(1000); __asm__ volatile("" ::: "memory"); } }
__attribute__((noinline)) static void parse_request(void) { for (int i = 0; i < 1000; i++) { void *volatile block = malloc(64); free(block); } }
int main(void)
{
    char line[2];
    kept[count++] = malloc(500);
    while (read(0, line, 2) == 2) {
        load_settings();
        parse_request();
        (void)!write(1, line, 2);
    }
    return 0;
}
`;
const canRecord = existsSync(join(BUILD, "src", "libsextant-record.so"));
const source = writeFile("obedient.c", SOURCE);
const program = join(folder, "obedient");
const compiled = spawnSync("cc", ["-g", "-O1", "-o", program, source]).status === 0;

/** Runs BODY with a program that is being recorded. */
async function withRecording(name, body) {
  const trace = join(folder, name);
  const child = spawn(PROGRAM, ["record", "-q", "-o", trace, "--", program], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let answers = 0;
  let onAnswer = () => {};
  child.stdout.on("data", (data) => {
    answers += data.length / 2;
    onAnswer();
  });
  let told = 0;
  const tell = async () => {
    told++;
    child.stdin.write("l\n");
    while (answers < told) await new Promise((resolve) => (onAnswer = resolve));
  };
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  try {
    await tell();
    await body({ trace, tell, end, child });
  } finally {
    child.stdin.end();
    await ended;
  }
}

const number = (value) => value.toLocaleString("en-US");
const has = (page, selector, text) =>
  page.waitForFunction(([where, what]) => document.querySelector(where)?.textContent.includes(what), [selector, text], { timeout: 60_000 });
const bytesOf = async (page) => Number(/([\d,]+) bytes/.exec(await page.locator("#live").textContent())[1].replaceAll(",", ""));

longTest("figures grow, a pause keeps them, and at the end they are those of the trace", () =>
  withRecording("live <b>.mlyze", async ({ trace, tell, end }) => {
    await withView([trace], async ({ url, origin }) => {
      const page = await open(url, { origin });
      await page.locator("#totals").waitFor();
      await has(page, "#state", "running");
      const before = await bytesOf(page);
      assert.ok(before >= 100_500, String(before));
      await has(page, "#sites", "load_settings");
      await tell();
      await has(page, "#live", `${number(before + 100_000)} bytes in `);
      await has(page, "#allocated", "in 2,2");
      // The first site has its frames.
      const first = page.locator("#sites tbody tr").first();
      assert.match(await first.textContent(), /195 KiB.*load_settings.*obedient\.c:\d+/);
      await first.locator("summary").click();
      assert.match(await first.locator("ol").textContent(), /main/);
      assert.match(await page.locator("#threads").textContent(), /obedient/);
      await page.locator("#sites").getByRole("button", { name: "Allocations" }).click();
      await page.waitForFunction(() => document.querySelector("#sites tbody tr").textContent.includes("parse_request"));
      assert.match(page.url(), /order=allocations/);
      assert.equal(await accessibilityProblems(page), "");
      await screenshot(page, "live");
      await page.locator("#pause").click();
      await has(page, "#state", "paused");
      const paused = await bytesOf(page);
      await tell();
      await tell();
      assert.equal(await bytesOf(page), paused);
      await page.locator("#pause").click();
      await has(page, "#live", `${number(paused + 200_000)} bytes in `);
      await end();
      await has(page, "#state", "ended");
      await page.getByRole("link", { name: "Open the finished trace" }).waitFor();
      const [figures] = sextantJson("heap", trace);
      const [last] = sextantJson("heap", "--live", trace, "--json");
      await has(page, "#live", `${number(figures.leaked_bytes)} bytes in ${number(figures.leaked_allocations)} blocks`);
      await has(page, "#peak", `${number(figures.peak_bytes)} bytes`);
      await has(page, "#allocated", `${number(figures.allocated_bytes)} bytes in ${number(figures.allocations)} blocks`);
      assert.equal(last.live_bytes, figures.leaked_bytes);
      await screenshot(page, "live-ended");
      await page.getByRole("link", { name: "Open the finished trace" }).click();
      await page.locator("#totals").waitFor();
      await has(page, "#totals", `${number(figures.leaked_bytes)} bytes in ${number(figures.leaked_allocations)} blocks`);
      // The page of the recording is that of the trace from now on.
      const again = await open(url, { origin });
      await again.waitForURL((address) => address.href !== url, { timeout: 60_000 });
      await has(again, "#totals", `${number(figures.leaked_bytes)} bytes in ${number(figures.leaked_allocations)} blocks`);
    });
  }));

longTest("a recording that is killed, dark and in a small window", () =>
  withRecording("killed.mlyze", async ({ trace, tell, child }) => {
    await withView([trace + ".part"], async ({ url, origin }) => {
      const page = await open(url, { origin, dark: true, width: 500, height: 700 });
      await has(page, "#sites", "load_settings");
      await tell();
      assert.equal(await accessibilityProblems(page), "");
      await screenshot(page, "live-dark-small");
      process.kill(Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ")[0]), "SIGKILL");
      await has(page, "#state", "ended");
      await has(page, "#live", "200,500 bytes in 201 blocks");
    });
  }));

if (canRecord && compiled) await run();
else console.log(`1..0 # SKIP ${canRecord ? "there is no C compiler" : "the recorder is not built here"}`);
