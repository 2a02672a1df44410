"""What the exports say, line by line."""

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import rollouts
from db.tenant import Tenant
from tests.factory import Attempt, create_run, create_version, step
from tests.streaming.web import Client, lines

URL = "/api/v1/rollouts"

REWARDS = [None, -0.5, 0.0, 0.15, 0.9999999999999999, 1.0, 1.5, 1e-07]


async def rollout_ids(tenant: Tenant, trial_ids: list[Any]) -> list[str]:
    """The trials' rollouts, in the order of the trials."""
    found = {row.evaluation_trial_id: str(row.id) for row in await tenant.fetch(rollouts.BY_TRIALS, trial_ids)}
    return [found[trial_id] for trial_id in trial_ids]


async def test_lines_are_exactly_these(acme: Tenant, client: Client) -> None:
    attempts = [Attempt(1.0, steps=[step(1), step(2, "shop.order", '{"n":3}', "é\n")]), Attempt(None, "errored")]
    run, trials = await create_run(acme, await create_version(acme), attempts, seed=2**63 - 1)
    first, second = await rollout_ids(acme, [trial.id for trial in trials])
    async with client(acme) as web:
        response = await web.get(URL)
    head = '{"schemaVersion":1,"privacyClass":"PRIVATE","format":'
    steps = (
        '[{"step":1,"tool":"mcp","command":"initialize","observation":"{}"},'
        '{"step":2,"tool":"shop.order","command":"{\\"n\\":3}","observation":"\\u00e9\\n"}]'
    )
    assert response.text == (
        f'{head}"rollout","rolloutId":"{second}","seed":9223372036854775807,"reward":null,'
        f'"evaluationRunId":"{run.id}","trajectory":[]}}\n'
        f'{head}"atif-shaped","rolloutId":"{first}","seed":9223372036854775807,"reward":1,'
        f'"evaluationRunId":"{run.id}","trajectory":{steps}}}\n'
    )


async def test_headers(acme: Tenant, client: Client) -> None:
    names = {
        "": "agentforge-rollouts-all.jsonl",
        "?kind=all": "agentforge-rollouts-all.jsonl",
        "?kind=successful": "agentforge-rollouts-successful.jsonl",
        "?kind=failed": "agentforge-rollouts-failed.jsonl",
        "?kind=recovery": "agentforge-rollouts-recovery.jsonl",
        "?kind=preference": "agentforge-preferences.jsonl",
    }
    async with client(acme) as web:
        for query, name in names.items():
            response = await web.get(URL + query)
            assert (response.status_code, response.content) == (200, b"")
            assert dict(response.headers) == {
                "content-type": "application/x-ndjson",
                "content-disposition": f'attachment; filename="{name}"',
                "cache-control": "no-store, private",
                "x-content-type-options": "nosniff",
                "vary": "Accept-Encoding",
            }


async def test_kinds(acme: Tenant, client: Client) -> None:
    attempts = [Attempt(reward, "completed" if reward is not None else "errored") for reward in REWARDS]
    await create_run(acme, await create_version(acme), attempts)
    async with client(acme) as web:
        rewards = {
            kind: [line["reward"] for line in lines((await web.get(URL, params={"kind": kind})).content)]
            for kind in ("all", "successful", "failed", "recovery")
        }
    assert rewards == {
        "all": REWARDS[::-1],
        "successful": [1],
        "failed": [1e-07, 0.9999999999999999, 0.15, 0, -0.5],
        "recovery": [1e-07, 0.9999999999999999, 0.15],
    }


async def test_preference_lines_are_exactly_these(acme: Tenant, client: Client) -> None:
    """Of equal scores the newest is preferred and the oldest rejected; unscored rollouts take no part."""
    older, newer = await create_version(acme, task="one"), await create_version(acme, task="two")
    rewards = [None, -1.0, 0.25, 1.0, -1.0, 1.0, 0.5, None]
    attempts = [Attempt(reward, "completed" if reward is not None else "errored") for reward in rewards]
    _, newer_trials = await create_run(acme, newer, [Attempt(0.15), Attempt(0.0), Attempt(None, "errored")])
    _, older_trials = await create_run(acme, older, attempts)
    old = await rollout_ids(acme, [trial.id for trial in older_trials])
    new = await rollout_ids(acme, [trial.id for trial in newer_trials])
    head = '{"schemaVersion":1,"privacyClass":"PRIVATE","format":"preference-pair","environmentVersionId":'
    line_of_newer = (
        f'{head}"{newer.id}","preferred":"{new[0]}","rejected":"{new[1]}","preferredReward":0.15,"rejectedReward":0}}\n'
    )
    line_of_older = (
        f'{head}"{older.id}","preferred":"{old[5]}","rejected":"{old[1]}","preferredReward":1,"rejectedReward":-1}}\n'
    )
    async with client(acme) as web:
        assert (await web.get(URL, params={"kind": "preference"})).text == line_of_newer + line_of_older
        one = await web.get(URL, params={"kind": "preference", "limit": "1"})
        assert one.text == line_of_newer
        of_version = await web.get(URL, params={"kind": "preference", "environmentVersionId": str(older.id)})
        assert of_version.text == line_of_older


@pytest.mark.parametrize("rewards", [[], [None, None], [0.5], [0.5, 0.5], [1.0, None], [0.0, -0.0]])
async def test_no_pair_without_a_difference(acme: Tenant, client: Client, rewards: list[float | None]) -> None:
    version = await create_version(acme)
    if rewards:
        attempts = [Attempt(reward, "completed" if reward is not None else "errored") for reward in rewards]
        await create_run(acme, version, attempts)
    async with client(acme) as web:
        assert (await web.get(URL, params={"kind": "preference"})).text == ""


async def test_filters(acme: Tenant, client: Client) -> None:
    first, second = await create_version(acme, task="one"), await create_version(acme, task="two")
    for version, rewards in ((first, [0.0, 1.0]), (second, [0.5, 1.0]), (first, [0.75, 0.25])):
        await create_run(acme, version, [Attempt(reward) for reward in rewards])
    rows = await acme.fetch(rollouts.PAGE, None, None, None, None, None, None, 10)
    moments = [row.created_at.isoformat() for row in rows]  # one a transaction, so one a run

    async def rewards_of(**parameters: str) -> list[float]:
        async with client(acme) as web:
            response = await web.get(URL, params=parameters)
        assert response.status_code == 200
        return [line.get("reward", line.get("preferredReward")) for line in lines(response.content)]

    assert await rewards_of() == [0.25, 0.75, 1, 0.5, 1, 0]
    assert await rewards_of(environmentVersionId=str(second.id)) == [1, 0.5]
    assert await rewards_of(environmentVersionId=str(second.id), kind="recovery") == [0.5]
    assert await rewards_of(environmentVersionId="00000000-0000-7000-8000-000000000000") == []
    assert await rewards_of(limit="3") == [0.25, 0.75, 1]
    assert await rewards_of(limit="1000") == [0.25, 0.75, 1, 0.5, 1, 0]
    assert await rewards_of(limit=str(2**63 - 1), kind="failed") == [0.25, 0.75, 0.5, 0]
    # Half open: what `until` leaves out, the same `since` gives.
    assert await rewards_of(since=moments[2]) == [0.25, 0.75, 1, 0.5]
    assert await rewards_of(until=moments[2]) == [1, 0]
    assert await rewards_of(since=moments[2], until=moments[0]) == [1, 0.5]
    assert await rewards_of(since=moments[2].replace("+00:00", "Z"), kind="successful") == [1]
    assert await rewards_of(since=moments[0], kind="preference") == [0.75]
    assert await rewards_of(until=moments[0], kind="preference") == [1, 1]


BAD = [
    ("kind", "best"),
    ("kind", ""),
    ("kind", "ALL"),
    ("limit", "0"),
    ("limit", "-1"),
    ("limit", ""),
    ("limit", "abc"),
    ("limit", "1.0"),
    ("limit", " 1"),
    ("limit", "1_0"),
    ("limit", "\u0661"),
    ("limit", "1001"),
    ("limit", str(2**63)),
    ("limit", "9" * 5000),
    ("environmentVersionId", "not-an-id"),
    ("environmentVersionId", ""),
    ("environmentVersionId", "\0"),
    ("since", "2026-01-31T09:00:00"),
    ("since", "2026-01-31"),
    ("since", "yesterday"),
    ("since", "1767225600"),
    ("since", "2026-01-31T09:00:00 02:00"),
    ("until", "2026-01-31T09:00:00"),
    ("until", "0001-01-01T00:00:00+14:00"),
    ("until", ""),
    ("Kind", "all"),
    ("after", "x"),
    ("evaluationRunId", "x"),
    ("manifest", "yes"),
    ("offset", "1"),
    ("\0", "x"),
]


async def test_bad_parameters_are_named(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        for name, value in BAD:
            response = await web.get(URL, params={name: value})
            assert response.headers["content-type"] == "application/problem+json", (name, value)
            body = response.json()
            assert list(body) == ["type", "title", "status", "detail", "field"]
            assert (body["type"], body["title"], body["status"]) == ("about:blank", "Bad Request", 400)
            assert (response.status_code, body["field"]) == (400, [name])


async def test_an_unknown_kind_names_the_five(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        response = await web.get(URL, params={"kind": "best"})
    assert response.json()["detail"] == "kind must be one of all, successful, failed, recovery, preference."


async def test_a_parameter_given_twice_is_refused(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        response = await web.get(f"{URL}?kind=all&kind=all")
    assert (response.status_code, response.json()["field"]) == (400, ["kind"])


async def test_head_answers_the_headers_alone(acme: Tenant, client: Client) -> None:
    await create_run(acme, await create_version(acme), [Attempt(1.0)])
    async with client(acme) as web:
        got, head = await web.get(URL), await web.head(URL)
        assert (head.status_code, head.content) == (200, b"")
        assert dict(head.headers) == dict(got.headers) | {"x-rollout-count": "1"}
        assert (await web.head(URL, params={"kind": "best"})).status_code == 400


async def test_one_rollout_is_exactly_this(acme: Tenant, client: Client) -> None:
    attempts = [Attempt(1.0, stages={"stage_inventory": 1, "stage_checkout": 0.15}), Attempt(None, "errored")]
    version = await create_version(acme)
    run, trials = await create_run(acme, version, attempts, seed=-7)
    first, second = await rollout_ids(acme, [trial.id for trial in trials])
    tail = f'"environmentVersionId":"{version.id}","evaluationRunId":"{run.id}","stages":'
    async with client(acme) as web:
        one, two = await web.get(f"{URL}/{first}"), await web.get(f"{URL}/{second}")
    assert one.headers["content-type"] == "application/json"
    assert one.text == (f'{{"id":"{first}","seed":-7,"reward":1,{tail}{{"stage_inventory":1,"stage_checkout":0.15}}}}')
    assert two.text == f'{{"id":"{second}","seed":-7,"reward":null,{tail}{{}}}}'


async def test_organizations_are_kept_apart(acme: Tenant, rival: Tenant, client: Client) -> None:
    version = await create_version(acme)
    _, trials = await create_run(acme, version, [Attempt(1.0, steps=[step(1)]), Attempt(0.5)])
    (mine, _) = await rollout_ids(acme, [trial.id for trial in trials])
    async with client(rival) as web:
        for kind in ("all", "successful", "failed", "recovery", "preference"):
            assert (await web.get(URL, params={"kind": kind})).text == ""
            response = await web.get(URL, params={"kind": kind, "environmentVersionId": str(version.id)})
            assert (response.status_code, response.text) == (200, "")
        unknown = "00000000-0000-7000-8000-000000000000"
        answers = [await web.get(f"{URL}/{id}") for id in (mine, unknown, "not-an-id", "%00", "{" + mine + "}")]
    assert [answer.status_code for answer in answers] == [404] * 5
    assert len({answer.content for answer in answers}) == 1
    assert len({repr(sorted(answer.headers.items())) for answer in answers}) == 1


async def test_workers_may_not_read_rollouts(acme: Tenant, client: Client) -> None:
    _, trials = await create_run(acme, await create_version(acme), [Attempt(1.0)])
    (rollout_id,) = await rollout_ids(acme, [trial.id for trial in trials])
    statuses = {}
    for role in ("owner", "member", "viewer", "worker"):
        async with client(acme, role) as web:
            statuses[role] = [(await web.get(url)).status_code for url in (URL, f"{URL}/{rollout_id}")]
    assert statuses == {"owner": [200] * 2, "member": [200] * 2, "viewer": [200] * 2, "worker": [403] * 2}


async def test_a_line_stays_a_line(acme: Tenant, client: Client) -> None:
    """Also when steps were stored as JSON of many lines."""
    _, (trial,) = await create_run(acme, await create_version(acme), [Attempt(1.0)])
    pretty = json.dumps([step(1, observation="a\nb\r\u2028c")], indent=1, ensure_ascii=False).replace("\n", "\r\n")
    async with acme.transaction() as transaction:
        connection = transaction.connection
        trials = await connection.fetch(
            "insert into evaluation_trials (evaluation_run_id, environment_version_id, attempt, seed) "
            "select evaluation_run_id, environment_version_id, 2, 0 from evaluation_trials where id = $1 returning id",
            trial.id,
        )
        await connection.execute(
            "insert into trajectory_artifacts (evaluation_trial_id, execution, name, log, steps, step_count) "
            "values ($1, 0, 'n', '\"\"', $2, 1)",
            trials[0]["id"],
            pretty,
        )
        await transaction.fetch_one(rollouts.CREATE, trials[0]["id"])
    async with client(acme) as web:
        newest, _ = lines((await web.get(URL)).content)
    assert newest["trajectory"] == json.loads(pretty)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(categories=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(observations=st.lists(values, min_size=1, max_size=8))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_the_steps_hold_comes_out_equal(acme: Tenant, client: Client, observations: list[Any]) -> None:
    known = ["\0", "\ud800", "\u2028\u2029", "\x1b[31m", 2**200, -(2**63), 5e-324, 1.7976931348623157e308, -0.0]
    steps = [{**step(number), "observation": value} for number, value in enumerate(known + observations, 1)]
    version = await create_version(acme, f"environment-{uuid4()}")
    await create_run(acme, version, [Attempt(0.5, steps=steps)])
    async with client(acme) as web:
        (line,) = lines((await web.get(URL, params={"limit": "1"})).content)
    # The text tells 1 from 1.0 and -0.0 from 0.0; two neighbouring surrogates read as the character that they are.
    assert json.dumps(line["trajectory"]) == json.dumps(steps)
