"""The examples as the tests run them: briefly."""

from pathlib import Path

__all__ = ["EXAMPLES", "PROGRAMS"]

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
_SMALL = ["--topology", "hub:2"]
#: Path of an example → the command that runs it; options and arguments with which it does not take long.
PROGRAMS = {
    "annealing/annealing": (["run", *_SMALL], ["--rounds", "2", "--moves", "16", "--cabs", "2"]),
    "fft/fft1d": (["run", *_SMALL], ["--points", "64", "--cabs", "2"]),
    "fft/fft2d": (["run", *_SMALL], ["--order", "8", "--cabs", "2"]),
    "hub_monitor": (["run"], []),
    "message_time": (["run"], ["--size", "1024"]),
    "mpi_pi": (["mpirun", "-n", "2", *_SMALL], ["10"]),
    "node_files": (["run"], []),
    "nx_matrix": (["run"], []),
    "octree/octree": (["run", *_SMALL], ["--size", "8", "--level", "1", "--cabs", "2"]),
    "production/production": (["run", *_SMALL], ["queens", "--size", "3", "--cabs", "2"]),
    "request": (["run"], []),
    "send_file": (["run"], ["LICENSE"]),
    "sockets": (["run"], ["1"]),
    "stream": (["run"], ["--kbytes", "20"]),
    "transactions/transactions": (["run", *_SMALL], ["--transfers", "2", "--accounts", "8", "--cabs", "2"]),
    "vision/vision": (["run", *_SMALL], ["--size", "16", "--frames", "2", "--cabs", "2"]),
}
