// Puts the page together: figures, filters, lines, keys and the address.

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
    this.controls = new Controls(scene, this.timeline, () => this.remember());
    const say = (text) => {
      document.getElementById("chosen").textContent = text;
    };
    this.say = say;
    new Pointer(this.timeline, document.getElementById("label"), (hit, y) => this.choose(hit, y));
    new Keys(this.timeline, this.controls, (hit) => this.choose(hit), say);
    this.timeline.seen = (drawn) => this.seen(drawn);
    Theme.dress(this.timeline.plots, doc);
    Theme.watch(() => {
      Theme.dress(this.timeline.plots, doc);
      this.timeline.soon();
    });
    document.addEventListener("click", (e) => this.clicked(e));
    addEventListener("hashchange", () => this.go());
    // A narrow screen would be scrolled for long: tables of groups are opened by who wants them.
    if (innerWidth < 736) for (const group of document.querySelectorAll("details.group")) group.open = false;
    this.timeline.showAll();
    this.go();
    this.timeline.draw();
  }

  // A click on a link to an id of the case opens its lines.
  clicked(e) {
    const link = e.target.closest && e.target.closest("a[href^='#']");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const anchor = link.getAttribute("href").slice(1);
    if (link.classList.contains("skip")) return;
    if (link.dataset.timeline !== undefined) {
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
    timeline.chosen = { what: hit.what, index: hit.index };
    timeline.soon();
    const said = scene.describe(hit.what, hit.index);
    this.say(said.join(", "));
    this.anchor = { bar: () => `o-${scene.bar_ids[hit.index]}`, overlap: () => scene.overlaps[hit.index].anchor, round: () => scene.round_anchors[hit.index], state: () => "" }[hit.what]();
    this.remember();
    this.lines.open(said, scene.linesOf(hit.what, hit.index), scene.extent(hit.what, hit.index));
    if (y !== null) this.lines.uncover(y);
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
    if (span) {
      const more = Math.max((span[1] - span[0]) * 0.35, 50);
      timeline.show(span[0] - more, span[1] + more);
    }
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
    this.anchor = wanted.anchor;
    if (!wanted.anchor) return;
    const there = this.scrollTo(wanted.anchor);
    if (/^[fsgoe]-/.test(wanted.anchor)) {
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
    Address.write({ anchor: this.anchor, groups: names(filter.groups, (n) => groups[n]), processes: names(filter.processes, (n) => processes[n].id), resource: filter.resource, from, to });
  }

  seen({ pages, page, merged }) {
    const { scene } = this;
    const rows = pages.reduce((n, p) => n + p.length, 0);
    const first = pages.slice(0, page).reduce((n, p) => n + p.length, 0) + 1;
    const some = rows ? `Resources ${number(first)} to ${number(first + pages[page].length - 1)} of ${number(rows)}` : "No resource is left by the filters";
    const all = rows < scene.rows.length && rows ? ` (${number(scene.rows.length)} without filters)` : "";
    const [from, to] = this.timeline.shown;
    const drawn = merged ? `; ${number(merged)} stretches are too short to be drawn one by one here: zoom in` : "";
    document.getElementById("in-sight").textContent = `${some}${all}, ${scene.time(from)} to ${scene.time(to)} (${spanWords(to - from)})${drawn}.`;
    document.getElementById("rows-before").disabled = page === 0;
    document.getElementById("rows-after").disabled = page >= pages.length - 1;
    document.getElementById("rows").hidden = pages.length < 2;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.remember(), 300);
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
