"""Tables and plots of the runs of a sweep that have ended."""

import csv
import importlib
import io
import json
import os
import re
from dataclasses import dataclass

from .. import __version__
from ..cache import directory
from ..extras import how_to_get

__all__ = ["Table", "save"]

#: Columns behind the values: of each run, and behind the results.
_OF_RUN, _AT_END = ("repeat", "seed"), ("simulated_ns", "host_s", "error")
#: From this ratio of the largest value to the smallest on, an axis is logarithmic.
_DECADES = 100


@dataclass(frozen=True)
class Table:
    """A table of runs.

    ``values``: names of what was swept. ``results``: the unit, or None, of each column that programs have reported.
    ``rows``: dicts by column, in the order of the sweep; what a run lacks is None.
    """

    values: list
    results: dict
    rows: list

    @classmethod
    def of(cls, names, runs):
        """The table of ``runs``, rows of a Folder; ``names``: what was swept."""
        numbers = {name: all(_number(run["values"][name]) is not None for run in runs) for name in names}
        taken = {*names, *_OF_RUN, *_AT_END}
        results, rows = {}, []
        for run in runs:
            row = {name: _number(text) if numbers[name] else text for name, text in run["values"].items()}
            row |= {name: run[name] for name in _OF_RUN}
            for result in run["results"]:
                column = f"result.{result['id']}" if result["id"] in taken else result["id"]
                results.setdefault(column, result["unit"])
                row[column] = result["value"]
            rows.append(row | {name: run[name] for name in _AT_END})
        columns = [*names, *_OF_RUN, *results, *_AT_END]
        return cls(list(names), results, [{column: row.get(column) for column in columns} for row in rows])

    @property
    def columns(self):
        """Names of all columns, in order."""
        return [*self.values, *_OF_RUN, *self.results, *_AT_END]

    def csv(self):
        """The table as CSV, bytes."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue().encode()

    def json(self):
        """The table as JSON, bytes: the units of its columns, and its rows."""
        units = {column: self.results.get(column) for column in self.columns}
        units |= {"simulated_ns": "ns", "host_s": "s"}
        return (json.dumps({"version": __version__, "columns": units, "rows": self.rows}, indent=1) + "\n").encode()

    def parquet(self):
        """The table as Parquet, bytes; a column with numbers and texts holds texts. Raises ImportError."""
        import pyarrow
        import pyarrow.parquet

        output = io.BytesIO()
        pyarrow.parquet.write_table(
            pyarrow.table({column: _alike([row[column] for row in self.rows]) for column in self.columns}), output
        )
        return output.getvalue()

    def plotted(self):
        """(the column that the plots are drawn over, the columns that tell their lines apart, those to plot). The first
        is None if no swept name has several numbers."""
        several = [name for name in self.values if len({row[name] for row in self.rows}) > 1]
        over = next((name for name in several if all(_is_number(row[name]) for row in self.rows)), None)
        drawn = [name for name in self.results if any(_is_number(row[name]) for row in self.rows)]
        return over, [name for name in several if name != over], [*drawn, "simulated_ns"]

    def plot(self, column):
        """A plot of the column, SVG as bytes: the mean of all repeats, with the least and the greatest."""
        from matplotlib.figure import Figure

        over, others, _ = self.plotted()
        lines = {}
        for row in self.rows:
            if _is_number(row[column]):
                line = lines.setdefault(tuple(row[name] for name in others), {})
                line.setdefault(row[over], []).append(row[column])
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for key, points in lines.items():
            x = sorted(points)
            means = [sum(points[at]) / len(points[at]) for at in x]
            ends = [[mean - min(points[at]) for at, mean in zip(x, means, strict=True)]]
            ends += [[max(points[at]) - mean for at, mean in zip(x, means, strict=True)]]
            label = ", ".join(f"{name} {value}" for name, value in zip(others, key, strict=True))
            axes.errorbar(x, means, yerr=ends, marker="o", markersize=4, capsize=3, label=label or None)
        for values, scale in (
            ([row[over] for row in self.rows], axes.set_xscale),
            ([row[column] for row in self.rows if _is_number(row[column])], axes.set_yscale),
        ):
            if min(values) > 0 and max(values) >= _DECADES * min(values):
                scale("log")
        unit = "ns" if column == "simulated_ns" else self.results[column]
        axes.set_xlabel(over)
        axes.set_ylabel(f"{column}, {unit}" if unit else column)
        axes.grid(alpha=0.3)
        if others and lines:
            axes.legend(frameon=False)
        drawing = io.BytesIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None})
        return drawing.getvalue()


def save(folder, names, missing=False):
    """Writes the tables and plots of the runs in a Folder; ``names``: what was swept; ``missing``: runs are not in it
    yet. Returns lines that say what was written, and what was not, and why."""
    table = Table.of(names, folder.rows)
    lines = [str(folder.save("table.csv", table.csv())), str(folder.save("table.json", table.json()))]
    try:
        lines.append(str(folder.save("table.parquet", table.parquet())))
    except ImportError:
        pass  # whoever wants it has pyarrow
    over, _, columns = table.plotted()
    if over is None:
        if missing:
            return [*lines, "no plots yet: runs are missing"]
        return [*lines, "no plots: no name was swept over several numbers"]
    os.environ.setdefault("MPLCONFIGDIR", str(directory() / "matplotlib"))
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        return [*lines, f"no plots: matplotlib is not installed; {how_to_get('report')}"]
    for column in columns:
        name = re.sub(r"[^\w.+-]", "_", column)
        lines.append(str(folder.save(f"plots/{name}.svg", table.plot(column))))
    return lines


def _number(text):
    """The number that a text is, or None."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _alike(values):
    """Values of one type, for a file that wants them so."""
    kinds = {float if _is_number(value) else type(value) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]
