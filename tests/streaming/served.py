"""The routes in a process of their own, until it is killed: `python -m tests.streaming.served URL ORGANIZATION`."""

import asyncio
import sys
from uuid import UUID

from db.pool import open_pool
from db.tenant import Tenant
from tests.streaming.web import application, serve


async def main(url: str, organization_id: str) -> None:
    async with (
        open_pool(url, application_name="agentforge export") as pool,
        serve(application(Tenant(pool, UUID(organization_id)))) as (host, port),
    ):
        sys.stdout.write(f"http://{host}:{port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
