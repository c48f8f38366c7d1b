"""Requests for Amazon Bedrock, signed with the user's AWS configuration."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fabula.base.errors import ModelUnavailableError
from fabula.base.extras import extra

if TYPE_CHECKING:
    from fabula.models.wire import Call

_REGION: Final = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_HELP: Final = "Set AWS_BEARER_TOKEN_BEDROCK and AWS_REGION in the environment, or run `aws configure`."


def _aws(module: str) -> Any:  # noqa: ANN401 - a module has no better type
    return extra(f"botocore.{module}", "bedrock", "A model at Amazon Bedrock")


def signed(call: Call, name: str) -> Call:
    """The call with its signature or key, and with the address of the configured region if it has none.

    Call this in a thread: on Amazon's own machines, it may wait for their credentials.

    Raises:
        ModelUnavailableError: there are no credentials, or no region.
        UsageError: the extra `bedrock` is not installed.
    """
    session, problem, headers, url = _aws("session").Session(), "", dict(call.headers), call.url
    try:
        keyed = "authorization" in call.headers
        credentials = None if keyed else session.get_credentials()
        named = _REGION.match(urlsplit(url).hostname or "")
        # an address of one's own needs no region
        region = named[1] if named else session.get_config_variable("region") or ("us-east-1" if "://" in url else "")
        url = url if "://" in url else f"https://bedrock-runtime.{region}.amazonaws.com{url}"
        if not region:
            problem = "no region is configured"
        elif credentials is None:
            problem = "" if keyed else "no credentials are configured"
        else:
            request = _aws("awsrequest").AWSRequest("POST", url, data=call.content, headers=headers)
            _aws("auth").SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(request)
            headers = dict(request.headers.items())
    except _aws("exceptions").BotoCoreError as error:
        problem = str(error).rstrip(".")
    if problem:
        raise ModelUnavailableError(f"{name} cannot be asked: {problem}. {_HELP}", model=name)
    return replace(call, url=url, headers=headers)
