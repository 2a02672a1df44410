"""The Model Context Protocol server: the rules of the shop as eight typed tools."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from admin_console import shop
from admin_console.shop import Customer, Order, Product

Sku = Annotated[str, Field(description="Stock keeping unit, as written in the catalogue, such as SKU-4")]
Units = Annotated[int, Field(description="Number of single units, not of cases", ge=1, le=100_000)]
LineUnits = Annotated[int, Field(description="Number of units; 0 takes the line out", ge=0, le=100_000)]
OrderNumber = Annotated[int, Field(description="Number of the order", ge=1, le=2**31 - 1)]
CustomerNumber = Annotated[int, Field(description="Number of the customer", ge=1, le=2**31 - 1)]
Cents = Annotated[int, Field(description="Total in cents that the customer confirmed", ge=0, le=2**53)]

READS = ToolAnnotations(read_only_hint=True)

server = MCPServer(
    "admin-console",
    instructions="The admin console of a small shop. Prices are in euro cents; stock is counted in units.",
    log_level="WARNING",
)


@contextmanager
def _transaction() -> Iterator[sqlite3.Connection]:
    try:
        with shop.transaction() as connection:
            yield connection
    except shop.ShopError as error:
        raise ToolError(str(error)) from error


@server.tool(annotations=READS)
def search_products(query: str = "") -> list[Product]:
    """Find products by a part of their SKU or name; an empty query lists the whole catalogue."""
    with _transaction() as connection:
        return shop.search_products(connection, query)


@server.tool(annotations=READS)
def list_low_stock() -> list[Product]:
    """List the products that have fewer units in stock than their reorder level."""
    with _transaction() as connection:
        return shop.list_low_stock(connection)


@server.tool()
def restock(sku: Sku, quantity: Units) -> Product:
    """Order units of a product from its supplier; they arrive at once.

    Suppliers deliver full cases only, and a shelf holds no more than its capacity.
    """
    with _transaction() as connection:
        return shop.restock(connection, sku, quantity)


@server.tool(annotations=READS)
def list_customers(name: str = "") -> list[Customer]:
    """Find customers by a part of their name; several people may have the same name."""
    with _transaction() as connection:
        return shop.list_customers(connection, name)


@server.tool()
def create_order(customer_id: CustomerNumber) -> Order:
    """Open an empty order for a customer."""
    with _transaction() as connection:
        return shop.create_order(connection, customer_id)


@server.tool()
def set_order_line(order_id: OrderNumber, sku: Sku, quantity: LineUnits) -> Order:
    """Set how many units of a product an open order holds; no more than are in stock."""
    with _transaction() as connection:
        return shop.set_order_line(connection, order_id, sku, quantity)


@server.tool(annotations=READS)
def get_order(order_id: OrderNumber) -> Order:
    """Show an order with its lines, its status and its total in cents."""
    with _transaction() as connection:
        return shop.get_order(connection, order_id)


@server.tool()
def checkout(order_id: OrderNumber, confirmed_total_cents: Cents) -> Order:
    """Check out an open order: takes its units from the stock and closes it for good.

    The total has to be confirmed: pass exactly what get_order shows as total_cents.
    """
    with _transaction() as connection:
        return shop.checkout(connection, order_id, confirmed_total_cents)
