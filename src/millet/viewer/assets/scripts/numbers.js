// Numbers: as text, with as many digits as they deserve.

/** Return the next step of the form 1, 2 or 5 times a power of ten. */
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9));
  return factor * power;
}

/** Return a number with so many significant digits, without trailing zeros. */
function formatNumber(value, digits = 3) {
  if (Number.isNaN(value)) return "missing";
  const size = Math.abs(value);
  let text = size >= 10 ** digits ? value.toFixed(0) : value.toPrecision(digits);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) text = value.toExponential(digits - 1);
  const [number, power] = text.split("e");
  const short = (number.includes(".") ? number.replace(/\.?0+$/, "") : number).replace("-", "−");
  return power === undefined ? short : `${short}e${power.replace("+", "").replace("-", "−")}`;
}

/** Return a score with three digits, so that neighbours line up. */
function formatScore(value) {
  const size = Math.abs(value);
  return size >= 0.001 && size < 1000 ? value.toPrecision(3).replace("-", "−") : formatNumber(value);
}

/** Return evidence with its sign. */
const formatSigned = (value) => (value > 0 ? "+" : "") + formatNumber(value);

/** Return [mean, bias, logit], signed and with the same decimals, so that what is read adds up. */
function formatSum(bias, logit) {
  const largest = Math.max(Math.abs(bias), Math.abs(logit), Math.abs(logit - bias)) || 1;
  const decimals = Math.min(20, Math.max(0, 3 - Math.floor(Math.log10(largest))));
  const units = (value) => Math.round(value * 10 ** decimals);
  const parts = [units(logit) - units(bias), units(bias), units(logit)];
  return parts.map((part) => (part > 0 ? "+" : "") + (part / 10 ** decimals).toFixed(decimals).replace("-", "−"));
}

/** Return how many digits tell a number from others that are a step away. */
const digitsFor = (value, step) => Math.ceil(Math.log10(Math.max(Math.abs(value), step) / step) + 1e-9) + 1;

/** Return how many digits show a series as finely as `digits` digits show its range. */
function trackDigits({ range: [low, high] }, digits) {
  if (!(high > low)) return digits;
  const wanted = digitsFor(Math.max(Math.abs(low), Math.abs(high)), (high - low) / 10 ** (digits - 1));
  return Math.min(16, Math.max(digits, wanted));
}

/** Return a tick with the decimals that its step needs. */
function formatTick(value, step) {
  const size = Math.max(Math.abs(value), step);
  const digits = digitsFor(value, step);
  const isPlain = (size < 1e7 && step >= 1e-5) || (digits > 4 && digits <= 15 && size < 1e15 && step > 1e-12);
  if (!isPlain) return value === 0 ? "0" : formatNumber(value, Math.min(15, Math.max(4, digits)));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return (Math.abs(value) < step / 1e6 ? 0 : value).toFixed(decimals).replace("-", "−");
}

/** Return a moment in full, with the digits that tell it from a neighbour so far away. */
function formatMoment(value, gap) {
  const digits = gap > 0 ? Math.min(15, Math.max(10, digitsFor(value, gap) + 2)) : 10;
  const size = Math.abs(value);
  if (size < 1e7 || size >= 1e15) return formatNumber(value, digits);
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** Return a share as percent; what is almost certain is not called certain, nor the improbable impossible. */
function formatShare(share, decimals = 1) {
  const percent = (100 * share).toFixed(decimals);
  const least = 10 ** -decimals;
  if (Number(percent) === 100 && share < 1) return `> ${(100 - least).toFixed(decimals)}%`;
  if (Number(percent) === 0 && share > 0) return `< ${least.toFixed(decimals)}%`;
  return `${percent}%`;
}

const plural = (count, word, words = `${word}s`) => `${count.toLocaleString("en")} ${count === 1 ? word : words}`;
