// A server of the program, `sextant view`, which ends with the test.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { BUILD, closePages, folder } from "./harness.mjs";

const PROGRAM = process.env.SEXTANT ?? join(BUILD, "sextant");

/** Starts a server; the URL, its origin, and a function that ends it and gives its exit status. */
export async function startView(...words) {
  const child = spawn(PROGRAM, ["view", "--no-browser", ...words], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data) => (errors += data));
  const ended = new Promise((resolve) => child.on("exit", (status, signal) => resolve(status ?? signal)));
  const url = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      if (text.endsWith("\n")) resolve(text.trim());
    });
    child.on("exit", () => reject(new Error(`the server did not start: ${errors}`)));
  });
  const stop = async () => {
    child.kill("SIGINT");
    return ended;
  };
  return { url, origin: new URL(url).origin, stop };
}

/** Runs BODY with a server, and ends it. */
export async function withView(words, body) {
  const view = await startView(...words);
  try {
    await body(view);
  } finally {
    await closePages();
    await view.stop();
  }
}
