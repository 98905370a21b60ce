/* The page "report an error": fills in what the link that led here says about the place. Text only. */
(() => {
  "use strict";
  const asked = new URLSearchParams(location.search);
  for (const place of document.querySelectorAll("[data-tl-report]")) {
    const value = asked.get(place.dataset.tlReport);
    if (value && value.length < 300) place.textContent = value;
  }
})();
