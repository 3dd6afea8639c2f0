// Gestures: wheel, drag, pinch and keys become views of the chart.

const ZOOM_STEP = 1.5;
const PAN_STEP = 0.15;
const LEAST_SELECTION = 5;

class Gestures {
  constructor(chart, announce) {
    this.chart = chart;
    this.announce = announce;
    this.pointers = new Map();
    this.mode = null;
    const { root } = chart;
    root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, (event) => this.up(event));
    root.addEventListener("pointerleave", () => this.pointers.size || chart.point(null));
    root.addEventListener("dblclick", () => chart.reset());
    root.addEventListener("keydown", (event) => this.key(event));
  }

  place(event) {
    const box = this.chart.root.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  wheel(event) {
    const { chart } = this;
    if (!chart.one || !chart.layout) return;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    // The whole series can't get smaller: let the page scroll on.
    if (chart.isWhole && (sideways || event.deltaY > 0) && !event.ctrlKey) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 20 : 1;
    const place = this.place(event);
    const turn = Math.max(-0.6, Math.min(0.6, event.deltaY * unit * 0.002));
    if (sideways) chart.pan((event.deltaX * unit) / chart.layout.inner);
    else chart.zoom(Math.exp(turn), chart.momentAt(place.x));
    this.pointAt(place);
  }

  down(event) {
    const { chart } = this;
    if (!chart.layout || event.button > 0) return;
    chart.root.setPointerCapture(event.pointerId);
    const place = this.place(event);
    this.pointers.set(event.pointerId, place);
    if (this.pointers.size === 2) this.startPinch();
    else if (chart.panelAt(place.y)?.kind === "overview") this.startOverview(place);
    else if (event.shiftKey || (chart.isWhole && event.pointerType !== "touch")) this.mode = "select";
    else this.mode = "pan";
    this.from = { ...place, view: { ...chart.view } };
    chart.root.classList.toggle("panning", this.mode === "pan" && !chart.isWhole);
  }

  startPinch() {
    const [a, b] = [...this.pointers.values()];
    this.mode = "pinch";
    this.pinch = { left: this.chart.momentAt(Math.min(a.x, b.x)), right: this.chart.momentAt(Math.max(a.x, b.x)) };
  }

  startOverview(place) {
    this.mode = "overview";
    this.centreOn(place.x);
  }

  /** Move the view so that its middle is at this place of the overview. */
  centreOn(x) {
    const { chart } = this;
    const { start, end } = chart.whole;
    const half = (chart.view.end - chart.view.start) / 2;
    const middle = start + ((x - chart.layout.left) / chart.layout.inner) * (end - start);
    chart.setView(middle - half, middle + half);
  }

  move(event) {
    const { chart } = this;
    if (!chart.layout) return;
    const place = this.place(event);
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, place);
    if (!this.pointers.size || event.pointerType === "touch") this.pointAt(place);
    if (!this.pointers.has(event.pointerId)) return;
    const span = this.from.view.end - this.from.view.start;
    if (this.mode === "pan") {
      const by = ((this.from.x - place.x) / chart.layout.inner) * span;
      chart.setView(this.from.view.start + by, this.from.view.end + by);
    } else if (this.mode === "select") {
      chart.selection = [this.from.x, place.x].map((x) => this.inside(x));
      chart.drawOverlay();
    } else if (this.mode === "overview") this.centreOn(place.x);
    else if (this.mode === "pinch" && this.pointers.size === 2) this.followPinch();
  }

  /** Keep the moments that were under both fingers under them. */
  followPinch() {
    const { chart, pinch } = this;
    const [left, right] = [...this.pointers.values()].map(({ x }) => x).sort((a, b) => a - b);
    const perPixel = (pinch.right - pinch.left) / Math.max(1, right - left);
    const start = pinch.left - (left - chart.layout.left) * perPixel;
    chart.setView(start, start + chart.layout.inner * perPixel);
  }

  inside(x) {
    const { left, inner } = this.chart.layout;
    return Math.max(left, Math.min(left + inner, x));
  }

  pointAt({ x }) {
    const { chart } = this;
    const { left, inner } = chart.layout;
    if (x < left || x > left + inner) return chart.point(null);
    chart.point(Math.min(chart.one.length - 1, chart.axis.cellAt(chart.momentAt(x), chart.one.length)));
  }

  up(event) {
    const { chart } = this;
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.mode === "select" && chart.selection && event.type === "pointerup") {
      const [from, to] = [...chart.selection].sort((a, b) => a - b);
      if (to - from >= LEAST_SELECTION) chart.setView(chart.momentAt(from), chart.momentAt(to));
    }
    chart.selection = null;
    chart.drawOverlay();
    chart.root.classList.remove("panning");
    // The finger that is left goes on moving from where it is.
    const [remaining] = this.pointers.values();
    this.mode = remaining ? "pan" : null;
    if (remaining) this.from = { ...remaining, view: { ...chart.view } };
  }

  key(event) {
    const { chart } = this;
    if (!chart.one || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      "+": () => chart.zoom(1 / ZOOM_STEP),
      "=": () => chart.zoom(1 / ZOOM_STEP),
      "-": () => chart.zoom(ZOOM_STEP),
      _: () => chart.zoom(ZOOM_STEP),
      0: () => chart.reset(),
      ArrowLeft: () => (event.shiftKey ? this.stepTo(-1) : chart.pan(-PAN_STEP)),
      ArrowRight: () => (event.shiftKey ? this.stepTo(1) : chart.pan(PAN_STEP)),
      Escape: () => chart.point(null),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** Move the crosshair to the next timepoint, the view after it, and read it out. */
  stepTo(direction) {
    const { chart } = this;
    const { view, axis, one } = chart;
    const middle = axis.cellAt((view.start + view.end) / 2, one.length);
    const next = Math.max(0, Math.min(one.length - 1, (chart.timepoint ?? middle) + direction));
    const moment = axis.at(next);
    if (moment < view.start || moment > view.end) {
      const half = (view.end - view.start) / 2;
      chart.setView(moment - half, moment + half);
      chart.draw();
    }
    chart.point(next);
    this.announce(chart.describe(next).map((line) => line.join(" ")).join(", "));
  }
}
