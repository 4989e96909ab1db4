#!/usr/bin/env bash
# Pins everything development uses, anew: a file for each Django, and one for the oldest versions
# that pyproject.toml allows. Run it by hand; the results are committed.
set -euo pipefail
cd "$(dirname "$0")/../.."

compile() { # name, Python it starts at, requirements
    local target="tests/requirements/$1.txt"
    echo "# Made by tests/requirements/compile.sh for Python $2 and later." >"$target"
    printf '%s\n' "${@:3}" | uv pip compile --quiet --universal --no-header --no-annotate \
        --python-version "$2" --group dev --extra postgres --extra mariadb \
        - pyproject.toml >>"$target"
}

compile oldest 3.11 Django==5.2 djangorestframework==3.16.0 django-filter==25.1
compile django52 3.11 'Django~=5.2.0'
compile django60 3.12 'Django~=6.0.0'
compile django61 3.12 'Django~=6.1.0'
# What reads the description of the API: apart, for it needs much that no other test does.
compile contract 3.12 'Django~=6.1.0' "$(cat tests/requirements/contract.in)"
# Frameworks for agents, and the client of MCP that some of them do not take yet.
compile agents 3.12 'Django~=6.1.0' "$(cat tests/requirements/agents.in)"
compile mcp 3.12 'Django~=6.1.0' "$(cat tests/requirements/mcp.in)"
# The admin in a browser, under Django's own looks and under those of another package.
compile browser 3.12 'Django~=6.1.0' "$(cat tests/requirements/browser.in)"
# Not part of CI: only the benchmark of other memories needs it.
compile peers 3.12 'Django~=6.1.0' "$(cat tests/requirements/peers.in)"
