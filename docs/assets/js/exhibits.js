/* Exhibits: plays back states that were computed when the site was built; no formula lives here.
   Without this script an exhibit is a picture, a sentence and a table at its default setting. With it, when an
   exhibit comes near the viewport, its payload is fetched, its controls appear, and Plotly (one shared bundle,
   loaded once) takes the picture's place. Sentence and table need the payload only.
   figure[data-state]: waiting → ready (controls work) → drawn; static: no payload; text: no chart bundle. */
(() => {
  "use strict";
  const NEAR = "300px", NARROW = 460, REST = 250, PAPER_WIDTH = 600;
  const CONFIG = { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false, showTips: false };
  const $ = (s, r) => r.querySelector(s), $$ = (s, r = document) => [...r.querySelectorAll(s)];
  const make = (tag, props) => Object.assign(document.createElement(tag), props);
  const exhibits = new Map();
  let bundle = null;

  /* ---- the chart bundle, at most once a page ---- */
  function plotly(url) {
    if (window.Plotly) return Promise.resolve(window.Plotly);
    return bundle ??= new Promise((done, fail) => {
      const script = make("script", { src: url, async: true });
      script.onload = () => window.Plotly ? done(window.Plotly) : fail(new Error("no Plotly in " + url));
      script.onerror = () => fail(new Error("cannot load " + url));
      document.head.append(script);
    });
  }

  /* ---- "@run" → what the page's token is at this moment, read through a real element so that system colours
          of a forced palette resolve too ---- */
  function dress(value, colour, key = "") {
    if (Array.isArray(value)) return value.map(v => dress(v, colour, key));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, dress(v, colour, k)]));
    return typeof value === "string" && value[0] === "@" && key.endsWith("color") ? colour(value.slice(1)) : value;
  }
  function palette(host) {
    const probe = host.appendChild(make("i", { hidden: true })), seen = {};
    const colour = name => seen[name] ??= (probe.style.color = `var(--tl-${name})`, getComputedStyle(probe).color);
    return { colour, done: () => probe.remove() };
  }

  /* ---- text: nodes only; ** marks bold ---- */
  function say(host, text) {
    if (host.dataset.said === text) return;
    host.dataset.said = text;
    host.replaceChildren(...text.split("**").map((part, i) => i % 2 ? make("b", { textContent: part }) : part));
  }
  function fill(table, { head, rows, amounts, total }) {
    const row = (cells, section) => {
      const tr = make("tr");
      cells.forEach((text, c) => {
        const cell = make(section === "thead" || c === 0 ? "th" : "td", { textContent: text });
        if (cell.tagName === "TH") cell.scope = section === "thead" ? "col" : "row";
        if (amounts.includes(c)) cell.className = "n";
        tr.append(cell);
      });
      return tr;
    };
    $("thead", table).replaceChildren(row(head, "thead"));
    $("tbody", table).replaceChildren(...rows.map(r => row(r, "tbody")));
    if (total !== null) $("tbody", table).rows[total].className = "tl-total";
  }

  class Exhibit {
    constructor(figure) {
      this.figure = figure;
      [this.form, this.plot, this.live, this.data] =
        ["form", ".tl-plot", ".tl-live", ".tl-data"].map(s => $(s, figure));
      this.zh = (figure.closest("[lang]")?.lang || "").startsWith("zh");
      this.width = 0;
      figure.dataset.state = "waiting";
      this.drawn = new Promise(done => { this.isDrawn = done; });
    }

    async approach() {                                      // once, when the exhibit comes near
      if (this.approached) return;
      this.approached = true;
      const url = this.figure.dataset.plotly || $('meta[name="tl-plotly"]', document)?.content;
      const chart = url || window.Plotly ? plotly(url) : Promise.reject(new Error("no chart bundle named"));
      chart.catch(() => {});                                // awaited below, after the payload
      try {
        const answer = await fetch(this.figure.dataset.payload);
        if (!answer.ok) throw new Error(`${answer.status} ${this.figure.dataset.payload}`);
        this.payload = await answer.json();
        this.document();                                    // a payload of another edition of the page is none
      } catch (error) {
        this.figure.dataset.state = "static";               // the default state stands as it is
        return this.isDrawn(false);
      }
      this.start();
      try {
        this.Plotly = await chart;
      } catch (error) {
        this.figure.dataset.state = "text";
        this.update();
        return this.isDrawn(false);
      }
      new ResizeObserver(() => { if (this.plot.clientWidth !== this.width) this.draw(); }).observe(this.plot);
      this.draw();
    }

    start() {
      this.plot.setAttribute("aria-hidden", "true");        // sentence and table carry it from here
      this.figure.dataset.state = "ready";
      if (this.form) {
        this.form.hidden = false;
        this.form.addEventListener("submit", e => e.preventDefault());
        this.form.addEventListener("input", () => this.update());
        this.form.addEventListener("reset", () => setTimeout(() => this.update()));
        $$("[data-step]", this.form).forEach(button => button.addEventListener("click", () => {
          const range = this.form.elements[button.dataset.for];
          range.value = +range.value + +button.dataset.step;
          this.update();
        }));
      }
      this.update();
    }

    /* indices of the controls, in the order of the form */
    setting() {
      return $$("input[type=range], input[type=radio]:checked", this.form ?? this.plot).map(i => +i.value);
    }

    document() {                                            // the default's document with this state's changes
      const { sizes, base, paths, pool, states } = this.payload;
      const number = this.setting().reduce((n, index, k) => n * sizes[k] + index, 0);
      const out = structuredClone(base), flat = states[number];
      for (let k = 0; k < flat.length; k += 2) {
        const path = paths[flat[k]], last = path.length - 1;
        path.slice(0, last).reduce((o, key) => o[key], out)[path[last]] = structuredClone(pool[flat[k + 1]]);
      }
      return out;
    }

    update() {
      const at = this.setting();
      if (this.form) $$("input[type=range]", this.form).forEach(range => {
        const text = range.dataset.labels.split("|")[range.value];
        $(".tl-range__value", range.parentElement).textContent = text;
        range.setAttribute("aria-valuetext", text);
        $$(`[data-for="${range.name}"]`, this.form).forEach(b =>
          b.setAttribute("aria-disabled", range.value === (b.dataset.step < 0 ? range.min : range.max)));
      });
      this.now = this.document();
      this.plot.classList.toggle("tl-plot--stale", at.some((v, k) => v !== this.payload.start[k]));
      fill($("table", this.data), this.now.table);
      const { setting } = this.now;
      $("summary span", this.data).textContent = setting && (this.zh ? `（${setting}）` : ` (${setting})`);
      cancelAnimationFrame(this.frame);                     // the picture at once, the announced sentence when the
      this.frame = requestAnimationFrame(() => this.draw()); // hand rests, or a screen reader would stutter
      clearTimeout(this.rest);
      this.rest = setTimeout(() => say(this.live, this.now.sentence), REST);
    }

    draw(paper = false) {
      const room = this.plot.clientWidth;
      if (!this.Plotly || !room) return;                    // a hidden container is drawn when it is shown
      this.width = room;
      const { colour, done } = palette(this.plot);
      const { data, layout } = dress(this.now[room < NARROW ? "narrow" : "wide"], colour);
      const family = getComputedStyle(this.plot).fontFamily;
      done();
      Object.assign(layout, { width: paper ? Math.min(room, PAPER_WIDTH) : room, autosize: false });
      layout.font.family = layout.hoverlabel.font.family = family;
      const first = !this.canvas;
      if (first) this.canvas = make("div", { className: "tl-plot__live" });
      if (first) this.plot.append(this.canvas);
      const shown = this.Plotly.react(this.canvas, data, layout, CONFIG);
      if (first) $$(".tl-svg", this.plot).forEach(svg => svg.remove());
      return shown.then(() => { this.figure.dataset.state = "drawn"; this.isDrawn(true); });
    }

    toPaper() {                                             // paper is light, and shows the table
      clearTimeout(this.rest);
      if (this.now) say(this.live, this.now.sentence);
      this.wasOpen = this.data.open;
      this.data.open = true;
      this.plot.dataset.mdColorScheme = "default";
      this.draw(true);
    }

    fromPaper() {
      delete this.plot.dataset.mdColorScheme;
      if (this.wasOpen !== undefined) this.data.open = this.wasOpen;
      this.draw();
    }
  }

  const every = work => exhibits.forEach(work), redraw = () => every(x => x.draw());
  function mount() {
    const near = new IntersectionObserver(entries => entries.forEach(({ isIntersecting, target }) => {
      if (isIntersecting) { near.unobserve(target); exhibits.get(target).approach(); }
    }), { rootMargin: NEAR });
    $$("figure.tl-exhibit").forEach(figure => {
      exhibits.set(figure, new Exhibit(figure));
      if (figure.dataset.payload) near.observe(figure);
    });
    if (!exhibits.size) return;
    new MutationObserver(redraw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
    ["(forced-colors: active)", "(prefers-contrast: more)"].forEach(q => matchMedia(q).addEventListener("change", redraw));
    addEventListener("beforeprint", () => every(x => x.toPaper()));
    addEventListener("afterprint", () => every(x => x.fromPaper()));
  }
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", mount) : mount();

  /* for tests: the controller of a figure, and a way to draw everything without scrolling */
  window.tlExhibits = {
    get: figure => exhibits.get(typeof figure === "string" ? document.getElementById("ex-" + figure) : figure),
    drawAll: () => Promise.all([...exhibits.values()].map(x => { x.approach(); return x.drawn; })),
  };
})();
