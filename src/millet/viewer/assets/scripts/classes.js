// Class switch: for which class to show the evidence; with many classes, most probable first and with a search.

const MANY_CLASSES = 12;

class ClassSwitch {
  constructor(choose) {
    this.choose = choose;
    this.root = document.getElementById("classes");
    this.search = document.getElementById("class-search");
    this.many = report.nClasses > MANY_CLASSES;
    this.root.classList.toggle("long", this.many);
    this.search.hidden = !this.many;
    this.search.addEventListener("input", () => this.filter());
    this.search.addEventListener("keydown", (event) => {
      const first = event.key === "Enter" && this.usable()[0];
      if (first) first.click();
    });
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Offer the classes of a case. */
  show(one, code) {
    const codes = [...Array(report.nClasses).keys()];
    if (this.many) codes.sort((a, b) => one.probabilities[b] - one.probabilities[a]);
    const focused = this.root.contains(document.activeElement);
    this.root.replaceChildren(...codes.map((each) => this.buildButton(one, each, each === code)));
    if (focused) this.root.querySelector('[aria-checked="true"]')?.focus();
    this.filter();
  }

  buildButton(one, code, checked) {
    const share = one.probabilities[code];
    const button = element("button", { type: "button", className: "class", role: "radio" });
    button.setAttribute("aria-checked", String(checked));
    button.dataset.code = code;
    button.tabIndex = checked ? 0 : -1;
    button.append(element("span", { text: className(code) }), element("small", { text: formatShare(share) }));
    if (code === one.truth) button.append(element("small", { className: "true-mark", text: "true" }));
    const bar = element("i", { "aria-hidden": "true" });
    bar.style.width = `${100 * share}%`;
    button.append(bar);
    button.disabled = !one.keeps(code);
    button.title = className(code);
    if (button.disabled) button.title += ": its evidence is not in this report, to keep the file small";
    button.addEventListener("click", () => this.choose(code));
    return button;
  }

  usable() {
    return [...this.root.children].filter((button) => !button.disabled && !button.hidden);
  }

  filter() {
    const text = this.search.value.trim().toLowerCase();
    for (const button of this.root.children) {
      button.hidden = this.many && !className(Number(button.dataset.code)).toLowerCase().includes(text);
    }
  }

  key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const buttons = this.usable();
    const at = buttons.indexOf(document.activeElement);
    if (buttons.length) buttons[(at + steps[event.key] + buttons.length) % buttons.length].click();
  }
}
