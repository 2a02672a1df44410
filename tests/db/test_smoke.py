from db import trials
from db.tenant import Tenant
from tests.factory import Attempt, create_run, create_version, step


async def test_rows_of_one_organization_are_not_seen_by_another(
    acme: Tenant, rival: Tenant, statements: list[str]
) -> None:
    version = await create_version(acme)
    run, made = await create_run(
        acme,
        version,
        [Attempt(1.0, stages={"stage_a": 1}, steps=[step(1)]), Attempt(None, "errored", "agent_crashed")],
    )
    statements.clear()
    assert [t.id for t in await acme.fetch(trials.BY_RUNS, [run.id])] == [t.id for t in made]
    assert await rival.fetch(trials.BY_RUNS, [run.id]) == []
    assert statements == ["trials.by_runs"] * 2
