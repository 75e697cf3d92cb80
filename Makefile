# Everything that a person types. `make learn` and `make test` set up what they need by themselves.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: help learn test browser env check demo broken kill far bench-grading witnesses bench attacks lock clean

help:
	@echo "make learn      open the course in JupyterLab"
	@echo "make test       run the whole test suite"
	@echo "make env        only make the environment, in .venv"
	@echo "make check      lint, format, types, and generated files"
	@echo "make browser    try what only a browser or Node.js can run"
	@echo "make demo       grade a sample class and show the result"
	@echo "make broken     show what grading makes of every kind of broken submission"
	@echo "make kill       kill the grader at 50 random moments, and compare the gradebooks"
	@echo "make far        grade on a dask cluster of two local workers, and compare"
	@echo "make bench-grading  measure every way to grade, on the same submissions"
	@echo "make witnesses  hold the reference against its witnesses, worst errors shown"
	@echo "make bench      measure how fast a check answers"
	@echo "make attacks    try to cheat, steal and break, and write docs/attacks.md"

learn: .venv/ready
	@$(BIN)/byhand learn

test: .venv/ready
	@$(BIN)/python -m pytest

env: .venv/ready
	@echo "The environment is ready: $(BIN)/byhand and $(BIN)/byhand-course"

check: .venv/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/byhand-course build --check

# Needs Node.js.
browser: .venv/ready
	@$(BIN)/python -m pytest tests/byhand/browse_timer.py

demo: .venv/ready
	@rm -rf .demo
	@$(BIN)/byhand-course demo --folder .demo

broken: .venv/ready
	@$(BIN)/python tests/grading/broken_submissions.py

kill: .venv/ready
	@$(BIN)/python tests/grading/killing.py 50

# An environment of its own, since dask is an optional extra.
far: .venv/ready
	@test -x .venv-far/bin/python || $(PYTHON) -m venv .venv-far
	@.venv-far/bin/python -m pip install --quiet --disable-pip-version-check -e byhand -e '.[dask]' pytest psutil
	@.venv-far/bin/python -m pytest tests/far/dask_cluster.py

bench-grading: .venv/ready
	@$(BIN)/python benchmarks/grading.py

witnesses: .venv/ready
	@$(BIN)/python -m pytest tests/reference

bench: .venv/ready
	@$(BIN)/python benchmarks/check_speed.py

attacks: .venv/ready
	@cd tests && ../$(BIN)/python -m grading.attacks

# One install, from exact versions with their hashes; made again when any of these files changes.
.venv/ready: requirements.lock pyproject.toml byhand/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python was not found: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$$($(PYTHON) --version 2>&1) is too old: the course needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up the environment in .venv (a minute or two, once) ..."
	@rm -rf .venv
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "This Python cannot make environments: on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e byhand -e .
	@touch .venv/ready

# Renews requirements.lock; needs uv (https://docs.astral.sh/uv/).
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --no-emit-index-url --no-emit-package byhand --quiet -o requirements.lock

clean:
	rm -rf .venv .venv-far .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
