# Start with these two commands:
#   make report     install everything, read a sample incident, print the report
#   make test       install everything, run the tests (about ten minutes)
# LOGS=/path/to/your/logs make report    reads your own logs instead.

LOGS ?= sample_logs/split-brain-frozen-worker-3.9.1/logs
CASE ?= forensics-case
# Evaluated again for each command, because setup may just have installed Java.
export JAVA_HOME = $(shell scripts/java-home)
# setup does not compile what it installs: if Python may not keep what it compiles, each process compiles all of it again.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
# spark-sql and Spark's Python workers find Python through PATH.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: report test test-without-spark test-spark slow all lint weight format docs site notebook samples pictures bench reliability lab

report: .venv/ready
	forensics ingest --case $(CASE) $(LOGS)
	forensics report --case $(CASE)

# Three processes share the test files, longest first: tests wait for browsers, commands and cases that another test builds, so two leave a core idle.
# One process runs all Spark tests: afterwards, or beside them with `make -j2`.
# `make test WHOLE=yes` also runs the tests of ten seconds or more, mostly of whole cases; it starts and builds once what all tests share.
QUICK := $(if $(WHOLE),,and not whole)
SPARK_TESTS = $$(grep -rl 'mark\.spark' tests --include='test_*.py')
test: test-without-spark test-spark

test-without-spark: .venv/ready
	pytest -n 3 --dist loadfile --no-loadscope-reorder -rfEs --durations=15 --durations-min=5 -m "not spark and not slow $(QUICK)"

test-spark: export FORENSICS_ENGINE = spark
test-spark: .venv/ready
	pytest -rfEs --durations=15 --durations-min=5 -m "spark and not slow $(QUICK)" $(SPARK_TESTS)

# Tests of several minutes: whole recordings with ground truth, and the wheel in an empty environment.
slow: .venv/ready
	pytest -m slow

all: lint
	$(MAKE) test WHOLE=yes
	$(MAKE) slow

lint: .venv/ready
	ruff check .
	ruff format --check .
	mypy forensics
	lint-imports

# Print the size of the SQL (code tokens, JOINs, chain of views, common table expressions, operators that Spark plans for a first report) beside the recorded
# size in bench/weight.toml. It fails if a figure rose without a reason in that file. PLANS: Spark's event logs of `make report`, if they are there.
weight: .venv/ready
	python bench/weight.py $(addprefix --plans ,$(PLANS))

format: .venv/ready
	ruff check --fix .
	ruff format .

# Generate the pages that are made from SQL comments, the catalogue and the commands; a test fails if they are outdated.
docs: .venv/ready
	python scripts/make_docs.py

# Build the documentation as a website in site/, for any web server: python -m http.server -d site. A broken link is an error.
site: .venv/ready
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --site-dir site

# Run docs/notebook.ipynb and store the outputs of its cells.
notebook: .venv/ready
	python scripts/make_notebook.py

# Regenerate the expected results of the sample incidents, and the outputs shown in the docs. Read the differences before you commit them.
samples: .venv/ready
	python scripts/expect_samples.py

# Regenerate the screenshots of the HTML report and of terminals in docs/pictures. Look at each before you commit it. Requires Chromium.
pictures: .venv/ready
	python scripts/make_screenshots.py

.venv/ready: pyproject.toml scripts/setup scripts/java-home
	scripts/setup

# Run the benchmarks: figures go to bench/figures.json, from which docs/speed.md and its pictures are generated. This takes hours on an idle machine; PARTS
# selects parts. ripgrep and lnav are also measured if they are installed.
BENCH ?= /tmp/forensics-bench
bench: .venv/ready
	python -m pip install --quiet --disable-pip-version-check --editable '.[bench,sail]'
	python bench/run.py $(BENCH) $(if $(PARTS),--parts $(PARTS))

# Run the tests that attack the product (hostile inputs, kills, injections, secrets, ports) and write their figures into docs/reliability.md: about ten minutes.
# PARTS selects parts; FORENSICS_ATTACKS names a folder of further inputs. `python bench/growth.py FOLDER` measures the growth factors, in hours.
reliability: .venv/ready
	python bench/reliability.py $(if $(PARTS),--parts $(PARTS))

# Record a scenario on a real Kafka and score the recording: make lab RELEASE=4.3.1 SCENARIO=worker_frozen. See lab/README.md. Requires root, iproute2, a JDK and Maven.
SEED ?= 0
RECORDINGS ?= recordings
lab: export FORENSICS_ENGINE ?= sail
lab: .venv/ready
	python -m lab $(RELEASE) $(SCENARIO) --seed $(SEED) --out $(RECORDINGS)
