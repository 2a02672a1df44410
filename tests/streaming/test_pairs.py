"""Pairs of messages for training by preference."""

from itertools import product
from typing import Any

import pytest

from db.tenant import Tenant
from tests.factory import MANIFEST, Attempt
from tests.streaming.recorded import CUT, FUNCTIONS, LISTED, attempt, rollouts_of
from tests.streaming.test_messages import CALL, turn
from tests.streaming.web import Client, lines

URL = "/api/v1/rollouts"
TRL = {"kind": "preference", "format": "trl"}
TASK = {"role": "user", "content": MANIFEST["task"]}
LOOK = ("look", '{"at":1}', "a shelf")


async def exported(client: Client, tenant: Tenant, **parameters: str) -> list[Any]:
    async with client(tenant) as web:
        response = await web.get(URL, params=TRL | parameters)
    assert response.status_code == 200, response.text
    return lines(response.content)


async def test_whole_trajectories(acme: Tenant, client: Client) -> None:
    made = (
        attempt(0.25, LOOK, ("order", "{}", CUT)),
        attempt(None, CALL),
        attempt(1.0, LOOK, CALL),
        attempt(0.5, CALL),
    )
    worst, _, best, _ = await rollouts_of(acme, *made)
    (line,) = await exported(client, acme)
    async with client(acme) as web:
        plain = await web.get(URL, params={"kind": "preference"})
        headers = (await web.get(URL, params=TRL)).headers
    (pair,) = lines(plain.content)
    assert headers["content-disposition"].endswith('"agentforge-preferences-trl.jsonl"')
    assert line == {
        "schemaVersion": 1,
        "privacyClass": "PRIVATE",
        "format": "trl",
        "pair": "trajectory",
        "pairId": f"{best}:{worst}",
        "environmentVersionId": pair["environmentVersionId"],
        "chosenRolloutId": best,
        "rejectedRolloutId": worst,
        "chosenReward": 1,
        "rejectedReward": 0.25,
        "prompt": [TASK],
        "chosen": [*turn(1, *_parsed(LOOK)), *turn(2, *_parsed(CALL))],
        "rejected": [*turn(1, *_parsed(LOOK)), *turn(2, "order", {}, CUT)],
        "tools": FUNCTIONS,
        "truncatedSteps": {"chosen": [], "rejected": [4]},
    }
    assert (pair["preferred"], pair["rejected"]) == (best, worst)
    assert await exported(client, acme, pair="trajectory", pairs="extreme") == [line]


def _parsed(call: tuple[str, str, str]) -> tuple[str, Any, str]:
    return call[0], {"at": 1} if call is LOOK else {}, call[2]


async def test_where_they_part(acme: Tenant, client: Client) -> None:
    # The same call in another order of its arguments, and a request of the protocol between.
    first = ("order", '{"a": 1, "b": "é"}', "done")
    same = ("order", '{"b":"\\u00e9","a":1}', "done")
    made = (attempt(0.0, first, ("mcp", "ping", "{}"), LOOK), attempt(1.0, same, CALL, LOOK))
    await rollouts_of(acme, *made)
    (line,) = await exported(client, acme, pair="divergence")
    assert line["pair"] == "divergence"
    assert line["prompt"] == [TASK, *turn(1, "order", {"b": "é", "a": 1}, "done")]
    assert line["chosen"] == turn(2, *_parsed(CALL))[:1]
    assert line["rejected"] == turn(2, *_parsed(LOOK))[:1]


@pytest.mark.parametrize(
    ("best", "worst"),
    [
        ([CALL], [CALL]),
        ([CALL, LOOK], [CALL]),  # one has ended
        ([CALL, LOOK], [(*CALL[:2], "refused"), CALL]),  # another answer to the same call
    ],
)
async def test_what_does_not_part(acme: Tenant, client: Client, best: list[Any], worst: list[Any]) -> None:
    await rollouts_of(acme, attempt(0.0, *worst), attempt(1.0, *best))
    (manifest,) = await exported(client, acme, pair="divergence", manifest="true")
    assert (manifest["rollouts"], manifest["skipped"]) == (0, {"no_divergence": 1})
    assert len(await exported(client, acme)) == 1
    async with client(acme) as web:
        refused = await web.get(URL, params=TRL | {"pair": "divergence", "strict": "true"})
    assert (refused.status_code, refused.json()["field"]) == (400, ["strict"])


@pytest.mark.parametrize("pair", ["1", '"1"'])
async def test_a_number_is_not_its_text(acme: Tenant, client: Client, pair: str) -> None:
    await rollouts_of(acme, attempt(0.0, ("order", '{"a":1.0}', "")), attempt(1.0, ("order", f'{{"a":{pair}}}', "")))
    assert len(await exported(client, acme, pair="divergence")) == 1


async def test_tools_that_differ_or_were_never_asked_for(acme: Tenant, client: Client) -> None:
    await rollouts_of(acme, attempt(0.0, CALL, listed=""), attempt(1.0, CALL))
    (line,) = await exported(client, acme)
    assert line["tools"] == FUNCTIONS
    await rollouts_of(acme, attempt(0.0, CALL, listed=LISTED.replace("Places", "Makes")), attempt(1.0, CALL))
    *whole, manifest = await exported(client, acme, manifest="true")
    assert (whole, manifest["skipped"]) == ([line], {"tools_differ": 1})


REWARDS = [0.0, 1.0, None, 0.25, 0.25, 0.5]


async def test_all_pairs(acme: Tenant, client: Client) -> None:
    of_versions = []
    for _ in range(2):
        made = await rollouts_of(acme, *[attempt(reward, CALL) for reward in REWARDS])
        of_versions.append(list(zip(REWARDS, made, strict=True)))

    def expected(margin: float = 0, most: int = 100) -> list[str]:
        found: list[str] = []
        for rollouts in reversed(of_versions):
            pairs = [
                (high - low, best, worst)
                for (high, best), (low, worst) in product(rollouts, rollouts)
                if high is not None and low is not None and high > low and high - low >= margin
            ]
            pairs.sort(key=lambda pair: pair[2])
            pairs.sort(key=lambda pair: pair[:2], reverse=True)
            found += [f"{best}:{worst}" for _, best, worst in pairs[:most]]
        return found

    async def pairs(**parameters: str) -> list[str]:
        return [line["pairId"] for line in await exported(client, acme, pairs="all", **parameters)]

    assert await pairs() == expected()
    assert len(expected()) == 2 * 9
    assert await pairs(minMargin="0.5") == expected(0.5)
    assert await pairs(minMargin="0.5", maxPerVersion="2") == expected(0.5, 2)
    assert await pairs(limit="3") == expected()[:3]
    assert await pairs(minMargin="1.5") == []


@pytest.mark.parametrize("rewards", [(0.1, 0.3), (0.8, 1.0), (0.7, 0.9)])
async def test_margins_are_those_of_the_numbers_that_lines_show(
    acme: Tenant, client: Client, rewards: tuple[float, float]
) -> None:
    # In binary, 0.3 - 0.1 is a little less than 0.2, and 0.9 - 0.7 a little more.
    await rollouts_of(acme, *[attempt(reward, CALL) for reward in rewards])
    assert len(await exported(client, acme, pairs="all", minMargin="0.2")) == 1
    assert await exported(client, acme, pairs="all", minMargin="0.20000000000000001") != []
    assert await exported(client, acme, pairs="all", minMargin="0.2000001") == []


async def test_of_equal_margins_the_newest_comes_first(acme: Tenant, client: Client) -> None:
    # In binary, 0.8 - 0.1 is more than 1 - 0.3, and 0.3 - 0.1 more than 1 - 0.8.
    a, b, c, d = await rollouts_of(acme, *[attempt(reward, CALL) for reward in (0.1, 0.3, 0.8, 1.0)])
    whole = [line["pairId"] for line in await exported(client, acme, pairs="all")]
    assert whole == [f"{high}:{low}" for high, low in ((d, a), (d, b), (c, a), (c, b), (d, c), (b, a))]


async def test_no_pair_reaches_into_another_version(acme: Tenant, rival: Tenant, client: Client) -> None:
    for reward in (0.0, 1.0):
        await rollouts_of(acme, attempt(reward, CALL), Attempt(None, "errored"))
    assert await exported(client, acme) == await exported(client, acme, pairs="all") == []
    await rollouts_of(acme, attempt(0.0, CALL), attempt(1.0, CALL))
    assert len(await exported(client, acme, pairs="all")) == 1
    assert await exported(client, rival, pairs="all") == await exported(client, rival) == []
    async with client(acme) as web:
        head = await web.head(URL, params=TRL)
    assert "x-rollout-count" not in head.headers


async def test_filters_choose_who_takes_part(acme: Tenant, client: Client) -> None:
    made = await rollouts_of(acme, attempt(0.0, CALL), attempt(1.0, CALL))
    (line,) = await exported(client, acme)
    assert await exported(client, acme, environmentVersionId=line["environmentVersionId"]) == [line]
    assert await exported(client, acme, evaluationRunId="00000000-0000-7000-8000-000000000000") == []
    assert await exported(client, acme, after=line["environmentVersionId"]) == []
    assert await exported(client, acme, since="2026-01-31T09:00:00Z") == [line]
    assert {line["chosenRolloutId"], line["rejectedRolloutId"]} == set(made)


REFUSED = [
    ({"format": "xml"}, "format", "atif-shaped, atif, openai-messages with kind=all."),
    ({"format": "trl"}, "format", "atif-shaped, atif, openai-messages with kind=all."),
    ({"kind": "preference", "format": "atif"}, "format", "preference-pair, trl with kind=preference."),
    ({"pair": "divergence"}, "pair", "kind=preference&format=trl only"),
    ({"kind": "preference", "pairs": "all"}, "pairs", "kind=preference&format=trl only"),
    (TRL | {"pair": "step"}, "pair", "one of trajectory, divergence."),
    (TRL | {"pairs": "best"}, "pairs", "one of extreme, all."),
    (TRL | {"minMargin": "0.5"}, "minMargin", "pairs=all only"),
    (TRL | {"maxPerVersion": "5", "pairs": "extreme"}, "maxPerVersion", "pairs=all only"),
    *((TRL | {"pairs": "all", "minMargin": bad}, "minMargin", "a number from 0") for bad in ("nan", "-1", "1e3", "")),
    *((TRL | {"pairs": "all", "maxPerVersion": bad}, "maxPerVersion", "1 to 10000") for bad in ("0", "10001", "x")),
    (TRL | {"pairs": "all", "after": "00000000-0000-7000-8000-000000000000"}, "after", "use environmentVersionId"),
    ({"strict": "1"}, "strict", "true or false"),
]


async def test_what_cannot_be_asked_for_is_named(acme: Tenant, client: Client) -> None:
    async with client(acme) as web:
        for parameters, field, detail in REFUSED:
            response = await web.get(URL, params=parameters)
            assert (response.status_code, response.json()["field"]) == (400, [field]), parameters
            assert detail in response.json()["detail"]
