// The timeline: a row for each track, time from left to right.

const GUTTER = 230, ROW = 20, HEAD = 22;
const view = { from: 0, to: 1, rows: [], height: 0, closed: new Set(), hover: null, frame: 0, drawn: 0 };
const chosen = { message: -1, track: -1, slice: -1 };
const hits = { list: [], at: -1, labels: null };

function makeRows() {
  view.rows = [];
  let y = 0, board = null;
  run.tracks.forEach((track, number) => {
    if (track.board !== board) {
      board = track.board;
      view.rows.push({ board, y, height: HEAD });
      y += HEAD;
    }
    track.y = -1;
    if (view.closed.has(board)) return;
    track.y = y;
    view.rows.push({ track: number, y, height: ROW });
    y += ROW;
  });
  view.height = y;
}

function fit(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const draw = canvas.getContext("2d");
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.clearRect(0, 0, width, height);
  draw.font = "11px sans-serif";
  draw.textBaseline = "middle";
  return draw;
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    styles: run.styles.map((_, n) => colour(`--style${n}`)),
    ink: colour("--ink"), faint: colour("--faint"), line: colour("--line"), raised: colour("--raised"),
    ground: colour("--ground"), mark: colour("--mark"),
  };
}

const timeX = (time, width) => GUTTER + (time - view.from) / (view.to - view.from) * width;

function redraw() {
  if (!view.frame) view.frame = requestAnimationFrame(() => { view.frame = 0; drawTimeline(); });
}

function drawTimeline() {
  const box = byId("rows"), whole = box.clientWidth, height = box.clientHeight;
  if (!whole || !height) return;
  const width = whole - GUTTER - 4, colours = palette();
  drawRuler(whole, width, colours);
  const draw = fit(byId("tracks"), whole, height), top = box.scrollTop;
  byId("height").style.height = `${Math.max(0, view.height - height)}px`;
  for (const row of view.rows) {
    const y = row.y - top;
    if (y + row.height < 0 || y > height) continue;
    if (row.board !== undefined) drawHead(draw, row, y, whole, colours);
    else drawTrack(draw, run.tracks[row.track], row.track, y, width, colours);
  }
  drawArrows(draw, width, top, colours);
  byId("window").textContent = `${timeText(view.from)} to ${timeText(view.to)} (${timeText(view.to - view.from)})`;
  view.drawn += 1;
  document.body.dataset.drawn = view.drawn;
}

function drawRuler(whole, width, colours) {
  const draw = fit(byId("ruler"), whole, 24);
  let step = 10 ** Math.floor(Math.log10((view.to - view.from) / 4));
  for (const factor of [5, 2]) if ((view.to - view.from) / (step * factor) >= 6) { step *= factor; break; }
  draw.fillStyle = colours.faint;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const x = timeX(time, width);
    draw.fillRect(x, 16, 1, 8);
    draw.fillText(timeText(time, 6), x + 3, 9);
  }
}

function drawHead(draw, row, y, whole, colours) {
  draw.fillStyle = colours.raised;
  draw.fillRect(0, y, whole, row.height);
  draw.fillStyle = colours.ink;
  draw.font = "bold 12px sans-serif";
  draw.fillText(`${view.closed.has(row.board) ? "▸" : "▾"} ${row.board}`, 6, y + row.height / 2);
  draw.font = "11px sans-serif";
}

function drawTrack(draw, track, number, y, width, colours) {
  draw.fillStyle = colours.faint;
  draw.save();
  draw.beginPath();
  draw.rect(0, y, GUTTER - 4, ROW);
  draw.clip();
  draw.fillText(track.name, 18, y + ROW / 2);
  draw.restore();
  draw.fillStyle = colours.line;
  draw.fillRect(GUTTER, y + ROW - 1, width, 1);
  const first = Math.max(0, above(track.begin, view.from) - 1), last = above(track.begin, view.to);
  if (last - first > width / 2) drawShares(draw, track, first, y, width, colours);
  else for (let n = first; n < last; n++) if (track.end[n] >= view.from) drawSlice(draw, track, number, n, y, width, colours);
}

// Where there are more slices than pixels: the share of time that was busy, as a height.
function drawShares(draw, track, first, y, width, colours) {
  draw.fillStyle = colours.styles[track.style[first]];
  const step = (view.to - view.from) / width;
  let busy = busyUntil(track, view.from);
  for (let x = 0; x < width; x++) {
    const next = busyUntil(track, view.from + (x + 1) * step), part = Math.min(1, (next - busy) / step);
    busy = next;
    if (part > 0) {
      const high = Math.max(1, part * (ROW - 4));
      draw.fillRect(GUTTER + x, y + ROW - 2 - high, 1, high);
    }
  }
}

function drawSlice(draw, track, number, n, y, width, colours) {
  const left = Math.max(GUTTER, timeX(track.begin[n], width));
  const right = Math.min(GUTTER + width, Math.max(left + 1, timeX(track.end[n], width)));
  const label = run.labels[track.label[n]], found = hits.labels === null || hits.labels.has(track.label[n]);
  draw.globalAlpha = found ? 1 : 0.25;
  draw.fillStyle = colours.styles[track.style[n]];
  draw.fillRect(left, y + 2, right - left, ROW - 5);
  if (track.symbol) drawSymbols(draw, track, n, y, width, left, right, colours);
  if (right - left > 34) {
    draw.save();
    draw.beginPath();
    draw.rect(left + 2, y, right - left - 4, ROW);
    draw.clip();
    draw.fillStyle = "#fff";
    draw.fillText(label, left + 4, y + ROW / 2);
    draw.restore();
  }
  draw.globalAlpha = 1;
  const same = chosen.message >= 0 && track.message[n] === chosen.message;
  if (same || chosen.track === number && chosen.slice === n) {
    draw.strokeStyle = colours.mark;
    draw.lineWidth = 2;
    draw.strokeRect(left, y + 1, right - left, ROW - 3);
    draw.lineWidth = 1;
  }
}

// From the zoom on at which a symbol is wide enough to see.
function drawSymbols(draw, track, n, y, width, left, right, colours) {
  const wide = track.symbol / (view.to - view.from) * width;
  if (wide < 5) return;
  draw.fillStyle = colours.ground;
  const count = Math.round((track.end[n] - track.begin[n]) / track.symbol);
  const begin = Math.max(1, Math.floor((view.from - track.begin[n]) / track.symbol));
  for (let k = begin; k < count; k++) {
    const x = timeX(track.begin[n] + k * track.symbol, width);
    if (x > right) break;
    if (x > left) draw.fillRect(x, y + ROW - 8, 1, 5);
  }
}

function cpuOf(board) {
  return run.tracks.find((track) => track.board === board && track.name === "CPU" && track.y >= 0);
}

// The way of the chosen message; and of all messages, from task to task, when there are not too many to see.
function drawArrows(draw, width, top, colours) {
  draw.save();
  draw.beginPath();
  draw.rect(GUTTER, 0, width, byId("rows").clientHeight);
  draw.clip();
  const messages = run.messages, few = [];
  for (let m = 0; m < messages.sent.length && few.length <= 150; m++) {
    if (messages.sent[m] < view.to && (messages.done[m] ?? messages.sent[m]) > view.from) few.push(m);
  }
  if (few.length <= 150) {
    draw.globalAlpha = 0.45;
    for (const m of few) if (m !== chosen.message) {
      const from = cpuOf(messages.from[m]), to = cpuOf(messages.to[m]);
      if (from && to && messages.done[m] !== null) {
        arrow(draw, [[messages.sent[m], from.y], [messages.done[m], to.y]], width, top, colours.faint);
      }
    }
    draw.globalAlpha = 1;
  }
  if (chosen.message >= 0) arrow(draw, wayOf(chosen.message), width, top, colours.mark);
  draw.restore();
}

// (time, height) of each point on the way of a message.
function wayOf(m) {
  const messages = run.messages, points = [], from = cpuOf(messages.from[m]), to = cpuOf(messages.to[m]);
  if (from) points.push([messages.sent[m], from.y]);
  for (const [number, n] of messages.path[m]) {
    const track = run.tracks[number];
    if (track.y >= 0) points.push([track.begin[n], track.y]);
  }
  if (to && messages.done[m] !== null) points.push([messages.done[m], to.y]);
  return points;
}

function arrow(draw, points, width, top, colour) {
  if (points.length < 2) return;
  const at = points.map(([time, y]) => [timeX(time, width), y - top + ROW / 2]);
  draw.strokeStyle = draw.fillStyle = colour;
  draw.beginPath();
  at.forEach(([x, y], n) => n ? draw.lineTo(x, y) : draw.moveTo(x, y));
  draw.stroke();
  const [[x0, y0], [x1, y1]] = at.slice(-2), turn = Math.atan2(y1 - y0, x1 - x0);
  draw.beginPath();
  draw.moveTo(x1, y1);
  for (const side of [0.4, -0.4]) draw.lineTo(x1 - 8 * Math.cos(turn + side), y1 - 8 * Math.sin(turn + side));
  draw.fill();
}

// -- moving --------------------------------------------------------------------------------------------
function look(from, to) {
  const least = 2000, whole = Math.max(run.end, least), span = Math.min(Math.max(to - from, least), whole * 1.02);
  const middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - span / 2, -0.01 * whole), 1.01 * whole - span);
  view.to = view.from + span;
  redraw();
}

function zoom(factor, x) {
  const width = byId("rows").clientWidth - GUTTER - 4;
  const part = x === undefined ? 0.5 : Math.min(Math.max((x - GUTTER) / width, 0), 1);
  const time = view.from + part * (view.to - view.from), span = (view.to - view.from) * factor;
  look(time - part * span, time + (1 - part) * span);
}

// Brings times, and perhaps a track, into view.
function reveal(from, to, track) {
  const room = Math.max((to - from) * 0.3, 2000);
  look(from - room, to + room);
  if (track && track.y < 0) { view.closed.delete(track.board); makeRows(); }
  const box = byId("rows");
  if (track && (track.y < box.scrollTop || track.y > box.scrollTop + box.clientHeight - ROW)) {
    box.scrollTop = Math.max(0, track.y - box.clientHeight / 2);
  }
}

function rowAt(y) {
  const at = y + byId("rows").scrollTop;
  return view.rows.find((row) => row.y <= at && at < row.y + row.height);
}

function clickTimeline(x, y) {
  const row = rowAt(y);
  if (!row) return;
  if (row.board !== undefined) {
    if (!view.closed.delete(row.board)) view.closed.add(row.board);
    makeRows();
    redraw();
    return;
  }
  const width = byId("rows").clientWidth - GUTTER - 4, track = run.tracks[row.track];
  const time = view.from + (x - GUTTER) / width * (view.to - view.from);
  const slice = sliceAt(track, time, 3 * (view.to - view.from) / width);
  if (slice >= 0) choose(row.track, slice); else chooseNothing();
}

function startTimeline() {
  run.fibers.forEach((fiber) => { run.tracks[fiber.track].symbol = fiber.symbol; });
  makeRows();
  look(0, run.end);
  const canvas = byId("tracks"), box = byId("rows");
  let drag = null;
  const place = (event) => { const edge = box.getBoundingClientRect(); return [event.clientX - edge.left, event.clientY - edge.top]; };
  box.addEventListener("scroll", redraw);
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event)[0]);
  }, { passive: false });
  canvas.addEventListener("mousedown", (event) => { drag = { x: place(event)[0], from: view.from, to: view.to, moved: false }; });
  window.addEventListener("mousemove", (event) => {
    if (!drag) return;
    const shift = place(event)[0] - drag.x;
    if (Math.abs(shift) > 3) drag.moved = true;
    const step = (drag.to - drag.from) / (box.clientWidth - GUTTER - 4);
    if (drag.moved) look(drag.from - shift * step, drag.to - shift * step);
  });
  window.addEventListener("mouseup", (event) => {
    if (drag && !drag.moved) clickTimeline(...place(event));
    drag = null;
  });
  zoomByScale(place);
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from;
    const keys = { "+": () => zoom(0.6), "-": () => zoom(1.6), ArrowLeft: () => look(view.from - span / 5, view.to - span / 5),
      ArrowRight: () => look(view.from + span / 5, view.to + span / 5), Escape: chooseNothing };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  byId("whole").onclick = () => look(0, run.end);
  byId("in").onclick = () => zoom(0.5);
  byId("out").onclick = () => zoom(2);
  const used = new Set(run.tracks.flatMap((track) => [...new Set(track.style)]));
  byId("legend").append(...run.styles.flatMap((name, n) => {
    if (!used.has(n)) return [];
    const spot = element("i");
    spot.style.background = styleColour(n);
    return [element("span", {}, spot, name)];
  }));
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

// A drag over the scale chooses what is seen.
function zoomByScale(place) {
  const ruler = byId("ruler");
  let begin = null;
  const timeOf = (x) => view.from + (x - GUTTER) / (byId("rows").clientWidth - GUTTER - 4) * (view.to - view.from);
  ruler.addEventListener("mousedown", (event) => { begin = place(event)[0]; });
  window.addEventListener("mouseup", (event) => {
    if (begin === null) return;
    const end = place(event)[0], [left, right] = [Math.min(begin, end), Math.max(begin, end)];
    begin = null;
    if (right - left > 4) look(timeOf(left), timeOf(right)); else zoom(0.5, left);
  });
}
