"""The book: its contents name every page, docstrings are read as they are meant, and ``make docs`` builds it."""

import importlib.util
import re
import subprocess

import pytest

from nectar.verification.imports import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def book():
    """The extension of Sphinx."""
    spec = importlib.util.spec_from_file_location("book", DOCS / "book.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_contents_name_every_page_once(book):
    named = [page for _, pages in book.sections((DOCS / "index.md").read_text()) for page in pages]
    there = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(named) == sorted(set(there) - {"index"})


def test_the_contents_have_their_sections(book):
    headings = [heading for heading, _ in book.sections((DOCS / "index.md").read_text())]
    assert headings == ["Tutorial", "How to", "Specification", "Reference", "Results"]


def test_every_module_for_users_has_its_place_in_the_reference(book):
    pages = book.packages()
    assert pages["nectar.hdl.hub"][:2] == ["nectar.hdl.hub", "nectar.hdl.hub.bundles"]
    modules = [module for found in pages.values() for module in found]
    for name in ("nectar.sim.engine", "nectar.software.door", "nectar.verification.harness.fiber"):
        assert modules.count(name) == 1
    assert len(modules) == len(set(modules)) > 200
    assert book.REPEATED <= set(modules)
    assert not [module for module in modules if "test_" in module], "tests need what the book does not install"


@pytest.mark.parametrize(
    "text, mended",
    [
        (
            ["Members", "-------", "a : In(1)", "    One.", "", "A paragraph.", "", "Timing", "------", "Now."],
            ["Members", "-------", "a : In(1)", "    One.", "", "", "A paragraph.", "", "Timing", "------", "Now."],
        ),
        (
            ["Parameters", "----------", "a, b,", "c : int", "    Three."],
            ["Parameters", "----------", "a, b, c : int", "    Three."],
        ),
        (
            ["Members", "-------", "a : In(1), b : Out(2)", "    Two."],
            ["Members", "-------", "a, b : In(1), Out(2)", "    Two."],
        ),
        (
            ["Parameters", "----------", "a : int", "", "b", "    Two."],
            ["Parameters", "----------", "a : int", "", "b", "    Two."],
        ),
        (["Before : it", "", "Timing", "------", "a, b,", "c : d"], None),
    ],
)
def test_docstrings_are_read_as_they_are_meant(book, text, mended):
    lines = list(text)
    book._mend_sections(None, "class", "name", None, None, lines)
    assert lines == (text if mended is None else mended)


@pytest.mark.nightly
def test_make_docs_builds_the_book():
    """Without a warning; with each picture within its pages, each package, and a search that needs no server."""
    done = subprocess.run(["make", "--no-print-directory", "docs"], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "build/docs/index.html: the book"
    site = ROOT / "build" / "docs"
    timing = (site / "timing.html").read_text()
    assert timing.count('class="picture" role="img"') == 6 and "<img" not in timing
    member = (site / "reference" / "nectar.hdl.hub.html").read_text()
    assert re.search(r"<strong>hub_id</strong> \(<em>In\(8\)</em>\)", member)
    assert '"nectar.hdl.hub.crossbar":' in (site / "searchindex.js").read_text()
    assert 'src="searchindex.js"' in (site / "search.html").read_text(), "a script, which a browser reads from files"
    links = re.findall(r'(?:href|src)="([^"#?]+)', (site / "index.html").read_text())
    assert len(links) > 60
    for link in links:
        assert "://" in link or link.startswith("data:") or (site / link).exists(), link
    assert not [link for link in re.findall(r'src="([^"]+)', timing) if "://" in link], "a script from elsewhere"
    changed = subprocess.run(
        ["git", "status", "--porcelain", "docs"], cwd=ROOT, text=True, capture_output=True, check=True
    )
    assert not [line for line in changed.stdout.splitlines() if "reference" in line or "pictures" in line]
