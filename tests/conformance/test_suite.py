"""The conformance suite of the protocol: what a revision requires, less what is not offered."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.api.live.mcp import Endpoint

from .baseline import BASELINE, PAGE, not_offered, scenarios_by_first_cell
from .conftest import Node
from .proxy import let_in

PACKAGE = "@modelcontextprotocol/conformance"
REVISIONS = ["2026-07-28", "2025-11-25"]
FAILED = ("FAILURE", "WARNING")


@dataclass
class Run:
    """The exit status of the suite, all that it printed, and its verdicts.

    `verdicts` has the status of each check of each scenario that the revision requires.
    """

    status: int
    printed: str
    verdicts: dict[str, dict[str, str]]

    def failed(self, scenario: str) -> list[str]:
        """Return what failed in a scenario, as `scenario:check`."""
        checks = self.verdicts[scenario].items()
        return [f"{scenario}:{check}" for check, status in checks if status in FAILED]

    @property
    def passed(self) -> list[str]:
        return [scenario for scenario in self.verdicts if not self.failed(scenario)]


@pytest.fixture(scope="module")
def runs(
    node: Node, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Run]:
    """The suite's runs by revision, also kept where `AGENT_MEMORY_TEST_OUTPUT` says."""
    endpoint.server.call("remember", key="123", summary="s", body="The note 123.")
    kept = Path(os.environ.get("AGENT_MEMORY_TEST_OUTPUT") or tmp_path_factory.mktemp("output"))
    runs = {}
    with let_in(endpoint) as url:
        for revision in REVISIONS:
            runs[revision] = run = run_suite(
                node, url, revision, tmp_path_factory.mktemp("results")
            )
            result = kept / f"conformance-{revision}-{endpoint.server.kind}.json"
            result.write_text(json.dumps(run.verdicts, indent=1))
    return runs


def run_suite(node: Node, url: str, revision: str, results: Path) -> Run:
    options = ("--requirements", revision, "--expected-failures", str(BASELINE))
    script = f"{PACKAGE}/dist/index.js"
    done = node.run(script, "server", "--url", url, *options, "--output-dir", str(results))
    requirements = node.modules / PACKAGE / "requirements" / f"{revision}.yaml"
    required = yaml.safe_load(requirements.read_text())["server"]
    verdicts = {scenario: verdict(results, scenario) for scenario in required}
    return Run(done.returncode, done.stdout + done.stderr, verdicts)


def verdict(results: Path, scenario: str) -> dict[str, str]:
    """Return the status of each check; of one made more than once, a failure if there is any."""
    (folder,) = (
        path
        for path in results.iterdir()
        if re.fullmatch(rf"server-{scenario}-\d{{4}}-\d\d-\d\dT.*", path.name)
    )
    statuses: dict[str, str] = {}
    for check in json.loads((folder / "checks.json").read_text()):
        if statuses.get(check["id"]) not in FAILED:
            statuses[check["id"]] = check["status"]
    return statuses


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_fails_but_what_is_not_offered(
    runs: dict[str, Run], endpoint: Endpoint, revision: str
) -> None:
    run = runs[revision]
    show(run, f"{revision} under {endpoint.server.kind}")
    assert run.status == 0, run.printed


def show(run: Run, title: str) -> None:
    reasons = not_offered()
    lines = [f"\nConformance to {title}"]
    for scenario in run.verdicts:
        asked = {reasons.get(check, f"FAILED {check}") for check in run.failed(scenario)}
        lines.append(f"  {scenario}: {'; '.join(sorted(asked)) or 'passes'}")
    passed, of = len(run.passed), len(run.verdicts)
    lines.append(f"{passed} of {of} scenarios pass; the others ask for what is named beside them.")
    print("\n".join(lines))  # noqa: T201


def test_the_baseline_has_no_more_than_what_fails(runs: dict[str, Run]) -> None:
    failed = {check for run in runs.values() for name in run.verdicts for check in run.failed(name)}
    assert failed == set(not_offered())


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_page_says_what_passes(runs: dict[str, Run], revision: str) -> None:
    run = runs[revision]
    assert scenarios_by_first_cell()[revision] == run.passed
    counted = f"{len(run.passed)} of {len(run.verdicts)}"
    assert f"| `{revision}` | {counted} |" in PAGE.read_text(encoding="utf-8")
    assert f"{counted} of {revision}" in PAGE.with_name("agents.md").read_text(encoding="utf-8")
