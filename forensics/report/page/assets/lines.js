// Log lines of all processes in the order of the reference clock: those asked for are marked, with the lines around them and the silences between.

const CONTEXT = 6;
const MAX_SHOWN = 400;
const SILENCE = 5_000; // milliseconds between two lines of a process

class Lines {
  constructor(scene) {
    this.scene = scene;
    this.panel = document.getElementById("lines");
    this.list = document.getElementById("lines-list");
    this.context = CONTEXT;
    this.asked = null;
    this.from = null;
    this.closed = () => {};
    // For each line the one before it of the same process.
    this.before = new Int32Array(scene.line_ids.length);
    const latest = new Map();
    for (let n = 0; n < this.before.length; n++) {
      const process = scene.line_process[n];
      this.before[n] = latest.has(process) && scene.line_timed[n] ? latest.get(process) : -1;
      if (scene.line_timed[n]) latest.set(process, n);
    }
    document.getElementById("lines-close").addEventListener("click", () => this.close());
    document.getElementById("lines-more").addEventListener("click", () => {
      this.context *= 4;
      this.fill();
    });
    this.panel.addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.close();
    });
  }

  // `said`: what the lines belong to; `numbers`: the lines; `span`: its time, for when the page carries none of its lines.
  open(said, numbers, span = null) {
    this.from = document.activeElement;
    this.context = CONTEXT;
    this.asked = { said, numbers, span };
    this.fill();
    this.panel.hidden = false;
    document.body.classList.add("reading");
    document.getElementById("lines-title").focus({ preventScroll: true });
    // Scroll to its begin; a proof's first lines may only bound the clocks.
    const marked = [...this.list.querySelectorAll(".witness")];
    const first = marked.find((item) => span && Number(item.dataset.at) >= span[0] - 100) || marked[0];
    if (first) this.list.scrollTop = Math.max(0, first.offsetTop - 60);
  }

  // Scrolls a place on the screen above the panel, where it is covered.
  uncover(y) {
    const free = this.panel.getBoundingClientRect().top;
    if (y > free - 30) scrollBy(0, y - free / 2);
  }

  close() {
    this.panel.hidden = true;
    document.body.classList.remove("reading");
    this.closed();
    if (this.from && this.from.isConnected) this.from.focus({ preventScroll: true });
  }

  fill() {
    const { said, numbers, span } = this.asked;
    const scene = this.scene;
    const [title, ...more] = said;
    document.getElementById("lines-title").textContent = title;
    const note = document.getElementById("lines-note");
    const around = numbers.length ? numbers : this.near(span);
    const shown = this.chosen(around);
    const witnesses = new Set(numbers);
    if (!numbers.length) more.push("This page does not contain its lines; `forensics show` prints them. These are the lines around it.");
    note.textContent = more.join(" · ");
    const rows = [];
    let before = null;
    for (const n of shown) {
      if (before !== null && n > before + 1) rows.push(this.hole(before, n));
      const silence = this.silence(n);
      if (silence) rows.push(silence);
      rows.push(this.row(n, witnesses.has(n)));
      before = n;
    }
    this.list.replaceChildren(...rows);
    document.getElementById("lines-more").hidden = shown.length >= Math.min(MAX_SHOWN, scene.line_ids.length);
  }

  near(span) {
    if (!span) return [];
    const { line_at: at } = this.scene;
    let low = 0;
    let high = at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] < span[0]) low = middle + 1;
      else high = middle;
    }
    return low < at.length ? [low] : [];
  }

  // Always the lines asked for; around each as many as fit.
  chosen(numbers) {
    const shown = new Set(numbers);
    const last = this.scene.line_ids.length - 1;
    for (let away = 1; away <= this.context; away++) {
      for (const n of numbers) for (const m of [n - away, n + away]) if (m >= 0 && m <= last && shown.size < MAX_SHOWN) shown.add(m);
    }
    return [...shown].sort((a, b) => a - b);
  }

  row(n, witness) {
    const scene = this.scene;
    const look = scene.process(scene.line_process[n]);
    const item = document.createElement("li");
    if (witness) item.className = "witness";
    item.id = `e-${scene.line_ids[n]}`;
    item.dataset.at = scene.line_at[n];
    const bound = Math.round(scene.line_bound[n] / scene.per_ms);
    const time = scene.line_timed[n] ? scene.time(scene.line_at[n]) + (bound ? ` ±${bound} ms` : "") : "no time";
    const own = scene.line_own[n];
    if (scene.line_timed[n] && Math.abs(own - scene.line_at[n]) >= 1000) item.title = `by its own clock ${scene.time(own)}`;
    const who = element("span", "who", look.name);
    who.prepend(swatch(look));
    const text = element("span", "text", scene.line_texts[n]);
    const head = scene.heads[scene.line_head[n]];
    if (head) text.prepend(element("span", "line-head", head), " ");
    item.append(
      element("span", "time", time),
      who,
      text,
      element("span", "where", `${scene.places[scene.line_place[n]]}:${scene.line_number[n]}`),
      element("a", "id", scene.line_ids[n]),
    );
    item.lastChild.href = `#e-${scene.line_ids[n]}`;
    item.lastChild.dataset.lines = "";
    item.lastChild.title = "forensics show prints this line from the evidence";
    return item;
  }

  // A process that printed nothing for a while before this line; a page that does not carry every line cannot say it.
  silence(n) {
    const scene = this.scene;
    const before = this.before[n];
    if (before < 0 || !scene.complete) return null;
    const length = scene.line_at[n] - scene.line_at[before];
    if (length < SILENCE) return null;
    return element("li", "silence", `${scene.process(scene.line_process[n]).name}: ${spanWords(length)} without a recognised line, since ${scene.time(scene.line_at[before])}`);
  }

  hole(before, after) {
    const { line_at: at } = this.scene;
    const left = after - before - 1;
    return element("li", "hole", `${number(left)} more ${left === 1 ? "line" : "lines"} in ${spanWords(at[after] - at[before])}`);
  }
}

function element(name, kind, text) {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}

// A process's colour and pattern, as the page's own drawings have them.
function swatch(look) {
  const original = document.querySelector(`#looks [data-process="${look.number}"] svg`);
  return original ? original.cloneNode(true) : document.createTextNode("");
}
