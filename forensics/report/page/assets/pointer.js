// The pointer over a figure: a label with the time and what is under it, and a click that opens its lines.

class Pointer {
  constructor(timeline, label, choose) {
    this.timeline = timeline;
    this.label = label;
    for (const name of ["causes", "lanes", "tracks"]) {
      const plot = timeline.plots[name];
      plot.on_event("mousemove", (e) => this.over(name, e));
      plot.on_event("mouseleave", () => this.hide());
      plot.on_event("tap", (e) => {
        this.hide();
        const hit = timeline.at(name, e.x, e.y);
        if (hit) choose(hit, document.getElementById(`figure-${name}`).getBoundingClientRect().top + e.sy);
      });
      plot.on_event("doubletap", () => timeline.showAll());
    }
  }

  over(name, e) {
    const hit = this.timeline.at(name, e.x, e.y);
    const frame = document.getElementById(`figure-${name}`);
    frame.classList.toggle("over", Boolean(hit));
    const { scene, range } = this.timeline;
    if (e.x < range.start || e.x > range.end) return this.hide();
    const said = !hit ? [] : hit.what === "run" ? [`${number(hit.count)} ${hit.of}`, "too short to be drawn one by one: click to zoom in"] : scene.describe(hit.what, hit.index);
    this.label.replaceChildren(element("div", "at", scene.time(e.x)), ...said.map((text) => element("div", "", text)));
    this.label.hidden = false;
    const box = frame.getBoundingClientRect();
    const left = Math.min(box.left + e.sx + 14, innerWidth - this.label.offsetWidth - 8);
    this.label.style.left = `${Math.max(4, left) + scrollX}px`;
    this.label.style.top = `${box.top + e.sy + 16 + scrollY}px`;
  }

  hide() {
    this.label.hidden = true;
  }
}
