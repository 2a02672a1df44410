"""The rules of the shop: what a clerk may read and change, and when the shop says no."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

DATABASE = Path("shop.sqlite")


class ShopError(Exception):
    """A rule of the shop forbids this; the message says which and what to do about it."""


@dataclass(frozen=True)
class Product:
    """A product on the shelf; the supplier delivers it in full cases of case_size units."""

    sku: str
    name: str
    price_cents: int
    stock: int
    reorder_level: int
    case_size: int
    shelf_capacity: int
    supplier: str


@dataclass(frozen=True)
class Customer:
    """Somebody who may order."""

    customer_id: int
    name: str
    city: str


@dataclass(frozen=True)
class OrderLine:
    """One product of an order, at the price of the day it was added."""

    sku: str
    quantity: int
    unit_price_cents: int


@dataclass(frozen=True)
class Order:
    """An order; status is `open` until it is checked out, then `checked_out` for good."""

    order_id: int
    customer_id: int
    status: str
    lines: list[OrderLine]
    total_cents: int


@contextmanager
def transaction(path: Path = DATABASE) -> Iterator[sqlite3.Connection]:
    """One call's transaction: committed at its end, undone when it raises."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, connection:
        connection.row_factory = sqlite3.Row
        # The write lock from the start: calls may run side by side, and each reads before it writes.
        connection.execute("BEGIN IMMEDIATE")
        yield connection


PRODUCTS = """
SELECT sku, products.name, price_cents, stock, reorder_level, case_size, shelf_capacity,
    suppliers.name AS supplier
FROM products JOIN suppliers USING (supplier_id)
"""
IN_CATALOGUE_ORDER = "ORDER BY products.rowid"


def search_products(connection: sqlite3.Connection, query: str) -> list[Product]:
    """Products whose SKU or name contains query, whatever its case; all of them when it is empty."""
    statement = f"{PRODUCTS} WHERE instr(lower(sku || char(10) || products.name), lower(?)) {IN_CATALOGUE_ORDER}"
    return [Product(**row) for row in connection.execute(statement, (query,))]


def list_low_stock(connection: sqlite3.Connection) -> list[Product]:
    """Products with fewer units than their reorder level."""
    statement = f"{PRODUCTS} WHERE stock < reorder_level {IN_CATALOGUE_ORDER}"
    return [Product(**row) for row in connection.execute(statement)]


def get_product(connection: sqlite3.Connection, sku: str) -> Product:
    """The product of a SKU. Raises ShopError when there is none."""
    row = connection.execute(PRODUCTS + " WHERE sku = ?", (sku,)).fetchone()
    if row is None:
        raise ShopError(f"There is no product {sku!r}. search_products lists the SKUs.")
    return Product(**row)


def restock(connection: sqlite3.Connection, sku: str, quantity: int) -> Product:
    """Take a delivery of quantity units, and return the product after it.

    Raises ShopError for an unknown SKU, a broken case, or more than the shelf holds.
    """
    product = get_product(connection, sku)
    if quantity % product.case_size:
        raise ShopError(
            f"{product.supplier} delivers {sku} in full cases of {product.case_size}; "
            f"{quantity} is not a multiple of that."
        )
    if product.stock + quantity > product.shelf_capacity:
        room = product.shelf_capacity - product.stock
        raise ShopError(f"The shelf of {sku} has room for {room} more units, not for {quantity}.")
    connection.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (quantity, sku))
    connection.execute("INSERT INTO restocks (sku, quantity) VALUES (?, ?)", (sku, quantity))
    return get_product(connection, sku)


def list_customers(connection: sqlite3.Connection, name: str) -> list[Customer]:
    """Customers whose name contains name, whatever its case; all of them when it is empty."""
    rows = connection.execute(
        "SELECT customer_id, name, city FROM customers WHERE instr(lower(name), lower(?)) ORDER BY customer_id",
        (name,),
    )
    return [Customer(**row) for row in rows]


def create_order(connection: sqlite3.Connection, customer_id: int) -> Order:
    """Open an empty order. Raises ShopError for an unknown customer."""
    if connection.execute("SELECT 1 FROM customers WHERE customer_id = ?", (customer_id,)).fetchone() is None:
        raise ShopError(f"There is no customer {customer_id}. list_customers finds them by name.")
    cursor = connection.execute(
        "INSERT INTO orders (customer_id, status) VALUES (?, 'open') RETURNING order_id", (customer_id,)
    )
    return get_order(connection, cursor.fetchone()["order_id"])


def get_order(connection: sqlite3.Connection, order_id: int) -> Order:
    """An order with its lines and total. Raises ShopError when there is none."""
    order = connection.execute(
        "SELECT order_id, customer_id, status FROM orders WHERE order_id = ?", (order_id,)
    ).fetchone()
    if order is None:
        raise ShopError(f"There is no order {order_id}.")
    rows = connection.execute(
        "SELECT sku, quantity, unit_price_cents FROM order_lines WHERE order_id = ? ORDER BY sku", (order_id,)
    )
    lines = [OrderLine(**row) for row in rows]
    return Order(**order, lines=lines, total_cents=sum(line.quantity * line.unit_price_cents for line in lines))


def set_order_line(connection: sqlite3.Connection, order_id: int, sku: str, quantity: int) -> Order:
    """Set how many units of a SKU an open order holds (0 takes the line out), and return the order.

    Raises ShopError for an unknown or closed order, an unknown SKU, or more units than are in stock.
    """
    _require_open(get_order(connection, order_id))
    product = get_product(connection, sku)
    _require_stock(product, quantity)
    connection.execute("DELETE FROM order_lines WHERE order_id = ? AND sku = ?", (order_id, sku))
    if quantity:
        line = (order_id, sku, quantity, product.price_cents)
        connection.execute("INSERT INTO order_lines VALUES (?, ?, ?, ?)", line)
    return get_order(connection, order_id)


def checkout(connection: sqlite3.Connection, order_id: int, confirmed_total_cents: int) -> Order:
    """Close an order whose total the customer confirmed, and take its units from the stock.

    Raises ShopError for an unknown, closed or empty order, another total, or units no longer in stock.
    """
    order = get_order(connection, order_id)
    _require_open(order)
    if not order.lines:
        raise ShopError(f"Order {order_id} is empty; set_order_line fills it.")
    if confirmed_total_cents != order.total_cents:
        raise ShopError(
            f"{confirmed_total_cents} cents is not the total of order {order_id}; get_order tells the total."
        )
    for line in order.lines:
        _require_stock(get_product(connection, line.sku), line.quantity)
        connection.execute("UPDATE products SET stock = stock - ? WHERE sku = ?", (line.quantity, line.sku))
    connection.execute("UPDATE orders SET status = 'checked_out' WHERE order_id = ?", (order_id,))
    return get_order(connection, order_id)


def _require_open(order: Order) -> None:
    if order.status != "open":
        raise ShopError(f"Order {order.order_id} is checked out and can no longer change.")


def _require_stock(product: Product, quantity: int) -> None:
    if quantity > product.stock:
        raise ShopError(f"Only {product.stock} units of {product.sku} are in stock, not {quantity}.")
