"""Build the shop that belongs to a seed: same seed, same shop, row for row."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

TARGET_SKU = "SKU-9"
TARGET_QUANTITY = 3
TARGET_CUSTOMER = ("Ada Moreno", "Lisbon")

SCHEMA = """
CREATE TABLE world (seed INTEGER NOT NULL);
CREATE TABLE suppliers (supplier_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE products (
    sku TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0),
    reorder_level INTEGER NOT NULL,
    case_size INTEGER NOT NULL,
    shelf_capacity INTEGER NOT NULL CHECK (shelf_capacity >= stock),
    supplier_id INTEGER NOT NULL REFERENCES suppliers
);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers,
    status TEXT NOT NULL CHECK (status IN ('open', 'checked_out'))
);
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders,
    sku TEXT NOT NULL REFERENCES products,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price_cents INTEGER NOT NULL,
    PRIMARY KEY (order_id, sku)
);
CREATE TABLE restocks (
    restock_id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL REFERENCES products,
    quantity INTEGER NOT NULL CHECK (quantity > 0)
);
"""

SUPPLIERS = ("Northwind Paper", "Harbour Goods", "Tessel & Sons", "Alder Works")
PRODUCT_NAMES = (
    "Ballpoint pens", "Brass bell", "Canvas bag", "Copy paper", "Desk lamp", "Fountain pen",
    "Ink bottle", "Letter opener", "Linen notebook", "Paper clips", "Ruler", "Wax seal",
)  # fmt: skip
CUSTOMER_NAMES = ("Bilal Aydin", "Chidi Okafor", "Dora Novak", "Emil Strand", "Fumiko Sato", "Greta Holm")
CITIES = ("Bergen", "Graz", "Lisbon", "Nantes", "Porto", "Tartu")


def open_shop(path: Path, seed: int) -> None:
    """Create the shop of a 64-bit signed seed at path; a shop of the same seed that stands there is kept.

    Raises ValueError when the file holds the shop of another seed.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'world'").fetchone() is None:
            build(connection, seed)
        (present,) = connection.execute("SELECT seed FROM world").fetchone()
    if present != seed:
        raise ValueError(f"{path} holds the shop of seed {present}, not of seed {seed}")


def build(connection: sqlite3.Connection, seed: int) -> None:
    """Fill an empty database with the shop of a 64-bit signed seed, in one transaction."""
    # Seeding with an integer would drop its sign; seeding with text does not.
    generator = random.Random(f"admin-console {seed}")  # noqa: S311 # a shop, not a secret
    # executescript commits what is open, so the transaction begins inside the script.
    connection.executescript("BEGIN;" + SCHEMA)
    connection.execute("INSERT INTO world VALUES (?)", (seed,))
    connection.executemany("INSERT INTO suppliers VALUES (?, ?)", enumerate(SUPPLIERS, start=1))
    _add_products(connection, generator)
    _add_customers(connection, generator)
    _add_orders(connection, generator)
    connection.commit()


def _add_products(connection: sqlite3.Connection, generator: random.Random) -> None:
    names = generator.sample(PRODUCT_NAMES, len(PRODUCT_NAMES))
    for number, name in enumerate(names, start=1):
        sku = f"SKU-{number}"
        case_size = generator.choice((4, 5, 6, 8, 10, 12))
        if sku == TARGET_SKU:
            # Too few to sell TARGET_QUANTITY, and two to four cases below the reorder level.
            stock = generator.randrange(TARGET_QUANTITY)
            reorder_level = stock + generator.randint(1, 3) * case_size + generator.randint(1, case_size)
        else:
            stock = generator.randint(4, 60)
            reorder_level = generator.randint(4, 24)
        capacity = max(stock, reorder_level) + 3 * case_size
        price_cents = generator.randrange(195, 4995, 5)
        supplier_id = generator.randint(1, len(SUPPLIERS))
        row = (sku, name, price_cents, stock, reorder_level, case_size, capacity, supplier_id)
        connection.execute("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _add_customers(connection: sqlite3.Connection, generator: random.Random) -> None:
    name, city = TARGET_CUSTOMER
    namesake_city = generator.choice([other for other in CITIES if other != city])
    people = [(other, generator.choice(CITIES)) for other in CUSTOMER_NAMES]
    people += [(name, city), (name, namesake_city)]
    numbers = generator.sample(range(100, 1000), len(people))
    connection.executemany(
        "INSERT INTO customers VALUES (?, ?, ?)",
        [(number, *person) for number, person in zip(numbers, people, strict=True)],
    )


def _add_orders(connection: sqlite3.Connection, generator: random.Random) -> None:
    customers = [number for (number,) in connection.execute("SELECT customer_id FROM customers ORDER BY 1")]
    products = connection.execute(
        "SELECT sku, price_cents FROM products WHERE sku <> ? ORDER BY sku", (TARGET_SKU,)
    ).fetchall()
    first = generator.randint(1000, 5000)
    for order_id in range(first, first + 6):
        status = "open" if order_id == first + 5 else "checked_out"
        order = (order_id, generator.choice(customers), status)
        connection.execute("INSERT INTO orders VALUES (?, ?, ?)", order)
        for sku, price_cents in generator.sample(products, generator.randint(1, 3)):
            line = (order_id, sku, generator.randint(1, 4), price_cents)
            connection.execute("INSERT INTO order_lines VALUES (?, ?, ?, ?)", line)
