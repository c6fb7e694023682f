// Times and spans as the rest of the report writes them, in the reader's zone. What is drawn, and the address, stay in UTC.

// The zone's offsets: from when on, and by how much it is ahead of UTC, both in ms.
let zoneOffsets = [[-Infinity, 0]];

const zoned = (ms) => ms + zoneOffsets.findLast(([from], n) => !n || from <= ms)[1];

const two = (n) => String(n).padStart(2, "0");
const three = (n) => String(n).padStart(3, "0");

function clockTime(ms, oneDay) {
  const d = new Date(Math.round(zoned(ms)));
  const time = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}.${three(d.getUTCMilliseconds())}`;
  return oneDay ? time : `${d.toISOString().slice(0, 10)} ${time}`;
}

function spanWords(ms) {
  const whole = Math.round(Math.abs(ms));
  if (whole < 1000) return `${whole} ms`;
  if (whole < 9995) return `${(whole / 1000).toFixed(2)} s`;
  if (whole < 59950) return `${(whole / 1000).toFixed(1)} s`;
  const seconds = Math.round(whole / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// A moment between two bounds, as `10:00:01.500 ±2 ms`.
function momentWords(lo, hi, oneDay) {
  const half = Math.ceil((hi - lo) / 2);
  if (hi - lo > 2000) return `${clockTime(lo, oneDay)} to ${clockTime(hi, oneDay)}`;
  return clockTime((lo + hi) / 2, oneDay) + (half ? ` ±${half} ms` : "");
}

const number = (n) => n.toLocaleString("en-US");
