"""The engine: boards of a topology, run at speed by the C++ core, for software that comes from outside.

It knows nothing of what the software is. Whoever runs it is told when the software of some CAB must run (a *turn*) and
answers with the operations of ``docs/door.md``, as numbers. ``docs/engine.md`` describes time, fibers and sleep.
"""

import ctypes
import functools
import os
import struct
from types import MappingProxyType

from . import core
from .host import SHARED_NS, check_memory, cores
from .machines import machine_of
from .numbers import OPERATION_WORDS, Code, FaultWord, SymbolClass, Word
from .recorder import place_names
from .wave_views import names_of
from .waves import WaveFile
from .wiring import TopologyError

__all__ = ["Engine", "check_waves"]

_FOREVER = 2**63 - 1
#: Packs so many words of operations, as many as most turns have.
_MOST = 64 * OPERATION_WORDS
_PACKED = [struct.Struct(f"{count}q") for count in range(_MOST)]
_LOW = 2**63 - 1  # of a number that is too large, what counts for any access
# Looked up once: enumerations are slow, and these are wanted at every turn.
_PAUSE = int(Code.PAUSE)
_UNTIL, _WORDS, _BYTES, _NUMBER = map(int, (Word.UNTIL, Word.WORDS, Word.BYTES, Word.NUMBER))


def check_waves(machine, kinds, recorded):
    """Raises ValueError if one of the boards to be ``recorded`` has no waveforms."""
    for name in sorted(recorded):
        if machine.is_fast(kinds[name]):
            raise ValueError(f"{name} is a fast board, which has no waveforms; record RTL boards only")


class _Records:
    """What the core has recorded, for a Recorder."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle

    def take(self):
        """The records since the last call, as bytes."""
        library, handle = self._library, self._handle
        data = ctypes.string_at(library.nectar_records(handle), library.nectar_records_size(handle))
        library.nectar_records_clear(handle)
        return data

    def shut(self):
        """From here on events are only counted."""
        self._library.nectar_records_close(self._handle)

    @property
    def dropped(self):
        """That count."""
        return self._library.nectar_records_dropped(self._handle)


class Engine:
    """The boards and fibers of a topology.

    Parameters
    ----------
    topology : Topology
        What is wired to what.
    profile : Profile or None
        Clocks and symbol time; None for the one that the machine has first.
    nodes : dict of str → str
        For each CAB that has a node behind its VME bus (docs/nodes.md), what the node is called.
    boards : str
        ``rtl``, or ``fast``: boards written in C++, which show the same at their pins (docs/engine.md).
    rtl : iterable of str
        Names of boards that are RTL nevertheless.
    sleep : bool
        Whether boards that have nothing to do are left out; what is simulated does not depend on it.
    threads : int or None
        Threads that evaluate boards, at most as many as there are processor cores; None for all cores, as soon as this
        pays. What is simulated does not depend on it.
    recorder : Recorder or None
        What takes the events (docs/recording.md).
    waves : path or None
        File for waveforms, ``.vcd`` or ``.fst``.
    wave_boards : list of str or None
        Names of the boards in it; None for all.
    wave_window : (int, int) or None
        Simulated time in picoseconds from which and up to which they are recorded; None for all.
    wave_limit : int or None
        Bytes of VCD after which recording ends, whatever the file's format; None for no limit.
    wave_views : bool
        Whether a save file and names for viewers are written beside it (``sim.wave_views``).

    Members
    -------
    boards : list of str
        Names of all boards.
    cpus : list of str
        Those of all boards, and behind them for each board its node's, or None; a turn's BOARD is an index into it.
    exchange : memoryview of int
        After ``run``: whose turn it is and what goes with it, at the Words (``sim.numbers``) BOARD to TIME_PS.

    Raises BuildError, TopologyError, ValueError.
    """

    def __init__(
        self,
        topology,
        profile=None,
        *,
        nodes=MappingProxyType({}),
        boards="rtl",
        rtl=(),
        sleep=True,
        threads=None,
        recorder=None,
        waves=None,
        wave_boards=None,
        wave_window=None,
        wave_limit=None,
        wave_views=False,
    ):
        topology.check()
        machine = machine_of(topology)
        profile = profile or machine.profile
        check_memory(topology)
        if threads is not None and not 1 <= threads <= cores():
            raise ValueError(f"there are {cores()} processor cores for threads, not {threads}; give 1 to that many")
        self._handle = self._waves = self._full_ps = None
        self.boards = topology.boards
        self.cpus = place_names(topology, nodes)
        self._recorder = recorder
        self._index = {name: index for index, name in enumerate(self.cpus)}
        self._nodes = frozenset(nodes)
        for name in self._nodes - topology.computers.keys():
            raise ValueError(f"there is no board {name!r} to have a node; there are {', '.join(topology.computers)}")
        self._kinds = machine.kinds(topology, profile, nodes, boards, rtl)
        recorded = set() if waves is None else set(self.boards) if wave_boards is None else set(wave_boards)
        for name in recorded - set(self.boards):
            raise ValueError(f"there is no board {name!r} to record; there are {', '.join(self.boards)}")
        if waves is not None and not recorded:
            raise ValueError("waveforms of no board at all were asked for; name one, or leave wave_boards out")
        check_waves(machine, self._kinds, recorded)
        begin, end = wave_window or (0, _FOREVER)
        if not 0 <= begin < end:
            raise ValueError(
                f"a window of waveforms begins at 0 or later and ends after it begins, not {begin} to {end} ps"
            )
        self._library = library = machine.library(topology, profile, self._kinds, waves is not None)
        self._handle = library.nectar_new(sleep)
        try:
            self._wire(machine, topology, profile, nodes, recorded)
            library.nectar_use_threads(self._handle, threads or cores(), threads is None, SHARED_NS)
            if waves is not None:
                self._waves = WaveFile(waves, wave_views)
                if not library.nectar_trace(
                    self._handle, os.fsencode(self._waves.temporary), begin, end, wave_limit or _FOREVER
                ):
                    raise self._waves.refused()
        except BaseException:
            self._free()
            raise

    def _wire(self, machine, topology, profile, nodes, recorded):
        """Puts boards and links into the engine."""
        library, handle = self._library, self._handle
        for board in machine.boards(topology, profile):
            library.nectar_add(
                handle,
                self._kinds[board.name].encode(),
                board.name.encode(),
                board.id,
                board.period_ps,
                board.phase_ps,
                board.name in recorded,
            )
        links = machine.links(topology, profile)
        for link in links:
            ends = [(self._index[board], port) for board, port in (link.a, link.b)]
            if not library.nectar_connect(handle, *ends[0], *ends[1], link.symbol_ps, link.delay_ps):
                raise TopologyError(
                    f"{topology.origin}: fiber {' - '.join(link.names)}: a symbol every {link.symbol_ps / 1000:g} ns "
                    "is faster than a board's clock, or the fiber has no length; give it a longer symbol_ns or a delay"
                )
        self._held_off = machine.held_off
        self._fibers = [ends for link in links for ends in (link.names, link.names[::-1])]
        recorder = self._recorder
        library.nectar_begin(handle, 0 if recorder is None else int(recorder.groups))
        if recorder is not None:
            recorder.begin(topology, profile, nodes=nodes, skew_ps=max(link.symbol_ps for link in links))
            recorder.source = _Records(library, handle)
        self.exchange = memoryview(library.nectar_exchange(handle).contents).cast("B").cast("q")
        self.go = functools.partial(library.nectar_run, ctypes.c_void_p(handle))
        self._word_room = self._data_room = 0
        self._reserve(1024, 4096)

    # -- running -------------------------------------------------------------------------------------
    def start(self, cab, handler=False):
        """Software for CAB ``cab``, or for the node of that name, is there; its first turn comes at the CAB's next
        clock edge after reset.

        ``handler`` tells whether it has an interrupt handler already.
        """
        self._library.nectar_start(self._opened(), self._index[cab], handler)

    def wake(self, cab):
        """Ends a wait of the software of CAB or node ``cab``, at its next clock edge or when it comes to wait."""
        self._library.nectar_wake(self._opened(), self._index[cab])

    def run(self, until_ps=None):
        """Runs until software must run (``exchange`` tells whose), simulated time is ``until_ps``, or all is quiet.
        Who calls it at each turn may set UNTIL of ``exchange`` and call ``go()``, and ``pause()`` behind PAUSE.

        Returns a Code (as int). After RESUME and INTERRUPT ``answer`` or ``halt`` must come before the next ``run``.
        Clock edges at ``until_ps`` itself are not done.
        """
        self.exchange[_UNTIL] = _FOREVER if until_ps is None else until_ps
        code = self.go()
        if code == _PAUSE:
            self.pause()
        return code

    def pause(self):
        """What is due after PAUSE: what has been recorded is written."""
        if self._recorder is not None:
            self._recorder.flush()

    def attach(self, board, handler, first=()):
        """Whether the software of a CPU (an index) has an interrupt handler. ``first``: operations that each interrupt
        begins with, tuples (kind, address, size, value) without bytes, the last of them one that is awaited: the
        software's first turn is the RESUME behind it then, else it is INTERRUPT."""
        words = [word for operation in first for word in operation]
        self._library.nectar_attach(
            self._opened(), board, handler, (ctypes.c_int64 * len(words))(*words), len(words) // OPERATION_WORDS
        )

    def answer(self, words):
        """What the software has left when it was its turn: of each operation kind, address, size, value."""
        count = len(words)
        self.exchange[_WORDS] = count
        try:
            if count < _MOST:
                _PACKED[count].pack_into(self._words, 0, *words)
            else:
                self._reserve(count, 0)
                struct.pack_into(f"{count}q", self._words, 0, *words)
        except struct.error:  # large numbers
            struct.pack_into(f"{count}q", self._words, 0, *(word & _LOW for word in words))

    def answer_blocks(self, data):
        """Besides, the bytes of all blocks, in which the value of a block is its place."""
        size = len(data)
        if size > self._data_room:
            self._reserve(0, size)
        self._data[:size] = data
        self.exchange[_BYTES] = size

    def halt(self, board):
        """The software of a CPU (an index) whose turn it is has come to an end; its CPU stands still from here on."""
        self._library.nectar_halt(self._opened(), board)

    def bytes(self, length):
        """What a level gets whose RESULT is BYTES, with this LENGTH."""
        if length <= self._data_room:
            return self._data[:length].tobytes()
        return ctypes.string_at(self.exchange[_NUMBER], length)

    def fault(self):
        """What has gone wrong, after FAULT."""
        return ctypes.string_at(self.exchange[Word.NUMBER]).decode()

    # -- faults (docs/faults.md) ---------------------------------------------------------------------
    def add_fault(
        self,
        ends,
        harm,
        of=SymbolClass.SYMBOL,
        *,
        key=0,
        threshold=None,
        nth=1,
        times=1,
        length=1,
        begin_ps=0,
        end_ps=None,
        delay_ps=0,
    ):
        """Puts a fault on the direction ``ends`` of a fiber: (sending end, receiving end). Returns what ``fault_end``
        and ``fault_count`` want.

        ``key``: of its random numbers; ``threshold``: the rate times 2**53, None: by place.
        """
        fiber = self._fibers.index(tuple(ends))
        words = {
            FaultWord.KEY: key - (key >> 63 << 64),
            FaultWord.THRESHOLD: -1 if threshold is None else threshold,
            FaultWord.NTH: nth,
            FaultWord.TIMES: times,
            FaultWord.LENGTH: length,
            FaultWord.FROM: begin_ps,
            FaultWord.UNTIL: _FOREVER if end_ps is None else end_ps,
            FaultWord.DELAY: delay_ps,
        }
        told = core.FaultWords(*map(words.get, FaultWord))
        return fiber, self._library.nectar_fault(self._opened(), fiber, harm, of, told)

    def fault_end(self, fault, time_ps):
        """Ends a fault at ``time_ps``, if it does not end before."""
        self._library.nectar_fault_end(self._opened(), *fault, time_ps)

    def fault_count(self, fault):
        """(how often a fault has struck, how many symbols it has hit)."""
        return self._library.nectar_fault_hits(self._opened(), *fault), self._library.nectar_fault_symbols(
            self._opened(), *fault
        )

    def stop(self, cab):
        """The CPU of CAB or node ``cab`` stands still from its next edge on. Not while its software has a turn."""
        self._library.nectar_stop(self._opened(), self._index[cab])

    def reset(self, board):
        """Resets ``board`` for four clock edges; a CAB's CPU has no software then. Not while software has a turn."""
        self._library.nectar_reset(self._opened(), self._index[board])

    def inject(self, hub, symbols):
        """Has ``hub`` take in ``symbols`` at a port without fiber. False: it has none."""
        return bool(
            self._library.nectar_inject(
                self._opened(), self._index[hub], (ctypes.c_uint16 * len(symbols))(*symbols), len(symbols)
            )
        )

    def skip(self, time_ps):
        """Simulated time goes on to ``time_ps`` while all is quiet."""
        self._library.nectar_pass(self._opened(), time_ps)

    # -- looking -------------------------------------------------------------------------------------
    @property
    def time_ps(self):
        """Simulated time in picoseconds."""
        return self._time_ps if self._handle is None else self.exchange[Word.TIME_PS]

    def _opened(self):
        if self._handle is None:
            raise RuntimeError("this engine is closed; make a new one")
        return self._handle

    def cycles(self, board):
        """(clock edges at which ``board`` was evaluated, edges that it slept through) so far."""
        library, handle, index = self._library, self._opened(), self._index[board]
        return library.nectar_evaluated(handle, index), library.nectar_skipped(handle, index)

    def napped(self, board):
        """Clock edges at which ``board`` was evaluated later than at their time, in naps."""
        return self._library.nectar_napped(self._opened(), self._index[board])

    @property
    def core_seconds(self):
        """Host time that the C++ core has taken so far: fibers, boards and processors without any Python."""
        return self._library.nectar_seconds(self._opened())

    @property
    def threads(self):
        """How many threads evaluate boards now."""
        return self._library.nectar_threads(self._opened())

    def cost_ns(self, board):
        """What an evaluation of ``board`` costs in the mean, in nanoseconds of the host's time."""
        return self._library.nectar_cost(self._opened(), self._index[board])

    def costs_ns(self):
        """What all evaluations so far have cost, in nanoseconds of the host's time: {threads: time}, as measured for 1,
        as it would be for 2, 4, 8 and 16 that wait for nothing but the last board of each edge."""
        return dict(zip((1, 2, 4, 8, 16), self._library.nectar_costs(self._opened()).contents, strict=True))

    @property
    def fibers(self):
        """(sending end, receiving end) of each direction of each fiber."""
        return list(self._fibers)

    def symbols(self):
        """{(sending end, receiving end): symbols sent so far} of all fibers; links of lines have none."""
        fibers = enumerate(self._fibers if self._held_off else ())
        return {ends: self._library.nectar_symbols(self._opened(), index) for index, ends in fibers}

    @property
    def waves_full_ps(self):
        """Simulated time in picoseconds at which ``wave_limit`` has ended the recording; None if it has not."""
        if self._handle is None or self._waves is None:
            return self._full_ps
        time_ps = self._library.nectar_trace_full(self._handle)
        return None if time_ps < 0 else time_ps

    @property
    def waves_written(self):
        """While ``close`` makes an FST file, how much of it is made, from 0 to 1; else None. For any thread."""
        return self._waves and self._waves.written

    def value_names(self, kind):
        """Names of values in a kind of board: {"module.signal": {value: name}} of each state of an FSM and each signal
        of an enumeration; ``cab``, ``vmecab``, ``hub16`` are kinds."""
        return names_of(self._library.nectar_value_names(kind.encode()).decode())

    def close(self):
        """Finishes the recording and the waveform file, and frees the boards. May be called twice."""
        if self._handle is None:
            return
        self._time_ps = self.time_ps
        self._full_ps = self.waves_full_ps
        try:
            if self._recorder is not None:
                self._recorder.end(self._time_ps)
        finally:
            self._finish()

    def _finish(self):
        """The waveform file, and the boards."""
        try:
            if self._waves is not None:
                error = self._library.nectar_trace_close(self._handle)
                first_ps = self._library.nectar_trace_first(self._handle)
                self._waves.finish(self._library, error, self.value_names, first_ps)
        finally:
            self._free()

    def _free(self):
        self._library.nectar_free(self._handle)
        self._handle = self._words = self._data = None
        self.exchange = memoryview(bytearray(8 * len(Word))).cast("q")
        self.go = self._refuse

    def _refuse(self, *arguments):
        self._opened()

    def _reserve(self, words, size):
        """Makes room for so many words of operations and bytes of data."""
        if words > self._word_room:
            self._word_room = max(words, 2 * self._word_room)
            address = self._library.nectar_words(self._handle, self._word_room)
            self._words = memoryview((ctypes.c_int64 * self._word_room).from_address(address)).cast("B")
        if size > self._data_room:
            self._data_room = max(size, 2 * self._data_room)
            address = self._library.nectar_data(self._handle, self._data_room)
            self._data = memoryview((ctypes.c_uint8 * self._data_room).from_address(address)).cast("B")
