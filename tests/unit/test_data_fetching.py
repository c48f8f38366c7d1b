from __future__ import annotations

import io
from http.client import HTTPMessage, IncompleteRead
from typing import IO, TYPE_CHECKING
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, Request

import pytest

from fabula.base.errors import FabulaError, ProjectError, UnknownNameError
from fabula.data.fetching import fetch, over_https, pinned
from fabula.data.sets import SETS, DataSet, PublicFile, find_set

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

URL = "https://data.invalid/a.txt"
SHA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"  # of "a"


class Web:
    """Answers addresses with bytes, and counts how often it was asked."""

    def __init__(self, answers: Mapping[str, bytes]) -> None:
        self.answers, self.asked = dict(answers), 0

    def __call__(self, url: str) -> IO[bytes]:
        self.asked += 1
        return io.BytesIO(self.answers[url])


def one(sha256: str = "", limit: int = 100) -> DataSet:
    return DataSet("one", "", "CC0", "", (PublicFile("a.txt", URL, limit, sha256),))


def test_a_checksum_that_is_not_known_is_pinned_at_the_first_fetch(tmp_path: Path) -> None:
    web = Web({URL: b"a"})
    (first,) = fetch(one(), tmp_path / "one", web)
    assert (first.sha256, first.checked, first.new, first.size) == (SHA, "pinned now", True, 1)
    assert pinned(tmp_path / "one") == {"a.txt": SHA}
    (again,) = fetch(one(), tmp_path / "one", web)
    assert (again.checked, again.new, web.asked) == ("as at the first fetch", False, 1)


def test_another_file_than_the_first_is_refused_and_the_first_kept(tmp_path: Path) -> None:
    list(fetch(one(), tmp_path, Web({URL: b"a"})))
    (tmp_path / "a.txt").write_bytes(b"damaged")
    with pytest.raises(FabulaError, match=r"expected ca978112.*Nothing was kept.*SHA256SUMS"):
        list(fetch(one(), tmp_path, Web({URL: b"b"})))
    assert (tmp_path / "a.txt").read_bytes() == b"damaged"
    (mended,) = fetch(one(), tmp_path, Web({URL: b"a"}))
    assert (mended.new, (tmp_path / "a.txt").read_bytes()) == (True, b"a")
    assert not list(tmp_path.glob(".*.part"))


def test_a_known_checksum_is_held_against_what_comes(tmp_path: Path) -> None:
    (done,) = fetch(one(SHA), tmp_path, Web({URL: b"a"}))
    assert done.checked == "known"
    with pytest.raises(FabulaError, match="expected 0000"):
        list(fetch(one("0" * 64), tmp_path / "x", Web({URL: b"a"})))
    assert not list((tmp_path / "x").iterdir())


def test_more_than_the_limit_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(FabulaError, match="sent more than 2 bytes"):
        list(fetch(one(limit=2), tmp_path, Web({URL: b"abc"})))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [URLError("no route"), TimeoutError("slow"), IncompleteRead(b"")])
def test_an_address_that_does_not_answer_is_named(tmp_path: Path, error: Exception) -> None:
    def fail(url: str) -> IO[bytes]:
        raise error

    with pytest.raises(FabulaError, match=r"Cannot fetch https://data\.invalid/a\.txt.*put it next to"):
        list(fetch(one(), tmp_path, fail))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError, match="Cannot write"):
        list(fetch(one(), tmp_path / "file" / "one", Web({})))


def test_only_https_is_asked() -> None:
    with pytest.raises(URLError, match="is not https"):
        over_https("http://data.invalid/a.txt")
    assert {file.url[:8] for data in SETS.values() for file in data.files} == {"https://"}


def test_a_redirect_stays_on_https(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[HTTPRedirectHandler] = []

    class Opener:
        def open(self, request: Request, timeout: float) -> IO[bytes]:
            assert (request.get_header("User-agent"), timeout) == ("fabula", 60.0)
            return io.BytesIO(b"a")

    def build(handler: type[HTTPRedirectHandler]) -> Opener:
        made.append(handler())
        return Opener()

    monkeypatch.setattr("urllib.request.build_opener", build)
    with over_https(URL) as answer:
        assert answer.read() == b"a"
    asked, headers = Request(URL), HTTPMessage()
    onward = made[0].redirect_request(asked, io.BytesIO(), 302, "", headers, "https://data.invalid/b")
    assert onward is not None
    assert onward.full_url == "https://data.invalid/b"
    with pytest.raises(URLError, match="which is not https"):
        made[0].redirect_request(asked, io.BytesIO(), 302, "", headers, "http://data.invalid/b")


def test_sets_are_found_by_name() -> None:
    assert find_set("hanna").licence.startswith("MIT")
    with pytest.raises(UnknownNameError, match="Did you mean 'wikiplots'"):
        find_set("wikiplot", public=True)
    with pytest.raises(UnknownNameError, match="hanna"):
        find_set("hanna", public=True)
