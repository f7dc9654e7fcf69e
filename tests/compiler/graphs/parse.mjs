// Reads a list of charts as JSON, and prints for each the error of Mermaid's own parser, or null.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";
import path from "node:path";

const require = createRequire(path.join(process.env.GPUC_MERMAID, "package.json"));
const { JSDOM } = require("jsdom");
const { window } = new JSDOM("");
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import(pathToFileURL(require.resolve("mermaid")).href);
const answers = [];
for (const chart of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const read = await mermaid.parse(chart);
    answers.push(read.diagramType === "flowchart-v2" ? null : `a ${read.diagramType}`);
  } catch (error) {
    answers.push(String(error));
  }
}
process.stdout.write(JSON.stringify(answers));
