// Painter: one case drawn on any canvas, the screen's or a picture's; panels share one time axis.

const LEFT = 58;
const RIGHT = 10;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const REGION_HEIGHT = 8;
const MOST_CHANNELS = 16;
const MOST_EDGES = 4;
const MOST_TICKS = 50;

/** Return where everything goes: panels from top to bottom, in CSS pixels. */
function layOut(width, one, firstChannel) {
  const shown = Math.min(MOST_CHANNELS, one.channels.length - firstChannel);
  const channelHeight = Math.round(Math.max(64, 250 / shown ** 0.6));
  const panels = [];
  let top = 18;
  const add = (kind, height, gap, more = {}) => {
    panels.push({ kind, top, height, ...more });
    top += height + gap;
  };
  if (one.region.length) add("region", REGION_HEIGHT, 3);
  for (let i = 0; i < shown; i++) add("series", channelHeight, i < shown - 1 ? 6 : 24, { channel: firstChannel + i });
  add("scores", 96, one.attention ? 24 : 4);
  if (one.attention) add("attention", 52, 4);
  add("axis", 24, 4);
  add("overview", 20, 2);
  return { width, height: top, left: LEFT, inner: Math.max(10, width - LEFT - RIGHT), panels };
}

/** Draw everything for a view of a case. `scene` holds one, code, axis, view, limit, layout and colours. */
function paintScene(context, scene, ratio) {
  const { layout, view } = scene;
  const count = Math.max(1, Math.round(layout.inner * ratio));
  const starts = scene.axis.columns(view, count, scene.one.length);
  context.font = FONT;
  context.lineJoin = "round";
  const heat = heatRow(scene, starts);
  for (const panel of layout.panels) PANEL_PAINTERS[panel.kind](context, panel, scene, { starts, heat, ratio });
  if (scene.one.region.length <= MOST_EDGES) paintRegionEdges(context, scene);
  titlePanels(context, scene);
}

const PANEL_PAINTERS = {
  region: paintRegion,
  series: paintSeries,
  scores: paintScores,
  attention: paintAttention,
  axis: paintAxis,
  overview: paintOverview,
};

function paintSeries(context, panel, scene, { starts, heat, ratio }) {
  const { one, layout, colours } = scene;
  const track = one.channels[panel.channel];
  const scale = heights(panel, ...visibleRange(track, starts));
  context.imageSmoothingEnabled = false;
  context.drawImage(heat, layout.left, panel.top, layout.inner, panel.height);
  if (track.range[0] === Infinity) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    const [x, y] = [layout.left + layout.inner / 2, panel.top + panel.height / 2];
    writeOver(context, "no value was observed", x, y, colours);
    frame(context, panel, scene);
    return;
  }
  clipTo(context, panel, layout, () => {
    const sparse = starts.at(-1) - starts[0] < layout.inner * 1.5;
    traceLine(context, track, scene, starts, scale.y);
    if (sparse) {
      context.strokeStyle = colours.halo;
      context.globalAlpha = 0.75;
      context.lineWidth = 3.2;
      context.stroke();
      context.globalAlpha = 1;
    }
    context.strokeStyle = colours.series;
    context.lineWidth = sparse ? 1.4 : Math.max(0.7, 1 / ratio);
    context.stroke();
    context.fillStyle = colours.series;
    markLonely(context, track, scene, starts, scale.y);
  });
  frame(context, panel, scene);
  valueTicks(context, panel, scene, scale, one.channels.length > 1 ? 2 : 4);
}

function paintScores(context, panel, scene, { starts }) {
  const { one, code, layout, colours, limit } = scene;
  const track = one.evidence(code);
  const [low, high] = scene.commonScale ? [-limit, limit] : [Math.min(0, track.range[0]), Math.max(0, track.range[1])];
  const scale = heights(panel, low, high);
  clipTo(context, panel, layout, () => {
    const zero = scale.y(0);
    traceLine(context, track, scene, starts, scale.y);
    context.strokeStyle = colours.quiet;
    context.lineWidth = 1;
    context.stroke();
    fillColumns(context, track, scene, starts, scale.y, zero);
    context.beginPath();
    context.moveTo(layout.left, zero);
    context.lineTo(layout.left + layout.inner, zero);
    context.strokeStyle = colours.quiet;
    context.stroke();
  });
  frame(context, panel, scene);
  valueTicks(context, panel, scene, scale, 3);
}

function paintAttention(context, panel, scene, { starts }) {
  const { one, layout, colours } = scene;
  const scale = heights(panel, 0, one.attention.range[1]);
  clipTo(context, panel, layout, () => {
    traceLine(context, one.attention, scene, starts, scale.y);
    context.strokeStyle = colours.attention;
    context.lineWidth = 1.2;
    context.stroke();
    context.fillStyle = colours.attention;
    markLonely(context, one.attention, scene, starts, scale.y);
  });
  frame(context, panel, scene);
  valueTicks(context, panel, scene, scale, 2);
}

function paintRegion(context, panel, scene) {
  const { one, axis, layout, colours } = scene;
  clipTo(context, panel, layout, () => {
    for (const [start, stop] of one.region) {
      const left = xOf(scene, axis.edge(start, one.length));
      const width = Math.max(3, xOf(scene, axis.edge(stop, one.length)) - left);
      context.fillStyle = colours.region;
      context.fillRect(left, panel.top, width, panel.height);
    }
  });
}

/** Draw a line down the panels at both ends of every true region. */
function paintRegionEdges(context, scene) {
  const { one, axis, layout, colours } = scene;
  const top = layout.panels[0].top;
  const last = layout.panels.find((panel) => panel.kind === "scores");
  clipTo(context, { top, height: last.top + last.height - top }, layout, () => {
    context.strokeStyle = colours.region;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    for (const timepoint of one.region.flat()) {
      const x = xOf(scene, axis.edge(timepoint, one.length));
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, last.top + last.height);
      context.stroke();
    }
    context.setLineDash([]);
  });
}

function paintAxis(context, panel, scene) {
  const { axis, view, layout, colours } = scene;
  const { step, ticks } = axis.ticks(view, layout.inner / (axis.kind === "datetime" ? 110 : 80));
  context.fillStyle = colours.quiet;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.textBaseline = "top";
  for (const tick of ticks) {
    const x = xOf(scene, tick);
    context.beginPath();
    context.moveTo(x, panel.top - 4);
    context.lineTo(x, panel.top + 1);
    context.stroke();
    const text = axis.format(tick, step);
    const half = context.measureText(text).width / 2;
    context.textAlign = "center";
    context.fillText(text, Math.min(layout.width - half - 1, Math.max(layout.left + half - 20, x)), panel.top + 4);
  }
}

/** Draw the whole case's evidence in a strip, and a window where the view is. */
function paintOverview(context, panel, scene, { ratio }) {
  const { axis, one, layout, view, colours } = scene;
  const whole = axis.whole(one.length);
  const starts = axis.columns(whole, Math.max(1, Math.round(layout.inner * ratio)), one.length);
  context.imageSmoothingEnabled = false;
  context.drawImage(heatRow(scene, starts), layout.left, panel.top, layout.inner, panel.height);
  frame(context, panel, scene);
  const span = whole.end - whole.start;
  const left = layout.left + ((view.start - whole.start) / span) * layout.inner;
  const width = Math.max(4, ((view.end - view.start) / span) * layout.inner);
  if (width < layout.inner - 0.5) {
    context.fillStyle = colours.card;
    context.globalAlpha = 0.72;
    context.fillRect(layout.left, panel.top, left - layout.left, panel.height);
    context.fillRect(left + width, panel.top, layout.left + layout.inner - left - width, panel.height);
    context.globalAlpha = 1;
  }
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.strokeRect(left, panel.top, width, panel.height);
  context.fillStyle = colours.quiet;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText("whole", layout.left - 8, panel.top + panel.height / 2);
}

function frame(context, panel, { layout, colours }) {
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.strokeRect(layout.left - 0.5, panel.top - 0.5, layout.inner + 1, panel.height + 1);
}

/** Return the multiples of a step that have room beside a panel. */
function multiplesInside(panel, { y, bottom, top }, step) {
  const values = [];
  const first = Math.ceil(bottom / step);
  for (let n = 0; n < MOST_TICKS && (first + n) * step <= top; n++) values.push((first + n) * step);
  return values.filter((value) => y(value) >= panel.top + 4 && y(value) <= panel.top + panel.height - 4);
}

function valueTicks(context, panel, { layout, colours }, scale, wanted) {
  let step = roundStep((scale.top - scale.bottom) / (1.6 * wanted));
  // One number alone gives no scale; the next smaller step gives a second one.
  if (multiplesInside(panel, scale, step).length < 2) step = roundStep(step / 2.5);
  context.fillStyle = colours.quiet;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of multiplesInside(panel, scale, step)) {
    context.fillText(formatTick(value, step), layout.left - 8, scale.y(value), layout.left - 10);
  }
}

/** Write text that can be read over any colour. */
function writeOver(context, text, x, y, colours) {
  context.lineWidth = 3;
  context.strokeStyle = colours.halo;
  context.fillStyle = colours.ink;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

/** Name the panels above their left corner, and channels inside it. */
function titlePanels(context, { layout, one, code, colours }) {
  context.textAlign = "left";
  context.textBaseline = "bottom";
  context.fillStyle = colours.quiet;
  const above = (panel, text) => context.fillText(text, layout.left, panel.top - 4);
  for (const panel of layout.panels) {
    if (panel.kind === "scores") above(panel, `Evidence for ${report.classes[code]}`);
    if (panel.kind === "attention") above(panel, "Attention, the same for every class");
    if (panel.kind === "series" && (nChannels > 1 || report.channels[0])) {
      writeOver(context, channelLabel(panel.channel), layout.left + 6, panel.top + 15, colours);
      context.fillStyle = colours.quiet;
    }
  }
  above(layout.panels[0], `Series over its evidence${one.region.length ? ", and the true region" : ""}`);
}
