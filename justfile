# Recipes for working on AgentForge; `uv run just` lists them.

default:
    @just --list --unsorted

# Everything that CI checks.
check: format-check lint layers types types-web test

# Put the code into the one format.
format:
    ruff format
    ruff check --fix

format-check:
    ruff format --check

lint:
    ruff check

# Imports point down only.
layers:
    lint-imports

types:
    mypy
    MYPYPATH=examples/admin_console mypy --strict --explicit-package-bases examples/admin_console

# Types of the modules in web/, by TypeScript; needs npm, and says so where there is none.
types-web:
    .ci/types-web

# Run the tests; arguments go to pytest.
test *arguments:
    pytest {{ arguments }}

# Install what trainers read exports with, for the tests that are skipped without it. Of Harbor and TRL only what checks and
# loads data is used, which needs neither PyTorch nor the Python that Harbor asks for.
trainers:
    uv sync --quiet --inexact --group trainers
    uv pip install --quiet --no-deps --python-version 3.12 --target .trainers harbor==0.26.0 trl==1.16.0 \
      || echo "Harbor and TRL cannot be installed here: their tests are skipped" >&2

# Rewrite what is generated and committed: the printed graph, the dumped database schema, the types of web/.
generate:
    python -m schema.print_schema
    python -m db.dump
    python .ci/web_types.py

# Fetch the workspace's libraries anew, in the versions that .ci/vendor.py names. Needs npm.
vendor:
    python .ci/vendor.py

# Take the pictures in docs/screenshots/ anew, from the example that `agentforge up` runs. Needs Chromium.
screenshots:
    PYTHONPATH=. python .ci/screenshots.py

# Write the newest versions of all dependencies into pyproject.toml.
lock:
    python .ci/lock.py
