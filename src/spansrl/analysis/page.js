"use strict";
// Searching the examples. A query that is one of their tags shows exactly those; any other, all its words.
(() => {
  const box = document.getElementById("search");
  if (!box) return;
  const count = document.getElementById("found");
  const examples = Array.from(document.querySelectorAll(".example"), (element) => ({
    element,
    tags: Array.from(element.querySelectorAll(".tag"), (tag) => tag.textContent),
    text: element.dataset.text,
  }));
  const tags = new Set(examples.flatMap((example) => example.tags));

  function search() {
    const query = box.value.trim();
    const words = query.toLowerCase().split(/\s+/);
    let found = 0;
    for (const { element, tags: own, text } of examples) {
      const fits = tags.has(query) ? own.includes(query) : words.every((word) => text.includes(word));
      element.hidden = !fits;
      found += fits;
    }
    count.textContent = `${found} of ${examples.length} examples`;
  }

  box.addEventListener("input", search);
  document.getElementById("all").addEventListener("click", () => {
    box.value = "";
    search();
  });
  document.addEventListener("click", (event) => {
    const source = event.target.closest("[data-find]");
    if (!source) return;
    box.value = source.dataset.find;
    search();
    if (!source.classList.contains("tag")) document.getElementById("examples").scrollIntoView();
  });
  search();
})();
