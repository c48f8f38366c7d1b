"""The same calls through inspect_ai: `PYTHON inspect_peer.py ADDRESS LOGS SAMPLES CALLS AT_ONCE`, in its environment.

Nothing of fabula is imported here, since that environment has none of it. What it took is printed as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    """One evaluation: samples of so many calls, one after the other."""
    address, logs, samples, calls, at_once = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    os.environ |= {"OPENAI_API_KEY": "none", "INSPECT_LOG_DIR": logs, "INSPECT_DISPLAY": "none"}
    from inspect_ai import Task, eval  # noqa: A004, PLC0415 - its name; the variables come first
    from inspect_ai.dataset import Sample  # noqa: PLC0415 - as above
    from inspect_ai.model import get_model  # noqa: PLC0415 - as above
    from inspect_ai.solver import Generate, TaskState, solver  # noqa: PLC0415 - as above

    @solver
    def talk():  # type: ignore[no-untyped-def] # noqa: ANN202 - as its decorator wants it
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for _ in range(calls):
                state = await generate(state)
                state.messages.append(type(state.messages[0])(content="Go on."))
            return state

        return solve

    dataset = [Sample(input=f"Write of lamp number {number}.", id=number) for number in range(1, samples + 1)]
    model = get_model("openai/tale-1", base_url=address, responses_api=False)
    wall, cpu = time.perf_counter(), time.process_time()
    (log,) = eval(Task(dataset, solver=talk()), model=model, max_connections=at_once, max_samples=at_once)
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    if log.status != "success" or len(log.samples or ()) != samples:
        sys.exit(f"inspect_ai ended as {log.status}: {log.error}")
    print(json.dumps(took | {"calls": samples * calls}))


if __name__ == "__main__":
    main()
