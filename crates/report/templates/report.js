"use strict";
// Shows what belongs to the chosen case, value on the x axis and size class; without it, the page shows everything. The address
// says what is chosen, so that one can send a view.
(() => {
  const nav = document.querySelector("nav");
  const chosen = { case: "0", at: "0", class: "0" };

  // What a choice offers: each case has values of its own on the x axis.
  const offered = (choice) => [...nav.querySelectorAll(`[data-choice="${choice}"] :is(button, option)`)]
    .filter((one) => choice !== "at" || one.closest("[data-case]").dataset.case === chosen.case);
  const pick = (choice, isIt) => {
    const all = offered(choice);
    chosen[choice] = (all.find(isIt) ?? all.find((one) => "usual" in one.dataset) ?? all[0])?.dataset.value ?? "0";
  };
  const show = () => {
    for (const part of document.querySelectorAll("main [data-case], nav [data-case]")) {
      const inNav = part.closest("nav");
      part.hidden = part.dataset.case !== chosen.case
        || (!inNav && "at" in part.dataset && part.dataset.at !== chosen.at)
        || ("class" in part.dataset && part.dataset.class !== chosen.class);
    }
    for (const one of nav.querySelectorAll("button, option")) {
      const is = one.dataset.value === chosen[one.closest("[data-choice]").dataset.choice];
      if (one.matches("option")) one.selected = is;
      else one.setAttribute("aria-pressed", String(is));
    }
  };
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const choice in chosen) pick(choice, (one) => one.textContent === asked.get(choice));
    show();
  };
  const choose = (choice, value) => {
    chosen[choice] = value;
    pick("at", (one) => one.dataset.value === chosen.at);
    const its = (each) => offered(each).find((one) => one.dataset.value === chosen[each]);
    const words = Object.keys(chosen).filter(its).map((each) => [each, its(each).textContent]);
    history.replaceState(null, "", `#${new URLSearchParams(words)}`);
    show();
  };
  nav.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) choose(button.closest("[data-choice]").dataset.choice, button.dataset.value);
  });
  nav.addEventListener("change", ({ target }) => choose(target.dataset.choice, target.value));
  addEventListener("hashchange", read);

  // What is wider than its place says so, and is reached by the keyboard.
  const overflowing = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map(({ target }) => target.closest(".scroll, pre")))) {
      // Widths are rounded.
      const wide = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("wide", wide);
      const title = box.querySelector("caption") ?? box.closest("section")?.querySelector("h2");
      const said = { tabindex: "0", role: "region", "aria-label": `${title?.textContent ?? "Table"}, scrolls sideways` };
      for (const [name, value] of Object.entries(said)) wide ? box.setAttribute(name, value) : box.removeAttribute(name);
    }
  });
  for (const part of document.querySelectorAll(".scroll, .scroll > *, pre")) overflowing.observe(part);

  nav.hidden = false;
  read();
})();
