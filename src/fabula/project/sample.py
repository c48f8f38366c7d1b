"""A finished project that comes with fabula, to look at and to change without a model."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from fabula.base.errors import ProjectError
from fabula.base.files import write_error
from fabula.project.folder import ProjectFolder, check_name

_NAME: Final = "sufficient-knowledge"
_PACKAGE: Final = Path(__file__).parents[1]
_PLACES: Final = (_PACKAGE / "samples", _PACKAGE.parents[1] / "examples" / "projects")  # installed, and in a clone
_PARTIAL: Final = ".fabula-part"
_PRIVATE: Final = ".fabula"


def copy_sample(folder: Path) -> ProjectFolder:
    """A copy of the sample project in `folder`, which is created.

    Raises:
        ProjectError: `folder` is not empty or cannot be written, or this installation has no sample.
    """
    source = next((place / _NAME for place in _PLACES if (place / _NAME).is_dir()), None)
    if source is None:
        raise ProjectError("This installation of fabula has no sample project. Install fabula again.")
    if not folder.name:
        raise ProjectError(f"{folder} is not the name of a new folder. Specify a new folder for the sample.")
    check_name(folder)
    partial = folder.with_name(folder.name + _PARTIAL)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ProjectError(
                f"{folder} already exists, and fabula does not replace anything in it. Specify a new folder."
            )
        if partial.exists():  # of a copy that was killed
            shutil.rmtree(partial)
        shutil.copytree(source, partial, copy_function=shutil.copyfile)
        for private in partial.rglob(_PRIVATE):
            private.chmod(0o700)
        partial.rename(folder)
    except shutil.Error as error:  # of several files: what the system says of the first
        shutil.rmtree(partial, ignore_errors=True)
        why = str(error.args[0][0][-1]) if error.args and error.args[0] else ""
        number = re.match(r"\[Errno (\d+)\]", why)
        raise write_error(folder, OSError(int(number[1]) if number else 0, why)) from error
    except OSError as error:
        raise write_error(folder, error) from error
    return ProjectFolder.open(folder)
