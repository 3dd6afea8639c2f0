// Chart: a case on the screen, the view of it, and the timepoint under the crosshair.

const SMALLEST_VIEW = 6;
const MOVE_MILLISECONDS = 200;

class Chart {
  constructor(root, axis) {
    this.root = root;
    this.axis = axis;
    this.picture = root.querySelector("#picture");
    this.overlay = root.querySelector("#overlay");
    this.tip = root.querySelector("#tip");
    this.colours = new Colours();
    this.firstChannel = 0;
    this.commonScale = false;
    this.one = null;
    this.timepoint = null;
    this.selection = null;
    this.frames = 0;
    new ResizeObserver(() => this.refresh()).observe(root);
  }

  /** Show a case's evidence for a class; another class of the same case keeps the view. */
  show(one, code) {
    if (one !== this.one) {
      this.one = one;
      this.view = this.axis.whole(one.length);
      this.timepoint = null;
      this.tip.hidden = true;
    }
    this.code = code;
    this.refresh();
  }

  get whole() {
    return this.axis.whole(this.one.length);
  }

  get isWhole() {
    const { start, end } = this.whole;
    return this.view.end - this.view.start >= (end - start) * (1 - 1e-9);
  }

  /** Take over this view, inside the case and not too narrow. */
  setView(start, end) {
    const whole = this.whole;
    const full = whole.end - whole.start;
    const least = Math.min(full, (full / this.one.length) * SMALLEST_VIEW);
    const span = Math.min(full, Math.max(least, end - start));
    const middle = (start + end) / 2;
    const from = Math.min(whole.end - span, Math.max(whole.start, span === end - start ? start : middle - span / 2));
    this.view = { start: from, end: from + span };
    this.refresh();
  }

  zoom(factor, anchor = (this.view.start + this.view.end) / 2) {
    const { start, end } = this.view;
    const whole = this.whole;
    const least = ((whole.end - whole.start) / this.one.length) * SMALLEST_VIEW;
    const limited = Math.max(factor, Math.min(1, least / (end - start)));
    this.setView(anchor - (anchor - start) * limited, anchor + (end - anchor) * limited);
  }

  pan(share) {
    const by = share * (this.view.end - this.view.start);
    this.setView(this.view.start + by, this.view.end + by);
  }

  reset() {
    const { start, end } = this.whole;
    this.setView(start, end);
  }

  /** Glide to timepoints start ... stop - 1 with some room around them. */
  glideTo(start, stop) {
    const from = { ...this.view };
    const left = this.axis.edge(start, this.one.length);
    const right = this.axis.edge(stop, this.one.length);
    const room = Math.max((right - left) * 0.6, (this.whole.end - this.whole.start) * 0.01);
    const began = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const one = this.one;
    const step = (now) => {
      if (this.one !== one) return;
      const part = still ? 1 : Math.min(1, Math.max(0, (now - began) / MOVE_MILLISECONDS));
      const eased = part * part * (3 - 2 * part);
      this.setView(from.start + eased * (left - room - from.start), from.end + eased * (right + room - from.end));
      if (part < 1) requestAnimationFrame(step);
    };
    step(began);
  }

  momentAt(x) {
    const { left, inner } = this.layout;
    return this.view.start + ((x - left) / inner) * (this.view.end - this.view.start);
  }

  panelAt(y) {
    return this.layout.panels.find((panel) => y >= panel.top && y < panel.top + panel.height);
  }

  refresh() {
    if (!this.one || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  scene(width) {
    const { one, code, axis, view, colours, commonScale } = this;
    const limit = one.limit(code, commonScale);
    return { one, code, axis, view, colours, commonScale, limit, layout: layOut(width, one, this.firstChannel) };
  }

  draw() {
    const width = this.root.clientWidth;
    const scene = this.scene(width);
    const ratio = window.devicePixelRatio || 1;
    this.layout = scene.layout;
    const context = fitCanvas(this.picture, width, scene.layout.height, ratio);
    paintScene(context, scene, ratio);
    this.drawOverlay(ratio);
    this.placeTip();
    this.frames++;
  }

  drawOverlay(ratio = window.devicePixelRatio || 1) {
    if (!this.layout) return;
    const { width, height, left, inner, panels } = this.layout;
    const context = fitCanvas(this.overlay, width, height, ratio);
    const bottom = panels.find((panel) => panel.kind === "axis").top;
    if (this.selection) {
      const [from, to] = [...this.selection].sort((a, b) => a - b);
      context.fillStyle = this.colours.accent;
      context.globalAlpha = 0.2;
      context.fillRect(from, panels[0].top, to - from, bottom - panels[0].top);
      context.globalAlpha = 1;
    }
    if (this.timepoint === null) return;
    const x = xOf({ layout: this.layout, view: this.view }, this.axis.at(this.timepoint));
    if (x < left - 1 || x > left + inner + 1) return;
    context.strokeStyle = this.colours.accent;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, panels[0].top);
    context.lineTo(x, bottom);
    context.stroke();
  }

  /** Put the crosshair on a timepoint (null: nowhere) and say what is there. */
  point(timepoint) {
    this.timepoint = timepoint;
    this.drawOverlay();
    this.tip.hidden = timepoint === null;
    if (timepoint === null) return;
    const lines = this.describe(timepoint);
    this.tip.replaceChildren(...lines.flat().map((text) => element("span", { text })));
    this.placeTip();
  }

  placeTip() {
    if (this.timepoint === null) return;
    const x = xOf({ layout: this.layout, view: this.view }, this.axis.at(this.timepoint));
    const width = this.tip.offsetWidth;
    const at = x + 14 + width > this.layout.width ? x - 14 - width : x + 14;
    this.tip.style.transform = `translate(${Math.max(0, at)}px, ${this.layout.panels[0].top + 6}px)`;
  }

  /** Return [[label, value], ...] for a timepoint. */
  describe(timepoint) {
    const { one, code } = this;
    const shown = this.layout.panels.filter((panel) => panel.kind === "series");
    const lines = [["time", this.axis.describe(timepoint)]];
    for (const { channel } of shown) {
      const track = one.channels[channel];
      lines.push([channelLabel(channel), formatNumber(track.values[timepoint], trackDigits(track, 4))]);
    }
    lines.push(["evidence", formatSigned(one.evidence(code).values[timepoint])]);
    if (one.attention) lines.push(["attention", formatNumber(one.attention.values[timepoint])]);
    if (one.inRegion(timepoint)) lines.push(["true region", "inside"]);
    return lines;
  }
}

/** Give a canvas its size, clear it, and return its context in CSS pixels. */
function fitCanvas(canvas, width, height, ratio) {
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
