// Answers queries with the site's own worker code: node search_query.cjs WORKER MINISEARCH < {"docs": […], "queries": […]}
"use strict";
const [worker, library] = process.argv.slice(2);
require(worker);
const MiniSearch = require(library);
const { docs, queries, tokens } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { Index, tokenize } = globalThis.TwoLedgersSearch;
const index = docs && new Index(docs, MiniSearch);
process.stdout.write(JSON.stringify({
  answers: (queries || []).map((query) => index.query(query)),
  tokens: (tokens || []).map((text) => tokenize(text)),
}));
