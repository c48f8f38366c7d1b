"""An experiment as logs that `inspect view` opens: a file for each contender, a sample for each run.

The format is Inspect's own (a ZIP of JSON files, version 2), which its viewer reads. Inspect itself is not needed.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fabula.app.experiment.pieces import read_run
from fabula.app.experiment.tables import complete
from fabula.base.files import make_folder, write_atomically
from fabula.base.version import __version__
from fabula.stats.estimate import Estimate
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fabula.app.experiment.grid import Contender
    from fabula.app.experiment.pieces import Pieces
    from fabula.app.experiment.results import Results, RunResult
    from fabula.engine.journal import Call
    from fabula.models.base import Usage

FOLDER: Final = "eval"
_VERSION: Final = 2
_STORED: Final = (1980, 1, 1, 0, 0, 0)  # the same log has the same bytes


def write_logs(results: Results, pieces: Pieces) -> Path:
    """Write a log for each contender, and return the folder that contains them.

    Raises:
        ProjectError: a log cannot be written.
    """
    folder = results.experiment.folder / FOLDER
    make_folder(folder)
    for contender in results.experiment.contenders:
        made = io.BytesIO()
        with ZipFile(made, "w", ZIP_DEFLATED) as log:
            _write_log(log, results, pieces, contender)
        write_atomically(folder / f"{slug(contender.label)}.eval", made.getvalue())
    return folder


def _write_log(log: ZipFile, results: Results, pieces: Pieces, contender: Contender) -> None:
    runs = [run for run in results.of(contender) if run.outcome.state != "unfinished"]
    seeds = sorted({run.trial.seed for run in results.runs})
    ended = sorted(run.outcome.ended for run in runs if run.outcome.ended)
    first, last = (ended[0], ended[-1]) if ended else ("1970-01-01T00:00:00+00:00",) * 2
    head = {"version": _VERSION, "eval": _spec(results, contender, first), "plan": _plan(contender)}
    _put(log, "_journal/start.json", head)
    summaries = []
    for run in runs:
        sample = _sample(run, seeds.index(run.trial.seed) + 1, pieces, results)
        _put(log, f"samples/{run.trial.brief_id}_epoch_{sample['epoch']}.json", sample)
        kept = ("id", "epoch", "input", "target", "metadata", "scores", "model_usage", "role_usage")
        said = {"message_count": len(sample["messages"]), "completed": True}
        if "error" in sample:
            said["error"] = sample["error"]["message"]
        summaries.append({name: sample[name] for name in kept} | said)
    _put(log, "summaries.json", summaries)
    status = "success" if complete(results) else "cancelled"
    stats = {"started_at": first, "completed_at": last, "model_usage": _usage_by_model(summaries)}
    figures = {"results": _results(results, contender, runs), "stats": stats}
    _put(log, "header.json", {**head, "status": status, **figures})


def _put(log: ZipFile, name: str, data: object) -> None:
    shown = json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    log.writestr(ZipInfo(name, _STORED), shown, ZIP_DEFLATED)


def _spec(results: Results, contender: Contender, created: str) -> dict[str, Any]:
    title, settings = results.experiment.title, contender.settings
    briefs = list(dict.fromkeys(run.trial.brief_id for run in results.of(contender)))
    return {
        "eval_id": _id(title, contender.label),
        "run_id": _id(title),
        "task_id": _id(title, "task"),
        "created": created,
        "task": title,
        "task_version": 0,
        "task_args": {"contender": contender.label, "system": settings.system, "preset": settings.preset},
        "dataset": {"name": "briefs", "samples": len(briefs), "sample_ids": briefs},
        "model": settings.model,
        "config": {"epochs": len({run.trial.seed for run in results.of(contender)}) or 1},
        "packages": {"fabula": __version__},
    }


def _plan(contender: Contender) -> dict[str, Any]:
    params = {"preset": contender.settings.preset, **contender.settings.config}
    return {"name": "plan", "steps": [{"solver": contender.settings.system, "params": params}], "config": {}}


def _sample(run: RunResult, epoch: int, pieces: Pieces, results: Results) -> dict[str, Any]:
    """A run: the brief and its story as a conversation, every call as an event, its numbers as scores."""
    trial, model = run.trial, run.trial.contender.settings.model
    calls, story = read_run(run)
    about = {"run": trial.id, "seed": trial.seed, "words": run.words, "verdicts": _verdicts(run, pieces, results)}
    messages = [{"role": "user", "content": trial.brief.text}, {"role": "assistant", "content": story, "model": model}]
    sample: dict[str, Any] = {
        "id": trial.brief_id,
        "epoch": epoch,
        "input": trial.brief.text,
        "target": "",
        "messages": messages if story else messages[:1],
        "output": _output(model, story),
        "scores": _scores(run, pieces),
        "metadata": about,
        "store": {},
        "events": list(_events(calls)),
        "model_usage": {name: _usage(usage) for name, usage in _by_performer(calls).items()},
        "role_usage": {},
        "attachments": {},
    }
    if run.outcome.error:
        message = f"{run.outcome.kind}: {run.outcome.error}"
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
    return sample


def _output(model: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "source": "generate", "model": model}
    return {"model": model, "choices": [{"message": message, "stop_reason": "stop"}], "completion": text}


def _events(calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(calls):
        yield {
            "uuid": f"call-{number}",
            "event": "model",
            "timestamp": call.at,
            "working_start": 0,
            "model": call.performer,
            "role": call.role,
            "input": [{"role": speaker, "content": text} for speaker, text in call.messages],
            "tools": [],
            "tool_choice": "none",
            "config": {},
            "output": _output(call.performer, call.text) | {"usage": _usage(call.reply.usage)},
            "metadata": {"path": call.path},
        }


def _scores(run: RunResult, pieces: Pieces) -> dict[str, Any]:
    return {
        f"{label}/{row.what}": {"value": row.scored.value, "explanation": row.scored.method}
        for label, row in pieces.rows_of(run.trial.id)
        if isinstance(row.scored, Estimate)
    }


def _verdicts(run: RunResult, pieces: Pieces, results: Results) -> list[dict[str, Any]]:
    said = [results.reports[label].ratings[number] for label, number in pieces.verdicts.get(run.trial.id, ())]
    return [
        {"question": one.question, "stories": list(one.items), "answer": one.answer, "reason": one.reason}
        for one in said
    ]


def _results(results: Results, contender: Contender, runs: Sequence[RunResult]) -> dict[str, Any]:
    """What each evaluator found about the contender, with intervals next to the numbers."""
    rows = [("", row) for row in results.rows(contender)]
    for label, report in results.reports.items():
        rows += [(label, row) for row in results.measured(report) if row.of == contender.label]
    scores = []
    for label, row in rows:
        found = row.scored
        if isinstance(found, Estimate):
            about = {"low": found.low, "high": found.high, "n": found.n, "level": found.level, "method": found.method}
            metric = {"name": "mean", "value": found.value, "params": {}, "metadata": about}
            name = f"{label}/{row.what}" if label else row.what
            scores.append({"name": name, "scorer": label or "cost", "params": {}, "metrics": {"mean": metric}})
    done = sum(run.outcome.state == "done" for run in runs)
    return {"total_samples": len(results.of(contender)), "completed_samples": done, "scores": scores}


def _by_performer(calls: Sequence[Call]) -> dict[str, Usage]:
    found: dict[str, list[Usage]] = defaultdict(list)
    for call in calls:
        found[call.performer].append(call.reply.usage)
    return {name: sum(some[1:], some[0]) for name, some in found.items()}


def _usage(usage: Usage) -> dict[str, Any]:
    shown = {"input_tokens": usage.prompt, "output_tokens": usage.reply, "total_tokens": usage.prompt + usage.reply}
    return shown | {"input_tokens_cache_read": usage.cached}


def _usage_by_model(summaries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for summary in summaries:
        for name, usage in summary["model_usage"].items():
            for what, number in usage.items():
                found[name][what] += number
    return found


def _id(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:22]
