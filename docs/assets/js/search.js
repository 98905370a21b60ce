/* The search field: a combobox whose list shows matching sections, grouped by page. The worker and the index are
   loaded when the field first takes focus. Slash goes to the field, arrows and Enter choose, Escape closes. */
(() => {
  "use strict";
  const field = document.getElementById("tl-search-field");
  if (!field) return;
  const zh = document.documentElement.lang.startsWith("zh");
  const short = (text) => ([...text].length > 60 ? `${[...text].slice(0, 60).join("")}…` : text);
  const words = zh
    ? { loading: "正在载入索引…", none: (q) => `没有找到“${short(q)}”。`, some: (n) => `${n} 处`, failed: "搜索索引未能载入。" }
    : { loading: "Loading the index…", none: (q) => `No match for “${short(q)}”.`, some: (n) => `${n} ${n === 1 ? "place" : "places"}`, failed: "The search index could not be loaded." };
  const list = document.getElementById("tl-search-list");
  const status = document.getElementById("tl-search-status");
  const toggle = document.getElementById("__search");
  const box = field.closest(".tl-search");
  const home = new URL(field.dataset.home, location.href);
  let worker = null, ready = false, failed = false, asked = 0, active = -1, timer = 0;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const say = (text) => { status.textContent = text; };

  function fail() {                                       // the next time the field takes focus it tries again
    worker?.terminate();
    worker = null;
    ready = false;
    failed = true;
    clear();
    say(words.failed);
  }
  function load() {
    if (worker) return;
    failed = false;
    worker = new Worker(new URL(field.dataset.worker, location.href));
    worker.onerror = fail;
    worker.onmessage = ({ data }) => {
      if (data.error) fail(); else if (data.ready) { ready = true; ask(); } else if (data.number === asked) show(data);
    };
    worker.postMessage({ open: {
      library: new URL(field.dataset.library, location.href).href, index: new URL(field.dataset.index, location.href).href } });
  }

  function ask() {
    const query = field.value.trim();
    asked += 1;
    if (!query) { clear(); return; }
    if (failed) { say(words.failed); return; }
    if (!ready) { say(words.loading); return; }
    worker.postMessage({ query, number: asked });
  }

  function clear() {
    list.replaceChildren();
    say("");
    active = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };

  function show({ query, pages }) {
    clear();
    let count = 0;
    for (const [i, page] of pages.entries()) {
      const title = make("div", "tl-search__page", page.title);
      title.id = `tl-search-page-${i}`;
      const group = make("div", "tl-search__group", title);
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", title.id);
      for (const item of page.items) {
        const text = make("span", "tl-search__text", ...item.snippet.map(([piece, marked]) => (marked ? make("mark", "", piece) : piece)));
        const option = make("a", "tl-search__hit", make("span", "tl-search__heading", item.heading), text);
        option.href = new URL(item.url, home).href;
        option.id = `tl-search-hit-${count}`;
        option.tabIndex = -1;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        group.append(option);
        count += 1;
      }
      list.append(group);
    }
    field.setAttribute("aria-expanded", String(count > 0));
    say(count ? words.some(count) : words.none(query));
    list.scrollTop = 0;
  }

  function choose(step) {
    const all = options();
    if (!all.length) return;
    all[active]?.setAttribute("aria-selected", "false");
    active = active < 0 && step < 0 ? all.length - 1 : (active + step + all.length) % all.length;
    all[active].setAttribute("aria-selected", "true");
    all[active].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", all[active].id);
  }

  function open(state) {
    if (toggle && toggle.checked !== state) {
      toggle.checked = state;
      toggle.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
  function leave() {
    open(false);
    field.blur();
  }

  field.addEventListener("focus", () => { load(); open(true); });
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 90);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;                        // an input method is still choosing characters
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const target = options()[Math.max(active, 0)];
      if (target) { open(false); location.assign(target.href); }
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (field.value) { field.value = ""; ask(); } else { leave(); document.querySelector("[data-tl-toggle=search]:not([hidden])")?.focus(); }
    }
  });
  field.form.addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });
  box.querySelector(".tl-search__close").addEventListener("click", () => { leave(); document.querySelector("[data-tl-toggle=search]")?.focus(); });
  document.addEventListener("pointerdown", (event) => { if (toggle?.checked && !event.target.closest(".tl-search, [data-tl-toggle=search]")) leave(); });
  document.addEventListener("focusin", (event) => {
    if (toggle?.checked && !event.target.closest(".tl-search, [data-tl-toggle=search]")) open(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input:not([type=range], [type=radio], [type=checkbox]), textarea, select, [contenteditable]")) return;
    event.preventDefault();
    open(true);
    field.focus();
  });
})();
