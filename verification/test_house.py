"""The rules of the house: where files are, what they may import, what is packaged and pinned."""

import ast
import functools
import importlib.metadata
import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nectar.verification.imports import HOUSE, ROOT, imported, tree

NOT_OURS = {".git", ".venv", "build", "__pycache__", ".pytest_cache", ".hypothesis", ".ruff_cache"}
#: Modules of numbers, which software, tests and documents read without the hardware library.
PLAIN = (
    "hdl/link/symbol.py",
    "hdl/link/code4b5b.py",
    "hdl/hub/commands.py",
    "hdl/hub/profile.py",
    "hdl/hub/monitor_map.py",
    "hdl/cab/addresses.py",
    "hdl/cab/fields.py",
    "hdl/cab/kernel_registers.py",
    "hdl/cab/timer_registers.py",
    "hdl/host/numbers.py",
    "hdl/host/events.py",
    "hdl/cab/regions.py",
    "hdl/ipsc2/formats.py",
    "hdl/ipsc2/node/registers.py",
    "hdl/cab/vme/numbers.py",
    "hdl/cab/vme/registers.py",
)
#: Private names of other objects that ``software/`` uses, by file: names, and why they cannot be public.
FRIENDS = {
    "software/kernel/user.py": (
        {"_target", "_message", "_kernels"},
        "public names of a Gate and of a UserMessage are what a protected task sees",
    ),
    "software/node/sockets/process.py": ({"_shutdown"}, "Python itself calls it at the end of a program"),
}
#: Names with an underscore that Python documents as public: those of a named tuple.
TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
MOST_LINES = 450
LONGEST_LINE = 120


@functools.cache
def _files():
    """All files of the project, but for what was made."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not name.endswith(".egg-info")]
        found += (Path(folder, name) for name in files if name not in NOT_OURS)
    return sorted(found)


def _modules(folder=None):
    return [
        path for path in _files() if path.suffix == ".py" and (folder is None or path.is_relative_to(ROOT / folder))
    ]


def _name(path):
    return path.relative_to(ROOT).as_posix()


def _imported(path, *prefixes):
    """What ``path`` imports of the packages ``prefixes``."""
    return sorted(
        {name for name in imported(path) for prefix in prefixes if name == prefix or name.startswith(f"{prefix}.")}
    )


def _components(path):
    """Class definitions in ``path`` that are hardware."""
    return [
        node
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
        and node.name != "HubPart"
        and any(ast.unparse(base) in ("wiring.Component", "Component", "HubPart") for base in node.bases)
    ]


HARDWARE = [path for path in _modules("hdl") if _components(path)]


def _pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_there_is_hardware_to_look_at():
    assert len(HARDWARE) > 5


def test_every_component_has_its_bench_at_the_mirrored_path():
    wrong = []
    for path in HARDWARE:
        bench = ROOT / "verification" / path.relative_to(ROOT / "hdl").with_name(f"test_{path.name}")
        if not bench.is_file():
            wrong.append(f"{_name(path)} needs a bench {_name(bench)}")
        elif "cocotb" not in " ".join(imported(bench)):
            wrong.append(f"{_name(bench)} simulates nothing")
    assert not wrong


def test_every_component_says_what_its_members_and_its_timing_are():
    wrong = [
        f"{_name(path)}: the docstring of {component.name} has no part {heading!r}"
        for path in HARDWARE
        for component in _components(path)
        for heading in ("Members", "Timing")
        if heading not in (ast.get_docstring(component) or "")
    ]
    assert not wrong


def _is_signal(node):
    """Whether it makes a signal."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("Signal", "Signal.like")


def _nameless(node):
    """Lines on which a signal is made that Amaranth finds no name for: it takes that of the variable, if the signal
    alone is assigned to one."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        made = [item for item in node.value.elts if _is_signal(item)]
    elif isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        made = [node.elt]
    elif isinstance(node, ast.DictComp):
        made = [node.value]
    elif isinstance(node, ast.IfExp):
        made = [node.body, node.orelse]
    else:
        made = []
    for item in made:
        if _is_signal(item) and (
            isinstance(node, ast.Assign) or not any(keyword.arg == "name" for keyword in item.keywords)
        ):
            yield item.lineno


def test_each_signal_has_a_name():
    """One made in ``a, b = Signal(), Signal()`` has none in waveforms, in netlists and for faults of proofs."""
    wrong = [
        f"{_name(path)}:{line}" for path in _modules("hdl") for node in ast.walk(tree(path)) for line in _nameless(node)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "code, lines",
    [
        ("a, b = Signal(), 1", [1]),
        ("a, b = 1, Signal.like(c)", [1]),
        ("a = [Signal() for _ in b]", [1]),
        ("a = {b: Signal(8) for b in c}", [1]),
        ("a = Signal() if b else 0", [1]),
        ("a = Signal()", []),
        ("a, b = (Signal(name=c) for c in d)", []),
        ("a = Signal(name='a') if b else 0", []),
    ],
)
def test_the_rule_finds_signals_without_a_name(code, lines):
    assert [line for node in ast.walk(ast.parse(code)) for line in _nameless(node)] == lines


def test_hardware_uses_no_old_idiom_and_no_simulator():
    """``from __future__`` breaks components (docs/traps.md)."""
    old = re.compile(r"\bRecord\(|\breset=|\bElaboratable\b|from amaranth import \*")
    wrong = {
        _name(path): found
        for path in _modules("hdl")
        if (
            found := [
                *_imported(
                    path,
                    "__future__",
                    "nectar.sim",
                    "nectar.software",
                    "nectar.verification",
                    "nectar.cli",
                    "cocotb",
                    "amaranth.sim",
                    "amaranth.lib.coding",
                    "amaranth.hdl.rec",
                    "amaranth.hdl.Memory",
                    "amaranth.hdl.Record",
                ),
                *old.findall(path.read_text()),
            ]
        )
    }
    assert not wrong


def test_numbers_of_the_specification_need_no_hardware_library():
    assert not {
        name: found
        for name in PLAIN
        if (found := _imported(ROOT / name, "amaranth", "nectar.hdl.verilog", "nectar.sim", "nectar.software"))
    }


def _is_plain(module):
    """Whether it holds numbers of the specification, or is a package that does."""
    return any(
        plain.removesuffix(".py").startswith(module) or module.startswith(plain.removesuffix(".py")) for plain in PLAIN
    )


def test_software_sees_hardware_only_through_the_door():
    wrong = {}
    for path in _modules("software"):
        if "backends" not in path.parts:
            banned = ["amaranth", "cocotb", "nectar.sim", "nectar.verification", "nectar.software.backends", "ctypes"]
            if "mpi" in path.parts:  # memory of the program's own, by address
                banned.remove("ctypes")
            found = _imported(path, *banned)
            found += [
                name
                for name in _imported(path, "nectar.hdl")
                if not _is_plain(name.removeprefix("nectar.").replace(".", "/"))
            ]
            if found:
                wrong[_name(path)] = found
    assert not wrong


def test_the_simulator_knows_neither_software_nor_boards():
    others = ("nectar.software", "nectar.verification", "nectar.cli", "nectar.boards", "cocotb")
    assert not {_name(path): found for path in _modules("sim") if (found := _imported(path, *others))}


def test_tests_and_examples_import_as_a_user_would():
    """Not from another folder relatively, nor by a folder's own name."""
    tests = [path for path in _modules("verification") if path.name.startswith("test_")]
    wrong = [
        f"{_name(path)}:{node.lineno}"
        for path in [*_modules("examples"), *tests]
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        and (node.level > 1 or not node.level and node.module.split(".")[0] in HOUSE.keys() - {"nectar"})
    ]
    assert not wrong


def _is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in TUPLES


def _defined(component):
    """The names that a class gives its objects: methods, class attributes, slots, what is stored through ``self``."""
    names = set()
    for node in component.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            names |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    for node in ast.walk(component):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    return names


def _reaches(node, own=frozenset()):
    """Where ``node`` uses a private name of another object: (line, code). ``own``: names of the class around it, which
    it may use of its other objects too. A module's private names are imported nowhere."""
    if isinstance(node, ast.ClassDef):
        own = _defined(node)
    elif isinstance(node, ast.Attribute):
        if (
            _is_private(node.attr)
            and node.attr not in own
            and ast.unparse(node.value) not in ("self", "cls", "super()")
        ):
            yield node.lineno, ast.unparse(node)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.lineno, alias.name) for alias in node.names if _is_private(alias.name))
    for child in ast.iter_child_nodes(node):
        yield from _reaches(child, own)


def test_no_object_of_the_software_reaches_into_another():
    found, used = [], set()
    for path in _modules("software"):
        names, _ = FRIENDS.get(_name(path), (set(), ""))
        for line, code in _reaches(tree(path)):
            attribute = code.rpartition(".")[2]
            if attribute in names:
                used.add((_name(path), attribute))
            else:
                found.append(f"{_name(path)}:{line}: {code}")
    assert not found
    assert used == {(name, each) for name, (names, _) in FRIENDS.items() for each in names}


@pytest.mark.parametrize(
    "code, lines",
    [
        ("thing._name = 1", [1]),
        ("def f(thing):\n    return thing.other._name", [2]),
        ("class A:\n    def f(self, thing):\n        self.x = thing._name", [3]),
        ("class A:\n    def f(self):\n        return self.other._name", [3]),
        ("class A:\n    __slots__ = ('_name',)\n\nclass B:\n    def f(self, a):\n        a._name += 1", [6]),
        ("from .other import _name", [1]),
        ("class A:\n    def f(self, other):\n        self._name = 1\n        return other._name", []),
        ("class A:\n    __slots__ = ('_name',)\n\n    def f(self, other):\n        return other._name", []),
        ("class A(B):\n    def _f(self):\n        super()._g()\n        self._h()", []),
        ("row._replace(a=1)", []),
        ("thing.__class__", []),
    ],
)
def test_the_rule_finds_what_reaches_into_another_object(code, lines):
    assert [line for line, _ in _reaches(ast.parse(code))] == lines


def test_every_module_opens_by_saying_what_it_is():
    assert not [_name(path) for path in _modules() if not ast.get_docstring(tree(path)) and path.read_text().strip()]


def test_no_file_is_too_long():
    long = {
        _name(path): count
        for path in _files()
        if path.suffix in (".py", ".cpp", ".h", ".md") and (count := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert not long


@pytest.mark.parametrize("words", [["check"], ["format", "--check"]], ids=" ".join)
def test_ruff_has_nothing_to_say(words):
    """CONTRIBUTING.md tells how to have it mend what it finds."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, "--no-cache", "--quiet", "."],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_line_of_code_is_too_long():
    """In bytes, as tools count that know no UTF-8."""
    wrong = [
        f"{_name(path)}:{number}: {len(line.encode())} bytes"
        for path in _files()
        if path.suffix in (".py", ".cpp", ".h") or path.name in ("Makefile", "pyproject.toml")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line.encode()) > LONGEST_LINE
    ]
    assert not wrong


def test_no_file_names_a_place_on_one_machine():
    place = re.compile(r"/(?:work|home|root|Users)/\w")
    found = [
        f"{_name(path)}:{number}: {line.strip()}"
        for path in _files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if place.search(line)
    ]
    assert not found


def test_every_package_is_installed():
    settings = _pyproject()["tool"]["setuptools"]
    folders = {package: folder for folder, package in HOUSE.items()}
    assert {
        package: folder for package, folder in settings["package-dir"].items() if package != "nectar.cli"
    } == folders
    needed = set()
    for path in _modules():
        parts = path.relative_to(ROOT).parts
        tests = re.match(r"test_|conftest", path.name) or path.name == "__init__.py" and len(parts) > 2
        if parts[0] in HOUSE and not tests:
            needed.add(".".join([HOUSE[parts[0]], *parts[1:-1]]))
    assert needed <= set(settings["packages"])
    for package in settings["packages"]:
        top = max((name for name in folders if f"{package}.".startswith(f"{name}.")), key=len)
        assert ROOT.joinpath(folders[top], *package.removeprefix(top).split("."), "__init__.py").is_file(), package


def test_every_data_file_is_installed():
    data = _pyproject()["tool"]["setuptools"]["package-data"]
    for folder, package in HOUSE.items():
        covered = {path for pattern in data.get(package, ()) for path in (ROOT / folder).glob(pattern)}
        for path in _files():
            if folder != "verification" and path.is_relative_to(ROOT / folder) and path.suffix != ".py":
                assert path in covered, f"{_name(path)} is not in package-data of {package}"


def _canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_installed_is_pinned():
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    pins = {_canonical(name): version for name, version in pins.items()}
    for item in importlib.metadata.distributions():
        name = _canonical(item.name)
        if name != "nectar-backplane":
            assert pins.get(name) == item.version, f"{item.name} {item.version} is not what constraints.txt pins"


def test_nothing_tells_to_install_this_project_by_a_name_that_is_another_ones():
    """On PyPI, nectar is another project."""
    assert _pyproject()["project"]["name"] == "nectar-backplane"
    found = [
        f"{_name(path)}: {line.strip()}"
        for path in _files()
        if path.suffix in (".py", ".md", "") and path != Path(__file__).resolve()
        for line in path.read_text().splitlines()
        if re.search(r"pip install (-\S+ )*['\"]?nectar\b", line)
    ]
    assert not found


def test_every_dependency_is_pinned_and_has_its_reason_beside_it():
    pins = (ROOT / "constraints.txt").read_text().lower()
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    project = _pyproject()["project"]
    for requirement in [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]:
        line = next(line for line in lines if f'"{requirement}"' in line)
        assert re.search(r"# \w", line), f"{requirement}: no reason"
        assert f"{re.match(r'[A-Za-z0-9_-]+', requirement)[0]}==".lower() in pins


def test_make_targets_are_phony_and_each_is_told_of():
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    assert phony == targets
    readme = (ROOT / "README.md").read_text()
    for target in targets:
        assert f"make {target}" in readme, f"README.md does not tell of 'make {target}'"
