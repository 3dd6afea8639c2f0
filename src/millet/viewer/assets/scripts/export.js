// Export: the open case as a picture or as a table.

const PICTURE_WIDTH = 1100;
const PICTURE_RATIO = 2;
const HEADER_HEIGHT = 44;

/** Hand a file to the reader. */
function saveFile(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Return a file name that any system takes. */
function fileName(one, suffix) {
  const name = `${report.title}-case-${one.name}`.replace(/[^\p{L}\p{N}.-]+/gu, "_");
  return `${name.slice(0, 120)}.${suffix}`;
}

/** Draw the chart as it is shown, under a line that says what it is. */
function exportPicture(chart) {
  const scene = chart.scene(PICTURE_WIDTH);
  const { one, code, colours } = scene;
  const canvas = document.createElement("canvas");
  const context = fitCanvas(canvas, PICTURE_WIDTH, scene.layout.height + HEADER_HEIGHT, PICTURE_RATIO);
  context.fillStyle = colours.card;
  context.fillRect(0, 0, PICTURE_WIDTH, scene.layout.height + HEADER_HEIGHT);
  context.fillStyle = colours.ink;
  context.font = FONT.replace("11px", "15px");
  const truth = labelled ? `, true class ${className(one.truth)}` : "";
  const share = formatShare(one.probabilities[one.predicted]);
  const prediction = `predicted ${className(one.predicted)} (${share})${truth}`;
  const title = `${report.title}, case ${one.name}: ${prediction}; evidence for ${className(code)}`;
  context.fillText(title, LEFT, 28, PICTURE_WIDTH - LEFT - RIGHT);
  context.translate(0, HEADER_HEIGHT);
  paintScene(context, scene, PICTURE_RATIO);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Return the case as CSV: one line a timepoint, the columns of Explanation.save. */
function exportTable(one, axis) {
  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (value, digits) => (Number.isNaN(value) ? "" : String(Number(value.toPrecision(digits))));
  const tracks = one.channels.map((track, channel) => [
    `channel_${report.channels[channel] ?? channel}`, track.values, trackDigits(track, 6),
  ]);
  if (one.attention) tracks.push(["attention", one.attention.values, 6]);
  for (const code of one.kept) tracks.push([`score_${className(code)}`, one.evidence(code).values, 6]);
  const relevant = report.cases.regions !== null;
  const head = ["case", "timepoint", "time", ...tracks.map(([name]) => name), ...(relevant ? ["true_region"] : [])];
  const lines = [head.map(quote).join(",")];
  for (let timepoint = 0; timepoint < one.length; timepoint++) {
    const time = axis.kind === "datetime" ? isoText(axis.at(timepoint)) : String(axis.at(timepoint));
    const values = tracks.map(([, values, digits]) => cell(values[timepoint], digits));
    const cells = [quote(one.name), timepoint, time, ...values];
    if (relevant) cells.push(Number(one.inRegion(timepoint)));
    lines.push(cells.join(","));
  }
  return `${lines.join("\n")}\n`;
}
