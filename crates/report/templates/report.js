"use strict";
// Shows what belongs to the chosen case, value on the x axis and class, and draws a plot when it first comes into view, or all
// that are shown when they are printed.
(() => {
  const last = (choice, scope = "") => {
    const buttons = document.querySelectorAll(`[data-choice="${choice}"]${scope} button`);
    return buttons.length ? buttons[buttons.length - 1].dataset.value : "0";
  };
  const chosen = { case: "0", at: last("at", '[data-case="0"]'), class: last("class") };

  // plotly.js as the page has it: how many bytes pad the last word, then five digits of base 85 for four bytes of gzip.
  const unpacked = async (text) => {
    const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?,_>()[]{}@%$#";
    const values = new Uint8Array(128);
    [...digits].forEach((digit, value) => { values[digit.charCodeAt(0)] = value; });
    const bytes = new DataView(new ArrayBuffer((text.length - 1) / 5 * 4));
    for (let from = 1, to = 0; from < text.length; from += 5, to += 4) {
      let word = 0;
      for (let at = from; at < from + 5; at += 1) word = 85 * word + values[text.charCodeAt(at)];
      bytes.setUint32(to, word);
    }
    const gzip = new Blob([new Uint8Array(bytes.buffer, 0, bytes.byteLength - Number(text[0]))]).stream();
    return new Response(gzip.pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const load = async () => {
    const packed = document.getElementById("plotly");
    const script = document.createElement("script");
    script.textContent = await unpacked(packed.textContent);
    packed.remove();
    document.head.append(script);
  };

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const specs = new Map();

  // A plot in the colours of the page, with its legend below where the page is narrow.
  const styled = (plot) => {
    const spec = structuredClone(specs.get(plot));
    const [ink, grid, rule] = dark.matches && !printing ? ["#dddddd", "#3a3a3a", "#777777"] : ["#222222", "#e6e6e6", "#999999"];
    const { layout } = spec;
    Object.assign(layout, { paper_bgcolor: "#0000", plot_bgcolor: "#0000" });
    // By itself the bar of buttons would be half the black of a background that nobody sees.
    layout.modebar = { bgcolor: "#0000", color: rule, activecolor: ink };
    layout.font.color = ink;
    for (const axis of [layout.xaxis, layout.yaxis]) Object.assign(axis, { gridcolor: grid, linecolor: rule });
    // Of the two columns that fit a sheet of letter or A4 in landscape: a plot does not follow the page to paper by itself.
    if (printing) Object.assign(layout, { width: 470, height: 290 });
    else if (plot.clientWidth < 480) {
      layout.margin = { l: 48, r: 8, t: 32, b: 40 };
      Object.assign(layout.legend, { y: -0.22, yanchor: "top" });
    }
    // What is black or nearly so is drawn in ink, and what is dark on paper in a lighter colour of its kind.
    const light = ink === "#dddddd" ? { "#004488": "#6699cc", "#0B6B2E": "#55b877" } : {};
    for (const { marker, line, error_y } of spec.data) for (const part of [marker, line, error_y]) {
      if (part?.color) part.color = ["#000000", "#333333"].includes(part.color) ? ink : light[part.color] ?? part.color;
    }
    return spec;
  };
  const draw = (plot) => {
    const data = plot.querySelector("script");
    if (!data || !window.Plotly) return;
    specs.set(plot, JSON.parse(data.textContent));
    data.remove();
    const title = plot.previousElementSibling.textContent;
    const { data: traces, layout, config } = styled(plot);
    config.toImageButtonOptions = { format: "svg", filename: fileName(title) };
    Plotly.newPlot(plot, traces, layout, config);
    plot.on("plotly_relayout", () => retick(plot));
    plot.after(download(title, traces));
  };
  // The ticks are those of every drawing of the figure; of a part of it, too small to hold two, plotly.js chooses its own.
  const retick = (plot) => {
    const change = {};
    for (const name of ["xaxis", "yaxis"]) {
      const { tickvals, tickmode, type } = plot.layout[name];
      if (!tickvals) continue;
      const [from, to] = plot._fullLayout[name].range;
      const inside = tickvals.filter((at) => { const place = type === "log" ? Math.log10(at) : at; return from <= place && place <= to; });
      const mode = inside.length < 2 ? "auto" : "array";
      if (mode !== (tickmode ?? "array")) change[`${name}.tickmode`] = mode;
    }
    if (Object.keys(change).length) Plotly.relayout(plot, change);
  };
  const redraw = () => specs.forEach((_, plot) => {
    const { data, layout } = styled(plot);
    Plotly.react(plot, data, layout);
  });
  // To the width of its place, which a plot that was hidden or printed does not have.
  const fit = () => {
    for (const plot of document.querySelectorAll("figure:not([hidden]) .js-plotly-plot")) Plotly.Plots.resize(plot);
  };
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    printing = true;
    for (const plot of document.querySelectorAll("figure:not([hidden]) .plot")) draw(plot);
    redraw();
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
    fit();
  });

  const fileName = (title) => title.replace(/[^A-Za-z0-9.]+/g, "-");

  // A link to a plot's numbers: a row a point, with the ends of its interval and, if it is of a bin of sizes, of that.
  const download = (title, traces) => {
    const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
    const bySize = traces.some((trace) => trace.customdata);
    const rows = [["series", "x", ...(bySize ? ["from_bytes", "to_bytes"] : []), "y", "low", "high"]];
    for (const trace of traces) trace.x.forEach((x, at) => {
      const y = trace.y[at] + (trace.base ?? 0);
      const [up, down] = [trace.error_y?.array[at], trace.error_y?.arrayminus[at]];
      rows.push([trace.name, x, ...(bySize ? trace.customdata[at] : []), y, down === undefined ? "" : y - down, up === undefined ? "" : y + up]);
    });
    const link = document.createElement("a");
    link.className = "download";
    link.textContent = "Data as CSV";
    link.download = fileName(title) + ".csv";
    link.href = URL.createObjectURL(new Blob([rows.map((row) => row.map(quoted).join(",") + "\n").join("")], { type: "text/csv" }));
    return link;
  };
  const visible = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "400px" });
  load().then(
    () => document.querySelectorAll(".plot").forEach((plot) => visible.observe(plot)),
    () => document.querySelectorAll(".plot").forEach((plot) => { plot.textContent = "This browser is too old to draw the plot: it needs DecompressionStream (2023)."; }),
  );

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

  const show = () => {
    for (const part of document.querySelectorAll("main [data-case], nav [data-case]")) {
      const inNav = part.closest("nav");
      part.hidden = part.dataset.case !== chosen.case
        || (!inNav && "at" in part.dataset && part.dataset.at !== chosen.at)
        || ("class" in part.dataset && part.dataset.class !== chosen.class);
    }
    for (const button of document.querySelectorAll("nav button")) {
      const choice = button.closest("[data-choice]").dataset.choice;
      button.setAttribute("aria-pressed", String(button.dataset.value === chosen[choice]));
    }
    fit();
  };
  document.querySelector("nav").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    chosen[button.closest("[data-choice]").dataset.choice] = button.dataset.value;
    show();
  });
  document.querySelector("nav").addEventListener("change", (event) => {
    if (event.target.dataset.choice !== "case") return;
    chosen.case = event.target.value;
    const scope = `[data-case="${chosen.case}"]`;
    const still = document.querySelector(`[data-choice="at"]${scope} button[data-value="${chosen.at}"]`);
    if (!still) chosen.at = last("at", scope);
    show();
  });
  document.querySelector("nav").hidden = false;
  show();
})();
