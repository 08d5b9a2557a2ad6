"""Credentials that a vendor's client finds by itself: those of AWS and of Google, asked for before any call, in bounded time.

Never shows a secret, and sends nothing to a model; a role or a sign-in may ask its own vendor for a session.
"""

import os
from collections.abc import Mapping
from typing import Any

from pipeline.core.reach import Late, nothing_there, within

SECONDS = 6.0
"""For a sign-in service, an assumed role or a machine's own credentials."""
AWS_REGIONS = ("AWS_DEFAULT_REGION", "AWS_REGION")
"""The first is the one that botocore reads too; the second is what every other client of AWS reads."""
AWS_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_PARTITIONS = ("aws", "aws-us-gov", "aws-cn")
BEARER = "AWS_BEARER_TOKEN_BEDROCK"


def aws_region() -> str:
    """The region that the environment or the profile names, or ""."""
    named = next((value for name in AWS_REGIONS if (value := os.environ.get(name, "").strip())), "")
    return named or _of_profile()


def _of_profile() -> str:
    from botocore.exceptions import BotoCoreError

    try:
        return str(_aws_session().get_config_variable("region") or "")
    except BotoCoreError:  # said by `aws_lacks`, where it is asked for credentials
        return ""


def _aws_session() -> Any:
    import botocore.session

    session = botocore.session.Session()
    # A machine without the metadata service must not hold a start up: one try of a second.
    session.set_config_variable("metadata_service_timeout", 1)
    session.set_config_variable("metadata_service_num_attempts", 1)
    return session


def aws_lacks(fields: Mapping[str, str], regional: bool, bearer: bool, placed: bool) -> list[str]:
    """What is missing to sign a request for AWS, each as the end of a sentence.

    Args:
        fields: what was given for this very role; nothing else is looked up where it holds an access key.
        regional: whether there is no region to fall back on. bearer: whether the service takes a bearer token.
        placed: whether an address was given, so that none is made from the region.
    """
    region = fields.get("region_name") or aws_region()
    lacks = [why] if (why := _bad_region(region, placed) if region else _NO_REGION if regional else "") else []
    if fields.get("aws_access_key_id"):
        return lacks if fields.get("aws_secret_access_key") else [*lacks, "the AWS secret access key is missing"]
    if bearer and os.environ.get(BEARER, "").strip():
        return lacks
    if why := _no_credentials():
        lacks.append(why)
    return lacks


_NO_REGION = f"no AWS region is set ({' or '.join(reversed(AWS_REGIONS))}, or a region in the profile)"


def _bad_region(region: str, placed: bool) -> str:
    """What is wrong with a region: its form, or that AWS has no such place. A new one may be younger than this botocore."""
    from botocore.exceptions import BotoCoreError
    from botocore.utils import validate_region_name

    shown = ascii(region[:40])
    try:
        validate_region_name(region)
    except BotoCoreError:
        return f"{shown} cannot be an AWS region"
    if placed or _known(region) or not nothing_there(f"https://bedrock-runtime.{region}.amazonaws.com"):
        return ""
    return f"there is no AWS region {shown}, or it has no Bedrock"


def _known(region: str) -> bool:
    """Whether it stands in botocore's own tables; what is wrong with a profile is said where credentials are looked for."""
    from botocore.exceptions import BotoCoreError

    try:
        session = _aws_session()
        return any(region in session.get_available_regions("ec2", name) for name in _PARTITIONS)
    except BotoCoreError:
        return True


def _no_credentials() -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    def find() -> Any:
        found = _aws_session().get_credentials()
        return found and found.get_frozen_credentials()

    try:
        found = within(SECONDS, find)
    except Late:
        return f"AWS credentials could not be had within {SECONDS:.0f} seconds (profile, sign-in, role or the machine's own)"
    except (BotoCoreError, ClientError, OSError, ValueError) as error:
        return f"AWS credentials could not be had ({' '.join(str(error).split())[:200].rstrip('.')})"
    if not found or not found.access_key or not found.secret_key:
        return f"no AWS credentials were found ({' and '.join(AWS_KEYS)}, a profile, or {BEARER})"
    if any(not (part or "").isascii() or not (part or "").isprintable() for part in found[:3]):
        return f"the AWS credentials hold a character that no key holds ({' or '.join(AWS_KEYS)}, or the profile)"
    return ""


def google_lacks(project: str) -> str:
    """Why Google's own chain of credentials gives none, as the end of a sentence; "" where it does.

    Args:
        project: the variable that names the project, where the credentials must name one otherwise; or "".
    """
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
    except ImportError:
        return "the package google-auth is not installed"
    try:
        _, named = within(SECONDS, google.auth.default)
    except Late:
        return f"Google's credentials could not be had within {SECONDS:.0f} seconds"
    except (GoogleAuthError, OSError, ValueError):
        return "no Google credentials were found (GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login)"
    return f"{project} is not set" if project and not named and not os.environ.get(project, "").strip() else ""
