"""What Bedrock's client library reads anew for each client is read once: 600 kB of services and addresses."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from botocore.loaders import JSONFileLoader  # type: ignore[import-untyped] # it has no types

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="session")
def _services_are_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", cache(JSONFileLoader.load_file))
        yield
