// Puts the page together: figures, filters, lines, keys and the address.

const MIN_SHOWN = 30_000; // milliseconds: what "Show on the timeline" shows at least

class Page {
  constructor(scene, doc) {
    this.scene = scene;
    this.timeline = new Timeline(scene, doc);
    this.lines = new Lines(scene);
    this.anchor = "";
    this.lines.closed = () => {
      this.anchor = "";
      this.remember();
    };
    this.controls = new Controls(scene, this.timeline, () => this.remember(), (span, done) => this.select(span, done));
    const say = (text) => {
      document.getElementById("chosen").textContent = text;
    };
    this.say = say;
    new Pointer(this.timeline, document.getElementById("label"), (hit, y) => this.choose(hit, y));
    new Keys(this.timeline, this.controls, (hit) => this.choose(hit), say, (span) => this.zoomTo(span), (span) => this.select(span));
    this.box = doc.get_model_by_name("selected");
    for (const end of ["left", "right", "visible"]) this.box.properties[end].change.connect(() => this.sum());
    for (const name of DRAWN) this.timeline.plots[name].on_event("selectiongeometry", ({ geometry }) => this.select([geometry.x0, geometry.x1]));
    document.getElementById("sums-zoom").addEventListener("click", () => this.timeline.show(...this.selected));
    document.getElementById("sums-clear").addEventListener("click", () => this.select(null));
    this.timeline.seen = (drawn) => this.seen(drawn);
    Theme.dress(this.timeline.plots, doc);
    Theme.watch(() => {
      Theme.dress(this.timeline.plots, doc);
      this.timeline.soon();
    });
    document.addEventListener("click", (e) => this.clicked(e));
    addEventListener("hashchange", () => this.go());
    // A narrow screen shows the verdict, the impact, what to do, and the timeline; the reader opens the steps and the filters.
    if (innerWidth < 736) for (const part of document.querySelectorAll("details.wide")) part.open = false;
    addEventListener("beforeprint", () => {
      for (const part of document.querySelectorAll("details[data-print]:not([open])")) {
        part.open = true;
        part.dataset.printed = "";
      }
    });
    addEventListener("afterprint", () => {
      for (const part of document.querySelectorAll("details[data-printed]")) {
        part.open = false;
        delete part.dataset.printed;
      }
    });
    this.timeline.showAll();
    this.openGravest();
    this.go();
    this.timeline.draw();
  }

  // A click on a link to an id of the case opens its lines.
  clicked(e) {
    const link = e.target.closest && e.target.closest("a[href^='#']");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const anchor = link.getAttribute("href").slice(1);
    if (link.classList.contains("skip")) {
      e.preventDefault();
      const figures = document.getElementById("figures");
      figures.scrollIntoView({ block: "start" });
      figures.focus({ preventScroll: true });
      return;
    }
    if (link.dataset.incident !== undefined) {
      e.preventDefault();
      this.openIncident(anchor);
    } else if (link.dataset.timeline !== undefined) {
      e.preventDefault();
      this.find(anchor);
    } else if (link.dataset.lines !== undefined) {
      e.preventDefault();
      this.anchor = anchor;
      this.remember();
      this.read(anchor);
    } else if (document.getElementById(anchor)) {
      e.preventDefault();
      this.anchor = anchor;
      this.remember();
      this.scrollTo(anchor);
    }
  }

  // A thing of the figures was chosen: its lines, and its address.
  choose(hit, y = null) {
    const { timeline, scene } = this;
    if (hit.what === "run") {
      const more = (hit.to - hit.from) * 0.1;
      timeline.show(hit.from - more, hit.to + more);
      return;
    }
    if (hit.what === "group") return timeline.toggle(hit.index);
    timeline.chosen = { what: hit.what, index: hit.index };
    timeline.soon();
    const said = scene.describe(hit.what, hit.index);
    this.say(said.join(", "));
    this.anchor = { bar: () => `o-${scene.bar_ids[hit.index]}`, overlap: () => scene.overlaps[hit.index].anchor, round: () => scene.round_anchors[hit.index], trouble: () => scene.troubles[hit.index].anchor, state: () => "", mark: () => "" }[hit.what]();
    this.remember();
    this.lines.open(said, scene.linesOf(hit.what, hit.index), scene.extent(hit.what, hit.index));
    if (y !== null) this.lines.uncover(y);
  }

  // The page opens on the most severe of several incidents, and on one that is short in a long log.
  openGravest() {
    const [first] = this.scene.incidents;
    const card = first && this.scene.cards[first];
    if (!card || card.from === null) return;
    const share = (card.to - card.from) / (this.scene.last - this.scene.first);
    if (share < 0.15 || (this.scene.incidents.length > 1 && share < 0.6)) this.zoomTo([card.from, card.to]);
  }

  // An incident's own story, and its time on the figures.
  openIncident(anchor) {
    for (const story of document.querySelectorAll("details.story")) {
      story.open = story.dataset.of === anchor;
      story.classList.toggle("current", story.open);
    }
    for (const chip of document.querySelectorAll("[data-incident]")) chip.toggleAttribute("aria-current", chip.getAttribute("href") === `#${anchor}`);
    const card = this.scene.cards[anchor];
    if (card && card.from !== null) this.zoomTo([card.from, card.to]);
    this.timeline.soon();
  }

  get selected() {
    return this.box.visible ? [Math.min(this.box.left, this.box.right), Math.max(this.box.left, this.box.right)] : null;
  }

  // A span whose sums the reader wants to know; null: what is in sight.
  select(span, done = true) {
    if (!span) this.box.visible = false;
    else {
      const [left, right] = span.map((t) => Math.min(Math.max(t, this.scene.first), this.scene.last));
      if (right > left) this.box.setv({ left, right, visible: true });
    }
    clearTimeout(this.later);
    this.later = setTimeout(() => this.rest(), 300);
    if (span && done) this.say(document.getElementById("sums-text").textContent);
  }

  // The sums of the selection, or of what is in sight.
  sum() {
    const { scene, timeline, selected } = this;
    const [from, to] = selected || timeline.shown;
    const alike = (row) => scene.rows.filter(([, , resource]) => resource === scene.rows[row][2]).length > 1;
    const name = (row) => scene.rows[row][2] + (alike(row) ? ` of ${scene.groups[scene.rows[row][0]]}` : "");
    document.getElementById("sums-text").textContent = `${selected ? "Selected" : "In sight"}, ${scene.time(from)} to ${scene.time(to)} (${spanWords(to - from)}): ${sumWords(scene.sums(from, to), name)}.`;
    for (const button of ["sums-zoom", "sums-clear"]) document.getElementById(button).hidden = !selected;
  }

  // When nothing has been drawn for a while.
  rest() {
    this.sum();
    this.remember();
  }

  // A third more on each side, and at least half a minute in all.
  zoomTo([from, to]) {
    const more = Math.max((to - from) * 0.35, (MIN_SHOWN - (to - from)) / 2);
    this.timeline.show(from - more, to + more);
  }

  // What an anchor means on the figures.
  thing(anchor) {
    const { scene } = this;
    const kind = anchor.slice(0, 2);
    let index = -1;
    if (kind === "o-") index = scene.bar_ids.findIndex((id) => id.startsWith(anchor.slice(2)) || anchor.slice(2).startsWith(id));
    if (index >= 0) return { what: "bar", index };
    if (kind === "g-") index = scene.round_anchors.indexOf(anchor);
    if (index >= 0) return { what: "round", index };
    index = scene.overlaps.findIndex((o) => o.anchor === anchor || `s-${o.owners}` === anchor);
    return index >= 0 ? { what: "overlap", index } : null;
  }

  // Shows a thing, or a finding's time, on the figures.
  find(anchor) {
    const { timeline, scene } = this;
    const thing = this.thing(anchor);
    const card = scene.cards[anchor];
    let span = card && card.from !== null ? [card.from, card.to] : null;
    if (thing) {
      timeline.chosen = thing;
      const row = { bar: () => scene.bar_row[thing.index], overlap: () => scene.overlaps[thing.index].row, round: () => null }[thing.what]();
      if (row !== null) timeline.turnTo(row);
      span = scene.extent(thing.what, thing.index);
      this.say(scene.describe(thing.what, thing.index).join(", "));
    }
    if (span) this.zoomTo(span);
    this.scrollTo("timeline");
    timeline.soon();
  }

  // Opens the lines of an anchor.
  read(anchor) {
    const { scene } = this;
    if (anchor.startsWith("e-")) {
      const n = scene.line_ids.findIndex((id) => id.startsWith(anchor.slice(2)));
      if (n >= 0) this.lines.open([`Line ${scene.line_ids[n]}`], [n]);
      return n >= 0;
    }
    const card = scene.cards[anchor];
    if (card) {
      this.lines.open([card.title], card.lines, card.from === null ? null : [card.from, card.to]);
      return true;
    }
    const thing = this.thing(anchor);
    if (thing) this.choose(thing);
    return Boolean(thing);
  }

  // What the address asks for.
  go() {
    const wanted = Address.read();
    this.controls.set(wanted);
    if (wanted.from !== null) this.timeline.show(wanted.from, wanted.to);
    if (wanted.selected) this.select(wanted.selected);
    this.anchor = wanted.anchor;
    if (!wanted.anchor) return;
    const there = this.scrollTo(wanted.anchor);
    if (/^i-/.test(wanted.anchor) && wanted.from === null) this.openIncident(wanted.anchor);
    if (/^[fsgoen]-/.test(wanted.anchor)) {
      if (!there && wanted.from === null && this.thing(wanted.anchor)) this.find(wanted.anchor);
      if (!there) this.read(wanted.anchor);
    }
  }

  scrollTo(anchor) {
    const there = document.getElementById(anchor);
    if (!there) return false;
    for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
    if (there.tagName !== "SECTION") there.classList.add("target");
    for (let outer = there.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    there.scrollIntoView({ block: "start" });
    return true;
  }

  remember() {
    const { filter, groups, processes } = this.scene;
    const [from, to] = this.timeline.zoomed ? this.timeline.shown : [null, null];
    const names = (set, of) => [...set].map(of);
    Address.write({ anchor: this.anchor, groups: names(filter.groups, (n) => groups[n]), processes: names(filter.processes, (n) => processes[n].id), resource: filter.resource, from, to, selected: this.selected });
  }

  seen({ pages, page, merged }) {
    const { scene } = this;
    const counts = pages.map((p) => p.filter((row) => row >= 0).length);
    const rows = counts.reduce((n, c) => n + c, 0);
    const first = counts.slice(0, page).reduce((n, c) => n + c, 0) + 1;
    const some = rows ? `Resources ${number(first)} to ${number(first + counts[page] - 1)} of ${number(rows)}` : "The filters leave no resource";
    const matching = scene.matchingRows().length;
    const all = (rows < matching ? `, ${number(matching - rows)} in folded groups` : "") + (matching < scene.rows.length && rows ? ` (${number(scene.rows.length)} without filters)` : "");
    const [from, to] = this.timeline.shown;
    const drawn = merged ? `; ${number(merged)} intervals are too short to be drawn one by one: zoom in` : "";
    document.getElementById("in-sight").textContent = `${some}${all}, ${scene.time(from)} to ${scene.time(to)} (${spanWords(to - from)})${drawn}.`;
    document.getElementById("rows-before").disabled = page === 0;
    document.getElementById("rows-after").disabled = page >= pages.length - 1;
    document.getElementById("rows").hidden = pages.length < 2;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.rest(), 300);
  }
}

async function start() {
  const figures = JSON.parse(document.getElementById("figures-data").textContent);
  const data = await unpack(document.getElementById("scene-data").textContent.trim());
  data.processes.forEach((look, n) => (look.number = n));
  document.documentElement.classList.add("live");
  const root_ids = Object.keys(figures.roots);
  const [views] = await Bokeh.embed.embed_items({ page: figures.doc }, [{ docid: "page", roots: figures.roots, root_ids }]);
  const doc = Bokeh.documents.at(-1);
  window.page = new Page(new Scene(data), doc);
  document.documentElement.classList.add("ready");
  return views;
}

start().catch((e) => {
  // Without its script the page still has its drawings and all of its words.
  document.documentElement.classList.remove("live");
  console.error(e);
});
