/* Two Ledgers: what the frame and the numbers do. Everything here is an enhancement. Without it a number leads to
   its row in the page's ledger of numbers, the language switch to the twin of the page, the drawer opens by its
   checkbox. No dependency; text is only ever moved as nodes, never parsed. */
(() => {
  "use strict";
  const zh = document.documentElement.lang.startsWith("zh");
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const words = zh
    ? { more: "在总表中查看", report: "报告错误", close: "关闭", skip: "跳过表格", table: "表格", code: "代码", formula: "公式" }
    : { more: "See it in the list", report: "Report an error", close: "Close", skip: "Skip the table", table: "Table", code: "Code", formula: "Formula" };
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const article = $("#tl-text");

  /* ── number card: one element, filled from the row the number points to ── */
  const text = make("div", "tl-card__text");
  text.id = "tl-card-text";
  const more = make("p", "tl-card__more");
  const close = make("button", "tl-card__close", "×");
  close.type = "button";
  close.setAttribute("aria-label", words.close);
  const card = make("div", "tl-card", text, more, close);
  card.id = "tl-card";
  card.hidden = true;
  card.setAttribute("role", "group");
  card.setAttribute("aria-labelledby", "tl-card-text");
  let owner = null, pinned = false, timer = 0;

  const rowOf = link => document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const copy = cell => [...cell.childNodes].map(node => node.cloneNode(true));

  function fill(row) {
    const cells = [...row.cells];
    const heads = $$("thead th", row.closest("table")).map(head => head.textContent);
    const [value, what, , grade] = cells;
    const list = make("dl");
    for (const i of [2, 4, 5]) {
      if (!cells[i] || !cells[i].textContent.trim()) continue;
      list.append(make("dt", "", heads[i] || ""), make("dd", "", ...copy(cells[i])));
    }
    text.replaceChildren(
      make("div", "tl-card__value", make("span", "", ...copy(value)), ...copy(grade)),
      make("div", "tl-card__label", ...copy(what)), list);
    $$("[id]", text).forEach(node => node.removeAttribute("id"));
    $$("a", text).forEach(link => link.replaceWith(...link.childNodes));   // links of the card stand in its last line
    const listed = $("a[href]", value) || $("a[href*='reference/numbers']", row);
    const numbers = row.dataset.href || (listed ? listed.href : `${article.dataset.numbers}#${row.dataset.fact || ""}`);
    const report = row.dataset.report || reportAddress(row);
    more.replaceChildren(link(numbers, words.more), link(report, words.report));
  }
  function link(href, label) {
    const anchor = make("a", "", label);
    anchor.href = href;
    return anchor;
  }
  function reportAddress(row) {
    const { report, page, commit } = article.dataset;
    const query = new URLSearchParams({ page, fact: row.dataset.fact || row.id.slice(2) });
    if (commit) query.set("commit", commit.slice(0, 10));
    return report + (report.includes("?") ? "&" : "?") + query;
  }
  function place() {
    card.style.left = card.style.top = "";
    if (!matchMedia("(min-width: 45em)").matches) return;                  // below that it is a sheet at the foot
    const box = owner.getClientRects()[0] || owner.getBoundingClientRect();
    const column = article.getBoundingClientRect(), style = getComputedStyle(article);
    const inMargin = owner.closest(".tl-margin, figcaption, .tl-scroll");
    const start = column.left + parseFloat(style.paddingLeft);
    const measure = 32.3 * parseFloat(getComputedStyle(document.documentElement).fontSize);   // --tl-figure
    const right = inMargin ? column.right : Math.min(column.right - parseFloat(style.paddingRight), start + measure);
    const left = Math.max(start, Math.min(box.left - 14, right - card.offsetWidth));
    const height = card.offsetHeight, above = box.bottom + height + 16 > innerHeight && box.top > height + 110;
    const frame = (card.offsetParent || document.body).getBoundingClientRect();
    card.style.left = `${left - frame.left}px`;
    card.style.top = `${(above ? box.top - height - 8 : box.bottom + 8) - frame.top}px`;
  }
  function show(anchor, pin) {
    clearTimeout(timer);
    const row = rowOf(anchor);
    if (!row || !row.cells) return false;
    if (owner && owner !== anchor) release();
    fill(row);
    owner = anchor;
    pinned = pin;
    (article.closest("main") || document.body).append(card);
    card.hidden = false;
    anchor.setAttribute("aria-expanded", "true");
    anchor.setAttribute("aria-describedby", text.id);
    place();
    uncover();
    return true;
  }
  /* the sheet never lies on the number it is about */
  function uncover() {
    if (getComputedStyle(card).position !== "fixed") return;
    const hidden = owner.getBoundingClientRect().bottom + 12 - card.getBoundingClientRect().top;
    if (hidden > 0) scrollBy({ top: hidden, behavior: "instant" });
  }
  function release() {
    owner.removeAttribute("aria-describedby");
    owner.setAttribute("aria-expanded", "false");
  }
  function hide() {
    clearTimeout(timer);
    if (!owner) return;
    release();
    owner = null;
    pinned = false;
    card.hidden = true;
  }
  const numberAt = event => event.target instanceof Element && event.target.closest("a.tl-num");
  const inCard = event => event.target instanceof Node && card.contains(event.target);

  document.addEventListener("pointerover", event => {
    if (event.pointerType !== "mouse") return;
    const anchor = numberAt(event);
    if (anchor && !pinned) {
      clearTimeout(timer);
      if (anchor !== owner) timer = setTimeout(() => show(anchor, false), 120);
    } else if (inCard(event)) clearTimeout(timer);
  });
  document.addEventListener("pointerout", event => {
    if (!numberAt(event) && !inCard(event)) return;
    clearTimeout(timer);
    if (!pinned) timer = setTimeout(hide, 180);
  });
  document.addEventListener("focusin", event => {
    const anchor = numberAt(event);
    if (anchor && anchor.matches(":focus-visible")) { if (anchor !== owner) show(anchor, false); }
    else if (!inCard(event) && !anchor) hide();
  });
  document.addEventListener("click", event => {
    const anchor = numberAt(event);
    if (anchor && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      if (pinned && owner === anchor) { event.preventDefault(); hide(); }
      else if (show(anchor, true)) event.preventDefault();
    } else if (!inCard(event) || event.target === close) {
      const back = event.target === close && owner;
      hide();
      if (back) back.focus();
    }
  });
  /* a pinned card is the next stop after its number: Tab goes through its links and on from the number */
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && owner) {
      if (inCard(event)) owner.focus();
      hide();
    } else if (event.key === "Tab" && owner && pinned) {
      const stops = $$("a[href], button", card).filter(stop => stop.checkVisibility ? stop.checkVisibility() : true);
      const at = stops.indexOf(document.activeElement);
      if (document.activeElement === owner && !event.shiftKey) { event.preventDefault(); stops[0].focus(); }
      else if (at === 0 && event.shiftKey) { event.preventDefault(); owner.focus(); }
      else if (at === stops.length - 1 && !event.shiftKey) { const from = owner; from.focus(); hide(); }
    }
  });
  addEventListener("resize", () => { if (owner) place(); });

  /* ── tables, code and formulas: a way past, roles that survive the phone's layout, a stop where something scrolls ── */
  const WRAPPERS = ".tl-scroll, .tl-ledger-wrap, .md-typeset__scrollwrap";
  function prepareTables() {
    $$("table", article).forEach((table, i) => {
      if (table.matches(".tl-ledger, .tl-numbers, .tl-spread")) giveRoles(table);
      const outer = table.closest(WRAPPERS) || table;
      if ($$("a[href]", table).length < 3 || outer.previousElementSibling?.matches(".tl-skip")) return;
      const end = make("span", "tl-past");
      end.id = `past-table-${i + 1}`;
      end.tabIndex = -1;
      const skip = link(`#${end.id}`, words.skip);
      skip.className = "tl-skip";
      skip.addEventListener("click", event => { event.preventDefault(); end.focus(); });
      outer.before(skip);
      outer.after(end);
    });
  }
  function giveRoles(table) {
    const set = (element, role) => element.hasAttribute("role") || element.setAttribute("role", role);
    set(table, "table");
    $$("thead, tbody, tfoot", table).forEach(group => set(group, "rowgroup"));
    $$("tr", table).forEach(row => set(row, "row"));
    $$("td", table).forEach(cell => set(cell, "cell"));
    $$("th", table).forEach(head => set(head, head.closest("thead") ? "columnheader" : "rowheader"));
  }
  /* a long name in code may break after a dot, a slash or an underscore, and nowhere else */
  function letNamesBreak() {
    for (const code of $$(".tl-numbers code, .tl-fact code, .tl-claim__foot code", article)) {
      if (code.childElementCount || code.textContent.length < 14 || /\s/.test(code.textContent)) continue;
      const pieces = code.textContent.split(/(?<=[._/]|::)(?=\w)/);
      code.replaceChildren(...pieces.flatMap((piece, i) => (i ? [make("wbr"), piece] : [piece])));
    }
  }
  function markScrolling() {
    const kinds = [[WRAPPERS, words.table], ["pre > code, pre", words.code], [".tl-math", words.formula]];
    for (const [selector, kind] of kinds) for (const element of $$(selector, article)) {
      const scrolls = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible";
      if (scrolls) {
        element.tabIndex = 0;
        if (!element.hasAttribute("aria-label")) element.setAttribute("aria-label", $("caption", element)?.textContent || kind);
        element.setAttribute("role", "group");            // a stop, not one more landmark
        element.dataset.tlScrolls = "";
      } else if ("tlScrolls" in element.dataset || element.matches(WRAPPERS)) {
        element.removeAttribute("tabindex");
        if (element.getAttribute("role") === "region") element.setAttribute("role", "group");
        delete element.dataset.tlScrolls;
      }
    }
  }

  /* the theme puts a <nav> into every code block, when the block comes into view: one landmark too many each time */
  function demoteCodeNavs() {
    const demote = () => $$(".highlight .md-code__nav", article).forEach(nav => nav.setAttribute("role", "presentation"));
    const observer = new MutationObserver(demote);
    $$(".highlight", article).forEach(block => observer.observe(block, { childList: true, subtree: true }));
    demote();
  }

  /* ── language switch: the twin of the page, at the same place ── */
  function carryAnchor() {
    for (const anchor of $$(".tl-lang a")) { anchor.search = location.search; anchor.hash = location.hash; }
  }
  function inView(hash) {
    const box = hash && $(`[id="${CSS.escape(hash.slice(1))}"]`)?.getBoundingClientRect();    // ids are ASCII
    return box && box.bottom > 0 && box.top < innerHeight;
  }
  function headingInView() {
    const passed = $$(":is(h2, h3)[id]", article).filter(heading => heading.getBoundingClientRect().top < innerHeight / 3);
    return passed.length ? `#${passed.at(-1).id}` : "";
  }

  /* ── drawer and search: buttons for what the theme does with labels ── */
  function prepareToggles() {
    for (const button of $$("[data-tl-toggle]")) {
      const box = document.getElementById(`__${button.dataset.tlToggle}`);
      if (!box) continue;
      const isSearch = button.dataset.tlToggle === "search";
      const first = () => $(isSearch ? ".md-search input" : "#tl-contents a[href]");
      const sync = () => button.setAttribute("aria-expanded", String(box.checked));
      button.addEventListener("click", () => {
        box.checked = !box.checked;
        box.dispatchEvent(new Event("change", { bubbles: true }));
        if (box.checked) first()?.focus({ preventScroll: true });
      });
      box.addEventListener("change", sync);
      document.addEventListener("keydown", event => {
        if (event.key !== "Escape" || !box.checked || isSearch) return;
        box.checked = false;
        box.dispatchEvent(new Event("change", { bubbles: true }));
        button.focus();
      });
      if (!isSearch) document.addEventListener("focusin", event => {   // focus that leaves the drawer closes it
        if (!box.checked || event.target === button || event.target.closest("#tl-contents")) return;
        box.checked = false;
        box.dispatchEvent(new Event("change", { bubbles: true }));
      });
    }
  }

  /* ── paper: tables open, every number with the number of its endnote ── */
  let opened = [];
  function numberNotes() {
    const rows = $$(".tl-numbers tbody tr[id^='n-']", article);
    if (!rows.length) return;
    const note = new Map(rows.map((row, i) => [row.id, i + 1]));
    for (const row of rows) row.cells[0].dataset.note = note.get(row.id);
    for (const anchor of $$("a.tl-num", article)) {
      const at = note.get(decodeURIComponent(anchor.hash.slice(1)));
      if (at) anchor.dataset.note = at;
    }
  }
  addEventListener("beforeprint", () => {
    hide();
    opened = $$("details:not([open])", article);
    opened.forEach(details => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    opened.forEach(details => { details.open = false; });
    opened = [];
  });

  function start() {
    prepareToggles();
    carryAnchor();
    addEventListener("hashchange", carryAnchor);
    for (const anchor of $$(".tl-lang a")) anchor.addEventListener("click", () => {
      if (article) anchor.hash = inView(location.hash) ? location.hash : headingInView();   // where the reader is by now
    });
    if (!article) return;
    $$("a.tl-num", article).forEach(anchor => { if (rowOf(anchor)) anchor.setAttribute("aria-expanded", "false"); });
    numberNotes();
    letNamesBreak();
    prepareTables();
    demoteCodeNavs();
    markScrolling();
    new ResizeObserver(markScrolling).observe(article);
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
