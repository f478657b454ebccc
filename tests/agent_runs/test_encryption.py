from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from agent_runs import encryption
from agent_runs.encryption import EncryptionError, Sealed
from agent_runs.models import AgentRun, Provider
from tests import factories

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))


@pytest.fixture(autouse=True)
def _keys(settings: Settings) -> None:
    settings.A2A_ENCRYPTION_KEYS = [OLD]


def stored(provider: Provider) -> str:
    value = Provider.objects.values_list("api_key", flat=True).get(pk=provider.pk)
    assert isinstance(value, Sealed)
    return str(value)


@pytest.mark.django_db
def test_stores_no_plain_text() -> None:
    """R17: encrypted at rest."""
    provider = factories.make_provider(api_key="my-secret-key")

    assert "my-secret-key" not in stored(provider)
    assert stored(provider).startswith("gAAAA")
    assert Provider.objects.get(pk=provider.pk).api_key == "my-secret-key"


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["", "a\nb\n", "äöü 😀", "x" * 100_000])
def test_gives_back_what_was_stored(value: str) -> None:
    provider = factories.make_provider(api_key=value)

    assert Provider.objects.get(pk=provider.pk).api_key == value


@pytest.mark.django_db
def test_nothing_is_stored_as_nothing() -> None:
    provider = factories.make_provider(api_key=None)

    assert Provider.objects.filter(pk=provider.pk, api_key=None).exists()
    assert Provider.objects.get(pk=provider.pk).api_key is None


@pytest.mark.django_db
def test_a_value_fits_only_the_cell_it_was_written_for() -> None:
    """R17: a token copied to another row does not open there."""
    one, other = factories.make_provider(api_key="one"), factories.make_provider()
    Provider.objects.filter(pk=other.pk).update(api_key=Sealed(stored(one)))

    with pytest.raises(EncryptionError, match="value of another cell"):
        _ = Provider.objects.get(pk=other.pk).api_key


@pytest.mark.django_db
def test_a_value_fits_only_the_column_it_was_written_for() -> None:
    """R17."""
    run = factories.make_run()
    request = AgentRun.objects.values_list("request", flat=True).get(pk=run.pk)
    AgentRun.objects.filter(pk=run.pk).update(result=request)

    with pytest.raises(EncryptionError, match="value of another cell"):
        _ = AgentRun.objects.get(pk=run.pk).result


@pytest.mark.django_db
def test_another_key_does_not_open_it(settings: Settings) -> None:
    provider = factories.make_provider(api_key="secret")
    settings.A2A_ENCRYPTION_KEYS = [OTHER]

    with pytest.raises(EncryptionError, match="does not open") as raised:
        _ = Provider.objects.get(pk=provider.pk).api_key
    assert "secret" not in str(raised.value)


@pytest.mark.django_db
def test_the_first_key_encrypts_and_all_decrypt(settings: Settings) -> None:
    """R17."""
    before = factories.make_provider(api_key="before")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]
    after = factories.make_provider(api_key="after")

    assert Provider.objects.get(pk=before.pk).api_key == "before"
    assert Fernet(NEW).decrypt(stored(after).encode()).endswith(b"\nafter")


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["plain", "gAAAAA-looks-sealed"])
def test_a_plain_text_in_an_update_is_refused(value: str) -> None:
    """No query may store it unencrypted by accident."""
    with pytest.raises(EncryptionError, match="sealed values only"):
        Provider.objects.update(api_key=value)


@pytest.mark.django_db
def test_a_sealed_text_in_an_update_is_taken() -> None:
    provider = factories.make_provider()
    sealed = encryption.field_of(Provider, "api_key").seal(provider.pk, "new")

    Provider.objects.filter(pk=provider.pk).update(api_key=sealed)

    assert Provider.objects.get(pk=provider.pk).api_key == "new"


@pytest.mark.django_db
def test_saving_a_row_that_was_read_keeps_the_value() -> None:
    provider = factories.make_provider(api_key="secret")
    before = stored(provider)

    again = Provider.objects.get(pk=provider.pk)
    again.name = "Renamed"
    again.save()

    assert stored(provider) == before


@pytest.mark.django_db
def test_a_deferred_value_is_read_when_it_is_asked_for() -> None:
    provider = factories.make_provider(api_key="secret")

    assert Provider.objects.defer("api_key").get(pk=provider.pk).api_key == "secret"


def test_two_tokens_of_one_text_differ() -> None:
    """Whoever reads the database learns not even that two values are equal."""
    assert encryption.seal("cell", "x") != encryption.seal("cell", "x")


def test_rotation_moves_a_token_to_the_first_key(settings: Settings) -> None:
    sealed = encryption.seal("cell", "x")
    settings.A2A_ENCRYPTION_KEYS = [NEW, OLD]

    rotated = encryption.rotate(sealed)

    assert not encryption.is_current(sealed)
    assert encryption.is_current(rotated)
    settings.A2A_ENCRYPTION_KEYS = [NEW]
    assert encryption.unseal("cell", rotated) == "x"


def test_debug_alone_has_a_key_of_its_own(settings: Settings) -> None:
    settings.A2A_ENCRYPTION_KEYS = []
    settings.DEBUG = True

    assert encryption.unseal("cell", encryption.seal("cell", "x")) == "x"


def test_without_keys_nothing_is_encrypted(settings: Settings) -> None:
    """R17."""
    settings.A2A_ENCRYPTION_KEYS = []
    settings.DEBUG = False

    with pytest.raises(ImproperlyConfigured):
        encryption.seal("cell", "x")


def test_finds_the_encrypted_columns_of_a_model() -> None:
    names = {field.name for field in encryption.encrypted_fields(AgentRun)}

    assert names == {"request", "checkpoint", "pending", "result", "waiting_for"}


def test_a_plain_column_is_no_encrypted_one() -> None:
    with pytest.raises(TypeError, match="not encrypted"):
        encryption.field_of(AgentRun, "state")


@pytest.mark.django_db
def test_a_whole_batch_is_sealed() -> None:
    rows = [Provider(id=uuid4(), name=f"P{i}", api_key=f"k{i}") for i in range(3)]

    Provider.objects.bulk_create(rows)

    assert [p.api_key for p in Provider.objects.order_by("name")] == ["k0", "k1", "k2"]


def test_a_row_without_a_key_of_its_own_cannot_hold_a_secret() -> None:
    """The cell is part of what is encrypted."""
    provider = Provider(pk=None, api_key="secret")

    with pytest.raises(EncryptionError, match="needs its row's key"):
        encryption.field_of(Provider, "api_key").pre_save(provider, add=True)
