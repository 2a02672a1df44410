"""Settings come from the environment, and secrets stay out of what is printed."""

from pathlib import Path
from uuid import UUID

import pytest
from pydantic import ValidationError

from agentforge.settings import Settings
from resolvers.secret_keys import SecretKeys


def test_defaults_need_no_environment() -> None:
    settings = Settings()
    assert settings.data_dir == Path(".agentforge")
    assert (settings.database_url, settings.owner_database_url, settings.public_url) == (None, None, None)
    assert (settings.host, settings.port, settings.session_days) == ("127.0.0.1", 8000, 14)
    assert settings.concurrency >= 1
    assert settings.lease_seconds == 30


def test_the_environment_sets_them_and_an_empty_variable_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTFORGE_PORT", "9000")
    monkeypatch.setenv("AGENTFORGE_LOG_LEVEL", "WARNING")
    monkeypatch.setenv("AGENTFORGE_PUBLIC_URL", "https://forge.example.com/")
    monkeypatch.setenv("AGENTFORGE_DATABASE_URL", "")
    settings = Settings()
    assert (settings.port, settings.log_level) == (9000, "warning")
    assert settings.public_url == "https://forge.example.com"
    assert settings.database_url is None


def test_lists_are_split_and_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Settings().sandbox, Settings().sandbox_network, Settings().sandbox_paths) == ("none", None, None)
    monkeypatch.setenv("AGENTFORGE_SANDBOX", "Bubblewrap")
    monkeypatch.setenv("AGENTFORGE_SANDBOX_NETWORK", "agent, world,")
    monkeypatch.setenv("AGENTFORGE_SANDBOX_PATHS", "/opt/a b:/srv")
    settings = Settings()
    assert (settings.sandbox, settings.sandbox_network) == ("bubblewrap", ("agent", "world"))
    assert settings.sandbox_paths == (Path("/opt/a b"), Path("/srv"))


def test_what_is_given_goes_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTFORGE_DATA_DIR", "/from-environment")
    assert Settings().data_dir == Path("/from-environment")
    assert Settings(data_dir=Path("/given")).data_dir == Path("/given")


def test_addresses_of_databases_are_not_in_the_repr() -> None:
    settings = Settings(
        database_url="postgresql://agentforge_app:hunter2@db/x", owner_database_url="postgresql://o:hunter2@db/x"
    )
    assert "hunter2" not in repr(settings) + str(settings)


def test_keys_are_not_in_the_repr_and_not_in_what_is_told_of_bad_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = SecretKeys.new(), SecretKeys.new()
    monkeypatch.setenv("AGENTFORGE_SECRET_KEYS", f"{first}, {second}")
    settings = Settings()
    told = repr(settings) + str(settings) + repr(settings.model_dump()) + repr(settings.encryption_keys())
    assert first not in told
    assert second not in told
    sealed = SecretKeys([first]).seal(UUID(int=1), "API_KEY", "a value")
    assert settings.encryption_keys().open(UUID(int=1), "API_KEY", sealed) == "a value"
    monkeypatch.setenv("AGENTFORGE_SECRET_KEYS", f"{first},{second[:-4]}")
    with pytest.raises(ValidationError, match="key 2 of 2 is not 32 bytes") as refused:
        Settings()
    assert [one["loc"] for one in refused.value.errors()] == [("secret_keys",)]
    assert first not in str(refused.value)
    assert second[:20] not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "65536"),
        ("PORT", "http"),
        ("SESSION_DAYS", "0"),
        ("LOG_LEVEL", "loud"),
        ("CONCURRENCY", "0"),
        ("LEASE_SECONDS", "nan"),
        ("LEASE_SECONDS", "0"),
        ("SANDBOX", "docker"),
        ("METRICS_TOKEN", "short"),
        ("PUBLIC_URL", "forge.example.com"),
        ("PUBLIC_URL", "ftp://forge.example.com"),
        ("PUBLIC_URL", "https://"),
        ("PUBLIC_URL", "https://["),
    ],
)
def test_a_bad_value_is_refused_by_name_but_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"AGENTFORGE_{name}", value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert [error["loc"] for error in refused.value.errors()] == [(name.lower(),)]
    assert f"input_value='{value}'" not in str(refused.value)


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
