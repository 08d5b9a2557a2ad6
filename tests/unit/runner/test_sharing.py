"""Who may do what: ids, owners, levels, expiry."""

from dataclasses import replace

import pytest

from pipeline.errors import UserError
from runner import sharing
from runner.sharing import DAY, Meta, access, owner_digest, shared_as

SALT = b"salt"
META = Meta(key="a" * 32, created=0.0)
ADA, EVE = owner_digest(SALT, "Ada"), owner_digest(SALT, "eve")


def test_ids_are_random_enough_and_tell_their_kind() -> None:
    secrets = {sharing.new_secret() for _ in range(200)}
    public = {sharing.new_public() for _ in range(200)}
    assert len(secrets) == len(public) == 200
    assert all(len(s) >= 26 and s.isalnum() for s in secrets)  # 26 of 62 signs: 154 bits
    assert all(sharing.is_public(p) for p in public) and not any(sharing.is_public(s) for s in secrets)
    assert not any(sharing.is_key(x) for x in secrets | public) and sharing.is_key(sharing.key_of("x"))


@pytest.mark.parametrize("text", ["../" + "a" * 29, "A" * 32, "a" * 31, "g" * 32, "", None, 7, "p-" + "a" * 30])
def test_no_path_is_made_from_what_is_not_a_key(text: object) -> None:
    assert not sharing.is_key(text)


def test_a_name_is_kept_only_salted_and_in_any_case_of_letters() -> None:
    assert owner_digest(SALT, "ada") == ADA != owner_digest(b"other", "ada")
    assert owner_digest(SALT, None) == owner_digest(SALT, "") == ""
    assert "ada" not in ADA.lower() or len(ADA) == 32


def test_the_secret_link_owns_the_run_and_the_key_alone_opens_nothing() -> None:
    assert access(META, "secret", "", 0).owner
    assert access(META, "key", "", 0) is None and access(META, "public", "", 0) is None
    mine = replace(META, owner=ADA)
    assert access(mine, "key", ADA, 0).owner and access(mine, "key", EVE, 0) is None


def test_no_account_never_matches_a_run_without_an_account() -> None:
    assert access(META, "key", "", 0) is None
    shared = replace(META, level="public", public_id="p-x")
    assert not access(shared, "public", "", 0).owner


def test_bound_runs_keep_their_text_for_the_account() -> None:
    bound = replace(META, owner=ADA, bound=True)
    assert (access(bound, "secret", "", 0).owner, access(bound, "secret", "", 0).text) == (True, False)
    assert not access(bound, "secret", EVE, 0).text and access(bound, "secret", ADA, 0).text


def test_a_gated_run_is_shared_and_deleted_by_its_account_alone_and_stopped_also_by_its_link() -> None:
    gated = replace(META, owner=ADA, bound=True, source="hub", level="public", public_id="p-x")
    for viewer in ("", EVE):
        found = access(gated, "secret", viewer, 0)
        assert (found.owner, found.text, found.holder) == (False, False, True)
    assert access(gated, "secret", ADA, 0).owner and access(gated, "key", ADA, 0).text
    assert not access(gated, "public", EVE, 0).holder


def test_levels_expire_and_revoking_kills_the_link_for_good() -> None:
    public = shared_as(META, "public", 2, 100.0)
    assert access(public, "public", "", 100.0) and not access(public, "public", "", 100.0).text
    assert access(public, "public", "", 100.0 + 2 * DAY) is None
    listed = shared_as(public, "listed", None, 200.0)
    assert listed.public_id == public.public_id and listed.expires is None
    private = shared_as(listed, "private", None, 300.0)
    assert private.public_id == "" and shared_as(private, "public", None, 400.0).public_id != listed.public_id
    again = shared_as(public, "public", None, 100.0 + 3 * DAY)
    assert again.public_id != public.public_id


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_life_that_is_none_is_refused(days: float) -> None:
    with pytest.raises(UserError):
        shared_as(META, "public", days, 0.0)


def test_meta_round_trips_and_refuses_what_is_not_one() -> None:
    meta = replace(META, owner=ADA, level="listed", public_id="p-y", card={"a": 1})
    assert Meta.from_json({**meta.to_json(), "later": 1}) == meta
    for bad in ({}, {"key": "x", "created": 1}, {"key": "a" * 32, "created": 1, "level": "all"}):
        with pytest.raises((TypeError, ValueError)):
            Meta.from_json(bad)
