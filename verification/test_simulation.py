"""What a simulation expects of the machine."""

import subprocess
import sys


def test_a_machine_whose_python_is_called_python3_will_do(tmp_path):
    """Verilator's makefiles call ``python``: it is found although PATH leads nowhere."""
    text = "import shutil; from nectar.verification.simulation import use_verilator; use_verilator(); print(shutil.which('python'), shutil.which('verilator'))"
    done = subprocess.run([sys.executable, "-c", text], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True)
    assert "None" not in done.stdout, done.stdout
