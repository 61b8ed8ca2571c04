// Tabs as the ARIA practices describe them: arrow keys move between them, only the chosen one is in the tab order.

export function makeTabs(list, onChange) {
  const tabs = [...list.querySelectorAll("[role=tab]")];

  function choose(tab) {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      panelOf(other).hidden = !chosen;
    }
    onChange();
  }

  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    choose(next);
  });
}

function panelOf(tab) {
  return document.getElementById(tab.getAttribute("aria-controls"));
}
