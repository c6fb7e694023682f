// What can be drawn, and which of it the reader wants to see.

const STATES = ["rebalance", "life", "gap", "paused", "lost"];

class Scene {
  constructor(data) {
    Object.assign(this, data);
    for (const name of Object.keys(data)) {
      if (/^(bar_(start|stop|work)|round_(start|settled|end)|state_(begin|end)$|line_(at|own)$)/.test(name)) this[name] = data[name].map((t) => this.absolute(t));
    }
    for (const o of this.overlaps) for (const layer of ["possible", "there", "work"]) if (o[layer]) o[layer] = o[layer].map((t) => this.absolute(t));
    for (const t of this.troubles) [t.from, t.to] = t.times.map((pair) => pair.map((x) => this.absolute(x)));
    for (const m of this.marks) m.at = this.absolute(m.at[0]);
    this.frozen = this.processes.map((_, n) => this.troubles.filter((t) => t.froze && t.process === n));
    // Groups without trouble show one line until they are opened.
    this.folded = new Set(this.quiet);
    zoneOffsets = this.zone_offsets;
    const day = (ms) => new Date(zoned(ms)).toISOString().slice(0, 10);
    this.oneDay = day(this.first) === day(this.last);
    this.barsOfRow = ranges(this.bar_row, this.rows.length);
    this.overlapsOfRow = this.rows.map(() => []);
    this.overlaps.forEach((o, i) => this.overlapsOfRow[o.row].push(i));
    this.roundsOfGroup = ranges(this.round_group, this.groups.length);
    this.filter = { groups: new Set(), processes: new Set(), resource: "" };
  }

  absolute(t) {
    return this.first + t / this.per_ms;
  }

  lines(what, i) {
    const at = this[`${what}_lines_at`];
    return Array.from(this[`${what}_lines`].subarray(at[i], at[i + 1]));
  }

  process(n) {
    return this.processes[n] || { name: "?", id: "?", role: "", colour: "#999999", pattern: "blank" };
  }

  wantsGroup(n) {
    return !this.filter.groups.size || n < 0 || this.filter.groups.has(n);
  }

  wantsProcess(n) {
    return !this.filter.processes.size || this.filter.processes.has(n);
  }

  wantsOverlap(i) {
    const { processes } = this.overlaps[i];
    return !processes.length || processes.some((p) => this.wantsProcess(p));
  }

  isFolded(group) {
    return this.folded.has(group) && !this.filter.resource && !this.filter.groups.has(group);
  }

  // Rows with at least one bar or overlap that the filters leave; a group without trouble has a row that folds and opens it, as -1 - group.
  wantedRows() {
    const shown = this.matchingRows();
    const found = [];
    for (const row of shown) {
      const [group] = this.rows[row];
      const switched = this.quiet.includes(group) && !this.filter.resource && !this.filter.groups.has(group);
      if (switched && (!found.length || this.groupOf(found.at(-1)) !== group)) found.push(-1 - group);
      if (!this.isFolded(group)) found.push(row);
    }
    return found;
  }

  matchingRows() {
    const text = this.filter.resource.toLowerCase();
    const all = this.rows.map((_, i) => i);
    return all.filter((i) => {
      const [group, , resource] = this.rows[i];
      if (!this.wantsGroup(group) || (text && !resource.toLowerCase().includes(text))) return false;
      if (!this.filter.processes.size) return true;
      const [from, to] = this.barsOfRow[i];
      for (let b = from; b < to; b++) if (this.wantsProcess(this.bar_process[b])) return true;
      return this.overlapsOfRow[i].some((o) => this.overlaps[o].processes.length && this.wantsOverlap(o));
    });
  }

  groupOf(row) {
    return row < 0 ? -1 - row : this.rows[row][0];
  }

  time(ms) {
    return clockTime(ms, this.oneDay);
  }

  // What a thing is, in lines of text: for the label at the pointer, the status line and the title of the lines.
  describe(what, i) {
    if (what === "bar") {
      const [group, kind, resource] = this.rows[this.bar_row[i]];
      const said = [`${kind} ${resource} in ${this.process(this.bar_process[i]).name}`, `group ${this.groups[group]}`];
      const begin = this.bar_open[i] & 1 ? "owned since before its log begins" : `from ${momentWords(this.bar_start_lo[i], this.bar_start_hi[i], this.oneDay)}`;
      const end = this.bar_open[i] & 2 ? "its end is not in the logs" : `to ${momentWords(this.bar_stop_lo[i], this.bar_stop_hi[i], this.oneDay)}`;
      said.push(`${begin}, ${end}`);
      if (this.bar_generation[i] >= 0) said.push(`assigned by generation ${this.bar_generation[i]}`);
      return said;
    }
    if (what === "overlap") {
      const o = this.overlaps[i];
      const [group, kind, resource] = this.rows[o.row];
      if (o.kind === "none") return [`${o.proved ? "No owner" : "Possibly no owner"} of ${kind} ${resource}`, `group ${this.groups[group]}`, o.label.replace(/^(no|possibly no) owner,? /, "")];
      const owners = o.processes.map((p) => this.process(p).name).join(" and ");
      return [`${o.proved ? "Two owners" : "Possibly two owners"} of ${kind} ${resource}: ${owners}`, `group ${this.groups[group]}`, o.label];
    }
    if (what === "round") {
      const took = this.round_settled[i] >= this.first ? `, settled after ${spanWords(this.round_settled[i] - (this.round_start_lo[i] + this.round_start_hi[i]) / 2)}` : "";
      const began = momentWords(this.round_start_lo[i], this.round_start_hi[i], this.oneDay);
      return [`generation ${this.round_number[i]} of ${this.groups[this.round_group[i]]}`, this.whys[this.round_why[i]], `rebalance began ${began}${took}`];
    }
    if (what === "trouble") {
      const t = this.troubles[i];
      const ended = t.open ? "its end is not in the logs" : `to ${momentWords(t.to[0], t.to[1], this.oneDay)}`;
      return [t.label, `from ${momentWords(t.from[0], t.from[1], this.oneDay)}, ${ended}`, "cause of an incident"];
    }
    if (what === "mark") {
      const m = this.marks[i];
      return [m.label, m.group < 0 ? "" : `group ${this.groups[m.group]}`, this.time(m.at)].filter(Boolean);
    }
    if (what === "group") return [`group ${this.groups[i]}, ${this.folded.has(i) ? "folded: choose it to show its resources" : "choose it to fold its resources"}`];
    if (what === "state") {
      const [label] = this.tracks[this.state_track[i]];
      const open = this.state_open[i] ? ", its end is not in the log" : "";
      return [label, this.notes[this.state_note[i]], `${this.time(this.state_begin[i])} to ${this.time(this.state_end[i])}${open}`];
    }
    return [];
  }

  // The overlaps and times without an owner that the filters leave, in order of time.
  damage() {
    const all = this.overlaps.map((_, i) => i).filter((i) => this.wantsGroup(this.rows[this.overlaps[i].row][0]) && this.wantsOverlap(i));
    return all.sort((a, b) => this.overlaps[a].possible[0] - this.overlaps[b].possible[0] || a - b);
  }

  // What a span contains: how long the resources that the filters leave had no owner, or two, and the rebalances of their groups.
  sums(from, to) {
    const rows = new Set(this.matchingRows());
    const drawn = this.damage().filter((i) => rows.has(this.overlaps[i].row) && this.overlaps[i].possible[1] > from && this.overlaps[i].possible[0] < to);
    const of = (absent) => drawn.map((i) => this.overlaps[i]).filter((o) => (o.kind === "none") === absent);
    const groups = new Set([...rows].map((row) => this.rows[row][0]));
    let [rebalances, lasted] = [0, 0];
    for (const group of groups) {
      const [first, end] = this.roundsOfGroup[group];
      for (let i = first; i < end; i++) {
        const settled = Math.max(this.round_settled[i], this.round_start_hi[i]);
        if (this.round_start_lo[i] > to || settled < from) continue;
        rebalances++;
        lasted += Math.max(0, Math.min(settled, to) - Math.max(this.round_start_hi[i], from));
      }
    }
    return { none: damageSums(of(true), from, to), two: damageSums(of(false), from, to), rebalances, lasted };
  }

  // The time of a thing.
  extent(what, i) {
    if (what === "bar") return [this.bar_start_lo[i], this.bar_stop_hi[i]];
    if (what === "overlap") return this.overlaps[i].possible;
    if (what === "round") return [this.round_start_lo[i], this.round_end[i]];
    if (what === "trouble") return [this.troubles[i].from[0], this.troubles[i].to[1]];
    if (what === "mark") return [this.marks[i].at, this.marks[i].at];
    return [this.state_begin[i], this.state_end[i]];
  }

  linesOf(what, i) {
    const whole = { overlap: this.overlaps, trouble: this.troubles, mark: this.marks }[what];
    return whole ? whole[i].lines : this.lines(what, i);
  }
}

// Rows are in order: where each one's items begin and end.
function ranges(of, count) {
  const found = Array.from({ length: count }, () => [0, 0]);
  for (let i = 0; i < of.length; ) {
    let end = i;
    while (end < of.length && of[end] === of[i]) end++;
    found[of[i]] = [i, end];
    i = end;
  }
  return found;
}
