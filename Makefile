# Everything that a person types. `make learn` and `make test` set up what they need by themselves.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: help learn test env check pages browser demo attacks broken kill far bench-grading scaling postgresql witnesses bench lock clean

help:
	@echo "make learn      open the course in JupyterLab"
	@echo "make test       run the whole test suite"
	@echo "make env        only make the environment, in .venv"
	@echo "make check      lint, format, types, and generated files"
	@echo "make pages      write the worked pages, in release/pages"
	@echo "make browser    try what only a browser or Node.js can run: worked pages, the lesson timer"
	@echo "make demo       grade a sample class and show the result"
	@echo "make attacks    try to cheat, steal and break, and write docs/attacks.md"
	@echo "make broken     grade every kind of broken submission, and write docs/broken-submissions.md"
	@echo "make kill       kill the grader at 50 random moments, compare, and write docs/killing.txt"
	@echo "make far        grade on a dask cluster of two local workers, and compare"
	@echo "make bench-grading  measure every way to grade, and write docs/grading-speed.txt and .png"
	@echo "make scaling    measure what a large class costs, to a million submissions"
	@echo "make postgresql grade into PostgreSQL instead of SQLite, and compare"
	@echo "make witnesses  hold the reference against its witnesses, worst errors shown"
	@echo "make bench      measure how fast a check answers"

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
	@$(BIN)/byhand-course worked --check

pages: .venv/ready
	@$(BIN)/byhand-course worked --out release/pages

# Needs a Chromium and Node.js, and installs what drives it into an environment of its own, .venv-browser.
browser: .venv/ready
	@test -x .venv-browser/bin/python || $(PYTHON) -m venv .venv-browser
	@.venv-browser/bin/python -m pip install --quiet --disable-pip-version-check pytest pypdf axe-playwright-python
	@$(BIN)/byhand-course worked --published --out .browser/published
	@$(BIN)/byhand-course worked --sentence "the cat sat on the mat" --d-model 48 --out .browser/large --pdf .browser/large.pdf $(if $(CHROMIUM),--browser $(CHROMIUM))
	@$(BIN)/byhand-course worked --out .browser/course --pdf .browser/course.pdf $(if $(CHROMIUM),--browser $(CHROMIUM))
	@.venv-browser/bin/python -m pytest tests/worked/browser -c tests/worked/browser/pytest.ini
	@$(BIN)/python -m pytest tests/byhand/browse_timer.py

demo: .venv/ready
	@rm -rf .demo
	@$(BIN)/byhand-course demo --folder .demo

broken: .venv/ready
	@$(BIN)/python tests/grading/broken_submissions.py

kill: .venv/ready
	@$(BIN)/python tests/grading/killing.py 50

far: .venv-far/ready
	@.venv-far/bin/python -m pytest tests/far/dask_cluster.py tests/far/dask_faults.py

# Needs PostgreSQL's programs too (Debian: apt install postgresql).
postgresql: .venv-far/ready
	@.venv-far/bin/python benchmarks/postgresql.py

scaling: .venv/ready
	@$(BIN)/python benchmarks/scaling.py

# An environment of its own, since dask and PostgreSQL's driver are optional extras.
.venv-far/ready: pyproject.toml byhand/pyproject.toml
	@rm -rf .venv-far
	@$(PYTHON) -m venv .venv-far
	@.venv-far/bin/python -m pip install --quiet --disable-pip-version-check -e byhand -e '.[dask,postgresql]' pytest psutil
	@touch .venv-far/ready

bench-grading: .venv/ready
	@$(BIN)/python benchmarks/grading.py --lessons 2 1 $(if $(OTTER),--otter $(OTTER)) \
		--text docs/grading-speed.txt --plot docs/grading-speed.png

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
	rm -rf .venv .venv-browser .venv-far .browser .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
