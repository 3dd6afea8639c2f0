// Axis: timepoints and the time they stand for, evenly spaced or not, numbers or dates (in UTC).

const MINUTE = 60e3;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DATE_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 15e3, 30e3, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE,
  30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY,
  365 * DAY, 1826 * DAY, 3652 * DAY, 18262 * DAY, 36524 * DAY,
];

/** Return a date and time in full, with microseconds where there are any: 2024-02-29T13:45:00.000. */
function isoText(moment) {
  const micros = Math.round((moment - Math.floor(moment)) * 1000);
  const whole = new Date(Math.floor(moment) + (micros === 1000 ? 1 : 0)).toISOString().replace("Z", "");
  return micros % 1000 ? whole + String(micros).padStart(3, "0") : whole;
}

class TimeAxis {
  /** `moments` is null where the timepoints are start, start + step ... */
  constructor({ kind, start, step }, moments) {
    this.kind = kind;
    this.start = start;
    this.step = step;
    this.moments = moments;
    this.isWhole = (moments ?? [start, step]).every(Number.isInteger);
  }

  at(timepoint) {
    return this.moments ? this.moments[timepoint] : this.start + this.step * timepoint;
  }

  /** Return the edge between the cells of two neighbouring timepoints, before `timepoint`, of `length`. */
  edge(timepoint, length) {
    if (length === 1) return this.at(0) + (timepoint - 0.5) * (this.step || 1);
    if (timepoint === 0) return this.at(0) - (this.at(1) - this.at(0)) / 2;
    if (timepoint === length) return this.at(length - 1) + (this.at(length - 1) - this.at(length - 2)) / 2;
    return (this.at(timepoint - 1) + this.at(timepoint)) / 2;
  }

  /** Return the view that shows a whole case. */
  whole(length) {
    return { start: this.edge(0, length), end: this.edge(length, length) };
  }

  /** Return the first timepoint whose cell does not end before this moment: 0 ... length. */
  cellAt(moment, length) {
    if (!this.moments) {
      return Math.min(length, Math.max(0, Math.floor((moment - this.start) / this.step + 0.5)));
    }
    let low = 0;
    let high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.edge(middle + 1, length) <= moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Return the first timepoint of every one of `count` equal columns of a view, and where the last one ends. */
  columns(view, count, length) {
    const starts = new Uint32Array(count + 1);
    const width = (view.end - view.start) / count;
    for (let column = 0; column <= count; column++) starts[column] = this.cellAt(view.start + column * width, length);
    return starts;
  }

  /** Return at most about `wanted` round moments inside a view, and their spacing. */
  ticks(view, wanted) {
    const rough = (view.end - view.start) / Math.max(1, wanted);
    const dateStep = () => DATE_STEPS.find((one) => one >= rough) ?? DATE_STEPS.at(-1);
    const numberStep = () => Math.max(this.isWhole ? 1 : 0, roundStep(rough));
    const step = this.kind === "datetime" ? dateStep() : numberStep();
    const ticks = [];
    for (let n = Math.ceil(view.start / step); n * step <= view.end && ticks.length < 100; n++) ticks.push(n * step);
    return { step, ticks };
  }

  /** Return a moment as text; `step` says how finely. */
  format(moment, step) {
    if (this.kind !== "datetime") return formatTick(moment, step);
    const text = isoText(moment);
    if (step >= DAY) return text.slice(0, 10);
    const clock = step >= MINUTE ? text.slice(11, 16) : step >= 1000 ? text.slice(11, 19) : text.slice(11);
    return moment % DAY === 0 ? text.slice(0, 10) : clock;
  }

  /** Return the time of a timepoint in full. */
  describe(timepoint) {
    const moment = this.at(timepoint);
    const gap = Math.abs(this.at(timepoint === 0 ? 1 : timepoint - 1) - moment);
    if (this.kind !== "datetime") return formatMoment(moment, gap);
    const text = isoText(moment).replace("T", " ");
    return text.replace(/\.000$/, "").replace(/:00$/, "").replace(/ 00:00$/, "");
  }
}

/** Return the time axis of the report; a packed one has to be unpacked first. */
async function loadAxis() {
  const { packed, size } = report.time;
  return new TimeAxis(report.time, packed ? new SectionReader(await unpack(packed)).take(Float64Array, size) : null);
}
