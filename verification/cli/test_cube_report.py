"""Recordings and reports of programs on the iPSC/2: what is listed, what a page shows, what is refused."""

import re

import pytest

from nectar.hdl.ipsc2.formats import route
from nectar.verification.cli.conftest import Command
from nectar.verification.cli.examples import EXAMPLES
from nectar.verification.views.test_report import browse, data_of, needs_chromium

CUBE = ["--machine", "ipsc2", "--topology", "hypercube:2"]
RUN = ["run", *CUBE, str(EXAMPLES / "nx_matrix.py"), "--order", "8"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a recording of a run and the report that the run has written, and what the run has printed."""
    here = Command(tmp_path_factory.mktemp("cube"))
    done = here(*RUN, "--record", "run.events", "--record-level", "all", "--report", "run.html")
    assert done.returncode == 0 and not done.stderr
    return here, done.stdout


def test_recording_changes_nothing(made):
    here, printed = made
    assert here(*RUN).stdout == printed


def test_each_message_has_its_way_and_the_times_of_its_stages(made):
    here, _ = made
    data = data_of((here.folder / "run.html").read_text())
    messages, carried = data["messages"], 0
    for place, stages in enumerate(messages["stages"]):
        if messages["layer"][place] != "Nectarine":
            assert stages is None
            continue
        assert sum(stages) == messages["done"][place] - messages["sent"][place] and min(stages) >= 0
        ends = [int(messages[name][place].removeprefix("NODE")) for name in ("from", "to")]
        tracks = [data["tracks"][number] for number, _ in messages["path"][place]]
        way = _way(*ends)
        trips = 1 if messages["bytes"][place] <= 100 else 2
        assert [(track["board"], track["name"].split(",")[0].split(" ")[0]) for track in tracks] == way * trips
        carried += trips * (len(way) - 1)
    assert data["complete"] and len(data["summary"]) == 5
    # The rest are messages of NX/2 alone: GRANT for each long one, RETURN.
    circuits = sum(link["packets"] for link in data["fibers"])
    assert carried < circuits
    names = {track["name"] for track in data["tracks"] if track["board"] == "NODE2"}
    assert {"CPU", "interrupt level", "DMA, network out", "DMA, network in", "sink, circuit"} <= names
    assert {"C0 to NODE3.C0", "C1 to NODE0.C1", "C0, destination not ready"} <= names


def _way(source, destination):
    here, way = source, []
    while (channel := route(here ^ destination)) is not None:
        way.append((f"NODE{here}", f"C{channel}"))
        here ^= 1 << channel
    return [*way, (f"NODE{here}", "sink")]


def test_a_recording_gives_the_report_of_its_run_and_a_trace(made):
    here, _ = made
    done = here("events", "run.events", "--report", "then.html", "--trace", "then.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    then, now = (data_of((here.folder / f"{name}.html").read_text()) for name in ("then", "run"))
    assert then.pop("title") == "run.events" and now.pop("title") == RUN[5]
    assert then == now
    assert "NX/2 DATA NODE0 to NODE3" in (here.folder / "then.json").read_text()


@needs_chromium
def test_a_browser_shows_the_page(made, tmp_path):
    here, _ = made
    text = (here.folder / "run.html").read_text()
    data = data_of(text)
    place = next(place for place, stages in enumerate(data["messages"]["stages"]) if stages)
    script = (
        f"showView('messages'); document.querySelector('tr[data-message=\"{place}\"]').click();"
        "document.body.dataset.steps = document.querySelectorAll('#way li').length;"
        "showView('network'); showView('timeline'); look(0, run.end / 20); drawTimeline();"
    )
    shows, console = browse(tmp_path, text, script)
    assert not console and 'data-ready="yes"' in shows
    assert f'data-steps="{len(data["messages"]["path"][place])}"' in shows
    assert shows.count('class="fiber"') == 4 and "% , 0 packets" not in shows and " circuits; " in shows
    assert ">connection<" in shows.replace("</i>", ">") and "packet</span>" not in shows


def test_events_of_the_hardware_are_listed(made):
    here, _ = made
    lines = here("events", "run.events", "--board", "NODE0", "--to", "400us").stdout.splitlines()
    told = [line.split(" us  ")[1].split(maxsplit=1)[1] for line in lines]
    wanted = [
        "queued nx2_short NODE0 to NODE1, message of 0 bytes",
        "asked source to C0: NODE0 to NODE1",
        "connected source to C0",
        "ready-bit C0: 1",
        "disconnected source to C0",
        "interrupt",
        "received 5 words",
        "causes arrived, sent",
        "delivered nx2_short from NODE1, number 1, 0 bytes",
        "returned",
    ]
    told = [re.sub(" +", " ", line) for line in told]
    places = [told.index(line) for line in wanted]
    assert places == sorted(places)
    assert {"dma network out: begins", "dma network in: ends", "pending arrived, sent", "irq 1"} <= set(told)


@pytest.mark.parametrize(
    "words, message",
    [
        (["run.events", "--board", "HUB1"], "--board HUB1: there is no such board in the recording; there are NODE0,"),
        (["run.events", "--kind", "circuit"], "--kind circuit: there is no such kind of event; there are packet-start"),
        (["few.events", "--report", "x"], "--report x: few.events lacks the groups CONTROLS, CPU, BOARDS; record with"),
        (["other.events"], "other.events: its header is damaged"),
    ],
)
def test_what_cannot_be_listed_or_made_is_one_line(made, words, message):
    here, _ = made
    whole = (here.folder / "run.events").read_bytes()
    (here.folder / "other.events").write_bytes(whole.replace(b'"ipsc2"', b'"cray2"'))
    if not (here.folder / "few.events").exists():
        here(*RUN, "--record", "few.events")
    before = sorted(path.name for path in here.folder.iterdir())
    assert here.refused("events", *words).startswith(message)
    assert sorted(path.name for path in here.folder.iterdir()) == before


def test_packet_files_are_refused_also_of_a_recording(made):
    here, _ = made
    assert "--pcap: there are no packets on the links" in here.refused(*RUN, "--pcap", "x.pcapng")
    assert "--pcap x.pcapng: run.events: there are no packets on" in here.refused(
        "events", "run.events", "--pcap", "x.pcapng"
    )
    assert not (here.folder / "x.pcapng").exists()
