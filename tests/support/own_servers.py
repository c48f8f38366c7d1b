"""What model servers say of themselves, in the dialects of Ollama, LM Studio, llama.cpp, vLLM, OpenRouter and Azure.

The pages are those that the servers' own documentation shows, cut to a few models.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fake_provider import Answer, FakeProvider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fake_provider import Json, Pages, Script


def _listed(*models: Json) -> Json:
    return {"object": "list", "data": [{"object": "model", "created": 1, **model} for model in models]}


def _shown(asked: Json) -> Answer | Json:
    """Ollama's page of one model."""
    models: dict[str, Json] = {
        "llama3.1:8b": {
            "capabilities": ["completion", "tools"],
            "details": {"parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
            "model_info": {"general.architecture": "llama", "llama.context_length": 131072},
        },
        "qwen3:14b": {
            "capabilities": ["completion", "tools", "thinking"],
            "parameters": 'stop                           "<|im_end|>"\nnum_ctx                        16384',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        },
        "mistral:latest": {"capabilities": ["completion"], "model_info": {"llama.context_length": 32768}},
        "nomic-embed-text:latest": {"capabilities": ["embedding"], "model_info": {"nomic-bert.context_length": 2048}},
    }
    return models.get(asked["model"], Answer(status=404, error={"message": "model not found"}))


OLLAMA: Pages = {
    "/v1/models": _listed(
        {"id": "llama3.1:8b", "owned_by": "library"},
        {"id": "qwen3:14b", "owned_by": "library"},
        {"id": "nomic-embed-text:latest", "owned_by": "library"},
    ),
    "/api/version": {"version": "0.13.1"},
    "/api/ps": {"models": [{"name": "llama3.1:8b", "model": "llama3.1:8b", "context_length": 4096}]},
    "/api/show": _shown,
}
LMSTUDIO: Pages = {
    "/v1/models": _listed(
        {"id": "qwen2.5-7b-instruct", "owned_by": "organization_owner"},
        {"id": "text-embedding-nomic-embed-text-v1.5", "owned_by": "organization_owner"},
    ),
    "/api/v0/models": {
        "object": "list",
        "data": [
            {"id": "qwen2.5-7b-instruct", "type": "llm", "state": "loaded", "max_context_length": 32768}
            | {"loaded_context_length": 8192},
            {"id": "text-embedding-nomic-embed-text-v1.5", "type": "embeddings", "max_context_length": 2048},
        ],
    },
}
LLAMACPP: Pages = {
    "/v1/models": _listed({"id": "gemma-3-4b-it", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}),
    "/props": {"default_generation_settings": {"n_ctx": 16384}, "build_info": "b7000-abcdef", "total_slots": 4},
}
VLLM: Pages = {
    "/v1/models": _listed({"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}),
    "/version": {"version": "0.11.0"},
}
PAGES: dict[str, Pages] = {"ollama": OLLAMA, "lmstudio": LMSTUDIO, "llamacpp": LLAMACPP, "vllm": VLLM}


@contextmanager
def serving(script: Script, pages: Pages | None = None) -> Iterator[FakeProvider]:
    """A server that runs beside the test, in a thread of its own."""
    loop, server = asyncio.new_event_loop(), FakeProvider(script, pages)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
