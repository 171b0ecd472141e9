# One target a job, the same for people and for CI. Nothing is needed but python3 (3.11 or newer, with venv), a C++
# compiler and make; everything else comes from PyPI at the versions of constraints.txt.

PYTHON ?= python3
BIN := .venv/bin
PIP_FLAGS := --disable-pip-version-check --quiet
# Where it is forbidden to keep compiled modules, each of a thousand processes compiles them anew: 0.4 s for a bench.
unexport PYTHONDONTWRITEBYTECODE

# What runs on many machines: the address of a Dask scheduler (docs/sweep.md).
CLUSTER := $(if $(SCHEDULER),--scheduler $(SCHEDULER))

.PHONY: demo test check nightly bench bench-fpga boards docs clean

demo: .venv/running
	@rm -rf build/demo && mkdir -p build/demo
	@$(BIN)/nectar run examples/send_file.py README.md --output build/demo/README.copy.md \
	    --waves build/demo/send_file.fst --wave-boards CAB3,HUB2,HUB1,CAB1 --wave-window 0us:200us \
	    --report build/demo/report.html
	@$(BIN)/python -c "import hashlib as h; a, b = (h.sha256(open(f, 'rb').read()).hexdigest() for f in \
	    ('README.md', 'build/demo/README.copy.md')); assert a == b, 'the copy differs'; \
	    print('build/demo/README.copy.md: SHA-256', a)"
	@echo "build/demo/send_file.fst: waveforms of the first 200 us; to see them:"
	@echo "  $(BIN)/nectar waves build/demo/send_file.fst"
	@echo "(docs/tutorial/first-waveform.md tells how to read them)"
	@echo "build/demo/report.html: where the time went, a timeline, every message; open it in a browser"

# Everything random follows NECTAR_SEED. The everyday regression has the same one in every run.
test: .venv/installed
	$(BIN)/python -m pytest -n auto -m "not nightly" $(PYTEST_FLAGS)

# What the changes since the last commit touch, or since another: make check BASE=main.
check: .venv/installed
	@$(BIN)/python -m nectar.verification.changed $(if $(BASE),--base $(BASE))

# What takes longer, in jobs; PART=3/14 for the third of fourteen slices, JOB=proofs for one, SCHEDULER=tcp://host:8786
# for the workers of a Dask cluster (docs/nightly.md). The seed is drawn and told.
nightly: .venv/installed
	$(BIN)/python -m nectar.verification.nightly $(if $(PART),--part $(PART)) $(if $(JOB),--job $(JOB)) $(CLUSTER)

bench: .venv/installed
	$(BIN)/nectar bench

bench-fpga: .venv/installed
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[fpga]'
	$(BIN)/nectar bench fpga $(CLUSTER)

# Hours: every top on every board. docs/boards-results.md is what comes of it.
boards: .venv/installed
	$(BIN)/pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[fpga]'
	$(BIN)/python -m nectar.boards.results $(CLUSTER) docs/boards-results.md

# The book, from docs/ (docs/howto/book.md). Whatever Sphinx warns of is an error, which the next attempt tells again.
docs: .venv/documented
	@$(BIN)/python -m nectar.verification.pictures
	@$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees docs build/docs || { rm -rf build/doctrees; exit 1; }
	@echo "build/docs/index.html: the book"

# What the command nectar needs; what the tests and the book need besides.
.venv/running: pyproject.toml constraints.txt
	@$(PYTHON) nectar/install.py .venv
	@touch $@

.venv/installed: .venv/running
	@$(PYTHON) nectar/install.py .venv test
	@touch $@

.venv/documented: .venv/running
	@$(PYTHON) nectar/install.py .venv docs
	@touch $@

clean:
	rm -rf .venv build docs/reference *.egg-info
