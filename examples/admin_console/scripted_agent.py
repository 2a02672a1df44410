"""An agent without a model: a script that does the shop's task through MCP, as well as its habits let it."""

import argparse
import asyncio
import hashlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters


@dataclass(frozen=True)
class Profile:
    """One way of working; weight is its share of 100 attempts."""

    name: str
    weight: int
    restocks: Literal["enough", "one_case", "nothing"] = "enough"
    forgotten_units: int = 0
    checks_out: bool = True
    crashes: bool = False
    only_talks: bool = False


PROFILES = (
    Profile("careful", 40),
    Profile("forgets the checkout", 13, checks_out=False),
    Profile("miscounts the order", 13, forgotten_units=1),
    Profile("restocks a single case", 10, restocks="one_case"),
    Profile("does not restock", 10, restocks="nothing"),
    Profile("only talks", 7, only_talks=True),
    Profile("crashes", 7, crashes=True),
)

# Picked once, so that seed 0 shows every profile within eight attempts.
SALT = "admin-console-39"

TASK = re.compile(r"Restock (?P<sku>\S+) .*order for (?P<units>\d+) of it for (?P<name>.+) in (?P<city>\w+)")


def choose_profile(seed: int, attempt: int) -> Profile:
    """The profile of an attempt: a hash of seed and attempt (both integers) spread over the weights."""
    digest = hashlib.sha256(f"{SALT} {seed} {attempt}".encode()).digest()
    position = int.from_bytes(digest[:8]) % sum(profile.weight for profile in PROFILES)
    for profile in PROFILES:
        if position < profile.weight:
            return profile
        position -= profile.weight
    raise AssertionError("a position lies within the sum of the weights")


def say(text: str) -> None:
    """Write a line to the log, at once."""
    print(text, flush=True)


class ToolRefused(Exception):
    """A tool answered with an error; the message is the tool's."""


@dataclass(frozen=True)
class Console:
    """The tools of the shop, each call and answer logged."""

    client: Client

    async def call(self, tool: str, **arguments: object) -> Any:
        """Call a tool and return its structured result. Raises ToolRefused with the text of an error."""
        say(f"-> {tool} {json.dumps(arguments)}")
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error:
            text = " ".join(block.text for block in answer.content if block.type == "text")
            say(f"<- refused: {text}")
            raise ToolRefused(text)
        content = answer.structured_content or {}
        say(f"<- {json.dumps(content)}")
        return content.get("result", content)


async def restock(console: Console, profile: Profile, sku: str) -> None:
    """Order full cases of a SKU, as many as the profile thinks are needed."""
    product = next(each for each in await console.call("search_products", query=sku) if each["sku"] == sku)
    case_size = product["case_size"]
    cases = math.ceil((product["reorder_level"] - product["stock"]) / case_size)
    if profile.restocks == "one_case":
        cases = 1
    say(f"{sku} has {product['stock']} of {product['reorder_level']} units: {cases} cases of {case_size}.")
    await console.call("restock", sku=sku, quantity=cases * case_size)


async def order(console: Console, profile: Profile, sku: str, units: int, customer_id: int) -> None:
    """Order units of a SKU for a customer, and check out unless the profile forgets to."""
    order_id = (await console.call("create_order", customer_id=customer_id))["order_id"]
    quantity = units - profile.forgotten_units
    await console.call("set_order_line", order_id=order_id, sku=sku, quantity=quantity)
    if not profile.checks_out:
        say(f"Order {order_id} is in the system.")
        return
    total = (await console.call("get_order", order_id=order_id))["total_cents"]
    await console.call("checkout", order_id=order_id, confirmed_total_cents=total)
    say(f"Order {order_id} over {total} cents is checked out.")


async def work(console: Console, profile: Profile, wanted: re.Match[str]) -> None:
    """Do the task, in the profile's way."""
    if profile.only_talks:
        tools = await console.client.list_tools()
        say(f"I could use {', '.join(tool.name for tool in tools.tools)}. That should do it.")
        return
    await console.call("list_low_stock")
    if profile.restocks != "nothing":
        await restock(console, profile, wanted["sku"])
    if profile.crashes:
        raise RuntimeError("lost the plan half-way")
    people = await console.call("list_customers", name=wanted["name"])
    customer = next(person for person in people if person["city"] == wanted["city"])
    await order(console, profile, wanted["sku"], int(wanted["units"]), customer["customer_id"])


async def main() -> None:
    """Read the command line, connect to the one server of the MCP configuration, and work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--mcp-config", required=True, type=Path)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--attempt", required=True, type=int)
    options = parser.parse_args()
    profile = choose_profile(options.seed, options.attempt)
    say(f"Attempt {options.attempt} on seed {options.seed}, as an agent that is: {profile.name}.")
    wanted = TASK.search(options.task)
    if wanted is None:
        parser.error("this script only knows the task of the admin console")
    configuration = json.loads(options.mcp_config.read_text("utf-8"))
    server = StdioServerParameters.model_validate(configuration["mcpServers"]["environment"])
    # The initialize handshake is what today's agents send, so a recorded trajectory looks like theirs.
    async with Client(server, mode="legacy") as client:
        try:
            await work(Console(client), profile, wanted)
        except ToolRefused:
            say("That was refused, and I know no other way. I give up.")


if __name__ == "__main__":
    asyncio.run(main())
