// Menus made of <details>: one open at a time, closed by Escape, by choosing something, and by clicking elsewhere.

export function setUpMenus() {
  const menus = [...document.querySelectorAll("details.menu")];
  const close = (menu) => {
    if (!menu.open) return;
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  };
  document.addEventListener("click", ({ target }) => {
    for (const menu of menus) {
      if (!menu.contains(target) || target.closest("button")) close(menu);
    }
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") menus.forEach(close);
  });
}
