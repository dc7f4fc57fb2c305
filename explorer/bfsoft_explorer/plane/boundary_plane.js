/* The boundary plane: two attributes as a grid, nearest-candidate regions or soft mixes, policy edges, and a record to move.
 *
 * It recomputes everything at every pointer move and tells its host only when a gesture ends. It knows distances, votes
 * and the closed-form bound; it does not know Streamlit or Jupyter beyond the two small adapters at the end.
 */

// ---------------------------------------------------------------------------------------------------------------
// Votes (THEORY, "Records" and "Votes"). Exported so that a test can hold them against bfsoft itself.
// ---------------------------------------------------------------------------------------------------------------

const EXACT = 2 ** 53; // whole numbers below this are exact in doubles
const NEAR_TIE = 1e-12; // of the denominator: far above rounding, far below one step of any domain that fits doubles
const MOST_PAIRS = 2e6; // pairs of values that are still listed
const SAFE_TAU = 1 / 600; // distances are at most 1, so a product of factors is at least e^−600
const NEGLIGIBLE = 40; // e^−40: a share that neither a colour nor a read-out can show

/** Whole steps between two values of an attribute, as `Attribute.steps`. */
export function steps(attribute, a, b) {
  if (a === b) return 0;
  if (attribute.kind === "numeric") return Math.abs(a - b);
  return attribute.steps ? attribute.steps[a][b] : 1;
}

/** Distances from the cells of a plane to every candidate, kept as sums of three parts. */
export class Distances {
  constructor(data, record = data.record, candidates = data.candidates) {
    this.data = data;
    this.candidates = candidates;
    this.record = record;
    this.m = candidates.length;
    const { attributes, across, down } = data;
    this.denominator = Number(data.denominator);
    this.exact = this.denominator < EXACT;
    this.columns = attributes[across].values.length;
    this.rows = attributes[down].values.length;
    this.x = this.table(across, this.columns);
    this.y = this.table(down, this.rows);
    this.rest = new Float64Array(this.m);
    attributes.forEach((attribute, j) => {
      if (j === across || j === down) return;
      const multiplier = Number(attribute.multiplier);
      for (let k = 0; k < this.m; k++) this.rest[k] += steps(attribute, record[j], candidates[k][j]) * multiplier;
    });
  }

  table(j, values) {
    const attribute = this.data.attributes[j];
    const multiplier = Number(attribute.multiplier);
    const table = new Float64Array(values * this.m);
    for (let v = 0; v < values; v++) {
      for (let k = 0; k < this.m; k++) table[v * this.m + k] = steps(attribute, v, this.candidates[k][j]) * multiplier;
    }
    return table;
  }

  /** Denominator × distance as an exact whole number; asked only where doubles cannot tell two candidates apart. */
  whole(column, row, k) {
    const { attributes, across, down } = this.data;
    return attributes.reduce((sum, attribute, j) => {
      const own = j === across ? column : j === down ? row : this.record[j];
      return sum + BigInt(attribute.multiplier) * BigInt(steps(attribute, own, this.candidates[k][j]));
    }, 0n);
  }

  /** Distances of one cell to every candidate, into `out`; returns the nearest, ties to the lowest index. */
  at(column, row, out) {
    const { m, x, y, rest, exact } = this;
    const bx = column * m;
    const by = row * m;
    const slack = exact ? 0 : NEAR_TIE * this.denominator;
    let best = 0;
    let least = Infinity;
    for (let k = 0; k < m; k++) {
      const d = x[bx + k] + y[by + k] + rest[k];
      out[k] = d;
      if (exact ? d < least : d < least - slack || (d <= least + slack && this.whole(column, row, k) < this.whole(column, row, best))) {
        least = d;
        best = k;
      }
    }
    return best;
  }

  /** The nearest candidate of every cell, row by row. */
  regions() {
    const nearest = new Int32Array(this.rows * this.columns);
    const out = new Float64Array(this.m);
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) nearest[row * this.columns + column] = this.at(column, row, out);
    }
    return nearest;
  }

  /** Mixes three numbers a candidate (a colour) by the soft vote, cell by cell along a row that was entered. */
  mixer(tau, hues) {
    const { m, x, y, rest, denominator } = this;
    const scale = 1 / denominator / tau;
    const flat = Float64Array.from(hues.flat());
    // e^−Σ is a product of factors, which spares an exponential a cell and candidate, until factors underflow.
    const products = tau >= SAFE_TAU;
    const across = products ? x.map((d) => Math.exp(-d * scale)) : x;
    const own = new Float64Array(m);
    const mixed = [0, 0, 0];
    return {
      enter(row) {
        for (let k = 0; k < m; k++) {
          const d = y[row * m + k] + rest[k];
          own[k] = products ? Math.exp(-d * scale) : d;
        }
      },
      at(column, nearest) {
        const base = column * m;
        const least = own[nearest] + across[base + nearest];
        let [r, g, b, total] = [0, 0, 0, 0];
        for (let k = 0; k < m; k++) {
          let share;
          if (products) share = own[k] * across[base + k];
          else {
            const exponent = (own[k] + across[base + k] - least) * scale;
            if (exponent > NEGLIGIBLE) continue;
            share = Math.exp(-exponent);
          }
          total += share;
          r += share * flat[3 * k];
          g += share * flat[3 * k + 1];
          b += share * flat[3 * k + 2];
        }
        [mixed[0], mixed[1], mixed[2]] = [r / total, g / total, b / total];
        return mixed;
      },
    };
  }

  /** The soft vote of one cell. */
  soft(column, row, tau) {
    const votes = new Float64Array(this.m);
    const least = votes.length ? (this.at(column, row, votes), votes.reduce((a, b) => Math.min(a, b), Infinity)) : 0;
    let total = 0;
    for (let k = 0; k < this.m; k++) total += votes[k] = Math.exp(-(votes[k] - least) / this.denominator / tau);
    for (let k = 0; k < this.m; k++) votes[k] /= total;
    return votes;
  }
}

/** L2 distance of two votes. */
export function change(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += (a[k] - b[k]) ** 2;
  return Math.sqrt(sum);
}

/** √2 tanh(d/2τ): no soft vote moves further between records at distance d. */
export const ceiling = (distance, tau) => Math.SQRT2 * Math.tanh(distance / (2 * tau));

/** The pairs of values that a rule joins, the smaller first; null where they are too many to list. */
export function edgesOf(attribute, rule) {
  const n = attribute.values.length;
  if (rule.uncounted) return null;
  if (rule.pairs) return rule.pairs;
  const pairs = [];
  if (rule.theta === null || rule.theta === undefined) return pairs;
  const most = attribute.kind === "numeric" ? Math.floor(rule.theta / rule.unit + 1e-9) : Math.floor(rule.theta + 1e-9);
  if (n * Math.min(n, attribute.kind === "numeric" ? most : n) > MOST_PAIRS) return null;
  for (let a = 0; a < n; a++) {
    for (let b = a + 1; b < n; b++) {
      if (steps(attribute, a, b) <= most) pairs.push([a, b]);
      else if (attribute.kind === "numeric") break;
    }
  }
  return pairs;
}

/** A colour number for each region such that regions that touch differ; what it can, it leaves as `before`. */
export function colourRegions(nearest, columns, rows, before = new Map()) {
  const touching = new Map();
  const touch = (a, b) => {
    if (!touching.has(a)) touching.set(a, new Set());
    if (a !== b) {
      if (!touching.has(b)) touching.set(b, new Set());
      touching.get(a).add(b);
      touching.get(b).add(a);
    }
  };
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const own = nearest[row * columns + column];
      touch(own, column + 1 < columns ? nearest[row * columns + column + 1] : own);
      if (row + 1 < rows) touch(own, nearest[(row + 1) * columns + column]);
    }
  }
  const order = [...touching.keys()].sort((a, b) => touching.get(b).size - touching.get(a).size || a - b);
  const colours = new Map();
  for (const k of order) {
    const taken = new Set([...touching.get(k)].map((other) => colours.get(other)));
    let colour = before.get(k);
    if (colour === undefined || taken.has(colour)) {
      colour = 0;
      while (taken.has(colour)) colour++;
    }
    colours.set(k, colour);
  }
  return colours;
}

/** How many of the edges along one axis cross, and how often each gap between cells is spanned by one that does. */
export function crossingsAlong(nearest, columns, rows, pairs, across) {
  const lines = across ? rows : columns;
  const length = across ? columns : rows;
  const spans = new Float64Array(lines * length); // differences first, then summed along each line
  let crossing = 0;
  for (let line = 0; line < lines; line++) {
    for (const [a, b] of pairs) {
      const ka = across ? nearest[line * columns + a] : nearest[a * columns + line];
      const kb = across ? nearest[line * columns + b] : nearest[b * columns + line];
      if (ka === kb) continue;
      crossing++;
      spans[line * length + a]++;
      spans[line * length + b]--;
    }
    for (let i = 1; i < length; i++) spans[line * length + i] += spans[line * length + i - 1];
  }
  return { crossing, total: lines * pairs.length, spans, lines, length };
}

// ---------------------------------------------------------------------------------------------------------------
// Small helpers
// ---------------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
const LIVE_WORK = 3e7; // cells × candidates that one frame can bear
const MOST_CHECKS = 3e7; // edges whose ends are compared at a time
const MOST_PIXELS = 8192; // across or down a picture: more than a screen has, far below where browsers draw nothing
const TAU = { low: -4, high: 0 }; // the slider's decades
const SHOWN_VOTES = 5;
const ROUNDING = 1e-12; // votes are computed in doubles: a smaller change or distance is none
const SLACK = 2; // pixels around a mark that still belong to it
const CROWDED = 0.25; // from this share of the plane under marks on, those that own nothing take no press

function build(tag, attributes = {}, ...children) {
  const node = SHAPES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const SHAPES = new Set(["svg", "g", "path", "circle", "text", "rect", "line", "title"]);

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const grouped = (number) => Math.round(number).toLocaleString("en-US");
const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A number to three significant digits. */
function short(number) {
  if (Math.abs(number) < ROUNDING) return "0";
  if (Math.abs(number) < 1e-4) return number.toExponential(1);
  return String(Number(number.toPrecision(3)));
}

function rgb(colour) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = colour || "#fff";
  const text = probe.fillStyle;
  if (text.startsWith("#")) return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}

const blend = (a, b, share) => a.map((channel, i) => channel * share + b[i] * (1 - share));

// ---------------------------------------------------------------------------------------------------------------
// The plane
// ---------------------------------------------------------------------------------------------------------------

class Plane {
  constructor(parent, sink) {
    this.sink = sink;
    this.colours = new Map();
    this.revision = 0;
    this.drag = null;
    this.waiting = null;
    this.tool = "record";
    this.picked = null;
    this.presses = [null, null]; // the candidates that the last two presses were on
    // a notebook takes plain keys as commands, wherever the focus is: x would cut the cell with the plane in it
    const own = (event) => event.ctrlKey || event.metaKey || event.altKey || event.stopPropagation();
    this.root = build("div", { class: "bp", onkeydown: own });
    parent.append(this.root);
    this.frame();
    this.watcher = new ResizeObserver(() => this.data && this.layOut());
    this.watcher.observe(this.stage);
    // JupyterLab changes its theme under a living plane, and says so on the body
    this.host = new MutationObserver(() => this.data && this.layOut());
    this.host.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] });
  }

  destroy() {
    clearTimeout(this.later);
    this.watcher.disconnect();
    this.host.disconnect();
    this.root.remove();
  }

  frame() {
    const choice = (name, options, act) =>
      build("div", { class: "bp-choice", role: "group", "aria-label": name },
        ...options.map(([value, label, title]) => build("button", { type: "button", "data-choice": value, title, onclick: () => act(value) }, label)));
    this.votes = choice("Vote", [["hard", "Hard vote", "All of a record's vote goes to its nearest candidate"], ["soft", "Soft vote", "A record's vote is spread by exp(−distance/τ)"]], (vote) => this.setVote(vote));
    this.tools = choice("What a click does", [["record", "Move the record", "A click or a drag anywhere moves the record"], ["add", "Add candidates", "A click places a candidate; drag one to move it, double-click one to remove it"]], (tool) => this.setTool(tool));
    this.tau = build("input", { type: "range", name: "tau", min: TAU.low, max: TAU.high, step: 0.005, "aria-label": "Temperature τ", title: "Temperature τ of the soft vote, in units of distance",
      oninput: () => this.slide("tau"), onchange: () => this.commit() });
    this.tauText = build("output", { "data-readout": "tau" });
    this.thetas = build("div", { class: "bp-thetas" });
    this.remove = build("button", { type: "button", class: "bp-remove", onclick: () => this.removePicked() }, "Remove candidate");
    this.canvas = build("canvas", { "aria-hidden": "true" });
    this.axes = build("g", { class: "bp-axes", "aria-hidden": "true" });
    this.over = build("g", { class: "bp-over" });
    this.svg = build("svg", { "aria-hidden": "true" }, this.axes, this.over);
    this.tip = build("div", { class: "bp-tip", hidden: true });
    this.stage = build("div", { class: "bp-stage", tabindex: "0", role: "application", "aria-roledescription": "plane of records",
      onpointerdown: (e) => this.down(e), onpointermove: (e) => this.move(e), onpointerup: (e) => this.up(e), onpointercancel: () => this.cancel(),
      onpointerleave: () => this.hideTip(), ondblclick: () => this.double(), onkeydown: (e) => this.key(e) }, this.canvas, this.svg, this.tip);
    this.side = build("aside", { class: "bp-side", "aria-label": "The record and its vote" });
    this.counts = build("p", { class: "bp-counts" });
    this.legend = build("p", { class: "bp-legend" });
    this.status = build("p", { class: "bp-status", role: "status" });
    this.root.append(
      build("div", { class: "bp-bar" }, this.votes, build("label", { class: "bp-slider" }, build("span", {}, "τ"), this.tau, this.tauText), this.thetas),
      build("div", { class: "bp-bar bp-tools" }, this.tools, this.remove, this.status),
      build("div", { class: "bp-main" }, this.stage, this.side), this.counts, this.legend);
  }

  setData(data) {
    if (this.drag) {
      this.waiting = data;
      return;
    }
    // An answer to an older edit than the last one sent must not undo it; the host answers that one too.
    if (this.data && data.revision < this.revision && data.epoch === this.data.epoch) return;
    const replaced = !this.data || data.epoch !== this.data.epoch || String(data.candidates) !== String(this.state.candidates);
    const before = replaced ? data.record : this.state.record;
    const walked = String(data.record) !== String(before); // moved by the host's own controls: a walk too
    this.revision = data.revision;
    this.data = data;
    this.state = {
      candidates: data.candidates.map((codes) => [...codes]), record: [...data.record], tau: data.tau, vote: data.vote,
      theta: {}, drawn: false,
    };
    if (replaced || walked) this.origin = [...before];
    if (replaced) {
      // what was picked and said belongs to candidates that are gone
      this.picked = null;
      this.sayHint();
    }
    this.tau.value = Math.log10(data.tau);
    this.thetaSliders();
    this.layOut();
  }

  takeWaiting() {
    const { waiting } = this;
    this.waiting = null;
    if (waiting) this.setData(waiting);
  }

  get axis() {
    const { attributes, across, down } = this.data;
    return { x: attributes[across], y: attributes[down] };
  }

  // --- geometry ------------------------------------------------------------------------------------------------

  layOut() {
    const { x, y } = this.axis;
    const width = Math.max(260, this.stage.clientWidth);
    const height = this.stage.clientHeight;
    const room = (labels) => Math.min(150, Math.max(...labels.map((label) => label.length)) * 6.8 + 14);
    const left = y.kind === "numeric" ? 62 : room(y.values) + 22;
    const cell = (width - left - 12) / x.values.length;
    const slanted = x.kind !== "numeric" && Math.max(...x.values.map((label) => label.length)) * 6.8 > cell - 4;
    this.box = { left, top: 8, right: 12, bottom: slanted ? Math.min(96, room(x.values) * 0.55 + 40) : 44, width, height, slanted };
    this.box.w = width - left - this.box.right;
    this.box.h = height - this.box.top - this.box.bottom;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawAxes();
    this.refresh();
  }

  /** Numbers grow upwards; names are read downwards. */
  flipped(row) {
    return this.axis.y.kind === "numeric" ? this.axis.y.values.length - 1 - row : row;
  }

  centre(column, row) {
    const { left, top, w, h } = this.box;
    return [left + ((column + 0.5) * w) / this.axis.x.values.length, top + ((this.flipped(row) + 0.5) * h) / this.axis.y.values.length];
  }

  cellAt(event, bounded = false) {
    const place = this.stage.getBoundingClientRect();
    const { left, top, w, h } = this.box;
    const column = Math.floor(((event.clientX - place.left - left) / w) * this.axis.x.values.length);
    const line = Math.floor(((event.clientY - place.top - top) / h) * this.axis.y.values.length);
    const columns = this.axis.x.values.length;
    const rows = this.axis.y.values.length;
    if (!bounded && (column < 0 || line < 0 || column >= columns || line >= rows)) return null;
    return [clamp(column, 0, columns - 1), this.flipped(clamp(line, 0, rows - 1))];
  }

  drawAxes() {
    const { left, top, w, h, slanted } = this.box;
    const { x, y } = this.axis;
    const nodes = [];
    const ticks = (attribute, length, least) => {
      const n = attribute.values.length;
      let every = Math.max(1, Math.ceil((least * n) / length));
      if (attribute.kind === "numeric" && every > 1) every = [2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 1e4, 1e5, 1e6].find((nice) => nice >= every) ?? every;
      const first = attribute.kind === "numeric" && every > 1 ? attribute.values.findIndex((value) => Number(value) % (every * attribute.step) === 0) : 0;
      return Array.from({ length: n }, (_, i) => i).filter((i) => (i - Math.max(0, first)) % every === 0 && i >= Math.max(0, first));
    };
    const cut = (label, most) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);
    for (const i of ticks(x, w, slanted ? 16 : 44)) {
      const [cx] = this.centre(i, 0);
      const label = build("text", { x: cx, y: top + h + 16, "text-anchor": slanted ? "end" : "middle", transform: slanted ? `rotate(-30 ${cx} ${top + h + 12})` : null }, cut(x.values[i], slanted ? 20 : 24));
      nodes.push(build("line", { x1: cx, x2: cx, y1: top + h, y2: top + h + 4 }), label);
    }
    for (const i of ticks(y, h, 17)) {
      const [, cy] = this.centre(0, i);
      nodes.push(build("line", { x1: left - 4, x2: left, y1: cy, y2: cy }), build("text", { x: left - 8, y: cy + 4, "text-anchor": "end" }, cut(y.values[i], 19)));
    }
    nodes.push(build("text", { class: "bp-name", x: left + w / 2, y: this.box.height - 4, "text-anchor": "middle" }, x.name));
    nodes.push(build("text", { class: "bp-name", x: 0, y: 0, "text-anchor": "middle", transform: `translate(14 ${top + h / 2}) rotate(-90)` }, y.name));
    this.axes.replaceChildren(...nodes);
  }

  // --- numbers -------------------------------------------------------------------------------------------------

  refresh(what = { regions: true, edges: true }) {
    const { data, state } = this;
    if (what.regions || !this.distances) {
      this.distances = new Distances(data, state.record, state.candidates);
      this.nearest = this.distances.regions();
      this.owners = new Set(this.nearest);
      this.colours = colourRegions(this.nearest, this.distances.columns, this.distances.rows, this.colours);
      for (let k = 0; k < state.candidates.length; k++) if (!this.colours.has(k)) this.colours.set(k, k % data.hues.length);
      this.image = null;
    }
    if (what.edges || what.regions) this.findCrossings();
    if (what.image) this.image = null;
    this.paint();
    this.drawOver();
    this.tellCounts();
    this.tellSide();
    this.controls();
  }

  rule(axis) {
    const given = this.data.rules[axis];
    const theta = this.state.theta[axis];
    return theta === undefined ? given : { ...given, pairs: null, uncounted: false, theta };
  }

  findCrossings() {
    const { columns, rows } = this.distances;
    const { x, y } = this.axis;
    const listed = { across: edgesOf(x, this.rule("across")), down: edgesOf(y, this.rule("down")) };
    this.pairs = { across: listed.across ?? [], down: listed.down ?? [] };
    const unlisted = listed.across === null || listed.down === null;
    const checks = this.pairs.across.length * rows + this.pairs.down.length * columns;
    this.crossings = unlisted || checks > MOST_CHECKS ? null : {
      across: crossingsAlong(this.nearest, columns, rows, this.pairs.across, true),
      down: crossingsAlong(this.nearest, columns, rows, this.pairs.down, false),
    };
  }

  /** The shares that a soft vote gives, or the one-hot hard vote, of a cell under the shown record. */
  softAt(record) {
    const held = record.every((code, j) => j === this.data.across || j === this.data.down || code === this.state.record[j]);
    const distances = held ? this.distances : new Distances(this.data, record, this.state.candidates);
    const [column, row] = [record[this.data.across], record[this.data.down]];
    return { soft: distances.soft(column, row, this.state.tau), nearest: distances.at(column, row, new Float64Array(distances.m)) };
  }

  distance(a, b) {
    return this.data.attributes.reduce((sum, attribute, j) => sum + steps(attribute, a[j], b[j]) * Number(attribute.multiplier), 0) / this.distances.denominator;
  }

  // --- drawing -------------------------------------------------------------------------------------------------

  theme() {
    const style = getComputedStyle(this.root);
    const ground = rgb(style.getPropertyValue("--ground").trim());
    this.root.dataset.theme = ground[0] + ground[1] + ground[2] < 380 ? "dark" : "light";
    const after = getComputedStyle(this.root);
    return { ground, text: rgb(after.getPropertyValue("--text").trim()), signal: rgb(after.getPropertyValue("--signal").trim()), dark: this.root.dataset.theme === "dark" };
  }

  /** A candidate's own hue, unmixed. */
  full(k) {
    return rgb(this.data.hues[this.colours.get(k) % this.data.hues.length]);
  }

  /** A region's colour: touching regions differ in hue or, past the last hue, in strength. */
  hue(number, { ground, dark }) {
    const turn = Math.floor(number / this.data.hues.length);
    const share = (dark ? 0.5 : 0.44) * [1, 0.5, 1.5][turn % 3];
    return blend(rgb(this.data.hues[number % this.data.hues.length]), ground, Math.min(0.85, share));
  }

  /** The picture of all cells, one pixel each, or of evenly spread ones where they are more than can be drawn. */
  cells(theme) {
    const { columns, rows, m } = this.distances;
    const [wide, high] = [Math.min(columns, MOST_PIXELS), Math.min(rows, MOST_PIXELS)];
    const spread = (pixel, pixels, length) => Math.floor(((pixel + 0.5) * length) / pixels);
    const image = new ImageData(wide, high);
    const hues = Array.from({ length: m }, (_, k) => this.hue(this.colours.get(k), theme));
    const soft = this.state.vote === "soft";
    const mixer = soft ? this.distances.mixer(this.state.tau, hues) : null;
    for (let line = 0; line < high; line++) {
      const row = this.flipped(spread(line, high, rows));
      mixer?.enter(row);
      for (let pixel = 0; pixel < wide; pixel++) {
        const column = spread(pixel, wide, columns);
        const nearest = this.nearest[row * columns + column];
        const colour = mixer ? mixer.at(column, nearest) : hues[nearest];
        const at = 4 * (line * wide + pixel);
        image.data[at] = colour[0];
        image.data[at + 1] = colour[1];
        image.data[at + 2] = colour[2];
        image.data[at + 3] = 255;
      }
    }
    const small = document.createElement("canvas");
    small.width = wide;
    small.height = high;
    small.getContext("2d").putImageData(image, 0, 0);
    return small;
  }

  paint() {
    const theme = this.theme();
    const key = JSON.stringify(theme);
    if (!this.image || this.imageTheme !== key) {
      this.image = this.cells(theme);
      this.imageTheme = key;
    }
    const ratio = window.devicePixelRatio || 1;
    const pen = this.canvas.getContext("2d");
    const { left, top, w, h } = this.box;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.box.width, this.box.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.image, left, top, w, h);
    this.paintBoundaries(pen, theme);
    this.paintEdges(pen, theme);
    pen.strokeStyle = `rgb(${blend(theme.text, theme.ground, 0.35)})`;
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, top - 0.5, w + 1, h + 1);
  }

  paintBoundaries(pen, theme) {
    const { columns, rows } = this.distances;
    const { left, top, w, h } = this.box;
    const [cw, ch] = [w / columns, h / rows];
    pen.beginPath();
    for (let row = 0; row < rows; row++) {
      const line = this.flipped(row);
      for (let column = 0; column < columns; column++) {
        const own = this.nearest[row * columns + column];
        if (column + 1 < columns && this.nearest[row * columns + column + 1] !== own) {
          pen.moveTo(left + (column + 1) * cw, top + line * ch);
          pen.lineTo(left + (column + 1) * cw, top + (line + 1) * ch);
        }
        if (row + 1 < rows && this.nearest[(row + 1) * columns + column] !== own) {
          const at = top + (this.axis.y.kind === "numeric" ? line : line + 1) * ch;
          pen.moveTo(left + column * cw, at);
          pen.lineTo(left + (column + 1) * cw, at);
        }
      }
    }
    pen.strokeStyle = `rgba(${theme.text}, ${this.state.vote === "soft" ? 0.28 : 0.8})`;
    pen.lineWidth = this.state.vote === "soft" ? 1 : 1.4;
    pen.stroke();
  }

  /** Crossing edges as a glow: each gap between cells, the stronger the more crossing edges span it. */
  paintEdges(pen, theme) {
    if (!this.crossings) return;
    const { columns, rows } = this.distances;
    const { left, top, w, h } = this.box;
    const [cw, ch] = [w / columns, h / rows];
    const strength = this.state.vote === "soft" ? 0.4 : 1; // a reminder there: the soft vote does not jump
    for (const [axis, found] of Object.entries(this.crossings)) {
      const most = found.spans.reduce((a, b) => Math.max(a, b), 0);
      if (!found.total) continue;
      const faint = this.spread(this.pairs[axis], found.length);
      const densest = faint.reduce((a, b) => Math.max(a, b), 1);
      const thick = axis === "across" ? ch : cw;
      const width = Math.max(0.8, Math.min(thick * 0.34, 5));
      // gaps far thinner than a pixel are drawn some at a time, as the strongest of them, or they would all but vanish
      const some = Math.max(1, Math.floor((2 * found.length) / MOST_PIXELS));
      for (let line = 0; line < found.lines; line++) {
        for (let gap = 0; gap + 1 < found.length; gap += some) {
          const next = Math.min(gap + some, found.length - 1);
          let crossing = 0;
          let calm = 0;
          for (let i = gap; i < next; i++) {
            crossing = Math.max(crossing, found.spans[line * found.length + i]);
            calm = Math.max(calm, faint[i]);
          }
          if (!crossing && !calm) continue;
          const colour = crossing ? `rgba(${theme.signal}, ${strength * (0.3 + 0.65 * (crossing / most))})` : `rgba(${theme.text}, ${0.04 + 0.08 * (calm / densest)})`;
          pen.fillStyle = colour;
          if (axis === "across") pen.fillRect(left + (gap + 0.5) * cw, top + (this.flipped(line) + 0.5) * ch - width / 2, (next - gap) * cw, width);
          else {
            const from = Math.min(this.flipped(gap), this.flipped(next));
            pen.fillRect(left + (line + 0.5) * cw - width / 2, top + (from + 0.5) * ch, width, (next - gap) * ch);
          }
        }
      }
    }
  }

  /** How many edges span each gap of an axis. */
  spread(pairs, length) {
    const spans = new Float64Array(length);
    for (const [a, b] of pairs) {
      spans[a]++;
      spans[b]--;
    }
    for (let i = 1; i < length; i++) spans[i] += spans[i - 1];
    return spans;
  }

  onPlane(candidate) {
    return candidate.every((code, j) => j === this.data.across || j === this.data.down || code === this.state.record[j]);
  }

  /** How large the mark of a candidate is, in pixels. */
  radius(here) {
    const many = this.state.candidates.length > 60;
    return many ? (here ? 4.5 : 3) : here ? 7 : 5.5;
  }

  drawOver() {
    const { data, state } = this;
    const nodes = [];
    const { owners } = this;
    const theme = this.theme();
    const drawn = new Set(["record"]);
    state.candidates.forEach((codes, k) => {
      const [cx, cy] = this.centre(codes[data.across], codes[data.down]);
      const here = this.onPlane(codes);
      drawn.add(`${here ? "here" : "away"}${owners.has(k) ? "" : "-idle"}`);
      if (k === this.picked) drawn.add("picked");
      const node = build("circle", {
        class: `bp-candidate${here ? " is-here" : ""}${k === this.picked ? " is-picked" : ""}${owners.has(k) ? "" : " is-idle"}`,
        cx, cy, r: this.radius(here), "data-candidate": k,
      });
      node.style.fill = here ? `rgb(${blend(this.full(k), theme.dark ? [255, 255, 255] : [0, 0, 0], 0.75)})` : "";
      nodes.push(node);
    });
    const [column, row] = [state.record[data.across], state.record[data.down]];
    const [rx, ry] = this.centre(column, row);
    const arc = (to, crosses, upright) => {
      const [tx, ty] = to;
      const bend = Math.min(26, Math.hypot(tx - rx, ty - ry) * 0.35);
      const path = upright ? `M${rx} ${ry} Q${rx + bend} ${(ry + ty) / 2} ${tx} ${ty}` : `M${rx} ${ry} Q${(rx + tx) / 2} ${ry - bend} ${tx} ${ty}`;
      nodes.push(build("path", { class: `bp-edge${crosses ? " is-crossing" : ""}`, d: path, "data-crosses": crosses ? "yes" : "no" }));
      drawn.add(crosses ? "crossing" : "calm");
    };
    for (const found of Object.values(this.crossings ?? {})) {
      if (found.crossing) drawn.add("crossing");
      if (found.crossing < found.total) drawn.add("calm");
    }
    const own = this.nearest[row * this.distances.columns + column];
    for (const [a, b] of this.pairs.across) {
      if (a === column || b === column) arc(this.centre(a === column ? b : a, row), this.nearest[row * this.distances.columns + (a === column ? b : a)] !== own, false);
    }
    for (const [a, b] of this.pairs.down) {
      if (a === row || b === row) arc(this.centre(column, a === row ? b : a), this.nearest[(a === row ? b : a) * this.distances.columns + column] !== own, true);
    }
    if (this.origin && this.onPlane(this.origin) && this.origin.some((code, j) => code !== state.record[j])) {
      const [ox, oy] = this.centre(this.origin[data.across], this.origin[data.down]);
      drawn.add("origin");
      nodes.push(build("line", { class: "bp-trail", x1: ox, y1: oy, x2: rx, y2: ry }), build("path", { class: "bp-origin", d: diamond(ox, oy, 7) }));
    }
    nodes.push(build("path", { class: "bp-record", d: diamond(rx, ry, 9), "data-record": state.record.join(",") }));
    this.over.replaceChildren(...nodes);
    this.tellLegend(drawn);
  }

  // --- words ---------------------------------------------------------------------------------------------------

  named(record) {
    return this.data.attributes.map((attribute, j) => attribute.values[record[j]]);
  }

  candidateName(k) {
    return `#${k + 1}`;
  }

  tellCounts() {
    const { crossings, data } = this;
    const parts = [];
    if (!crossings) parts.push("Too many edges on this slice to count and draw here; its regions and votes are exact.");
    else {
      const crossing = crossings.across.crossing + crossings.down.crossing;
      const total = crossings.across.total + crossings.down.total;
      if (!total) parts.push(data.elsewhere.length ? `No policy edge runs along these axes: those of ${data.elsewhere.join(", ")} leave this plane.` : "The policy has no edges.");
      else {
        const share = (100 * crossing) / total;
        parts.push(build("b", { "data-readout": "crossing", "data-raw": crossing }, grouped(crossing)), " of ",
          build("span", { "data-readout": "total", "data-raw": total }, plural(total, "edge")), ` on this slice cross${crossing === 1 ? "es" : ""} a boundary (${share > 0 && share < 0.1 ? "<0.1" : share.toFixed(1)} %)`,
          crossing ? ": the hard vote jumps by √2 there." : ": here the hard vote never jumps.");
        if (data.elsewhere.length) parts.push(` Edges of ${data.elsewhere.join(", ")} leave this plane.`);
      }
    }
    this.counts.replaceChildren(...parts);
    const record = this.named(this.state.record);
    this.stage.setAttribute("aria-label", `${this.axis.x.name} across, ${this.axis.y.name} down. Record at ${record.join(", ")}. Arrow keys move it, Enter adds a candidate there, Delete removes one.`);
  }

  /** Names just the kinds of mark that are drawn; what a gesture brings and takes keeps its room. */
  tellLegend(drawn) {
    const entry = (name, said, kept = false) => {
      const shown = drawn.has(name);
      if (!shown && !kept) return null;
      const node = build("span", { "data-mark": shown ? name : null }, build("i", { class: `bp-mark is-${name}`, "aria-hidden": "true" }), said);
      node.style.visibility = shown ? "" : "hidden";
      return node;
    };
    const owners = this.owners.size;
    const m = this.state.candidates.length;
    this.legend.replaceChildren(...[
      entry("record", "the record"),
      entry("here", "candidate on this slice"),
      entry("here-idle", "candidate on this slice, owns no cell here"),
      entry("away", "candidate off this slice, owns a region here"),
      entry("away-idle", "candidate off this slice, owns none here"),
      entry("crossing", "edges that cross"),
      entry("calm", "edges that do not"),
      build("span", { "data-readout": "owners", "data-raw": owners }, `${grouped(owners)} of ${plural(m, "candidate")} ${owners === 1 ? "owns" : "own"} a region here`),
      entry("picked", "the chosen candidate", true),
      entry("origin", "where the record was", true)].filter(Boolean));
  }

  bars(before, after) {
    const order = after.map((share, k) => [k, share, before[k]]).sort((a, b) => Math.max(b[1], b[2]) - Math.max(a[1], a[2]) || a[0] - b[0]).slice(0, SHOWN_VOTES);
    const theme = this.theme();
    return order.filter(([, share, was]) => share > 5e-4 || was > 5e-4).map(([k, share, was]) => {
      const bar = build("span", { class: "bp-bar-now" });
      bar.style.width = `${100 * share}%`;
      bar.style.background = `rgb(${blend(this.full(k), theme.dark ? [255, 255, 255] : theme.text, 0.85)})`;
      const past = build("span", { class: "bp-bar-was" });
      past.style.left = `${100 * was}%`;
      return build("li", { title: this.named(this.state.candidates[k]).join(", ") },
        build("span", { class: "bp-bar-name" }, this.candidateName(k)), build("span", { class: "bp-bar-room" }, bar, past), build("span", { class: "bp-bar-number" }, `${(100 * share).toFixed(1)} %`));
    });
  }

  tellSide() {
    const { state, data } = this;
    if (!state.candidates.length) return;
    const now = this.softAt(state.record);
    const was = this.softAt(this.origin);
    const m = state.candidates.length;
    const oneHot = (k) => Array.from({ length: m }, (_, i) => (i === k ? 1 : 0));
    const bars = this.bars([...was.soft], [...now.soft]);
    const distance = this.distance(this.origin, state.record);
    const moved = this.origin.some((code, j) => code !== state.record[j]);
    const hard = was.nearest === now.nearest ? 0 : Math.SQRT2;
    const softly = change(was.soft, now.soft);
    const fact = (label, value, readout) => build("div", {}, build("dt", {}, label), build("dd", { "data-readout": readout, "data-raw": value }, short(value)));
    const where = data.attributes.map((attribute, j) => {
      const changed = this.origin[j] !== state.record[j];
      const text = changed ? `${attribute.values[this.origin[j]]} → ${attribute.values[state.record[j]]}` : attribute.values[state.record[j]];
      return build("div", { class: changed ? "is-moved" : null }, build("dt", {}, attribute.name), build("dd", {}, text));
    });
    this.side.replaceChildren(
      build("h4", {}, "The record"), build("dl", { class: "bp-where" }, ...where),
      build("h4", {}, "Its hard vote"),
      build("ul", { class: "bp-bars" }, ...this.bars(oneHot(was.nearest), oneHot(now.nearest))),
      build("h4", {}, "Its soft vote"),
      build("ul", { class: "bp-bars is-soft" }, ...bars, bars.length ? null : build("li", { class: "bp-spread" }, "spread thinly over all candidates")),
      build("h4", { title: "How long the difference between the two votes is: the square root of its summed squares (L2)" }, moved ? "Change of its vote (L2)" : "Change of its vote"),
      moved ? build("dl", { class: "bp-change" }, fact("hard", hard, "hard-change"), fact("soft", softly, "soft-change"), fact("soft, at most", ceiling(distance, state.tau), "ceiling"))
        : build("p", { class: "bp-hint" }, "Drag the diamond, or use the arrow keys, and watch the vote."));
  }

  controls() {
    for (const button of this.votes.children) button.setAttribute("aria-pressed", String(button.dataset.choice === this.state.vote));
    for (const button of this.tools.children) button.setAttribute("aria-pressed", String(button.dataset.choice === this.tool));
    this.tauText.textContent = short(this.state.tau);
    this.tauText.dataset.raw = this.state.tau;
    this.remove.disabled = this.picked === null || this.state.candidates.length < 2;
    this.stage.classList.toggle("is-adding", this.tool === "add");
  }

  thetaSliders() {
    const sliders = ["across", "down"].map((axis) => {
      const rule = this.data.rules[axis];
      const name = this.axis[axis === "across" ? "x" : "y"].name;
      if (rule.limit <= 0) return null;
      if (rule.drawn) return build("span", { class: "bp-drawn", title: "A policy of blocks, drawn edges or all pairs has no θ; change it on the Policy page" }, `${name}: ${rule.drawn}`);
      const text = build("output", { "data-readout": `theta-${axis}` }, short(rule.theta ?? 0));
      const input = build("input", { type: "range", name: `theta-${axis}`, min: 0, max: rule.limit, step: rule.unit, value: rule.theta ?? 0, "aria-label": `θ of ${name}`, title: `Threshold θ: values of ${name} at most this far apart are joined`,
        oninput: () => {
          this.state.theta[axis] = Number(input.value);
          text.textContent = short(Number(input.value));
          this.refresh({ edges: true });
        }, onchange: () => this.commit() });
      return build("label", { class: "bp-slider" }, build("span", {}, `θ ${name}`), input, text);
    });
    const focused = this.root.getRootNode().activeElement?.name;
    this.thetas.replaceChildren(...sliders.filter(Boolean));
    if (focused?.startsWith("theta")) this.thetas.querySelector(`[name="${focused}"]`)?.focus();
  }

  // --- settings ------------------------------------------------------------------------------------------------

  setVote(vote) {
    if (vote === this.state.vote) return;
    this.state.vote = vote;
    this.refresh({ image: true });
    this.commit();
  }

  setTool(tool) {
    this.tool = tool;
    this.sayHint();
    this.controls();
  }

  /** One line, cut where it is too long, or the plane would jump under the pointer; whole in its title. */
  say(words) {
    this.status.textContent = words;
    this.status.title = words;
  }

  sayHint() {
    this.say(this.tool === "add" ? "Click to place, drag to move, double-click to remove a candidate." : "");
  }

  slide() {
    this.state.tau = Number((10 ** Number(this.tau.value)).toPrecision(3)); // a number that people can say and type
    if (this.distances.rows * this.distances.columns * this.distances.m > LIVE_WORK) {
      this.controls();
      return;
    }
    this.soon({ image: true });
  }

  /** At most one recomputation a frame. */
  soon(what) {
    this.pending = { ...this.pending, ...what };
    if (this.ticking) return;
    this.ticking = true;
    requestAnimationFrame(() => {
      this.ticking = false;
      const { pending } = this;
      this.pending = null;
      if (this.root.isConnected) this.refresh(pending);
    });
  }

  commit() {
    const { state } = this;
    this.revision += 1;
    this.sink({
      revision: this.revision, epoch: this.data.epoch, record: state.record, tau: state.tau, vote: state.vote,
      theta: state.theta, candidates: state.drawn ? state.candidates : null,
    });
  }

  // --- candidates ----------------------------------------------------------------------------------------------

  add([column, row]) {
    const codes = [...this.state.record];
    codes[this.data.across] = column;
    codes[this.data.down] = row;
    const there = this.state.candidates.findIndex((other) => String(other) === String(codes));
    if (there >= 0) {
      // A copy would own nothing anywhere; the second press of a double-click would leave one, too.
      this.picked = there;
      this.drawOver();
      this.controls();
      this.say(`Candidate ${this.candidateName(there)} is there already: ${this.named(codes).join(", ")}.`);
      return;
    }
    this.state.candidates.push(codes);
    this.state.drawn = true;
    this.picked = this.state.candidates.length - 1;
    this.refresh();
    this.say(`Candidate ${this.candidateName(this.picked)} placed at ${this.named(codes).join(", ")}.`);
    this.commit();
  }

  removePicked() {
    if (this.picked !== null) this.removeCandidate(this.picked);
  }

  removeCandidate(k) {
    if (this.state.candidates.length < 2) {
      this.say("The last candidate stays: without one there is nobody to vote for.");
      return;
    }
    this.state.candidates.splice(k, 1);
    this.state.drawn = true;
    this.picked = null;
    this.colours = new Map();
    this.refresh();
    this.say(`Candidate ${this.candidateName(k)} removed; later ones move up by one.`);
    this.commit();
  }

  /** The candidate whose mark is under the pointer: one on this slice before others, then the nearest; or null. */
  candidateAt(event) {
    const place = this.stage.getBoundingClientRect();
    const [px, py] = [event.clientX - place.left, event.clientY - place.top];
    const crowded = this.state.candidates.length * Math.PI * this.radius(false) ** 2 > CROWDED * this.box.w * this.box.h;
    let best = null;
    let least = Infinity;
    this.state.candidates.forEach((codes, k) => {
      const here = this.onPlane(codes);
      if (crowded && !here && !this.owners.has(k)) return;
      const [cx, cy] = this.centre(codes[this.data.across], codes[this.data.down]);
      const apart = Math.hypot(cx - px, cy - py);
      if (apart > this.radius(here) + SLACK) return;
      const rank = apart + (here ? 0 : 1000);
      if (rank < least) [least, best] = [rank, k];
    });
    return best;
  }

  overRecord(event) {
    const place = this.stage.getBoundingClientRect();
    const [cx, cy] = this.centre(this.state.record[this.data.across], this.state.record[this.data.down]);
    return Math.hypot(cx - event.clientX + place.left, cy - event.clientY + place.top) < 13;
  }

  // --- gestures ------------------------------------------------------------------------------------------------

  down(event) {
    if (event.button !== 0 || !this.data) return;
    const cell = this.cellAt(event);
    // A tool does one thing: candidates are taken hold of only where they are edited.
    const k = cell && this.tool === "add" ? this.candidateAt(event) : null;
    this.presses = [this.presses[1], k];
    if (!cell) return;
    this.hideTip();
    const record = this.overRecord(event) && k === null;
    const kind = record ? "record" : k !== null ? "candidate" : this.tool === "add" ? "add" : "record";
    this.drag = { kind, k, id: event.pointerId, cell, from: cell, before: JSON.parse(JSON.stringify(this.state)), origin: this.origin, jumped: kind === "record" && !record };
    this.stage.setPointerCapture(event.pointerId);
    if (kind === "candidate") {
      this.picked = k;
      this.drawOver();
      this.controls();
    }
    if (kind === "record" && record) this.origin = [...this.state.record];
  }

  move(event) {
    const { drag } = this;
    if (!drag) return this.hover(event);
    if (event.pointerId !== drag.id) return;
    const cell = this.cellAt(event, true);
    if (cell[0] === drag.cell[0] && cell[1] === drag.cell[1]) return;
    if (drag.jumped && !drag.travelled) this.place(drag.from, true);
    drag.cell = cell;
    drag.travelled = true;
    if (drag.kind === "record") this.place(cell);
    else if (drag.kind === "candidate") {
      const codes = this.state.candidates[drag.k];
      codes[this.data.across] = cell[0];
      codes[this.data.down] = cell[1];
      this.state.drawn = true;
      if (this.distances.rows * this.distances.columns * this.distances.m > LIVE_WORK) this.drawOver();
      else this.soon({ regions: true });
    }
  }

  /** Put the record on a cell; `fresh` begins a new walk there. */
  place(cell, fresh = false) {
    this.state.record[this.data.across] = cell[0];
    this.state.record[this.data.down] = cell[1];
    if (fresh) this.origin = [...this.state.record];
    this.distances.record = this.state.record;
    this.drawOver();
    this.tellSide();
  }

  up(event) {
    const { drag } = this;
    if (!drag || event.pointerId !== drag.id) return;
    this.drag = null;
    if (this.tool === "add" && drag.kind !== "candidate" && !drag.travelled) this.add(drag.cell);
    else if (drag.kind === "record") {
      if (drag.jumped && !drag.travelled) {
        this.origin = [...this.state.record];
        this.place(drag.cell);
      }
      this.tellCounts();
      this.commit();
    } else if (drag.kind === "candidate" && drag.travelled) {
      this.refresh();
      this.say(`Candidate ${this.candidateName(drag.k)} moved to ${this.named(this.state.candidates[drag.k]).join(", ")}.`);
      this.commit();
    } else if (drag.kind === "candidate") {
      this.say(`Candidate ${this.candidateName(drag.k)}: ${this.named(this.state.candidates[drag.k]).join(", ")}.`);
    }
    this.takeWaiting();
  }

  cancel() {
    if (!this.drag) return;
    this.state = this.drag.before;
    this.origin = this.drag.origin;
    this.drag = null;
    this.refresh();
    this.takeWaiting();
  }

  /** Removes a candidate that both presses were on; one that the first press placed stays. */
  double() {
    const [first, second] = this.presses;
    this.presses = [null, null];
    if (second !== null && first === second) this.removeCandidate(second);
  }

  key(event) {
    if (event.target !== this.stage || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return this.cancel();
    const far = event.shiftKey ? 5 : 1;
    const upward = this.axis.y.kind === "numeric" ? far : -far;
    const moves = { ArrowRight: [far, 0], ArrowLeft: [-far, 0], ArrowUp: [0, upward], ArrowDown: [0, -upward] };
    const { across, down } = this.data;
    const [column, row] = [this.state.record[across], this.state.record[down]];
    if (event.key in moves) {
      event.preventDefault();
      if (!this.walking) this.origin = [...this.state.record];
      this.walking = true;
      const [dx, dy] = moves[event.key];
      this.place([clamp(column + dx, 0, this.axis.x.values.length - 1), clamp(row + dy, 0, this.axis.y.values.length - 1)]);
      clearTimeout(this.later);
      // Walking by keys is one gesture: it ends when the keys rest.
      this.later = setTimeout(() => {
        this.walking = false;
        this.tellCounts();
        this.commit();
      }, 500);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.add([column, row]);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      const here = this.picked ?? this.state.candidates.findIndex((codes) => codes[across] === column && codes[down] === row);
      if (here >= 0) this.removeCandidate(here);
      else this.say("No candidate here.");
    }
  }

  // --- hover ---------------------------------------------------------------------------------------------------

  hover(event) {
    if (!this.data || !this.state.candidates.length) return;
    const cell = this.cellAt(event);
    if (!cell) return this.hideTip();
    const k = this.candidateAt(event);
    this.stage.classList.toggle("is-over-handle", this.overRecord(event) || (this.tool === "add" && k !== null));
    const record = [...this.state.record];
    [record[this.data.across], record[this.data.down]] = cell;
    const { soft, nearest } = this.softAt(record);
    const top = [...soft].map((share, i) => [share, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 3);
    const lines = [
      build("b", {}, this.named(record).join(", ")),
      build("span", { "data-tip": "hard" }, `hard: all to ${this.candidateName(nearest)}, at distance ${short(this.distance(record, this.state.candidates[nearest]))}`),
      build("span", { "data-tip": "soft" }, `soft: ${top.map(([share, i]) => `${this.candidateName(i)} ${(100 * share).toFixed(1)} %`).join(", ")}`)];
    if (k !== null) {
      const where = this.named(this.state.candidates[k]).join(", ");
      lines.push(build("span", { "data-tip": "candidate" }, `Candidate ${this.candidateName(k)}: ${where}; ${this.owners.has(k) ? "owns a region here" : "owns no cell on this slice"}`));
    }
    this.tip.replaceChildren(...lines);
    this.tip.hidden = false;
    const place = this.stage.getBoundingClientRect();
    const [px, py] = [event.clientX - place.left, event.clientY - place.top];
    this.tip.style.left = `${clamp(px + 16, 0, Math.max(0, this.box.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${py + 22 + this.tip.offsetHeight > this.box.height ? py - this.tip.offsetHeight - 14 : py + 22}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }
}

const diamond = (x, y, r) => `M${x} ${y - r} L${x + r} ${y} L${x} ${y + r} L${x - r} ${y} Z`;

// ---------------------------------------------------------------------------------------------------------------
// Two homes
// ---------------------------------------------------------------------------------------------------------------

const mounted = new WeakMap();

/** Streamlit (components v2): called anew with every change of data or theme; one plane a parent element. */
function mountInStreamlit({ data, parentElement, setStateValue }) {
  let plane = mounted.get(parentElement);
  if (!plane) {
    plane = new Plane(parentElement, () => {});
    mounted.set(parentElement, plane);
  }
  plane.sink = (edit) => setStateValue("committed", edit);
  plane.setData(data);
  return () => {
    plane.destroy();
    mounted.delete(parentElement);
  };
}

/** Notebooks (anywidget): the model carries `data` in and `committed` out. */
const widget = {
  render({ model, el }) {
    const plane = new Plane(el, (edit) => {
      model.set("committed", edit);
      model.save_changes();
    });
    const update = () => plane.setData(model.get("data"));
    model.on("change:data", update);
    update();
    return () => {
      model.off("change:data", update);
      plane.destroy();
    };
  },
};

export default function boundaryPlane(component) {
  return component ? mountInStreamlit(component) : widget;
}
