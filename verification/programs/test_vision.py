"""examples/vision: the filter against its definition, features, and the same answers on any number of CABs."""

import pytest

from nectar.software import ProgramError
from nectar.software.speedup import Meter, Team
from nectar.verification import seeds
from nectar.verification.software.nectarine.applications import application

from .examples import as_stated, modules, rows, run

SMALL = ("--size", 16, "--frames", 6)
KERNEL = ((1, 2, 1), (0, 0, 0), (-1, -2, -1))


@pytest.fixture(scope="module")
def program():
    with modules("vision/vision") as module:
        yield module


@pytest.fixture(scope="module")
def images():
    with modules("vision/images") as module:
        yield module


def defined(pixels, size, x, y):
    """Both derivatives of a pixel by the definition of the Sobel filter."""
    around = [(i, j, pixels[(y + j) * size + x + i]) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    across = -sum(KERNEL[i + 1][j + 1] * value for i, j, value in around)
    down = -sum(KERNEL[j + 1][i + 1] * value for i, j, value in around)
    return across, down


@pytest.mark.parametrize("seed", range(3))
def test_the_edges_of_a_random_image_are_those_of_the_sobel_filter(seed, images):
    size, draw = 12, seeds.rng(seed)
    pixels = bytes(draw.choices((0, 40, 90, 160, 255), k=size * size))
    for row in range(size):
        found, work = images.edges(pixels, size, row)
        inner = range(1, size - 1) if 0 < row < size - 1 else ()
        derivatives = {x: defined(pixels, size, x, row) for x in inner}
        strengths = {x: abs(a) + abs(d) for x, (a, d) in derivatives.items() if abs(a) + abs(d) >= images.THRESHOLD}
        assert {x: strength for x, (_, strength) in found.items()} == strengths
        assert all(found[x][0] == images.direction_of(*derivatives[x]) for x in found)
        assert work.cycles == len(inner) * images.FILTER.cycles + len(found) * images.DIRECTION.cycles


@pytest.mark.parametrize(
    "bright, direction",
    [(lambda x, y: x > 7, 0), (lambda x, y: y > 7, 1), (lambda x, y: x + y > 15, 2), (lambda x, y: x - y > 0, 3)],
    ids=["upright", "level", "rising", "falling"],
)
def test_an_edge_gives_features_along_it_with_its_direction(bright, direction, images):
    size = 16
    pixels = bytes(200 * bright(x, y) for y in range(size) for x in range(size))
    found, _ = images.features(5, [images.edges(pixels, size, row)[0] for row in range(size)])
    assert len(found) >= 3 and {feature.direction for feature in found} == {direction}
    assert all(feature.frame == 5 and 0 < feature.strength < 256 for feature in found)
    for feature in found:
        around = {bright(feature.x + i, feature.y + j) for i in (-2, 0, 2) for j in (-2, 0, 2)}
        assert around == {True, False}


def test_an_image_without_edges_has_no_features(images):
    assert images.features(0, [images.edges(bytes([90]) * 64, 8, row)[0] for row in range(8)])[0] == []


def test_the_scene_moves(images):
    assert images.image(16, 0) == images.image(16, 0) != images.image(16, 1)


def test_the_answers_are_those_of_a_sequential_program_on_any_number_of_cabs(program):
    """The program compares them."""
    ran = run(program, *SMALL, "--cabs", "1,2,3")
    table = rows(ran.text)
    assert [row.cabs for row in table] == [1, 2, 3] and "24 queries" in ran.text
    assert all(row.speedup <= row.ideal and row.communication > 0 for row in table)
    assert [row.time_ms for row in table] == sorted((row.time_ms for row in table), reverse=True)


def test_more_cabs_than_images_work(program):
    assert rows(run(program, "--size", 8, "--frames", 1, "--cabs", "4").text)[0].cabs == 4


def test_the_queries_ask_for_something_and_not_for_all(program):
    asked = program.queries(32, 8)
    answers, _ = program.sequential(32, 8, asked)
    assert len(asked) == 32 and 10 < sum(map(bool, answers)) and len(set(map(len, answers))) > 5
    assert all(query.wants(feature) for query, answer in zip(asked, answers, strict=True) for feature in answer)


def test_a_store_answers_when_it_has_the_features_of_all_images(program):
    """A query that comes first waits for them; a later one that has all is answered before it."""
    there = [program.Feature(frame, 3, 3, 0, 100 + frame) for frame in range(3)]

    def client(task, names):
        query = program.Query(0, 0, 0, 0, 9, 9, program.DIRECTIONS)
        for number, last in enumerate((2, 0)):
            task.send(names.stores[0], program.QUERY_FORM.pack(*query._replace(last=last), number), program.QUERY)
        for frame in (0, 2, 1):
            assert task.probe(type=0, timeout_us=300) is None
            task.send(names.stores[0], bytes([frame]) + program.packed(there[frame : frame + 1]), program.FEATURES)
        answers = [task.receive() for _ in range(2)]
        task.send(names.stores[0], type=program.OVER)
        return [(answer.type, program.unpacked(answer.data)) for answer in answers]

    with application() as made:
        names = program.Names(Team(("a",), 0), 10)
        meter = Meter(made.system.cab("CAB2"))
        made.spawn(names.stores[0], program.store, meter, names, on="CAB2")
        asked = made.spawn(names.client, client, names, on="CAB1")
        made.go()
    assert asked.result == [(1, there[:1]), (0, there)]
    assert meter.computing_us == 4 * program.LOOK.microseconds


def test_wrong_answers_end_the_program(program, monkeypatch):
    monkeypatch.setattr(program, "unpacked", lambda data: [])
    with pytest.raises(ProgramError, match=r"\d+ of 24 answers are wrong"):
        run(program, *SMALL, "--cabs", "2")


@pytest.mark.parametrize(
    "option, said",
    [
        ("--size=18", "--size must be a multiple of 4 from 8 to 128, not 18"),
        ("--size=4", "--size must be a multiple of 4 from 8 to 128, not 4"),
        ("--frames=0", "--frames must be 1 to 64, not 0"),
        (
            "--size=128 --frames=64",
            "so many images need 1081344 bytes of a CAB's memory; they may have 524288: take fewer",
        ),
    ],
)
def test_wrong_options_are_told(option, said, program):
    with pytest.raises(ProgramError, match=said):
        run(program, *option.split())


@pytest.mark.nightly
def test_the_full_size_on_the_rtl(program):
    as_stated("vision", rows(run(program, topology="hub:16", boards="rtl").text))
