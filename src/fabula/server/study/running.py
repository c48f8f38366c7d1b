"""A study on a socket."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fabula.base.files import held
from fabula.measure.studies.answering import Answers
from fabula.server.browser import Names, cookie_at
from fabula.server.running import listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from fabula.measure.studies.study import Study
    from fabula.server.study.conversations import RatersConversations


@dataclass(frozen=True)
class StudyOffer:
    """The study to serve, and how.

    Attributes:
        host: the host at which the server listens.
        names: additional names of the server, under which a proxy forwards requests.
        conversations: the raters' conversations, if characters are rated.
        until: when raters' links expire, in ISO 8601; if empty, the assignment of tasks decides.
    """

    study: Study
    host: str = "127.0.0.1"
    names: Sequence[str] = field(default_factory=tuple)
    conversations: RatersConversations | None = None
    until: str = ""


def now() -> str:
    """The time in ISO 8601, with fractions of seconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def serve_study(offer: StudyOffer, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until the task is cancelled; `ready` is called once requests are accepted.

    Raises:
        ProjectError: another process is serving the study.
    """
    from fabula.server.study.application import BOUNDS, Means, application  # noqa: PLC0415 - a second of imports

    with held(offer.study.private, f"The study {offer.study.folder}"):
        means = Means(
            Answers(offer.study, now), now, Names.of(offer.host, offer.names), offer.conversations, offer.until
        )
        async with offer.conversations or nullcontext():
            await listen(application(means, cookie_at(opened, "fabula-study")), opened, ready, BOUNDS)
