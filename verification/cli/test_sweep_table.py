"""The table of a sweep (docs/sweep.md): what is plotted of it, and Parquet."""

import sys
import types

from nectar.sweep.table import Table


def _rows(*sizes):
    return [
        {
            "number": number,
            "values": {"size": size, "kind": "a"},
            "repeat": 1,
            "seed": 1,
            "results": [{"id": "got", "value": int(size), "unit": "us", "ok": None}],
            "simulated_ns": 1.0,
            "host_s": 0.5,
            "error": None,
        }
        for number, size in enumerate(sizes)
    ]


def test_what_is_plotted():
    """A line for each group over the first name that has several numbers."""
    rows = _rows("1", "2")
    assert Table.of(["size", "kind"], rows).plotted() == ("size", [], ["got", "simulated_ns"])
    rows[1]["values"]["kind"] = "b"
    assert Table.of(["size", "kind"], rows).plotted() == ("size", ["kind"], ["got", "simulated_ns"])
    assert Table.of(["size", "kind"], _rows("1")).plotted()[0] is None


def test_the_table_is_written_as_parquet_where_pyarrow_is(monkeypatch):
    written = []
    pyarrow = types.ModuleType("pyarrow")
    pyarrow.table = dict
    pyarrow.parquet = types.ModuleType("pyarrow.parquet")
    pyarrow.parquet.write_table = lambda table, output: (written.append(table), output.write(b"PAR1"))
    monkeypatch.setitem(sys.modules, "pyarrow", pyarrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", pyarrow.parquet)
    rows = _rows("1", "2")
    rows[1]["results"][0]["value"] = "two"
    assert Table.of(["size", "kind"], rows).parquet() == b"PAR1"
    assert written[0]["size"] == [1, 2] and written[0]["got"] == ["1", "two"], "one type a column"
