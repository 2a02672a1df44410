"""Open the shop in the working directory and serve it on stdin and stdout until stdin closes."""

import os

from admin_console import seeding, shop


def main() -> None:
    """Serve the shop of the seed in AGENTFORGE_SEED (64-bit signed integer as text, default 0)."""
    seeding.open_shop(shop.DATABASE, int(os.environ.get("AGENTFORGE_SEED", "0")))
    # The SDK takes about a second to import; the shop already stands when a caller is quicker than that.
    from admin_console.server import server

    server.run("stdio")


if __name__ == "__main__":
    main()
