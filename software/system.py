"""A system of CABs with their software on a machine: spawn tasks, run them.

Plain data come in: names, IDs and routes. Which machine (simulated RTL, cocotb, model) is no concern of this module.
"""

from ..hdl.cab.addresses import REGIONS
from .cab import Cab
from .computers import Computers
from .costs import PROTOTYPE
from .datalink.map import Map
from .datalink.options import Options
from .datalink.routes import Plan, Table, check
from .errors import NodeStopped, ProgramError
from .faultlist import FaultList
from .kernel.kernel import checked
from .kernel.plain import as_coroutine
from .kernel.thread import words
from .machine import Capability, node_name, require
from .node.node import Node

__all__ = ["System"]


class System(Computers):
    """All CABs of a machine.

    What it has in common with the systems of other machines is in Computers.

    Parameters
    ----------
    machine : Machine
        Has a door for each CAB whose software runs here.
    ids : dict of str → int
        ID on the network of each CAB, 0 to 254. Those for which the machine has no door have their software elsewhere,
        if any.
    routes : dict of str → dict of str → list of (hub ID, output port), or dict of str → Table
        For each CAB, and each CAB that it may send to, the hops; both by name. Raises RoutingCycle if these could wait
        in a circle. None: each CAB explores the network when it starts, and its tasks begin when it has its routes.
    memory_bytes : int
        Data memory of each CAB.
    costs : Costs
    options : Options
        Times of the datalink.
    limit_ps : int or None
        Simulated time at which whatever runs is stopped, in picoseconds.
    seed : int
        What faults on demand are drawn from.

    Members
    -------
    results : list of dict
        What was reported.
    faults : FaultList
        What is to go wrong, see docs/faults.md.
    on_restart : callable(Cab) or None
        Called with a CAB that starts again after it was stopped.
    layers : list of callable(Cab)
        Called with each CAB that starts again, before ``on_restart``: software above this one puts itself there.
    topology, profile
        What ``of`` was given, for programs that ask; None without it.
    """

    word = "CAB"

    def __init__(
        self,
        machine,
        ids,
        routes,
        *,
        memory_bytes=REGIONS["data"].size,
        costs=PROTOTYPE,
        options=Options(),
        limit_ps=None,
        seed=1,
    ):
        if len(set(ids.values())) != len(ids):
            raise ValueError("every CAB needs an ID of its own")
        super().__init__(machine, limit_ps)
        tables = {
            name: table if isinstance(table, Table) else Table({ids[other]: hops for other, hops in table.items()})
            for name, table in (routes or {}).items()
        }
        self._explores = routes is None
        self._ids = dict(ids)
        order = check(tables.values())
        for table in tables.values():
            table.order = table.order or order
        self._nodes = {}  # CAB's name -> Node
        self.on_restart = None
        self.faults = FaultList(machine, self._stop, self._restart, seed)
        self._boots = dict.fromkeys(ids, 0)  # how often each CAB has started
        self._make = lambda name: Cab(
            name,
            ids[name],
            machine.doors[name],
            tables.get(name, Table({})),
            memory_bytes,
            costs,
            options,
            self._boots[name],
            Capability.NODES in machine.capabilities and node_name(name) in machine.nodes,
            self._ids,
        )
        for name in ids:
            if name in machine.doors:
                self._start(name)
        for name, cab in self._cabs.items():
            if cab.port is not None:
                self._start_node(name)

    @classmethod
    def of(cls, machine, topology, profile=None, *, routes="given", **options):
        """The system of a topology (``nectar.sim.topology``) on a machine made for it; ``options`` as above.

        ``routes``: where each CAB's table comes from: ``"given"``, computed from the topology, or ``"discovered"`` by
        the CAB."""
        if routes not in ("given", "discovered"):
            raise ValueError(f"routes are 'given' or 'discovered', not {routes!r}")
        for fiber in topology.fibers:
            if fiber.a.port is None and fiber.b.port is None:
                raise ProgramError(
                    f"{topology.name}: {fiber.a} is wired to {fiber.b}, but CABs find each other "
                    "through HUBs only: put a HUB between them"
                )
        ids = {name: board.id for name, board in topology.cabs.items()}
        tables = None
        if routes == "given":
            plan = Plan(Map.of(topology))
            tables = {name: plan.table(number) for name, number in ids.items() if number in plan.chart.cabs}
        system = cls(machine, ids, tables, **options)
        system.topology, system.profile = topology, profile
        return system

    # -- CABs that start, stop and start again -------------------------------------------------------
    def _start(self, name):
        """Gives a CAB its software."""
        self._boots[name] += 1
        cab = self._cabs[name] = self._make(name)
        cab.kernel.on_end = self._on_end
        cab.kernel.on_fail = self._on_fail
        if self._explores:
            cab.kernel.spawn(cab.datalink.discovery.start, name="exploring")
        self.machine.start(name, cab.kernel.main())
        return cab

    def _start_node(self, name):
        """Gives the node of a CAB its software."""
        called = node_name(name)
        node = self._nodes[name] = Node(
            called,
            self.machine.nodes[called],
            names=self._ids,
            check_memory=lambda: require(self.machine, Capability.MEMORY),
        )

        def spawned(thread, daemon):
            (self._daemons if daemon else self._tasks)[thread] = node
            if not self._runs and self.time_ns > 0:
                self.machine.wake(called)

        node.on_spawn = spawned
        node.kernel.on_end = self._on_end
        node.kernel.on_fail = self._on_fail
        self.machine.start(called, node.kernel.main())

    def stop_node(self, name):
        """Ends all software of the node of a CAB where it stands; its VME interface is silent from then on. Nothing
        if that has happened already."""
        node = self.node(name)
        node.kernel.on_end = node.kernel.on_fail = None
        for thread in self._forget(node):
            what = words(thread.name, "process")
            thread.stopped(NodeStopped(f"{node.name} was stopped at {self._time()} while {what} ran on it"))
        self.machine.stop(node.name)
        node.close()

    def _stop(self, name):
        if not super()._stop(name):
            return False
        if name in self._nodes:
            self._nodes[name].shared.fail()
            self.machine.wake(node_name(name))
        return True

    def _restart(self, name):
        """Gives a stopped CAB new software."""
        self._stopped.discard(name)
        if name in self._nodes:
            self._nodes[name].shared.recover()
        self.machine.restart(name)
        cab = self._start(name)
        for layer in self.layers:
            layer(cab)
        if self.on_restart is not None:
            self.on_restart(cab)

    # -- what there is -------------------------------------------------------------------------------
    def _missing(self, name):
        return f"the software of {name} does not run here" if name in self._ids else super()._missing(name)

    def node(self, name):
        """The Node behind the CAB of that name; ProgramError if it has none, CapabilityError if none could have one."""
        if name not in self._nodes:
            cab = self.cab(name)
            require(self.machine, Capability.NODES)
            raise ProgramError(f"{cab.name} has no node; name it in the program's NODES")
        return self._nodes[name]

    @property
    def nodes(self):
        """The nodes, by the names of their CABs: dict of str → Node."""
        return dict(self._nodes)

    def id_of(self, name):
        """The ID on the network of the CAB of that name, whose software may be elsewhere."""
        return self._ids[name] if name in self._ids else self.cab(name).id

    @property
    def received(self):
        """See Computers."""
        return super().received[0], sum(cab.stream.counters.bytes_received for cab in self.cabs)

    # -- tasks ---------------------------------------------------------------------------------------
    def _thread(self, cab, task, args, name, protected):
        if self._explores:
            name = name or getattr(task, "__name__", None)
            task, args = _when_routed, (checked(task), *args)
        return cab.spawn(task, *args, name=name, protected=protected)

    def _computers(self):
        """All that run software: CABs and nodes."""
        return [*self._cabs.values(), *self._nodes.values()]

    def close(self):
        """Ends all software and frees the machine. May be called twice."""
        super().close()
        for node in self._nodes.values():
            node.close()


async def _when_routed(cab, task, *args):
    """A task that begins when its CAB knows the network."""
    await cab.datalink.discovery.ready()
    return await as_coroutine(task, cab, *args)
