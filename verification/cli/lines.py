"""Serial lines at which no board is: something else answers, or they are pulled. And a program for boards that says
which CABs it has."""

import os
import select
import threading
import tty

from nectar.hdl.host.numbers import ANSWER, VERSION, Answer, header
from nectar.software.backends.cable.words import frame

__all__ = ["PROGRAM", "Cable", "Line", "identity"]

PROGRAM = "TOPOLOGY = 'hub:2'\nasync def main(system, arguments):\n    print(*(cab.name for cab in system.cabs))\n"


class Line:
    """A line of one's own: ``answer`` makes of each piece that comes what is answered."""

    def __init__(self, answer):
        self.answer = answer
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.slave = slave
        self.path = os.ttyname(slave)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            if select.select([self.master], [], [], 0.05)[0]:
                os.write(self.master, self.answer(os.read(self.master, 4096)))

    def __enter__(self):
        self.thread.start()
        return self.path

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()
        os.close(self.master)
        os.close(self.slave)


class Cable(Line):
    """A line that passes on what another carries, until it is pulled."""

    def __init__(self, path):
        super().__init__(None)
        self.far = os.open(path, os.O_RDWR | os.O_NOCTTY)

    def run(self):
        ways = {self.far: self.master, self.master: self.far}
        while not self.ended.is_set():
            for source in select.select(list(ways), [], [], 0.05)[0]:
                os.write(ways[source], os.read(source, 4096))

    def pull(self):
        self.ended.set()
        self.thread.join()
        os.close(self.master)

    def __exit__(self, *error):
        os.close(self.slave)
        os.close(self.far)


def identity(*words, version=VERSION):
    """What answers IDENTIFY."""

    def answer(data):
        number = data.split(b"\x7e")[1].replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")[2]
        return frame([header(ANSWER, number, Answer.IDENTITY) + (version - VERSION << 16), *words])

    return answer
