// Builds one self-contained HTML file for each page: node build.mjs OUT
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync, existsSync } from "node:fs";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(root, "dist");

const hash = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";

async function bundle(name) {
  const result = await build({
    root,
    configFile: false,
    logLevel: "error",
    esbuild: { jsx: "automatic", jsxImportSource: "preact", charset: "ascii" },
    build: {
      write: false,
      target: "es2022",
      cssCodeSplit: false,
      rollupOptions: {
        input: join(root, "src", name, "main.tsx"),
        output: { format: "iife", inlineDynamicImports: true, entryFileNames: "page.js", assetFileNames: "page[extname]" },
      },
    },
  });
  const files = (Array.isArray(result) ? result[0] : result).output;
  const script = files.find((file) => file.type === "chunk").code.trim();
  const style = files.filter((file) => file.fileName.endsWith(".css")).map((file) => file.source).join("\n").trim();
  return { script, style };
}

// The page of the service asks its own server, and nobody else.
const asks = { service: ["connect-src 'self'", "form-action 'self'"] };

// The script is after the data. Nothing can be loaded, and only the script and the style below may run.
function page(name, { script, style }) {
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data: blob:",
    "base-uri 'none'",
    ...(asks[name] ?? ["form-action 'none'"]),
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>sextant</title>
<style>${style}</style>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript, which runs without a network.</noscript></div>
<!--data-->
<script>${script}</script>
</body>
</html>
`;
}

mkdirSync(out, { recursive: true });
for (const name of readdirSync(join(root, "src")).sort()) {
  if (!existsSync(join(root, "src", name, "main.tsx"))) continue;
  const { script, style } = await bundle(name);
  if (script.includes("</script") || style.includes("</style") || script.includes("<!--"))
    throw new Error(`${name}: the script would end its element`);
  writeFileSync(join(out, `${name}.html`), page(name, { script, style }));
}
