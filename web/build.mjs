// Bundle the page into ragmem/server/web/static/, with the digest of these sources beside it.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const TARGET = join(HERE, "..", "ragmem", "server", "web", "static");
const LOOSE = ["build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json"];

const TYPES = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

function filesUnder(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(HERE, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

/** The same digest as tests/server/web/test_web_build.py computes. */
function digestOfSources() {
  const digest = createHash("sha256");
  for (const name of [...LOOSE, ...filesUnder(join(HERE, "src"))].sort()) {
    const content = readFileSync(join(HERE, name));
    digest.update(`${name}\0${content.length}\0`);
    digest.update(content);
  }
  return digest.digest("hex");
}

function hashed(name, ending, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 10);
  return `${name}-${hash}.${ending}`;
}

async function bundle(entry, define = {}) {
  const result = await build({
    entryPoints: [join(HERE, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    define,
    logLevel: "warning",
  });
  return Buffer.from(result.outputFiles[0].contents);
}

const files = new Map();

function add(name, ending, content) {
  const full = hashed(name, ending, content);
  files.set(full, content);
  return full;
}

const layout = add("layout", "js", await bundle("graph/layout.worker.ts"));
const paint = add("paint", "js", await bundle("graph/paint.worker.ts"));
const app = add(
  "app",
  "js",
  await bundle("main.tsx", {
    LAYOUT_WORKER: JSON.stringify(`/assets/${layout}`),
    PAINT_WORKER: JSON.stringify(`/assets/${paint}`),
  }),
);
const theme = add("theme", "js", await bundle("early-theme.ts"));
const style = add("style", "css", await bundle("styles/index.css"));
const icon = add("icon", "svg", readFileSync(join(HERE, "src", "icon.svg")));

const index = readFileSync(join(HERE, "index.html"), "utf-8")
  .replace("{{app}}", app)
  .replace("{{theme}}", theme)
  .replace("{{style}}", style)
  .replace("{{icon}}", icon);
files.set("index.html", Buffer.from(index));

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
const described = {};
for (const [name, content] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
  writeFileSync(join(TARGET, name), content);
  described[name] = {
    type: TYPES[name.split(".").at(-1)],
    bytes: content.length,
    gzip: gzipSync(content, { level: 9 }).length,
  };
}
writeFileSync(
  join(TARGET, "manifest.json"),
  `${JSON.stringify({ sources: digestOfSources(), files: described }, null, 1)}\n`,
);
for (const [name, { bytes, gzip }] of Object.entries(described)) {
  console.log(`${name.padEnd(26)} ${String(bytes).padStart(8)} bytes ${String(gzip).padStart(7)} gzip`);
}
