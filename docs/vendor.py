"""Fetch what others wrote and the studio's pages load anew: `python docs/vendor.py [PACKAGE VERSION]`.

Without arguments the files are fetched as they are listed in `VENDOR.toml`, and compared. With a package and a version
that version takes the place of the one that is listed; look at what changed before it is committed.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.request import urlopen

VENDOR: Final = Path(__file__).parents[1] / "src" / "fabula" / "server" / "studio" / "static" / "vendor"
LIST: Final = VENDOR / "VENDOR.toml"


def main() -> None:
    """Write the files, and their digests into the list."""
    text = LIST.read_text("utf-8")
    if sys.argv[1:]:
        name, version = sys.argv[1:]
        old = tomllib.loads(text)[name]["version"]
        head, part, rest = text.partition(f"[{name}]")
        text = head + part + rest.replace(old, version, 2)  # the version itself, and the one in the address
    for package in tomllib.loads(text).values():
        with urlopen(package["source"]) as answer, tarfile.open(fileobj=io.BytesIO(answer.read())) as archive:  # noqa: S310 - an address of ours
            for name, file in package["files"].items():
                member = archive.extractfile(f"package/{file['from']}")
                content = member.read() if member is not None else b""
                text = re.sub(
                    rf'("{re.escape(name)}" = .*sha256 = ")[0-9a-f]*', rf"\g<1>{sha256(content).hexdigest()}", text
                )
                (VENDOR / name).write_bytes(content)
    LIST.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
