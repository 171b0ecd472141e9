"""What a build shows of how far it is."""

from nectar.progress import Progress


def test_progress_on_a_terminal_is_one_line_that_changes():
    class Terminal:
        def __init__(self):
            self.text = ""

        def write(self, text):
            self.text += text

        def flush(self):
            pass

        def isatty(self):
            return True

    terminal = Terminal()
    progress = Progress(terminal)
    progress.expect("compiling x", 2)
    with progress.step("compiling x"):
        progress.show()
    with progress.step("compiling x"):
        progress.show()
    progress.clear()
    assert "compiling x" in terminal.text and "\n" not in terminal.text and terminal.text.endswith("\r\033[K")
