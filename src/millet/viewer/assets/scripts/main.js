// Main: puts the page together and keeps its parts, and the address, in step.

let axisOfReport = null;

/** Remember a choice for the next time, where the browser lets a file do so. */
const memory = {
  read(key) {
    try {
      return localStorage.getItem(`millet-${key}`);
    } catch {
      return null;
    }
  },
  write(key, value) {
    try {
      localStorage.setItem(`millet-${key}`, value);
    } catch {
      // Private windows refuse; the choice then lasts as long as the page.
    }
  },
};

function showSummary() {
  byId("title").textContent = report.title;
  const classes = plural(report.nClasses, "class", "classes");
  const channels = nChannels > 1 ? `, ${plural(nChannels, "channel")}` : "";
  const lengths = report.cases.lengths;
  const [shortest, longest] = lengths.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], [Infinity, 0]);
  const least = shortest === longest ? "" : `${shortest.toLocaleString("en")} to `;
  const size = `${least}${plural(longest, "timepoint")}`;
  byId("subtitle").textContent = `${plural(nCases, "case")} of ${size}${channels}, ${classes}`;
  byId("scores").replaceChildren(...report.scores.map(scoreCard));
  byId("scores").hidden = !report.scores.length;
  byId("scores").classList.toggle("few", report.scores.length < 3);
  byId("facts").hidden = !report.facts.length;
  for (const [label, value] of report.facts) {
    byId("fact-list").append(element("div", {}, element("dt", { text: label }), element("dd", { text: value })));
  }
  const source = report.source ? ` Data: ${report.source}.` : "";
  byId("footer").textContent = `Made by MILLET ${report.version}.${source}`;
}

function scoreCard({ label, hint, value, low, high, isShare }) {
  const card = element("div", { className: "card score", title: hint });
  card.append(element("span", { text: label }), element("b", { text: formatScore(value) }));
  if (low === null || high === null) return card;
  if (isShare) {
    const band = element("i");
    band.style.left = `${100 * low}%`;
    band.style.width = `${100 * (high - low)}%`;
    const point = element("em");
    point.style.left = `${100 * value}%`;
    card.append(element("div", { className: "whisker", "aria-hidden": "true" }, band, point));
  }
  card.append(element("span", { text: `95%: ${formatScore(low)} to ${formatScore(high)}` }));
  return card;
}

const isNarrow = () => matchMedia("(max-width: 560px)").matches;

class Page {
  constructor() {
    this.chart = new Chart(byId("chart"), axisOfReport);
    this.gestures = new Gestures(this.chart, (text) => (byId("readout").textContent = text));
    this.list = new CaseList((index, how) => this.openFromList(index, how));
    this.confusion = new ConfusionMatrix((truth, predicted) => this.setFilter({ truth, predicted }));
    this.classes = new ClassSwitch((code) => this.setClass(code));
    this.index = null;
    this.code = null;
    document.body.classList.toggle("unlabelled", !labelled);
    document.body.classList.toggle("named", !numericNames);
    document.body.classList.toggle("single", nCases === 1);
    if (isNarrow()) for (const details of document.querySelectorAll("details")) details.open = false;
    byId("legend-region").hidden = report.cases.regions === null;
    this.fillFilters();
    this.wireFilters();
    this.wireCase();
    this.wireAppearance();
    window.addEventListener("hashchange", () => this.followAddress());
  }

  fillFilters() {
    const options = (label, codes) => [
      element("option", { value: "", text: label }),
      ...codes.map((code) => element("option", { value: String(code), text: className(code) })),
    ];
    const all = [...report.classes.keys()];
    byId("filter-truth").replaceChildren(...options("Any true class", all));
    byId("filter-predicted").replaceChildren(...options("Any prediction", all.slice(0, report.nClasses)));
    byId("filter-truth").hidden = !labelled;
    byId("filter-outcome").hidden = !labelled;
  }

  wireFilters() {
    const code = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
    byId("search").addEventListener("input", () => this.setFilter({ text: byId("search").value }));
    byId("filter-outcome").addEventListener("change", () => this.setFilter({ outcome: byId("filter-outcome").value }));
    byId("filter-truth").addEventListener("change", () => this.setFilter({ truth: code("filter-truth") }));
    byId("filter-predicted").addEventListener("change", () => this.setFilter({ predicted: code("filter-predicted") }));
    byId("clear").addEventListener("click", () => {
      this.setFilter(NO_FILTER);
      byId("search").focus();
    });
  }

  setFilter(changes) {
    const filter = Object.assign(this.list.filter, changes);
    byId("search").value = filter.text;
    byId("filter-outcome").value = filter.outcome;
    byId("filter-truth").value = filter.truth ?? "";
    byId("filter-predicted").value = filter.predicted ?? "";
    byId("clear").hidden = Object.entries(NO_FILTER).every(([key, value]) => filter[key] === value);
    this.confusion.mark(filter);
    this.list.update();
    this.showNeighbours();
  }

  wireCase() {
    const { chart } = this;
    byId("previous").addEventListener("click", () => this.open(this.list.neighbour(-1)));
    byId("next").addEventListener("click", () => this.open(this.list.neighbour(1)));
    byId("zoom-in").addEventListener("click", () => chart.zoom(1 / ZOOM_STEP));
    byId("zoom-out").addEventListener("click", () => chart.zoom(ZOOM_STEP));
    byId("zoom-reset").addEventListener("click", () => chart.reset());
    byId("save-png").addEventListener("click", async () => {
      saveFile(await exportPicture(chart), fileName(chart.one, "png"));
    });
    byId("save-csv").addEventListener("click", () => {
      saveFile(new Blob([exportTable(chart.one, axisOfReport)], { type: "text/csv" }), fileName(chart.one, "csv"));
    });
    byId("common-scale").addEventListener("change", (event) => {
      chart.commonScale = event.target.checked;
      chart.refresh();
    });
    for (const input of document.getElementsByName("kind")) input.addEventListener("change", () => this.showEvidence());
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("case-view").focus();
      byId("case-view").scrollIntoView();
    });
    this.wireChannels();
  }

  wireChannels() {
    const pager = byId("channels");
    byId("channel-pager").hidden = nChannels <= MOST_CHANNELS;
    for (let first = 0; first < nChannels; first += MOST_CHANNELS) {
      const last = Math.min(nChannels, first + MOST_CHANNELS) - 1;
      pager.append(element("option", { value: String(first), text: `${first} to ${last} of ${nChannels}` }));
    }
    pager.addEventListener("change", () => {
      this.chart.firstChannel = Number(pager.value);
      this.chart.refresh();
    });
  }

  wireAppearance() {
    const root = document.documentElement;
    const apply = () => {
      byId("theme-switch").setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
      byId("palette-switch").setAttribute("aria-pressed", String(root.dataset.palette === "colorblind"));
      [byId("support-word").textContent, byId("refute-word").textContent] = COLOUR_WORDS[root.dataset.palette];
      this.chart.colours = new Colours();
      this.chart.refresh();
      this.list.recolour();
    };
    const toggle = (button, key, values) => {
      byId(button).addEventListener("click", () => {
        root.dataset[key] = root.dataset[key] === values[0] ? values[1] : values[0];
        memory.write(key, root.dataset[key]);
        apply();
      });
    };
    toggle("theme-switch", "theme", ["light", "dark"]);
    toggle("palette-switch", "palette", ["green-red", "colorblind"]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
      if (memory.read("theme")) return;
      root.dataset.theme = matches ? "dark" : "light";
      apply();
    });
    apply();
  }

  /** Open a case; it shows its predicted class unless one was asked for or pinned. */
  async open(index, wanted = null) {
    if (index === null) return;
    this.index = index;
    this.list.select(index);
    const one = await loadCase(index);
    if (this.index !== index) return; // another case was opened meanwhile
    const pinned = byId("pin").checked ? this.code : null;
    const code = [wanted, pinned].find((each) => each !== null && one.keeps(each)) ?? one.predicted;
    showVerdict(one);
    this.one = one;
    this.setClass(code);
    this.showNeighbours();
  }

  /** On a phone the case is below the list: go there. */
  async openFromList(index, { byPointer = false } = {}) {
    await this.open(index);
    if (byPointer && isNarrow()) byId("case-view").scrollIntoView();
  }

  setClass(code) {
    this.code = code;
    this.classes.show(this.one, code);
    this.chart.show(this.one, code);
    showSum(this.one, code);
    this.showEvidence();
    const address = new URLSearchParams({ case: this.one.name, class: className(code) });
    history.replaceState(null, "", `#${address}`);
    const region = this.one.region.length ? " The true region is marked." : "";
    const label =
      `Case ${this.one.name}: ${plural(this.one.length, "timepoint")}, coloured by the evidence for ` +
      `${className(code)}.${region} The table below lists where it is.`;
    byId("picture").setAttribute("aria-label", label);
  }

  showEvidence() {
    const kind = document.querySelector('input[name="kind"]:checked').value;
    showIntervals(this.one, this.code, kind, this.chart);
  }

  showNeighbours() {
    const nowhere = [null, this.index];
    byId("previous").disabled = nowhere.includes(this.list.neighbour(-1));
    byId("next").disabled = nowhere.includes(this.list.neighbour(1));
  }

  /** Open what the address asks for, or the case to begin with. */
  followAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    const names = report.cases.names ?? [...Array(nCases).keys()].map(String);
    const index = names.indexOf(address.get("case"));
    const code = report.classes.slice(0, report.nClasses).indexOf(address.get("class"));
    if (index >= 0) return this.open(index, code >= 0 ? code : null);
    // A case whose true region is known says most to a newcomer.
    const first = report.cases.regions?.findIndex((region) => region.length) ?? 0;
    return this.open(this.index ?? Math.max(0, first));
  }
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = memory.read("theme") ?? (dark ? "dark" : "light");
  document.documentElement.dataset.palette = memory.read("palette") ?? "green-red";
  showSummary();
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser can't unpack the data; Chrome 103, Firefox 113, Safari 16.4 and later can.");
  }
  axisOfReport = await loadAxis();
  const page = new Page();
  page.setFilter({});
  await page.followAddress();
  performance.mark("ready");
  return page;
}

const page = start();
page.catch((error) => {
  byId("problem").textContent = error.message;
  byId("problem").hidden = false;
});
