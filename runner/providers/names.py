"""Names of models: a provider and an id to inspect's name and back, every character kept; and keys to a ProviderKey.

Never guesses an id, never shortens one, never looks at a key's value.
"""

from collections.abc import Mapping

from pipeline.errors import UserError
from pipeline.spec import PINNED, ProviderKey
from runner.addresses import private_allowed, resolve
from runner.providers.catalogue import NO_KEY, PROVIDERS, provider
from runner.providers.entry import Provider


def inspect_model_name(provider_id: str, model: str) -> str:
    """The name inspect knows the model by. A provider outside the catalogue is its own prefix.

    Raises:
        UserError: no model, or one with a blank or control character in it.
    """
    if not isinstance(model, str) or not model.strip():
        raise UserError("Choose a model.", "", "Pick one from the list, or type its id as the provider writes it.")
    model = model.strip()
    if any(c.isspace() or not c.isprintable() for c in model) or len(model) > 300:
        raise UserError("The model's id holds a blank or a control character, or is over 300 characters long.",
                        "The id as the provider writes it.")
    prefix = next((p.prefix for p in PROVIDERS if p.id == provider_id), provider_id)
    return f"{prefix}/{model}"


def split_model_name(name: str) -> tuple[str, str]:
    """(provider id, model) of inspect's name; the reverse of `inspect_model_name`.

    Raises:
        UserError: the name has no provider or no model.
    """
    for entry in sorted(PROVIDERS, key=lambda p: -len(p.prefix)):
        if name.startswith(f"{entry.prefix}/") and len(name) > len(entry.prefix) + 1:
            return entry.id, name[len(entry.prefix) + 1:]
    head, _, rest = name.partition("/")
    if not head or not rest:
        raise UserError(f"{name[:80]!r} names no provider and model.", "A model is given as provider/model.")
    return head, rest


def provider_of(name: str) -> Provider:
    """The catalogue's entry behind inspect's name.

    Raises:
        UserError: a provider that the page does not offer, such as one that would load weights or start a server.
    """
    return provider(split_model_name(name)[0])


def credentials_for(provider_id: str, fields: Mapping[str, str]) -> ProviderKey:
    """The entry's own fields, cleaned, for the pipe to the worker; the address of an endpoint is not among them.

    Raises:
        UserError: a field is missing or cannot be a key, or the endpoint's address is not allowed any more.
    """
    from runner.providers.keys import clean_fields

    entry = provider(provider_id)
    cleaned = clean_fields(entry, fields)
    if (address := cleaned.pop("base_url", "")) and not private_allowed():
        # Looked up and checked now, and the worker connects there: a name may answer otherwise a moment later.
        cleaned[PINNED] = resolve(address).pinned
    if entry.id in ("custom", "local", "demo") and not cleaned.get("api_key"):
        # An empty mapping would let the client look for a key of the machine's owner in the environment.
        cleaned["api_key"] = NO_KEY
    return ProviderKey(cleaned)
