/* The page "report an error": fills in what the link that led here says about the place. Text only. */
(() => {
  "use strict";
  const asked = new URLSearchParams(location.search);
  for (const place of document.querySelectorAll("[data-tl-report]")) {
    const value = asked.get(place.dataset.tlReport);
    if (value && value.length < 300) place.textContent = value;
  }
  const lines = [...document.querySelectorAll("[data-tl-report]")].map((place) => `${place.dataset.tlReport}: ${place.textContent}`);
  const tracker = document.querySelector("[data-tl-tracker]");
  if (!tracker) return;
  const address = new URL(tracker.href);
  address.searchParams.set("title", `Error on ${asked.get("page") || "a page"}`.slice(0, 200));
  address.searchParams.set("body", `${lines.join("\n")}\n\n`);
  tracker.href = address.href;
})();
