// Confusion matrix: how often each true class was predicted as each class; a cell filters the list.

const MOST_READABLE = 16;

/** Return counts[row][predicted]; without labels there is one row, of all cases. */
function countCases() {
  const counts = Array.from({ length: labelled ? report.classes.length : 1 }, () => new Array(report.nClasses).fill(0));
  for (let index = 0; index < nCases; index++) {
    counts[labelled ? report.cases.truth[index] : 0][report.cases.predicted[index]]++;
  }
  return counts;
}

class ConfusionMatrix {
  /** `choose(truth, predicted)` is called with a cell's classes, or with nulls to take the filter back. */
  constructor(choose) {
    this.choose = choose;
    this.cells = [];
    const dense = report.nClasses > MOST_READABLE;
    const corner = labelled ? "true ↓\npredicted →" : "predicted →";
    const head = element("tr", {}, element("td", { className: "corner", text: corner }));
    for (let code = 0; code < report.nClasses; code++) {
      const name = element("div", { text: dense ? "" : className(code) });
      head.append(element("th", { className: "across", scope: "col", title: className(code) }, name));
    }
    const rows = countCases().map((row, truth) => this.buildRow(row, truth));
    const parts = [element("thead", {}, head), element("tbody", {}, ...rows)];
    const table = element("table", { className: dense ? "dense" : "" }, ...parts);
    document.getElementById("confusion").append(table);
    document.getElementById("confusion-title").textContent = labelled ? "Confusion matrix" : "Predicted classes";
  }

  buildRow(row, truth) {
    const name = labelled ? className(truth) : "all cases";
    const total = row.reduce((sum, count) => sum + count, 0);
    const made = element("tr", {}, element("th", { className: "down", scope: "row", text: name, title: name }));
    row.forEach((count, predicted) => {
      const cell = count ? this.buildCell(count, count / total, truth, predicted) : element("span");
      made.append(element("td", { className: labelled && truth === predicted ? "diagonal" : "" }, cell));
    });
    return made;
  }

  buildCell(count, share, truth, predicted) {
    const row = labelled ? `true ${className(truth)}, ` : "";
    const label = `${plural(count, "case")}: ${row}predicted ${className(predicted)}`;
    const button = element("button", { type: "button", text: String(count), title: label, "aria-label": label });
    button.setAttribute("aria-pressed", "false");
    button.style.backgroundColor = `rgba(var(--matrix), ${(0.12 + 0.6 * share).toFixed(3)})`;
    button.addEventListener("click", () => {
      const again = button.getAttribute("aria-pressed") === "true";
      this.choose(again || !labelled ? null : truth, again ? null : predicted);
    });
    this.cells.push({ button, truth: labelled ? truth : null, predicted });
    return button;
  }

  /** Show which cell, if any, is the filter. */
  mark({ truth, predicted }) {
    for (const cell of this.cells) {
      const chosen = predicted !== null && cell.predicted === predicted && cell.truth === truth;
      cell.button.setAttribute("aria-pressed", String(chosen));
    }
  }
}
