"""The report: its data, and the page as a browser shows it."""

import base64
import gzip
import json
import re
import shutil
import subprocess

import pytest

from nectar.verification.views.recordings import large, traffic
from nectar.views.message import STAGES
from nectar.views.report import page
from nectar.views.spans import Spans

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed: 'apt-get install chromium' (docs/recording.md)"
)


def data_of(text):
    """What is packed into a page."""
    packed = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.S)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.fixture(scope="module")
def shown():
    with traffic() as recording:
        spans = Spans(recording)
        return spans, page(spans, title="a <program>")


def test_the_page_needs_nothing_else(shown):
    _, text = shown
    code = re.sub(r'<script id="data".*?</script>', "", text, flags=re.S)
    assert "<title>a &lt;program&gt;</title>" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']|@import|fetch\(|XMLHttpRequest""", code)
    assert set(re.findall(r"https?://[^\"' )]*", code)) <= {"http://www.w3.org/2000/svg"}


def test_the_page_holds_all_slices_and_messages(shown):
    spans, text = shown
    data = data_of(text)
    assert [len(track["begin"]) for track in data["tracks"]] == [len(track.begins) for track in spans.tracks]
    for track, packed in zip(spans.tracks, data["tracks"]):
        begin, begins = 0, []
        for step in packed["begin"]:
            begin += step
            begins.append(begin)
        assert begins == track.begins.tolist()
        assert [a + b for a, b in zip(begins, packed["length"])] == track.ends.tolist()
    messages = data["messages"]
    assert {len(values) for values in messages.values()} == {len(spans.messages)}
    for place, message in enumerate(spans.messages):
        if messages["stages"][place]:
            assert dict(zip(STAGES, messages["stages"][place])) == message.stages()
    assert sum(row[2] for row in data["matrix"]) == len(spans.messages)
    assert len(data["summary"]) == 5 and data["complete"] and not data["dropped"]


def browse(tmp_path, text, script="", seconds=60):
    """The page's elements after ``script`` has run in a browser, and what the browser's console said."""
    file = tmp_path / "page.html"
    then = (
        "<script>const wait = setInterval(() => { if (!document.body.dataset.ready) return; clearInterval(wait); "
        f"{script} }}, 20);</script>"
    )
    file.write_text(text.replace("</body>", then + "</body>"))
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,900", "--virtual-time-budget=10000",
            "--dump-dom", file.as_uri(),
        ],
        text=True, capture_output=True, timeout=seconds, check=False,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_chromium
def test_a_browser_shows_it_and_a_click_on_a_message_shows_its_way(shown, tmp_path):
    spans, text = shown
    script = (
        "showView('messages'); document.querySelector('tr[data-message=\"0\"]').click();"
        "document.body.dataset.steps = document.querySelectorAll('#way li').length;"
        "showView('timeline'); look(0, run.end / 50); drawTimeline();"
    )
    shows, console = browse(tmp_path, text, script)
    assert not console
    assert 'data-ready="yes"' in shows and "3 HUBs" not in shows
    first = spans.messages[0]
    assert f'data-steps="{len(first.path)}"' in shows
    assert f"<h2>{'request'} 1: {first.board} to {first.destination}</h2>" in shows
    assert shows.count("<tr data-message=") == len(spans.messages)
    assert len(re.findall("<li>", shows.partition('<ol id="summary">')[2].partition("</ol>")[0])) == 5
    assert shows.count('class="fiber"') == len(spans.recording.fibers) // 2


@needs_chromium
def test_a_search_finds_labels_and_goes_to_them(shown, tmp_path):
    spans, text = shown
    script = "byId('search').value = 'close all'; search(); go(1);"
    shows, console = browse(tmp_path, text, script)
    count = sum("close all" in spans.labels[label] for track in spans.tracks for label in track.labels)
    assert not console and f'<span id="hits">1 of {count}</span>' in shows and count


@pytest.mark.nightly
@needs_chromium
def test_a_page_of_a_hundred_thousand_events_opens(tmp_path):
    """Some 14,300 packets with seven events each; zoomed out, busy shares are drawn instead of slices."""
    recorder = large(14_300)
    with recorder.recording() as recording:
        spans = Spans(recording)
        text = page(spans, title="large")
    recorder.close()
    script = "for (const part of [2, 10, 1000]) { look(0, run.end / part); drawTimeline(); }"
    shows, console = browse(tmp_path, text, script)
    assert not console and 'data-ready="yes"' in shows and "14300 messages" in shows
