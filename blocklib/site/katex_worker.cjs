// Renders formulas for one build: one JSON object a line in, one a line out, in order.
// in:  {"tex": "...", "display": bool}      out: {"html": "..."} or {"error": "..."}
// The folder of the katex package is the only argument.
"use strict";
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin, terminal: false });
lines.on("line", (line) => {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    answer = {
      html: katex.renderToString(tex, {
        displayMode: display,
        output: "htmlAndMathml",
        strict: "error",
        throwOnError: true,
        maxSize: 50,
        maxExpand: 1000,
        // A formula may link to a number of its own page and to nothing else.
        trust: (context) => {
          if (context.command === "\\href" && context.url.startsWith("#n-")) return true;
          throw new Error(`${context.command} may only lead to a number of its own page`);
        },
      }),
    };
  } catch (error) {
    answer = { error: String(error.message || error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
