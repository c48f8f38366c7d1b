"""Hard caps on tokens and dollars, for a run and for the whole it is part of, and a bill for each role."""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf

from fabula.base.errors import BudgetError, EndlessReplyError, ModelError, UsageError
from fabula.base.remembering import remembered
from fabula.models.base import NOTHING_USED, Model, OnText, Price, Reply, Request, Usage
from fabula.models.prices import FREE, cost, listed_window, price_of
from fabula.models.reasoning import room_for_reasoning

_ASCII = bytes(range(128))
_WORDS = (string.ascii_letters + " ").encode()
_ENGLISH, _FOREIGN = 4.5, 3.3  # letters and spaces to a token
_SIGN = 0.6  # tokens to another ASCII character: digits, punctuation, line ends
_MARGIN = 0.3  # of tokens that we count ourselves: so much too low the estimate may be
_FAR, _SOME, _FEW = (
    2.5,
    800,
    10,
)  # a count is not believed that is so many times ours and some more, or a share and few less
_ROUNDING = 1e-6  # of a token, lost where dollars are counted
_AMPLE = 2  # times the length of a reply that are held where it is longer than anybody expected
_ENDLESS, _LONG = 10, 16_384  # times the expected reply, and tokens, after which a reply without a bound is ended
UNBOUNDED = 10**12
"""The maximum number of tokens of a call without a cap."""
UNKNOWN_LONGEST = 32_768
"""The maximum number of tokens of a reply without a limit if the model's context window is not known."""
_TYPOGRAPHY = b"\xe2\x80"  # how dashes, curly quotes and ellipses begin in UTF-8


@remembered(1024, 20_000)  # what prompts may hold is counted again and again
def estimate_tokens(text: str) -> int:
    """The approximate number of tokens in `text`.

    The rule counts one token for 4.5 ASCII letters and spaces (3.3 in a text with more than 1 foreign letter per 100 of
    these), for 1.7 other ASCII characters, for each typographic sign, and for 2 UTF-8 bytes of anything else.

    The error compared with the tokenisers of SmolLM2 and Qwen2.5, on pieces of 1,500 characters, is -5 % to +20 % for
    English prose (7 % and 11 % too high on average), 13 % to 19 % too low for JSON, within 19 % for German and French,
    and from 23 % too low (SmolLM2) to twice as high (Qwen2.5) for Russian, Chinese and Japanese.
    """
    return ceil(_tokens(text))


def _tokens(text: str) -> float:
    data = text.encode("utf-8", "surrogatepass")
    high = len(data.translate(None, _ASCII))
    words = len(data) - len(data.translate(None, _WORDS))
    typography = 3 * data.count(_TYPOGRAPHY)
    foreign = high - typography
    letters = words / (_FOREIGN if foreign * 100 > words else _ENGLISH)
    return letters + _SIGN * (len(data) - high - words) + typography / 3 + foreign / 2


def prompt_tokens(request: Request) -> int:
    """The approximate number of tokens in a request's messages."""
    return sum(estimate_tokens(message.content) for message in request.messages)


def counted(request: Request, reply: Reply, model: Model) -> tuple[Usage, int]:
    """The usage of a call, and the number of tokens in an incredible claim of its server (0 if there is none).

    If a server's count is missing, or far from what was sent and received, the tokens are counted here and marked as
    estimated. A reply from a model on this machine that reports no cost used nothing.
    """
    usage = reply.usage
    if usage == NOTHING_USED and price_of(model.name, {}) == FREE:
        return usage, 0
    sent = prompt_tokens(request)
    came = estimate_tokens(reply.text) + estimate_tokens(reply.reasoning)
    # Many servers say nothing of the reasoning.
    hidden = 0 if reply.reasoning else room_for_reasoning(request.sampling, thinks=True)
    return _believed(
        usage, Usage(prompt=sent, reply=came), _form_tokens(request), min(hidden, longest_reply(request, model))
    )


def _form_tokens(request: Request) -> int:
    """About how many tokens the form of a reply has, which a server may put into the prompt."""
    return estimate_tokens(json.dumps(request.schema)) if request.schema else 0


def _believed(usage: Usage, ours: Usage, form: int, hidden: int, *, seen: bool = True) -> tuple[Usage, int]:
    """`usage` with counts that can be true, and the tokens claimed beyond that.

    What may or may not be counted: the `form` of the reply, with the prompt; `hidden` reasoning, with the reply. Of a
    reply that was not `seen`, our count is what was expected.
    """
    prompt = usage.prompt if _may_be(usage.prompt, ours.prompt, form) else ours.prompt + form
    reply = usage.reply if _may_be(usage.reply, ours.reply, hidden, seen=seen) else ours.reply
    estimated = (prompt if prompt != usage.prompt else 0) + (reply if reply != usage.reply else 0)
    if not estimated:
        return usage, 0
    claimed = usage.prompt + usage.reply
    known = replace(usage, prompt=prompt, cached=min(usage.cached, prompt), reply=reply, estimated=estimated)
    beyond = claimed if claimed > prompt + reply else 0
    return replace(known, cost=None, reasoning=min(usage.reasoning, reply)), beyond


def _may_be(count: int, ours: int, more: int, *, seen: bool = True) -> bool:
    """Whether a server's count can be true of what has so many tokens by ours, or `more` than them.

    No tokenizer makes so much less of a text that is more than a few words; above, the marks of turns are tokens too.
    """
    least = ours / _FAR - _FEW if seen else 0
    return count > 0 and least <= count <= ours * _FAR + _SOME + more


@dataclass(eq=False)
class Tries:
    """One call within a budget: the reservation for its tries, and the possible charges for failed ones.

    A streamed reply is ended if it exceeds the longest possible reply, or the room that a cap leaves.

    Attributes:
        request: the request.
        model: the model that is called.
        reply: the expected number of tokens in the reply.
        budget: the budget that holds them.
        price: the price of the model, if known.
        listener: hears a reply as it arrives, if anyone listens.
    """

    request: Request
    model: Model
    reply: int
    budget: Budget
    price: Price | None
    listener: OnText | None = None
    held: Reservation = field(init=False)
    _count: float = field(default=0.0, init=False, repr=False)
    _sent: bool = field(default=False, init=False, repr=False)

    @cached_property
    def prompt(self) -> int:
        """The estimated tokens of the prompt."""
        return prompt_tokens(self.request)

    @cached_property
    def most(self) -> int:
        """The tokens after which a reply is ended: many times the expected number, but within the model's limit."""
        asked = self.request.sampling.max_tokens
        longest = longest_reply(self.request, self.model)
        return ceil(_FAR * longest) + _SOME if asked else min(longest, max(_ENDLESS * self.reply, _LONG))

    async def begin(self) -> None:
        """Reserve the possible usage of a try, and wait if running calls leave too little room.

        Raises:
            BudgetError: the cap has no room for the try.
            UsageError: there is a cap in dollars, but the model's price is not known.
        """
        role, name = self.request.role, self.model.name
        self.held = await self.budget.admit(role, name, self.prompt, self.reply, self.price, most=self.most)

    def settle(self, usage: Usage) -> None:
        """Add the usage of a try to the bill."""
        self.budget.settle(self.held, usage)

    def release(self) -> None:
        """Release the reservation."""
        self.budget.release(self.held)

    @property
    def on_text(self) -> OnText | None:
        """A listener that counts the arriving text and passes it on, if somebody listens or there is a cap."""
        return None if self.listener is None and not self.budget.capped else self._hear

    def sent(self) -> None:
        """Confirm that a try is sent now.

        Raises:
            BudgetError: other calls used up the rest while it waited.
        """
        self.budget.confirm(self.held, self.reply)
        self._sent = True

    def lost(self, error: BaseException) -> Usage | None:
        """The usage of a failed try; `None` if it is assumed to have cost nothing.

        The server's count is used if there is one. Otherwise fabula counts the prompt and the part of the reply that
        arrived. If no part arrived but the reply may have been written, its expected length counts.
        """
        whole = self.on_text is None  # a reply that comes whole may be written to its end, though nobody waits for it
        if not isinstance(error, ModelError):
            return self._seen(unseen=(self.reply if whole else 0) if self._sent else None)
        came = self._count > 0
        seen = self._seen(unseen=self.reply if error.may_cost or any(error.tokens) else None)
        if seen is None or not any(error.tokens):
            return seen
        claimed = Usage(prompt=error.tokens[0], reply=error.tokens[1])
        return _believed(claimed, seen, _form_tokens(self.request), self.most, seen=came)[0]

    def thought(self, piece: str) -> None:
        """Count a piece of reasoning, which is not shown to anyone."""
        self._grows(piece)

    def _hear(self, text: str) -> None:
        self._grows(text)
        if self.listener is not None:
            self.listener(text)

    def _grows(self, piece: str) -> None:
        """Hold more for a reply that has become longer than was held for it; end one that does not end itself."""
        began = self._count > 0
        self._count += _tokens(piece)
        if began and self._count > self.most:  # what came whole, as a paste does, has an end
            raise EndlessReplyError(
                f"{self.model.name} did not end its reply, which was cut off after about {self._count:,.0f} tokens "
                f"although only about {self.reply:,} were requested. Try another model, or set a limit (--sampling "
                "max_tokens=N).",
                model=self.model.name,
            )
        if self._count > self.held.reply:
            self.budget.grow(self.held, ceil(self._count))

    def _seen(self, *, unseen: int | None) -> Usage | None:
        """A try's prompt and what came of its reply; `unseen` is taken for that where nothing came, `None` for both."""
        reply, self._sent, self._count = ceil(self._count) or unseen, False, 0.0
        return None if reply is None else Usage(prompt=self.prompt, reply=reply, estimated=self.prompt + reply)


def longest_reply(request: Request, model: Model) -> int:
    """The most tokens that a reply may have: the request's limit, otherwise what the model's window leaves."""
    able = model.capabilities
    if request.sampling.max_tokens:
        return request.sampling.max_tokens + room_for_reasoning(request.sampling, thinks=able.thinks)
    window = able.context or listed_window(model.name)
    return UNKNOWN_LONGEST if window is None else max(window - prompt_tokens(request), 1)


@dataclass(slots=True, eq=False)
class Reservation:
    """The tokens held for one call until it is settled or released: its prompt and the possible reply."""

    role: str
    model: str
    prompt: int
    reply: int
    price: Price | None

    @property
    def tokens(self) -> int:
        """All tokens held."""
        return self.prompt + self.reply

    @property
    def usd(self) -> float | None:
        """Their cost in US dollars at full price; `None` if the price is not known."""
        return None if self.price is None else cost(self.price, Usage(prompt=self.prompt, reply=self.reply))


@dataclass(eq=False)
class Budget:
    """Caps on the total of prompt and reply tokens, and on US dollars; `None` means no cap.

    A call is admitted if there is room for its expected reply. The largest possible reply is held if there is room for
    it, and otherwise more is held while the reply arrives (`grow`). Only `admit` awaits anything, so parallel calls in
    one event loop can never exceed a cap together. For tokens that fabula had to count itself, an extra share is
    reserved in case the count is too low.

    Attributes:
        whole: the budget that this one is part of; each call is held and paid there too.
        of: whose budget this is, for messages: " of the project".
        raise_with: how to continue with more, for messages, with a placeholder for tokens or dollars.
        spent_tokens: the tokens of all settled calls.
        spent_usd: the US dollars of all settled calls with a known price.
        announced: the tokens and US dollars that a whole run may take by its estimate; advice names no lower cap.
        passed: a sentence about the call that exceeded a cap here or in the whole; empty if none has.
        held: the reservations of running calls.
        waiting: waiters to notify when a call is settled.
    """

    tokens: int | None = None
    usd: float | None = None
    whole: Budget | None = None
    of: str = ""
    raise_with: tuple[str, str] = ("--budget-tokens {} or more", "--budget-usd {} or more")
    spent_tokens: int = field(default=0, init=False)
    spent_usd: float = field(default=0.0, init=False)
    announced: tuple[int, float] = field(default=(0, 0.0), init=False)
    passed: str = field(default="", init=False)
    _kept_tokens: int = field(default=0, init=False, repr=False)
    _kept_usd: float = field(default=0.0, init=False, repr=False)
    held: set[Reservation] = field(default_factory=set, init=False, repr=False)
    _bill: dict[str, Usage] = field(default_factory=dict, init=False, repr=False)
    waiting: list[asyncio.Future[None]] = field(default_factory=list, init=False, repr=False)

    @property
    def capped(self) -> bool:
        """Whether there is a cap, here or on the whole."""
        return any(one.tokens is not None or one.usd is not None for one in self.levels())

    @property
    def held_tokens(self) -> int:
        """The tokens that running calls may still use."""
        return sum(held.tokens for held in self.held)

    @property
    def held_usd(self) -> float:
        """The US dollars that running calls may still cost."""
        return sum(held.usd or 0.0 for held in self.held)

    async def admit(
        self, role: str, model_name: str, prompt: int, reply: int, price: Price | None, *, most: int | None = None
    ) -> Reservation:
        """Reserve like `reserve`, but first wait for running calls if they may leave enough room.

        This way, a call that runs and is paid for is not cut off because another call finds no room next to it.

        Raises:
            BudgetError, UsageError: see `reserve`.
        """
        while True:
            try:
                return self.reserve(role, model_name, prompt, reply, price, most=most)
            except BudgetError:
                if not any(one.held_tokens for one in self.levels()):
                    raise
            settled = asyncio.get_running_loop().create_future()
            for one in self.levels():
                one.waiting.append(settled)
            await settled

    def reserve(
        self, role: str, model_name: str, prompt: int, reply: int, price: Price | None, *, most: int | None = None
    ) -> Reservation:
        """Hold the possible usage of the next call at full price, here and in the budget of the whole.

        Args:
            role: the role that is asked.
            model_name: the name of the model, for messages.
            prompt: the estimated tokens of the prompt.
            reply: the expected tokens of the reply.
            price: the price of the model, if known.
            most: the most tokens that the reply may have, if that is more.

        Raises:
            BudgetError: the call might exceed a cap; the message says what is spent and how to continue.
            UsageError: there is a cap in dollars, but the model's price is not known.
        """
        wanted = Reservation(role, model_name, prompt, reply, price)
        for one in self.levels():
            one.check(wanted)
        wanted.reply = max(reply, min(most or reply, self.least_room(wanted)))
        for one in self.levels():
            one.held.add(wanted)
        return wanted

    def confirm(self, held: Reservation, reply: int) -> None:
        """Refuse an admitted call that would now exceed a cap because of later spending.

        Other calls may have used more than was held for them, and other workers do not know what is held here.

        Raises:
            BudgetError: there is no room left for the prompt and `reply` tokens.
        """
        wanted = replace(held, reply=reply)
        for one in self.levels():
            running, one.held = one.held, set()  # those that are on their way are not waited for
            try:
                one.check(wanted)
            finally:
                one.held = running

    def grow(self, held: Reservation, reply: int) -> None:
        """Hold more for a reply that exceeds what was held for it; it has `reply` tokens so far.

        Raises:
            BudgetError: a cap leaves no room for the reply.
        """
        room = self.least_room(held)
        if room < reply:
            tight = min(self.levels(), key=lambda one: one.room_for(held))
            held.reply = _AMPLE * reply  # what it would take to go on
            cap, spent, more = tight.in_words(held)
            raise tight.stopped(
                cap,
                f"{spent}, and the reply of role {held.role!r} ({held.model}) exceeds the tokens left: {reply:,} "
                "so far",
                more,
            )
        held.reply = min(_AMPLE * reply, room)

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """Add the actual usage of a call to the bill; an unknown cost is taken from the reservation's price."""
        self.release(reservation)
        if usage.cost is None and reservation.price is not None:
            usage = replace(usage, cost=cost(reservation.price, usage))
        before = self._bill.get(reservation.role)
        self._bill[reservation.role] = usage if before is None else before + usage
        for one in self.levels():
            one.charge(usage)
            if said := one.overrun(reservation):
                self.passed = said

    def claim(self, said: str, tokens: int, usd: float | None) -> None:
        """Report that a cap would be exceeded if a provider charged for the tokens of an incredible claim."""
        for one in self.levels():
            if (one.tokens is not None and one.spent_tokens + tokens > one.tokens) or (
                one.usd is not None and one.spent_usd + (usd or 0.0) > one.usd
            ):
                self.passed = f"{said} Based on this claim, the budget{one.of} is exceeded. All finished work is kept."

    def charge(self, usage: Usage) -> None:
        """Count a usage only here; an unknown cost counts as nothing."""
        taken = usage.prompt + usage.reply
        self.spent_tokens += taken
        self.spent_usd += usage.cost or 0.0
        if usage.estimated:
            self._kept_tokens += ceil(_MARGIN * usage.estimated)
            self._kept_usd += _MARGIN * (usage.cost or 0.0) * usage.estimated / taken

    def release(self, reservation: Reservation) -> None:
        """Release the reservation of a failed call; safe to call twice."""
        for one in self.levels():
            one.held.discard(reservation)
            waiting, one.waiting = one.waiting, []
            for caller in waiting:
                if not caller.done():
                    caller.set_result(None)

    def bill(self) -> dict[str, Usage]:
        """The usage of each role, in order of its first call; `cost` is `None` if a price is unknown."""
        return dict(self._bill)

    def stopped(self, cap: str, why: str, more: str) -> BudgetError:
        """The error that stops a run before or after a cap is exceeded."""
        return BudgetError(f"{self.stops_at(cap)}: {why}. All finished work is kept. To continue, use {more}.")

    def stops_at(self, cap: str) -> str:
        """The beginning of a sentence about why no more calls are made."""
        when = ", as" if self._over else " before"
        return f"Stopped{when} the budget of {cap}{self.of} is exceeded"

    def unpriced(self, role: str, model_name: str, cap: float) -> UsageError:
        """The error for a price that is needed but not known."""
        return UsageError(
            f"The price of {model_name} (role {role!r}) is not known, so a budget of ${cap:,.2f}{self.of} cannot be "
            f'enforced. Add the price to fabula.toml, in dollars per million tokens: [prices."{model_name}"] '
            "input = 1.0, output = 4.0, cached = 0.1 (each on a separate line), or use a budget in tokens. If there "
            "is no project yet, run `fabula new` first."
        )

    def levels(self) -> Iterator[Budget]:
        """This budget and the budgets of the whole, from the inside out."""
        yield self
        if self.whole is not None:
            yield from self.whole.levels()

    def check(self, wanted: Reservation) -> None:
        """Refuse a call that has no room here.

        Raises:
            BudgetError, UsageError: see `reserve`.
        """
        if self.usd is not None and wanted.price is None:
            raise self.unpriced(wanted.role, wanted.model, self.usd)
        asked = f"the next call (role {wanted.role!r}, {wanted.model})"
        if self.tokens is not None:
            need = self.spent_tokens + self._kept_tokens + self.held_tokens + wanted.tokens
            if need > self.tokens:
                cap, spent, more = self.in_words(wanted)
                running = f", calls now running may take {self.held_tokens:,}" if self.held_tokens else ""
                raise self.stopped(
                    cap,
                    f"{spent}{running}, and {asked} may take "
                    f"{wanted.tokens:,} ({wanted.prompt:,} of prompt, {wanted.reply:,} of reply)",
                    more,
                )
        if self.usd is not None:
            dollars = wanted.usd or 0.0
            if self.spent_usd + self._kept_usd + self.held_usd + dollars > self.usd:
                cap, spent, more = self.in_words(wanted, usd=True)
                running = f", calls now running may take ${self.held_usd:,.4f}" if self.held_usd else ""
                raise self.stopped(cap, f"{spent}{running}, and {asked} may take ${dollars:,.4f}", more)

    def in_words(self, wanted: Reservation, *, usd: bool | None = None) -> tuple[str, str, str]:
        """A cap, the amount spent, and how to continue with enough for a call, in words."""
        if usd is None:
            usd = self.tokens is None or self._in_dollars(wanted) < self._in_tokens(wanted)
        others = self.held - {wanted}
        run = max(self.levels(), key=lambda one: one.announced)
        if usd:
            gone = self.spent_usd + self._kept_usd
            need = gone + sum(one.usd or 0.0 for one in others) + (wanted.usd or 0.0)
            need = ceil(max(need, self.spent_usd - run.spent_usd + run.announced[1]) * 10_000) / 10_000
            kept = self._kept(f"${self._kept_usd:,.4f}", self._kept_usd)
            return (
                f"${self.usd:,.4f}",
                f"${self.spent_usd:,.4f} are spent{kept}",
                self.raise_with[1].format(f"{need:.4f}"),
            )
        tokens = self.spent_tokens + self._kept_tokens + sum(one.tokens for one in others) + wanted.tokens
        tokens = max(tokens, self.spent_tokens - run.spent_tokens + run.announced[0])
        kept = self._kept(f"{self._kept_tokens:,}", self._kept_tokens)
        return f"{self.tokens:,} tokens", f"{self.spent_tokens:,} are spent{kept}", self.raise_with[0].format(tokens)

    def share_left(self, tokens: float, usd: float) -> float:
        """The share of an amount that the caps leave here and in the whole (1 or more: all), without reservations."""
        return min(one._share_left(tokens, usd) for one in self.levels())  # noqa: SLF001 - a budget as this one

    def _share_left(self, tokens: float, usd: float) -> float:
        more = 1 + _MARGIN * (self._kept_tokens > 0)
        shares = [inf]
        if self.tokens is not None and tokens:
            shares.append((self.tokens - self.spent_tokens - self._kept_tokens) / (more * tokens))
        if self.usd is not None and usd:
            shares.append((self.usd - self.spent_usd - self._kept_usd) / (more * usd))
        return min(shares)

    def least_room(self, wanted: Reservation) -> int:
        """The tokens that the caps here and in the whole leave for a call's reply."""
        return min(one.room_for(wanted) for one in self.levels())

    def room_for(self, wanted: Reservation) -> int:
        """The tokens that the caps here leave for a call's reply."""
        return max(int(min(self._in_tokens(wanted), self._in_dollars(wanted), UNBOUNDED) + _ROUNDING), 0)

    def _in_tokens(self, wanted: Reservation) -> float:
        if self.tokens is None:
            return inf
        others = sum(one.tokens for one in self.held if one is not wanted)
        return self.tokens - self.spent_tokens - self._kept_tokens - others - wanted.prompt

    def _in_dollars(self, wanted: Reservation) -> float:
        if self.usd is None or wanted.price is None:
            return inf
        asked, one_more = (cost(wanted.price, Usage(prompt=wanted.prompt, reply=n)) for n in (0, 1))
        others = sum(one.usd or 0.0 for one in self.held if one is not wanted)
        left = self.usd - self.spent_usd - self._kept_usd - others - asked
        return left / (one_more - asked) if one_more > asked else inf

    @property
    def _over(self) -> bool:
        """Whether more is spent than the caps allow."""
        return (self.tokens is not None and self.spent_tokens > self.tokens) or (
            self.usd is not None and self.spent_usd > self.usd
        )

    def overrun(self, last: Reservation) -> str:
        """A sentence about a cap that is exceeded here; empty if none is."""
        if not self._over:
            return ""
        usd = self.usd is not None and self.spent_usd > self.usd
        cap, spent, _ = self.in_words(last, usd=usd)
        return (
            f"The budget of {cap}{self.of} is exceeded: {spent}. The last call (role {last.role!r}, {last.model}) "
            "used more than expected. All finished work is kept."
        )

    @staticmethod
    def _kept(amount: str, kept: float) -> str:
        return f" ({amount} more are reserved, because tokens were estimated)" if kept else ""
