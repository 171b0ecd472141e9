"""The pictures of the documentation: up to date, legible, with words for those who cannot see them, shown on a page."""

import functools
import re
import xml.etree.ElementTree as xml

import pytest

from nectar.verification.imports import ROOT
from nectar.verification.pictures.__main__ import FOLDER, main
from nectar.verification.pictures.catalogue import PICTURES
from nectar.verification.pictures.drawing import PALETTES, Drawing
from nectar.verification.pictures.screenshot import PICTURES as REPORTS

SVG = "{http://www.w3.org/2000/svg}"
#: A time in a sequence chart. It depends on the software's costs and on where edges of clocks fall.
TIME = re.compile(r">(\d+\.\d\d)<")
IMAGE = re.compile(r"!\[([^]]*)\]\(([^)]*pictures/[^)]*\.svg)\)")


@functools.cache
def drawn(name):
    return PICTURES[name]()


def test_each_file_is_a_picture_and_each_picture_a_file():
    assert sorted(path.stem for path in FOLDER.glob("*.svg")) == sorted(PICTURES)
    assert {path.name for path in FOLDER.iterdir() if path.suffix != ".svg"} == REPORTS.keys()
    assert all(drawn(name).name == name for name in PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_script_draws(name):
    """Mend it by ``python -m nectar.verification.pictures`` (docs/howto/book.md). Times may be off by a clock cycle or
    by a hundredth, as numbers in pages may."""
    old, new = (FOLDER / f"{name}.svg").read_text(), drawn(name).svg()
    assert TIME.sub("><", old) == TIME.sub("><", new)
    for one, other in zip(map(float, TIME.findall(old)), map(float, TIME.findall(new)), strict=True):
        assert abs(one - other) <= max(0.07, 0.01 * one)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_read(name):
    assert drawn(name).collisions() == []
    assert drawn(name).width <= 1100, "letters become too small on a page"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_words_for_those_who_cannot_see_it(name):
    root = xml.fromstring(drawn(name).svg())
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text and len(description.text.split()) > 20


def test_each_picture_is_on_a_page_with_its_title_as_text():
    shown = {}
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for text, target in IMAGE.findall(page.read_text()):
            path = (page.parent / target).resolve()
            assert path.parent == FOLDER, f"{page.name}: {target}"
            shown.setdefault(path.stem, set()).add(text)
    assert shown == {name: {drawn(name).title} for name in PICTURES}


def _brightness(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("mode", PALETTES)
def test_words_stand_out_in_light_and_in_dark_mode(mode):
    """Contrast 4.5 to 1, as WCAG asks of small letters."""
    colours = PALETTES[mode]
    pairs = [("ink", "paper"), ("soft", "paper"), ("ink", "box"), ("ink", "data"), ("soft", "data"), ("ink", "command")]
    pairs += [("soft", "command")]
    pairs += [(name, name.removesuffix("-line")) for name in colours if name.endswith("-line")]
    pairs += [(name, "paper") for name in colours if name.endswith("-line")]
    for front, back in pairs:
        low, high = sorted(map(_brightness, (colours[front], colours[back])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, f"{front} on {back}"


def test_both_modes_have_the_same_colours():
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()


def test_words_that_touch_or_leave_the_picture_are_found():
    picture = Drawing("x", "title", "description", 100)
    picture.words(10, 20, "one")
    assert picture.collisions() == []
    picture.words(20, 22, "other")
    picture.words(90, 60, "edge of it")
    assert picture.collisions() == [("other", "one"), ("edge of it", "edge")]


def test_words_cannot_break_the_file():
    picture = Drawing("x", "a < b & c", "d > e", 100)
    picture.words(10, 20, "<&>")
    assert xml.fromstring(picture.svg()).find(f"{SVG}text").text == "<&>"


def test_a_picture_that_is_not_there_is_one_line_of_error(capsys):
    assert main(["block-hub", "block-hob"]) == 2
    out, error = capsys.readouterr()
    assert not out and error.startswith("nectar: block-hob: no such picture; there are block-hub, ")
    assert error.count("\n") == 1
