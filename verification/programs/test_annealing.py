"""examples/annealing: the netlist, the moves, and the same placement on any number of CABs."""

import pytest

from nectar.software import ProgramError
from nectar.verification import seeds

from .examples import as_stated, modules, rows, run

SMALL = ("--rounds", 3, "--moves", 64)


@pytest.fixture(scope="module")
def program():
    with modules("annealing/annealing") as module:
        yield module


def test_the_netlist_is_read_whole(program):
    """225 cells and 258 nets, as its maker counted; pads lie around the grid."""
    netlist = program.Netlist.of_file("arbiter.net")
    assert (len(netlist.cells), len(netlist.nets), netlist.side) == (225, 258, 15)
    assert max(netlist.pins) == 32
    pads = {at for _, around in netlist.nets for at in around}
    assert len(pads) > 50 and all(0 in at or 16 in at for at in pads)


def test_the_cost_of_a_net_is_half_the_perimeter_around_its_pins(program):
    netlist = program.Netlist("# a comment\nl0 l1\n f0 out\nl1 f0\n")
    assert netlist.cells == ["f0", "l0", "l1"] and netlist.pins == [4, 2] and netlist.nets_of == [[0, 1], [0], [0, 1]]
    places = [(1, 1), (2, 2), (2, 1)]
    (pad,) = netlist.nets[0][1]
    assert netlist.cost(1, places) == 1
    assert netlist.cost(0, places) == max(2, pad[0]) - min(1, pad[0]) + max(2, pad[1]) - min(1, pad[1])


@pytest.mark.parametrize("size", [1, 3, 16])
def test_in_each_round_every_place_belongs_to_one_cab(size, program):
    for turn in range(5):
        shares = [program.share(7, turn, index, size, 225) for index in range(size)]
        assert sorted(place for own in shares for place in own) == list(range(225))
        assert min(map(len, shares)) >= 225 // size


def test_moves_change_own_places_only_and_lower_the_cost_when_it_is_cold(program):
    placement = program.Placement(program.Netlist.of_file("arbiter.net"))
    before, grid = placement.cost(), list(placement.grid)
    own = list(range(0, 225, 3))
    made, work = placement.anneal(own, 300, 1e-9, seeds.rng("anneal"))
    assert made and work.cycles > 0
    assert placement.cost() < before
    assert all(placement.grid[place] == grid[place] for place in set(range(225)) - set(own))
    assert sorted(placement.grid) == sorted(grid)
    for a, b in reversed(made):
        placement.exchange(a, b)
    assert placement.grid == grid and placement.cost() == before


def test_all_cabs_arrive_at_the_placement_of_the_sequential_program(program):
    """The program compares them, and the wire length."""
    ran = run(program, *SMALL, "--cabs", "1,2,3,4")
    table = rows(ran.text)
    assert [row.cabs for row in table] == [1, 2, 3, 4]
    assert table[0].speedup == 1.0 and 3.0 < table[3].speedup < 4.0
    begin = int(ran.text.splitlines()[0].rpartition(" ")[2])
    ends = [int(word) for word in ran.text.splitlines()[-1].rpartition(":")[2].split()]
    assert len(ends) == 4 and max(ends) < begin
    assert [ran.results[f"annealing.wires.{row.cabs}"] for row in table] == ends


def test_another_seed_is_another_placement(program):
    ends = {run(program, *SMALL, "--cabs", "2", "--seed", seed).text.splitlines()[-1] for seed in (1, 2)}
    assert len(ends) == 2


def test_a_cab_that_does_not_hear_of_a_move_is_noticed(program, monkeypatch):
    monkeypatch.setattr(program, "gather", lambda task, team, mine: [b""] * team.size)
    with pytest.raises(ProgramError, match="the placement is not that of the sequential program"):
        run(program, *SMALL, "--cabs", "2")


@pytest.mark.parametrize("option", ["--rounds", "--moves"])
def test_no_moves_are_refused(option, program):
    with pytest.raises(ProgramError, match="--rounds and --moves must be 1 at least"):
        run(program, option, 0)


@pytest.mark.nightly
def test_full_size_on_the_rtl(program):
    """The placement is about as good on 16 CABs as on one."""
    ran = run(program, topology="hub:16", boards="rtl")
    as_stated("annealing", rows(ran.text))
    assert ran.results["annealing.wires.16"] < 1.15 * ran.results["annealing.wires.1"]
