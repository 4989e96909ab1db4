#!/usr/bin/env bash
# Installs the inspector, the conformance suite and their Node into a folder, and runs the tests of
# this one. Usage: run.sh FOLDER [PYTHON]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cp "$here"/package.json "$here"/package-lock.json "$1"
# Their scripts fetch what is not needed here; npm itself may run on an older Node than they do.
npm install --prefix "$1" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
export AGENT_MEMORY_TEST_NODE=$1
cd "$here/../.."
"${2:-python}" -m pytest -q -n0 -s tests/conformance
