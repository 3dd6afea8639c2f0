// Palette: the colours of the page, which the style sheet defines for both themes and both palettes.

const COLOUR_STEPS = 255;

/** Colours for the canvas, read anew whenever theme or palette change. */
class Colours {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ["ink", "quiet", "grid", "panel", "halo", "region", "attention", "card", "accent", "line"]) {
      this[name] = read(name);
    }
    this.series = read("line-ink");
    this.support = read("support");
    this.refute = read("refute");
    this.supportWeak = read("support-weak");
    this.refuteWeak = read("refute-weak");
    const stops = [this.refute, this.refuteWeak, read("none"), this.supportWeak, this.support].map(channelsOf);
    this.ramp = new Uint8ClampedArray(4 * (2 * COLOUR_STEPS + 1));
    for (let i = 0; i <= 2 * COLOUR_STEPS; i++) {
      const place = (i / (2 * COLOUR_STEPS)) * (stops.length - 1);
      const left = Math.min(stops.length - 2, Math.floor(place));
      for (let c = 0; c < 3; c++) {
        this.ramp[4 * i + c] = stops[left][c] + (place - left) * (stops[left + 1][c] - stops[left][c]);
      }
      this.ramp[4 * i + 3] = 255;
    }
  }

  /** Return where in the ramp the colour of this evidence is. */
  place(evidence, limit) {
    const part = Math.max(-1, Math.min(1, evidence / limit));
    return 4 * (COLOUR_STEPS + Math.round(part * COLOUR_STEPS));
  }
}

/** Return [red, green, blue] of #rrggbb. */
const channelsOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

const COLOUR_WORDS = { "green-red": ["Green", "red"], colorblind: ["Blue", "orange"] };
