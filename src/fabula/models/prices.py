"""The prices of models, in US dollars per million tokens.

Prices come from the user's settings, otherwise from the data of genai-prices. A price that neither has is `None`, never
a guess.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fabula.base.addresses import is_loopback
from fabula.base.remembering import remembered
from fabula.models.base import Price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from genai_prices.data_snapshot import DataSnapshot

    from fabula.models.base import Usage

MILLION = 1_000_000
_PROVIDERS = {
    name: name
    for name in (
        *("openai", "anthropic", "google", "openrouter", "mistral", "deepseek", "groq", "azure"),
        *("together", "fireworks", "cerebras", "ovhcloud", "zai"),
    )
} | {"xai": "x-ai", "moonshot": "moonshotai", "bedrock": "aws"}
_OWN_MACHINE = frozenset({"embedded", "seq2seq", "scripted", "replay", "person", "program", "hand", "files", "paste"})
_OWN_SERVERS = frozenset({"ollama", "lmstudio", "llamacpp", "vllm"})
_RENTED = "cloud"  # how names of Ollama's models end that it does not run itself


FREE = Price(0.0, 0.0, 0.0)


def price_of(model_name: str, overrides: Mapping[str, Price]) -> Price | None:
    """The price of a model by its name (`anthropic:claude-haiku-4-5`), or `None` if it is not known.

    An override is looked up under the whole name, then under the part after the colon. Models on the user's own machine
    (`embedded`, `scripted`) or server (`ollama`) are free. `openai-chat` may be any server, so only an override gives
    its price.
    """
    kind, _, model = model_name.partition(":")
    for known in (model_name, model):
        if known and known in overrides:
            return overrides[known]
    if kind in _OWN_MACHINE or (kind in _OWN_SERVERS and not model.endswith(_RENTED)):
        return FREE
    return _listed(_PROVIDERS[kind], model) if kind in _PROVIDERS and model else None


def is_overridden(model_name: str, overrides: Mapping[str, Price]) -> bool:
    """Whether the user's settings give a model's price, which then overrides the one from a provider's library."""
    return model_name in overrides or model_name.partition(":")[2] in overrides


def cost(price: Price, usage: Usage) -> float:
    """US dollars for one call, without surcharges for writing a prompt cache, which the usage does not count."""
    if price.over is not None and usage.prompt > price.over[0]:
        return cost(price.over[1], usage)
    cached = min(usage.cached, usage.prompt)
    cached_price = price.input if price.cached is None else price.cached
    dollars = (usage.prompt - cached) * price.input + cached * cached_price + usage.reply * price.output
    return dollars / MILLION


def paid(usage: Usage, price: Price | None, *, own: bool) -> float | None:
    """US dollars for a call: by the price, or from the provider's library if `own`, because it knows surcharges."""
    if own and usage.cost is not None:
        return usage.cost
    return None if price is None else cost(price, usage)


def priced(usage: Usage, performer: str, overrides: Mapping[str, Price]) -> Usage:
    """The usage of a recorded call, at today's price if it had none then."""
    price = price_of(performer.partition("@")[0], overrides) if usage.cost is None else None
    return usage if price is None else replace(usage, cost=cost(price, usage))


@remembered(256, 500)
def _listed(provider: str, model: str) -> Price | None:
    """The price in the data of genai-prices as it was when installed; nothing is fetched."""
    from datetime import UTC, datetime  # noqa: PLC0415 - with the next: only a live, hosted model needs them

    if (snapshot := _snapshot()) is None:
        return None
    try:
        _, info = snapshot.find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    listed = info.get_prices(datetime.now(UTC))
    values = (listed.input_mtok, listed.output_mtok, listed.cache_read_mtok)
    if values[0] is None or values[1] is None:
        return None
    starts = sorted({tier.start for value in values for tier in getattr(value, "tiers", ())})
    over: tuple[int, Price] | None = None
    for start in reversed(starts):
        over = (start, _priced(values, start, over))
    return _priced(values, 0, over)


def listed_cost(address: str, model: str, tokens: tuple[int, int, int, int]) -> float | None:
    """US dollars for a call's tokens (`Received.tokens`), if the price data have the address and the model."""
    if not _is_listed(address, model):
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - 0.1 s of import

    prompt, cached, kept, reply = tokens
    used = Usage(input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=kept, output_tokens=reply)
    with suppress(ValueError):
        return float(calc_price(used, model, provider_api_url=address).total_price)
    return None


@remembered(256, 500)
def _is_listed(address: str, model: str) -> bool:
    if is_loopback(address) or (snapshot := _snapshot()) is None:
        return False
    try:
        snapshot.find_provider_model(model, None, None, address)
    except LookupError:
        return False
    return True


@remembered(256, 500)
def listed_window(model_name: str) -> int | None:
    """The tokens that prompt and reply of a hosted model may have together, if the library's data have them."""
    kind, _, model = model_name.partition(":")
    if kind not in _PROVIDERS or not model:
        return None
    if (snapshot := _snapshot()) is None:
        return None
    try:
        return snapshot.find_provider_model(model, None, _PROVIDERS[kind], None)[1].context_window
    except LookupError:
        return None


def _snapshot() -> DataSnapshot | None:
    """The data of genai-prices as it was when installed; `None` where it is not, for it comes with the providers."""
    if find_spec("genai_prices") is None:
        return None
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - 0.1 s of import

    return get_snapshot()


def _priced(values: Sequence[object], start: int, over: tuple[int, Price] | None) -> Price:
    """The price of a prompt of more than `start` tokens."""
    prompt, reply, cached = (_at(value, start) for value in values)
    return Price(prompt or 0.0, reply or 0.0, cached, over)


def _at(value: object, start: int) -> float | None:
    """The price that holds from `start` tokens of prompt on; plain prices hold everywhere."""
    if value is None:
        return None
    tiers = getattr(value, "tiers", None)
    if tiers is None:
        return float(value)  # type: ignore[arg-type] # a Decimal
    held = [tier.price for tier in tiers if tier.start <= start]
    return float(held[-1] if held else value.base)  # type: ignore[attr-defined] # it has tiers, so it has a base
