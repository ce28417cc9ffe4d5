// Chromium, started once for a test file, and pages that note what they should not do.
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { BUILD, ROOT } from "./harness.mjs";

const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];

let browser = null;

async function start() {
  const { chromium } = createRequire(join(ROOT, "web", "package.json"))("playwright-core");
  const executablePath = process.env.SEXTANT_CHROMIUM ?? "/usr/bin/chromium";
  browser ??= await chromium.launch({ executablePath, args: ARGUMENTS, timeout: 60_000 });
  return browser;
}

export async function closeBrowser() {
  await browser?.close();
  browser = null;
}

/** A page in a context of its own. page.problems has what went wrong, one text each. */
export async function newPage({ dark = false, width = 1400, height = 900, origin = null, expect = null } = {}) {
  const context = await (await start()).newContext({
    colorScheme: dark ? "dark" : "light", viewport: { width, height }, acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.problems = [];
  const note = (text) => {
    if (!expect?.test(text)) page.problems.push(text);
  };
  page.on("console", (message) => note(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error}`));
  page.on("crash", () => note("the page crashed"));
  let first = true;
  page.on("request", (request) => {
    const url = request.url();
    const isAllowed = first || /^(data|blob):/.test(url) || (origin !== null && new URL(url).origin === origin);
    first = false;
    if (!isAllowed && !(request.isNavigationRequest() && url.startsWith("file:"))) note(`request: ${url.slice(0, 500)}`);
  });
  return page;
}

/** Keeps a picture of the page in the build folder, for people to look at. */
export async function screenshot(page, name) {
  const to = join(BUILD, "tests", "pages");
  mkdirSync(to, { recursive: true });
  await page.screenshot({ path: join(to, name + ".png") });
}
