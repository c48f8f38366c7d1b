"""What servers and providers answer when something is wrong, each in the form of its own documentation.

For each kind of server, failures by name; the bodies are cut to what a reader of them needs.
"""

from __future__ import annotations

import json

from fake_provider import Answer, Json


def failed(status: int, body: Json | str, retry_after: str = "") -> Answer:
    """An error of that status, with a body as it is; a text is sent as plain text."""
    kind = "text/plain" if isinstance(body, str) else "application/json"
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Answer(
        status=status, body=data, content_type=kind, headers={"retry-after": retry_after} if retry_after else {}
    )


def error(message: str, kind: str | None = None, code: str | int | None = None) -> Json:
    """An error of the chat dialect."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# key, model, context, busy, broken: what every server has; loading, memory, credit, moderated: what some have.
ERRORS: dict[str, dict[str, Answer]] = {
    "ollama": {
        "key": failed(401, {"error": "unauthorized"}),
        "model": failed(404, error('model "llama3.1:8b" not found, try pulling it first', "api_error")),
        "context": failed(400, error("the input length exceeds the context length", "invalid_request_error")),
        "busy": failed(503, error("server busy, please try again. maximum pending requests exceeded", "api_error")),
        "broken": failed(500, error("llama runner process has terminated: exit status 2", "api_error")),
        "memory": failed(
            500, error("model requires more system memory (5.3 GiB) than is available (3.5 GiB)", "api_error")
        ),
    },
    "lmstudio": {
        "key": failed(401, error("Malformed LM Studio API token provided", "invalid_request_error", "invalid_api_key")),
        "model": failed(
            404, error('Invalid model identifier "qwen". Please specify a valid one.', code="model_not_found")
        ),
        "context": failed(
            400,
            {
                "error": "The number of tokens to keep from the initial prompt is greater than the context length "
                "(n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a "
                "shorter input."
            },
        ),
        "busy": failed(503, {"error": "Too many requests."}),
        "broken": failed(500, {"error": "The model has crashed without additional information. (Exit code: 6)"}),
        "memory": failed(
            400,
            error(
                "Failed to load model. Error: Model loading was stopped due to insufficient system resources. Under "
                "the current settings, this model requires approximately 273.25 GB of memory."
            ),
        ),
    },
    "llamacpp": {
        "key": failed(401, error("Invalid API Key", "authentication_error", 401)),
        "model": failed(404, error("model not found", "not_found_error", 404)),
        "context": failed(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "request (4390 tokens) exceeds the available context size (4096 tokens)",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 4390,
                    "n_ctx": 4096,
                }
            },
        ),
        "context later": failed(500, error("Context size has been exceeded.", "server_error", 500)),
        "busy": failed(503, error("no slot is available", "unavailable_error", 503)),
        "broken": failed(500, error("failed to decode", "server_error", 500)),
        "loading": failed(503, error("Loading model", "unavailable_error", 503)),
    },
    "vllm": {
        "key": failed(401, {"error": "Unauthorized"}),
        "model": failed(404, error("The model `Qwen/Qwen3-8B` does not exist.", "NotFoundError", 404)),
        "context": failed(
            400,
            error(
                "This model's maximum context length is 8192 tokens. However, you requested 8203 tokens (7691 in the "
                "messages, 512 in the completion). Please reduce the length of the messages or completion.",
                "BadRequestError",
                400,
            ),
        ),
        "busy": failed(503, "Service Unavailable"),
        "broken": failed(500, "Internal Server Error"),
        "memory": failed(500, error("CUDA out of memory. Tried to allocate 2.00 GiB.", "InternalServerError", 500)),
    },
    "openrouter": {
        "key": failed(401, {"error": {"message": "No auth credentials found", "code": 401}}),
        "model": failed(404, {"error": {"message": "No endpoints found for meta-llama/llama-9.", "code": 404}}),
        "context": failed(
            400,
            {
                "error": {
                    "message": "This endpoint's maximum context length is 32768 tokens. However, you requested about "
                    "40000 tokens.",
                    "code": 400,
                    "metadata": {"provider_name": None},
                }
            },
        ),
        "busy": failed(
            429,
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 429,
                    "metadata": {"raw": "llama-3.3-70b is temporarily rate-limited upstream", "provider_name": "Deep"},
                }
            },
            "3",
        ),
        "broken": failed(502, {"error": {"message": "Provider returned error", "code": 502}}),
        "credit": failed(402, {"error": {"message": "Insufficient credits. Add more.", "code": 402}}),
        "moderated": failed(
            403,
            {
                "error": {
                    "message": "Your chosen model requires moderation and your input was flagged",
                    "code": 403,
                    "metadata": {"reasons": ["violence"], "flagged_input": "the lamp", "provider_name": "OpenAI"},
                }
            },
        ),
    },
    "mistral": {
        "key": failed(401, {"detail": "Unauthorized"}),
        "model": failed(400, {"object": "error", "message": "Invalid model: mistral-x", "type": "invalid_model"}),
        "context": failed(
            400,
            {
                "object": "error",
                "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
                "type": "invalid_request_prompt",
                "code": "3051",
            },
        ),
        "busy": failed(429, {"object": "error", "message": "Rate limit exceeded", "type": "rate_limited"}, "2"),
        "broken": failed(500, {"object": "error", "message": "Service unavailable.", "type": "internal_server_error"}),
    },
    "deepseek": {
        "key": failed(401, error("Authentication Fails, Your api key is invalid", "authentication_error")),
        "model": failed(400, error("Model Not Exist", "invalid_request_error", "invalid_request_error")),
        "context": failed(
            400,
            error(
                "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens.",
                "invalid_request_error",
                "invalid_request_error",
            ),
        ),
        "busy": failed(429, error("Rate limit reached", "rate_limit_error")),
        "broken": failed(500, error("Internal error", "server_error")),
        "credit": failed(402, error("Insufficient Balance", "unknown_error", "invalid_request_error")),
    },
    "groq": {
        "key": failed(401, error("Invalid API Key", "invalid_request_error", "invalid_api_key")),
        "model": failed(404, error("The model `x` does not exist.", "invalid_request_error", "model_not_found")),
        "context": failed(
            400,
            error(
                "Please reduce the length of the messages or completion.",
                "invalid_request_error",
                "context_length_exceeded",
            ),
        ),
        "busy": failed(429, error("Rate limit reached for model `x`", "tokens", "rate_limit_exceeded"), "7"),
        "broken": failed(503, error("Service Unavailable", "internal_server_error")),
    },
    "xai": {
        "key": failed(
            400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***bc."}
        ),
        "model": failed(404, {"code": "not-found", "error": "The model grok-9 does not exist."}),
        "context": failed(
            400,
            {
                "code": "Client specified an invalid argument",
                "error": "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
            },
        ),
        "busy": failed(429, {"code": "Some resource has been exhausted", "error": "Too many requests"}),
        "broken": failed(500, {"code": "The service encountered an error", "error": "Internal"}),
    },
    "azure": {
        "key": failed(
            401,
            {"error": {"code": "401", "message": "Access denied due to invalid subscription key or wrong endpoint."}},
        ),
        "model": failed(
            404,
            {
                "error": {
                    "code": "DeploymentNotFound",
                    "message": "The API deployment for this resource does not exist.",
                }
            },
        ),
        "context": failed(
            400,
            error(
                "This model's maximum context length is 8192 tokens.",
                "invalid_request_error",
                "context_length_exceeded",
            ),
        ),
        "busy": failed(429, {"error": {"code": "429", "message": "Please retry after 7 seconds."}}, "7"),
        "broken": failed(500, {"error": {"code": "InternalServerError", "message": "Backend returned error"}}),
        "moderated": failed(
            400,
            {
                "error": {
                    "message": "The response was filtered due to the prompt triggering the content policy.",
                    "type": None,
                    "param": "prompt",
                    "code": "content_filter",
                    "status": 400,
                }
            },
        ),
    },
    "bedrock": {
        "key": failed(403, {"__type": "UnrecognizedClientException", "message": "The security token is invalid."}),
        "model": failed(400, {"__type": "ValidationException", "message": "The provided model identifier is invalid."}),
        "context": failed(400, {"__type": "ValidationException", "message": "Input is too long for requested model."}),
        "busy": failed(429, {"__type": "ThrottlingException", "message": "Too many requests, please wait."}),
        "broken": failed(500, {"__type": "InternalServerException", "message": "The system encountered an error."}),
    },
}
