(() => {
document.querySelectorAll("#graphs details").forEach(one => one.open = true);
const boxes = [...document.querySelectorAll("svg.graph g.box")].map(box => {
  const rect = box.querySelector("rect").getBoundingClientRect();
  const texts = [...box.querySelectorAll("text")].map(text => text.getBoundingClientRect());
  return {
    inside: texts.every(t => t.left >= rect.left && t.right <= rect.right
      && t.top >= rect.top - 1 && t.bottom <= rect.bottom + 1),
    title: box.querySelector("title").textContent,
    graph: box.closest("svg").getAttribute("aria-label"),
          rect: [rect.left, rect.top, rect.right, rect.bottom].map(Math.round)};
});
const luminance = colour => colour.match(/[\d.]+/g).slice(0, 3).map(Number).reduce((one, other) => one + other) / 3;
const ink = getComputedStyle(document.querySelector("svg.graph text")).fill;
const fills = [...document.querySelectorAll("svg.graph rect")].map(rect => luminance(getComputedStyle(rect).fill));
return {boxes, page: luminance(getComputedStyle(document.body).backgroundColor), ink: luminance(ink), fills,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  loaded: performance.getEntriesByType("resource").map(entry => entry.name)};
})()
