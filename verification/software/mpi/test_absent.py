"""What mpi4py has and this MPI has not: it says so by its name. docs/mpi.md, "What there is"."""

import ast
import re

import pytest

from nectar.software.mpi import MPI
from nectar.verification.software.mpi.suite import sources


def _names(body):
    """Names that the statements of a stub define."""
    for each in body:
        if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, (ast.AnnAssign, ast.Assign)):
            targets = [each.target] if isinstance(each, ast.AnnAssign) else each.targets
            yield from (target.id for target in targets)


@pytest.mark.usefixtures("source_distribution")
def test_every_name_of_mpi4py_is_there_or_says_that_it_is_not():
    """The names are those of mpi4py's own list, MPI.pyi, in its source distribution."""
    stub = ast.parse((sources().parent / "src" / "mpi4py" / "MPI.pyi").read_text())
    checked = 0
    for name in _names(stub.body):
        if name.startswith("_"):
            continue
        try:
            assert getattr(MPI, name) is not None
        except NotImplementedError as error:
            assert str(error).startswith(f"MPI.{name} is not there")
        checked += 1
    of_instances = {"buffer": {"obj", "readonly"}}
    for kind in stub.body:
        if isinstance(kind, ast.ClassDef) and hasattr(MPI, kind.name):
            missing = {name for name in _names(kind.body) if not hasattr(getattr(MPI, kind.name), name)}
            assert {name for name in missing if not name.startswith("__")} <= of_instances.get(kind.name, set())
    assert checked > 350 and all(hasattr(MPI.buffer(b"1"), name) for name in of_instances["buffer"])


@pytest.mark.parametrize("name", ["Datatype.Pack", "Datatype.Unpack", "Datatype.Get_attr", "Comm.Revoke", "Comm.Join"])
def test_a_method_that_is_not_there_says_so(name):
    kind, _, method = name.partition(".")
    with pytest.raises(NotImplementedError, match=f"^{re.escape(name)} is not there"):
        getattr(getattr(MPI, kind), method)(None)
