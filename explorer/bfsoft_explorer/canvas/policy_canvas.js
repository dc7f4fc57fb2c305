/* The policy canvas: draws one attribute's policy graph, lets it be edited, and recomputes reach and bounds at every move.
 *
 * It knows geometry, gestures and the few formulas below; it does not know Streamlit or Jupyter beyond the two small
 * adapters at the end, and it never asks a server for a number.
 */

// ---------------------------------------------------------------------------------------------------------------
// Formulas (THEORY, "Sensitivity" and "Privacy"). Exported so that a test can hold them against bfsoft itself.
// ---------------------------------------------------------------------------------------------------------------

const SQRT_PI = Math.sqrt(Math.PI);

/** exp(x²)·erfc(x) for x ≥ 0: scaled, so that the far tail neither underflows nor loses digits. */
export function erfcx(x) {
  if (x < 1) {
    // erf(x) = 2/√π · e^(−x²) · Σ 2^k x^(2k+1) / (2k+1)!!, all terms positive
    let term = x;
    let sum = x;
    for (let k = 1; term > sum * 1e-17; k++) {
      term *= (2 * x * x) / (2 * k + 1);
      sum += term;
    }
    return Math.exp(x * x) - (2 / SQRT_PI) * sum;
  }
  const depth = Math.ceil(20 + 320 / (x * x));
  let tail = x;
  for (let k = depth; k >= 1; k--) tail = x + k / 2 / tail;
  return 1 / (SQRT_PI * tail);
}

/** The standard normal distribution function. */
export function normalCdf(z) {
  const upper = 0.5 * Math.exp((-z * z) / 2) * erfcx(Math.abs(z) / Math.SQRT2);
  return z > 0 ? 1 - upper : upper;
}

/** δ(ε) of a Gaussian release with μ = √(2ρ). */
export function gaussianDelta(rho, epsilon) {
  const mu = Math.sqrt(2 * rho);
  const a = -epsilon / mu + mu / 2;
  const b = -epsilon / mu - mu / 2;
  // e^ε φ(b) = φ(a), so the second term shares the first one's exponential: nothing overflows for large ε
  const density = 0.5 * Math.exp((-a * a) / 2);
  const second = density * erfcx(-b / Math.SQRT2);
  return a > 0 ? normalCdf(a) - second : density * erfcx(-a / Math.SQRT2) - second;
}

/** The exact ε at δ of ρ-zCDP by Gaussian noise; 0 when even ε = 0 satisfies δ. */
export function exactEpsilon(rho, delta) {
  if (!(rho > 0)) return 0;
  if (gaussianDelta(rho, 0) <= delta) return 0;
  let low = 0;
  let high = rho + 2 * Math.sqrt(rho * Math.log(1 / delta)) + 1e-12;
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    if (gaussianDelta(rho, middle) > delta) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Soft-vote bounds from the record's reach: L1, L2, the noise ratio L2 / √2 and the equal-noise budget factor. */
export function bounds(reach, tau, participation = false) {
  const shift = Math.tanh(reach / (2 * tau));
  const floor = participation ? 1 : 0;
  const l2 = Math.max(Math.SQRT2 * shift, floor);
  return { l1: Math.max(2 * shift, floor), l2, ratio: l2 / Math.SQRT2, factor: 2 / (l2 * l2) };
}

/** Whole steps between two values: places on the grid, tree steps, or 1 for any two categories. */
export function stepsBetween(attribute, i, j) {
  if (i === j) return 0;
  if (attribute.kind === "numeric") return Math.abs(i - j);
  return attribute.steps ? attribute.steps[i][j] : 1;
}

const known = new WeakMap();

/** The distinct numbers of steps between leaves of a tree, ascending; found once, asked for at every pointer move. */
function levelsOf(attribute) {
  if (!known.has(attribute)) {
    const seen = new Set();
    for (const row of attribute.steps ?? []) for (const steps of row) if (steps > 0) seen.add(steps);
    known.set(attribute, [...seen].sort((a, b) => a - b));
  }
  return known.get(attribute);
}

/** The longest number of steps between two values; δ = steps / span. */
export function spanOf(attribute) {
  const n = attribute.values.length;
  if (attribute.kind === "numeric") return n - 1;
  return attribute.steps ? (levelsOf(attribute).at(-1) ?? 0) : Number(n > 1);
}

/** How many whole steps a threshold reaches; the tolerance lets 0.3 on a grid of 0.1 be three steps, as written. */
export function thresholdSteps(attribute, threshold) {
  if (attribute.kind !== "numeric") return Math.floor(threshold + 1e-9);
  return Math.min(Math.floor(threshold / attribute.step + 1e-9), attribute.values.length - 1);
}

/** The edges of a rule: count, most steps, first widest pair, how many tie with it, membership and iteration. */
export function edgesOf(attribute, rule) {
  const n = attribute.values.length;
  const numeric = attribute.kind === "numeric";
  if (rule && numeric && (rule.complete || rule.threshold !== undefined)) {
    const most = rule.complete ? n - 1 : thresholdSteps(attribute, rule.threshold);
    return bandEdges(n, Math.max(0, most));
  }
  if (rule?.blocks && numeric) return blockEdges(n, rule.blocks);
  const pairs = [];
  const add = (i, j) => pairs.push(i < j ? [i, j] : [j, i]);
  if (rule?.complete || rule?.threshold !== undefined) {
    const most = rule.complete ? Infinity : thresholdSteps(attribute, rule.threshold);
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) if (stepsBetween(attribute, i, j) <= most) add(i, j);
  } else if (rule?.blocks) {
    for (const block of rule.blocks) {
      for (let a = 0; a < block.length; a++) for (let b = a + 1; b < block.length; b++) add(block[a], block[b]);
    }
  } else if (rule?.edges) {
    for (const [i, j] of rule.edges) if (i !== j) add(i, j);
  }
  return listedEdges(attribute, pairs);
}

/** All pairs at most `most` places apart on a grid, never listed one by one. */
function bandEdges(n, most) {
  const width = Math.min(most, n - 1);
  return {
    band: width,
    count: width * n - (width * (width + 1)) / 2,
    most: width,
    widest: width > 0 ? [0, width] : null,
    ties: width > 0 ? n - width : 0,
    has: (i, j) => i !== j && Math.abs(i - j) <= width,
    each(visit) {
      for (let k = 1; k <= width; k++) for (let i = 0; i + k < n; i++) visit(i, i + k);
    },
    neighbours(i) {
      const out = [];
      for (let j = Math.max(0, i - width); j <= Math.min(n - 1, i + width); j++) if (j !== i) out.push(j);
      return out;
    },
  };
}

/** All pairs within each block of grid values, never listed one by one. */
function blockEdges(n, blocks) {
  const members = blocks.map((block) => [...block].sort((a, b) => a - b)).filter((block) => block.length > 1);
  const home = new Int32Array(n).fill(-1);
  members.forEach((block, at) => block.forEach((i) => (home[i] = at)));
  let most = 0;
  let ties = 0;
  let widest = null;
  for (const block of members) {
    const width = block.at(-1) - block[0];
    if (width > most) {
      most = width;
      ties = 1;
      widest = [block[0], block.at(-1)];
    } else if (width === most) {
      ties++;
      if (block[0] < widest[0]) widest = [block[0], block.at(-1)];
    }
  }
  return {
    band: null,
    blocks: members,
    count: members.reduce((sum, block) => sum + (block.length * (block.length - 1)) / 2, 0),
    most,
    widest,
    ties,
    has: (i, j) => i !== j && home[i] >= 0 && home[i] === home[j],
    each(visit) {
      for (const block of members) for (let a = 0; a < block.length; a++) for (let b = a + 1; b < block.length; b++) visit(block[a], block[b]);
    },
    neighbours: (i) => (home[i] < 0 ? [] : members[home[i]].filter((j) => j !== i)),
  };
}

function listedEdges(attribute, pairs) {
  const n = attribute.values.length;
  const seen = new Set();
  const kept = [];
  let most = 0;
  let widest = null;
  let ties = 0;
  for (const [i, j] of pairs) {
    const id = i * n + j;
    if (seen.has(id)) continue;
    seen.add(id);
    kept.push([i, j]);
    const steps = stepsBetween(attribute, i, j);
    if (steps > most) {
      most = steps;
      widest = [i, j];
      ties = 1;
    } else if (steps === most) {
      ties++;
      if (i < widest[0] || (i === widest[0] && j < widest[1])) widest = [i, j];
    }
  }
  return {
    band: null,
    count: kept.length,
    most,
    widest,
    ties,
    has: (i, j) => seen.has(i < j ? i * n + j : j * n + i),
    each: (visit) => kept.forEach(([i, j]) => visit(i, j)),
    neighbours(value) {
      const out = [];
      for (const [i, j] of kept) if (i === value) out.push(j); else if (j === value) out.push(i);
      return out.sort((a, b) => a - b);
    },
  };
}

/** Weights that sum to 1. */
export function normalised(weights) {
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  return Object.fromEntries(Object.entries(weights).map(([name, weight]) => [name, weight / total]));
}

/** Every read-out for a state in which this attribute's longest edge takes `most` steps. */
export function readouts(data, { most, weights = data.weights, tau = data.tau }) {
  const share = normalised(weights);
  const name = data.attribute.name;
  const span = spanOf(data.attribute);
  const own = span > 0 ? (share[name] * most) / span : 0;
  let reach = 0;
  let setBy = null; // of attributes that reach equally far, the first of the domain, as core names it
  for (const [other, distance] of Object.entries(data.reaches ?? { [name]: 0 })) {
    const length = other === name ? own : share[other] * distance;
    if (length > reach * (1 + 1e-12)) setBy = other;
    reach = Math.max(reach, length);
  }
  const epsilon = data.rho ? exactEpsilon(data.rho, data.delta) : null;
  return { own, reach, setBy, share: share[name], epsilon, ...bounds(reach, tau, data.participation) };
}

/** The groups of values that hang together by edges, in order of their first value. */
export function componentsOf(attribute, edges) {
  const n = attribute.values.length;
  const root = Int32Array.from({ length: n }, (_, i) => i);
  const find = (i) => {
    while (root[i] !== i) i = root[i] = root[root[i]];
    return i;
  };
  if (edges.band !== null) {
    if (edges.band > 0) root.fill(0);
  } else {
    edges.each((i, j) => {
      const a = find(i);
      const b = find(j);
      if (a !== b) root[Math.max(a, b)] = Math.min(a, b);
    });
  }
  const groups = new Map();
  for (let i = 0; i < n; i++) {
    const r = find(i);
    if (!groups.has(r)) groups.set(r, []);
    groups.get(r).push(i);
  }
  return [...groups.values()];
}

function sameRule(attribute, a, b) {
  if (a === b) return true;
  if (JSON.stringify(a) === JSON.stringify(b)) return true;
  const left = edgesOf(attribute, a);
  const right = edgesOf(attribute, b);
  if (left.count !== right.count) return false;
  // a threshold and an edge list may join the same pairs and still be different things to the person editing them
  if (a && b && Object.keys(a)[0] !== Object.keys(b)[0]) return false;
  if (left.count > LISTED_EDGES) return false;
  let same = true;
  left.each((i, j) => {
    same = same && right.has(i, j);
  });
  return same;
}

// ---------------------------------------------------------------------------------------------------------------
// Small helpers
// ---------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
const DRAWN_ARCS = 1200; // more than this in one path and a frame no longer fits 16 ms on a modest laptop
const GROUP_COLOURS = 6;
const LISTED_EDGES = 2_000_000; // more than this one by one and the browser stalls
const VALUE_NODES = 1500; // axes with more values keep elements for a sample of them and make the others when touched

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Four significant digits, with the exponent only where a plain number would be unreadable. */
function short(number, digits = 4) {
  if (number === null || number === undefined) return "–";
  if (!Number.isFinite(number)) return "∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = number.toExponential(2).split("e");
    return `${mantissa}e${Number(exponent)}`;
  }
  if (size >= 1000) return Math.round(number).toLocaleString("en");
  return number.toPrecision(digits);
}

/** As few digits as can say the number to this precision: 0.001, not 0.00100. */
function brief(number, digits = 3) {
  const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
  return Math.abs(exponent) > 4 ? `${Number(mantissa)}e${Number(exponent)}` : String(Number(number.toPrecision(digits)));
}

const BOUNDS = { l1: "2 tanh(r / 2τ)", l2: "√2 tanh(r / 2τ)" };

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

/** Whether the ground behind the canvas is dark: Streamlit says it in a variable, a notebook only by its colours. */
function onDarkGround(node) {
  const probe = element("span");
  node.append(probe);
  probe.style.color = "var(--st-background-color, var(--jp-layout-color0, rgba(0, 0, 0, 0)))";
  const told = getComputedStyle(probe).color;
  probe.remove();
  const grounds = [told];
  for (let at = node; at; at = at.parentElement ?? at.getRootNode()?.host) grounds.push(getComputedStyle(at).backgroundColor);
  for (const ground of grounds) {
    const parts = ground.match(/[\d.]+/g)?.map(Number) ?? [];
    if (parts.length < 3 || (parts.length === 4 && parts[3] < 0.5)) continue;
    return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] < 128;
  }
  return window.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
}

// ---------------------------------------------------------------------------------------------------------------
// A slider on any scale
// ---------------------------------------------------------------------------------------------------------------

/** A range input that holds the true value while its thumb stands where `fraction` says (a log scale, for τ).
 *
 * The native thumb is hidden: it can only be linear. Keyboard, screen readers and scripts still meet a plain range input.
 */
class Slider {
  constructor({ name, label, min, max, step, fraction, value, describe, typed, oninput, oncommit, onrefuse }) {
    Object.assign(this, { min, max, step, fraction, value, describe, oninput, oncommit, dirty: false });
    this.input = element("input", { type: "range", name, min, max, step: step ?? "any", "aria-label": label });
    this.exact = element("input", {
      type: "number", name: `${name}-exact`, step: step ?? "any", min: typed.min, max: typed.max, inputmode: "decimal",
      "aria-label": `${label}, exact`,
    });
    this.note = element("span", { class: "bf-slider-note" });
    this.track = element("div", { class: "bf-track" }, this.input, element("i", { class: "bf-thumb" }));
    this.node = element(
      "div", { class: "bf-slider" },
      element("div", { class: "bf-slider-head" }, element("span", { class: "bf-slider-label" }, label), this.note, this.exact),
      this.track,
    );
    this.input.addEventListener("input", () => this.move(Number(this.input.value)));
    this.input.addEventListener("change", () => this.settle());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("keyup", () => this.settle());
    this.exact.addEventListener("change", () => {
      const number = Number(this.exact.value);
      if (this.exact.value !== "" && Number.isFinite(number) && typed.accepts(number)) {
        this.move(number);
        this.settle();
      } else {
        if (this.exact.value !== "") onrefuse(`${label}: ${this.exact.value} is not ${typed.words}.`);
        this.set(this.current);
      }
    });
    this.track.addEventListener("pointerdown", (event) => this.press(event));
    // the native control would answer these too, on its own linear scale
    this.input.addEventListener("mousedown", (event) => event.preventDefault());
    this.input.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  }

  set(value) {
    this.current = value;
    if (Number(this.input.value) !== value) this.input.value = String(value);
    const typing = this.exact.matches(":focus") && Number(this.exact.value) === value;
    if (!typing) this.exact.value = String(Number(value.toPrecision(6)));
    this.track.style.setProperty("--at", clamp(this.fraction(value), 0, 1));
    const said = this.describe(value);
    this.note.textContent = said.note ?? "";
    this.input.setAttribute("aria-valuetext", said.spoken);
  }

  move(value) {
    this.dirty = true;
    this.set(value);
    this.oninput(value);
  }

  settle() {
    if (!this.dirty) return;
    this.dirty = false;
    this.oncommit();
  }

  snapped(fraction) {
    const value = this.value(clamp(fraction, 0, 1));
    if (!this.step) return value;
    const steps = Math.round((value - this.min) / this.step);
    return Number(clamp(this.min + steps * this.step, this.min, this.max).toPrecision(12));
  }

  press(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.input.focus({ preventScroll: true });
    const box = this.track.getBoundingClientRect();
    const to = (at) => this.move(this.snapped((at.clientX - box.left - 9) / (box.width - 18)));
    const drag = (moved) => to(moved);
    const done = () => {
      this.held = false;
      this.track.removeEventListener("pointermove", drag);
      this.track.removeEventListener("pointerup", done);
      this.track.removeEventListener("pointercancel", done);
      this.settle();
    };
    this.held = true;
    this.track.setPointerCapture(event.pointerId);
    this.track.addEventListener("pointermove", drag);
    this.track.addEventListener("pointerup", done);
    this.track.addEventListener("pointercancel", done);
    to(event);
  }

  key(event) {
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    let value = null;
    if (event.key in moves) {
      value = this.step
        ? Number(clamp(this.current + moves[event.key] * this.step, this.min, this.max).toPrecision(12))
        : this.value(clamp(this.fraction(this.current) + moves[event.key] / 100, 0, 1));
    } else if (event.key === "Home") value = this.min;
    else if (event.key === "End") value = this.max;
    if (value === null) return;
    event.preventDefault();
    this.move(value);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Pictures of an attribute. Each draws into `stage`, tells which value or edge is at a point, and paints highlights.
// An arc view works along one line: `along` is the position of a value on it, `out` how far an arc leaves it.
// ---------------------------------------------------------------------------------------------------------------

class ArcView {
  constructor(canvas) {
    this.canvas = canvas;
    this.attribute = canvas.data.attribute;
    this.n = this.attribute.values.length;
    this.along = new Float64Array(this.n);
    this.paths = {};
  }

  layers() {
    const layer = (name, tag = "path") => (this.paths[name] = shape(tag, { class: `bf-${name}` }));
    return ["band", "arcs", "arcs-heavy", "near", "hover", "widest", "rubber", "lasso"].map((name) => layer(name));
  }

  out(i, j) {
    return this.n < 2 ? 0 : this.depth * (Math.abs(i - j) / (this.n - 1)) ** 0.3;
  }

  paint(edges, widest) {
    const drawn = this.drawnArcs(edges);
    this.paths.band.setAttribute("d", drawn.band);
    this.paths.arcs.setAttribute("d", drawn.light);
    this.paths["arcs-heavy"].setAttribute("d", drawn.heavy);
    this.paths.arcs.classList.toggle("is-sparse", drawn.count < 60);
    this.paths.arcs.style.setProperty("--arc-opacity", clamp(16 / Math.sqrt(drawn.count + 1), 0.34, 0.95));
    this.paths.widest.setAttribute("d", widest ? this.arc(...widest) : "");
    return drawn.bundles;
  }

  /** Path data for all edges: each an arc while they are few, a sample or bundles of them when they are many. */
  drawnArcs(edges) {
    const none = { band: "", light: "", heavy: "", count: 0, bundles: 0 };
    if (!edges.count) return none;
    const light = [];
    if (edges.count <= DRAWN_ARCS) {
      edges.each((i, j) => light.push(this.arc(i, j)));
      return { ...none, light: light.join(""), count: edges.count };
    }
    if (edges.band !== null) {
      const stride = Math.ceil(this.n / 160);
      const lengths = clamp(Math.floor(DRAWN_ARCS / Math.ceil(this.n / stride)), 2, edges.band);
      for (let part = 1; part <= lengths; part++) {
        const k = Math.max(1, Math.round((edges.band * part) / lengths));
        for (let i = 0; i + k < this.n; i += stride) light.push(this.arc(i, i + k));
      }
      return { ...none, band: this.envelope(edges.band), light: light.join(""), count: light.length, bundles: light.length };
    }
    if (edges.blocks) {
      const kept = Math.max(2, Math.floor(Math.sqrt((2 * DRAWN_ARCS) / edges.blocks.length)));
      for (const block of edges.blocks) {
        const every = Math.max(1, (block.length - 1) / (kept - 1));
        const sample = [];
        for (let at = 0; at < block.length - 0.5; at += every) sample.push(block[Math.round(at)]);
        for (let a = 0; a < sample.length; a++) for (let b = a + 1; b < sample.length; b++) light.push(this.arc(sample[a], sample[b]));
      }
      return { ...none, light: light.join(""), count: light.length, bundles: light.length };
    }
    const bins = Math.min(this.n, 48);
    const bundles = new Map();
    edges.each((i, j) => {
      const a = Math.floor((i * bins) / this.n);
      const b = Math.floor((j * bins) / this.n);
      const bundle = bundles.get(a * bins + b);
      if (bundle) bundle.count++;
      else bundles.set(a * bins + b, { i, j, count: 1 });
    });
    const typical = edges.count / bundles.size;
    const heavy = [];
    for (const { i, j, count } of bundles.values()) (count > typical ? heavy : light).push(this.arc(i, j));
    return { ...none, light: light.join(""), heavy: heavy.join(""), count: bundles.size, bundles: bundles.size };
  }

  nearestValue(along) {
    let low = 0;
    let high = this.n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.along[middle] <= along) low = middle;
      else high = middle;
    }
    return Math.abs(this.along[low] - along) <= Math.abs(this.along[high] - along) ? low : high;
  }

  /** The edge whose arc passes within a finger's width of a point, or null. */
  edgeNear(along, out, edges, slack) {
    if (out < 3 || edges.count > LISTED_EDGES) return null;
    let best = null;
    let least = slack;
    edges.each((i, j) => {
      const a = this.along[i];
      const b = this.along[j];
      if (along < a - slack || along > b + slack) return;
      const rx = (b - a) / 2;
      const ry = this.out(i, j);
      if (out > ry + slack) return;
      const x = (along - (a + b) / 2) / rx;
      const y = out / ry;
      const gradient = 2 * Math.hypot(x / rx, y / ry);
      const distance = Math.abs(x * x + y * y - 1) / gradient;
      if (distance < least) {
        least = distance;
        best = [i, j];
      }
    });
    return best;
  }

  highlight({ value = null, edge = null, edges }) {
    this.paths.hover.setAttribute("d", edge ? this.arc(...edge) : "");
    const near = value === null ? [] : edges.neighbours(value);
    const step = Math.ceil(near.length / 200);
    this.paths.near.setAttribute("d", near.filter((_, at) => at % step === 0).map((j) => this.arc(Math.min(value, j), Math.max(value, j))).join(""));
    this.mark("is-hover", value === null ? [] : [value]);
    this.mark("is-near", near.length <= 400 ? near : []);
  }

  /** Put a class on exactly these values, touching only the ones that change. */
  mark(name, values) {
    this.marked ??= {};
    if (values.length > VALUE_NODES) values = values.filter((i) => this.nodes[i]);
    for (const i of this.marked[name] ?? []) this.nodes[i].classList.remove(name);
    for (const i of values) this.nodeOf(i).classList.add(name);
    this.marked[name] = values;
  }

  nodeOf(i) {
    return this.nodes[i];
  }

  rubber(from, point, to) {
    this.paths.rubber.setAttribute("d", from === null ? "" : to !== null ? this.arc(Math.min(from, to), Math.max(from, to)) : this.loose(from, point));
  }
}

/** Numbers: values on a horizontal axis, arcs above it. */
class AxisView extends ArcView {
  constructor(canvas) {
    super(canvas);
    this.svg = shape("svg", { class: "bf-svg", role: "group" });
    this.svg.setAttribute("aria-label", `Policy graph of ${this.attribute.name}: ${this.n} values on an axis`);
    this.blockLayer = shape("g", { class: "bf-spans" });
    this.ticks = shape("g", { class: "bf-ticks", "aria-hidden": "true" });
    this.axis = shape("line", { class: "bf-axis" });
    this.values = shape("g", { class: "bf-values" });
    this.tip = shape("text", { class: "bf-tip", "text-anchor": "middle", "aria-hidden": "true" });
    this.widestLabel = shape("text", { class: "bf-widest-label", "text-anchor": "middle", "aria-hidden": "true" });
    this.nodes = new Array(this.n);
    const every = Math.ceil(this.n / VALUE_NODES);
    for (let i = 0; i < this.n; i += every) this.makeNode(i);
    if (this.n) this.nodeOf(this.n - 1);
    this.svg.append(...this.layers(), this.axis, this.blockLayer, this.ticks, this.values, this.widestLabel, this.tip);
    this.node = element("div", { class: "bf-axis-view" }, this.svg);
  }

  resize(width) {
    const side = clamp(6 + 4 * Math.max(...[0, this.n - 1].map((i) => String(this.attribute.values[i]).length)), 16, 40);
    this.width = width;
    // stacked, the picture leaves room for the sliders under it; beside them it may be as tall as they are
    const stacked = width > 0.9 * this.canvas.root.clientWidth;
    this.depth = clamp(width * (stacked ? 0.2 : 0.36), 110, stacked ? 160 : 330);
    this.base = this.depth + 26;
    this.height = this.base + 58;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("height", this.height);
    this.svg.setAttribute("width", width);
    const room = width - 2 * side;
    const gap = this.n > 1 ? room / (this.n - 1) : room;
    const radius = clamp(gap * 0.32, 1.1, 6);
    this.gap = gap;
    this.radius = radius;
    for (let i = 0; i < this.n; i++) this.along[i] = this.n > 1 ? side + (room * i) / (this.n - 1) : width / 2;
    this.nodes.forEach((_, i) => this.place(i));
    for (const [name, value] of Object.entries({ x1: side, x2: width - side, y1: this.base, y2: this.base })) this.axis.setAttribute(name, value);
    this.layTicks(gap);
  }

  makeNode(i) {
    const label = this.attribute.values[i];
    const node = shape("g", { class: "bf-value", "data-value": label, "data-index": i, role: "button", tabindex: "-1" });
    node.setAttribute("aria-label", `${this.attribute.name} ${label}`);
    node.append(shape("rect", { class: "bf-hit", height: 32 }), shape("circle", { class: "bf-dot" }));
    this.values.append(node);
    this.nodes[i] = node;
    return node;
  }

  nodeOf(i) {
    if (this.nodes[i]) return this.nodes[i];
    this.makeNode(i);
    if (this.width) this.place(i);
    return this.nodes[i];
  }

  place(i) {
    const [hit, dot] = this.nodes[i].children;
    const x = this.along[i];
    const wide = clamp(this.gap, 2, 36);
    hit.setAttribute("x", x - wide / 2);
    hit.setAttribute("y", this.base - 16);
    hit.setAttribute("width", wide);
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", this.base);
    dot.setAttribute("r", this.radius);
  }

  layTicks(gap) {
    const labels = this.attribute.values;
    const wide = 8 * labels.reduce((most, label) => Math.max(most, String(label).length), 0) + 12;
    const rungs = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((times) => times * 10 ** power));
    const nice = rungs.find((every) => every * gap >= wide) ?? this.n;
    const start = ((-Math.round(this.attribute.low / this.attribute.step) % nice) + nice) % nice;
    const chosen = new Set([0, this.n - 1]);
    for (let i = start; i < this.n; i += nice) {
      const clear = (end) => i === end || Math.abs(i - end) * gap >= wide;
      if (clear(0) && clear(this.n - 1)) chosen.add(i);
    }
    this.ticks.replaceChildren(
      ...[...chosen].map((i) => {
        const text = shape("text", { x: this.along[i], y: this.base + 30, "text-anchor": "middle" });
        text.textContent = labels[i];
        return text;
      }),
    );
  }

  arc(i, j) {
    const a = this.along[i];
    const b = this.along[j];
    return `M${a.toFixed(1)} ${this.base}A${((b - a) / 2).toFixed(1)} ${this.out(i, j).toFixed(1)} 0 0 1 ${b.toFixed(1)} ${this.base}`;
  }

  loose(from, point) {
    const x = this.along[from];
    const reach = Math.max(Math.abs(point.x - x) / 2, 1);
    const lift = clamp(reach * 0.8, 18, this.depth);
    return `M${x} ${this.base}C${x} ${this.base - lift} ${point.x} ${Math.min(point.y, this.base) - lift / 3} ${point.x} ${point.y}`;
  }

  envelope(k) {
    const top = this.base - this.out(0, k);
    const left = this.along[0];
    const right = this.along[this.n - 1];
    const rx = (this.along[k] - left) / 2;
    const ry = this.base - top;
    return `M${left} ${this.base}A${rx} ${ry} 0 0 1 ${left + rx} ${top}L${right - rx} ${top}A${rx} ${ry} 0 0 1 ${right} ${this.base}Z`;
  }

  valueAt(point, coarse) {
    const slack = coarse ? 26 : 17;
    if (point.y < this.base - slack || point.y > this.base + 40) return null;
    const value = this.nearestValue(point.x);
    return Math.abs(this.along[value] - point.x) <= Math.max(this.gap / 2 + 1, coarse ? 22 : 12) ? value : null;
  }

  valueNear(point) {
    return this.nearestValue(point.x);
  }

  edgeAt(point, edges, coarse) {
    return this.edgeNear(point.x, this.base - point.y, edges, coarse ? 14 : 7);
  }

  within(from, to) {
    const low = Math.min(from.x, to.x);
    const high = Math.max(from.x, to.x);
    const inside = [];
    for (let i = 0; i < this.n; i++) if (this.along[i] >= low && this.along[i] <= high) inside.push(i);
    return inside;
  }

  lasso(from, to) {
    if (!from) return this.paths.lasso.setAttribute("d", "");
    this.paths.lasso.setAttribute("d", `M${from.x} ${from.y}H${to.x}V${to.y}H${from.x}Z`);
  }

  highlight(what) {
    super.highlight(what);
    const value = what.value ?? null;
    this.tip.textContent = value === null ? "" : this.attribute.values[value];
    if (value !== null) {
      this.tip.setAttribute("x", clamp(this.along[value], 14, this.width - 14));
      this.tip.setAttribute("y", this.base + 31);
    }
  }

  nameWidest(widest) {
    this.widestLabel.textContent = widest ? `${this.attribute.values[widest[0]]} – ${this.attribute.values[widest[1]]}` : "";
    if (!widest) return;
    const middle = (this.along[widest[0]] + this.along[widest[1]]) / 2;
    this.widestLabel.setAttribute("x", clamp(middle, 44, this.width - 44));
    this.widestLabel.setAttribute("y", this.base - this.out(...widest) - 8);
  }

  /** Bars under the dots for blocks, each with a cross that parts it. */
  showBlocks(blocks, part) {
    const bars = [];
    blocks.forEach((block, at) => {
      const runs = [];
      for (const i of block) {
        const last = runs.at(-1);
        if (last && last[1] === i - 1) last[1] = i;
        else runs.push([i, i]);
      }
      for (const [a, b] of runs) {
        const half = Math.min(this.gap / 2 - 0.5, 8);
        const bar = shape("rect", { class: `bf-span bf-group-${at % GROUP_COLOURS}`, rx: 3, height: 6, y: this.base + 9 });
        bar.setAttribute("x", this.along[a] - half);
        bar.setAttribute("width", Math.max(2, this.along[b] - this.along[a] + 2 * half));
        bars.push(bar);
      }
      const [a, b] = runs[0];
      const middle = (this.along[a] + this.along[b]) / 2;
      const cross = shape("g", { class: "bf-cross", role: "button", tabindex: "0", "data-part": at });
      cross.setAttribute("aria-label", `Part the block ${this.canvas.namesOf(block)}`);
      const crossMark = shape("text", { x: middle, y: this.base + 50, "text-anchor": "middle", "aria-hidden": "true" });
      crossMark.textContent = "×";
      cross.append(shape("rect", { class: "bf-hit", x: middle - 12, y: this.base + 35, width: 24, height: 22 }), crossMark);
      cross.addEventListener("pointerdown", (event) => event.stopPropagation());
      cross.addEventListener("click", () => part(at));
      cross.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " " && event.key !== "Delete") return;
        event.preventDefault();
        event.stopPropagation();
        part(at);
      });
      bars.push(cross);
    });
    this.blockLayer.replaceChildren(...bars);
  }
}

/** Categories and hierarchies: one row a value (a tree as its outline), arcs to the right. */
class RowsView extends ArcView {
  constructor(canvas) {
    super(canvas);
    this.nodes = [];
    this.list = element("div", { class: "bf-rows" });
    const tree = this.attribute.tree;
    if (tree) this.outline(tree, 0, { next: 0 });
    else this.attribute.values.forEach((_, i) => this.list.append(this.row(i, 0)));
    this.svg = shape("svg", { class: "bf-svg bf-overlay", "aria-hidden": "true" });
    this.svg.append(...this.layers());
    this.node = element("div", { class: "bf-rows-view", role: "group", "aria-label": `Policy graph of ${this.attribute.name}: ${this.n} values` }, this.list, this.svg);
    this.node.classList.toggle("is-dense", this.n > 20);
  }

  row(i, level) {
    const label = this.attribute.values[i];
    const node = element(
      "button", { type: "button", class: "bf-value bf-row", "data-value": label, "data-index": i, tabindex: "-1", style: `--level:${level}` },
      element("span", { class: "bf-row-text" }, String(label)), element("i", { class: "bf-row-dot" }),
    );
    this.nodes[i] = node;
    return node;
  }

  outline(branch, level, counter) {
    for (const child of branch.children) {
      if (child.children) {
        const first = counter.next;
        const head = element("button", { type: "button", class: "bf-branch", style: `--level:${level}` }, child.name);
        this.list.append(head);
        this.outline(child, level + 1, counter);
        const leaves = Array.from({ length: counter.next - first }, (_, k) => first + k);
        head.title = `Join ${leaves.length} values`;
        head.addEventListener("click", () => this.canvas.joinAll(leaves, child.name));
        (this.branches ??= []).push({ head, leaves });
      } else {
        this.list.append(this.row(counter.next++, level));
      }
    }
  }

  resize(width) {
    this.width = width;
    const height = this.list.offsetHeight;
    this.height = height;
    this.base = this.list.offsetWidth - 9;
    this.depth = Math.max(20, Math.min(width - this.base - 22, 60 + height * 0.75));
    this.nodes.forEach((node, i) => {
      this.along[i] = node.offsetTop + node.offsetHeight / 2;
    });
    this.gap = this.n > 1 ? (this.along[this.n - 1] - this.along[0]) / (this.n - 1) : height;
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  arc(i, j) {
    const a = this.along[i];
    const b = this.along[j];
    return `M${this.base} ${a.toFixed(1)}A${this.out(i, j).toFixed(1)} ${((b - a) / 2).toFixed(1)} 0 0 1 ${this.base} ${b.toFixed(1)}`;
  }

  loose(from, point) {
    const y = this.along[from];
    const lift = clamp(Math.abs(point.y - y) * 0.5, 24, this.depth);
    return `M${this.base} ${y}C${this.base + lift} ${y} ${Math.max(point.x, this.base) + lift / 3} ${point.y} ${point.x} ${point.y}`;
  }

  envelope() {
    return "";
  }

  valueAt(point) {
    if (point.x > this.base + 14 || point.x < -6) return null;
    const value = this.nearestValue(point.y);
    return Math.abs(this.along[value] - point.y) <= this.nodes[value].offsetHeight / 2 + 2 ? value : null;
  }

  valueNear(point) {
    return this.nearestValue(point.y);
  }

  edgeAt(point, edges, coarse) {
    return this.edgeNear(point.y, point.x - this.base, edges, coarse ? 14 : 7);
  }

  within(from, to) {
    const low = Math.min(from.y, to.y);
    const high = Math.max(from.y, to.y);
    const inside = [];
    for (let i = 0; i < this.n; i++) if (this.along[i] >= low && this.along[i] <= high) inside.push(i);
    return inside;
  }

  lasso(from, to) {
    AxisView.prototype.lasso.call(this, from, to);
  }

  paint(edges, widest) {
    for (const { head, leaves } of this.branches ?? []) {
      let whole = leaves.length > 1;
      for (let a = 0; whole && a < leaves.length; a++) for (let b = a + 1; whole && b < leaves.length; b++) whole = edges.has(leaves[a], leaves[b]);
      head.classList.toggle("is-whole", whole);
    }
    return super.paint(edges, widest);
  }

  nameWidest() {}
  showBlocks() {}
}

/** Blocks of categories as cards: drag a value onto another or onto a card to join, out of it to part. */
class CardsView {
  constructor(canvas) {
    this.canvas = canvas;
    this.attribute = canvas.data.attribute;
    this.node = element("div", { class: "bf-cards", role: "group", "aria-label": `Blocks of ${this.attribute.name}` });
    this.nodes = this.attribute.values.map((label, i) =>
      element("button", { type: "button", class: "bf-value bf-chip", "data-value": label, "data-index": i, tabindex: "-1" }, String(label)),
    );
    this.loop = element("i", { class: "bf-loop", hidden: true });
  }

  resize() {}
  highlight() {}

  /** The values whose cards' names the rectangle between two points touches. */
  within(from, to) {
    const ground = this.node.getBoundingClientRect();
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    const touched = (node) => {
      const box = node.getBoundingClientRect();
      return box.left - ground.left <= right && box.right - ground.left >= left && box.top - ground.top <= bottom && box.bottom - ground.top >= top;
    };
    return this.nodes.flatMap((node, i) => (touched(node) ? [i] : []));
  }

  lasso(from, to) {
    this.loop.hidden = !from;
    if (!from) return;
    const box = { left: Math.min(from.x, to.x), top: Math.min(from.y, to.y), width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
    for (const [name, pixels] of Object.entries(box)) this.loop.style[name] = `${pixels}px`;
  }
  rubber() {}
  nameWidest() {}

  nodeOf(i) {
    return this.nodes[i];
  }

  mark(name, values) {
    this.nodes.forEach((node, i) => node.classList.toggle(name, values.includes(i)));
  }

  showBlocks(blocks) {
    const focused = this.nodes.find((node) => node.matches(":focus"));
    const placed = new Set(blocks.flat());
    const alone = this.nodes.map((_, i) => i).filter((i) => !placed.has(i));
    const cards = blocks.map((block, at) =>
      element(
        "section", { class: `bf-card bf-group-${at % GROUP_COLOURS}`, "data-block": at },
        element("h4", { class: "bf-card-head", title: "Drag to join another block" }, element("b", {}, `Block ${at + 1}`), plural(block.length, "value")),
        element("div", { class: "bf-chips" }, ...block.map((i) => this.nodes[i])),
      ),
    );
    const apart = element(
      "section", { class: "bf-card bf-apart", "data-block": "apart" },
      element("h4", { class: "bf-card-head" }, element("b", {}, "On their own"), alone.length ? "joined to nothing" : "pull a value here to part it"),
      element("div", { class: "bf-chips" }, ...alone.map((i) => this.nodes[i])),
    );
    this.node.replaceChildren(...cards, apart, this.loop);
    focused?.focus({ preventScroll: true });
  }

  paint() {
    return 0;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The canvas itself
// ---------------------------------------------------------------------------------------------------------------

const MODES = {
  threshold: { label: "Threshold", hint: "Joins values at most θ apart." },
  blocks: { label: "Blocks", hint: "Joins all values of a block." },
  complete: { label: "Complete", hint: "Joins every value with every other." },
  draw: { label: "Draw", hint: "Edges as you draw them." },
};

const GESTURES = [
  ["Join two values", "drag from one to the other, or tap both", "Enter on each"],
  ["Erase an edge", "click its arc", "Enter on one value, Delete on the other"],
  ["Erase all edges of a value", "", "Delete on it"],
  ["Make a block", "Lasso, or drag with Shift", "Shift and arrows, then Enter"],
  ["In Blocks", "drag a value onto another to join, out of its block to part", "Enter on each; Delete parts"],
  ["Undo, redo", "the buttons", "Ctrl Z, Ctrl Y"],
];

class Canvas {
  constructor(parent, sink, histories = new Map()) {
    this.sink = sink;
    this.histories = histories;
    this.revision = 0;
    this.root = element("div", { class: "bf" });
    parent.append(this.root);
    this.resizer = new ResizeObserver(() => this.layout());
    this.scheme = window.matchMedia("(prefers-color-scheme: dark)");
    this.onScheme = () => this.dress();
    this.scheme.addEventListener("change", this.onScheme);
    // JupyterLab changes its theme under a living canvas, and says so on the body
    this.host = new MutationObserver(this.onScheme);
    this.host.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] });
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  destroy() {
    this.keepHistory();
    this.resizer.disconnect();
    this.scheme.removeEventListener("change", this.onScheme);
    this.host.disconnect();
    this.root.remove();
  }

  dress() {
    this.root.dataset.theme = onDarkGround(this.root) ? "dark" : "light";
  }

  // --- data in -------------------------------------------------------------------------------------------------

  setData(data) {
    if (!data?.attribute) return;
    const incoming = data.revision ?? 0;
    const { kind, low, high, step, values } = data.attribute;
    if (kind === "numeric" && !values) {
      const count = Math.round((high - low) / step) + 1;
      const labels = Array.from({ length: count }, (_, i) => String(Number((low + i * step).toPrecision(12))));
      data = { ...data, attribute: { ...data.attribute, values: labels } };
    }
    const domain = JSON.stringify([data.attribute, Object.keys(data.weights), data.chooser ?? null]);
    if (domain !== this.domain) {
      this.keepHistory();
      this.domain = domain;
      this.data = data;
      this.revision = Math.max(this.revision, incoming);
      this.mode = this.modeOf(data.rule);
      this.adopt(data);
      this.findHistory();
      this.build();
      return;
    }
    if (this.drag || this.sliders.some((slider) => slider.held || slider.dirty)) {
      this.waiting = data; // what the hand is doing comes first; its release commits, or takes this up
      return;
    }
    const stale = incoming < this.revision;
    this.data = data;
    if (!stale) {
      const same = this.isNow({ rule: data.rule ?? null, tau: data.tau, weights: data.weights });
      if (!same) {
        this.revision = incoming;
        this.past.push(this.saved); // a change from elsewhere, as by a suggestion, is a step like any other
        this.future = [];
        if (data.rule || (this.mode !== "draw" && this.mode !== "blocks")) this.mode = this.modeOf(data.rule);
        this.adopt(data);
        this.showMode();
      }
    }
    this.dress();
    this.refresh();
  }

  /** Whether a state is the present one, apart from its mode. */
  isNow({ rule, tau, weights }) {
    return sameRule(this.data.attribute, rule, this.rule) && tau === this.tau && this.closeWeights(weights);
  }

  /** Lay the steps to undo aside under their attribute, for when it is looked at again. */
  keepHistory() {
    if (this.domain) this.histories.set(this.domain, { past: this.past, future: this.future, saved: this.saved });
  }

  /** Take them up again; they are over where something else has changed the state meanwhile. */
  findHistory() {
    const kept = this.histories.get(this.domain);
    const { past, future } = kept && this.isNow(kept.saved) ? kept : { past: [], future: [] };
    Object.assign(this, { past, future });
  }

  adopt(data) {
    this.rule = data.rule ?? null;
    this.tau = data.tau;
    this.weights = { ...data.weights };
    this.edges = edgesOf(data.attribute, this.rule);
    this.saved = this.snapshot();
    this.picked = null;
    this.chosen = [];
    if (this.rule?.threshold !== undefined) this.lastThreshold = this.rule.threshold;
    else this.lastThreshold ??= this.usualThreshold();
  }

  closeWeights(weights) {
    const a = normalised(weights);
    const b = normalised(this.weights);
    return Object.keys(a).every((name) => Math.abs(a[name] - b[name]) < 1e-9);
  }

  usualThreshold() {
    const { kind, low, high, step } = this.data.attribute;
    if (kind === "numeric") return step * Math.max(1, Math.round((high - low) / step / 10));
    return levelsOf(this.data.attribute)[0] ?? 1;
  }

  modeOf(rule) {
    if (rule?.threshold !== undefined) return this.data.attribute.kind === "categorical" ? "complete" : "threshold";
    if (rule?.blocks) return "blocks";
    if (rule?.complete) return "complete";
    return "draw";
  }

  // --- state and history ---------------------------------------------------------------------------------------

  snapshot() {
    return { rule: this.rule, tau: this.tau, weights: this.weights, mode: this.mode };
  }

  setRule(rule) {
    this.rule = rule && rule.edges?.length === 0 ? null : rule;
    if (this.rule?.blocks && !this.rule.blocks.some((block) => block.length > 1)) this.rule = null;
    if (this.rule?.threshold !== undefined) this.lastThreshold = this.rule.threshold;
    this.edges = edgesOf(this.data.attribute, this.rule);
  }

  /** Make the present state the last one: one step of undo, one message to Python. */
  commit(message) {
    const now = this.snapshot();
    const before = this.saved;
    const unchanged = now.rule === before.rule && now.tau === before.tau && now.weights === before.weights;
    this.saved = now;
    if (!unchanged) {
      this.past.push(before);
      this.future = [];
      this.send();
    }
    this.refresh();
    if (message) this.say(message);
    else this.status.textContent = ""; // what an earlier edit said of itself is over
    this.takeWaiting();
  }

  takeWaiting() {
    const waiting = this.waiting;
    this.waiting = null;
    if (waiting) this.setData(waiting);
  }

  send() {
    this.revision += 1;
    this.data = { ...this.data, rule: this.rule, tau: this.tau, weights: this.weights };
    this.sink.commit({
      attribute: this.data.attribute.name, rule: this.rule, tau: this.tau, weights: normalised(this.weights), revision: this.revision,
    });
  }

  travel(from, to, word) {
    if (!from.length) return this.say(`Nothing to ${word}.`);
    to.push(this.saved);
    this.saved = from.pop();
    Object.assign(this, this.saved);
    this.edges = edgesOf(this.data.attribute, this.rule);
    this.picked = null;
    this.chosen = [];
    this.showMode();
    this.refresh();
    this.send();
    this.say(word === "undo" ? "Undone." : "Redone.");
  }

  undo() {
    this.travel(this.past, this.future, "undo");
  }

  redo() {
    this.travel(this.future, this.past, "redo");
  }

  // --- edits ---------------------------------------------------------------------------------------------------

  name(i) {
    return String(this.data.attribute.values[i]);
  }

  namesOf(values) {
    const contiguous = values.every((value, at) => at === 0 || value === values[at - 1] + 1);
    if (this.data.attribute.kind === "numeric" && contiguous && values.length > 2) return `${this.name(values[0])} to ${this.name(values.at(-1))}`;
    if (values.length > 4) return `${values.slice(0, 3).map((i) => this.name(i)).join(", ")} and ${values.length - 3} more`;
    return values.map((i) => this.name(i)).join(", ");
  }

  listed() {
    const list = [];
    this.edges.each((i, j) => list.push([i, j]));
    return list;
  }

  /** Whether the present edges are few enough to become a list; says so when they are not. */
  listable() {
    if (this.edges.count <= LISTED_EDGES) return true;
    this.refresh();
    this.say(`${plural(this.edges.count, "edge")} are too many to edit one by one: use a smaller θ, or blocks.`);
    return false;
  }

  addEdge(i, j) {
    if (i === j) return;
    if (this.edges.has(i, j)) return this.commit(`${this.name(i)} and ${this.name(j)} are joined already.`);
    if (!this.listable()) return;
    this.setRule({ edges: [...this.listed(), i < j ? [i, j] : [j, i]] });
    this.changeMode("draw");
    this.commit(`Joined ${this.name(i)} and ${this.name(j)}.`);
  }

  eraseEdges(doomed, message) {
    if (!this.listable()) return;
    const n = this.data.attribute.values.length;
    const ids = new Set(doomed.map(([i, j]) => Math.min(i, j) * n + Math.max(i, j)));
    this.setRule({ edges: this.listed().filter(([i, j]) => !ids.has(i * n + j)) });
    this.changeMode("draw");
    this.commit(message);
  }

  blocks() {
    if (this.rule?.blocks) return this.rule.blocks.map((block) => [...block].sort((a, b) => a - b)).filter((block) => block.length > 1);
    return componentsOf(this.data.attribute, this.edges).filter((block) => block.length > 1);
  }

  /** Blocks after `values` leave theirs and, with `target`, join the block that holds it. */
  regrouped(values, target = null) {
    const moved = new Set(values);
    const rest = this.blocks().map((block) => block.filter((i) => !moved.has(i)));
    const into = target === null ? null : rest.find((block) => block.includes(target));
    if (into) for (const value of values) into.push(value);
    else rest.push(target === null ? (values.length > 1 ? [...values] : []) : [target, ...values]);
    return rest.filter((block) => block.length > 1).map((block) => block.sort((a, b) => a - b)).sort((a, b) => a[0] - b[0]);
  }

  joinAll(values, title = null) {
    if (values.length < 2) return;
    const name = title ?? this.namesOf(values);
    if (this.mode === "blocks" || this.rule === null) {
      this.setRule({ blocks: this.regrouped(values) });
      this.changeMode("blocks");
      return this.commit(`Made a block of ${name}.`);
    }
    if ((values.length * (values.length - 1)) / 2 > LISTED_EDGES) return this.say("Too many values to join one by one: use blocks.");
    if (!this.listable()) return;
    const added = [];
    for (let a = 0; a < values.length; a++) for (let b = a + 1; b < values.length; b++) if (!this.edges.has(values[a], values[b])) added.push([Math.min(values[a], values[b]), Math.max(values[a], values[b])]);
    if (!added.length) return this.commit(`The values of ${name} are joined already.`);
    this.setRule({ edges: [...this.listed(), ...added] });
    this.changeMode("draw");
    this.commit(`Joined all of ${name}: ${plural(added.length, "new edge")}.`);
  }

  clear() {
    this.setRule(null);
    if (this.mode === "threshold" || this.mode === "complete") this.changeMode("draw");
    this.picked = null;
    this.commit("Cleared: nothing is joined.");
  }

  chooseMode(mode) {
    if (mode === "threshold" && this.rule?.threshold === undefined) this.setRule({ threshold: this.lastThreshold });
    if (mode === "complete" && !this.rule?.complete) this.setRule({ complete: true });
    if (mode === "blocks" && !this.rule?.blocks) {
      const blocks = this.blocks();
      this.setRule(blocks.length ? { blocks } : null);
    }
    if (mode === "draw" && !this.listable()) return;
    if (mode === "draw" && this.rule && !this.rule.edges) this.setRule({ edges: this.listed() });
    this.picked = null;
    this.changeMode(mode);
    this.commit(MODES[mode].hint);
  }

  /** With the lasso in hand every drag goes around values: the way without a Shift key, as on a tablet. */
  takeLasso(taken) {
    this.lassoing = taken;
    this.lassoButton.setAttribute("aria-pressed", String(taken));
    this.stage.classList.toggle("is-lassoing", taken);
    this.status.textContent = taken ? "Drag around values to make a block of them; press Lasso again, or Escape, to put it away." : "";
  }

  changeMode(mode) {
    if (this.mode === mode) return;
    this.mode = mode;
    this.showMode();
  }

  /** The rule without its widest edges; a threshold stays one, a step shorter. */
  withoutWidest() {
    const { most, widest } = this.edges;
    if (!widest) return null;
    const { kind, step } = this.data.attribute;
    if (this.rule?.threshold !== undefined && kind === "numeric") return most > 1 ? { threshold: Number(((most - 1) * step).toPrecision(12)) } : null;
    if (this.rule?.threshold !== undefined) {
      const lower = levelsOf(this.data.attribute).filter((steps) => steps < most).at(-1);
      return lower ? { threshold: lower } : null;
    }
    if (this.rule?.complete && kind === "numeric") return most > 1 ? { threshold: Number(((most - 1) * step).toPrecision(12)) } : null;
    if (this.edges.count > LISTED_EDGES) return this.rule;
    const edges = this.listed().filter(([i, j]) => stepsBetween(this.data.attribute, i, j) < most);
    return edges.length ? { edges } : null;
  }

  removeWidest() {
    const { ties, widest } = this.edges;
    if (!widest) return;
    this.setRule(this.withoutWidest());
    const mode = this.modeOf(this.rule);
    this.changeMode(mode);
    this.commit(ties === 1 ? `Erased ${this.name(widest[0])} – ${this.name(widest[1])}.` : `Erased the ${plural(ties, "widest edge")}.`);
  }

  // --- building the page ---------------------------------------------------------------------------------------

  build() {
    const { attribute } = this.data;
    this.resizer.disconnect();
    this.dress();
    const modes = Object.entries(MODES).filter(([mode]) => mode !== "threshold" || attribute.kind !== "categorical");
    this.modeButtons = Object.fromEntries(
      modes.map(([mode, { label, hint }]) => [
        mode, element("button", { type: "button", class: "bf-mode", "data-mode": mode, title: hint, onclick: () => this.chooseMode(mode) }, label),
      ]),
    );
    const action = (name, label, run) => element("button", { type: "button", class: "bf-action", "data-action": name, onclick: run }, label);
    this.undoButton = action("undo", "Undo", () => this.undo());
    this.redoButton = action("redo", "Redo", () => this.redo());
    this.clearButton = action("clear", "Clear", () => this.clear());
    this.lassoButton = action("lasso", "Lasso", () => this.takeLasso(!this.lassoing));
    this.lassoButton.title = "Drag around values to make a block of them (also: drag with Shift held)";
    const bar = element(
      "div", { class: "bf-bar" },
      this.chooser(),
      element("div", { class: "bf-modes", role: "group", "aria-label": "How values are joined" }, ...Object.values(this.modeButtons)),
      element("div", { class: "bf-actions" }, this.lassoButton, this.undoButton, this.redoButton, this.clearButton),
    );
    this.stage = element("div", { class: "bf-stage" });
    this.summary = element("p", { class: "bf-summary" });
    this.widestText = element("p", { class: "bf-widest-text" });
    this.widestButton = element("button", { type: "button", class: "bf-remove", "data-action": "remove-widest", onclick: () => this.removeWidest() });
    this.status = element("p", { class: "bf-status", role: "status", "aria-live": "polite" });
    this.spoken = element("p", { class: "bf-unseen", "aria-live": "polite" });
    const widest = element("div", { class: "bf-widest-line" }, this.widestText, this.widestButton);
    this.root.replaceChildren(
      element("div", { class: "bf-in" }, bar, this.buildReadouts(), element("div", { class: "bf-main" }, this.help(), this.summary, this.stage, widest, this.status), this.buildSliders(), this.spoken),
    );
    this.stage.addEventListener("pointerdown", (event) => this.down(event));
    this.stage.addEventListener("pointermove", (event) => this.moved(event));
    this.stage.addEventListener("pointerup", (event) => this.up(event));
    this.stage.addEventListener("pointercancel", () => this.cancel());
    // within SVG browsers pass over touch-action: a finger that draws must be kept from panning the page here
    const keep = (event) => this.drag && this.drag.kind !== "erase" && event.preventDefault();
    this.stage.addEventListener("touchstart", keep, { passive: false });
    this.stage.addEventListener("pointerleave", () => this.hover(null));
    // a screen reader may click without any pointer; such a click carries no count
    this.stage.addEventListener("click", (event) => {
      const node = event.detail === 0 ? event.target.closest?.("[data-index]") : null;
      if (node) this.pick(Number(node.dataset.index));
    });
    this.stage.addEventListener("focusin", (event) => this.focused(event));
    this.stage.addEventListener("focusout", () => this.hover(null));
    this.view = null;
    this.takeLasso(false);
    this.showMode();
    this.resizer.observe(this.stage);
    this.refresh();
  }

  /** What hands and keys can do, for who asks. */
  help() {
    const cell = (tag, text) => element(tag, tag === "th" ? { scope: "row" } : {}, text);
    const head = element("tr", {}, ...["", "pointer or finger", "keyboard"].map((name) => element("th", { scope: "col" }, name)));
    const rows = GESTURES.map(([what, hand, keys]) => element("tr", {}, cell("th", what), cell("td", hand), cell("td", keys)));
    return element("details", { class: "bf-help" }, element("summary", {}, "How to draw"), element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  chooser() {
    const names = this.data.chooser;
    if (!names) return element("strong", { class: "bf-title" }, this.data.attribute.name);
    const select = element("select", { name: "attribute", "aria-label": "Attribute", class: "bf-select", onchange: () => this.sink.choose(select.value) });
    select.append(...names.map((name) => element("option", { value: name, selected: name === this.data.attribute.name }, name)));
    return select;
  }

  buildReadouts() {
    const name = this.data.attribute.name;
    const wanted = [
      ["ratio", "Noise ratio q", "of the hard vote’s noise"],
      ["reach", "Reach of a record", ""],
      ["attribute-reach", `Reach of ${name}`, "weight × widest δ"],
      ["l1", "L1 bound", ""],
      ["l2", "L2 bound", ""],
      ["budget-factor", "Budget factor", ""],
      ["epsilon", "ε, exact", ""],
    ];
    this.outputs = {};
    this.notes = {};
    return element(
      "dl", { class: "bf-readouts" },
      ...wanted.map(([key, label, note]) => {
        this.outputs[key] = element("span", { class: "bf-number", "data-readout": key, "data-raw": "" });
        this.notes[key] = element("small", {}, note);
        return element("div", { class: `bf-readout bf-readout-${key}` }, element("dt", {}, label), element("dd", {}, this.outputs[key], this.notes[key]));
      }),
    );
  }

  buildSliders() {
    const { attribute, weights } = this.data;
    const linear = (min, max) => ({ fraction: (x) => (x - min) / (max - min || 1), value: (at) => min + at * (max - min) });
    const numeric = attribute.kind === "numeric";
    const told = { oncommit: () => this.commit(), onrefuse: (why) => this.say(why) };
    this.sliders = [];
    const span = spanOf(attribute);
    if (attribute.kind !== "categorical" && span > 0) {
      const max = numeric ? attribute.high - attribute.low : span;
      const step = numeric ? attribute.step : 1;
      this.theta = new Slider({
        name: "theta", label: numeric ? "Threshold θ" : "Level θ", min: 0, max, step, ...linear(0, max),
        typed: { min: 0, accepts: (x) => x >= 0, words: "0 or more" },
        describe: (x) => this.describeThreshold(x),
        oninput: (x) => {
          this.setRule({ threshold: x });
          this.changeMode("threshold");
          this.refresh();
        },
        ...told,
      });
      this.sliders.push(this.theta);
    } else {
      this.theta = null;
    }
    this.tauSlider = new Slider({
      name: "tau", label: "Temperature τ", min: 0.001, max: 1,
      fraction: (x) => Math.log10(x / 0.001) / 3,
      // the thumb moves in thousandths of a decade's thirds: numbers a person can say, not seventeen digits
      value: (at) => Number((0.001 * 10 ** (3 * at)).toPrecision(3)),
      typed: { min: 0, accepts: (x) => x > 0, words: "above 0" },
      describe: (x) => ({ spoken: `temperature ${short(x)}` }),
      oninput: (x) => {
        this.tau = x;
        this.refresh(false);
      },
      ...told,
    });
    this.sliders.push(this.tauSlider);
    this.weightSlider = null;
    if (Object.keys(weights).length > 1) {
      this.weightSlider = new Slider({
        name: "weight", label: `Weight of ${attribute.name}`, min: 0, max: 1, ...linear(0, 1),
        typed: { min: 0, max: 1, accepts: (x) => x >= 0 && x <= 1, words: "from 0 to 1" },
        describe: (x) => ({ spoken: `${short(x, 3)} of the whole distance` }),
        oninput: (x) => {
          this.weights = this.reweighted(Number(x.toPrecision(6)));
          this.refresh(false);
        },
        ...told,
      });
      this.weightSlider.value = (at) => Number(at.toFixed(3));
      this.sliders.push(this.weightSlider);
    }
    return element("div", { class: "bf-sliders" }, ...this.sliders.map((slider) => slider.node));
  }

  describeThreshold(x) {
    const { attribute } = this.data;
    if (attribute.kind === "numeric") return { spoken: `threshold ${x}`, note: "" };
    const levels = levelsOf(this.data.attribute);
    const reached = levels.filter((steps) => steps <= x);
    const word = !reached.length ? "nobody joined" : reached.length === levels.length ? "all joined" : reached.length === 1 ? "siblings" : "cousins";
    return { spoken: `${x} tree steps: ${word}`, note: word };
  }

  /** Weights in which this attribute holds `share` and the others keep their proportions. */
  reweighted(share) {
    const name = this.data.attribute.name;
    const from = normalised(this.saved.weights);
    const others = Object.keys(from).filter((other) => other !== name);
    const rest = others.reduce((sum, other) => sum + from[other], 0);
    const out = {};
    for (const other of Object.keys(from)) {
      if (other === name) out[other] = share;
      else out[other] = rest > 0 ? (from[other] / rest) * (1 - share) : (1 - share) / others.length;
    }
    return out;
  }

  showMode() {
    for (const [mode, button] of Object.entries(this.modeButtons)) button.setAttribute("aria-pressed", String(mode === this.mode));
    const Wanted = this.data.attribute.kind === "numeric" ? AxisView : this.mode === "blocks" ? CardsView : RowsView;
    if (this.view instanceof Wanted) return;
    const focus = this.current ?? 0;
    this.view = new Wanted(this);
    this.stage.replaceChildren(this.view.node);
    this.setCurrent(Math.min(focus, this.view.nodes.length - 1));
    this.layout();
  }

  layout() {
    if (!this.view) return;
    const width = Math.floor(this.stage.clientWidth);
    if (width < 40) return;
    this.view.resize(width);
    this.refresh();
  }

  // --- painting ------------------------------------------------------------------------------------------------

  /** Redraw from the present state; `shapes` false when only numbers changed. */
  refresh(shapes = true) {
    if (!this.view) return;
    if (shapes && (this.view.width || this.view instanceof CardsView)) {
      this.bundles = this.view.paint(this.edges, this.edges.widest);
      this.view.nameWidest(this.edges.widest);
      this.view.showBlocks(this.mode === "blocks" ? this.blocks() : [], (at) => {
        const blocks = this.blocks();
        const parted = blocks.splice(at, 1)[0];
        this.setRule({ blocks });
        this.commit(`Parted ${this.namesOf(parted)}.`);
      });
      this.view.mark("is-picked", this.picked === null ? [] : [this.picked]);
      this.view.mark("is-chosen", this.chosen);
    }
    this.theta?.set(this.rule?.threshold ?? this.lastThreshold);
    this.theta?.node.classList.toggle("is-idle", this.rule?.threshold === undefined);
    this.tauSlider.set(this.tau);
    this.weightSlider?.set(normalised(this.weights)[this.data.attribute.name]);
    this.undoButton.disabled = !this.past.length;
    this.redoButton.disabled = !this.future.length;
    this.clearButton.disabled = this.rule === null;
    this.summarise();
    this.show(this.edges.most);
    this.showWidest();
  }

  summarise() {
    const { values, name } = this.data.attribute;
    const { count } = this.edges;
    const head = count ? `${plural(count, "edge")} on ${plural(values.length, "value")}`
      : values.length > 1 ? `${name} has no edges: nothing about it is protected` : `${name} has one value: there is nothing to learn`;
    this.summary.textContent = this.bundles ? `${head}, drawn as ${this.bundles.toLocaleString("en")} strands` : head;
  }

  numbers(most) {
    // ε depends on the budget alone: solve for it once, not at every pointer move
    const budget = `${this.data.rho}/${this.data.delta}`;
    if (this.budget !== budget) {
      this.budget = budget;
      this.epsilon = this.data.rho ? exactEpsilon(this.data.rho, this.data.delta) : null;
    }
    return { ...readouts({ ...this.data, rho: null }, { most, weights: this.weights, tau: this.tau }), epsilon: this.epsilon };
  }

  /** Whether anything is joined at all, in this attribute or another. */
  joined(most) {
    return most > 0 || Object.entries(this.data.reaches ?? {}).some(([name, distance]) => name !== this.data.attribute.name && distance > 0);
  }

  /** The read-outs, for the state as it is or as a gesture in flight would make it. */
  show(most) {
    const numbers = this.numbers(most);
    const put = (key, number) => {
      const output = this.outputs[key];
      output.textContent = short(number);
      output.dataset.raw = String(number);
    };
    put("reach", numbers.reach);
    put("attribute-reach", numbers.own);
    put("l1", numbers.l1);
    put("l2", numbers.l2);
    put("ratio", numbers.ratio);
    put("budget-factor", numbers.factor);
    put("epsilon", numbers.epsilon);
    const silent = numbers.l2 === 0; // a release without noise spends no budget and promises nothing, unless
    const joined = this.joined(most);
    const ignored = silent && joined; // votes ignore what is joined, as at weight 0: nothing is learnt of it
    this.notes.reach.textContent = numbers.setBy ? `set by ${numbers.setBy}` : joined ? "weight 0: votes ignore it" : "no edges anywhere";
    this.notes["budget-factor"].textContent = silent ? "no noise is added" : "1 / q², for equal noise";
    this.outputs.epsilon.closest(".bf-readout").hidden = !this.data.rho; // a notebook may have no budget, or take one later
    if (this.data.rho) {
      if (silent) this.outputs.epsilon.textContent = ignored ? "0" : "no promise";
      this.notes.epsilon.textContent = ignored ? "across its edges" : silent ? "without edges there is no noise" : `ρ ${brief(this.data.rho)}, δ ${brief(this.data.delta)}`;
    }
    for (const [key, formula] of Object.entries(BOUNDS)) {
      this.notes[key].textContent = this.data.participation ? "floor 1: participation" : formula;
    }
  }

  showWidest() {
    const { widest, ties, most } = this.edges;
    this.widestButton.hidden = !widest;
    if (!widest) {
      this.widestText.textContent = this.data.attribute.values.length > 1 ? "Drag from one value to another to join them." : "One value only: nothing to join.";
      return;
    }
    const [i, j] = widest;
    const { attribute } = this.data;
    const apart = attribute.kind === "numeric" ? `, ${brief(most * attribute.step, 6)} apart` : attribute.steps ? `, ${most} tree steps` : "";
    const more = ties > 1 ? `, and ${(ties - 1).toLocaleString("en")} more as wide` : "";
    this.widestText.replaceChildren(element("span", { class: "bf-key" }), "Widest edge ", element("b", {}, `${this.name(i)} – ${this.name(j)}`), `${apart}${more}.`);
    const without = this.withoutWidest();
    this.widestButton.hidden = without === this.rule;
    const after = this.numbers(edgesOf(attribute, without).most);
    const now = this.numbers(most);
    const effect = now.reach === 0 ? "reach stays 0"
      : after.reach === now.reach ? `reach stays ${short(now.reach, 3)}, set by ${after.setBy}`
      : after.reach === 0 ? "reach 0, no protection"
      : `reach ${short(after.reach, 3)}, noise × ${short(after.ratio / now.ratio, 2)}`;
    const fresh = element("span", {}, element("b", {}, ties > 1 ? `Remove ${ties === 2 ? "both" : `all ${ties.toLocaleString("en")}`}` : "Remove it"), ` Without ${ties > 1 ? "them" : "it"}: ${effect}`);
    this.widestButton.replaceChildren(...fresh.childNodes);
  }

  say(message) {
    this.status.textContent = message;
    const numbers = this.numbers(this.edges.most);
    this.spoken.textContent = `Reach ${short(numbers.reach, 3)}, noise ratio ${short(numbers.ratio, 3)}.`;
  }

  // --- pointer -------------------------------------------------------------------------------------------------

  point(event) {
    const box = this.view.node.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  down(event) {
    if (event.button !== 0 || this.drag) return;
    const at = this.point(event);
    const around = event.shiftKey || this.lassoing;
    if (this.view instanceof CardsView && !around) return this.lift(event);
    const coarse = event.pointerType === "touch";
    const value = around ? null : this.view.valueAt(at, coarse);
    this.hoverAt = null; // a hover still due would speak over what this press is about to say
    if (event.target.closest?.(".bf-branch, .bf-cross")) return;
    if (around) this.drag = { kind: "lasso", from: at };
    else if (value !== null) this.drag = { kind: this.mode === "blocks" ? "span" : "edge", value };
    else {
      const edge = this.view.edgeAt(at, this.edges, coarse);
      if (!edge) return;
      this.drag = { kind: "erase", edge };
    }
    Object.assign(this.drag, { id: event.pointerId, start: at, travelled: false });
    this.stage.setPointerCapture(event.pointerId);
    event.preventDefault();
    if (value !== null) this.view.nodeOf(value).focus({ preventScroll: true });
    this.view.highlight({ edges: this.edges });
  }

  moved(event) {
    if (!this.drag) {
      if (event.pointerType !== "touch") this.hoverSoon(event);
      return;
    }
    if (event.pointerId !== this.drag.id) return;
    const at = this.point(event);
    const { drag } = this;
    if (Math.hypot(at.x - drag.start.x, at.y - drag.start.y) > 4) drag.travelled = true;
    if (!drag.travelled) return;
    if (drag.kind === "chip" || drag.kind === "card") return this.carry(event);
    if (drag.kind === "edge") {
      const to = this.view.valueAt(at, true);
      drag.to = to === drag.value ? null : to;
      this.view.rubber(drag.value, at, drag.to);
      this.view.mark("is-target", drag.to === null ? [] : [drag.to]);
      this.show(drag.to === null ? this.edges.most : Math.max(this.edges.most, stepsBetween(this.data.attribute, drag.value, drag.to)));
      if (drag.to !== null) this.status.textContent = `${this.name(drag.value)} – ${this.name(drag.to)}`;
    } else if (drag.kind === "span") {
      const to = this.view.valueNear(at);
      const [low, high] = [Math.min(drag.value, to), Math.max(drag.value, to)];
      drag.values = Array.from({ length: high - low + 1 }, (_, k) => low + k);
      this.preview(drag.values);
    } else if (drag.kind === "lasso") {
      this.view.lasso(drag.from, at);
      drag.values = this.view.within(drag.from, at);
      this.preview(drag.values);
    }
  }

  /** What the numbers would be with these values made a block. */
  preview(values) {
    this.view.mark("is-chosen", values);
    const alone = this.mode === "blocks" || this.rule === null;
    const most = edgesOf(this.data.attribute, { blocks: alone ? this.regrouped(values) : [values] }).most;
    this.show(alone ? most : Math.max(this.edges.most, most));
    this.status.textContent = values.length > 1 ? `Block of ${this.namesOf(values)}` : "";
  }

  up(event) {
    const { drag } = this;
    if (!drag || event.pointerId !== drag.id) return;
    this.endDrag();
    if (drag.kind === "chip" || drag.kind === "card") return this.drop(drag);
    if (drag.kind === "erase") {
      if (!drag.travelled) return this.eraseEdges([drag.edge], `Erased ${this.name(drag.edge[0])} – ${this.name(drag.edge[1])}.`);
    } else if (drag.kind === "edge") {
      if (!drag.travelled) return this.pick(drag.value);
      if (drag.to !== null && drag.to !== undefined) return this.addEdge(drag.value, drag.to);
    } else if (!drag.travelled && drag.kind === "span") {
      return this.pick(drag.value);
    } else if (drag.values?.length > 1) {
      return this.joinAll(drag.values);
    }
    this.refresh();
    this.takeWaiting();
  }

  endDrag() {
    this.drag = null;
    this.view.rubber(null);
    this.view.lasso(null);
    this.view.mark("is-target", []);
    this.view.mark("is-chosen", []);
  }

  cancel() {
    if (!this.drag) return;
    const { drag } = this;
    this.endDrag();
    drag.node?.style.removeProperty("transform");
    drag.node?.classList.remove("is-carried");
    this.target(null);
    this.status.textContent = "";
    this.refresh();
    this.takeWaiting();
  }

  hoverSoon(event) {
    const at = this.point(event);
    if (this.hoverAt) {
      this.hoverAt = at;
      return;
    }
    this.hoverAt = at;
    requestAnimationFrame(() => {
      const point = this.hoverAt;
      this.hoverAt = null;
      if (point && !this.drag) this.hover(point);
    });
  }

  hover(point) {
    if (!point) this.hoverAt = null;
    if (this.drag || this.view instanceof CardsView) return;
    const value = point ? this.view.valueAt(point, false) : null;
    const edge = point && value === null ? this.view.edgeAt(point, this.edges, false) : null;
    this.stage.classList.toggle("is-over-edge", edge !== null);
    this.view.highlight({ value, edge, edges: this.edges });
    if (value !== null) this.tell(value);
    else if (edge) this.status.textContent = `${this.name(edge[0])} – ${this.name(edge[1])}: click to erase`;
    else if (point) this.status.textContent = "";
  }

  tell(value) {
    if (this.picked !== null) {
      this.status.textContent = value === this.picked ? this.pickedHint() : `Enter or a click joins ${this.name(this.picked)} and ${this.name(value)}; Delete erases their edge.`;
      return;
    }
    const near = this.edges.neighbours(value);
    this.status.textContent = near.length ? `${this.name(value)} is joined to ${this.namesOf(near)}.` : `${this.name(value)} is joined to nothing.`;
  }

  // --- blocks of cards -----------------------------------------------------------------------------------------

  lift(event) {
    const chip = event.target.closest?.(".bf-chip");
    const head = event.target.closest?.(".bf-card:not(.bf-apart) .bf-card-head");
    if (!chip && !head) return;
    const at = this.point(event);
    const node = chip ?? head.parentElement;
    const values = chip ? [Number(chip.dataset.index)] : this.blocks()[Number(node.dataset.block)];
    this.drag = { kind: chip ? "chip" : "card", node, values, value: values[0], id: event.pointerId, start: at, travelled: false };
    this.stage.setPointerCapture(event.pointerId);
    event.preventDefault();
    if (chip) chip.focus({ preventScroll: true });
  }

  carry(event) {
    const { drag } = this;
    const at = this.point(event);
    drag.node.classList.add("is-carried");
    // a little below the pointer, so that the name of what lies under it stays readable
    drag.node.style.transform = `translate(${at.x - drag.start.x + 8}px, ${at.y - drag.start.y + 22}px)`;
    const under = this.root.getRootNode().elementFromPoint?.(event.clientX, event.clientY);
    const chip = under?.closest?.(".bf-chip");
    const card = under?.closest?.(".bf-card");
    drag.onto = chip && !drag.values.includes(Number(chip.dataset.index)) ? Number(chip.dataset.index) : null;
    drag.into = card?.dataset.block ?? null;
    if (drag.kind === "card" && drag.into === "apart" && drag.onto === null) drag.into = null;
    this.target(drag.onto !== null && drag.into === "apart" ? chip : card);
    drag.rule = this.dropped(drag);
    this.show(drag.rule === undefined ? this.edges.most : edgesOf(this.data.attribute, drag.rule).most);
  }

  target(node) {
    if (this.targeted === node) return;
    this.targeted?.classList.remove("is-target");
    node?.classList.add("is-target");
    this.targeted = node;
  }

  /** The rule a drop would leave; undefined when it would change nothing. */
  dropped({ kind, values, onto, into }) {
    const blocks = this.blocks();
    const home = blocks.find((block) => block.includes(values[0]));
    if (onto !== null && into === "apart") return { blocks: this.regrouped(values, onto) };
    if (into !== null && into !== "apart") {
      const goal = blocks[Number(into)];
      if (!goal || goal === home) return undefined;
      return { blocks: this.regrouped(values, goal[0]) };
    }
    if (kind === "card" || !home) return undefined;
    return { blocks: this.regrouped(values) }; // out of every card: parted
  }

  drop(drag) {
    drag.node.classList.remove("is-carried");
    drag.node.style.removeProperty("transform");
    this.target(null);
    if (!drag.travelled) {
      if (drag.kind === "chip") this.pick(drag.value);
      return;
    }
    if (drag.rule === undefined) {
      this.refresh();
      this.takeWaiting();
      return;
    }
    this.setRule(drag.rule);
    const block = this.blocks().find((members) => members.includes(drag.value));
    this.commit(block ? `Block: ${this.namesOf(block)}.` : `${this.namesOf(drag.values)} stands on its own.`);
  }

  // --- keyboard ------------------------------------------------------------------------------------------------

  setCurrent(i) {
    this.view.nodes[this.current]?.setAttribute("tabindex", "-1");
    this.current = i;
    this.view.nodeOf(i)?.setAttribute("tabindex", "0");
  }

  focused(event) {
    const node = event.target.closest?.("[data-index]");
    if (!node) return;
    this.setCurrent(Number(node.dataset.index));
    if (this.drag) return;
    this.view.highlight({ value: this.current, edges: this.edges });
    this.tell(this.current);
  }

  pickedHint() {
    return `${this.name(this.picked)} picked. Choose a second value to join them, or press Escape.`;
  }

  /** First value, then second: Enter, click and tap all come here. */
  pick(value) {
    if (this.picked === null) {
      this.picked = value;
      this.view.mark("is-picked", [value]);
      return this.say(this.pickedHint());
    }
    const first = this.picked;
    this.picked = null;
    this.view.mark("is-picked", []);
    if (first === value) return this.say("Let go.");
    if (this.mode === "blocks") {
      this.setRule({ blocks: this.regrouped([first], value) });
      return this.commit(`Joined ${this.name(first)} to ${this.name(value)}.`);
    }
    this.addEdge(first, value);
  }

  key(event) {
    const command = event.ctrlKey || event.metaKey;
    // a notebook takes plain keys as commands, wherever the focus is: x would cut the cell with the canvas in it
    if (!command && !event.altKey) event.stopPropagation();
    if (command && event.key.toLowerCase() === "z" && !event.target.matches?.("input[type=number]")) {
      event.preventDefault();
      return event.shiftKey ? this.redo() : this.undo();
    }
    if (command && event.key.toLowerCase() === "y") {
      event.preventDefault();
      return this.redo();
    }
    if (event.key === "Escape") {
      if (this.drag) return this.cancel();
      this.picked = null;
      this.chosen = [];
      if (this.lassoing) this.takeLasso(false);
      this.refresh();
      return;
    }
    const node = event.target.closest?.("[data-index]");
    if (!node || command || event.altKey) return;
    const value = Number(node.dataset.index);
    const last = this.view.nodes.length - 1;
    const order = this.order();
    const place = order ? order.indexOf(value) : value;
    const at = (target) => (order ? order[target] : target);
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -10, PageDown: 10 };
    let to = null;
    if (event.key in moves) to = at(clamp(place + moves[event.key], 0, last));
    else if (event.key === "Home") to = at(0);
    else if (event.key === "End") to = at(last);
    if (to !== null) {
      event.preventDefault();
      if (event.shiftKey) {
        this.anchor ??= value;
        const [low, high] = [Math.min(this.anchor, to), Math.max(this.anchor, to)];
        this.chosen = Array.from({ length: high - low + 1 }, (_, k) => low + k);
      } else {
        this.anchor = null;
        this.chosen = [];
      }
      this.view.nodeOf(to).focus();
      this.view.mark("is-chosen", this.chosen);
      if (this.chosen.length > 1) this.status.textContent = `${this.namesOf(this.chosen)} chosen: Enter makes them a block.`;
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.chosen.length > 1) {
        const chosen = this.chosen;
        this.chosen = [];
        this.anchor = null;
        return this.joinAll(chosen);
      }
      return this.pick(value);
    }
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.erase(value);
    }
  }

  /** The values in the order they stand in on cards; null where that is their own order. */
  order() {
    if (this.view instanceof CardsView) return [...this.view.node.querySelectorAll("[data-index]")].map((node) => Number(node.dataset.index));
    return null;
  }

  erase(value) {
    const first = this.picked;
    this.picked = null;
    if (first !== null && first !== value) {
      if (!this.edges.has(first, value)) return this.commit(`${this.name(first)} and ${this.name(value)} are not joined.`);
      return this.eraseEdges([[first, value]], `Erased ${this.name(first)} – ${this.name(value)}.`);
    }
    const near = this.edges.neighbours(value);
    if (!near.length) return this.commit(`${this.name(value)} is joined to nothing.`);
    if (this.mode === "blocks") {
      this.setRule({ blocks: this.regrouped([value]) });
      return this.commit(`${this.name(value)} stands on its own.`);
    }
    this.eraseEdges(near.map((other) => [value, other]), `Erased ${plural(near.length, "edge")} at ${this.name(value)}.`);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Two homes
// ---------------------------------------------------------------------------------------------------------------

const mounted = new WeakMap();
const histories = new Map(); // the page shows one attribute after another, each on a canvas of its own

/** Streamlit (components v2): called anew with every change of data or theme; one canvas a parent element. */
function mountInStreamlit({ data, parentElement, setStateValue }) {
  let canvas = mounted.get(parentElement);
  if (!canvas) {
    canvas = new Canvas(parentElement, {}, histories);
    mounted.set(parentElement, canvas);
  }
  canvas.sink = {
    commit: (state) => setStateValue("committed", state),
    choose: (name) => setStateValue("chosen", name),
  };
  canvas.setData(data);
  return () => {
    canvas.destroy();
    mounted.delete(parentElement);
  };
}

/** Notebooks (anywidget): the model carries `data` in, `committed` and `attribute` out. */
const widget = {
  render({ model, el }) {
    const send = (name, value) => {
      model.set(name, value);
      model.save_changes();
    };
    const canvas = new Canvas(el, {
      commit: (state) => send("committed", state),
      choose: (name) => send("attribute", name),
    });
    const update = () => canvas.setData(model.get("data"));
    model.on("change:data", update);
    update();
    return () => {
      model.off("change:data", update);
      canvas.destroy();
    };
  },
};

export default function policyCanvas(component) {
  return component ? mountInStreamlit(component) : widget;
}
