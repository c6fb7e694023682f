// The four figures: which rows are on the page, what they contain, and what is under the pointer.

const KINDS = ["evicted", "died", "left"]; // of marks

// A finger needs more room than a pointer.
const COARSE = matchMedia("(pointer: coarse)").matches;
const LANE = COARSE ? { one: 24, many: 24, pad: 3, head: 28, track: 24, cause: 28 } : { one: 15, many: 12, pad: 4, head: 19, track: 18, cause: 19 };
const ROWS_HEIGHT = 700; // about the height of a page of rows, in pixels
const MAX_CAUSE_LANES = 5;
const AXIS = { causes: 42, lanes: 8, tracks: 8 };
const DRAWN = ["causes", "lanes", "tracks"];
const FADE_STEPS = 12;
const ANOMALY = "#D55E00";
const GUTTER = { wide: 150, narrow: 92 };

class Timeline {
  constructor(scene, doc) {
    this.scene = scene;
    this.doc = doc;
    this.plots = Object.fromEntries([...DRAWN, "overview"].map((name) => [name, doc.get_model_by_name(name)]));
    this.range = doc.get_model_by_name("time");
    // Bokeh prints times in UTC: its axes get the moments whose UTC reads as the reader's time.
    for (const { formatter } of Object.values(this.plots).flatMap((plot) => [...plot.above, ...plot.below])) {
      const format = formatter.doFormat.bind(formatter);
      formatter.doFormat = (ticks, options) => format(ticks.map(zoned), options);
    }
    this.page = 0;
    this.hits = { causes: [], lanes: [], tracks: [], overview: [] };
    this.hatches = Object.fromEntries(
      DRAWN.map((name) => [name, [...doc.all_models].filter((m) => m.name && m.name.startsWith(`${name}-hatch-`) && m.data)]),
    );
    this.chosen = null;
    this.waiting = false;
    this.seen = () => {};
    for (const end of ["start", "end"]) this.range.properties[end].change.connect(() => this.soon());
    new ResizeObserver(() => this.soon()).observe(document.getElementById("figure-lanes"));
  }

  get width() {
    const gutter = this.narrow ? GUTTER.narrow : GUTTER.wide;
    return Math.max(100, document.getElementById("figure-lanes").clientWidth - gutter - 24);
  }

  get narrow() {
    return document.getElementById("figure-lanes").clientWidth < 560;
  }

  get pxPerMs() {
    return this.width / (this.range.end - this.range.start);
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  show(from, to) {
    const { first, last } = this.scene;
    const least = Math.min(last - first, 20);
    const length = Math.min(Math.max(to - from, least), last - first);
    const start = Math.min(Math.max((from + to) / 2 - length / 2, first), last - length);
    this.range.setv({ start, end: start + length });
  }

  showAll() {
    this.show(this.scene.first, this.scene.last);
  }

  get shown() {
    return [this.range.start, this.range.end];
  }

  get zoomed() {
    return this.range.end - this.range.start < (this.scene.last - this.scene.first) * 0.999;
  }

  // Rows by page: as many as are about a screen high.
  pages() {
    const pages = [[]];
    let height = 0;
    let group = null;
    for (const row of this.scene.wantedRows()) {
      const more = this.rowHeight(row) + (this.scene.groupOf(row) === group ? 0 : LANE.head);
      if (height + more > ROWS_HEIGHT && pages.at(-1).length) {
        pages.push([]);
        height = LANE.head;
      }
      group = this.scene.groupOf(row);
      pages.at(-1).push(row);
      height += more;
    }
    return pages;
  }

  turnTo(row) {
    this.scene.folded.delete(this.scene.rows[row][0]);
    const page = this.pages().findIndex((rows) => rows.includes(row));
    if (page >= 0) this.page = page;
  }

  laneHeight(row) {
    return row >= 0 && this.scene.rows[row][3] > 1 ? LANE.many : LANE.one;
  }

  rowHeight(row) {
    if (row < 0) return LANE.one + 2;
    return Math.max(1, this.scene.rows[row][3]) * this.laneHeight(row) + 2 * LANE.pad;
  }

  draw() {
    const pages = this.pages();
    this.page = Math.min(this.page, pages.length - 1);
    this.gutters();
    this.causes();
    let narrow = NARROW;
    let drawn = this.lanes(pages[this.page], narrow);
    while (drawn.size > MAX_BOXES && narrow < 100) drawn = this.lanes(pages[this.page], (narrow *= 2));
    this.tracks();
    this.overview();
    this.seen({ pages, page: this.page, merged: drawn.merged });
  }

  gutters() {
    const gutter = this.narrow ? GUTTER.narrow : GUTTER.wide;
    for (const plot of Object.values(this.plots)) if (plot.min_border_left !== gutter) plot.min_border_left = gutter;
    const ticks = this.narrow ? 4 : 9;
    for (const plot of Object.values(this.plots)) for (const axis of [...plot.above, ...plot.below]) if (axis.ticker.desired_num_ticks !== ticks) axis.ticker.desired_num_ticks = ticks;
  }

  fit(text) {
    const most = this.narrow ? 13 : 24;
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
  }

  lanes(rows, narrow) {
    const scene = this.scene;
    const boxes = new Boxes(this.pxPerMs);
    const words = new Words();
    const ticks = new Map();
    let y = 0;
    let merged = 0;
    for (let at = 0; at < rows.length; ) {
      const group = scene.groupOf(rows[at]);
      let end = at;
      while (end < rows.length && scene.groupOf(rows[end]) === group) end++;
      const members = rows.slice(at, end);
      const head = y;
      ticks.set(head + LANE.head / 2, this.fit((this.narrow ? "" : "group ") + scene.groups[group]));
      y += LANE.head;
      for (const row of members) {
        if (row < 0) this.foldedRow(group, y, boxes, words);
        else {
          ticks.set(y + this.rowHeight(row) / 2, this.fit((scene.rows[row][1] === "connector" ? "connector " : "") + scene.rows[row][2]));
          merged += this.row(row, y, boxes, words, narrow);
        }
        y += this.rowHeight(row);
      }
      merged += this.rounds(group, head, y, boxes, words, narrow);
      this.shade(group, head, y, boxes);
      y += LANE.pad;
      at += members.length;
    }
    this.put("lanes", boxes, words, ticks, Math.max(y, 40));
    return { size: boxes.size, merged };
  }

  // A group without trouble has a line that opens and folds it.
  foldedRow(group, y, boxes, words) {
    const count = this.scene.matchingRows().filter((r) => this.scene.rows[r][0] === group).length;
    const { start, end } = this.range;
    boxes.add("bars", start, end, y + 1, y + LANE.one, { fill: Theme.value("soft"), line: Theme.value("line") }, { what: "group", index: group });
    words.add(start + 5 / this.pxPerMs, y + LANE.one / 2 + 1, `${this.scene.folded.has(group) ? "▸" : "▾"} ${number(count)} ${count === 1 ? "resource" : "resources"}, no trouble found: ${this.scene.folded.has(group) ? "show" : "hide"}`, "text");
  }

  toggle(group) {
    const { folded } = this.scene;
    if (!folded.delete(group)) folded.add(group);
    this.soon();
  }

  // The time of each cause across all rows, and evictions and deaths as lines across the rows of their group.
  shade(group, top, bottom, boxes) {
    const { troubles, marks } = this.scene;
    const cause = Theme.value("cause");
    const edge = 1 / this.pxPerMs;
    for (const t of troubles) {
      if (t.note || t.to[1] < this.range.start || t.from[0] > this.range.end) continue;
      boxes.add("bands", t.from[0], t.to[1], top, bottom, { fill: cause, alpha: 0.1 });
      if (t.to[0] > t.from[1]) boxes.add("bands", t.from[1], t.to[0], top, bottom, { fill: cause, alpha: 0.1 });
      for (const at of [t.from[1], t.to[0]]) boxes.add("bands", at - edge / 2, at + edge / 2, top, bottom, { fill: cause, alpha: 0.7 });
    }
    for (const m of marks) {
      if (m.kind === "left" || (m.group >= 0 && m.group !== group) || m.at < this.range.start || m.at > this.range.end) continue;
      boxes.add("layers", m.at - edge, m.at + edge, top, bottom, { fill: cause, alpha: 0.85 });
    }
  }

  // The causes in lanes of their own below the time axis, and a lane of evictions, deaths and departures.
  causes() {
    const scene = this.scene;
    const px = this.pxPerMs;
    const boxes = new Boxes(px);
    const words = new Words();
    const ticks = new Map();
    const cause = Theme.value("cause");
    const [start, end] = this.shown;
    const free = [];
    const inSight = scene.troubles.map((t, index) => [t, index]).filter(([t]) => t.to[1] >= start && t.from[0] <= end);
    for (const [t, index] of inSight) {
      const left = Math.max(t.from[0], start);
      const right = Math.max(Math.min(t.to[1], end), left + 4 / px);
      const from = Math.max(t.from[1], start);
      const wide = (6.8 * t.label.length + 8) / px;
      const inside = Math.min(t.to[0], end) - from > wide + 4 / px;
      const after = end - right > wide;
      // Where it fits neither in the interval nor on a side of it, the interval has no words: a click on it says what it is.
      const at = inside ? from + 6 / px : after ? right + 5 / px : left - start > wide ? left - wide : null;
      const taken = [Math.min(left, at ?? left), Math.max(right, at === null ? right : at + wide)];
      let lane = free.findIndex((others) => others.every(([begin, stop]) => taken[1] < begin || taken[0] > stop));
      const crowded = lane < 0 && free.length >= MAX_CAUSE_LANES;
      if (lane < 0) lane = crowded ? MAX_CAUSE_LANES - 1 : free.length;
      const top = lane * LANE.cause + 2;
      const bottom = top + LANE.cause - 4;
      const hit = { what: "trouble", index };
      const fill = t.note ? Theme.value("dim") : cause;
      this.fade(t.from[1], t.from[0], top, bottom, fill, boxes, hit);
      this.fade(t.to[0], t.to[1], top, bottom, fill, boxes, hit);
      const least = Math.max(0, 4 / px - (t.to[0] - t.from[1])) / 2;
      boxes.add("bars", t.from[1] - least, t.to[0] + least, top, bottom, { fill, line: fill }, hit);
      const outside = t.note ? "text" : "cause";
      if (at !== null && !crowded) words.add(at, (top + bottom) / 2, t.label, inside ? (Theme.dark ? "black" : "white") : outside);
      free[lane] = [...(free[lane] || []), taken];
    }
    free.forEach((_, lane) => ticks.set(lane * LANE.cause + LANE.cause / 2, lane ? " " : "cause"));
    let y = free.length * LANE.cause;
    if (scene.marks.length) {
      ticks.set(y + 9, KINDS.filter((kind) => scene.marks.some((m) => m.kind === kind)).join(", "));
      this.flags(y, boxes, words);
      y += LANE.cause;
    }
    this.put("causes", boxes, words, ticks, Math.max(y, 2));
  }

  // An eviction is a filled box, a death one as high as the lane with a frame, and a departure only a frame: each with its words where there is room; those that are too near to each other are counted.
  flags(y, boxes, words) {
    const scene = this.scene;
    const px = this.pxPerMs;
    const cause = Theme.value("cause");
    const items = scene.marks.map((_, i) => i).filter((i) => scene.marks[i].at >= this.range.start && scene.marks[i].at <= this.range.end && (scene.marks[i].group < 0 || scene.wantsGroup(scene.marks[i].group)));
    const clusters = [];
    for (const i of items) {
      const last = clusters.at(-1);
      if (last && (scene.marks[i].at - scene.marks[last.at(-1)].at) * px < 12) last.push(i);
      else clusters.push([i]);
    }
    clusters.forEach((found, n) => {
      const marks = found.map((i) => scene.marks[i]);
      const at = (marks[0].at + marks.at(-1).at) / 2;
      const half = Math.max(4 / px, (marks.at(-1).at - marks[0].at) / 2);
      const hit = found.length === 1 ? { what: "mark", index: found[0] } : { what: "run", from: marks[0].at, to: Math.max(marks.at(-1).at, marks[0].at + 1), count: found.length, of: "evictions, deaths and departures" };
      const has = (kind) => marks.some((m) => m.kind === kind);
      const edge = has("died") ? 0 : 3;
      const look = { fill: has("died") || has("evicted") ? cause : "", line: has("died") ? Theme.value("text") : has("evicted") ? "" : Theme.value("dim") };
      boxes.add("bars", at - half, at + half, y + edge, y + LANE.cause - 1 - edge, look, hit);
      const names = [...new Set(marks.map((m) => m.label))];
      const each = KINDS.map((kind) => [marks.filter((m) => m.kind === kind).length, kind]);
      const counts = each.filter(([times]) => times).map(([times, kind]) => `${number(times)} ${kind}`);
      const text = names.length === 1 ? names[0] + (found.length > 1 ? ` (${found.length})` : "") : counts.join(", ");
      const next = clusters[n + 1] ? scene.marks[clusters[n + 1][0]].at - 5 / px : this.range.end;
      const x = at + half + 4 / px;
      if ((next - x) * px > 6.6 * text.length) words.add(x, y + LANE.cause / 2, text, has("died") || has("evicted") ? "cause" : "text");
    });
  }

  row(row, y, boxes, words, narrow) {
    const scene = this.scene;
    const [start, end] = this.shown;
    const high = this.laneHeight(row);
    const px = this.pxPerMs;
    const lanes = new Map();
    const [from, to] = scene.barsOfRow[row];
    for (let i = from; i < to; i++) {
      if (scene.bar_stop_hi[i] < start || scene.bar_start_lo[i] > end || !scene.wantsProcess(scene.bar_process[i])) continue;
      if (!lanes.has(scene.bar_lane[i])) lanes.set(scene.bar_lane[i], []);
      lanes.get(scene.bar_lane[i]).push(i);
    }
    boxes.add("bands", start, end, y, y + 0.6, { fill: Theme.value("line") });
    let merged = 0;
    for (const [lane, items] of lanes) {
      const top = y + LANE.pad + lane * high;
      thin(
        items,
        (i) => scene.bar_start_lo[i],
        (i) => scene.bar_stop_hi[i],
        px,
        narrow,
        (i) => this.bar(i, top, top + high - 1.5, boxes, words),
        (first, last, count, from, to) => {
          let same = true;
          for (let i = first; i <= last && same; i++) same = scene.bar_lane[i] !== lane || scene.bar_process[i] === scene.bar_process[first];
          const fill = same ? scene.process(scene.bar_process[first]).colour : Theme.value("dim");
          boxes.add("bars", from, Math.max(to, from + 2 / px), top, top + high - 1.5, { fill, alpha: 0.8, line: fill }, { what: "run", from, to, count, of: "ownerships" });
          merged += count;
        },
      );
    }
    const taken = [];
    for (const i of scene.overlapsOfRow[row]) if (scene.wantsOverlap(i)) this.overlap(i, y, boxes, words, taken);
    return merged;
  }

  bar(i, top, bottom, boxes, words) {
    const scene = this.scene;
    const look = scene.process(scene.bar_process[i]);
    const px = this.pxPerMs;
    const [lo, hi, from, to] = [scene.bar_start_lo[i], scene.bar_stop_hi[i], scene.bar_start_hi[i], scene.bar_stop_lo[i]];
    const hit = { what: "bar", index: i };
    // A connector's own work is small: it is paler than its tasks, without a pattern.
    const connector = scene.rows[scene.bar_row[i]][1] === "connector";
    const drawn = { fill: look.colour, line: look.colour, pattern: connector ? "blank" : look.pattern, ink: "black", alpha: connector ? 0.5 : 1 };
    const sure = Math.max(from, Math.min(to, hi));
    const worked = Math.min(Math.max(scene.bar_work_to[i], from), sure);
    if (sure > from) {
      for (const part of this.parts(from, worked, scene.frozen[scene.bar_process[i]] || [])) {
        if (part.frozen === 2) boxes.add("bars", part.from, part.to, top + 0.5, bottom - 0.5, { fill: look.colour, alpha: 0.12, line: look.colour }, hit);
        else boxes.add("bars", part.from, part.to, top, bottom, part.frozen ? { ...drawn, pattern: "blank", alpha: 0.5, line: "" } : drawn, hit);
      }
      // After its work the thread went on for a while: a thinner bar.
      if ((sure - worked) * px > 2) boxes.add("bars", worked, sure, top + (bottom - top) * 0.3, bottom - (bottom - top) * 0.3, { ...drawn, pattern: "blank", alpha: 0.75 }, hit);
    }
    this.fade(from, lo, top, bottom, look.colour, boxes, hit);
    this.fade(sure, hi, top, bottom, look.colour, boxes, hit);
    const visible = Math.min(worked, this.range.end) - Math.max(from, this.range.start);
    if (visible * px > 7 * look.name.length + 10 && bottom - top > 9) {
      const x = Math.max(from, this.range.start) + 5 / px;
      const wide = (6.6 * look.name.length + 4) / px;
      boxes.add("layers", x - 3 / px, x + wide, top, bottom, { fill: Theme.value("back") });
      words.add(x, (top + bottom) / 2, look.name, "text");
    }
  }

  // An interval that is divided where its process froze: `frozen` is 0 (no), 1 (perhaps) or 2 (for certain).
  parts(from, to, freezes) {
    let parts = [{ from, to, frozen: 0 }];
    const cut = (begin, end, frozen) => {
      parts = parts.flatMap((p) => {
        if (end <= p.from || begin >= p.to || p.frozen >= frozen) return [p];
        const inner = { from: Math.max(p.from, begin), to: Math.min(p.to, end), frozen };
        return [{ ...p, to: inner.from }, inner, { ...p, from: inner.to }].filter((x) => x.to > x.from);
      });
    };
    for (const t of freezes) {
      cut(t.from[0], t.to[1], 1);
      cut(t.from[1], t.to[0], 2);
    }
    return parts;
  }

  // The end of what is certain, and the end of what is possible: the bar fades from the one to the other.
  fade(certain, possible, top, bottom, colour, boxes, hit) {
    const length = possible - certain;
    if (Math.abs(length) * this.pxPerMs < 0.5) return;
    const steps = Math.max(1, Math.min(FADE_STEPS, Math.floor((Math.abs(length) * this.pxPerMs) / 4)));
    for (let n = 0; n < steps; n++) {
      const ends = [certain + (length * n) / steps, certain + (length * (n + 1)) / steps].sort((a, b) => a - b);
      boxes.add("fades", ends[0], ends[1], top, bottom, { fill: colour, alpha: 0.55 * (1 - (n + 0.5) / (steps + 0.5)) }, hit);
    }
  }

  // `taken`: where the row has words already, as time from, time to and height.
  overlap(i, y, boxes, words, taken) {
    const scene = this.scene;
    const o = scene.overlaps[i];
    const px = this.pxPerMs;
    if (o.possible[1] < this.range.start || o.possible[0] > this.range.end) return;
    const high = this.laneHeight(o.row);
    const top = y + LANE.pad + o.lane * high;
    const bottom = top + high - 1.5;
    const hit = { what: "overlap", index: i };
    const atLeast = (span, least) => {
      const more = Math.max(0, least / px - (span[1] - span[0])) / 2;
      return [span[0] - more, span[1] + more];
    };
    const absent = o.kind === "none";
    const colour = !o.proved ? Theme.value("text") : absent ? Theme.value("bad") : ANOMALY;
    const [left, right] = atLeast(o.possible, 4);
    if (absent) boxes.add("layers", left, right, top + 1, bottom - 1, { fill: colour, alpha: 0.08, line: colour }, hit);
    else {
      boxes.add("bands", left, right, y + LANE.pad - 2, bottom + 1, { fill: colour, alpha: 0.12 });
      boxes.add("layers", left, right, top + 1, bottom - 1, { line: colour, pattern: "right_diagonal_line", ink: o.proved ? "anomaly" : "text" }, hit);
    }
    if (o.there) boxes.add("layers", ...atLeast(o.there, 3), top + 1, bottom - 1, { fill: ANOMALY, alpha: 0.45, line: ANOMALY }, hit);
    if (o.work) boxes.add("layers", ...atLeast(o.work, 3), top - 1, bottom + 1, { fill: ANOMALY, line: ANOMALY }, hit);
    const from = Math.max(left, this.range.start);
    const text = o.short;
    const wide = 6.6 * text.length + 9;
    const after = right + 5 / px;
    const next = scene.overlapsOfRow[o.row].map((n) => scene.overlaps[n].possible[0]).filter((begin) => begin > o.possible[0]);
    const free = (begin) => taken.every(([first, last, at]) => at !== top || begin > last || begin + wide / px < first);
    const fits = (right - from) * px > wide && free(from);
    const beside = !(absent && fits) && (Math.min(this.range.end, ...next) - after) * px > wide && free(after);
    const inside = !beside && fits;
    if (beside || inside) taken.push([beside ? after : from, (beside ? after : from) + wide / px, top]);
    if (beside) words.add(after, (top + bottom) / 2, text, "bad");
    if (inside) {
      boxes.add("marks", from + 3 / px, from + wide / px, top, bottom, { fill: Theme.value("back"), alpha: 0.9 }, hit);
      words.add(from + 6 / px, (top + bottom) / 2, text, "bad");
    }
  }

  // Generations: a head with number and trigger, and every other one a band through the rows of the group.
  rounds(group, top, bottom, boxes, words, narrow) {
    const scene = this.scene;
    const px = this.pxPerMs;
    const [from, to] = scene.roundsOfGroup[group];
    const items = [];
    for (let i = from; i < to; i++) if (scene.round_end[i] >= this.range.start && scene.round_start_lo[i] <= this.range.end) items.push(i);
    const [line, soft, busy] = [Theme.value("line"), Theme.value("soft"), Theme.value("busy")];
    const high = LANE.head - 4;
    let merged = 0;
    thin(
      items,
      (i) => scene.round_start_lo[i],
      (i) => scene.round_end[i],
      px,
      narrow,
      (i) => {
        const begin = (scene.round_start_lo[i] + scene.round_start_hi[i]) / 2;
        const end = scene.round_end[i];
        const hit = { what: "round", index: i };
        if (scene.round_number[i] % 2) boxes.add("bands", begin, end, top, bottom, { fill: soft, alpha: 0.9 });
        boxes.add("bars", begin, end, top + 2, top + high, { fill: soft, line }, hit);
        const settled = scene.round_settled[i] >= begin ? scene.round_settled[i] : begin;
        if ((settled - begin) * px > 0.7) {
          boxes.add("bars", begin, settled, top + 2, top + high, { fill: busy, pattern: "vertical_line", ink: "text", line }, hit);
          boxes.add("bands", begin, settled, top + high, bottom, { fill: busy, alpha: 0.35 });
        }
        const x = Math.max(settled, this.range.start) + 4 / px;
        const room = (Math.min(end, this.range.end) - x) * px;
        const whole = `${scene.round_number[i]} · ${scene.whys[scene.round_why[i]]}`;
        const text = [whole, String(scene.round_number[i])].find((t) => t.length * 6.4 < room - 4);
        if (text) words.add(x, top + high / 2 + 1, text, "text");
      },
      (first, last, count, from, to) => {
        const hit = { what: "run", from, to, count, of: "generations" };
        boxes.add("bars", from, Math.max(to, from + 2 / px), top + 2, top + high, { fill: busy, line, pattern: "vertical_line", ink: "text" }, hit);
        merged += count;
        const text = `${number(count)} generations`;
        if ((Math.min(to, this.range.end) - Math.max(from, this.range.start)) * px > 7 * text.length) {
          const x = Math.max(from, this.range.start) + 4 / px;
          boxes.add("marks", x - 2 / px, x + (6.4 * text.length + 4) / px, top + 3, top + high - 1, { fill: Theme.value("back"), alpha: 0.85 }, hit);
          words.add(x, top + high / 2 + 1, text, "text");
        }
      },
    );
    return merged;
  }

  tracks() {
    const scene = this.scene;
    const px = this.pxPerMs;
    const boxes = new Boxes(this.pxPerMs);
    const words = new Words();
    const ticks = new Map();
    const place = new Map();
    let y = 0;
    scene.tracks.forEach(([label, group, process], n) => {
      if (group >= 0 ? !scene.wantsGroup(group) : !scene.wantsProcess(process)) return;
      place.set(n, y);
      ticks.set(y + LANE.track / 2, this.fit(this.narrow ? label.replace(/^group /, "") : label));
      boxes.add("bands", this.range.start, this.range.end, y, y + 0.6, { fill: Theme.value("line") });
      y += LANE.track;
    });
    const lanes = new Map();
    for (let i = 0; i < scene.state_track.length; i++) {
      if (!place.has(scene.state_track[i]) || scene.state_end[i] < this.range.start || scene.state_begin[i] > this.range.end) continue;
      const key = scene.state_track[i] * STATES.length + scene.state_kind[i];
      if (!lanes.has(key)) lanes.set(key, []);
      lanes.get(key).push(i);
    }
    let merged = 0;
    for (const [key, items] of lanes) {
      items.sort((a, b) => scene.state_begin[a] - scene.state_begin[b]);
      const kind = STATES[key % STATES.length];
      const track = Math.floor(key / STATES.length);
      const [above, below] = { rebalance: [0.2, 0.8], life: [0.62, 0.85], gap: [0.55, 0.92], paused: [0.12, 0.34], lost: [0.36, 0.58] }[kind];
      const [top, bottom] = [place.get(track) + above * LANE.track, place.get(track) + below * LANE.track];
      const look = this.stateLook(kind, scene.tracks[track][2]);
      thin(
        items,
        (i) => scene.state_begin[i],
        (i) => scene.state_end[i],
        px,
        NARROW,
        (i) => boxes.add("bars", scene.state_begin[i], Math.max(scene.state_end[i], scene.state_begin[i] + 2 / px), top, bottom, look, { what: "state", index: i }),
        (first, last, count, from, to) => {
          merged += count;
          boxes.add("bars", from, Math.max(to, from + 2 / px), top, bottom, look, { what: "run", from, to, count, of: { rebalance: "rebalances", life: "process runs", gap: "gaps", paused: "pauses", lost: "losses of the coordinator" }[kind] });
        },
      );
    }
    this.put("tracks", boxes, words, ticks, Math.max(y, 20));
    return { merged };
  }

  stateLook(kind, process) {
    const text = Theme.value("text");
    if (kind === "rebalance") return { fill: Theme.value("busy"), pattern: "vertical_line", ink: "text" };
    if (kind === "life") return { fill: this.scene.process(process).colour, pattern: this.scene.process(process).pattern, ink: "black" };
    if (kind === "gap") return { fill: Theme.value("back"), line: text, pattern: "diagonal_cross", ink: "text" };
    if (kind === "paused") return { fill: Theme.value("dim"), pattern: "blank" };
    return { fill: Theme.value("back"), line: Theme.value("bad"), pattern: "left_diagonal_line", ink: "bad" };
  }

  // The whole time at a glance: causes, rebalances, and where something had two owners.
  overview() {
    const scene = this.scene;
    const boxes = new Boxes(this.width / (scene.last - scene.first));
    const whole = this.doc.get_model_by_name("whole");
    if (whole.start !== scene.first || whole.end !== scene.last) whole.setv({ start: scene.first, end: scene.last });
    const px = this.width / (scene.last - scene.first);
    const items = Array.from(scene.round_group, (_, i) => i).filter((i) => scene.wantsGroup(scene.round_group[i]) && scene.round_settled[i] >= scene.first);
    items.sort((a, b) => scene.round_start_lo[a] - scene.round_start_lo[b]);
    const add = (from, to) => boxes.add("bars", from, Math.max(to, from + 1.5 / px), 0.6, 0.95, { fill: Theme.value("busy") });
    thin(items, (i) => scene.round_start_lo[i], (i) => scene.round_settled[i], px, NARROW, (i) => add(scene.round_start_lo[i], scene.round_settled[i]), (f, l, c, from, to) => add(from, to));
    for (const t of scene.troubles) if (!t.note) boxes.add("bars", t.from[0], Math.max(t.to[1], t.from[0] + 2 / px), 0.02, 0.98, { fill: Theme.value("cause"), alpha: 0.25 });
    for (const [i, o] of scene.overlaps.entries()) {
      if (!scene.wantsGroup(scene.rows[o.row][0]) || !scene.wantsOverlap(i)) continue;
      // As in the lanes, what is certain is darker.
      for (const [span, alpha] of [[o.possible, 0.25], [o.there, 0.45], [o.work, 1]]) {
        if (!span) continue;
        const more = Math.max(0, 3 / px - (span[1] - span[0])) / 2;
        const look = o.kind === "none" ? { fill: Theme.value("bad"), alpha: 0.35 } : { fill: ANOMALY, alpha };
        boxes.add("bars", span[0] - more, span[1] + more, 0.08, 0.5, o.proved ? look : { fill: Theme.value("text"), alpha: 0.6 });
      }
    }
    this.doc.get_model_by_name("overview-bars").data = boxes.layers.bars;
  }

  put(name, boxes, words, ticks, height) {
    this.hits[name] = boxes.hits;
    this.mark(name, boxes);
    for (const [layer, columns] of Object.entries(boxes.layers)) this.doc.get_model_by_name(`${name}-${layer}`).data = columns;
    for (const hatch of this.hatches[name]) {
      const columns = boxes.hatches[hatch.name.slice(name.length + 7)] || edges();
      if (columns.left.length || hatch.data.left.length) hatch.data = columns;
    }
    for (const [ink, columns] of Object.entries(words.inks)) this.doc.get_model_by_name(`${name}-texts-${ink}`).data = columns;
    const plot = this.plots[name];
    const axis = plot.left[0];
    axis.major_label_overrides = ticks;
    axis.ticker.ticks = [...ticks.keys()];
    const range = this.doc.get_model_by_name(`${name}-y`);
    if (range.start !== height) range.setv({ start: height, end: 0 });
    const whole = Math.round(height + AXIS[name]);
    if (plot.height !== whole) plot.height = whole;
  }

  mark(name, boxes) {
    const chosen = this.chosen && this.hits[name].filter((h) => h.what === this.chosen.what && h.index === this.chosen.index);
    if (chosen && chosen.length) {
      const edge = (f, key) => f(...chosen.map((h) => h[key]));
      boxes.add("marks", edge(Math.min, "left") - 2 / this.pxPerMs, edge(Math.max, "right") + 2 / this.pxPerMs, edge(Math.min, "top") - 2, edge(Math.max, "bottom") + 2, { line: Theme.value("text") });
    }
  }

  // The topmost thing at a place, or a few pixels beside it.
  at(name, x, y) {
    const near = (COARSE ? 12 : 3) / this.pxPerMs;
    const found = this.hits[name].filter((h) => x >= h.left - near && x <= h.right + near && y >= h.top - 1 && y <= h.bottom + 1);
    const exact = found.filter((h) => x >= h.left && x <= h.right);
    return (exact.length ? exact : found).at(-1) || null;
  }

  // All that can be chosen, in the order of reading: for the keyboard.
  inOrder() {
    const found = new Map();
    for (const h of [...this.hits.causes.map((h) => ({ ...h, top: h.top - 1000 })), ...this.hits.lanes]) if (h.what !== "run" && h.right >= this.range.start && h.left <= this.range.end && !found.has(`${h.what}${h.index}`)) found.set(`${h.what}${h.index}`, h);
    return [...found.values()].sort((a, b) => Math.round(a.top) - Math.round(b.top) || a.left - b.left);
  }
}
