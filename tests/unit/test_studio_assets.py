"""What pages load: vendored files are those that were fetched, own scripts are small, and the wheel holds them all."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from typing import Final

from fabula.server.studio.assets import FOLDER, Assets
from fabula.server.studio.rendering import TEMPLATES, templates
from tree import ROOT

VENDOR: Final = FOLDER / "vendor"
STUDY: Final = ROOT / "src" / "fabula" / "server" / "study" / "static"
LIST: Final = tomllib.loads((VENDOR / "VENDOR.toml").read_text("utf-8"))
LICENCES: Final = {"0BSD", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"}
KB: Final = 1024


def test_vendored_files_are_those_that_are_listed() -> None:
    listed = {name: file["sha256"] for package in LIST.values() for name, file in package["files"].items()}
    there = {file.name: sha256(file.read_bytes()).hexdigest() for file in VENDOR.iterdir() if file.suffix != ".toml"}
    assert there == listed


def test_vendored_packages_have_a_permissive_licence_that_lies_beside_them() -> None:
    for name, package in LIST.items():
        assert package["licence"] in LICENCES, name
        assert f"LICENSE.{name}" in package["files"]
        assert package["version"] in package["source"]


def test_scripts_are_small() -> None:
    scripts = [file for kind in ("*.js", "*.mjs") for file in (ROOT / "src" / "fabula").rglob(kind)]
    own = [file for file in scripts if VENDOR not in file.parents]
    assert {file.parent for file in own} == {FOLDER, STUDY, ROOT / "src" / "fabula" / "measure" / "report"}
    assert sum(file.stat().st_size for file in own) <= 150 * KB
    assert sum(file.stat().st_size for file in VENDOR.iterdir()) <= 800 * KB


def test_no_own_script_writes_html_or_evaluates_text() -> None:
    for file in FOLDER.glob("*.js"):
        text = file.read_text("utf-8")
        said = text.count("our own templates")  # which escape every text; beside each use stands that it is one of them
        assert text.count(".innerHTML") <= said, f"{file.name}: text of others goes in as text nodes"
        for unsafe in (".outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert unsafe not in text, f"{file.name} has {unsafe}"
        assert "http://" not in text.replace("http://www.w3.org/", ""), file.name
        assert "https://" not in text, file.name
        assert 'from "/static' not in text, f"{file.name}: import relatively, so that all come from one version"


def test_every_template_can_be_read() -> None:
    for file in TEMPLATES.rglob("*.html"):
        templates().get_template(file.relative_to(TEMPLATES).as_posix())


def test_all_files_are_served_and_packaged() -> None:
    assets = Assets.of()
    unserved = {
        name
        for file in FOLDER.rglob("*")
        if file.is_file() and (name := file.relative_to(FOLDER).as_posix()) not in assets.files
    }
    assert all(name.startswith("vendor/LICENSE") or name == "vendor/VENDOR.toml" for name in unserved)
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert packaged["packages"] == ["src/fabula"]
    assert not any("static" in pattern or "templates" in pattern for pattern in packaged["exclude"])
