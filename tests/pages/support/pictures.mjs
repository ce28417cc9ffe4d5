// Takes the pictures of the README: node pictures.mjs FOLDER, which has the pages and gets the pictures.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PICTURES = {
  sizes: { row: '.tree-table .space [role="row"]:has-text("malloc")', height: 760 },
  diff: { row: '.tree-table .space [role="row"]:has-text("ksym")', height: 760 },
  heap: { row: null, height: 860 },
};
const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "web", "package.json"));
const { chromium } = require("playwright-core");

const browser = await chromium.launch({ executablePath: process.env.SEXTANT_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [name, { row, height }] of Object.entries(PICTURES)) {
  const page = await browser.newPage({ viewport: { width: 1200, height }, colorScheme: "light" });
  await page.goto(`file://${join(process.argv[2], name + ".html")}`);
  await page.locator("canvas").first().waitFor();
  await page.waitForFunction(() => !document.getElementById("app").textContent.includes("reading names"));
  if (row) await page.locator(row).first().click();
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(process.argv[2], name + ".png") });
  await page.close();
}
await browser.close();
