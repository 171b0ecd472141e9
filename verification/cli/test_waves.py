"""``nectar waves``: what it opens, and what it says when it cannot."""

import pytest

from nectar.verification.cli.test_run import HELLO

#: A viewer that writes down how it was called.
VIEWER = """#!/bin/sh
echo "$PWD" "$@" >> "$CALLS"
"""


@pytest.fixture
def viewers(here, tmp_path, monkeypatch):
    """Makes viewers of those names the only programs on the PATH, with a screen; gives what they write down."""
    calls, folder = tmp_path / "calls", tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CALLS", str(calls))
    monkeypatch.setenv("DISPLAY", ":0")

    def make(*names, text=VIEWER):
        for name in names:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return calls

    return make


def test_gtkwave_opens_the_file_with_its_save_file(here, viewers, tmp_path):
    calls = viewers("gtkwave", "surfer")
    (tmp_path / "w.fst").touch()
    assert here("waves", "w.fst").returncode == 0
    (tmp_path / "w.gtkw").touch()
    assert here("waves", "w.fst").returncode == 0
    assert calls.read_text().splitlines() == [
        f"{tmp_path} {tmp_path}/w.fst",
        f"{tmp_path} {tmp_path}/w.fst {tmp_path}/w.gtkw",
    ]


def test_surfer_is_opened_where_the_names_are(here, viewers, tmp_path):
    calls = viewers("surfer")
    (tmp_path / "w.vcd").touch()
    (tmp_path / "w.names").mkdir()
    assert here("waves", "w.vcd").returncode == 0
    viewers("gtkwave")
    assert here("waves", "w.vcd", "--viewer", "surfer").returncode == 0
    assert calls.read_text().splitlines() == 2 * [f"{tmp_path}/w.names {tmp_path}/w.vcd"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["w.txt"], "w.txt: the name of a waveform file ends in .vcd or .fst"),
        (["no.fst"], "no.fst is not there; 'nectar run PROGRAM.py --waves no.fst' writes it"),
        (["folder.fst"], "folder.fst is no file; 'nectar run PROGRAM.py --waves folder.fst' writes it"),
        (["w.fst"], "no viewer of waveforms is there; install gtkwave or surfer by your system's packages"),
        (
            ["w.fst", "--viewer", "surfer"],
            "no viewer of waveforms is there; install surfer by your system's packages",
        ),
        (["w.fst", "--viewer", "emacs"], "--viewer emacs: viewers are gtkwave and surfer"),
    ],
)
def test_what_cannot_be_opened_is_one_line(here, viewers, tmp_path, arguments, said):
    (tmp_path / "w.fst").touch()
    (tmp_path / "folder.fst").mkdir()
    assert here.refused("waves", *arguments) == said


def test_a_viewer_without_a_screen_is_told(here, viewers, tmp_path, monkeypatch):
    viewers("gtkwave")
    (tmp_path / "w.fst").touch()
    for name in "DISPLAY", "WAYLAND_DISPLAY":
        monkeypatch.delenv(name, raising=False)
    said = "gtkwave needs a screen, but DISPLAY and WAYLAND_DISPLAY are not set; look from a desktop"
    assert here.refused("waves", "w.fst") == said


@pytest.mark.parametrize(
    "text, said",
    [
        (
            "#!/bin/sh\necho 'Could not initialize GTK!' >&2\n",
            "gtkwave ended with exit code 0: Could not initialize GTK!",
        ),
        ("#!/bin/sh\nexit 3\n", "gtkwave ended with exit code 3: it said nothing"),
    ],
)
def test_a_viewer_that_fails_is_told(here, viewers, tmp_path, text, said):
    viewers("gtkwave", text=text)
    (tmp_path / "w.fst").touch()
    assert here.refused("waves", "w.fst") == said


@pytest.mark.parametrize("name", ["w.gtkw", "w.names"])
def test_what_viewers_need_must_be_writable_before_anything_runs(here, tmp_path, name):
    where = tmp_path / name
    where.mkdir() if name == "w.gtkw" else where.touch()
    reason = "it is a directory" if name == "w.gtkw" else "it is no directory"
    assert here.refused("run", here.program(HELLO), "--waves", "w.fst") == f"--waves {name} cannot be written: {reason}"
    assert not (tmp_path / "w.fst").exists()
