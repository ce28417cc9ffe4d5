// The page of `sextant serve`: the form for a key, the list of binaries, text with names, and reports.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { screenshot } from "./support/browser.mjs";
import { number, ready, sum, symbolsOf, textOf } from "./support/figures.mjs";
import { accessibilityProblems, folder, longTest, open, python, run, sextant, sextantJson, writeFile } from "./support/harness.mjs";
import { withServer } from "./support/serve.mjs";
import { makeTrace } from "./support/traces.mjs";

const KEYS = writeFile("keys", "me:secret\nreader:r:read\n");
const HOSTILE = ['<img src=x onerror=console.log(1)>', '"><script>console.log(2)</script>', "\u202eevil\u202d.so", "n".repeat(200)];

writeFile("a.c", `
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + 1; }
__attribute__((noinline)) int outer(int x) { return inner(x) + inner(x + 2); }
int main(int c, char **v) { (void)v; return outer(c); }
`);
const app = join(folder, "app");
const compiled = spawnSync("gcc", ["-g", "-O1", "-Wl,--build-id", "-o", app, "a.c"], { cwd: folder, encoding: "utf8" });
if (compiled.status !== 0) {
  console.log("1..0 # SKIP gcc is missing");
  process.exit(0);
}
const [info] = sextantJson("info", app);
const [symbol] = sextantJson("lookup", app, "--name", "outer");
const start = Number(symbol.address);
const addresses = Array.from({ length: symbol.size }, (_, i) => "0x" + (start + i).toString(16));

const SIZES = `
import sys
from support.size_writer import Container, Size, Symbol, save

def build(more):
    symbols, at = [], 0x1000
    for i in range(60):
        symbols.append(Symbol(".text", at, 40 + i + more, f"app::f{i}(int)", f"o/{i % 5}.o", f"src/{i % 5}.cc"))
        at += 40 + i + more
    symbols.append(Symbol(".text", at, 7, "<img src=x onerror=console.log(3)>", "o/x.o", "src/<b>.cc"))
    return save(Size(symbols, [Container("", {}, {".text": sum(symbol.size for symbol in symbols)})]))

open(sys.argv[1], "wb").write(build(0))
open(sys.argv[2], "wb").write(build(8))
`;
const [before, after] = [join(folder, "old.size"), join(folder, "new.size")];
python(SIZES, before, after);

const putApp = (put, key) => put(`/api/v1/files/${info.build_id}?name=app`, readFileSync(app), key);

/** A page of a server with keys, where somebody has logged in. */
async function logIn(url, options = {}) {
  const page = await open(url + (options.path ?? "/"), { origin: url, expect: /status of 401/, ...options });
  await page.getByLabel("API key").fill("me:secret");
  await page.getByRole("button", { name: "Log in" }).click();
  return page;
}

longTest("a key is asked for once, and the cookie is out of reach of scripts", async () => {
  await withServer(["--api-key-file", KEYS], async ({ url, put }) => {
    await putApp(put, "me:secret");
    const page = await open(url, { origin: url, expect: /status of 401/ });
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "service-login");
    await page.getByLabel("API key").fill("me:wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    assert.match(await page.getByRole("alert").textContent(), /not known/);
    await page.getByLabel("API key").fill("me:secret");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "app" }).waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"]);
    assert.ok(!cookie.value.includes("secret"));
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.reload();
    await page.getByRole("link", { name: "app" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.goto(url);
    await page.getByLabel("API key").waitFor();
  });
});

longTest("a link leads to where it points, also from another site", async () => {
  await withServer(["--api-key-file", KEYS], async ({ url, put }) => {
    await put("/api/v1/reports/ci/x", readFileSync(after), "me:secret");
    const page = await logIn(url, { path: "/#view=reports&search=ci" });
    await page.getByRole("link", { name: "ci/x", exact: true }).waitFor();
    assert.match(page.url(), /#view=reports&search=ci$/);
    // A cookie of a strict site is not sent at first.
    const link = `<!DOCTYPE html><html lang="en"><title>CI</title><a href="${url}/reports/ci/x">sizes</a></html>`;
    await page.goto("file://" + writeFile("ci.html", link));
    await page.getByRole("link", { name: "sizes" }).click();
    await ready(page);
    assert.equal(await page.title(), "ci/x — sextant");
  });
});

longTest("binaries are listed and found as somebody types", async () => {
  await withServer([], async ({ url, put }) => {
    await putApp(put);
    const page = await open(url, { origin: url });
    const search = page.getByRole("searchbox");
    await page.getByRole("link", { name: "app" }).waitFor();
    assert.match(await textOf(page, "tbody tr"), new RegExp(info.build_id));
    for (const [text, isFound] of [["nothing", false], ["AP", true], [info.build_id.slice(0, 9), true], [info.file_id.slice(0, 6), true],
                                   [Buffer.from(info.file_id, "hex").toString("base64url"), true]]) {
      await search.fill("zz");
      await page.getByText("No binary").waitFor();
      await search.fill(text);
      await (isFound ? page.getByRole("link", { name: "app" }) : page.getByText(`“${text}”`)).waitFor();
    }
    // The search is in the address, and the list is where it was after a look at a binary.
    await search.fill("ap");
    await page.getByText("1 found").waitFor();
    assert.match(page.url(), /#search=ap$/);
    await page.getByRole("link", { name: "app" }).click();
    await page.getByRole("heading", { name: "app" }).waitFor();
    const card = await textOf(page, ".card");
    for (const text of [info.build_id, info.file_id, info.arch, "the executable"]) assert.ok(card.includes(text), `${text}: ${card}`);
    await page.keyboard.press("Escape");
    await page.getByText("1 found").waitFor();
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "service-binaries");
  });
});

/** The frames that the page shows, line by line. */
function shown(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll(".named .line")].map((line) =>
      [...line.querySelectorAll(".frames li")].map((frame) => [
        frame.querySelector(".function").textContent, frame.querySelector(".place").textContent, frame.querySelector(".tag") !== null,
      ]),
    ),
  );
}

longTest("pasted addresses have the frames of lookup, and so has a stack", async () => {
  await withServer(["--api-key-file", KEYS], async ({ url, put }) => {
    await putApp(put, "me:secret");
    const page = await logIn(url);
    await page.getByRole("link", { name: "app" }).click();
    await page.getByRole("textbox", { name: "Addresses" }).fill(addresses.join("\n"));
    await page.getByRole("button", { name: "Symbolize" }).click();
    await page.getByText(`${number(addresses.length)} addresses have names`).waitFor();
    const frames = (address) =>
      sextantJson("lookup", app, address)[0].frames.map((frame) => [frame.function, `${frame.file}:${frame.line}`, frame.inlined]);
    const expected = addresses.map(frames);
    assert.ok(expected.some((chain) => chain.length > 1));
    assert.deepEqual(await shown(page), expected);
    await screenshot(page, "service-binary");
    await page.getByRole("link", { name: "Symbolize" }).click();
    const middle = addresses[addresses.length >> 1];
    const text = `==1==ERROR\n    #0 0x55 (/usr/bin/app+${middle}) (BuildId: ${info.build_id})\n    #1 0x66 (/bin/none+0x1)`;
    await page.getByRole("textbox", { name: "Addresses" }).fill(text);
    await page.keyboard.press("Control+Enter");
    await page.getByText("1 address has a name").waitFor();
    assert.deepEqual(await shown(page), [[], frames(middle), []]);
    assert.match(await textOf(page, ".modules"), /\/bin\/none.*nothing is known/s);
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "service-symbolize");
  });
});

longTest("a kept diff opens and says the change in bytes", async () => {
  await withServer(["--api-key-file", KEYS], async ({ url, put }) => {
    const trace = makeTrace("before");
    for (const [name, path] of [["ci/main", before], ["ci/pr-1", after], ["heap/one", trace], ["heap/two", trace]])
      await put("/api/v1/reports/" + name, readFileSync(path), "me:secret");
    // A link of a CI job: the form leads to where it pointed.
    const page = await logIn(url, { path: "/reports/ci/pr-1?before=ci/main" });
    await ready(page);
    const change = sum(symbolsOf(after)) - sum(symbolsOf(before));
    assert.equal(change, 60 * 8);
    assert.ok((await textOf(page, "#totals")).includes(`+${number(change)} bytes`), await textOf(page, "#totals"));
    assert.match(await page.title(), /ci\/main → ci\/pr-1/);
    await screenshot(page, "service-diff");
    await page.goto(url + "/#view=reports");
    await page.getByRole("link", { name: "ci/pr-1", exact: true }).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 4);
    await page.getByRole("searchbox").fill("HEAP");
    await page.getByText("2 found").waitFor();
    await page.getByRole("button", { name: "Compare… others with heap/one" }).click();
    assert.equal(await accessibilityProblems(page), "");
    await screenshot(page, "service-reports");
    await page.getByRole("link", { name: "what changed" }).click();
    await page.locator("#totals").waitFor();
    await page.goBack();
    page.on("dialog", (dialog) => void dialog.accept());
    await page.getByRole("button", { name: "Remove heap/two" }).click();
    await page.getByText("1 found").waitFor();
  });
});

longTest("hostile names are text", async () => {
  await withServer([], async ({ url, put }) => {
    const data = readFileSync(app);
    for (const [i, name] of HOSTILE.entries()) {
      // Another byte of the comment section makes another FileID, and another build ID.
      const copy = Buffer.from(data);
      const at = copy.indexOf(Buffer.from(info.build_id, "hex"));
      copy[at] = i;
      const id = i.toString(16).padStart(2, "0") + info.build_id.slice(2);
      await put(`/api/v1/files/${id}?name=${encodeURIComponent(name)}`, copy);
    }
    const page = await open(url, { origin: url });
    await page.locator("tbody tr").nth(HOSTILE.length - 1).waitFor();
    const names = await page.locator("tbody .name a").allTextContents();
    for (const link of await page.locator("tbody .name a").all()) {
      await link.click();
      await page.locator(".card").waitFor();
      assert.ok(names.includes(await textOf(page, "h1")));
      await page.goBack();
      await page.locator("tbody").waitFor();
    }
    await page.goto(url + "/#view=symbolize&file=%3Cimg%20src%3Dx%20onerror%3Dconsole.log(4)%3E".replace("&file", "&search"));
    await page.getByRole("textbox", { name: "Addresses" }).fill("#0 0x1 (/x/<img src=x onerror=console.log(5)>+0x1)\n<b>x</b>");
    await page.getByRole("button", { name: "Symbolize" }).click();
    await page.getByText("0 addresses have names").waitFor();
    assert.equal(await page.locator("img").count(), 0);
  });
});

longTest("a long list comes in pages", async () => {
  await withServer([], async ({ url }) => {
    const path = join(folder, "a.symbfile");
    sextant("archive", app, "-o", path);
    const body = readFileSync(path);
    for (let i = 0; i < 230; i += 23)
      await Promise.all(Array.from({ length: 23 }, (_, k) => {
        const headers = { FileID: (i + k + 1).toString(16).padStart(32, "0"), FilePart: "0", FileParts: "1" };
        return fetch(url + "/api/symbols-ranges", { method: "POST", body, headers }).then((reply) => assert.equal(reply.status, 200));
      }));
    const page = await open(url, { origin: url });
    await page.getByText("100+ binaries").waitFor();
    for (const [rows, text] of [[200, "200+ binaries"], [230, "230 binaries"]]) {
      await page.getByRole("button", { name: "Show more" }).click();
      await page.getByText(text, { exact: true }).waitFor();
      assert.equal(await page.locator("tbody tr").count(), rows);
    }
    assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
    assert.equal(new Set(await page.locator("tbody td:nth-child(3)").allTextContents()).size, 230);
  });
});

for (const [dark, width] of [[true, 1400], [false, 480]])
  longTest(`axe-core finds nothing serious, ${dark ? "dark" : "in a small window"}`, async () => {
    await withServer(["--api-key-file", KEYS], async ({ url, put }) => {
      await putApp(put, "me:secret");
      await put("/api/v1/reports/x", readFileSync(after), "me:secret");
      const page = await logIn(url, { dark, width });
      for (const view of ["binaries", "symbolize", "reports"]) {
        await page.goto(`${url}/#view=${view}`);
        await page.locator(view === "symbolize" ? "textarea" : "table").waitFor();
        assert.equal(await accessibilityProblems(page), "", view);
        await screenshot(page, `service-${view}-${dark ? "dark" : "small"}`);
      }
    });
  });

await run();
