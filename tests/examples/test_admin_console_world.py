"""The world of the admin console: what a seed determines, and when its tools say no."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.examples.console import MANIFEST, call, command, environment, make, refusal, run, world

LOWEST, HIGHEST = -(2**63), 2**63 - 1


async def build(directory: Path, seed: int) -> list[str]:
    """The SQL dump of a shop, after a world that nobody spoke to has ended."""
    ended = await run(command(MANIFEST["world"]["command"]), directory, environment(seed))
    assert (ended.code, ended.out) == (0, ""), ended.err
    with closing(sqlite3.connect(directory / "shop.sqlite")) as connection:
        return list(connection.iterdump())


def test_the_manifest_holds_what_an_environment_declares() -> None:
    assert set(MANIFEST) == {"task", "world", "evaluator", "stages", "limits"}
    assert MANIFEST["world"] == {"command": ["{python}", "-m", "admin_console"], "env": {}}
    assert MANIFEST["evaluator"] == {"command": ["{python}", "-m", "admin_console.evaluate"]}
    assert MANIFEST["stages"] == ["stage_inventory", "stage_checkout"]
    assert set(MANIFEST["limits"]) == {"seconds", "steps", "log_bytes", "observation_bytes"}
    assert all(isinstance(limit, int) and limit > 0 for limit in MANIFEST["limits"].values())


async def test_a_seed_determines_the_shop_and_its_sign_counts(tmp_path: Path) -> None:
    seeds = [HIGHEST, HIGHEST, LOWEST, 1, -1]
    dumps = await asyncio.gather(*(build(make(tmp_path / str(n)), seed) for n, seed in enumerate(seeds)))
    assert dumps[0] == dumps[1]
    shops = {"\n".join(line for line in dump if '"world"' not in line) for dump in dumps}
    assert len(shops) == 4


async def test_the_tools_describe_themselves_and_the_target_cannot_be_sold_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, HIGHEST) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            "search_products", "list_low_stock", "restock", "list_customers",
            "create_order", "set_order_line", "get_order", "checkout",
        }  # fmt: skip
        assert all(tool.description and tool.output_schema for tool in tools)
        reading = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
        assert reading == {"search_products", "list_low_stock", "list_customers", "get_order"}
        catalogue = await call(client, "search_products")
        assert [product["sku"] for product in catalogue] == [f"SKU-{n}" for n in range(1, 13)]
        target = catalogue[8]
        assert target["stock"] < 3
        assert target in await call(client, "list_low_stock")
        assert await call(client, "search_products", query="sku-9") == [target]
        assert await call(client, "search_products", query="%") == []
        people = await call(client, "list_customers", name="ada moreno")
        assert len({person["city"] for person in people}) == 2


async def test_the_shop_refuses_what_its_rules_forbid_and_changes_nothing(tmp_path: Path) -> None:
    async with world(tmp_path, 0) as client:
        (target,) = await call(client, "search_products", query="SKU-9")
        case_size, room = target["case_size"], target["shelf_capacity"] - target["stock"]
        too_much = case_size * (room // case_size + 1)
        buyer = (await call(client, "list_customers"))[0]["customer_id"]
        order_id = (await call(client, "create_order", customer_id=buyer))["order_id"]

        assert "no product 'SKU-99'" in await refusal(client, "restock", sku="SKU-99", quantity=4)
        assert f"full cases of {case_size}" in await refusal(client, "restock", sku="SKU-9", quantity=case_size + 1)
        assert f"room for {room} more" in await refusal(client, "restock", sku="SKU-9", quantity=too_much)
        assert "greater than or equal to 1" in await refusal(client, "restock", sku="SKU-9", quantity=-case_size)
        assert "no customer 99" in await refusal(client, "create_order", customer_id=99)
        assert "no order 7" in await refusal(client, "get_order", order_id=7)
        line = {"order_id": order_id, "sku": "SKU-9"}
        assert "are in stock" in await refusal(client, "set_order_line", **line, quantity=3)
        empty = await refusal(client, "checkout", order_id=order_id, confirmed_total_cents=0)
        assert "is empty" in empty

        order = await call(client, "get_order", order_id=order_id)
        assert (order["status"], order["lines"], order["total_cents"]) == ("open", [], 0)
        assert await call(client, "search_products", query="SKU-9") == [target]


async def test_an_order_is_checked_out_once_with_its_confirmed_total(tmp_path: Path) -> None:
    async with world(tmp_path, LOWEST) as client:
        (target,) = await call(client, "search_products", query="SKU-9")
        await call(client, "restock", sku="SKU-9", quantity=target["case_size"])
        buyers = [person["customer_id"] for person in await call(client, "list_customers")]
        first = await call(client, "create_order", customer_id=buyers[0])
        line = {"order_id": first["order_id"], "sku": "SKU-9"}
        await call(client, "set_order_line", **line, quantity=1)
        order = await call(client, "set_order_line", **line, quantity=3)
        assert order["total_cents"] == 3 * target["price_cents"]
        wrong = {"order_id": first["order_id"], "confirmed_total_cents": order["total_cents"] + 1}
        assert "is not the total" in await refusal(client, "checkout", **wrong)
        right = wrong | {"confirmed_total_cents": order["total_cents"]}
        assert (await call(client, "checkout", **right))["status"] == "checked_out"
        assert "can no longer change" in await refusal(client, "checkout", **right)
        assert "can no longer change" in await refusal(client, "set_order_line", **line, quantity=0)
        (left,) = await call(client, "search_products", query="SKU-9")
        assert left["stock"] == target["stock"] + target["case_size"] - 3


async def test_a_shop_is_kept_by_a_second_world_and_never_shared_between_seeds(tmp_path: Path) -> None:
    dump = await build(make(tmp_path / "shop"), 5)
    arguments = command(MANIFEST["world"]["command"])
    same, other = await asyncio.gather(*(run(arguments, tmp_path / "shop", environment(seed)) for seed in (5, 6)))
    assert (same.code, other.code) == (0, 1)
    assert "holds the shop of seed 5" in other.err
    with closing(sqlite3.connect(tmp_path / "shop" / "shop.sqlite")) as connection:
        assert list(connection.iterdump()) == dump
