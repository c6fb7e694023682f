// Boxes and words on their way into Bokeh's columns. What is too narrow to be seen is drawn together with its neighbours, and counted.

const NARROW = 3; // pixels
const MAX_BOXES = 6000;

// The boxes of a figure by layer, and the patterns that are drawn over them.
class Boxes {
  constructor(pxPerMs) {
    this.pxPerMs = pxPerMs;
    this.layers = Object.fromEntries(["bands", "fades", "bars", "layers", "marks"].map((name) => [name, { ...edges(), fill: [], alpha: [], line: [] }]));
    this.hatches = {};
    this.hits = [];
    this.size = 0;
  }

  // `look`: fill, alpha, line; `pattern` and its `ink`. `hit`: what a click on it means.
  add(layer, left, right, top, bottom, look, hit) {
    const box = this.layers[layer];
    put(box, left, right, top, bottom);
    box.fill.push(look.fill || "rgba(0,0,0,0)");
    box.alpha.push(look.alpha ?? 1);
    box.line.push(look.line || "rgba(0,0,0,0)");
    this.size++;
    if (look.pattern && look.pattern !== "blank" && (right - left) * this.pxPerMs >= 4) {
      const name = `${look.pattern}-${look.ink || "black"}`;
      this.hatches[name] ||= edges();
      put(this.hatches[name], left, right, top, bottom);
    }
    if (hit) this.hits.push({ left, right, top, bottom, ...hit });
  }
}

const edges = () => ({ left: [], right: [], top: [], bottom: [] });

function put(box, left, right, top, bottom) {
  box.left.push(left);
  box.right.push(right);
  box.top.push(top);
  box.bottom.push(bottom);
}

// Words by their ink: `text`, `bad` and `cause` are the page's own colours; `black` and `white` are for words on colours.
class Words {
  constructor() {
    this.inks = Object.fromEntries(["text", "bad", "cause", "black", "white"].map((ink) => [ink, { x: [], y: [], text: [] }]));
  }

  add(x, y, text, ink) {
    const columns = this.inks[ink];
    columns.x.push(x);
    columns.y.push(y);
    columns.text.push(text);
  }
}

// Items of one lane, in order of time: each alone where it can be seen, else as one run. `each(i)` and `run(first, last, count)` draw.
function thin(items, begin, end, pxPerMs, narrow, each, run) {
  let open = null;
  const flush = () => {
    if (!open) return;
    if (open.count === 1) each(open.first);
    else run(open.first, open.last, open.count, open.from, open.to);
    open = null;
  };
  for (const i of items) {
    const [from, to] = [begin(i), end(i)];
    const small = (to - from) * pxPerMs < narrow;
    if (open && (!small || (from - open.to) * pxPerMs >= narrow)) flush();
    if (!small) each(i);
    else if (open) {
      open.last = i;
      open.count++;
      open.to = Math.max(open.to, to);
    } else open = { first: i, last: i, count: 1, from, to };
  }
  flush();
}
