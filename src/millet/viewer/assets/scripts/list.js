// List: the cases that pass the filters, sorted, with only the visible rows in the page.

const ROW_HEIGHT = 36;
const SPARE_ROWS = 6;

/** Return a new element; text is always text, never markup. */
function element(tag, { text, ...properties } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const className = (code) => report.classes[code];
const numericNames = !report.cases.names || report.cases.names.every((name) => /^\d+$/.test(name));

const COLUMNS = [
  { key: "case", label: "Case", value: (index) => (numericNames ? Number(caseName(index)) : caseName(index)) },
  { key: "evidence", label: "Evidence" },
  { key: "truth", label: "True", value: (index) => className(report.cases.truth[index]), labelled: true },
  { key: "predicted", label: "Predicted", value: (index) => className(report.cases.predicted[index]) },
  { key: "confidence", label: "Sure", value: (index) => report.cases.confidence[index] },
  { key: "outcome", label: "✓", title: "Right or wrong", value: (index) => Number(isRight(index)), labelled: true },
].filter((column) => labelled || !column.labelled);

const NO_FILTER = { text: "", outcome: "all", truth: null, predicted: null };

/** Return the cases that pass a filter, in the order of a column. */
function selectCases(filter, sort) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const passes = (index) => {
    if (labelled && filter.outcome !== "all" && isRight(index) !== (filter.outcome === "right")) return false;
    if (filter.truth !== null && (!labelled || report.cases.truth[index] !== filter.truth)) return false;
    if (filter.predicted !== null && report.cases.predicted[index] !== filter.predicted) return false;
    if (!words.length) return true;
    const names = [caseName(index), className(report.cases.predicted[index])];
    if (labelled) names.push(className(report.cases.truth[index]));
    const text = names.join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const chosen = [...Array(nCases).keys()].filter(passes);
  const { value } = COLUMNS.find((column) => column.key === sort.key);
  const keys = new Map(chosen.map((index) => [index, value(index)]));
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  return chosen.sort((a, b) => sort.direction * compare(keys.get(a), keys.get(b)) || a - b);
}

class CaseList {
  constructor(open) {
    this.open = open;
    this.root = document.getElementById("list");
    this.head = document.getElementById("list-head");
    this.space = document.getElementById("list-space");
    this.filter = { ...NO_FILTER };
    this.sort = { key: "case", direction: 1 };
    this.chosen = [];
    this.current = null;
    this.rows = new Map();
    this.colours = new Colours();
    this.buildHead();
    this.root.addEventListener("scroll", () => this.render());
    this.root.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.render()).observe(this.root);
  }

  buildHead() {
    const cells = COLUMNS.map(({ key, label, title, value }) => {
      const name = element("span", { text: label, className: "unseen" });
      if (!value) return element("div", { role: "columnheader" }, name);
      const hint = title ?? `Sort by ${label.toLowerCase()}`;
      const button = element("button", { type: "button", text: label, title: hint });
      if (title) button.setAttribute("aria-label", title);
      button.addEventListener("click", () => this.sortBy(key));
      return element("div", { role: "columnheader", "data-key": key }, button);
    });
    this.head.replaceChildren(...cells);
  }

  sortBy(key) {
    const first = key === "confidence" ? -1 : 1;
    this.sort = { key, direction: this.sort.key === key ? -this.sort.direction : first };
    this.update();
  }

  /** Apply filters and order anew. */
  update() {
    this.chosen = selectCases(this.filter, this.sort);
    for (const head of this.head.querySelectorAll("[data-key]")) {
      if (head.dataset.key !== this.sort.key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.sort.direction > 0 ? "ascending" : "descending");
    }
    this.space.style.height = `${this.chosen.length * ROW_HEIGHT}px`;
    this.root.setAttribute("aria-rowcount", this.chosen.length + 1);
    const count = document.getElementById("count");
    count.textContent = this.chosen.length === nCases
      ? plural(nCases, "case")
      : `${this.chosen.length.toLocaleString("en")} of ${plural(nCases, "case")}`;
    this.clearRows();
    this.root.scrollTop = 0;
    this.render();
  }

  clearRows() {
    this.rows.clear();
    this.space.replaceChildren();
    if (this.chosen.length) return;
    this.space.append(element("p", { className: "empty", text: "No case passes these filters." }));
  }

  /** Draw the rows again, in other colours. */
  recolour() {
    this.colours = new Colours();
    this.clearRows();
    this.render();
  }

  /** Keep exactly the visible rows, and a few more, in the page. */
  render() {
    const first = Math.max(0, Math.floor(this.root.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const visible = Math.ceil(this.visibleHeight / ROW_HEIGHT) + 2 * SPARE_ROWS;
    const wanted = new Set();
    for (let at = first; at < Math.min(this.chosen.length, first + visible); at++) wanted.add(at);
    for (const [at, row] of this.rows) {
      if (wanted.has(at)) continue;
      row.remove();
      this.rows.delete(at);
    }
    for (const at of wanted) {
      if (this.rows.has(at)) continue;
      const row = this.buildRow(at);
      this.rows.set(at, row);
      this.space.append(row);
    }
    this.markCurrent();
  }

  buildRow(at) {
    const index = this.chosen[at];
    const row = element("div", { className: "row", role: "row", id: `row-${index}` });
    row.setAttribute("aria-rowindex", at + 2);
    row.style.top = `${at * ROW_HEIGHT}px`;
    const picture = element("canvas", { width: 176, height: 52, "aria-hidden": "true" });
    const cells = {
      case: element("span", { text: caseName(index) }),
      evidence: picture,
      truth: labelled && element("span", { text: className(report.cases.truth[index]) }),
      predicted: element("span", { text: className(report.cases.predicted[index]) }),
      confidence: element("span", { className: "number", text: formatShare(report.cases.confidence[index], 0) }),
      outcome: labelled && outcomeMark(isRight(index)),
    };
    row.append(...COLUMNS.map(({ key }) => cells[key]));
    for (const cell of row.children) {
      cell.setAttribute("role", "gridcell");
      if (cell.textContent && !cell.title) cell.title = cell.textContent;
    }
    row.addEventListener("click", () => this.open(index, { byPointer: true }));
    loadCase(index).then((one) => row.isConnected && paintThumbnail(picture, one, this.colours));
    return row;
  }

  markCurrent() {
    for (const [at, row] of this.rows) row.setAttribute("aria-selected", String(this.chosen[at] === this.current));
    if (this.chosen.includes(this.current)) this.root.setAttribute("aria-activedescendant", `row-${this.current}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  /** Mark a case as the open one and scroll to it. */
  select(index) {
    this.current = index;
    this.reveal();
    this.render();
  }

  /** Height of the rows that can be seen at a time. */
  get visibleHeight() {
    return this.root.clientHeight - this.head.offsetHeight;
  }

  reveal() {
    const at = this.chosen.indexOf(this.current);
    if (at < 0) return;
    const top = at * ROW_HEIGHT;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    const below = top + ROW_HEIGHT - this.visibleHeight;
    if (below > this.root.scrollTop) this.root.scrollTop = below;
  }

  /** Return the case so many rows away, or the nearest end. */
  neighbour(by) {
    const at = this.chosen.indexOf(this.current);
    if (!this.chosen.length) return null;
    if (at < 0) return this.chosen[0];
    return this.chosen[Math.max(0, Math.min(this.chosen.length - 1, at + by))];
  }

  key(event) {
    if (event.target !== this.root) return;
    const page = Math.max(1, Math.floor(this.visibleHeight / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const index = this.neighbour(steps[event.key]);
    if (index !== null) this.open(index);
  }
}

function outcomeMark(right) {
  const word = right ? "right" : "wrong";
  return element("span", { className: `mark-${word}`, text: right ? "✓" : "✗", title: word, "aria-label": word });
}

/** Draw a case's first channel over its evidence, as small as a word. */
function paintThumbnail(canvas, one, colours) {
  const context = canvas.getContext("2d");
  const layout = { left: 0, inner: canvas.width };
  const view = axisOfReport.whole(one.length);
  const starts = axisOfReport.columns(view, canvas.width, one.length);
  const limit = one.limit(one.predicted, false);
  const scene = { one, code: one.predicted, limit, colours, axis: axisOfReport, view, layout };
  context.imageSmoothingEnabled = false;
  context.drawImage(heatRow(scene, starts), 0, 0, canvas.width, canvas.height);
  const { y } = heights({ top: 0, height: canvas.height }, ...one.channels[0].range);
  traceLine(context, one.channels[0], scene, starts, y);
  context.strokeStyle = colours.series;
  context.lineWidth = 1.6;
  context.stroke();
}
