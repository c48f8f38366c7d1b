"""What a client of the Model Context Protocol can do with the projects below one folder, as plain functions.

No name leads out of the folder, programs and addresses of a project need the trust that the command line asks for, and
every change is recorded and can be taken back.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fabula.app.bills import Bill
from fabula.app.chatting import Chat, conversation_for, parties_for, transcript_of
from fabula.app.checking import OUT
from fabula.app.conversing import settings_for as settings_for_talk
from fabula.app.writing import Options, settings_as_last_time
from fabula.base.errors import ProjectError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.craft.conversation import ConversationFiles, conversations_in
from fabula.craft.conversation.kept import system_of_log
from fabula.models.outside import CLIENT
from fabula.project.default_model import VARIABLE
from fabula.project.folder import MAX_FILE, Project
from fabula.verbs.home import Home
from fabula.verbs.home import Project as Door

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.events import Listener
    from fabula.project.settings import Settings

_FINDINGS: Final = Path(OUT) / "findings-story.md"


@dataclass(frozen=True, slots=True)
class Said:
    """What is said in a conversation, to whom, by whom, and in which one; without a line the story goes on."""

    line: str = ""
    character: str = ""
    player: str = ""
    conversation: str = ""
    move: Literal["say", "retry", "undo"] = "say"


@dataclass(frozen=True)
class Projects:
    """The projects below a folder.

    Attributes:
        root: the folder; projects lie in it side by side.
        environ: variables that hold keys and folders.
        model: plays the roles of projects that name no model.
    """

    root: Path
    environ: Mapping[str, str]
    model: str = CLIENT

    # looking --------------------------------------------------------------------------------------------------------

    @cached_property
    def home(self) -> Home:
        """The projects, for the verbs."""
        return Home.open(self.root, environ={**self.environ, VARIABLE: self.model})

    def opened(self, name: str, *, own_model: bool = False) -> Door:
        """The project of that name, for the verbs; the client's own model may play in it.

        Raises:
            UnknownNameError: there is none.
        """
        door = copy(self.home[name])
        door.at_home = False
        if own_model:
            door.cast = _cast
        return door

    def project(self, name: str) -> Project:
        """The project of that name.

        Raises:
            UnknownNameError: there is none.
        """
        return Project.open(self.home.folder(name))

    def plan(self, name: str) -> str:
        """The plan of a project, all its texts after each other."""
        project = self.project(name)
        with project.journal as journal:
            parts = [(path, file) for path, file in journal.artefacts.places().items() if file.startswith("plan/")]
            return "\n\n".join(f"# {path}\n\n{journal.artefacts.newest(path) or ''}" for path, _ in parts)

    def world(self, name: str) -> str:
        """What is true in the story, as runs have recorded it: the files of the folder `world`."""
        folder = self.project(name).folder / "world"
        files = plain_files(folder, "*")
        return "\n\n".join(f"# {file.name}\n\n{read_text(file, MAX_FILE)}" for file in files)

    def findings(self, name: str) -> str:
        """Where the story contradicts itself, as the last check found.

        Raises:
            ProjectError: it was not checked yet.
        """
        file = self.project(name).folder / _FINDINGS
        if not is_plain(file):
            raise ProjectError(f"{name} was not checked yet. The tool `check` does it.")
        return read_text(file, MAX_FILE)

    # asking ---------------------------------------------------------------------------------------------------------

    # talking --------------------------------------------------------------------------------------------------------

    async def chat(self, name: str, listener: Listener, said: Said, *, own_model: bool) -> dict[str, Any]:
        """A character's answer, in a conversation that is kept as those of `fabula chat` are.

        Raises:
            UsageError: the line is too long, the story is over, or there is no turn to take back.
            UnknownNameError: the character is not in the story.
        """
        project, bill = self.project(name), Bill()
        settings = settings_for_talk(self._settings(project, own_model=own_model))
        parties = parties_for(project, (said.character,) if said.character else (), said.player)
        conversation, parties = conversation_for(project, said.conversation, parties)
        made = system_of_log(ConversationFiles.in_(project.folder, conversation).read())
        if made not in ("", settings.system):
            settings = settings_for_talk(settings, made)
        options = Options(environ=self.environ, listeners=(listener, bill))
        async with Chat(project, conversation, settings, options, bill, "") as chat:
            await chat.open(parties, None)
            if said.move == "say":
                await (chat.say_async(said.line) if said.line.strip() else chat.go_on_async())
            else:
                await (chat.retry_async() if said.move == "retry" else chat.undo_async())
            whole = chat.to_dict()
        last = whole["turns"][-1] if whole["turns"] else {"who": "", "answer": ""}
        return {
            "project": name,
            "conversation": conversation,
            "you": whole["player"],
            "who": last["who"],
            "answer": last["answer"],
            "turns": len(whole["turns"]),
            **{part: whole[part] for part in ("step", "steps", "present", "over")},
            **_took(bill),
        }

    def conversation(self, name: str, conversation: str) -> dict[str, Any]:
        """A conversation as Markdown; where none is named, the names of all, the last one first.

        Raises:
            UnknownNameError: there is no such conversation.
        """
        project = self.project(name)
        if not conversation:
            return {"project": name, "conversations": conversations_in(project.folder)}
        return {"project": name, "conversation": conversation, "text": transcript_of(project, conversation)}

    def _settings(self, project: Project, *, own_model: bool = False) -> Settings:
        """What is in force for a project; the client's own model where it wants that, or the project names none."""
        settings = settings_as_last_time(project)
        if own_model:
            return _cast(settings)
        return settings if "model" in settings.model_fields_set else settings.with_({"model": self.model})


def _cast(settings: Settings) -> Settings:
    """The settings with the client's own model in every role."""
    return settings.with_({"model": CLIENT, "roles": {role: {"model": ""} for role in settings.roles}})


def _took(bill: Bill) -> dict[str, Any]:
    """The calls that were made and replayed, and the tokens of the former."""
    made = bill.as_data()
    return {"asked": made["asked"], "from_the_journal": made["replayed"], "tokens": bill.tokens}
