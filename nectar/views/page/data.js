// The data of the page, and what is computed of them once.

let run = null;

const byId = (id) => document.getElementById(id);

async function loadData() {
  const text = byId("data").textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  run = JSON.parse(await new Response(stream).text());
  for (const track of run.tracks) unpack(track);
  run.count = run.tracks.reduce((sum, track) => sum + track.begin.length, 0);
}

// Steps become times; "before" has the busy time in front of each slice.
function unpack(track) {
  const count = track.begin.length;
  const begin = new Float64Array(count), end = new Float64Array(count), before = new Float64Array(count + 1);
  let now = 0;
  for (let n = 0; n < count; n++) {
    now += track.begin[n];
    begin[n] = now;
    end[n] = now + track.length[n];
    before[n + 1] = before[n] + track.length[n];
  }
  track.begin = begin;
  track.end = end;
  track.before = before;
  delete track.length;
}

// The first place in a sorted list whose value is above the given one.
function above(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > value) high = middle; else low = middle + 1;
  }
  return low;
}

// Busy time of a track up to a time.
function busyUntil(track, time) {
  const place = above(track.begin, time) - 1;
  if (place < 0) return 0;
  return track.before[place] + Math.min(time, track.end[place]) - track.begin[place];
}

// The slice of a track at a time, or -1.
function sliceAt(track, time, slack) {
  const place = above(track.begin, time + slack) - 1;
  return place >= 0 && track.end[place] >= time - slack ? place : -1;
}

function timeText(ps, digits = 4) {
  if (ps === null || ps === undefined) return "–";
  const size = Math.abs(ps);
  const [unit, factor] = size >= 1e12 ? ["s", 1e12] : size >= 1e9 ? ["ms", 1e9] : size >= 1e6 ? ["µs", 1e6] : ["ns", 1e3];
  return `${Number((ps / factor).toPrecision(digits))} ${unit}`;
}

function share(part, whole) {
  return whole ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

function styleColour(style) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--style${style}`).trim();
}

// One colour for each stage of a message.
const STAGE_COLOURS = ["#4c8dd6", "#e08a2e", "#9aa5b1", "#8d6fd1", "#3aa76d", "#2c5f94"];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.onclick = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
