"""From a configuration record to a model that can be asked, and from its errors to R4.

pydantic-ai and the providers' packages are imported when they are first needed, since the
web processes never need them; a worker calls `warm_up` before it takes its first run.

What goes out is what the records say: the address, the key, the proxy. Nothing is taken
from the environment behind the operator's back, nothing is repeated by the packages
(R10 counts attempts), and no redirect is followed. Operators declare these addresses, so
they may be private and do not pass the guard for foreign ones.
"""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx2

from agent_runs.models import EndReason
from agent_runs.models.llm import ProviderKind

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable

    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

    from agent_runs.models import LLMConfiguration, Provider

CONNECT_TIMEOUT = 5.0
# A server that asks for more than this is not worth a worker's promise.
LONGEST_RETRY_AFTER = timedelta(hours=1)
# The packages want some key; servers without authentication ignore it.
_NO_KEY = "none"


class LLMError(Exception):
    """The configuration cannot be used as it is; the sentence is for administrators."""


class AnswerCutError(Exception):
    """The provider's stream ended in good order before the answer did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What an error of a model call means for the run.

    `summary` is for the log: it holds no text of the provider's, which could repeat
    prompts or keys. `retry_after` is what the provider asked for.
    """

    reason: EndReason
    is_retryable: bool = False
    retry_after: timedelta | None = None
    summary: str = ""


# --- Kinds ----------------------------------------------------------------------------

_EXTRAS = {ProviderKind.ANTHROPIC: "anthropic", ProviderKind.GOOGLE: "google.genai"}


def kind_problem(kind: str) -> str | None:
    """Why providers of this kind cannot be used here, or None."""
    if kind not in ProviderKind.values:
        return f"The provider kind «{kind}» is not known to this release."
    package = _EXTRAS.get(ProviderKind(kind))
    if package is None or _is_installed(package):
        return None
    return (
        f"The provider kind «{kind}» needs an extra package: install "
        f"a2a-gateway[{kind}] where the workers run."
    )


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def warm_up() -> None:
    """Import what the first model call would import, before workers are forked."""
    modules = ["pydantic_ai.direct", "pydantic_ai.models.openai", "openai"]
    modules += ["agent_runs.llm_offline"]
    modules += [
        f"pydantic_ai.models.{kind.value}"
        for kind, package in _EXTRAS.items()
        if _is_installed(package)
    ]
    for module in modules:
        importlib.import_module(module)
    _ssl_context()


# --- Building a model -----------------------------------------------------------------


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    """Shared, since building one costs more than all the rest of a client."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def open_client(provider: Provider) -> AsyncGenerator[httpx2.AsyncClient]:
    """The HTTP client of one segment; it belongs to the running event loop."""
    async with httpx2.AsyncClient(
        verify=_ssl_context(),
        timeout=httpx2.Timeout(provider.timeout_seconds, connect=CONNECT_TIMEOUT),
        follow_redirects=False,
        trust_env=provider.use_environment_proxy,
    ) as client:
        yield client


def build_model(
    configuration: LLMConfiguration, http_client: httpx2.AsyncClient
) -> Model:
    """Raise `LLMError` when the record cannot be made into a model."""
    provider = configuration.provider
    if problem := kind_problem(provider.kind):
        raise LLMError(problem)
    build = _BUILDERS[ProviderKind(provider.kind)]
    return build(provider, configuration.model_name, http_client)


def model_settings(configuration: LLMConfiguration) -> ModelSettings:
    """`request_timeout` bounds the whole call, a slow drip of a stream included."""
    seconds = float(configuration.provider.timeout_seconds)
    settings: ModelSettings = {
        "request_timeout": seconds,
        "timeout": seconds,
        "max_retries": 0,
    }
    if configuration.temperature is not None:
        settings["temperature"] = configuration.temperature
    if configuration.max_tokens is not None:
        settings["max_tokens"] = configuration.max_tokens
    return settings


def _offline(provider: Provider, name: str, http_client: httpx2.AsyncClient) -> Model:
    from agent_runs.llm_offline import OfflineModel
    from agent_runs.offline import scripts

    if not scripts.find(name):
        raise LLMError(f"The offline model «{name}» does not exist.")
    return OfflineModel(name)


def _openai(provider: Provider, name: str, http_client: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI, Omit
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # The package would add these from the environment of whoever started the worker.
    no_account: dict[str, Any] = {
        "OpenAI-Organization": Omit(),
        "OpenAI-Project": Omit(),
    }
    client = AsyncOpenAI(
        base_url=_base_url(provider),
        api_key=provider.api_key or _NO_KEY,
        admin_api_key="",
        default_headers=no_account,
        max_retries=0,
        timeout=http_client.timeout,
        http_client=http_client,
    )
    return OpenAIChatModel(
        name,
        provider=OpenAICompatibleProvider("openai-compatible", openai_client=client),
    )


def _anthropic(provider: Provider, name: str, http_client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        base_url=_base_url(provider, "https://api.anthropic.com"),
        api_key=provider.api_key or _NO_KEY,
        max_retries=0,
        timeout=http_client.timeout,
        http_client=http_client,
    )
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _google(provider: Provider, name: str, http_client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    google = GoogleProvider(
        api_key=provider.api_key or _NO_KEY,
        base_url=_base_url(provider, "https://generativelanguage.googleapis.com"),
        http_client=http_client,
    )
    return GoogleModel(name, provider=google)


def _base_url(provider: Provider, default: str = "") -> str:
    url = provider.base_url or default
    if not url:
        raise LLMError(f"The provider «{provider}» has no base URL.")
    return url


_BUILDERS: dict[ProviderKind, Callable[[Provider, str, httpx2.AsyncClient], Model]] = {
    ProviderKind.OFFLINE: _offline,
    ProviderKind.OPENAI_COMPATIBLE: _openai,
    ProviderKind.ANTHROPIC: _anthropic,
    ProviderKind.GOOGLE: _google,
}


def refuse_cut_answer(kind: str, response: ModelResponse) -> None:
    """Raise `AnswerCutError` for an answer that its provider never finished.

    A proxy that ends a stream cleanly leaves half an answer that looks whole; what is
    missing is the reason why the model stopped, which these endpoints always give.
    """
    details = response.provider_details or {}
    if kind == ProviderKind.OPENAI_COMPATIBLE and "finish_reason" not in details:
        raise AnswerCutError


# --- Errors ---------------------------------------------------------------------------


def classify(error: Exception) -> Failure:
    """What R4 and R10 say about an error of a model call; anything unknown ends the run."""
    from pydantic_ai import exceptions as known

    if isinstance(error, known.ModelContextWindowExceededError):
        return _failure(EndReason.CONTEXT_EXCEEDED, error)
    if isinstance(error, known.ModelAPIError):
        return _api_failure(error)
    if isinstance(error, known.UnexpectedModelBehavior):
        return _failure(EndReason.PROVIDER_FAILED, error)
    if isinstance(error, LLMError):
        return _failure(EndReason.PRECONDITION_FAILED, error)
    if isinstance(error, AnswerCutError):
        return _passing_failure(error)
    return _failure(EndReason.NOT_RETRYABLE, error)


def _api_failure(error: Exception) -> Failure:
    from pydantic_ai import exceptions as known

    passing = (
        known.ModelRateLimitError,
        known.ModelUnavailableError,
        known.ModelServerError,
        known.ModelConnectionError,
        known.ModelRequestTimeout,
    )
    if not isinstance(error, passing):
        return _failure(EndReason.PROVIDER_FAILED, error)
    return _passing_failure(error)


def _passing_failure(error: Exception) -> Failure:
    return Failure(
        reason=EndReason.PROVIDER_FAILED,
        is_retryable=True,
        retry_after=_retry_after(getattr(error, "retry_after", None)),
        summary=_summary(error),
    )


def _retry_after(seconds: float | None) -> timedelta | None:
    if seconds is None or not seconds >= 0:
        return None
    longest = LONGEST_RETRY_AFTER.total_seconds()
    return timedelta(seconds=min(seconds, longest))


def _failure(reason: EndReason, error: Exception) -> Failure:
    return Failure(reason=reason, summary=_summary(error))


def _summary(error: Exception) -> str:
    """Class, status and code: enough to look for, nothing of what was said."""
    facts = [type(error).__name__]
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        facts.append(f"HTTP {status}")
    code = getattr(error, "provider_error_code", None)
    if isinstance(code, str) and code.isascii() and code.isprintable():
        facts.append(code[:64])
    if isinstance(error, LLMError):
        facts.append(str(error))
    return " ".join(facts)
