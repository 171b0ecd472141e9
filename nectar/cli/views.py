"""What is made of a recording: ``--report``, ``--trace`` (docs/recording.md)."""

import importlib.util
import io

from ..extras import how_to_get
from ..live import telling
from .errors import UsageError, together
from .results import check_target, save

__all__ = ["VALUES", "Views"]

#: Options that take a value, as argparse wants them.
VALUES = {
    "--trace": {
        "metavar": "FILE",
        "help": "write a timeline for another program: FILE.pftrace for Perfetto, FILE.json in Chrome's format",
    },
    "--report": {
        "metavar": "FILE",
        "help": "write one HTML page: where the time went, a timeline, every message with its way, loads and traffic",
    },
}


class Views:
    """The report and the trace that the options of the command line ask for, if any. Raises UsageError.

    ``title`` is what the report is called.
    """

    def __init__(self, options, title):
        self._report, self._trace, self._title = options.report, options.trace, title
        #: (option, file) of each that is to be written.
        self.files = [
            (option, path)
            for option, path in (("--report", self._report), ("--trace", self._trace))
            if path is not None
        ]
        for option, path in self.files:
            check_target(option, path)
        self._check_trace()

    def __bool__(self):
        return bool(self.files)

    def _check_trace(self):
        if self._trace is None:
            return
        if not self._trace.endswith((".pftrace", ".json")):
            raise UsageError(f"--trace {self._trace}: the name must end in .pftrace (Perfetto) or .json (Chrome)")
        if self._trace.endswith(".pftrace") and importlib.util.find_spec("perfetto") is None:
            raise UsageError(f"--trace {self._trace} needs the package perfetto; {how_to_get('trace')}")

    def write(self, recording, complete):
        """Writes them, also those behind one that cannot be written. ``complete``: whether the simulation came to its
        end."""
        from ..views.report import page
        from ..views.spans import Spans

        def report():
            _write("--report", self._report, page(spans, title=self._title, complete=complete).encode())

        def trace():
            _write("--trace", self._trace, _trace(spans, self._trace))

        with telling(f"writing {self.files[0][1]}"):
            spans = Spans(recording)
            together(*(report if option == "--report" else trace for option, _ in self.files))


def _trace(spans, path):
    """The bytes of a trace."""
    from ..views.trace import chrome, perfetto

    if path.endswith(".json"):
        text = io.StringIO()
        chrome(text, spans)
        return text.getvalue().encode()
    data = io.BytesIO()
    perfetto(data, spans)
    return data.getvalue()


def _write(option, path, data):
    try:
        save(path, data)
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error.strerror}") from error
