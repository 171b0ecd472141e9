"""A network that stands: namespaces, packets, time, what the user is told. Specification: docs/net.md."""

import contextlib
import os
import signal
import subprocess
import time

from ..cli.errors import UsageError
from ..software.node.ip.layout import MTU
from ..software.node.ip.packets import Network
from .carrier import Carrier
from .namespaces import Namespaces

__all__ = ["NAME_VARIABLE", "CommandFailed", "Session"]

#: Names the network for commands that a script of 'nectar net run' starts.
NAME_VARIABLE = "NECTAR_NET"
#: Seconds between two times that the state file is written, and that a script is asked whether it has ended.
_TOLD, _ASKED = 0.5, 0.05


class CommandFailed(UsageError):
    """The script of 'nectar net run' has not ended well. ``status``: the exit code."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status

    def more(self, text):
        """The same with ``text`` behind its message."""
        return CommandFailed(f"{self}{text}", self.status)


class Session:
    """One run of 'nectar net up' or 'nectar net run'.

    Parameters
    ----------
    state : State
    network : str
        As ``10.89.0.0/24``.
    pace : float or None
    command : list of str or None
        What is run when the network stands; None: it stands until it is interrupted.
    """

    def __init__(self, state, network, pace, command):
        self._state, self._network, self._pace, self._command = state, network, pace, command
        self._carrier = None
        self._begun = self._rate = self._due = 0.0
        self._seen_ps = self._bytes = 0  # when the rate was last told, and what had come by then

    async def run(self, system):
        """Carries packets until the command has ended. Raises UsageError, ProgramError."""
        try:
            network = Network({cab.name: cab.id for cab in system.cabs}, self._network)
        except ValueError as error:
            raise UsageError(str(error)) from None
        with Namespaces(self._state, network) as places, _Script(self._command, self._state.name) as child:
            self._carrier = Carrier(system, network, places.descriptors, self._pace)
            self._begun = time.monotonic()
            await self._carrier.run(lambda: all(node.boot for node in system.nodes.values()), _ASKED)
            child.start()
            if self._command is None:
                self._greet(network)

            def over():
                now = time.monotonic()
                if now >= self._due:
                    self._due = now + _TOLD
                    places.tell(self.numbers(system))
                return child.ended()

            await self._carrier.run(over, _ASKED)
            places.tell(self.numbers(system))
        print(self.line(system), flush=True)
        numbers = self.numbers(system)
        system.report("net.sent", numbers["sent"], "packets")
        system.report("net.received", numbers["received"], "packets")
        system.report("net.dropped", sum(numbers["dropped"].values()), "packets", reasons=numbers["dropped"])
        system.report("net.busy_time", round(numbers["busy_s"] * 1e9), "ns")
        child.check()

    def _greet(self, network):
        named = "" if self._state.name == "nectar" else f" --name {self._state.name}"
        for name in network.cabs:
            print(f"{name} {network.address(name)}")
        print(
            f"the network {self._state.name!r} stands, MTU {MTU}. 'nectar net exec{named} {next(iter(network.cabs))} "
            f"-- COMMAND' runs a program there; Ctrl-C, or 'nectar net down{named}', takes it away",
            flush=True,
        )

    # -- what is told --------------------------------------------------------------------------------
    def numbers(self, system):
        """What there is to say of the network, as a dict."""
        carrier = self._carrier
        drivers = {name: driver.counters for name, driver in carrier.drivers.items()}
        stations = {name: station.counters for name, station in carrier.stations.items()}
        received = sum(counters.received_bytes for counters in drivers.values())
        now = carrier.busy_ps
        if now - self._seen_ps >= 10**9:
            self._rate = (received - self._bytes) * 8e6 / (now - self._seen_ps)
            self._seen_ps, self._bytes = now, received
        lost = ("no_route", "no_room", "damaged", "wrong_sum", "malformed")
        kinds = ("ipv6", "malformed", "too_long", "unreachable", "queue_full")
        drops = {f"{name} {kind}": getattr(of, kind) for name, of in drivers.items() for kind in kinds}
        drops |= {f"{name} CAB {kind}": getattr(of, kind) for name, of in stations.items() for kind in lost}
        drops["undelivered"] = carrier.undelivered
        return {
            "simulated_s": system.machine.time_ps / 1e12,
            "seconds": time.monotonic() - self._begun,
            "busy_s": now / 1e12,
            "ratio": carrier.busy_seconds / (now / 1e12) if now else None,
            "pace": self._pace,
            "late_s": carrier.late_seconds,
            "sent": sum(counters.sent for counters in drivers.values()),
            "received": sum(counters.received for counters in drivers.values()),
            "mbit_s": self._rate,
            "dropped": {where: count for where, count in drops.items() if count},
        }

    def line(self, system):
        """The same as one line."""
        return "not yet carrying packets" if self._carrier is None else describe(self.numbers(system))


def describe(numbers):
    """The status line for what ``Session.numbers`` gives."""
    ratio = numbers["ratio"]
    dropped = numbers["dropped"]
    return ", ".join(
        [
            f"{numbers['sent']} packets sent, {numbers['received']} received",
            f"{numbers['mbit_s']:.1f} Mbit/s of simulated time",
            f"{numbers['simulated_s']:.3f} s simulated, {numbers['busy_s']:.3f} s of it busy",
            *([f"a busy second takes {ratio:.0f} s"] if ratio else []),
            *([f"{numbers['late_s']:.1f} s behind --pace"] if numbers["late_s"] > 1 else []),
            f"{sum(dropped.values())} dropped{_reasons(dropped)}",
        ]
    )


def _reasons(dropped):
    words = ", ".join(f"{where.replace('_', ' ')} {count}" for where, count in dropped.items())
    return f" ({words})" if words else ""


class _Script(contextlib.AbstractContextManager):
    """The command of 'nectar net run'. None: it never ends."""

    def __init__(self, command, name):
        self._command, self._name = command, name
        self._process = None

    def start(self):
        """Starts it. Raises UsageError."""
        if self._command is not None:
            try:
                self._process = subprocess.Popen(self._command, env={**os.environ, NAME_VARIABLE: self._name})
            except OSError as error:
                raise UsageError(f"{self._command[0]} cannot be run: {error.strerror}") from None

    def ended(self):
        """Whether it has."""
        return self._process is not None and self._process.poll() is not None

    def check(self):
        """Raises CommandFailed if it has not ended well."""
        status = self._process.returncode
        if status < 0:
            raise CommandFailed(f"{self._command[0]} was ended by {signal.Signals(-status).name}", 128 - status)
        if status:
            raise CommandFailed(f"{self._command[0]} ended with exit code {status}", status)

    def __exit__(self, *error):
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
