-- name: newest_version
select version from schema_migrations order by version desc limit 1;
