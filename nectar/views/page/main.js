// Views, the search, and the start.

function showView(name) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const button of document.querySelectorAll("nav [data-view]")) {
    button.classList.toggle("here", button.dataset.view === name);
  }
  redraw();
}

function search() {
  const wanted = byId("search").value.toLowerCase();
  hits.labels = wanted ? new Set() : null;
  hits.list = [];
  hits.at = -1;
  if (wanted) {
    run.labels.forEach((label, n) => { if (label.toLowerCase().includes(wanted)) hits.labels.add(n); });
    run.tracks.forEach((track, number) => {
      for (let n = 0; n < track.begin.length && hits.list.length < 100000; n++) {
        if (hits.labels.has(track.label[n])) hits.list.push([track.begin[n], number, n]);
      }
    });
    hits.list.sort((a, b) => a[0] - b[0]);
  }
  byId("hits").textContent = wanted ? `${hits.list.length} hits` : "";
  sortMessages();
  drawList();
  redraw();
}

function go(step) {
  if (!hits.list.length) return;
  hits.at = (hits.at + step + hits.list.length) % hits.list.length;
  const [, number, n] = hits.list[hits.at], track = run.tracks[number];
  showView("timeline");
  reveal(track.begin[n], track.end[n], track);
  choose(number, n);
  byId("hits").textContent = `${hits.at + 1} of ${hits.list.length}`;
}

async function start() {
  await loadData();
  byId("title").textContent = run.title;
  byId("about").textContent = `${run.topology}, ${timeText(run.end)} simulated, ${run.count} slices, `
    + `${run.messages.sent.length} messages; Nectar ${run.version}`
    + (run.complete ? "" : "; the run did not come to its end")
    + (run.dropped ? `; ${run.dropped} events after the limit of the recording are missing` : "");
  byId("summary").append(...run.summary.map((line) => element("li", {}, line)));
  for (const button of document.querySelectorAll("nav [data-view]")) button.onclick = () => showView(button.dataset.view);
  byId("search").oninput = search;
  byId("search").onkeydown = (event) => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1); };
  byId("next").onclick = () => go(1);
  byId("previous").onclick = () => go(-1);
  startTimeline();
  sortMessages();
  drawList();
  drawLatencies();
  drawNetwork();
  drawCounts();
  showView("timeline");
  drawTimeline();
  document.body.dataset.ready = "yes";
}

start();
