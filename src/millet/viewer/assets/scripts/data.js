// Data: what the page holds, one case unpacked at a time, and the lowest and highest value of any stretch at once.

const report = JSON.parse(document.getElementById("data").textContent);
const nCases = report.cases.lengths.length;
const nChannels = report.channels.length;
const labelled = report.cases.truth !== null;

const caseName = (index) => (report.cases.names ? report.cases.names[index] : String(index));
const channelLabel = (channel) => report.channels[channel] ?? (nChannels > 1 ? `channel ${channel}` : "value");
const isRight = (index) => report.cases.truth[index] === report.cases.predicted[index];

/** Lowest and highest of any stretch of values in logarithmic time; missing values (NaN) do not count. */
class Extremes {
  constructor(values) {
    const n = values.length;
    this.n = n;
    this.low = new Float64Array(2 * n).fill(Infinity);
    this.high = new Float64Array(2 * n).fill(-Infinity);
    for (let i = 0; i < n; i++) {
      if (Number.isNaN(values[i])) continue;
      this.low[n + i] = values[i];
      this.high[n + i] = values[i];
    }
    for (let i = n - 1; i > 0; i--) {
      this.low[i] = Math.min(this.low[2 * i], this.low[2 * i + 1]);
      this.high[i] = Math.max(this.high[2 * i], this.high[2 * i + 1]);
    }
  }

  /** Return [lowest, highest] of values[start:stop]; [Infinity, -Infinity] where none is observed. */
  between(start, stop) {
    let low = Infinity;
    let high = -Infinity;
    for (let left = start + this.n, right = stop + this.n; left < right; left >>= 1, right >>= 1) {
      if (left & 1) {
        low = Math.min(low, this.low[left]);
        high = Math.max(high, this.high[left]);
        left++;
      }
      if (right & 1) {
        right--;
        low = Math.min(low, this.low[right]);
        high = Math.max(high, this.high[right]);
      }
    }
    return [low, high];
  }
}

/** Values along time with their extremes, which are made when first asked for. */
class Track {
  constructor(values) {
    this.values = values;
  }

  get extremes() {
    this.tree ??= new Extremes(this.values);
    return this.tree;
  }

  get range() {
    return this.extremes.between(0, this.values.length);
  }

  /** Return the value furthest from 0 in values[start:stop]. */
  strongest(start, stop) {
    if (stop - start === 1) return this.values[start];
    const [low, high] = this.extremes.between(start, stop);
    return high >= -low ? high : low;
  }
}

/** One case: its channels, its evidence for every class that the report keeps, its attention. */
class Case {
  constructor(index, bytes) {
    this.index = index;
    this.name = caseName(index);
    this.length = report.cases.lengths[index];
    this.predicted = report.cases.predicted[index];
    this.truth = labelled ? report.cases.truth[index] : null;
    this.region = report.cases.regions ? report.cases.regions[index] : [];
    this.kept = report.cases.kept ? report.cases.kept[index] : [...Array(report.nClasses).keys()];
    const reader = new SectionReader(bytes);
    this.logits = reader.take(Float32Array, report.nClasses);
    this.probabilities = softmax(this.logits);
    this.channels = this.readChannels(reader);
    const rows = this.kept.length + (report.hasAttention ? 1 : 0);
    this.scales = reader.take(Float64Array, rows);
    this.patterns = reader.take(Uint16Array, rows * this.length);
    this.tracks = new Map();
    this.size = bytes.length;
  }

  readChannels(reader) {
    const offsets = reader.take(Float64Array, nChannels);
    const scales = reader.take(Float64Array, nChannels);
    const values = reader.take(Float32Array, nChannels * this.length);
    return Array.from(offsets, (offset, channel) => {
      const own = values.subarray(channel * this.length, (channel + 1) * this.length);
      return new Track(Float64Array.from(own, (value) => offset + scales[channel] * value));
    });
  }

  inRegion(timepoint) {
    return this.region.some(([start, stop]) => timepoint >= start && timepoint < stop);
  }

  row(row) {
    if (!this.tracks.has(row)) {
      const values = restoreRow(this.patterns, row, this.length, this.scales[row], report.differences);
      this.tracks.set(row, new Track(values));
    }
    return this.tracks.get(row);
  }

  keeps(code) {
    return this.kept.includes(code);
  }

  evidence(code) {
    return this.row(this.kept.indexOf(code));
  }

  get attention() {
    return report.hasAttention ? this.row(this.kept.length) : null;
  }

  /** Return the largest absolute evidence, of one class or of all that are kept. */
  limit(code, common) {
    const codes = common ? this.kept : [code];
    const ends = codes.flatMap((one) => this.evidence(one).range.map(Math.abs));
    return Math.max(...ends) || 1;
  }
}

function softmax(logits) {
  const top = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

const openCases = new Map();
const MOST_OPEN_BYTES = 24e6;

/** Return a case, unpacked now or lately; those not used for longest are forgotten. */
function loadCase(index) {
  const known = openCases.get(index);
  if (known) {
    openCases.delete(index);
    openCases.set(index, known);
    return known.loading;
  }
  const text = document.getElementById(`case-${index}`).textContent;
  const loading = unpack(text).then((bytes) => new Case(index, bytes));
  openCases.set(index, { loading, size: text.length });
  let total = 0;
  for (const [, { size }] of openCases) total += size;
  for (const [oldest, { size }] of openCases) {
    if (total <= MOST_OPEN_BYTES || oldest === index) break;
    openCases.delete(oldest);
    total -= size;
  }
  return loading;
}
