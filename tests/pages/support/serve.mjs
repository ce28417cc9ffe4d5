// A running `sextant serve`, and requests to it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { BUILD, closePages, folder } from "./harness.mjs";

const PROGRAM = process.env.SEXTANT ?? join(BUILD, "sextant");
let stores = 0;

/** Starts a server with OPTIONS over a store of its own, and calls BODY with its URL and a function that uploads. */
export async function withServer(options, body) {
  const place = join(folder, `store-${++stores}`);
  const words = ["serve", "--store", place, "--listen", "127.0.0.1:0", ...options];
  const server = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => server.on("exit", resolve));
  try {
    const url = await new Promise((resolve, reject) => {
      let text = "";
      server.stdout.on("data", (data) => {
        text += data;
        const found = /listening on (\S+)\n/.exec(text);
        if (found) resolve(found[1]);
      });
      server.on("exit", () => reject(new Error(`the server did not start: ${text}`)));
    });
    await body({ url, put: (path, data, key) => put(url + path, data, key) });
  } finally {
    await closePages();
    server.kill("SIGTERM");
    await ended;
  }
}

async function put(address, data, key) {
  const headers = key ? { Authorization: "Bearer " + key } : {};
  const reply = await fetch(address, { method: "PUT", body: data, headers });
  if (!reply.ok) throw new Error(`PUT ${address}: ${reply.status} ${await reply.text()}`);
}
