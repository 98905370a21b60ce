/* The search, beside the page: takes one language's sections, answers queries. Loaded on the first focus of the
   search field. Chinese is cut into single characters and pairs, so any word is found without a dictionary;
   Latin words, names like implicit_paths and numbers like 8.03B or 16,777,216 stay whole and count by their parts too. */
((scope) => {
  "use strict";
  const HAN = "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff";
  const RUN = new RegExp(`[${HAN}]+|[\\p{L}\\p{N}](?:[\\p{L}\\p{N}_.,:/+−-]*[\\p{L}\\p{N}])?`, "gu");
  const isHan = (text) => new RegExp(`^[${HAN}]`).test(text);
  const fold = (text) => text.normalize("NFKC").toLowerCase();

  /* A run may be "8.03b的路径": a word and Chinese touching each other. */
  function runs(text) {
    const found = [];
    for (const [run] of fold(text).matchAll(RUN)) {
      for (const [piece] of run.matchAll(new RegExp(`[${HAN}]+|[^${HAN}]+`, "gu"))) {
        const tidy = isHan(piece) ? piece : piece.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
        if (tidy) found.push(tidy);
      }
    }
    return found;
  }
  const number = (word) => (/^\d{1,3}(,\d{3})+(\.\d+)?\w*$/.test(word) ? word.replaceAll(",", "") : word);
  const stem = (word) => (/^[a-z]{4,}s$/.test(word) && !word.endsWith("ss") ? word.slice(0, -1) : word);
  const parts = (word) => (/^[\d.,]+\w?$/.test(word) ? [] : word.split(/[^\p{L}\p{N}]+/u).filter((p) => p && p !== word));
  function pairs(run) {
    const chars = [...run];
    return chars.slice(1).map((char, i) => chars[i] + char);
  }

  /* Words of a text as they are indexed. */
  function tokenize(text) {
    return runs(text).flatMap((run) =>
      isHan(run) ? [...run, ...pairs(run)] : [...new Set([number(run), stem(number(run)), ...parts(run).map(stem)])]);
  }
  /* Words that a query asks for: all of them must be there. */
  function queryWords(text) {
    return [...new Set(runs(text).flatMap((run) => (!isHan(run) ? [stem(number(run))] : run.length > 1 ? pairs(run) : [run])))];
  }

  /* Lists at the back stand behind the pages that they list, the names of the code behind both. */
  const weight = (url) => (url.startsWith("reference/api/") ? 0.2 : url.startsWith("reference/") ? 0.5 : 1);

  class Index {
    constructor(docs, MiniSearch) {
      this.docs = docs;
      this.mini = new MiniSearch({
        idField: "id", fields: ["p", "h", "t"], tokenize, processTerm: (term) => term,
        searchOptions: { combineWith: "AND", boost: { p: 3, h: 4, t: 1 } },
      });
      this.mini.addAll(docs.map((doc, id) => ({ id, ...doc })));
    }

    /* Matching sections, best first, gathered by page: [{title, url, items: [{url, heading, snippet}]}]. */
    query(text, limit = 24) {
      const words = queryWords(text);
      if (!words.length) return [];
      const latin = (word) => !isHan(word);
      const options = { tokenize: queryWords, prefix: (word) => latin(word) && word.length > 1 };
      let hits = this.mini.search(text, options);
      if (!hits.length) hits = this.mini.search(text, { ...options, fuzzy: (word) => latin(word) && /^[a-z]{5,}$/.test(word) && 0.2 });
      const phrase = fold(text).trim();
      const exact = (hit) => { const doc = this.docs[hit.id]; return fold(`${doc.h || doc.p}\n${doc.t}`).includes(phrase) ? 1 : 0; };
      const ranked = hits.map((hit) => ({ hit, score: hit.score * (1 + 2 * exact(hit)) * weight(this.docs[hit.id].u) })).sort((a, b) => b.score - a.score || a.hit.id - b.hit.id);
      const pages = new Map();
      for (const { hit } of ranked.slice(0, limit)) {
        const doc = this.docs[hit.id], url = doc.u.split("#")[0];
        if (!pages.has(url)) pages.set(url, { title: doc.p, url, items: [] });
        pages.get(url).items.push({ url: doc.u, heading: doc.h || doc.p, snippet: snippet(doc.t, text, words, hit.terms) });
      }
      return [...pages.values()];
    }
  }

  /* The part of a text around its first match, as [text, marked] pieces. */
  function snippet(text, query, words, terms) {
    const wanted = [...new Set([...runs(query), ...runs(query).map(stem), ...words, ...(terms || [])])].filter((word) => word.length > 1 || words.includes(word));
    const pattern = wanted.sort((a, b) => b.length - a.length)
      .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/(\d)(?=(\d{3})+$)/g, "$1,?")).join("|");
    if (!pattern) return [[text.slice(0, 90), false]];
    const marks = [...text.matchAll(new RegExp(pattern, "giu"))].map((match) => [match.index, match.index + match[0].length]);
    const first = marks.length ? marks[0][0] : 0, long = isHanHeavy(text) ? 80 : 150;
    let start = Math.max(0, first - Math.floor(long / 3)), end = Math.min(text.length, start + long);
    if (start > 0) { const space = text.indexOf(" ", start); if (space >= 0 && space < first && space - start < 14) start = space + 1; }
    const pieces = [];
    let at = start;
    if (start > 0) pieces.push(["…", false]);
    for (const [from, to] of marks) {
      if (from < at || to > end) continue;
      if (from > at) pieces.push([text.slice(at, from), false]);
      const last = pieces.at(-1);
      if (last && last[1] && from === at) last[0] += text.slice(from, to);
      else pieces.push([text.slice(from, to), true]);
      at = to;
    }
    if (at < end) pieces.push([text.slice(at, end), false]);
    if (end < text.length) pieces.push(["…", false]);
    return pieces;
  }
  function isHanHeavy(text) { return (text.match(new RegExp(`[${HAN}]`, "g")) || []).length > text.length / 4; }

  scope.TwoLedgersSearch = { Index, tokenize, queryWords };
  if (typeof importScripts !== "function") return;

  let ready = null;
  scope.onmessage = async ({ data }) => {
    try {
      if (data.open) {
        importScripts(data.open.library);
        ready = fetch(data.open.index).then((answer) => {
          if (!answer.ok) throw new Error(`${answer.status} ${data.open.index}`);
          return answer.json();
        }).then(({ docs }) => new Index(docs, scope.MiniSearch));
        await ready;
        scope.postMessage({ ready: true });
      } else {
        scope.postMessage({ query: data.query, number: data.number, pages: (await ready).query(data.query) });
      }
    } catch (error) {
      scope.postMessage({ error: String(error) });
    }
  };
})(typeof self === "undefined" ? globalThis : self);
