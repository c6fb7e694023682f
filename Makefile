# Two commands are enough to begin with:
#   make report     set everything up, read a sample incident, print the report
#   make test       set everything up, run the tests (some six minutes)
# LOGS=/path/to/your/logs make report    reads your own logs instead.

LOGS ?= sample_logs/split-brain-frozen-worker-3.9.1/logs
CASE ?= forensics-case
# Asked anew for each command: setup may just have installed it.
export JAVA_HOME = $(shell scripts/java-home)
BIN := .venv/bin
# spark-sql and Spark's Python workers find Python through PATH.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: report test whole slow all lint format docs site notebook samples pictures bench

report: .venv/ready
	forensics ingest --case $(CASE) $(LOGS)
	forensics report --case $(CASE)

# Two processes share the files, those with the long tests first; then one has all tests of Spark, which uses two cores by itself.
test: .venv/ready
	pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not spark and not whole and not slow"
	pytest -m "spark and not whole and not slow" $$(grep -l 'mark\.spark' tests/*.py)

# What takes ten seconds and more each, of whole cases mostly.
whole: .venv/ready
	pytest -n 2 --dist loadfile --no-loadscope-reorder -m "whole and not spark and not slow" $$(grep -l 'mark\.whole' tests/*.py)
	pytest -m "whole and spark and not slow" $$(grep -l 'mark\.whole' tests/*.py)

# Minutes: whole recordings with known truth, and the wheel in an empty environment.
slow: whole
	pytest -m slow

all: lint test slow

lint: .venv/ready
	ruff check .
	ruff format --check .
	mypy forensics
	lint-imports

format: .venv/ready
	ruff check --fix .
	ruff format .

# Pages that are made from the SQL comments, the catalogue and the commands; a test fails when they are old.
docs: .venv/ready
	python scripts/make_docs.py

# The documentation as a site, in site/; any web server serves it: python -m http.server -d site. A broken link is an error.
site: .venv/ready
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --site-dir site

# What the cells of docs/notebook.ipynb give.
notebook: .venv/ready
	python scripts/make_notebook.py

# What the sample incidents are expected to give, and the answers that the docs show; read the difference before you commit it.
samples: .venv/ready
	python scripts/expect_samples.py

# Pictures of the report's page, and of terminals, in docs/pictures; look at each before you commit it. Needs a Chromium.
pictures: .venv/ready
	python scripts/make_screenshots.py

.venv/ready: pyproject.toml scripts/setup scripts/java-home
	scripts/setup

# Benchmarks: figures in bench/figures.json, and docs/speed.md and its pictures from them. Needs hours of an idle machine; PARTS chooses. ripgrep and lnav are
# measured beside if they are there.
BENCH ?= /tmp/forensics-bench
bench: .venv/ready
	python -m pip install --quiet --disable-pip-version-check --editable '.[bench,sail]'
	python bench/run.py $(BENCH) $(if $(PARTS),--parts $(PARTS))
