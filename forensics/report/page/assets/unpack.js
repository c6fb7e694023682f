// What `pack.py` has packed: columns of numbers and plain values.

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const whole = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(whole).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 8, length)));
  const kinds = { Int32Array, Uint8Array };
  const arrays = {};
  for (const [name, [kind, at, count]] of Object.entries(header.arrays)) {
    if (kind === "wide") {
      const high = new Int32Array(whole, 8 + length + at, count);
      const low = new Int32Array(whole, 8 + length + at + 4 * count, count);
      arrays[name] = Float64Array.from(high, (h, i) => h * 2 ** 30 + low[i]);
    } else {
      arrays[name] = new kinds[kind](whole, 8 + length + at, count);
    }
  }
  return { ...header.plain, ...arrays };
}
