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

# Exports as trainers read them, with the dependency group `trainers`.
trainers *arguments:
    uv run --group trainers pytest -n 0 tests/streaming/test_trainers.py {{ arguments }}

# ATIF documents before Harbor's own validator, which needs neither the rest of Harbor nor the Python that that asks for.
harbor:
    uv pip install --quiet --no-deps --python-version 3.12 --target .harbor harbor==0.26.0 \
      || echo "Harbor cannot be installed here: its test is skipped" >&2
    PYTHONPATH=.harbor pytest -n 0 tests/streaming/test_atif.py -k harbor

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
