"""Makes the virtual environment of a checkout: ``python3 nectar/install.py FOLDER [EXTRA ...]``, which make calls.

It installs what the command ``nectar`` needs, or what extras of pyproject.toml bring, at the versions of
constraints.txt; and the checkout itself, so that changes in it count at once. It runs under whatever Python there is,
and says so if that is too old: nothing in this file may need a new one.
"""

import os
import subprocess
import sys
import threading
import time

NEEDED = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Seconds between two words on how far it is: on a terminal, where they are one line; elsewhere, doubled up to the last
#: number.
PAUSE = 0.5, 10.0, 60.0


def refuse(text):
    """Ends the program with one line and exit code 2."""
    sys.stderr.write("nectar: %s\n" % text)
    sys.exit(2)


def check():
    """Refuses a Python that will not do, before anything is installed."""
    if sys.version_info < NEEDED:
        refuse(
            "Python %d.%d or newer is needed, and %s is Python %d.%d; "
            "install one, and name it: make PYTHON=python3.12 ..."
            % (NEEDED + (sys.executable,) + tuple(sys.version_info[:2]))
        )
    try:
        import ensurepip  # noqa: F401  (Debian has it in a package of its own)
        import venv  # noqa: F401
    except ImportError:
        refuse("Python's own module 'venv' is not installed; Debian and Ubuntu have it in the package python3-venv")


class Telling:
    """Says on the standard error, from time to time, what is under way: ``what``, and for how long."""

    def __init__(self, what):
        self.what = what
        self.detail = ""
        self._terminal = sys.stderr.isatty()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.daemon = True

    def _say(self, seconds):
        text = "nectar: %s, %d s%s" % (self.what, seconds, self.detail and ": " + self.detail)
        sys.stderr.write("\r\033[K%s" % text[:79] if self._terminal else text + "\n")
        sys.stderr.flush()

    def _run(self):
        begun = time.time()
        pause, following = 2, PAUSE[not self._terminal]
        while not self._done.wait(pause):
            self._say(time.time() - begun)
            pause, following = following, following if self._terminal else min(2 * following, PAUSE[2])

    def __enter__(self):
        sys.stderr.write("nectar: %s\n" % self.what)
        sys.stderr.flush()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._done.set()
        self._thread.join()
        if self._terminal:
            sys.stderr.write("\r\033[K")


def bundled_pip():
    """Where the wheel of pip is that comes with Python, or with its distribution; None if it is not found."""
    import ensurepip
    import glob
    import sysconfig

    for place in (
        os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"),
        sysconfig.get_config_var("WHEEL_PKG_DIR"),
    ):
        found = sorted(glob.glob(os.path.join(place, "pip-*.whl"))) if place else []
        if found:
            return found[-1]
    return None


def pip(folder, telling, arguments, wheel=None):
    """Runs pip of the environment, or that in ``wheel``; says what it is doing. Refuses with what pip has said when it
    fails."""
    program = [os.path.join(wheel, "pip")] if wheel else ["-m", "pip"]
    options = ["--disable-pip-version-check", "--no-compile", "--progress-bar", "off"]
    constraints = ["-c", os.path.join(ROOT, "constraints.txt")]
    command = [os.path.join(folder, "bin", "python")] + program + ["install"] + options + constraints
    process = subprocess.Popen(
        command + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    for line in process.stdout:
        line = line.strip()
        said.append(line)
        if line.startswith(("Collecting", "Downloading", "Installing", "Preparing", "Building")):
            telling.detail = line.split(" (from")[0][:60]
    if process.wait():
        errors = [line for line in said if line.startswith("ERROR")] or said
        why = (errors or ["it said nothing"])[-1]
        # What pip says if it gets no answer: without attempts of its own it speaks of versions alone.
        if "ResolutionImpossible" in why or any("connection broken" in line for line in said):
            why = "the package index does not answer, or lacks a version of constraints.txt (%s)" % why
        refuse("pip could not install the Python packages: %s" % why)


def install(folder, extras):
    """Makes the environment in ``folder``, or adds the extras to it."""
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        settings = tomllib.load(file)
    project = settings["project"]
    wanted = [item for extra in extras for item in project["optional-dependencies"][extra]]
    what = "for %s" % " and ".join(extras) if extras else "that 'nectar' needs"
    with Telling("installing the Python packages %s into %s" % (what, folder)) as telling:
        if not extras:
            # To have an older pip in the environment first, which has its modules compiled, takes 3 s more.
            wheel = bundled_pip()
            without = ["--without-pip"] if wheel else []
            subprocess.check_call([sys.executable, "-m", "venv"] + without + ["--clear", folder])
            # The pip of an older Python takes twice as long as today's to choose among all versions of a package.
            pip(folder, telling, ["--upgrade", "pip"] + settings["build-system"]["requires"], wheel)
            wanted = ["--no-build-isolation", "-e", ROOT]
        pip(folder, telling, wanted)


if __name__ == "__main__":
    check()
    try:
        install(sys.argv[1], sys.argv[2:])
    except KeyboardInterrupt:
        sys.stderr.write("nectar: interrupted\n")
        sys.exit(130)
