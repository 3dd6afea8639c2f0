// Case: everything about the open one beside the chart: verdict, sum of the evidence, intervals.

const byId = (id) => document.getElementById(id);

/** Say what was predicted, how surely, and whether it is right. */
function showVerdict(one) {
  byId("case-title").textContent = `Case ${one.name}`;
  const share = formatShare(one.probabilities[one.predicted]);
  const parts = ["Predicted ", element("b", { text: className(one.predicted) }), ` (${share})`];
  if (labelled) {
    const right = one.truth === one.predicted;
    parts.push(", true class ", element("b", { text: className(one.truth) }));
    const tag = right ? { className: "tag right", text: "✓ right" } : { className: "tag wrong", text: "✗ wrong" };
    parts.push(element("span", tag));
  }
  byId("verdict").replaceChildren(...parts);
}

/** Say how the evidence makes the logit, where it does. */
function showSum(one, code) {
  const logit = one.logits[code];
  if (!report.bias) {
    byId("sum").textContent = `The model's logit for ${className(code)} is ${formatSigned(logit)}.`;
    return;
  }
  const [mean, bias, sum] = formatSum(report.bias[code], logit);
  const made = report.bias[code] === 0 ? "is" : `and the bias ${bias} make`;
  byId("sum").textContent =
    `The mean evidence ${mean} ${made} the logit ${sum} for ${className(code)}: nothing else went into it.`;
}

/** List the stretches that hold most of the evidence of one sign; choosing one zooms to it. */
function showIntervals(one, code, kind, chart) {
  const intervals = topIntervals(one.evidence(code).values, kind);
  const root = byId("intervals");
  const side = kind === "support" ? "for" : "against";
  if (!intervals.length) {
    root.replaceChildren(element("p", { className: "quiet", text: `No timepoint speaks ${side} ${className(code)}.` }));
    return;
  }
  const headings = ["From", "To", "Timepoints", "Share", "Mean evidence"];
  const head = element("tr", {}, ...headings.map((text) => element("th", { scope: "col", text })));
  const rows = intervals.map((interval) => intervalRow(interval, kind, chart));
  const gap = largestGap(one.length);
  const joined = gap ? ` (joined if at most ${plural(gap, "timepoint")} apart)` : "";
  const caption = element("caption", {
    text:
      `The fewest timepoints that hold ${100 * COVERAGE}% of the evidence ${side} ${className(code)}, ` +
      `as stretches${joined}. Choose one to zoom to it.`,
  });
  root.replaceChildren(element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function intervalRow({ start, stop, share, mean }, kind, chart) {
  const bar = element("span", { className: `share ${kind}`, "aria-hidden": "true" });
  bar.style.width = `${Math.max(2, 90 * share)}px`;
  const from = element("button", { type: "button", className: "button", text: chart.axis.describe(start) });
  from.setAttribute("aria-label", `Zoom to ${chart.axis.describe(start)} to ${chart.axis.describe(stop - 1)}`);
  const row = element("tr", {},
    element("td", {}, from),
    element("td", { text: chart.axis.describe(stop - 1) }),
    element("td", { text: String(stop - start) }),
    element("td", {}, bar, formatShare(share)),
    element("td", { text: formatSigned(mean) }),
  );
  row.addEventListener("click", () => chart.glideTo(start, stop));
  return row;
}
