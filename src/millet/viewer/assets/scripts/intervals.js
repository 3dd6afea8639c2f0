// Intervals: the stretches of time that hold most of the evidence of one sign, as Explanation.top_intervals has them.

const COVERAGE = 0.8;
const MOST_INTERVALS = 6;

/** Stretches nearer than this to each other are one: half a percent of the case. */
const largestGap = (length) => Math.round(length / 200);

/** Return [{start, stop, share, mean}], largest share first. */
function topIntervals(evidence, kind, coverage = COVERAGE, gap = largestGap(evidence.length), most = MOST_INTERVALS) {
  const sign = kind === "support" ? 1 : -1;
  const strength = Float64Array.from(evidence, (value) => Math.max(0, sign * value));
  const total = strength.reduce((sum, value) => sum + value, 0);
  if (total === 0) return [];
  const timepoints = strongestTimepoints(strength, coverage * total * (1 - 1e-12));
  const spans = [];
  for (const timepoint of timepoints) {
    const last = spans.at(-1);
    if (last && timepoint - last.stop <= gap) last.stop = timepoint + 1;
    else spans.push({ start: timepoint, stop: timepoint + 1 });
  }
  for (const span of spans) {
    let held = 0;
    let sum = 0;
    for (let i = span.start; i < span.stop; i++) {
      held += strength[i];
      sum += evidence[i];
    }
    span.share = held / total;
    span.mean = sum / (span.stop - span.start);
  }
  return spans.sort((a, b) => b.share - a.share).slice(0, most);
}

/** Return the fewest timepoints that hold this much strength, in order; of equals, the earlier. */
function strongestTimepoints(strength, wanted) {
  const order = Uint32Array.from(strength.keys()).sort((a, b) => strength[b] - strength[a] || a - b);
  let held = 0;
  let count = 0;
  while (count < order.length && held < wanted && strength[order[count]] > 0) held += strength[order[count++]];
  return order.subarray(0, count).slice().sort();
}
