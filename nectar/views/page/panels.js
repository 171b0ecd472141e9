// Details, the list of messages, the network, and tables of counts.

// -- details ---------------------------------------------------------------------------------------------
function choose(track, slice) {
  chosen.track = track;
  chosen.slice = slice;
  const message = run.tracks[track].message[slice];
  if (message >= 0) { chooseMessage(message); return; }
  chosen.message = -1;
  const made = run.tracks[track];
  showDetails(`${made.board}, ${made.name}`, [
    element("p", {}, run.labels[made.label[slice]]),
    rows([["from", timeText(made.begin[slice], 8)], ["to", timeText(made.end[slice], 8)],
      ["for", timeText(made.end[slice] - made.begin[slice])]]),
  ]);
  redraw();
}

function chooseMessage(m) {
  chosen.message = m;
  const all = run.messages, took = all.done[m] === null ? null : all.done[m] - all.sent[m];
  const parts = [rows([
    ["sent", timeText(all.sent[m], 8)], ["there", timeText(all.done[m], 8)], ["took", timeText(took)],
    ["bytes", all.bytes[m]], ["repeated", all.repeated[m]],
  ])];
  if (all.stages[m]) parts.push(stageBar(all.stages[m]), rows(run.stages.map((name, n) => [name, timeText(all.stages[m][n])])));
  const related = [];
  if (all.parent[m] >= 0) related.push(["for", all.parent[m]]);
  all.parent.forEach((parent, child) => { if (parent === m) related.push(["by", child]); });
  if (related.length) {
    parts.push(element("h3", {}, "Sent"), element("ul", {}, ...related.map(([word, other]) => element("li", {}, `${word} `,
      element("button", { onclick: () => chooseMessage(other) }, messageName(other))))));
  }
  const steps = all.path[m].map(([number, n]) => {
    const track = run.tracks[number];
    return element("li", {}, element("button", { onclick: () => reveal(track.begin[n], track.end[n], track) },
      `${timeText(track.begin[n], 6)}  ${track.board} ${track.name}`));
  });
  if (steps.length) parts.push(element("h3", {}, "Way"), element("ol", { id: "way" }, ...steps));
  parts.push(element("p", {}, element("button", { onclick: () => showMessage(m) }, "Show in the timeline")));
  showDetails(messageName(m), parts);
  document.querySelectorAll("tr.chosen").forEach((row) => row.classList.remove("chosen"));
  document.querySelector(`tr[data-message="${m}"]`)?.classList.add("chosen");
  redraw();
}

function chooseNothing() {
  Object.assign(chosen, { message: -1, track: -1, slice: -1 });
  byId("details").hidden = true;
  redraw();
}

function showMessage(m) {
  showView("timeline");
  const all = run.messages, [first] = all.path[m];
  reveal(all.sent[m], all.done[m] ?? all.sent[m], first ? run.tracks[first[0]] : cpuOf(all.from[m]));
}

function messageName(m) {
  const all = run.messages;
  return `${all.layer[m]} ${all.number[m]}: ${all.from[m]} to ${all.to[m]}`;
}

function showDetails(title, parts) {
  const box = byId("details");
  box.replaceChildren(element("button", { class: "close", title: "close", onclick: chooseNothing }, "×"),
    element("h2", {}, title), ...parts);
  const before = box.hidden;
  box.hidden = false;
  if (before) redraw();
}

function rows(pairs) {
  return element("table", {}, ...pairs.map(([name, value]) =>
    element("tr", {}, element("td", { class: "text" }, name), element("td", {}, String(value)))));
}

function stageBar(times) {
  const whole = times.reduce((sum, time) => sum + time, 0), bar = element("div", { class: "bar" });
  times.forEach((time, n) => {
    const part = element("span", { title: `${run.stages[n]}: ${timeText(time)}` });
    part.style.width = `${whole ? 100 * time / whole : 0}%`;
    part.style.background = STAGE_COLOURS[n];
    bar.append(part);
  });
  return bar;
}

// -- messages --------------------------------------------------------------------------------------------
const list = { order: [], sort: "sent", down: false, page: 0, size: 200 };
const COLUMNS = [
  ["layer", "layer", true], ["from", "from", true], ["to", "to", true], ["bytes", "bytes", false],
  ["sent", "sent", false], ["took", "took", false], ["repeated", "repeated", false],
];

function sortMessages() {
  const all = run.messages, wanted = byId("search").value.toLowerCase();
  const value = { took: (m) => all.done[m] === null ? Infinity : all.done[m] - all.sent[m] }[list.sort]
    ?? ((m) => all[list.sort][m]);
  list.order = all.sent.map((_, m) => m).filter((m) => !wanted || messageName(m).toLowerCase().includes(wanted));
  list.order.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return (x < y ? -1 : x > y ? 1 : a - b) * (list.down ? -1 : 1);
  });
  list.page = 0;
}

function drawList() {
  const all = run.messages, first = list.page * list.size, shown = list.order.slice(first, first + list.size);
  byId("list").tHead.replaceChildren(element("tr", {}, ...COLUMNS.map(([key, name, text]) => element("th", {
    class: text ? "text" : "",
    onclick: () => { list.down = list.sort === key && !list.down; list.sort = key; sortMessages(); drawList(); },
  }, name + (list.sort === key ? (list.down ? " ▾" : " ▴") : ""))), element("th", { class: "text" }, "stages")));
  byId("list").tBodies[0].replaceChildren(...shown.map((m) => {
    const took = all.done[m] === null ? "–" : timeText(all.done[m] - all.sent[m]);
    const cells = [all.layer[m], all.from[m], all.to[m], all.bytes[m], timeText(all.sent[m], 7), took, all.repeated[m] || ""];
    return element("tr", { "data-message": m, onclick: () => chooseMessage(m) },
      ...cells.map((cell, n) => element("td", { class: COLUMNS[n][2] ? "text" : "" }, String(cell))),
      element("td", {}, all.stages[m] ? stageBar(all.stages[m]) : ""));
  }));
  const last = Math.max(0, Math.ceil(list.order.length / list.size) - 1);
  const turn = (page) => { list.page = Math.min(Math.max(page, 0), last); drawList(); };
  byId("pages").replaceChildren(`${list.order.length} messages `,
    ...(last ? [element("button", { onclick: () => turn(list.page - 1) }, "◀"), ` page ${list.page + 1} of ${last + 1} `,
      element("button", { onclick: () => turn(list.page + 1) }, "▶")] : []));
}

// How long messages took: how many in each tenth of a decade; the stages of all.
function drawLatencies() {
  const all = run.messages, times = [], sums = run.stages.map(() => 0);
  all.sent.forEach((sent, m) => {
    if (all.done[m] !== null) times.push(all.done[m] - sent);
    all.stages[m]?.forEach((time, n) => { sums[n] += time; });
  });
  if (!times.length) return;
  times.sort((a, b) => a - b);
  const bin = (time) => Math.floor(10 * Math.log10(Math.max(time, 1)));
  const low = bin(times[0]), high = bin(times[times.length - 1]), counts = new Array(high - low + 1).fill(0);
  for (const time of times) counts[bin(time) - low] += 1;
  const most = Math.max(...counts), wide = Math.max(4, Math.min(24, 480 / counts.length));
  const bars = counts.map((count, n) => `<rect x="${n * wide}" y="${70 - 66 * count / most}" width="${wide - 1}"
    height="${66 * count / most}" fill="var(--style2)"><title>${count} messages of ${timeText(10 ** ((low + n) / 10), 3)} to ${
    timeText(10 ** ((low + n + 1) / 10), 3)}</title></rect>`).join("");
  const figure = element("figure");
  figure.innerHTML = `<svg width="${counts.length * wide}" height="72" role="img"
    aria-label="how many messages took how long">${bars}</svg>`;
  const at = (part) => timeText(times[Math.min(times.length - 1, Math.floor(part * times.length))]);
  figure.append(element("figcaption", {}, `${timeText(times[0])} to ${timeText(times[times.length - 1])}: half of the `
    + `messages within ${at(0.5)}, nine of ten within ${at(0.9)}, 99 of 100 within ${at(0.99)}`));
  const whole = sums.reduce((sum, time) => sum + time, 0), legend = run.stages.map((name, n) => {
    const spot = element("i");
    spot.style.cssText = `display:inline-block;width:10px;height:10px;margin:0 4px 0 10px;background:${STAGE_COLOURS[n]}`;
    return element("span", {}, spot, `${name} ${share(sums[n], whole)}`);
  });
  byId("latencies").replaceChildren(figure, element("figure", {}, stageBar(sums), element("figcaption", {}, ...legend)));
}

// -- network ---------------------------------------------------------------------------------------------
function loadColour(load) {
  return `hsl(${Math.round(210 - 210 * Math.min(1, load))} 75% ${55 - 10 * Math.min(1, load)}%)`;
}

function drawNetwork() {
  const box = byId("network"), figure = element("figure");
  figure.innerHTML = run.drawing;
  const loads = new Map();
  for (const fiber of run.fibers) loads.set(`${fiber.from} - ${fiber.to}`, fiber);
  for (const path of figure.querySelectorAll("path.fiber")) {
    const title = path.querySelector("title"), [a, b] = title.textContent.split(" - ");
    const there = loads.get(`${a} - ${b}`), back = loads.get(`${b} - ${a}`), load = Math.max(there.load, back.load);
    path.style.stroke = loadColour(load);
    path.style.strokeWidth = 1.5 + 6 * load;
    title.textContent = `${a} to ${b}: ${share(there.load, 1)}, ${there.packets} ${run.words.carried}; `
      + `${b} to ${a}: ${share(back.load, 1)}, ${back.packets} ${run.words.carried}`;
  }
  const ports = new Map();
  for (const fiber of run.fibers) {
    const board = fiber.from.split(".")[0];
    ports.set(board, [...(ports.get(board) ?? []), fiber.load]);
  }
  for (const box of figure.querySelectorAll("g > rect")) {
    const title = box.parentNode.querySelector("title"), board = title.textContent.split(",")[0], sent = ports.get(board) ?? [];
    title.textContent += `: sends ${share(sent.reduce((sum, load) => sum + load, 0), 1)} of a ${run.words.link}'s time in all`;
  }
  figure.append(element("figcaption", {}, `Each line is a ${run.words.pair}: the more of the time ${run.words.carried} are on its fuller `
    + "direction, the wider and the redder it is. Point at a line or at a board for its figures."));
  box.replaceChildren(figure, element("h2", {}, "Who has sent how much to whom"), matrix());
}

function matrix() {
  const names = [...new Set(run.matrix.flatMap(([from, to]) => [from, to]))];
  const cells = new Map(run.matrix.map(([from, to, count, bytes]) => [`${from} ${to}`, [count, bytes]]));
  const most = Math.max(1, ...run.matrix.map((row) => row[3]));
  return element("table", { id: "matrix" },
    element("tr", {}, element("th", { class: "text" }, "from / to"), ...names.map((name) => element("th", {}, name))),
    ...names.filter((from) => names.some((to) => cells.has(`${from} ${to}`))).map((from) => element("tr", {},
      element("td", { class: "text" }, from),
      ...names.map((to) => {
        const found = cells.get(`${from} ${to}`), cell = element("td", {}, found ? `${found[0]} / ${found[1]} B` : "");
        if (found) cell.style.background = `color-mix(in srgb, var(--style2) ${Math.round(45 * found[1] / most)}%, transparent)`;
        return cell;
      }))));
}

// -- counts ----------------------------------------------------------------------------------------------
function table(title, head, body, texts) {
  return [element("h2", {}, title), element("table", {},
    element("tr", {}, ...head.map((name, n) => element("th", { class: n < texts ? "text" : "" }, name))),
    ...body.map((row) => element("tr", {}, ...row.map((cell, n) => element("td", { class: n < texts ? "text" : "" }, String(cell))))))];
}

function drawCounts() {
  const faults = run.faults.slice(0, 500).map(([number, time, text]) =>
    [`${run.fibers[number].from} to ${run.fibers[number].to}`, text, timeText(time, 8)]);
  byId("counts").replaceChildren(
    ...table("What had the CPUs", ["board", "thread", "turns", "time", "share"], run.computing.map(([board, thread, time, turns]) =>
      [board, thread, turns, timeText(time), share(time, run.end)]), 2),
    ...table(`${run.words.link[0].toUpperCase()}${run.words.link.slice(1)}s`, ["from", "to", run.words.carried, "share of the time"], run.fibers.map((fiber) =>
      [fiber.from, fiber.to, fiber.packets, share(fiber.load, 1)]), 2),
    ...(run.repeated.length ? table("Retransmissions", ["from", "transport", "to", "count"], run.repeated, 3) : []),
    ...(faults.length ? table(`Faults (${run.faults.length})`, [run.words.link, "what", "time"], faults, 2) : []));
}
