# One target a job, the same for people and for CI. Nothing is needed but python3 (3.11 or newer, with venv), a C++
# compiler, make and perl; everything else comes from PyPI at the versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --disable-pip-version-check --quiet

.PHONY: demo test nightly bench clean

demo: .venv/installed
	@mkdir -p build/demo
	$(BIN)/nectar run examples/send_file.py README.md --output build/demo/README.copy.md --waves build/demo/send_file.vcd

test: .venv/installed
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not nightly"

nightly: .venv/installed
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: .venv/installed
	$(BIN)/nectar bench

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt setuptools wheel
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[test]'
	@touch $@

clean:
	rm -rf .venv build *.egg-info
