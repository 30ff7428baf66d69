(function () {
  "use strict";
  const form = document.querySelector(".filter"), rows = Array.from(document.querySelectorAll("[data-filter] tbody tr"));

  // Rows that lack a word of the filter are hidden, and tables without a row that is left.
  function filter() {
    const words = form.querySelector("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const onlyBad = form.querySelector("#only-bad").checked;
    let shown = 0;
    for (const row of rows) {
      const fits = words.every((w) => row.dataset.search.includes(w)) && (!onlyBad || row.dataset.weight === "bad");
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    for (const box of document.querySelectorAll("[data-filter] .wide")) {
      box.hidden = !box.querySelector("tbody tr:not([hidden])");
    }
    form.querySelector("output").textContent = words.length || onlyBad ? shown + " of " + rows.length + " rows" : "";
  }
  if (form && rows.length > 1) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (e) => e.preventDefault());
  }

  // The value of a cell that a table is sorted by: numbers by size, times with their unit; what only begins
  // with digits, as dates and IDs do, is text.
  function key(cell) {
    const words = cell.textContent.trim(), scale = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
    const found = /^(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|-?inf) ?(ns|us|ms|s|x|%)?(?![0-9A-Za-z.:-])/.exec(words);
    return found ? Number(found[1].replace("inf", "Infinity")) * (scale[found[2]] || 1) : words;
  }
  for (const head of document.querySelectorAll("[data-filter] thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const table = head.closest("table"), column = Array.from(head.parentNode.children).indexOf(head);
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.children) { other.removeAttribute("aria-sort"); }
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = Array.from(table.tBodies[0].rows).map((row) => [key(row.cells[column]), row]);
      sorted.sort(([a], [b]) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1) * (down ? -1 : 1));
      table.tBodies[0].append(...sorted.map(([, row]) => row));
    });
  }

  for (const button of document.querySelectorAll(".command button")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(button.previousElementSibling.textContent).then(() => { button.textContent = "Copied"; });
    });
  }

  // How numbers of an axis are written: as internal/plot does.
  function digits(v) {
    const size = Math.abs(v);
    return size >= 1e4 || (size > 0 && size < 1e-3) ? v.toExponential(2) : String(Math.round(v * 1000) / 1000);
  }
  function scaled(v, units) {
    let i = 0;
    for (; i < units.length - 1 && Math.abs(v) >= 1000; i++) { v /= 1000; }
    return digits(v) + " " + units[i];
  }
  // A time has its minute where days would not tell it from the next.
  function tick(axis, v, range) {
    return axis.unit === "utc" && range < 4 * 86400 ? new Date(v * 1000).toISOString().slice(5, 16).replace("T", " ") : text(axis, v);
  }
  function text(axis, v) {
    switch (axis.unit) {
      case "ns": return scaled(v, ["ns", "us", "ms", "s"]);
      case "bytes": return scaled(v, ["B", "kB", "MB", "GB", "TB"]);
      case "FLOP/s": return scaled(v, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]);
      case "FLOP": return scaled(v, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
      case "utc": return new Date(v * 1000).toISOString().slice(0, 10);
      case "ratio": return digits(v) + " x";
    }
    return digits(v);
  }

  // The chart that stands in a figure as a drawing, with values under the pointer.
  function draw(figure) {
    const chart = JSON.parse(figure.querySelector("script.chart").textContent);
    const box = figure.querySelector(".drawing"), svg = box.querySelector("svg");
    const xs = Array.from(new Set(chart.series.flatMap((s) => s.points.map((p) => p.x)))).sort((a, b) => a - b);
    const column = (s, of) => {
      const at = new Map(s.points.map((p) => [p.x, of(p)]));
      return xs.map((x) => (at.has(x) ? at.get(x) : null));
    };
    const colour = (name) => getComputedStyle(svg).getPropertyValue(name).trim();
    const data = [xs], series = [{ label: chart.x.label, value: (u, v) => (v == null ? "–" : text(chart.x, v)) }], bands = [];
    chart.series.forEach((s, i) => {
      const paint = s.limit ? colour("--soft") : colour("--c" + (i % 8));
      const value = (u, v) => (v == null ? "–" : text(chart.y, v));
      data.push(column(s, (p) => p.y));
      series.push({ label: s.name, stroke: paint, width: s.scattered ? 0 : 1.7, spanGaps: true, value: value, dash: s.limit ? [6, 4] : [],
        paths: s.scattered ? () => null : undefined, points: { show: !s.limit, size: 8, fill: paint } });
      if (s.points.some((p) => p.high > p.low)) {
        data.push(column(s, (p) => p.high || p.y), column(s, (p) => p.low || p.y));
        const hidden = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false }, label: "", class: "bound" };
        series.push(Object.assign({}, hidden), Object.assign({}, hidden));
        bands.push({ series: [data.length - 2, data.length - 1], fill: paint + "33" });
      }
    });
    const axis = (a, size) => ({ label: a.label, stroke: colour("--ink"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule") },
      size: size, space: a.unit === "utc" ? 90 : 50,
      values: (u, all) => all.map((v) => (v == null ? "" : tick(a, v, all[all.length - 1] - all[0]))), font: "12px system-ui", labelFont: "12px system-ui" });
    // As far as there are values, and a little more.
    const range = (a) => (u, low, high) => {
      if (low == null || high == null) { return [1, 10]; }
      if (a.log) { return uPlot.rangeLog(low, high, 10, false); }
      if (["ns", "bytes", "FLOP", "FLOP/s"].includes(a.unit)) { return [0, high * 1.08]; }
      const margin = (high - low) * 0.06 || Math.max(Math.abs(high) * 0.1, 0.5);
      return [low - margin, high + margin];
    };
    const width = () => Math.max(240, Math.min(box.clientWidth, 860));
    const holder = document.createElement("div");
    box.append(holder);
    const drawn = new uPlot({ width: width(), height: 320, series: series, bands: bands, legend: { show: true },
      scales: { x: { time: false, distr: chart.x.log ? 3 : 1, range: range(chart.x) }, y: { distr: chart.y.log ? 3 : 1, range: range(chart.y) } },
      axes: [axis(chart.x, 44), axis(chart.y, 86)], cursor: { drag: { x: false, y: false } } }, data, holder);
    // Bounds have no line of their own in the legend; the words of the drawing stay for who cannot see it.
    const lines = holder.querySelectorAll(".u-legend tr");
    series.forEach((s, i) => { if (s.class === "bound" && lines[i]) { lines[i].remove(); } });
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", svg.getAttribute("aria-label"));
    svg.style.display = "none";
    return { drawn, width, undo: () => { drawn.destroy(); holder.remove(); svg.style.display = ""; } };
  }
  const figures = window.uPlot ? Array.from(document.querySelectorAll("figure")).filter((f) => f.querySelector("script.chart")) : [];
  let charts = figures.map(draw);
  window.addEventListener("resize", () => charts.forEach((c) => c.drawn.setSize({ width: c.width(), height: 320 })));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    charts.forEach((c) => c.undo());
    charts = figures.map(draw);
  });

  // A session that runs tells how far it is, every two seconds, until it ends.
  const live = document.querySelector("[data-live]");
  async function ask() {
    try {
      const answer = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
      const now = await answer.json();
      live.querySelector("[role=status]").textContent = now.words;
      live.querySelector("progress").max = Math.max(now.planned, 1);
      live.querySelector("progress").value = now.ended;
      if (now.running) { setTimeout(ask, 2000); } else { location.reload(); }
    } catch (e) {
      live.querySelector("[role=status]").textContent = "triad serve does not answer: " + e.message;
      setTimeout(ask, 10000);
    }
  }
  if (live) { ask(); }

  // A page that is looked at while files are saved replaces its contents when they changed: what is open stays so.
  const watched = document.querySelector("[data-update]");
  async function follow() {
    try {
      const answer = await fetch(watched.dataset.update + "?state=" + watched.dataset.state);
      const text = answer.status === 204 ? "" : await answer.text();
      if (text) {
        const fresh = new DOMParser().parseFromString(text, "text/html");
        const open = Array.from(document.querySelectorAll("main details")).map((d) => d.open);
        document.querySelector(".answer").replaceWith(fresh.querySelector(".answer"));
        watched.replaceChildren(...fresh.querySelector("main").childNodes);
        const details = watched.querySelectorAll("details");
        if (details.length === open.length) { details.forEach((d, i) => { d.open = open[i]; }); }
        watched.dataset.state = fresh.querySelector("main").dataset.state;
      }
      setTimeout(follow, 500);
    } catch (e) {
      const words = document.querySelector(".answer p:last-child");
      if (words) { words.textContent = "triad has ended. The page shows its last state."; }
    }
  }
  if (watched) { follow(); }
})();
