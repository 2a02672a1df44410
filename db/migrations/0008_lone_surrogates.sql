-- Lone surrogates are looked for without lookbehind, which starts at the beginning of the text for every one of them: a
-- megabyte of them took hours to store.

-- As before: JSON without what text cannot hold. An escaped backslash goes first, and what then follows a backslash is
-- what it escapes. Pairs wait under another sign, which JSON has only escaped, until the lone ones are gone.
create or replace function searchable_json(value json) returns json
  language sql immutable parallel safe set search_path = pg_catalog
begin atomic
  select replace(
    regexp_replace(
      regexp_replace(
        replace(replace(searchable_json.value::text, '\\', ' '), '\u0000', ' '),
        '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})', E'\x01\\1\x01\\2', 'g'),
      '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', ' ', 'g'),
    E'\x01', '\')::json;
end;
