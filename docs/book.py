"""Extension of Sphinx for the book: the contents from ``index.md``, pages for the modules, pictures within the pages.

Pages are plain Markdown that can be read without Sphinx. What only the built book has is made here.
"""

import re
from pathlib import Path

from nectar.verification.imports import HOUSE

DOCS = Path(__file__).resolve().parent
#: Folder of the pages that are made from docstrings; not under version control.
REFERENCE = "reference"
#: Section of ``index.md`` that the reference belongs to.
REFERENCE_SECTION = "Reference"
#: Folders of the source whose modules are for users.
PUBLIC = ("hdl", "sim", "software", "verification/harness")
#: Modules whose names are all described in other modules, too, and modules that bear the name of a function.
REPEATED = {"nectar.software.mpi.MPI", "nectar.sim.machines.machine", "nectar.verification.harness.ports"}
_SECTION = re.compile(r"^## (.*)$", re.M)
_ITEM = re.compile(r"^- \[[^]]*\]\(([^)]+)\.md\)", re.M)


# -- contents --------------------------------------------------------------------------------------------
def sections(text):
    """[(heading, pages that its list links to, without suffix)] of ``index.md``."""
    _, *parts = _SECTION.split(text)
    return [(heading, _ITEM.findall(body)) for heading, body in zip(parts[::2], parts[1::2])]


def _add_contents(app, name, source):
    """The lists of the first page, once more for the side bar."""
    if name == app.config.root_doc:
        for heading, pages in sections(source[0]):
            if heading == REFERENCE_SECTION:
                pages = [*pages, f"{REFERENCE}/index"]
            lines = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{lines}\n```\n"


# -- pages for the modules -------------------------------------------------------------------------------
def packages():
    """{package: its modules, itself first} of what is for users."""
    found = {}
    for folder in PUBLIC:
        top, *rest = folder.split("/")
        for path in sorted((DOCS.parent / folder).rglob("*.py")):
            if path.name.startswith("test_"):
                continue
            parts = path.relative_to(DOCS.parent / top).with_suffix("").parts
            package = ".".join([HOUSE[top], *parts[:-1]])
            module = package if parts[-1] == "__init__" else f"{package}.{parts[-1]}"
            found.setdefault(package, []).append(module)
    return {package: sorted(modules, key=lambda name: (name != package, name)) for package, modules in found.items()}


def _heading(text, line):
    return [text, line * len(text), ""]


def _write(path, lines):
    """Writes a page unless it is there already: Sphinx reads again what is new."""
    text = "\n".join(lines)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def _write_reference(app):
    """A page for each package, from docstrings."""
    folder = DOCS / REFERENCE
    folder.mkdir(exist_ok=True)
    pages = packages()
    for package, modules in pages.items():
        lines = _heading(package, "=")
        for module in modules:
            if module != package:
                lines += _heading(module.rpartition(".")[2], "-")
            lines += [f".. automodule:: {module}", *(["   :no-index:"] if module in REPEATED else []), ""]
        _write(folder / f"{package}.rst", lines)
    for old in folder.glob("*.rst"):
        if old.stem not in pages.keys() | {"index"}:
            old.unlink()
    text = "The packages for users, from the docstrings of their modules, classes and functions."
    tree = [".. toctree::", "   :maxdepth: 1", "", *(f"   {package}" for package in pages), ""]
    _write(folder / "index.rst", [*_heading("Packages", "="), text, "", *tree])


def _is_item(lines, number):
    """Whether a line of a section names something, and is no plain paragraph."""
    line, below = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
    return " : " in line or below.startswith(" ")


def _mend_sections(app, what, name, thing, options, lines):
    """What Sphinx would read otherwise: a section ends before a paragraph that is not indented, names may stand on two
    lines, and ``a : In(1), b : In(2)`` are two members."""
    inside, number = False, 0
    while number < len(lines):
        line = lines[number]
        if number and re.fullmatch("-{4,}", line):
            inside = lines[number - 1] in ("Parameters", "Members")
        elif inside and line.endswith((" :", ",")) and not line.startswith(" "):
            lines[number : number + 2] = [f"{line} {lines[number + 1]}"]
            continue
        elif inside and not line.startswith(" ") and line.count(" : ") > 1:
            items = [item.split(" : ") for item in re.split(r", (?=\w+ : )", line)]
            lines[number] = " : ".join(", ".join(column) for column in zip(*items))
        elif inside and line and not line.startswith(" ") and not lines[number - 1] and not _is_item(lines, number):
            if number + 1 == len(lines) or not re.fullmatch("-{4,}", lines[number + 1]):
                lines.insert(number, "")
                inside, number = False, number + 1
        number += 1


# -- pictures --------------------------------------------------------------------------------------------
def _put_pictures_in(app, tree, name):
    """Pictures become part of the page: so they follow its light or dark mode, and their words can be read aloud."""
    from docutils import nodes  # which is there where Sphinx is

    if app.builder.format != "html":
        return
    for image in list(tree.findall(nodes.image)):
        if image["uri"].endswith(".svg"):
            svg = (DOCS / image["uri"]).read_text()
            image.replace_self(nodes.raw("", f'<span class="pictured">{svg}</span>', format="html"))


def setup(app):
    """What Sphinx calls."""
    app.connect("builder-inited", _write_reference)
    app.connect("source-read", _add_contents)
    app.connect("autodoc-process-docstring", _mend_sections, priority=400)  # before the sections are read
    app.connect("doctree-resolved", _put_pictures_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
