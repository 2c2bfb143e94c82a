"use strict";
// Draws the plots in the colours of the style sheet; keeps them in step with theme, legend buttons, keys and paper.
(() => {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll("figure.plots")];
  const probe = document.body.appendChild(document.createElement("span"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const button = document.getElementById("theme");
  const contents = new Map();
  const PAPER = 660;
  probe.hidden = true;

  function colour(name) {
    const [variable, opacity] = name.slice(1).split("/");
    probe.style.color = `var(--${variable})`;
    const rgb = getComputedStyle(probe).color;
    return opacity ? rgb.replace("rgb(", "rgba(").replace(")", `, ${opacity})`) : rgb;
  }

  function painted(value) {
    if (typeof value === "string") return value.startsWith("@") ? colour(value) : value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(painted);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, painted(part)]));
  }

  function axis(own) {
    const common = {
      gridcolor: "@grid", zerolinecolor: "@grid", linecolor: "@muted", showline: true, ticks: "outside",
      tickcolor: "@muted", automargin: true,
    };
    return { ...common, ...own, title: { standoff: 12, ...own.title } };
  }

  function laidOut(layout, width) {
    return {
      ...layout,
      xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
      height: width ? 300 : 400, width, autosize: width === undefined, uirevision: "kept", showlegend: false,
      margin: { l: 12, r: 16, t: 34, b: 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "@ink" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "@muted", activecolor: "@ink" },
      hoverlabel: { bgcolor: "@panel", bordercolor: "@muted", font: { color: "@ink", size: 13 }, namelength: 40 },
      hovermode: "closest", hoverdistance: 30, dragmode: coarse ? false : "zoom",
    };
  }

  const config = {
    responsive: true, displaylogo: false, doubleClick: "reset",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function draw(figure, width) {
    const hidden = new Set([...figure.querySelectorAll(".legend [aria-pressed=false]")].map((each) => each.value));
    for (const plot of figure.querySelectorAll(".plot")) {
      if (!contents.has(plot)) contents.set(plot, JSON.parse(plot.nextElementSibling.textContent));
      const { data, layout } = contents.get(plot);
      const traces = data.map((trace) => ({ ...trace, visible: !hidden.has(trace.legendgroup) }));
      Plotly.react(plot, painted(traces), painted(laidOut(layout, width)), config);
    }
  }

  function drawAll(printing) {
    for (const figure of figures) {
      draw(figure, printing ? PAPER / figure.querySelector(".row").dataset.columns : undefined);
    }
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  }

  function themed() {
    button.textContent = isDark() ? "Light colours" : "Dark colours";
    drawAll(false);
  }

  function move(plot, key) {
    const { range } = plot.layout.xaxis;
    const [low, high] = range.map(Number), length = high - low;
    const [left, right] = { "+": [0.15, -0.15], "=": [0.15, -0.15], "-": [-0.2, 0.2], ArrowLeft: [-0.15, -0.15],
      ArrowRight: [0.15, 0.15] }[key];
    Plotly.relayout(plot, { "xaxis.range": [low + left * length, high + right * length] });
  }

  function pressed(event) {
    const plot = event.currentTarget;
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "0") Plotly.relayout(plot, startOf(plot));
    else if (["+", "=", "-", "ArrowLeft", "ArrowRight"].includes(event.key)) move(plot, event.key);
    else return;
    event.preventDefault();
  }

  function startOf(plot) {
    const { range } = contents.get(plot).layout.xaxis;
    return range ? { "xaxis.range": range } : { "xaxis.autorange": true };
  }

  for (const figure of figures) {
    figure.addEventListener("click", (event) => {
      const chosen = event.target.closest(".legend button");
      if (!chosen) return;
      chosen.setAttribute("aria-pressed", chosen.getAttribute("aria-pressed") === "true" ? "false" : "true");
      draw(figure);
    });
    for (const plot of figure.querySelectorAll(".plot")) plot.addEventListener("keydown", pressed);
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    themed();
  });
  dark.addEventListener("change", themed);

  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    drawAll(true);
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    drawAll(false);
  });

  themed();
})();
