// Keyboard focus inside a picture: Tab enters and leaves it, arrow keys move from mark to mark.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

// `box` is around the picture: chromium makes an <svg> with focus listeners a stop for Tab itself.
export function setUpRoving(box) {
  const stops = [...box.querySelectorAll("[role=button]")];
  stops.forEach((stop, k) => stop.setAttribute("tabindex", k ? -1 : 0));
  box.addEventListener("keydown", (event) => {
    const now = stops.indexOf(event.target);
    const next = { Home: 0, End: stops.length - 1 }[event.key] ?? now + (STEPS[event.key] ?? 0);
    if (now < 0 || next === now || !stops[next]) return;
    event.preventDefault();
    stops[next].focus();
  });
  box.addEventListener("focusin", ({ target }) => {
    for (const stop of stops) stop.setAttribute("tabindex", stop === target ? 0 : -1);
  });
}
