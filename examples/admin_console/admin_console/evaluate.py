"""Score a shop against the untouched shop of the same seed, and print one JSON object."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass

from admin_console import seeding, shop
from admin_console.seeding import TARGET_CUSTOMER, TARGET_QUANTITY, TARGET_SKU

INVENTORY_WEIGHT = 0.4
CHECKOUT_WEIGHT = 0.6
COLLATERAL_FACTOR = 0.5


@dataclass(frozen=True)
class OrderState:
    """An order: whose, how far, and how many units of which SKU."""

    customer_id: int
    status: str
    lines: dict[str, int]


@dataclass(frozen=True)
class ShopState:
    """What the score depends on: stock and restocked units by SKU, orders by number."""

    stock: dict[str, int]
    restocked: dict[str, int]
    orders: dict[int, OrderState]


@dataclass(frozen=True)
class Finding:
    """How far a stage came (0 to 1), and what is missing; category and detail are None when nothing is."""

    credit: float
    category: str | None = None
    detail: str | None = None


def read_state(connection: sqlite3.Connection) -> ShopState:
    """Read the state of a shop."""
    orders = {
        number: OrderState(customer_id, status, {})
        for number, customer_id, status in connection.execute("SELECT order_id, customer_id, status FROM orders")
    }
    for number, sku, quantity in connection.execute("SELECT order_id, sku, quantity FROM order_lines"):
        orders[number].lines[sku] = quantity
    return ShopState(
        stock=dict(connection.execute("SELECT sku, stock FROM products")),
        restocked=dict(connection.execute("SELECT sku, sum(quantity) FROM restocks GROUP BY sku")),
        orders=orders,
    )


def judge_inventory(restocked: int, needed: int) -> Finding:
    """Judge the units of the target that were restocked against the units needed."""
    if restocked == 0:
        return Finding(0.0, "restock_missing", f"{TARGET_SKU} was not restocked; {needed} units were needed")
    if restocked < needed:
        detail = f"{TARGET_SKU} was restocked with {restocked} units; {needed} were needed"
        return Finding(0.5, "restock_incomplete", detail)
    return Finding(1.0)


def judge_order(number: int, order: OrderState, customer_id: int) -> Finding:
    """Judge one new order."""
    if TARGET_SKU not in order.lines:
        return Finding(0.0, "checkout_incomplete", f"order {number} holds no {TARGET_SKU}")
    if order.customer_id != customer_id:
        detail = f"order {number} is for customer {order.customer_id}, not {customer_id}"
        return Finding(0.25, "wrong_customer", detail)
    if order.lines != {TARGET_SKU: TARGET_QUANTITY}:
        detail = f"order {number} holds {order.lines}, not {TARGET_QUANTITY} of {TARGET_SKU}"
        return Finding(0.25, "wrong_quantity", detail)
    if order.status != "checked_out":
        return Finding(0.5, "checkout_incomplete", f"order {number} was not checked out")
    return Finding(1.0)


def judge_checkout(orders: dict[int, OrderState], customer_id: int) -> tuple[int | None, Finding]:
    """Judge the new orders by the best of them; return its number too, None when there is none."""
    if not orders:
        return None, Finding(0.0, "checkout_incomplete", "no order was opened")
    findings = {number: judge_order(number, order, customer_id) for number, order in orders.items()}
    best = max(findings, key=lambda number: findings[number].credit)
    return best, findings[best]


def count_collateral(before: ShopState, after: ShopState, judged_order: int | None) -> int:
    """Count what changed and should not have: other stock, earlier orders, further orders checked out."""
    stock = sum(before.stock[sku] != units for sku, units in after.stock.items() if sku != TARGET_SKU)
    earlier = sum(after.orders[number] != order for number, order in before.orders.items())
    further = sum(
        order.status == "checked_out"
        for number, order in after.orders.items()
        if number not in before.orders and number != judged_order
    )
    return stock + earlier + further


def score(before: ShopState, after: ShopState, needed: int, customer_id: int) -> dict[str, object]:
    """Score a shop; needed is in units, customer_id is who the order has to be for."""
    restocked = after.restocked.get(TARGET_SKU, 0)
    new_orders = {number: order for number, order in after.orders.items() if number not in before.orders}
    inventory = judge_inventory(restocked, needed)
    judged_order, checkout = judge_checkout(new_orders, customer_id)
    collateral = count_collateral(before, after, judged_order)
    reward = INVENTORY_WEIGHT * inventory.credit + CHECKOUT_WEIGHT * checkout.credit
    if after == before:
        cause = Finding(0.0, "nothing_done", "the shop is as it was")
    else:
        damage = Finding(1.0, "collateral_damage", f"{collateral} unrelated changes") if collateral else Finding(1.0)
        # The first thing that went wrong is the one to improve.
        cause = next((finding for finding in (inventory, checkout) if finding.category), damage)
    return {
        "reward": round(reward * (COLLATERAL_FACTOR if collateral else 1.0), 4),
        "stage_inventory": inventory.credit,
        "stage_checkout": checkout.credit,
        "failure_category": cause.category,
        "failure_detail": cause.detail,
        "units_restocked": restocked,
        "orders": len(new_orders),
        "collateral_changes": collateral,
    }


def evaluate() -> dict[str, object]:
    """Score the shop in the working directory. Raises sqlite3.Error when there is none."""
    # Not read-only: a killed server may have left a journal that has to be rolled back first.
    with (
        closing(sqlite3.connect(f"file:{shop.DATABASE}?mode=rw", uri=True)) as shop_database,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as untouched,
    ):
        (seed,) = shop_database.execute("SELECT seed FROM world").fetchone()
        seeding.build(untouched, seed)
        (needed,) = untouched.execute(
            "SELECT reorder_level - stock FROM products WHERE sku = ?", (TARGET_SKU,)
        ).fetchone()
        (customer_id,) = untouched.execute(
            "SELECT customer_id FROM customers WHERE name = ? AND city = ?", TARGET_CUSTOMER
        ).fetchone()
        return score(read_state(untouched), read_state(shop_database), needed, customer_id)


if __name__ == "__main__":
    print(json.dumps(evaluate()))
