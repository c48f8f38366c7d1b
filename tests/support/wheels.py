"""A wheel made of a folder as a build tool would make it, and an environment of its own that it is installed into."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import fabula


def wheel_of(folder: Path, home: Path) -> Path:
    """The wheel of a pure package: `folder` holds its `pyproject.toml` and one package."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent != folder and "__pycache__" not in path.parts
    }
    groups = project["entry-points"].items()
    points = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items()) for group, of in groups]
    record = f"{stem}.dist-info"
    files |= {
        f"{record}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        f"{record}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{record}/entry_points.txt": "\n".join(points),
    }
    files[f"{record}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{record}/RECORD"])
    wheel = home / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def environment_with(wheel: Path, home: Path) -> Path:
    """The Python of a new environment with the wheel, by pip and without an index, beside fabula and its packages."""
    builder = venv.EnvBuilder(symlinks=True)
    builder.create(home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python))
    asked = (*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel))
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("pip is not here to install a package with")
    assert done.returncode == 0, done.stderr
    found = subprocess.run(
        (python, "-c", "import site; print(site.getsitepackages()[-1])"), capture_output=True, text=True, check=True
    )
    ours = [str(Path(fabula.__file__).parents[1]), *site.getsitepackages()]
    (Path(found.stdout.strip()) / "fabula_and_its_packages.pth").write_text("\n".join(ours) + "\n", encoding="utf-8")
    return python


def ran(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What `python -m ...` printed in a folder, with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FABULA_")}
    outside = os.pathsep.join(
        path for path in kept.get("PYTHONPATH", "").split(os.pathsep) if path and not (Path(path) / "fabula").is_dir()
    )
    env = kept | {"XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": outside}
    return subprocess.run((python, "-m", *words), cwd=folder, env=env, capture_output=True, text=True, check=False)
