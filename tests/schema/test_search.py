"""Trials found by words of their logs and steps."""

from db.tenant import Tenant
from schema.graph import graph
from tests.factory import Attempt, create_run, create_version, step
from tests.schema.asking import ask, nodes, session
from tests.schema.filter_model import TEXTS
from tests.schema.test_paging import ORDERS, pages, with_arguments
from tests.schema.world import World, build_world

FOUND = "evaluationTrials(filter: { text: $words }, orderBy: OLDEST) { totalCount edges { node { id } } }"
SEARCH = f"query($words: String!) {{ {FOUND} }}"


async def test_pages_of_what_is_found_put_together(acme: Tenant) -> None:
    version = await create_version(acme)
    for number in range(4):
        attempts = [Attempt(place / 8, log="good" if place % 2 else f"bad {number}") for place in range(8)]
        await create_run(acme, version, attempts)
    for order in ORDERS:
        listed = with_arguments(f"evaluationTrials(orderBy: {order})", 'filter: { text: "good", rewardBelow: 0.8 }')
        (whole,) = await pages(acme, listed, 500, "reward")
        assert sorted(node["reward"] for node in whole) == sorted([1 / 8, 3 / 8, 5 / 8] * 4)
        found = await pages(acme, listed, 5, "reward")
        assert [len(page) for page in found] == [5, 5, 2]
        assert [node for page in found for node in page] == whole


async def test_a_search_is_one_statement_and_compiled(world: World, statements: list[str]) -> None:
    statements.clear()
    data = await graph.compiled(SEARCH, {"words": "log"}, None, session(world.tenant).context())
    assert data is not None
    assert statements == ["trials.page_oldest", "trials.count"]


async def test_words_come_from_any_step_and_the_log_together(acme: Tenant) -> None:
    steps = [step(number, command=f"command {number}") for number in range(1, 251)]
    _, (trial,) = await create_run(acme, await create_version(acme), [Attempt(1.0, steps=steps, log="from the log")])
    found = (await ask(acme, SEARCH, words="LOG 7 249 initialize"))["evaluationTrials"]
    assert found == {"totalCount": 0, "edges": []}
    found = (await ask(acme, SEARCH, words="LOG 7 249 command"))["evaluationTrials"]
    assert found == {"totalCount": 1, "edges": [{"node": {"id": str(trial.id)}}]}


async def test_another_organization_s_trials_are_never_found(world: World, rival: Tenant) -> None:
    async def found(tenant: Tenant) -> list[set[str]]:
        answers = [(await ask(tenant, SEARCH, words=text))["evaluationTrials"] for text in TEXTS]
        return [{node["id"] for node in nodes(answer)} for answer in answers]

    before = await found(world.tenant)
    assert sum(map(len, before)) > 10
    assert not any(await found(rival))
    await build_world(rival)
    assert await found(world.tenant) == before
    theirs = await found(rival)
    assert list(map(len, theirs)) == list(map(len, before))
    assert not set().union(*theirs) & set().union(*before)


async def test_punctuation_of_every_script_is_space(acme: Tenant) -> None:
    log = "say “hello” to foo—bar… 价格、100元 naïve, a$b+c"
    await create_run(acme, await create_version(acme), [Attempt(1.0, log=log)])
    for words in ("hello", "foo", "bar", "100元", "NAÏVE", '"foo bar"', "“hello”", "b c", '"价格 100元"'):
        assert (await ask(acme, SEARCH, words=words))["evaluationTrials"]["totalCount"] == 1, words
    for words in ("foobar", "naive", "hell"):
        assert (await ask(acme, SEARCH, words=words))["evaluationTrials"]["totalCount"] == 0, words
