// The address keeps what is asked for and what is in sight: `#f-12ab&g=GROUP&p=PROCESS&r=TEXT&t=FROM~TO&s=FROM~TO`. Only the fragment changes: no server is asked.

const Address = {
  read() {
    const [anchor, ...pairs] = location.hash.replace(/^#/, "").split("&");
    const found = { anchor: anchor.includes("=") ? "" : anchor, groups: [], processes: [], resource: "", from: null, to: null, selected: null };
    if (anchor.includes("=")) pairs.unshift(anchor);
    for (const pair of pairs) {
      const [key, value = ""] = pair.split("=");
      let text;
      try {
        text = decodeURIComponent(value);
      } catch {
        continue;
      }
      if (key === "g") found.groups.push(text);
      if (key === "p") found.processes.push(text);
      if (key === "r") found.resource = text;
      const [from, to] = text.split("~").map((t) => Date.parse(t));
      if (key === "t" && from < to) [found.from, found.to] = [from, to];
      if (key === "s" && from < to) found.selected = [from, to];
    }
    return found;
  },

  write(wanted) {
    const parts = wanted.anchor ? [wanted.anchor] : [];
    for (const g of wanted.groups) parts.push(`g=${encodeURIComponent(g)}`);
    for (const p of wanted.processes) parts.push(`p=${encodeURIComponent(p)}`);
    if (wanted.resource) parts.push(`r=${encodeURIComponent(wanted.resource)}`);
    if (wanted.from !== null) parts.push(`t=${encodeURIComponent(`${iso(wanted.from)}~${iso(wanted.to)}`)}`);
    if (wanted.selected) parts.push(`s=${encodeURIComponent(wanted.selected.map(iso).join("~"))}`);
    const hash = parts.length ? `#${parts.join("&")}` : "";
    if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
  },
};

const iso = (ms) => new Date(Math.round(ms)).toISOString();
