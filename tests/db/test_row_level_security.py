"""What the catalog says: every tenant table is walled off, and the service's role may do no more than is listed."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from db.embedded import DatabaseUrls
from tests.conftest import in_database
from tests.db.conftest import Connection
from tests.db.expected import (
    GRANTS,
    SECURITY_DEFINERS,
    TENANT_TABLES,
    UNIQUE_ACROSS_ORGANIZATIONS,
    UNWALLED_TABLES,
    WALLED_TABLES,
)


@pytest.fixture(scope="module")
async def catalog(server: DatabaseUrls, superuser: str, template: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(in_database(superuser, template))
    yield connection
    await connection.close()


async def column(catalog: Connection, query: str) -> list[str]:
    return [row[0] for row in await catalog.fetch(query)]


TABLES = "from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"


async def test_every_table_is_known(catalog: Connection) -> None:
    assert set(await column(catalog, f"select relname {TABLES}")) == WALLED_TABLES | UNWALLED_TABLES
    with_organization = await column(
        catalog,
        f"select relname {TABLES} and exists (select from pg_attribute "
        "where attrelid = pg_class.oid and attname = 'organization_id' and attnotnull)",
    )
    assert set(with_organization) == TENANT_TABLES


async def test_row_level_security_is_enabled_and_forced(catalog: Connection) -> None:
    walled = await column(catalog, f"select relname {TABLES} and relrowsecurity and relforcerowsecurity")
    assert set(walled) == WALLED_TABLES


async def test_each_walled_table_has_one_policy_for_the_service(
    catalog: Connection,
) -> None:
    policies = await catalog.fetch(
        "select tablename, permissive, cmd, qual, with_check from pg_policies "
        "where schemaname = 'public' and 'agentforge_app' = any(roles)"
    )
    assert sorted(policy["tablename"] for policy in policies) == sorted(WALLED_TABLES)
    for policy in policies:
        key = {"organizations": "id", "users": None}.get(policy["tablename"], "organization_id")
        if key is not None:
            setting = "(NULLIF(current_setting('agentforge.organization_id'::text, true), ''::text))::uuid"
            assert policy["qual"] == f'({key} = ( SELECT {setting} AS "nullif"))'
            assert (policy["permissive"], policy["cmd"], policy["with_check"]) == ("PERMISSIVE", "ALL", None)
    (users,) = [policy for policy in policies if policy["tablename"] == "users"]
    assert users["cmd"] == "SELECT"


async def test_other_policies_are_the_owner_s_alone(catalog: Connection) -> None:
    others = await catalog.fetch(
        "select tablename, roles::text[] as roles from pg_policies where not 'agentforge_app' = any(roles)"
    )
    assert {row["tablename"]: row["roles"] for row in others} == {
        table: ["agentforge_owner"]
        for table in (
            *("api_tokens", "memberships", "organizations", "secrets", "sessions", "sign_in_links", "users"),
            "trajectory_words",
        )
    }


async def test_keys_of_tenant_tables_start_with_the_organization(
    catalog: Connection,
) -> None:
    keys = await catalog.fetch(
        """
        select index_class.relname as index, table_class.relname as table, pg_index.indisprimary as is_primary,
          array(select attname::text from unnest(pg_index.indkey) with ordinality key (number, position)
                join pg_attribute on attrelid = indrelid and attnum = key.number order by position) as columns
        from pg_index
        join pg_class table_class on table_class.oid = indrelid
        join pg_class index_class on index_class.oid = indexrelid
        where table_class.relnamespace = 'public'::regnamespace and indisunique
        """
    )
    composite = {key["table"] for key in keys if key["is_primary"] and key["columns"][0] == "organization_id"}
    assert composite == TENANT_TABLES
    assert all(len(key["columns"]) > 1 for key in keys if key["columns"][0] == "organization_id")
    others = {
        (key["table"], ", ".join(key["columns"]))
        for key in keys
        if key["columns"][0] != "organization_id" and key["table"] not in UNWALLED_TABLES
    }
    assert others == UNIQUE_ACROSS_ORGANIZATIONS


async def test_foreign_keys_between_tenant_tables_carry_the_organization(
    catalog: Connection,
) -> None:
    foreign_keys = await catalog.fetch(
        """
        select conrelid::regclass::text as source, confrelid::regclass::text as target,
          array(select attname::text from unnest(conkey) with ordinality key (number, position)
                join pg_attribute on attrelid = conrelid and attnum = key.number order by position) as columns,
          array(select attname::text from unnest(confkey) with ordinality key (number, position)
                join pg_attribute on attrelid = confrelid and attnum = key.number order by position) as referenced
        from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace
        """
    )
    between = [row for row in foreign_keys if row["target"] in TENANT_TABLES]
    assert {row["target"] for row in between} >= {"environments", "bundles", "evaluation_runs", "evaluation_trials"}
    for row in between:
        assert row["columns"][0] == row["referenced"][0] == "organization_id", row
        assert len(row["columns"]) == 2 + (row["target"] == "trial_executions"), row
    to_others = {(row["source"], row["target"], *row["columns"]) for row in foreign_keys if row not in between}
    roots = {
        "api_tokens",
        "bundles",
        "environments",
        "evaluator_configurations",
        "export_audits",
        "idempotency_keys",
        "memberships",
        "secrets",
    }
    assert to_others == {
        *((table, "organizations", "organization_id") for table in roots),
        ("memberships", "users", "user_id"),
    }


async def test_the_service_s_role_is_plain(catalog: Connection) -> None:
    role = await catalog.fetchrow(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication from pg_roles "
        "where rolname = 'agentforge_app'"
    )
    assert role is not None
    assert set(role.values()) == {False}
    owned = await column(
        catalog,
        "select classid::regclass::text from pg_shdepend where deptype = 'o' and refobjid = 'agentforge_app'::regrole",
    )
    memberships = await column(
        catalog, "select roleid::regrole from pg_auth_members where member = 'agentforge_app'::regrole"
    )
    assert (owned, memberships) == ([], [])


async def test_the_service_may_do_what_is_listed_and_nothing_else(
    catalog: Connection,
) -> None:
    rows = await catalog.fetch(
        f"""
        select relname as table, privilege_type as privilege, null as column, is_grantable, grantee
        from (select relname, relacl {TABLES}) tables, aclexplode(relacl)
        where grantee <> 'agentforge_owner'::regrole
        union all
        select relname, privilege_type, attname, is_grantable, grantee
        from (select relname, attname, attacl from pg_attribute join pg_class on pg_class.oid = attrelid
              where relnamespace = 'public'::regnamespace) columns, aclexplode(attacl)
        order by 1, 2, 3
        """
    )
    app = await catalog.fetchval("select 'agentforge_app'::regrole::oid")
    assert {(row["grantee"], row["is_grantable"]) for row in rows} == {(app, False)}
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        columns = found.setdefault(row["table"], {}).setdefault(row["privilege"], [])
        columns.extend([row["column"]] if row["column"] else [])
    assert {
        table: {f"{privilege} ({', '.join(columns)})" if columns else privilege for privilege, columns in held.items()}
        for table, held in found.items()
    } == GRANTS


async def test_the_service_may_not_create_anything_in_the_schema(
    catalog: Connection,
) -> None:
    assert not await catalog.fetchval("select has_schema_privilege('agentforge_app', 'public', 'create')")
    assert not await catalog.fetchval("select has_database_privilege('agentforge_app', current_database(), 'create')")


async def test_functions_that_run_as_the_owner_are_listed_and_closed(
    catalog: Connection,
) -> None:
    functions = await catalog.fetch(
        "select oid::regprocedure::text as signature, prosecdef, proconfig, "
        "has_function_privilege('public', oid, 'execute') as open_to_all, pg_get_userbyid(proowner) as owner "
        "from pg_proc where pronamespace = 'public'::regnamespace"
    )
    assert {row["signature"] for row in functions if row["prosecdef"]} == SECURITY_DEFINERS
    for row in functions:
        assert row["owner"] == "agentforge_owner"
        assert not row["open_to_all"], row["signature"]
        allowed = ["search_path=public, pg_temp"] if row["prosecdef"] else ["search_path=pg_catalog"]
        assert row["proconfig"] == allowed, row["signature"]


async def test_views_run_as_whoever_asks(catalog: Connection) -> None:
    exempt = await column(
        catalog,
        "select relname from pg_class where relnamespace = 'public'::regnamespace and (relkind = 'm' "
        "or relkind = 'v' and not coalesce(reloptions @> array['security_invoker=true'], false))",
    )
    assert exempt == []
