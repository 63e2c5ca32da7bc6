"""Choosing: which models there are, and which one a session uses."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from pygls.lsp.server import LanguageServer

from pilothouse_agent.models.choosing.catalogue import ModelFacts
from pilothouse_agent.models.choosing.price_data import Prices
from pilothouse_agent.models.choosing.registry import ModelRegistry, Offer
from pilothouse_server.protocol import choosing as c
from pilothouse_server.protocol import models as protocol
from pilothouse_server.protocol.faults import fault
from pilothouse_server.sessions.sessions import Sessions
from pilothouse_server.transport.rpc import Waiting
from pilothouse_server.wire import method_names as names

__all__ = ["register_model_methods"]


def register_model_methods(server: LanguageServer, book: Sessions) -> None:
    @server.feature(names.MODELS)
    def models(params: c.ModelsParams) -> Waiting:
        if params.provider not in (None, *book.models.providers):
            raise fault(protocol.UNKNOWN_MODEL, f"There is no provider {params.provider!r}.")
        registry = book.models_of(params.session_id)
        return Waiting(_offered(registry, params.provider), lambda: None)

    @server.feature(names.SET_MODEL)
    def set_model(params: c.SetModelParams) -> protocol.EmptyResult:
        session = book.get(params.session_id)
        book.refuse_unusable(params.model, session.id)
        session.agent.set_model(params.model)
        return protocol.EmptyResult()

    @server.feature(names.SET_THINKING)
    def set_thinking(params: c.SetThinkingParams) -> protocol.EmptyResult:
        book.get(params.session_id).agent.set_thinking(params.thinking)
        return protocol.EmptyResult()

    _ = (models, set_model, set_thinking)


async def _offered(registry: ModelRegistry, provider: str | None) -> c.ModelsResult:
    offers = await registry.offers(provider)
    return c.ModelsResult(
        providers=[
            c.ProviderEntry(
                name=offer.provider,
                available=offer.reason is None,
                reason=offer.reason,
                credentials=offer.source,
            )
            for offer in offers
        ],
        models=[model for offer in offers for model in _models(offer)],
    )


def _models(offer: Offer) -> Iterator[c.ModelEntry]:
    for name, facts in offer.models:
        yield c.ModelEntry(
            id=name,
            provider=offer.provider,
            available=offer.reason is None,
            reason=offer.reason,
            credentials=offer.source,
            context_window=facts.context_window,
            max_output=facts.max_output,
            images=facts.images,
            thinking=facts.thinking,
            price=_price(facts),
        )


def _price(facts: ModelFacts) -> c.PriceModel | None:
    prices = facts.prices
    if prices == Prices():
        return None
    return c.PriceModel(
        input=_amount(prices.input),
        output=_amount(prices.output),
        cache_read=_amount(prices.cache_read),
        cache_write=_amount(prices.cache_write),
    )


def _amount(price: Decimal | None) -> str | None:
    return None if price is None else format(price, "f")
