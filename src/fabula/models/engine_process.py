"""The process of the embedded engine, which serves requests or measures how fast this machine computes.

It runs as a file and imports nothing from fabula, so that it starts in a tenth of a second. It reads lines of JSON from
stdin and writes lines of JSON to stdout. The first line says what to do: `{"serve": SETTINGS}` or `{"measure": SHAPE}`;
the answer is `{"ready": true}` or `{"failed": REASON, "engine": whether there is one}`. The process ends when stdin
ends, so it never outlives the program that started it, however that program ended.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO, TypeAlias

Json: TypeAlias = "dict[str, Any]"

# Prefill is done in batches, and a call can only be cancelled between two: 256 tokens are 1-2 s on a slow machine,
# and cost 1 % of prefill speed against the engine's own 2,048.
_BATCH = 256
# Host memory for the states of prompts that lost their slot; the engine's own limit of 8 GiB would fill a laptop.
_PROMPT_CACHE_MIB = 2048
# Between two tokens the engine draws the next one, while the threads of the last have nothing to do.
_DRAWING = 0.0005
_EPSILON = 1e-5
_FLOAT32 = 0
_SPARE = 32 << 20  # bytes beside the weights for what a measurement computes
_MOST_NODES = 4096


def main(asked: TextIO, told: TextIO) -> None:
    """Serve or measure, as the first line says, until the input ends."""
    lock = threading.Lock()

    def tell(answer: Json) -> None:
        with lock:
            told.write(json.dumps(answer) + "\n")
            told.flush()

    first = json.loads(asked.readline() or "{}")
    try:
        engine = importlib.import_module("xllamacpp")
    except (ImportError, OSError) as error:
        tell({"failed": str(error), "engine": False})
        return
    try:
        work = _served(engine, first["serve"], tell) if "serve" in first else _measured(engine, first["measure"], tell)
    except (RuntimeError, AttributeError, OSError) as error:
        tell({"failed": str(error), "engine": True})
        return
    tell({"ready": True})
    for line in asked:
        work(json.loads(line))


# serving --------------------------------------------------------------------------------------------------------------


def _served(engine: Any, settings: Json, tell: Callable[[Json], None]) -> Callable[[Json], None]:  # noqa: ANN401 - a compiled module without types
    """What takes one line: `{"id", "body"}` asks, `{"stop": id}` stops that call.

    A call is answered by `{"id", "chunk"}` for each chunk, and `{"id", "done", "refused"}` at its end.
    """
    server = engine.Server(_params(engine, settings))
    # One answered call proves that its loop runs; before that it would not be ready for several at once.
    server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})
    stops: dict[int, threading.Event] = {}

    def answer(number: int, body: Json, stop: threading.Event) -> None:
        def on_chunk(chunk: Json) -> bool:
            if not stop.is_set():
                tell({"id": number, "chunk": chunk})
            return stop.is_set()

        refused = None
        try:
            server.handle_chat_completions(body, on_chunk)
        except ValueError as error:
            refused = str(error)
        stops.pop(number, None)
        tell({"id": number, "done": True, "refused": refused})

    def take(line: Json) -> None:
        if "stop" in line:
            stops.get(line["stop"], threading.Event()).set()
            return
        stop = stops[line["id"]] = threading.Event()
        threading.Thread(target=answer, args=(line["id"], line["body"], stop), daemon=True).start()

    return take


def _params(engine: Any, settings: Json) -> Any:  # noqa: ANN401 - compiled classes without types
    params = engine.CommonParams()
    params.model.path = settings["path"]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.kv_unified = False  # each slot has its own share: as fast as one pool, and no call can starve another
    params.n_batch = _BATCH
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["reading"]
    # Its sums over more than 512 tokens are split by threads, so a text would depend on how many there are.
    params.flash_attn_type = engine.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.warmup = False
    params.verbosity = -1  # the engine's log lines would run through the user's progress display
    # The engine would give an adapter the states that another one made of a like prompt.
    params.cache_ram_mib = 0 if settings["adapters"] else _PROMPT_CACHE_MIB
    params.lora_adapters = [engine.CommonAdapterLoraInfo(path, 0.0) for path in settings["adapters"]]
    # The engine always listens on a loopback port. Nobody but us shall be able to use it.
    params.api_keys = [secrets.token_hex(32)]
    params.endpoint_slots = params.endpoint_props = params.ui = False
    return params


# measuring ------------------------------------------------------------------------------------------------------------


class _Init(ctypes.Structure):
    """`ggml_init_params`."""

    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("bare", ctypes.c_bool))


class _Tensors:
    """As much of ggml, the engine's library for tensors, as one token's work takes."""

    def __init__(self, file: str, weights: int) -> None:
        self._library = ctypes.CDLL(file)
        pointer, whole, size = ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t
        self._new = self._function("ggml_new_tensor_2d", pointer, pointer, ctypes.c_int, whole, whole)
        self._data = self._function("ggml_get_data", pointer, pointer)
        self._bytes = self._function("ggml_nbytes", size, pointer)
        self._norm = self._function("ggml_rms_norm", pointer, pointer, pointer, ctypes.c_float)
        self._build = self._function("ggml_build_forward_expand", None, pointer, pointer)
        self._compute = self._function("ggml_graph_compute_with_ctx", ctypes.c_int, pointer, pointer, ctypes.c_int)
        self._context = self._function("ggml_init", pointer, _Init)(_Init(weights + _SPARE, None, False))  # noqa: FBT003 - a C structure
        self._graph = self._function("ggml_new_graph_custom", pointer, pointer, size, ctypes.c_bool)(
            self._context,
            _MOST_NODES,
            False,  # noqa: FBT003 - a C function
        )

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:  # noqa: ANN401 - types of ctypes
        function = getattr(self._library, name)
        function.restype, function.argtypes = result, arguments
        return function

    def matrix(self, kind: int, columns: int, rows: int = 1) -> Any:  # noqa: ANN401 - a pointer
        """A matrix of zeros that are really in memory."""
        made = self._new(self._context, kind, columns, rows)
        ctypes.memset(self._data(made), 0, self._bytes(made))
        return made

    def of(self, name: str, *parts: Any) -> Any:  # noqa: ANN401 - pointers
        """What the operation of that name makes of one or two tensors."""
        pointers = [ctypes.c_void_p] * (1 + len(parts))
        return self._function(f"ggml_{name}", ctypes.c_void_p, *pointers)(self._context, *parts)

    def norm(self, part: Any) -> Any:  # noqa: ANN401 - pointers
        """The vector with a length of one."""
        return self._norm(self._context, part, _EPSILON)

    def keep(self, part: Any) -> None:  # noqa: ANN401 - a pointer
        """Have it computed."""
        self._build(self._graph, part)

    def compute(self, threads: int) -> None:
        """Compute all that is kept."""
        self._compute(self._context, self._graph, threads)


def _measured(engine: Any, shape: Json, tell: Callable[[Json], None]) -> Callable[[Json], None]:  # noqa: ANN401 - a compiled module
    """What takes one line, `{"threads": n}`, and answers `{"seconds"}`: one pass through some layers of the shape."""
    tensors = _Tensors(engine.xllamacpp.__file__, shape["bytes"])
    x = tensors.matrix(_FLOAT32, shape["width"])
    for _ in range(shape["layers"]):
        x = _layer(tensors, x, shape)
    tensors.keep(tensors.of("mul_mat", tensors.matrix(shape["kind"], shape["width"], shape["words"]), x))

    def take(line: Json) -> None:
        waits = time.perf_counter() + _DRAWING
        while time.perf_counter() < waits:
            pass
        begun = time.perf_counter()
        tensors.compute(line["threads"])
        tell({"seconds": time.perf_counter() - begun})

    return take


def _layer(tensors: _Tensors, x: Any, shape: Json) -> Any:  # noqa: ANN401 - pointers
    """One layer of a transformer as far as threads are concerned: seven matrices, and about as many small steps."""
    width, hidden, keys, kind = shape["width"], shape["hidden"], shape["keys"], shape["kind"]

    def through(columns: int, rows: int, part: Any) -> Any:  # noqa: ANN401 - pointers
        return tensors.of("mul_mat", tensors.matrix(kind, columns, rows), part)

    def scaled(part: Any, size: int) -> Any:  # noqa: ANN401 - pointers
        return tensors.of("mul", part, tensors.matrix(_FLOAT32, size))

    h = scaled(tensors.norm(x), width)
    for _ in range(2):
        tensors.keep(scaled(through(width, keys, h), keys))
    attended = tensors.of("silu", scaled(through(width, width, h), width))
    x = tensors.of("add", x, through(width, width, attended))
    h = scaled(tensors.norm(x), width)
    gated = tensors.of("mul", tensors.of("silu", through(width, hidden, h)), through(width, hidden, h))
    return tensors.of("add", x, through(hidden, width, gated))


def run(arguments: Iterable[str]) -> None:
    """Serve or measure on this process's stdin and stdout; `arguments` are the folders with modules."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides, and closes stdin
    sys.path[:] = arguments
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the engine itself prints is no answer
    main(os.fdopen(0, encoding="utf-8"), told)
    os._exit(0)  # not waiting for calls that nobody hears any more


if __name__ == "__main__":
    run(sys.argv[1:])
