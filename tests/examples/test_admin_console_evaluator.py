"""The evaluator of the admin console: each kind of work scored from the shop that it left behind."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.examples.console import MANIFEST, call, command, environment, evaluate, run, world

SEED = 7


async def target(client: Client) -> Any:
    """The product of the task."""
    (product,) = await call(client, "search_products", query="SKU-9")
    return product


async def fill_shelf(client: Client) -> None:
    """Restock the target as the task asks."""
    product = await target(client)
    missing, case_size = product["reorder_level"] - product["stock"], product["case_size"]
    await call(client, "restock", sku="SKU-9", quantity=-(-missing // case_size) * case_size)


async def sell(client: Client, *, in_lisbon: bool) -> int:
    """Check out 3 of the target for Ada Moreno in Lisbon, or for her namesake; return the order's number."""
    people = await call(client, "list_customers", name="Ada Moreno")
    person = next(person for person in people if (person["city"] == "Lisbon") == in_lisbon)
    order_id: int = (await call(client, "create_order", customer_id=person["customer_id"]))["order_id"]
    order = await call(client, "set_order_line", order_id=order_id, sku="SKU-9", quantity=3)
    await call(client, "checkout", order_id=order_id, confirmed_total_cents=order["total_cents"])
    return order_id


async def test_a_world_that_was_left_alone_scores_zero_and_says_so(tmp_path: Path) -> None:
    await run(command(MANIFEST["world"]["command"]), tmp_path, environment(SEED))
    verdict = await evaluate(tmp_path, SEED)
    assert (verdict["reward"], verdict["failure_category"]) == (0, "nothing_done")
    assert (verdict["stage_inventory"], verdict["stage_checkout"]) == (0, 0)


async def test_without_a_shop_there_is_no_score(tmp_path: Path) -> None:
    ended = await run(command(MANIFEST["evaluator"]["command"]), tmp_path, environment(SEED))
    assert (ended.code, ended.out) == (1, "")


async def test_verdicts_follow_the_shop_step_by_step(tmp_path: Path) -> None:
    """One world, scored after each further step; the best new order counts."""
    async with world(tmp_path, SEED) as client:
        await fill_shelf(client)
        verdict = await evaluate(tmp_path, SEED)
        assert (verdict["reward"], verdict["failure_category"]) == (0.4, "checkout_incomplete")
        assert verdict["failure_detail"] == "no order was opened"

        await sell(client, in_lisbon=False)
        verdict = await evaluate(tmp_path, SEED)
        assert (verdict["reward"], verdict["failure_category"]) == (0.55, "wrong_customer")

        await call(client, "restock", sku="SKU-9", quantity=(await target(client))["case_size"])
        await sell(client, in_lisbon=True)
        verdict = await evaluate(tmp_path, SEED)
        assert (verdict["stage_inventory"], verdict["stage_checkout"]) == (1, 1)
        assert (verdict["reward"], verdict["failure_category"]) == (0.5, "collateral_damage")
        assert (verdict["orders"], verdict["collateral_changes"]) == (2, 1)


@pytest.mark.parametrize("change", ["other stock", "earlier order"])
async def test_a_perfect_order_beside_collateral_damage_is_worth_half(tmp_path: Path, change: str) -> None:
    async with world(tmp_path, SEED) as client:
        await fill_shelf(client)
        order_id = await sell(client, in_lisbon=True)
        if change == "other stock":
            (other,) = await call(client, "search_products", query="SKU-3")
            await call(client, "restock", sku="SKU-3", quantity=other["case_size"])
        else:
            # The last order of a new shop stands open, and numbers are given out in turn.
            await call(client, "set_order_line", order_id=order_id - 1, sku="SKU-3", quantity=4)
        verdict = await evaluate(tmp_path, SEED)
    assert (verdict["reward"], verdict["failure_category"]) == (0.5, "collateral_damage")
    assert verdict["collateral_changes"] == 1


async def test_a_killed_world_loses_nothing_that_it_answered(tmp_path: Path) -> None:
    def request(number: int, method: str, params: dict[str, Any]) -> bytes:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return json.dumps(message).encode() + b"\n"

    process = await asyncio.create_subprocess_exec(
        *command(MANIFEST["world"]["command"]),
        cwd=tmp_path,
        env=environment(SEED),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    customer = {"name": "list_customers", "arguments": {"name": "Ada Moreno"}}
    process.stdin.write(request(1, "initialize", hello))
    await asyncio.wait_for(process.stdout.readline(), 30)
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.write(request(2, "tools/call", customer))
    answer = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
    buyer = answer["result"]["structuredContent"]["result"][0]["customer_id"]
    order = {"name": "create_order", "arguments": {"customer_id": buyer}}
    process.stdin.write(request(3, "tools/call", order))
    await asyncio.wait_for(process.stdout.readline(), 30)
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    assert (await evaluate(tmp_path, SEED))["orders"] == 1
