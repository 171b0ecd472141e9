# One target a job, the same for people and for CI. Nothing is needed but python3 (3.11 or newer, with venv), a C++
# compiler, make and perl; everything else comes from PyPI at the versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --disable-pip-version-check --quiet

.PHONY: demo test nightly bench bench-fpga boards clean

demo: .venv/installed
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/nectar run examples/send_file.py README.md --output build/demo/README.copy.md \
	    --waves build/demo/send_file.fst --wave-boards CAB3,HUB2,HUB1,CAB1 --wave-window 0us:200us
	@$(BIN)/python -c "import hashlib as h; a, b = (h.sha256(open(f, 'rb').read()).hexdigest() for f in \
	    ('README.md', 'build/demo/README.copy.md')); assert a == b, 'the copy differs'; print('build/demo/README.copy.md: SHA-256', a)"
	@echo "build/demo/send_file.fst: waveforms of the first 200 us; look at them with 'gtkwave build/demo/send_file.fst'"
	@echo "or with 'surfer build/demo/send_file.fst' (docs/getting-started.md tells what is to be seen)"

# Everything random follows NECTAR_SEED. The everyday regression has the same one in every run.
test: .venv/installed
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not nightly"

nightly: export NECTAR_SEED := $(or $(NECTAR_SEED),$(strip $(shell od -An -N3 -tu4 /dev/urandom)))
nightly: .venv/installed
	@echo "NECTAR_SEED=$(NECTAR_SEED)"
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: .venv/installed
	$(BIN)/nectar bench

bench-fpga: .venv/installed
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[fpga]'
	$(BIN)/nectar bench fpga

# Hours: every top on every board. docs/boards-results.md is what comes of it.
boards: .venv/installed
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[fpga]'
	$(BIN)/python -m nectar.boards.results docs/boards-results.md

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt setuptools wheel
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[test]'
	@touch $@

clean:
	rm -rf .venv build *.egg-info
