"""The table of where the time of a run goes."""

from nectar.verification.times import main, parts, table

CASE = (
    '<testcase classname="verification.{name}" name="test_x" time="{time}"><properties>'
    '<property name="processor_seconds" value="{took}"/><property name="build_seconds" value="{build}"/>'
    "</properties></testcase>"
)


def report(folder, name, *cases):
    path = folder / name
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_runs_and_builds_are_summed_by_folder_and_the_longest_come_first(tmp_path, capsys):
    old = report(tmp_path, "old.xml", CASE.format(name="hub.test_hub", time=99, took=60, build=20))
    new = report(
        tmp_path,
        "new.xml",
        CASE.format(name="cab.test_cab", time=9, took=3, build=1),
        CASE.format(name="hub.test_hub", time=50, took=30, build=10),
        CASE.format(name="hub.port.test_head", time=9, took=5, build=0),
        '<testcase classname="verification.test_house" name="test_y" time="1.5"/>',
    )
    assert {name: (part.number, part.run, part.build) for name, part in parts(new).items()} == {
        "cab": (1, 2, 1),
        "hub": (2, 25, 10),
        "test_house": (1, 1.5, 0),
    }
    assert main([str(new), "--before", str(old)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "| part | tests before | run, s before | build, s before | tests | run, s | build, s |",
        "|---|---|---|---|---|---|---|",
        "| `hub` | 1 | 40 | 20 | 2 | 25 | 10 |",
        "| `cab` | 0 | 0 | 0 | 1 | 2 | 1 |",
        "| `test_house` | 0 | 0 | 0 | 1 | 2 | 0 |",
        "| in all | 1 | 40 | 20 | 4 | 28 | 11 |",
    ]


def test_what_is_short_is_summed_up(tmp_path):
    cases = [CASE.format(name=f"x{n}.test_x", time=1, took=100 - n, build=0) for n in range(20)]
    lines = table(parts(report(tmp_path, "r.xml", *cases)))
    assert lines[-2:] == ["| all others | 6 | 501 | 0 |", "| in all | 20 | 1810 | 0 |"] and len(lines) == 2 + 14 + 2


def test_what_is_no_report_is_one_line(tmp_path, capsys):
    (tmp_path / "no.xml").write_text("nothing")
    assert main([str(tmp_path / "no.xml")]) == main([str(tmp_path / "missing.xml")]) == 2
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()] == ["times", "times"]
