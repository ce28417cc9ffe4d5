// The harness itself: it must see what a page should not do.
import assert from "node:assert/strict";
import { accessibilityProblems, longTest, open, run, test, writeFile } from "./support/harness.mjs";

const page = (body, head = "") =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title>${head}</head><body>${body}</body></html>`;

/** The problems of a page, which are no failure of this test. */
async function problemsOf(html) {
  const opened = await open(writeFile("frame.html", html));
  await opened.waitForTimeout(100);
  return opened.problems.splice(0).join("\n");
}

test("a quiet page has no problems", async () => {
  assert.equal(await problemsOf(page("<main><h1>quiet</h1></main>")), "");
});

longTest("console messages, errors and requests are problems", async () => {
  assert.match(await problemsOf(page("<script>console.log('spoken')</script>")), /console log: spoken/);
  assert.match(await problemsOf(page("<script>throw new Error('broken')</script>")), /error: Error: broken/);
  assert.match(await problemsOf(page("<img src='http://127.0.0.1:9/a.png' alt=''>")), /request: http:\/\/127/);
  assert.match(await problemsOf(page("<script>fetch('http://127.0.0.1:9/').catch(() => 0)</script>")), /request: http/);
});

longTest("what a policy forbids is a problem", async () => {
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`;
  assert.match(await problemsOf(page("<script>1</script>", policy)), /Content Security Policy/);
});

longTest("axe-core finds what people cannot use", async () => {
  const bad = await open(writeFile("bad.html", page("<main><h1>x</h1><input></main>")));
  assert.match(await accessibilityProblems(bad), /label/);
  const good = await open(writeFile("good.html", page("<main><h1>x</h1><label>Name <input></label></main>")));
  assert.equal(await accessibilityProblems(good), "");
});

await run();
