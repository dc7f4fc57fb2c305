/* The temperature dial: what τ buys and costs as curves over τ, with a τ that is dragged on the chart itself.
 *
 * It knows the few formulas below and its own gestures, and asks no server for a number: every read-out moves with
 * the pointer, and the temperature is handed over once, when it is let go.
 */

// ---------------------------------------------------------------------------------------------------------------
// Formulas (THEORY, "Sensitivity" and "Privacy"). Exported so that a test can hold them against bfsoft itself.
// ---------------------------------------------------------------------------------------------------------------

/** The soft vote's bounds at a reach: L1, L2, the noise ratio L2 / √2 and the equal-noise budget factor. */
export function needs(reach, tau, participation = false) {
  const shift = Math.tanh(reach / (2 * tau));
  const floor = participation ? 1 : 0;
  const l2 = Math.max(Math.SQRT2 * shift, floor);
  return { l1: Math.max(2 * shift, floor), l2, ratio: l2 / Math.SQRT2, factor: 2 / (l2 * l2) };
}

/** σ = Δ₂ / √(2ρ), in votes. */
export function noiseScale(l2, rho) {
  return l2 / Math.sqrt(2 * rho);
}

/** A value between those known at some temperatures, straight in log τ; the end values beyond them. */
export function between(taus, values, tau) {
  if (tau <= taus[0]) return values[0];
  const after = taus.findIndex((known) => known >= tau);
  if (after < 0) return values[values.length - 1];
  const part = Math.log(tau / taus[after - 1]) / Math.log(taus[after] / taus[after - 1]);
  return values[after - 1] + part * (values[after] - values[after - 1]);
}

/** The next temperature up or down that two significant digits can say. */
export function stepped(tau, up) {
  let unit = 10 ** (Math.floor(Math.log10(tau) + 1e-12) - 1);
  if (!up && tau / unit < 10 + 1e-9) unit /= 10; // just below a power of ten the digits are finer
  const count = up ? Math.floor(tau / unit + 1e-9) + 1 : Math.ceil(tau / unit - 1e-9) - 1;
  return Number((count * unit).toPrecision(2));
}

// ---------------------------------------------------------------------------------------------------------------
// Small helpers
// ---------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
const [COLDEST, HOTTEST] = [1e-3, 1];
const POINTS = 160;
const MARGIN = { left: 66, right: 56, top: 34, bottom: 46 };
const LINE = 17; // pixels from one line of a panel's title to the next
const DASHES = ["", "7 4", "2 4", "10 4 2 4", "5 2", "1 5"];

const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** A number for a field that a hand may have set: six digits, which fit it; the value itself keeps all of its own. */
const written = (number) => String(Number(number.toPrecision(6)));

/** The words of a title on as few lines as fit into a width, which `measure` tells of a text. */
function broken(title, width, measure) {
  const lines = [];
  for (const word of title.split(" ")) {
    const longer = `${lines[lines.length - 1]} ${word}`;
    if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Which rounds have this σ: named while they are few, else counted. */
function inRounds(sigmas, sigma) {
  const rounds = sigmas.flatMap((each, i) => (Math.abs(each - sigma) < 1e-9 * sigma ? [i + 1] : []));
  if (rounds.length > 3) return `in ${rounds.length} rounds`;
  const last = rounds.pop();
  return rounds.length ? `in rounds ${rounds.join(", ")} and ${last}` : `in round ${last}`;
}

/** Three significant digits, with an exponent only where a plain number would be unreadable. */
function short(number, digits = 3) {
  if (!Number.isFinite(number)) return "∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = number.toExponential(2).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  if (size >= 1000) return Math.round(number).toLocaleString("en");
  return String(Number(number.toPrecision(digits)));
}

// ---------------------------------------------------------------------------------------------------------------
// The dial
// ---------------------------------------------------------------------------------------------------------------

class Dial {
  constructor(parent, commit) {
    this.commit = commit;
    this.revision = 0;
    this.root = element("div", { class: "bft" });
    this.build();
    parent.append(this.root);
    this.resizer = new ResizeObserver(() => this.layout());
    this.resizer.observe(this.stage);
  }

  destroy() {
    this.resizer.disconnect();
    this.root.remove();
  }

  build() {
    this.finding = element("p", { class: "bft-finding", "data-part": "finding" });
    this.svg = shape("svg", { class: "bft-svg", role: "group" });
    this.stage = element("div", { class: "bft-stage" }, this.svg);
    this.input = element("input", { type: "number", name: "tau", step: "any", min: "0", inputmode: "decimal", "aria-label": "Temperature τ" });
    this.status = element("p", { class: "bft-status", role: "status" });
    this.numbers = {};
    const readout = (name, label, note, extra = "") => {
      const number = element("span", { class: "bft-number", "data-readout": name });
      const small = element("small", {}, note);
      this.numbers[name] = { number, small };
      return element("div", { class: `bft-readout ${extra}` }, element("dt", {}, label), element("dd", {}, number, small));
    };
    this.topReadout = readout("top", "A vote's largest share", "of one record's vote, on average");
    const list = element(
      "dl", { class: "bft-readouts" },
      readout("ratio", "Noise ratio q", "", "bft-wide"),
      readout("factor", "Equal-noise budget", ""),
      readout("sigma", "Noise σ a round", "votes"),
      readout("l2", "L2 bound √2 q", "the most a record can move the votes"),
      this.topReadout,
    );
    this.table = element("table", { class: "bft-table" });
    this.root.append(
      this.finding,
      element(
        "div", { class: "bft-in" },
        this.stage,
        element(
          "div", { class: "bft-side" },
          element("label", { class: "bft-tau" }, element("span", {}, "Temperature τ"), this.input),
          list, this.table, this.status,
        ),
      ),
    );
    this.status.textContent = "Drag the line on the chart, use the arrow keys on it, or type a temperature.";
    this.input.addEventListener("change", () => this.typed());
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
  }

  // --- data in and out -----------------------------------------------------------------------------------------

  setData(data) {
    if (!data) return;
    if (this.held || this.turning) {
      this.waiting = data; // a picture from before this gesture would take back what it has done so far
      return;
    }
    // An answer to an older wish must not take back a temperature that was let go since.
    if (!this.data || data.revision >= this.revision) {
      this.revision = data.revision;
      this.tau = data.tau;
    }
    this.data = data;
    for (const [name, colour] of Object.entries(data.colours)) this.root.style.setProperty(`--${name}`, colour);
    this.topReadout.hidden = !data.profile;
    // Where no edge moves a vote, the hard one too needs less than its full noise, which q is a part of.
    const full = data.hard < Math.SQRT2 - 1e-9;
    this.numbers.ratio.small.textContent = full ? "the soft vote's noise over a hard vote's full noise" : "the soft vote's noise over the hard vote's";
    this.numbers.factor.small.textContent = full ? "times the ρ that full noise needs" : "times the ρ that a hard vote needs";
    this.tabulate();
    this.layout();
  }

  send() {
    if (this.tau === this.sent) return;
    this.sent = this.tau;
    this.revision += 1;
    this.status.textContent = this.finding.textContent;
    this.commit({ tau: this.tau, revision: this.revision });
  }

  takeWaiting() {
    const { waiting } = this;
    this.waiting = null;
    if (waiting) this.setData(waiting);
  }

  move(tau) {
    this.tau = tau;
    this.refresh();
  }

  // --- gestures ------------------------------------------------------------------------------------------------

  press(event) {
    if (event.button !== 0 || this.held || !this.data) return;
    const box = this.svg.getBoundingClientRect();
    const to = (at) => {
      const part = clamp((at.clientX - box.left - MARGIN.left) / this.room, 0, 1);
      this.move(Number((COLDEST * (HOTTEST / COLDEST) ** part).toPrecision(3)));
    };
    const before = this.tau;
    this.held = true;
    this.sent = before;
    this.svg.classList.add("is-held");
    event.preventDefault();
    this.svg.setPointerCapture(event.pointerId);
    this.grip.focus({ preventScroll: true });
    const done = (last) => {
      if (last.type === "keydown" && last.key !== "Escape") return;
      this.svg.removeEventListener("pointermove", to);
      for (const kind of ["pointerup", "pointercancel"]) this.svg.removeEventListener(kind, done);
      this.root.removeEventListener("keydown", done, true);
      if (last.type !== "pointerup") this.move(before);
      this.held = false; // so that what waits is judged by the revision sent here
      this.svg.classList.remove("is-held");
      this.send();
      this.takeWaiting();
    };
    this.svg.addEventListener("pointermove", to);
    for (const kind of ["pointerup", "pointercancel"]) this.svg.addEventListener(kind, done);
    this.root.addEventListener("keydown", done, true);
    to(event);
  }

  key(event) {
    if (this.held || event.ctrlKey || event.metaKey || event.altKey) return;
    const up = ["ArrowRight", "ArrowUp"].includes(event.key);
    const down = ["ArrowLeft", "ArrowDown"].includes(event.key);
    const moves = { PageUp: this.tau * 1.5, PageDown: this.tau / 1.5, Home: COLDEST, End: HOTTEST };
    if (!up && !down && !(event.key in moves)) return;
    event.preventDefault();
    if (!this.turning) this.sent = this.tau;
    this.turning = true;
    const to = up || down ? stepped(this.tau, up) : Number(moves[event.key].toPrecision(2));
    this.move(clamp(to, COLDEST, HOTTEST));
  }

  settle() {
    if (!this.turning) return;
    this.turning = false;
    this.send();
    this.takeWaiting();
  }

  typed() {
    const tau = Number(this.input.value);
    if (this.input.value === "" || !Number.isFinite(tau) || tau <= 0) {
      this.refresh();
      this.input.value = written(this.tau);
      this.status.textContent = `τ must be a number above 0; it stays ${short(this.tau)}.`;
      return;
    }
    this.sent = this.tau;
    this.move(tau);
    this.send();
  }

  // --- the picture ---------------------------------------------------------------------------------------------

  x(tau) {
    return MARGIN.left + (this.room * Math.log(tau / COLDEST)) / Math.log(HOTTEST / COLDEST);
  }

  /** Panels from the top: what each shows, its scale, and how a curve's value follows from a reach and τ. */
  panels() {
    const { data } = this;
    const hottest = data.curves.map((curve) => needs(curve.reach, HOTTEST, data.participation).factor);
    const most = Math.max(10, ...hottest.filter(Number.isFinite));
    const decades = clamp(Math.ceil(Math.log10(most) - 1e-9), 1, 12);
    const apart = Math.ceil(decades / 5);
    const powers = Array.from({ length: Math.floor(decades / apart) + 1 }, (_, k) => 10 ** (k * apart));
    const shares = [0, 0.25, 0.5, 0.75, 1];
    const hard = noiseScale(Math.SQRT2, data.rhos[0]);
    const equal = data.rhos.every((rho) => rho === data.rhos[0]);
    const panels = [
      {
        name: "ratio", title: "Noise ratio q", right: equal ? "σ a round (votes)" : "σ of round 1 (votes)", height: 210,
        part: (value) => value, ticks: shares.map((share) => [share, String(share), short(share * hard)]),
        of: (curve, tau) => needs(curve.reach, tau, data.participation).ratio, floor: Math.SQRT1_2,
      },
      {
        name: "factor", title: "Equal-noise budget: times the ρ a hard vote needs", height: 150,
        part: (value) => Math.log10(value) / decades, ticks: powers.map((power) => [power, `× ${short(power)}`]),
        of: (curve, tau) => needs(curve.reach, tau, data.participation).factor, floor: 2,
      },
    ];
    if (data.profile) {
      panels.push({
        name: "top", title: "What it costs: the largest share of one record's vote, on average", height: 110,
        part: (value) => value, ticks: [0, 0.5, 1].map((share) => [share, `${100 * share} %`]),
        of: (_, tau) => between(data.profile.taus, data.profile.top, tau), alone: true,
      });
    }
    const probe = shape("text", { class: "bft-title", visibility: "hidden" });
    this.svg.append(probe);
    const measure = (text) => {
      probe.textContent = text;
      return probe.getComputedTextLength();
    };
    let y = MARGIN.top;
    for (const panel of panels) {
      const taken = panel.right ? measure(panel.right) + 12 : 0;
      panel.lines = broken(panel.title, this.room + MARGIN.right - 4 - taken, measure);
      panel.top = y + 22 + LINE * (panel.lines.length - 1);
      panel.bottom = panel.top + panel.height;
      panel.y = (value) => panel.bottom - panel.height * clamp(panel.part(value), 0, 1);
      y = panel.bottom + 14;
    }
    probe.remove();
    return panels;
  }

  layout() {
    if (!this.data) return;
    const width = this.stage.clientWidth;
    if (!width) return;
    const focused = this.grip && this.grip.getRootNode().activeElement === this.grip;
    this.room = width - MARGIN.left - MARGIN.right;
    this.shown = this.panels();
    const bottom = this.shown[this.shown.length - 1].bottom;
    const height = bottom + MARGIN.bottom;
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const parts = this.shown.flatMap((panel) => this.frame(panel));
    const titles = this.shown.flatMap((panel) => this.titles(panel));
    for (const tau of [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]) {
      const power = Number.isInteger(Math.log10(tau));
      parts.push(shape("line", { class: power ? "bft-grid is-power" : "bft-grid", x1: this.x(tau), x2: this.x(tau), y1: this.shown[0].top, y2: bottom }));
      if (power || width > 520) parts.push(shape("text", { class: "bft-tick", x: this.x(tau), y: bottom + 18, "text-anchor": "middle" }, String(tau)));
    }
    parts.push(shape("text", { class: "bft-axis", x: MARGIN.left + this.room / 2, y: bottom + 38, "text-anchor": "middle" }, "temperature τ (units of distance, log scale)"));
    parts.push(...this.shown.flatMap((panel) => this.curves(panel)));
    this.dots = this.shown.map(() => shape("circle", { class: "bft-dot", r: 5 }));
    this.rule = shape("line", { class: "bft-rule", y1: MARGIN.top - 6, y2: bottom });
    this.knob = shape("circle", { class: "bft-knob", r: 9, cy: MARGIN.top - 8 });
    this.label = shape("text", { class: "bft-label", y: MARGIN.top - 3 });
    this.grip ??= this.makeGrip();
    this.grip.replaceChildren(this.rule, ...this.dots, this.knob, this.label);
    this.svg.replaceChildren(...parts, this.grip, ...titles);
    if (focused) this.grip.focus({ preventScroll: true });
    this.refresh();
  }

  makeGrip() {
    const grip = shape("g", {
      class: "bft-grip", role: "slider", tabindex: 0, "data-grip": "tau", "aria-label": "Temperature τ",
      "aria-orientation": "horizontal", "aria-valuemin": COLDEST, "aria-valuemax": HOTTEST,
    });
    grip.addEventListener("keydown", (event) => this.key(event));
    grip.addEventListener("keyup", () => this.settle());
    grip.addEventListener("blur", () => this.settle());
    return grip;
  }

  frame(panel) {
    const right = MARGIN.left + this.room;
    const parts = [shape("rect", { class: "bft-panel", x: MARGIN.left, y: panel.top, width: this.room, height: panel.height })];
    for (const [value, left, other] of panel.ticks) {
      const y = panel.y(value);
      parts.push(shape("line", { class: "bft-grid", x1: MARGIN.left, x2: right, y1: y, y2: y }));
      parts.push(shape("text", { class: "bft-tick", x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, left));
      if (other !== undefined) parts.push(shape("text", { class: "bft-tick", x: right + 8, y: y + 4 }, other));
    }
    return parts;
  }

  titles(panel) {
    const first = panel.top - 8 - LINE * (panel.lines.length - 1);
    const lines = panel.lines.map((line, i) => shape("tspan", { x: MARGIN.left, y: first + LINE * i }, line));
    const own = shape("text", { class: "bft-title" }, ...lines);
    if (!panel.right) return [own];
    const x = MARGIN.left + this.room + MARGIN.right - 4;
    return [own, shape("text", { class: "bft-title is-right", x, y: panel.top - 8, "text-anchor": "end" }, panel.right)];
  }

  line(panel, curve) {
    const points = [];
    for (let k = 0; k <= POINTS; k++) {
      const tau = COLDEST * (HOTTEST / COLDEST) ** (k / POINTS);
      const value = panel.of(curve, tau);
      if (Number.isFinite(value)) points.push(`${this.x(tau).toFixed(2)} ${panel.y(value).toFixed(2)}`);
    }
    return points.length ? `M${points.join("L")}` : "";
  }

  curves(panel) {
    const drawn = [];
    let note = null; // over the curves, which would run through its words
    if (panel.floor) {
      const y = panel.y(panel.floor);
      const { participation } = this.data;
      drawn.push(shape("line", { class: `bft-floor${participation ? " is-on" : ""}`, "data-curve": `${panel.name}:floor`, x1: MARGIN.left, x2: MARGIN.left + this.room, y1: y, y2: y }));
      if (panel.name === "ratio" && this.room > 330) {
        const told = participation ? "participation floor: q ≥ 1/√2" : "floor if taking part were protected: 1/√2";
        // In force, the curves end on it: the words stand below, where none can come.
        const at = participation ? y + 18 : y - 5;
        note = shape("text", { class: "bft-note", x: MARGIN.left + this.room - 6, y: at, "text-anchor": "end" }, told);
      }
    }
    const own = panel.alone ? [{ kind: "record", name: "record", reach: 0 }] : [...this.data.curves].reverse();
    for (const curve of own) {
      const path = shape("path", { class: `bft-curve is-${curve.kind}`, "data-curve": `${panel.name}:${curve.kind}:${curve.name}`, d: this.line(panel, curve) });
      if (curve.kind === "attribute") path.setAttribute("stroke-dasharray", this.dash(curve));
      drawn.push(path);
    }
    if (note) drawn.push(note);
    return drawn;
  }

  dash(curve) {
    const attributes = this.data.curves.filter((other) => other.kind === "attribute");
    return DASHES[attributes.indexOf(curve) % DASHES.length];
  }

  /** The key of the chart, which is also its text alternative: every curve with its value at this τ. */
  tabulate() {
    const head = element("tr", {}, element("th", { scope: "col" }, "curve"), ...["reach", "q", "budget"].map((name) => element("th", { scope: "col" }, name)));
    this.rows = this.data.curves.map((curve) => {
      const swatch = shape("svg", { class: "bft-swatch", width: 26, height: 8, "aria-hidden": "true" }, shape("path", { class: `bft-curve is-${curve.kind}`, d: "M1 4H25", "stroke-dasharray": curve.kind === "attribute" ? this.dash(curve) : "" }));
      if (curve.kind === "ceiling") swatch.firstChild.removeAttribute("stroke-dasharray");
      const name = { record: "this policy", ceiling: `any edge of ${curve.name}` }[curve.kind] ?? `${curve.name} alone`;
      const cells = ["ratio", "factor"].map((what) => element("td", { "data-readout": `${what}:${curve.kind}:${curve.name}` }));
      const row = element("tr", {}, element("th", { scope: "row" }, swatch, name), element("td", {}, short(curve.reach)), ...cells);
      return { curve, cells, row };
    });
    this.table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...this.rows.map(({ row }) => row)));
  }

  /** Everything that follows τ: no curve is drawn anew. */
  refresh() {
    const { data, tau } = this;
    if (!this.shown) return;
    const record = data.curves[0];
    const now = needs(record.reach, tau, data.participation);
    const sigmas = data.rhos.map((rho) => noiseScale(now.l2, rho));
    const x = this.x(clamp(tau, COLDEST, HOTTEST));
    const off = tau < COLDEST ? " (left of this axis)" : tau > HOTTEST ? " (right of this axis)" : "";
    for (const line of [this.rule]) for (const end of ["x1", "x2"]) line.setAttribute(end, x);
    this.knob.setAttribute("cx", x);
    this.shown.forEach((panel, i) => {
      const value = panel.of(record, tau);
      this.dots[i].setAttribute("cx", x);
      this.dots[i].setAttribute("cy", Number.isFinite(value) ? panel.y(value) : panel.top);
      this.dots[i].toggleAttribute("hidden", !Number.isFinite(value) || off !== "");
    });
    const leftwards = x > MARGIN.left + this.room * 0.7;
    this.label.textContent = `τ = ${short(tau)}${off}`;
    this.label.setAttribute("x", x + (leftwards ? -15 : 15));
    this.label.setAttribute("text-anchor", leftwards ? "end" : "start");
    const finding = this.tell(now);
    this.finding.textContent = finding;
    this.svg.setAttribute("aria-label", finding);
    this.grip.setAttribute("aria-valuenow", tau);
    this.grip.setAttribute("aria-valuetext", `${short(tau)}: noise ratio ${short(now.ratio)}, budget times ${short(now.factor)}`);
    if (this.input.getRootNode().activeElement !== this.input || Number(this.input.value) !== tau) this.input.value = written(tau);
    this.input.dataset.raw = tau;
    this.write("ratio", now.ratio);
    this.write("l2", now.l2);
    this.write("factor", now.factor, `× ${short(now.factor)}`);
    const [least, most] = [Math.min(...sigmas), Math.max(...sigmas)];
    const same = least === most;
    this.write("sigma", most, same ? short(most) : `${short(least)} … ${short(most)}`);
    this.numbers.sigma.number.dataset.rounds = JSON.stringify(sigmas);
    this.numbers.sigma.small.textContent = same ? "votes, on each candidate" : `votes: least ${inRounds(sigmas, least)}, most ${inRounds(sigmas, most)}`;
    if (data.profile) {
      const top = between(data.profile.taus, data.profile.top, tau);
      this.write("top", top, `${short(100 * top)} %`);
    }
    for (const { curve, cells } of this.rows) {
      const own = needs(curve.reach, tau, data.participation);
      [cells[0].textContent, cells[1].textContent] = [short(own.ratio), `× ${short(own.factor)}`];
      [cells[0].dataset.raw, cells[1].dataset.raw] = [own.ratio, own.factor];
    }
  }

  tell({ l2, ratio, factor }) {
    const { joined, hard, participation, curves } = this.data;
    const tau = short(this.tau);
    if (l2 === 0 && !joined) return "This policy has no edges: no noise is needed, and nobody is protected.";
    if (l2 === 0 && curves[0].reach === 0) return "Votes ignore what is joined, of weight 0: its edges need no noise.";
    if (l2 === 0) return `At τ = ${tau} votes are too flat to differ: no noise is needed.`;
    if (participation && hard === 1) return "Participation alone sets the noise: the soft and the hard vote need the same, at any τ.";
    if (ratio > 0.98) return `At τ = ${tau} the soft vote needs as much noise as the hard one: softness buys nothing here.`;
    return `At τ = ${tau} the soft vote needs ${short(ratio)} of the hard vote's noise, as if the budget were ${short(factor)} times as large.`;
  }

  write(name, raw, text = short(raw)) {
    const { number } = this.numbers[name];
    number.textContent = text;
    number.dataset.raw = raw;
    number.title = String(raw);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Streamlit (components v2): called anew with every change of data; one dial a parent element.
// ---------------------------------------------------------------------------------------------------------------

const mounted = new WeakMap();

export default function temperatureDial({ data, parentElement, setStateValue }) {
  let dial = mounted.get(parentElement);
  if (!dial) {
    dial = new Dial(parentElement, null);
    mounted.set(parentElement, dial);
  }
  dial.commit = (state) => setStateValue("committed", state);
  dial.setData(data);
  return () => {
    dial.destroy();
    mounted.delete(parentElement);
  };
}
