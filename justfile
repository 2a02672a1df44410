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
