// Filters, buttons and keys.

class Controls {
  // `swept(span, done)`: a finger selects a time, or has selected it.
  constructor(scene, timeline, changed, swept) {
    this.scene = scene;
    this.timeline = timeline;
    this.changed = changed;
    this.group = document.getElementById("filter-group");
    this.resource = document.getElementById("filter-resource");
    this.processes = [...document.querySelectorAll("#looks input")];
    this.group.addEventListener("change", () => this.apply());
    this.resource.addEventListener("input", () => this.apply());
    for (const box of this.processes) box.addEventListener("change", () => this.apply());
    document.getElementById("filter-none").addEventListener("click", () => {
      this.group.value = "";
      this.resource.value = "";
      for (const box of this.processes) box.checked = true;
      this.apply();
    });
    const zoom = { "zoom-in": 0.5, "zoom-out": 2 };
    for (const [id, by] of Object.entries(zoom)) document.getElementById(id).addEventListener("click", () => this.zoom(by));
    document.getElementById("pan-left").addEventListener("click", () => this.pan(-0.4));
    document.getElementById("pan-right").addEventListener("click", () => this.pan(0.4));
    document.getElementById("zoom-all").addEventListener("click", () => timeline.showAll());
    for (const [id, by] of Object.entries({ "rows-before": -1, "rows-after": 1 })) document.getElementById(id).addEventListener("click", () => this.turn(by));
    timeline.doc.get_model_by_name("brush").active = true;
    // A finger scrolls up and down, and selects a time sideways.
    const dragged = (e) => (e.pointerType === "touch" ? "none" : e.shiftKey ? "select" : "zoom");
    document.getElementById("figures").addEventListener("pointerdown", (e) => this.drag(dragged(e)), { capture: true });
    this.drag("zoom");
    for (const name of DRAWN) new Finger(timeline.plots[name], () => this.dragged === "none", swept);
  }

  // A drag on the figures zooms into what it covers, selects it, or is left to the browser (none).
  drag(what) {
    if (what === this.dragged) return;
    this.dragged = what;
    for (const name of DRAWN) {
      this.timeline.plots[name].toolbar.active_drag = what === "none" ? null : this.timeline.doc.get_model_by_name(`${name}-${what}`);
      for (const kind of ["zoom", "select"]) this.timeline.doc.get_model_by_name(`${name}-${kind}`).active = kind === what;
    }
  }

  zoom(by) {
    const [from, to] = this.timeline.shown;
    const half = ((to - from) / 2) * by;
    this.timeline.show((from + to) / 2 - half, (from + to) / 2 + half);
  }

  pan(by) {
    const [from, to] = this.timeline.shown;
    const way = (to - from) * by;
    this.timeline.show(from + way, to + way);
  }

  turn(by) {
    this.timeline.page = Math.max(0, this.timeline.page + by);
    this.timeline.soon();
  }

  // From the controls to what is shown.
  apply() {
    const { filter } = this.scene;
    filter.groups = new Set(this.group.value === "" ? [] : [Number(this.group.value)]);
    const on = this.processes.filter((box) => box.checked).map((box) => Number(box.value));
    filter.processes = new Set(on.length === this.processes.length ? [] : on);
    filter.resource = this.resource.value.trim();
    this.timeline.page = 0;
    this.timeline.soon();
    this.hideOthers();
    this.changed();
  }

  // From an address to the controls.
  set(wanted) {
    const { groups, processes } = this.scene;
    this.group.value = wanted.groups.length ? String(groups.indexOf(wanted.groups[0])) : "";
    if (this.group.selectedIndex < 0) this.group.value = "";
    this.resource.value = wanted.resource;
    for (const box of this.processes) box.checked = !wanted.processes.length || wanted.processes.includes(processes[Number(box.value)].id);
    if (!this.processes.some((box) => box.checked)) for (const box of this.processes) box.checked = true;
    this.apply();
  }

  // Cards and sections that the filters leave out are hidden; those that belong to no group or process stay.
  hideOthers() {
    const { filter } = this.scene;
    let hidden = 0;
    for (const part of document.querySelectorAll("[data-groups], [data-processes], [data-subject]")) {
      const groups = numbers(part.dataset.groups);
      const processes = numbers(part.dataset.processes);
      const subject = part.dataset.subject;
      const out =
        (filter.groups.size && groups.length && !groups.some((g) => filter.groups.has(g))) ||
        (filter.processes.size && processes.length && !processes.some((p) => filter.processes.has(p))) ||
        (filter.resource && subject && !subject.toLowerCase().includes(filter.resource.toLowerCase()));
      part.hidden = Boolean(out);
      hidden += Boolean(out) && part.classList.contains("card");
    }
    for (const part of document.querySelectorAll(".incident:not(.alone), .effects, details.more, details.notes")) part.hidden = !part.querySelector(".card:not([hidden])") && !part.querySelector("li[id]");
    document.getElementById("cards-hidden").textContent = hidden ? `${number(hidden)} ${hidden === 1 ? "finding is" : "findings are"} hidden by the filters.` : "";
  }
}

const SWEEP = 12; // pixels: less is a tap, or the beginning of a scroll

// A finger that moves sideways over a figure.
class Finger {
  constructor(plot, isFinger, swept) {
    let from = null;
    let selects = false;
    plot.on_event("panstart", (e) => {
      from = isFinger() ? e.x : null;
      selects = false;
    });
    plot.on_event("pan", (e) => {
      if (from === null) return;
      selects ||= Math.abs(e.delta_x) > SWEEP && Math.abs(e.delta_x) > Math.abs(e.delta_y);
      if (selects) swept([Math.min(from, e.x), Math.max(from, e.x)], false);
    });
    plot.on_event("panend", (e) => {
      if (from !== null && selects) swept([Math.min(from, e.x), Math.max(from, e.x)], true);
      from = null;
    });
  }
}

const numbers = (text) => (text ? text.split(" ").map(Number) : []);

// Keys of the timeline: arrows and A, D move in time, W, S zoom, up and down go from thing to thing, N and P to damage, Enter opens what is chosen,
// M selects its time, and Escape ends the selection.
class Keys {
  constructor(timeline, controls, choose, say, zoomTo, select) {
    const frame = document.getElementById("figures");
    frame.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target !== frame) return;
      const does = {
        ArrowLeft: () => controls.pan(-0.2),
        ArrowRight: () => controls.pan(0.2),
        "+": () => controls.zoom(0.5),
        "=": () => controls.zoom(0.5),
        "-": () => controls.zoom(2),
        w: () => controls.zoom(0.5),
        s: () => controls.zoom(2),
        a: () => controls.pan(-0.2),
        d: () => controls.pan(0.2),
        n: () => this.damage(1),
        p: () => this.damage(-1),
        0: () => timeline.showAll(),
        Home: () => timeline.showAll(),
        PageDown: () => controls.turn(1),
        PageUp: () => controls.turn(-1),
        ArrowDown: () => this.step(1),
        ArrowUp: () => this.step(-1),
        Enter: () => timeline.chosen && choose(timeline.chosen),
        m: () => timeline.chosen && select(timeline.scene.extent(timeline.chosen.what, timeline.chosen.index)),
        Escape: () => select(null),
      }[e.key];
      if (!does) return;
      e.preventDefault();
      does();
    });
    this.timeline = timeline;
    this.say = say;
    this.zoomTo = zoomTo;
  }

  // To the next overlap or time without an owner, or the previous one.
  damage(by) {
    const { timeline } = this;
    const { scene } = timeline;
    const all = scene.damage();
    if (!all.length) return;
    const now = timeline.chosen && timeline.chosen.what === "overlap" ? all.indexOf(timeline.chosen.index) : -1;
    const index = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + by, 0), all.length - 1)];
    timeline.chosen = { what: "overlap", index };
    timeline.turnTo(scene.overlaps[index].row);
    const [from, to] = scene.extent("overlap", index);
    if (from < timeline.range.start || to > timeline.range.end) this.zoomTo([from, to]);
    timeline.soon();
    this.say(scene.describe("overlap", index).join(", "));
  }

  step(by) {
    const { timeline } = this;
    const all = timeline.inOrder();
    if (!all.length) return;
    const now = timeline.chosen ? all.findIndex((h) => h.what === timeline.chosen.what && h.index === timeline.chosen.index) : -1;
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + by, 0), all.length - 1)];
    timeline.chosen = { what: next.what, index: next.index };
    timeline.soon();
    this.say(timeline.scene.describe(next.what, next.index).join(", "));
  }
}
