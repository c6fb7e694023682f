// How long resources had no owner, or two, within a span. A time that several incidents or pairs of owners share counts once.

// `least` and `working` are certain, `most` is possible; `worst` is the row with the most certain time.
function damageSums(drawn, from, to) {
  const byRow = new Map();
  for (const o of drawn) byRow.set(o.row, [...(byRow.get(o.row) || []), o]);
  const sums = { rows: byRow.size, least: 0, working: 0, most: 0, worst: -1, worstLeast: -1 };
  for (const [row, all] of byRow) {
    let least = 0;
    for (const together of clusters(all)) {
      const most = covered(together.map((o) => o.possible), from, to);
      sums.most += Math.min(most, together.length === 1 && together[0].most !== null ? together[0].most : most);
      least += atLeast(together, (o) => o.there, (o) => o.least, from, to);
      sums.working += atLeast(together, (o) => o.work, (o) => o.working, from, to);
    }
    sums.least += least;
    if (least > sums.worstLeast) [sums.worst, sums.worstLeast] = [row, least];
  }
  return sums;
}

// Those whose possible times overlap; they are in order of time.
function clusters(all) {
  const found = [];
  let end = -Infinity;
  for (const o of all) {
    if (o.possible[0] >= end) found.push([]);
    found.at(-1).push(o);
    end = Math.max(end, o.possible[1]);
  }
  return found;
}

// What is certain within the span: the certain layers in it, or what must be in it because the rest of the possible time is too short.
function atLeast(together, layer, certain, from, to) {
  const shown = covered(together.map(layer).filter(Boolean), from, to);
  const bounds = together.map((o) => certain(o) - (o.possible[1] - o.possible[0] - covered([o.possible], from, to)));
  return Math.max(shown, ...bounds, 0);
}

// The length of the union of some spans within a span.
function covered(spans, from, to) {
  let [length, end] = [0, from];
  for (const [a, b] of [...spans].sort((x, y) => x[0] - y[0])) {
    const [begin, stop] = [Math.max(a, end), Math.min(b, to)];
    if (stop > begin) length += stop - begin;
    end = Math.max(end, Math.min(b, to));
  }
  return length;
}

// The sums in words, with the name of a row's resource.
function sumWords(sums, name) {
  const said = [];
  for (const [one, what] of [["none", "no owner"], ["two", "two owners"]]) {
    const { rows, least, working, most, worst, worstLeast } = sums[one];
    if (!rows) continue;
    const whom = rows === 1 ? ` (${name(worst)})` : worstLeast > 0 ? ` on ${number(rows)} resources together (most on ${name(worst)}: ${spanWords(worstLeast)})` : ` on ${number(rows)} resources together`;
    const worked = working ? `, both working for at least ${spanWords(working)}` : "";
    const [sure, limit] = [spanWords(least), spanWords(most)];
    if (least <= 0) said.push(`possibly ${what}, for up to ${limit}${whom}`);
    else if (sure === limit) said.push(`${what} for ${sure}${whom}${worked}`);
    else said.push(`${what} for at least ${sure}${whom}${worked}; possible: up to ${limit}`);
  }
  if (!said.length) said.push("no overlap and no time without an owner");
  said.push(`${number(sums.rebalances)} ${sums.rebalances === 1 ? "rebalance" : "rebalances"}${sums.lasted >= 1 ? `, ${sums.rebalances === 1 ? "" : "together "}at least ${spanWords(sums.lasted)}` : ""}`);
  return said.join(" · ");
}
