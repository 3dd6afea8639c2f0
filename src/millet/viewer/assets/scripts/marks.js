// Marks: lines, fills and colours along time, drawn for a view of any width from the extremes of every pixel column.

/** Return one row of pixels with the colour of the strongest evidence of every column. */
function heatRow({ one, code, limit, colours }, starts) {
  const count = starts.length - 1;
  const row = document.createElement("canvas");
  row.width = count;
  row.height = 1;
  const context = row.getContext("2d");
  const pixels = context.createImageData(count, 1);
  const evidence = one.evidence(code);
  for (let column = 0; column < count; column++) {
    const start = Math.min(starts[column], one.length - 1);
    const at = colours.place(evidence.strongest(start, Math.max(start + 1, starts[column + 1])), limit);
    pixels.data.set(colours.ramp.subarray(at, at + 4), 4 * column);
  }
  context.putImageData(pixels, 0, 0);
  return row;
}

/** Return where a moment is, in CSS pixels. */
function xOf({ layout, view }, moment) {
  return layout.left + ((moment - view.start) / (view.end - view.start)) * layout.inner;
}

/** Return a function from values to heights inside a panel. */
function heights(panel, low, high) {
  if (low === Infinity) [low, high] = [0, 1];
  // What rounding leaves of a constant is one.
  if (high - low <= 1e-13 * Math.max(Math.abs(low), Math.abs(high))) high = low;
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const [bottom, top] = low === high ? [low - room * 8, high + room * 8] : [low - room, high + room];
  const y = (value) => panel.top + panel.height - ((value - bottom) / (top - bottom)) * panel.height;
  return { y, bottom, top };
}

/** Return the range of what a view shows, or of everything where that is nothing. */
function visibleRange(track, starts) {
  const first = Math.max(0, starts[0] - 1);
  const range = track.extremes.between(first, Math.min(track.values.length, starts.at(-1) + 1));
  return range[0] === Infinity ? track.range : range;
}

function clipTo(context, panel, layout, draw) {
  context.save();
  context.beginPath();
  context.rect(layout.left, panel.top, layout.inner, panel.height);
  context.clip();
  draw();
  context.restore();
}

/** Trace a line through a track: its points where there is room for them, else the extremes of every column. */
function traceLine(context, track, scene, starts, y) {
  const { one, axis, layout } = scene;
  const first = Math.max(0, starts[0] - 1);
  const stop = Math.min(one.length, starts.at(-1) + 2);
  const count = starts.length - 1;
  context.beginPath();
  if (stop - first <= 2 * count) {
    let drawing = false;
    for (let i = first; i < stop; i++) {
      const value = track.values[i];
      if (!Number.isNaN(value)) context[drawing ? "lineTo" : "moveTo"](xOf(scene, axis.at(i)), y(value));
      drawing = !Number.isNaN(value);
    }
    return;
  }
  let before = null;
  for (let column = 0; column < count; column++) {
    if (starts[column] === starts[column + 1]) continue;
    const [low, high] = track.extremes.between(starts[column], starts[column + 1]);
    if (low === Infinity) {
      before = null;
      continue;
    }
    const x = layout.left + ((column + 0.5) / count) * layout.inner;
    const near = before === null || Math.abs(before - low) < Math.abs(before - high) ? low : high;
    context[before === null ? "moveTo" : "lineTo"](x, y(near));
    before = near === low ? high : low;
    context.lineTo(x, y(before) + (low === high ? 0.5 : 0));
  }
}

/** Mark values without a neighbour, through which no line goes. */
function markLonely(context, track, scene, starts, y) {
  const first = Math.max(0, starts[0] - 1);
  const stop = Math.min(scene.one.length, starts.at(-1) + 1);
  if (stop - first > 2 * starts.length) return;
  const missing = (i) => i < 0 || i >= scene.one.length || Number.isNaN(track.values[i]);
  for (let i = first; i < stop; i++) {
    if (missing(i) || !missing(i - 1) || !missing(i + 1)) continue;
    context.beginPath();
    context.arc(xOf(scene, scene.axis.at(i)), y(track.values[i]), 2, 0, 2 * Math.PI);
    context.fill();
  }
}

/** Fill from 0 to the highest and to the lowest evidence of every column. */
function fillColumns(context, track, { one, layout, colours, axis, view }, starts, y, zero) {
  const count = starts.length - 1;
  const width = layout.inner / count;
  const moment = (column) => view.start + ((column + 0.5) / count) * (view.end - view.start);
  for (const [colour, side] of [[colours.support, Math.max], [colours.refute, Math.min]]) {
    context.fillStyle = colour;
    context.globalAlpha = 0.8;
    context.beginPath();
    for (let column = 0; column < count; column++) {
      const start = starts[column];
      const ends = starts[column + 1] > start + 1
        ? track.extremes.between(start, starts[column + 1])
        : [valueAt(track, axis, moment(column), one.length)];
      const height = side(0, ...ends);
      if (height !== 0) context.rect(layout.left + column * width, y(height), width, zero - y(height));
    }
    context.fill();
    context.globalAlpha = 1;
  }
}

/** Return the value at any moment, on the line between its two neighbours. */
function valueAt(track, axis, moment, length) {
  let left = Math.min(length - 1, axis.cellAt(moment, length));
  if (axis.at(left) > moment) left--;
  if (left < 0) return track.values[0];
  if (left >= length - 1) return track.values[length - 1];
  const part = (moment - axis.at(left)) / (axis.at(left + 1) - axis.at(left));
  return track.values[left] + part * (track.values[left + 1] - track.values[left]);
}
