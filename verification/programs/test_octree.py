"""examples/octree: octrees against voxels one by one, the same solid and picture on any number of CABs."""

from itertools import product

import pytest

from nectar.software import ProgramError
from nectar.verification import seeds

from .examples import as_stated, modules, rows, run


@pytest.fixture(scope="module")
def program():
    with modules("octree/octree") as module:
        yield module


@pytest.fixture(scope="module")
def solids():
    with modules("octree/solids") as module:
        yield module


def filled(tree, corner, size):
    """The voxels of an octree, as a set."""
    if tree == 0:
        return set()
    if tree == 1:
        return {tuple(a + b for a, b in zip(corner, at, strict=True)) for at in product(range(size), repeat=3)}
    half = size // 2
    found = set()
    for place, part in enumerate(tree):
        bits = place & 1, place >> 1 & 1, place >> 2
        found |= filled(part, tuple(at + half * bit for at, bit in zip(corner, bits, strict=True)), half)
    return found


def inside(program, shape, voxel):
    """Whether the centre of a voxel lies in a shape, by the shape's definition."""
    centre = [2 * at + 1 for at in voxel]
    if isinstance(shape, program.Ball):
        return sum((a - b) ** 2 for a, b in zip(centre, shape.centre, strict=True)) <= shape.radius**2
    return all(low <= at < high for low, at, high in zip(shape.low, centre, shape.high, strict=True))


def test_the_united_octree_has_the_voxels_of_both_solids_and_the_picture_the_nearest_of_them(program):
    size, tally = 16, program.Tally()
    tree, tile = program.modelled(size, (0, 0, 0), size, tally)
    expected = {
        voxel
        for voxel in product(range(size), repeat=3)
        for solid in program.solids(size)
        if any(inside(program, shape, voxel) for shape in solid.added)
        and not any(inside(program, shape, voxel) for shape in solid.removed)
    }
    assert filled(tree, (0, 0, 0), size) == expected
    depths = [
        min((z for z in range(size) if (x, y, z) in expected), default=program.NOTHING)
        for y, x in product(range(size), repeat=2)
    ]
    assert list(tile) == depths and 0 < depths.count(program.NOTHING) < size * size
    assert tally.balls > tally.boxes > 0 and tally.nodes > 1000 and tally.pixels > 0


def drawn(draw, depth):
    """A random octree in which eight equal leaves are one."""
    if not depth or draw.random() < 0.3:
        return draw.randint(0, 1)
    parts = tuple(drawn(draw, depth - 1) for _ in range(8))
    return parts[0] if parts in ((0,) * 8, (1,) * 8) else parts


@pytest.mark.parametrize("seed", range(5))
def test_random_octrees_are_united_and_packed_right(seed, solids):
    draw, tally = seeds.rng(seed), solids.Tally()
    one, other = drawn(draw, 3), drawn(draw, 3)
    both = solids.unite(one, other, tally)
    assert filled(both, (0, 0, 0), 8) == filled(one, (0, 0, 0), 8) | filled(other, (0, 0, 0), 8)
    for tree in (one, other, both):
        assert solids.unpack(solids.pack(tree, tally), tally) == tree
    assert solids.unite(both, one, tally) == both


def test_eight_equal_leaves_become_one(solids):
    half = (1, 1, 1, 1, 0, 0, 0, 0)
    assert solids.unite(half, half[::-1], solids.Tally()) == 1


@pytest.mark.parametrize("level", [0, 1, 2])
def test_solid_and_picture_are_those_of_one_cpu_on_any_number_of_cabs(level, program):
    """The program compares them."""
    table = rows(run(program, "--size", 16, "--level", level, "--cabs", "1,2,3").text)
    assert [row.cabs for row in table] == [1, 2, 3]
    assert all(row.speedup <= row.ideal and row.communication > 0 for row in table)
    assert (table[2].speedup > table[0].speedup) == (level > 0)


def test_a_picture_is_written_as_a_grey_map(program, tmp_path):
    file = tmp_path / "solid.pgm"
    said = run(program, "--size", 16, "--cabs", "2", "--picture", file).text
    head, pixels = file.read_bytes()[:13], file.read_bytes()[13:]
    assert head == b"P5\n16 16\n255\n" and len(pixels) == 256
    assert f"{256 - pixels.count(0)} pixels show the solid" in said
    tally = program.Tally()
    _, tile = program.modelled(16, (0, 0, 0), 16, tally)
    order = sorted(zip(tile, pixels, strict=True))
    assert [grey for _, grey in order] == sorted(pixels, reverse=True), "the nearer, the brighter"
    with pytest.raises(ProgramError, match="--picture .*: No such file or directory"):
        run(program, "--size", 8, "--cabs", "1", "--picture", tmp_path / "none" / "solid.pgm")


def test_a_wrong_picture_or_solid_ends_the_program(program, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(program, "nearest", lambda *_: None)
        with pytest.raises(ProgramError, match=r"the solid is wrong: [1-9]\d* pixels differ"):
            run(program, "--size", 8, "--cabs", "2")
    monkeypatch.setattr(program, "assembled", lambda *_: 0)
    with pytest.raises(ProgramError, match="the solid is wrong: 0 pixels differ"):
        run(program, "--size", 8, "--cabs", "2")


@pytest.mark.parametrize(
    "option, said",
    [
        ("--size=24", "--size must be a power of two from 8 to 128, not 24"),
        ("--size=256", "--size must be a power of two from 8 to 128, not 256"),
        ("--level=4", "--level must be 0 to 3, not 4"),
    ],
)
def test_wrong_options_are_told(option, said, program):
    with pytest.raises(ProgramError, match=said):
        run(program, option)


@pytest.mark.nightly
def test_the_full_size_on_the_rtl(program):
    as_stated("octree", rows(run(program, topology="hub:16", boards="rtl").text))
