"""The calls: each is identified by everything that can change its reply, and failures are never stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from fabula.engine.events import CallPlace, Removed
from fabula.engine.journal.store import LAST, JournalStore, digest_of, storing
from fabula.models.base import Reply, Request, Usage

Speaker: TypeAlias = Literal["system", "user", "assistant"]
_PERFORMERS: Final = (
    "SELECT performer FROM call UNION SELECT performer FROM loss UNION SELECT performer FROM hold ORDER BY performer"
)
_CALLS: Final = (
    "SELECT c.id, c.path, c.role, c.performer, c.ordinal, c.reply, t.body, c.finish, c.detail, c.at, c.request, c.run "
    "FROM call c LEFT JOIN text t ON t.hash = c.reply"
)
# A text that is sought is looked for in every text once, however many prompts hold it.
_HOLDING: Final = (
    "WITH hit AS MATERIALIZED (SELECT hash FROM text WHERE {}) {} WHERE (c.reply IN hit OR EXISTS (SELECT 1 FROM "
    "json_each(c.request, '$.messages') m WHERE json_extract(m.value, '$[1]') IN hit)) AND "
)
_PAYMENTS: Final = "SELECT key, path, role, performer, json_extract(detail, '$.usage'), {} FROM call"
_LOST: Final = "SELECT '', path, role, performer, usage, 0 FROM"
_HOLD_LOST: Final = (
    "INSERT INTO loss (path, role, performer, usage, run, at) "
    "SELECT path, role, performer, usage, run, at FROM hold WHERE key = ?"
)


def call_key(request: Request, identity: str, ordinal: int, take: int = 0) -> str:
    """The identity of a call: a SHA-256 of path, rendered messages, model, sampling, schema, ordinal and take.

    Timeouts, retries and API keys are not part of it, because they cannot change a reply.
    """
    body = request.body() | {"path": request.path, "model": identity, "ordinal": ordinal, "take": take}
    shown = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call(CallPlace):
    """A finished call as recorded.

    Attributes:
        id: the number of the call.
        ordinal: the number of earlier calls at that path with the same words.
        reply: the answer.
        at: the time of the call.
        run: the number of the run that made the call.
        schema: the form that the reply had to have.
        free: whether the reply is free text, not a typed reply.
        messages: the messages of the prompt, as (role, text); empty if they were not requested.
    """

    id: int
    ordinal: int
    reply: Reply
    at: str
    run: int
    schema: Mapping[str, Any] | None
    free: bool
    messages: tuple[tuple[Speaker, str], ...] = ()

    @property
    def text(self) -> str:
        """The reply as text."""
        return self.reply.text


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls are wanted; an empty field does not restrict them.

    Attributes:
        text: text in the prompt or the reply, ignoring case.
        role: the role that was asked; `performer` is who played it.
        under: the path of the call, or a path above it.
        number: the number of the call.
    """

    text: str = ""
    role: str = ""
    performer: str = ""
    under: str = ""
    number: int = 0


ALL: Final = CallFilter()


@dataclass(frozen=True, slots=True)
class Payment(CallPlace):
    """What was paid for a call: its key, its usage, and the number of tokens expected in its reply.

    A call that failed or is still running has no key.
    """

    key: str
    usage: Usage
    expected: int


@dataclass(frozen=True, slots=True)
class Removal(Removed):
    """A piece that a rule removed from a reply, and when."""

    at: str


class Calls:
    """The calls of a journal; `len` gives their number."""

    def __init__(self, store: JournalStore) -> None:
        self._store, self._holding = store, False
        self._given_up: Counter[str] | None = None

    def __len__(self) -> int:
        return int(self._store.all("SELECT count(*) FROM call")[0][0])

    # what was answered ----------------------------------------------------------------------------------------------

    def reply(self, key: str) -> Reply | None:
        """The reply of the call with the key `key`, or `None`."""
        rows = self._store.all(f"{_CALLS} WHERE c.key = ?", key)
        return self._reply(rows[0]) if rows else None

    def last(self, path: str, ordinal: int, until: int = LAST, *, prompt: bool = False) -> Call | None:
        """The newest call at a path and ordinal, up to the call `until`, whatever its prompt was."""
        sql = f"{_CALLS} WHERE c.path = ? AND c.ordinal = ? AND c.id <= ? ORDER BY c.id DESC LIMIT 1"
        rows = self._store.all(sql, path, ordinal, until)
        return self._call(rows[0], prompt=prompt) if rows else None

    def find(
        self, wanted: CallFilter = ALL, *, prompts: bool = False, most: int = -1, before: int = LAST, after: int = 0
    ) -> list[Call]:
        """The wanted calls, oldest first.

        Args:
            wanted: which calls.
            prompts: whether to include their messages.
            most: how many calls to return: the newest ones, or the oldest ones if `after` is given.
            before: only calls with a lower number.
            after: only calls with a higher number.
        """
        clauses: list[str] = ["c.id > ? AND c.id < ?"]
        values: list[object] = [after, before]
        for column, value in (("role", wanted.role), ("performer", wanted.performer), ("id", wanted.number)):
            if value:
                clauses.append(f"c.{column} = ?")
                values.append(value)
        if wanted.under:
            clauses.append("(c.path = ? OR (c.path > ? AND c.path < ?))")
            values += [wanted.under, f"{wanted.under}/", f"{wanted.under}0"]
        likes = _likes(wanted.text) if wanted.text else []
        sql = f"{_CALLS} WHERE "
        if likes:
            sql = _HOLDING.format(" OR ".join(["body LIKE ? ESCAPE '!'"] * len(likes)), _CALLS)
        order = "ASC" if after and before == LAST else "DESC"
        rows = self._store.all(f"{sql}{' AND '.join(clauses)} ORDER BY c.id {order} LIMIT ?", *likes, *values, most)
        return sorted((self._call(row, prompt=prompts) for row in rows), key=lambda one: one.id)

    def _call(self, row: Sequence[Any], *, prompt: bool) -> Call:
        number, path, role, performer, ordinal, _, _, _, _, at, request, run = row
        with self._store.reading(f"what was asked at {path}"):
            asked = json.loads(request)
            schema = asked.get("schema")
            free = schema is None and not asked.get("choices")
            bodies = "SELECT body FROM text WHERE hash = ?"
            said = ((who, str(self._store.all(bodies, digest)[0][0])) for who, digest in asked["messages"])
            messages = tuple(said) if prompt else ()
        return Call(path, role, performer, number, ordinal, self._reply(row), at, run, schema, free, messages)

    def _reply(self, row: Sequence[Any]) -> Reply:
        """The reply as it was recorded.

        Raises:
            JournalDamagedError: it was altered since, or is gone.
        """
        path, performer, digest, text, finish, detail = row[1], row[3], *row[5:9]
        if not isinstance(text, str) or digest_of(text) != digest:
            raise self._store.damaged(f"the reply at {path} is not the one that was recorded")
        with self._store.reading(f"what is recorded of the reply at {path}"):
            details = json.loads(detail)
            usage, sent, dropped = Usage(**details["usage"]), details["sent"], tuple(details["dropped"])
            more = details.get("logprobs"), details.get("reasoning", "")
            return Reply(text, usage, finish, performer, sent, dropped, *more)

    # what was paid --------------------------------------------------------------------------------------------------

    def hold(self, key: str, request: Request, performer: str, usage: Usage) -> None:
        """Book the possible usage of a call before it is made, so that it is counted even if this process is killed.

        An entry of an earlier try was never settled, and becomes a loss.
        """
        row = (key, request.path, request.role, performer, json.dumps(usage.values()), self._store.run)
        insert = "INSERT OR REPLACE INTO hold VALUES (?, ?, ?, ?, ?, ?, ?)"
        with self._store.loosely():
            self._store.write((_HOLD_LOST, (key,)), (insert, (*row, self._store.now())))
        self._holding = True

    def record(self, key: str, request: Request, ordinal: int, reply: Reply, *, expected: int = 0) -> None:
        """Commit a finished call, whose reply should have `expected` tokens; a second call with its key is ignored."""
        body = request.body()
        body["messages"] = [[m.role, digest_of(m.content)] for m in request.messages]
        detail: dict[str, Any] = {
            "usage": reply.usage.values(),
            "sent": dict(reply.sent),
            "dropped": list(reply.dropped),
        }
        if expected:
            detail["expected"] = expected
        if reply.logprobs is not None:
            detail["logprobs"] = dict(reply.logprobs)
        if reply.reasoning:
            detail["reasoning"] = reply.reasoning
        row: dict[str, object] = {
            "key": key,
            "path": request.path,
            "ordinal": ordinal,
            "role": request.role,
            "performer": reply.model,
            "request": json.dumps(body),
            "reply": digest_of(reply.text),
            "finish": reply.finish,
            "detail": json.dumps(detail),
            "run": self._store.run,
            "at": self._store.now(),
        }
        names, values = ", ".join(row), ", ".join("?" * len(row))
        insert = f"INSERT OR IGNORE INTO call ({names}) VALUES ({values})"  # noqa: S608 - our own words
        texts = (storing(message.content) for message in request.messages)
        self._store.write(*texts, storing(reply.text), (insert, tuple(row.values())), *self._settled(key))

    async def recorded(self, key: str, request: Request, ordinal: int, reply: Reply, *, expected: int = 0) -> None:
        """Do what `record` does, and wait for the disk without blocking other work."""
        with self._store.loosely():
            self.record(key, request, ordinal, reply, expected=expected)
        await self._store.synced()

    def settle(self, key: str, request: Request, performer: str, lost: Usage | None = None) -> None:
        """Remove the booking of a call that failed, or record the usage that was paid and `lost`.

        The call itself is made again the next time.
        """
        if lost is None:
            self._store.write(*self._settled(key))
            return
        row = (request.path, request.role, performer, json.dumps(lost.values()), self._store.run, self._store.now())
        insert = "INSERT INTO loss (path, role, performer, usage, run, at) VALUES (?, ?, ?, ?, ?, ?)"
        self._store.write((insert, row), *self._settled(key))

    def _settled(self, key: str) -> tuple[tuple[str, Sequence[object]], ...]:
        return (("DELETE FROM hold WHERE key = ?", (key,)),) if self._holding else ()

    def payments(self, keys: Sequence[str] | None = None) -> list[Payment]:
        """The payments for all calls; calls that failed or are still running come last.

        With `keys`, only recorded calls with those keys, in the order of the keys.
        """
        sql = _PAYMENTS.format("coalesce(json_extract(detail, '$.expected'), 0)")
        if keys is None:
            rows = self._store.all(f"{sql} ORDER BY id")
            rows += self._store.all(f"{_LOST} loss ORDER BY id") + self._store.all(f"{_LOST} hold ORDER BY at")
        else:
            sql += " WHERE key IN (SELECT value FROM json_each(?))"
            rows = self._store.all(sql, json.dumps(keys))
            place = {key: number for number, key in enumerate(keys)}
            rows.sort(key=lambda row: place[row[0]])
        with self._store.reading("what the calls used"):
            return [
                Payment(path, role, who, key, Usage(**json.loads(usage)), int(expected))
                for key, path, role, who, usage, expected in rows
            ]

    def performers(self) -> list[str]:
        """Everyone who was paid, in alphabetical order."""
        return [str(row[0]) for row in self._store.all(_PERFORMERS)]

    # what became of replies -----------------------------------------------------------------------------------------

    def remove(self, path: str, rule: str, text: str) -> None:
        """Record what a rule removed from a reply; the same piece at the same path is recorded only once."""
        row = (path, rule, digest_of(text), self._store.run, self._store.now())
        insert = "INSERT OR IGNORE INTO removal (path, rule, text, run, at) VALUES (?, ?, ?, ?, ?)"
        self._store.write(storing(text), (insert, row))

    def removals(self, under: str = "") -> list[Removal]:
        """What rules removed, oldest first; `under` restricts this to replies at or below one path."""
        rows = self._store.all(
            "SELECT r.path, r.rule, t.body, r.at FROM removal r JOIN text t ON t.hash = r.text ORDER BY r.id"
        )
        return [Removal(*row) for row in rows if not under or row[0] == under or row[0].startswith(f"{under}/")]

    def give_up(self, path: str) -> None:
        """Record that a run ended because all tries at `path` failed, so that the next run makes them again."""
        insert = "INSERT INTO failure (path, run, at) VALUES (?, ?, ?)"
        self._store.write((insert, (path, self._store.run, self._store.now())))
        self._given_up = None

    def given_up(self, path: str) -> int:
        """How many runs ended because all tries at `path` failed."""
        if self._given_up is None:
            self._given_up = Counter(path for (path,) in self._store.all("SELECT path FROM failure"))
        return self._given_up[path]


def spent_by_role(calls: Calls) -> dict[str, Usage]:
    """The usage of a whole project so far, by role."""
    bill: dict[str, Usage] = {}
    for paid in calls.payments():
        bill[paid.role] = bill[paid.role] + paid.usage if paid.role in bill else paid.usage
    return bill


def _likes(text: str) -> list[str]:
    """Patterns that find a text; SQLite takes capitals for small letters in ASCII alone."""
    forms = [text] if text.isascii() else dict.fromkeys((text, text.lower(), text.upper(), text.capitalize()))
    return [f"%{form.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%" for form in forms]
