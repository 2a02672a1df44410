"""The operations that are compared: for AgentForge, and for PostGraphile as it names the same things."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_TRIAL: Final = "attempt seed status reward failureCategory"


@dataclass(frozen=True)
class Operation:
    """The same question in the words of both; the answers are equal once `in_our_words`.

    `bars`: how many times as fast as PostGraphile AgentForge is meant to be, by connections.
    """

    name: str
    ours: str
    theirs: str
    bars: Mapping[int, float]


def _nested(stages: str) -> str:
    return f"""query($organization: UUID!, $version: UUID!) {{
  environmentVersion: environmentVersionByOrganizationIdAndRowId(organizationId: $organization, rowId: $version) {{
    id: rowId version digest
    runs: evaluationRunsByOrganizationIdAndEnvironmentVersionId(first: 50, orderBy: [ROW_ID_DESC]) {{ edges {{ node {{
      id: rowId status attemptCount
      trials: evaluationTrialsByOrganizationIdAndEvaluationRunId(orderBy: [ATTEMPT_ASC]) {{ nodes {{
        id: rowId {_TRIAL} {stages}
      }} }}
    }} }} }}
  }}
}}"""


_OUR_NESTED: Final = f"""query($version: ID!) {{
  environmentVersion(id: $version) {{ id version digest runs(first: 50) {{ edges {{ node {{
    id status attemptCount trials {{ id {_TRIAL} stages {{ name value }} }}
  }} }} }} }}
}}"""

OPERATIONS: Final = (
    Operation("nested", _OUR_NESTED, _nested("stages: stageList { name value }"), {1: 6, 32: 8}),
    Operation("nested, raw JSON", _OUR_NESTED, _nested("stages"), {1: 3, 32: 3}),
    Operation(
        "one run",
        f"""query($run: ID!) {{ evaluationRun(id: $run) {{ id status trials {{
  id {_TRIAL} stages {{ name value }}
}} }} }}""",
        f"""query($organization: UUID!, $run: UUID!) {{
  evaluationRun: evaluationRunByOrganizationIdAndRowId(organizationId: $organization, rowId: $run) {{
    id: rowId status trials: evaluationTrialsByOrganizationIdAndEvaluationRunId(orderBy: [ATTEMPT_ASC]) {{ nodes {{
      id: rowId {_TRIAL} stages: stageList {{ name value }}
    }} }}
  }}
}}""",
        {1: 3, 32: 3},
    ),
    Operation(
        "1,000 flat trials",
        f"""{{ a: evaluationTrials(first: 500) {{ edges {{ node {{ id {_TRIAL} }} }} }}
  b: evaluationTrials(first: 500, orderBy: OLDEST) {{ edges {{ node {{ id {_TRIAL} }} }} }} }}""",
        f"""{{
  a: allEvaluationTrials(first: 500, orderBy: [ROW_ID_DESC]) {{ edges {{ node {{ id: rowId {_TRIAL} }} }} }}
  b: allEvaluationTrials(first: 500, orderBy: [ROW_ID_ASC]) {{ edges {{ node {{ id: rowId {_TRIAL} }} }} }} }}""",
        {1: 4, 32: 4},
    ),
)


def in_our_words(value: Any, key: str | None = None) -> Any:
    """PostGraphile's answer as AgentForge would give it: trials without `nodes`, statuses as enum members."""
    if isinstance(value, dict):
        if set(value) == {"nodes"}:
            return in_our_words(value["nodes"])
        return {name: in_our_words(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [in_our_words(inner) for inner in value]
    return value.upper() if key == "status" else value
