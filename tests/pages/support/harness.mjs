// What every test of pages needs: cases that print TAP, the program, files, and a browser.
//
// A test file calls test() for each case and ends with `await run()`. A page that a case opens must not print anything
// on the console, fail, or ask for anything outside of itself: the harness checks that when the case ends.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { closeBrowser, newPage } from "./browser.mjs";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
export const BUILD = process.env.SXT_BUILD_DIR ?? join(ROOT, "build");
export const EVERYTHING = process.env.SEXTANT_TEST_ALL === "1" || process.env.SEXTANT_TEST_BIG === "1";
const PROGRAM = process.env.SEXTANT ?? join(BUILD, "sextant");
const LONGEST_CASE = 300_000;
const MOST_OUTPUT = 1 << 30;

const require = createRequire(join(ROOT, "web", "package.json"));
const cases = [];
let pages = [];

/** Adds a case. BODY is an async function. */
export function test(name, body) {
  cases.push({ name, body });
}

/** A case that is only run by `make test-all`. */
export function longTest(name, body) {
  if (EVERYTHING) test(name, body);
}

/** A folder that is removed at the end. */
export const folder = mkdtempSync(join(tmpdir(), "sextant-pages-"));

/** Runs the cases whose name contains a word of the command line, or all. */
export async function run() {
  const words = process.argv.slice(2);
  const wanted = cases.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (cases.length === 0 && !EVERYTHING) {
    console.log("1..0 # SKIP only with SEXTANT_TEST_ALL=1");
    rmSync(folder, { recursive: true, force: true });
    return;
  }
  console.log(`1..${wanted.length}`);
  let failed = 0;
  for (const [i, { name, body }] of wanted.entries()) {
    const problem = await runCase(body);
    if (problem) failed++;
    console.log(`${problem ? "not ok" : "ok"} ${i + 1} - ${name.replaceAll("#", "")}`);
    if (problem) console.log(problem.split("\n").map((line) => "# " + line.slice(0, 2000)).join("\n"));
  }
  await closeBrowser();
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = failed > 0 || wanted.length === 0 ? 1 : 0;
}

async function runCase(body) {
  pages = [];
  let problem = "";
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`still running after ${LONGEST_CASE / 1000} s`)), LONGEST_CASE);
  });
  try {
    await Promise.race([body(), limit]);
    for (const page of pages) if (page.problems.length > 0) problem += page.problems.join("\n") + "\n";
  } catch (error) {
    problem = String(error.stack ?? error);
    for (const page of pages) problem += page.problems.map((line) => "\n" + line).join("");
  }
  clearTimeout(timer);
  await closePages();
  return problem.trim();
}

/** Closes the pages that were opened, before the server that they ask ends. What they did wrong stays known. */
export async function closePages() {
  for (const page of pages) await page.context().close().catch(() => {});
}

// --- the program and files ---

/** Runs the program, which must succeed; returns what it prints. */
export function sextant(...words) {
  const result = trySextant(...words);
  if (result.status !== 0) throw new Error(`sextant ${words.join(" ")}: status ${result.status}\n${result.stderr}`);
  return result.stdout;
}

export function trySextant(...words) {
  return spawnSync(PROGRAM, words, { encoding: "utf8", maxBuffer: MOST_OUTPUT, cwd: folder });
}

/** The objects that the program prints, one a line. */
export function sextantJson(...words) {
  return sextant(...words, "--json").split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Runs a Python script in the test's folder, with the support modules of tests/cli. */
export function python(script, ...words) {
  const env = { ...process.env, PYTHONPATH: join(ROOT, "tests", "cli"), PYTHONDONTWRITEBYTECODE: "1" };
  const result = spawnSync("python3", ["-c", script, ...words], { encoding: "utf8", cwd: folder, env, maxBuffer: MOST_OUTPUT });
  if (result.status !== 0) throw new Error(`python: ${result.stderr}`);
  return result.stdout;
}

export function writeFile(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

// --- pages ---

/**
 * Opens a file or a URL. OPTIONS: hash (of the address), dark, width, height, print, origin (where requests may go to),
 * expect (a pattern of problems that are no failure).
 */
export async function open(path, options = {}) {
  const page = await newPage(options);
  pages.push(page);
  const address = /^https?:/.test(path) ? path : "file://" + encodeURI(path);
  await page.goto(address + (options.hash ? "#" + options.hash : ""));
  return page;
}

/** What axe-core finds that is serious, as text: "" for nothing. */
export async function accessibilityProblems(page) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map((violation) => `${violation.id}: ${violation.help}\n` + violation.nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join("\n"))
    .join("\n");
}
