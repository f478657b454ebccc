from __future__ import annotations

import asyncio
import importlib.util
import socket
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart

from agent_runs import llm
from agent_runs.llm_offline import OfflineModel
from agent_runs.models import EndReason, LLMConfiguration, Provider
from agent_runs.models.llm import ProviderKind
from tests.agent_runs import openai_server
from tests.agent_runs.openai_server import Answer, OpenAIServer, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.settings import ModelSettings

SECRET = "sk-of-the-provider-0123456789"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server.running() as server:
        yield server


def make_configuration(server: OpenAIServer, **values: Any) -> LLMConfiguration:
    """Not stored: nothing here needs a database."""
    defaults = {
        "kind": ProviderKind.OPENAI_COMPATIBLE,
        "base_url": server.base_url,
        "name": "Local",
        "timeout_seconds": 5,
    }
    provider = Provider(**defaults | values)
    return LLMConfiguration(provider=provider, model_name="m", name="C")


def ask(
    configuration: LLMConfiguration, *, streams: bool = False, text: str = "hello"
) -> ModelResponse:
    return asyncio.run(_ask(configuration, streams=streams, text=text))


async def _ask(
    configuration: LLMConfiguration, *, streams: bool, text: str
) -> ModelResponse:
    messages = [ModelRequest(parts=[UserPromptPart(text)], instructions="Be kind.")]
    settings = llm.model_settings(configuration)
    async with llm.open_client(configuration.provider) as http_client:
        model = llm.build_model(configuration, http_client)
        if not streams:
            return await model_request(model, messages, model_settings=settings)
        async with model_request_stream(
            model, messages, model_settings=settings
        ) as stream:
            async for _ in stream:
                pass
            return stream.get()


def failure_of(configuration: LLMConfiguration, *, streams: bool) -> llm.Failure:
    with pytest.raises(Exception) as raised:  # noqa: PT011 -- which one is llm's business
        ask(configuration, streams=streams)
    assert isinstance(raised.value, Exception)
    return llm.classify(raised.value)


# --- A provider that answers ----------------------------------------------------------


def test_asks_the_configured_endpoint_with_the_configured_key(
    server: OpenAIServer,
) -> None:
    """P1: base URL, key and model name are those of the records."""
    server.answer = openai_server.completion("hi", prompt_tokens=3, completion_tokens=4)

    response = ask(make_configuration(server, api_key=SECRET))

    assert response.text == "hi"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)
    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {SECRET}"
    assert asked.body["model"] == "m"
    assert [m["content"] for m in asked.body["messages"]] == ["Be kind.", "hello"]


def test_joins_a_streamed_answer(server: OpenAIServer) -> None:
    server.answer = openai_server.stream("h", "i")

    response = ask(make_configuration(server), streams=True)

    assert response.text == "hi"
    assert server.asked[0].body["stream"] is True


def test_sends_temperature_and_longest_answer_where_they_are_set(
    server: OpenAIServer,
) -> None:
    """P2."""
    configuration = make_configuration(server)
    ask(configuration)
    configuration.temperature, configuration.max_tokens = 0.0, 17
    ask(configuration)

    without, with_both = server.asked
    assert "temperature" not in without.body
    assert with_both.body["temperature"] == 0.0
    assert with_both.body["max_completion_tokens"] == 17


def test_takes_nothing_from_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1: no key, address, account or proxy of whoever started the worker."""
    for name, value in {
        "OPENAI_API_KEY": "sk-of-the-environment",
        "OPENAI_ADMIN_KEY": "sk-admin",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "OPENAI_ORG_ID": "org-of-the-environment",
        "OPENAI_PROJECT_ID": "proj-of-the-environment",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)

    ask(make_configuration(server))

    [asked] = server.asked
    assert "environment" not in str(asked.headers)
    assert "sk-" not in str(asked.headers)


def test_uses_the_environments_proxy_when_the_record_says_so(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1. The server stands in for the proxy; the host itself does not exist."""
    monkeypatch.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    configuration = make_configuration(
        server, base_url="http://llm.invalid/v1", use_environment_proxy=True
    )

    ask(configuration)

    assert server.asked[0].path == "http://llm.invalid/v1/chat/completions"


# --- A provider that does not ---------------------------------------------------------

RETRYABLE = {
    "429": refusal(429),
    "500": refusal(500),
    "502": Answer(status=502, body=b"<html>bad gateway</html>"),
    "503": refusal(503),
    "504": refusal(504),
    "529": refusal(529),
}
FINAL = {
    "400": refusal(400),
    "401": refusal(401),
    "402": refusal(402),
    "403": refusal(403),
    "404": refusal(404),
    "408": refusal(408),
    "409": refusal(409),
    "413": refusal(413),
    "422": refusal(422),
    "no quota left": refusal(429, code="insufficient_quota"),
    "redirect": Answer(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    "malformed JSON": Answer(
        body=b'{"id": ', headers={"Content-Type": "application/json"}
    ),
    "HTML": Answer(body=b"<html>hello", headers={"Content-Type": "text/html"}),
    "empty": Answer(headers={"Content-Type": "application/json"}),
    "other JSON": Answer(
        body=b'{"no": "completion"}', headers={"Content-Type": "application/json"}
    ),
}
STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


@STREAMS
@pytest.mark.parametrize("answer", RETRYABLE.values(), ids=RETRYABLE.keys())
def test_a_passing_failure_may_be_tried_again(
    server: OpenAIServer, answer: Answer, streams: bool
) -> None:
    """R10: HTTP 429 and 5xx; the packages themselves repeat nothing."""
    server.answer = answer

    failure = failure_of(make_configuration(server), streams=streams)

    assert failure.is_retryable
    assert failure.retry_after is None
    assert len(server.asked) == 1


@STREAMS
@pytest.mark.parametrize("answer", FINAL.values(), ids=FINAL.keys())
def test_an_answer_not_worth_repeating_ends_the_run(
    server: OpenAIServer, answer: Answer, streams: bool
) -> None:
    """R4, R10: 401, 403, other 4xx and what cannot be read; redirects too (P1)."""
    server.answer = answer

    failure = failure_of(make_configuration(server), streams=streams)

    assert failure.reason is EndReason.PROVIDER_FAILED
    assert not failure.is_retryable
    assert len(server.asked) == 1


@STREAMS
@pytest.mark.parametrize(
    "answer",
    [
        refusal(400, code="context_length_exceeded"),
        refusal(400, message="This model's maximum context length is 4096 tokens."),
    ],
    ids=["code", "message"],
)
def test_a_text_too_long_for_the_model_has_a_reason_of_its_own(
    server: OpenAIServer, answer: Answer, streams: bool
) -> None:
    """R4."""
    server.answer = answer

    failure = failure_of(make_configuration(server), streams=streams)

    assert failure.reason is EndReason.CONTEXT_EXCEEDED
    assert not failure.is_retryable


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("7", timedelta(seconds=7)),
        ("999999999", llm.LONGEST_RETRY_AFTER),  # nobody waits that long
        ("-1", None),
        ("soon", None),
        ("nan", None),
    ],
)
def test_hears_when_the_provider_wants_to_be_asked_again(
    server: OpenAIServer, header: str, expected: timedelta | None
) -> None:
    server.answer = refusal(429, headers={"Retry-After": header})

    failure = failure_of(make_configuration(server), streams=False)

    assert failure.is_retryable
    assert failure.retry_after == expected


@STREAMS
def test_a_silent_provider_times_out(server: OpenAIServer, streams: bool) -> None:
    """R10; the time-out is that of the record."""
    server.answer = Answer(hangs=True)

    failure = failure_of(make_configuration(server, timeout_seconds=1), streams=streams)

    assert failure.is_retryable
    assert len(server.asked) == 1


@STREAMS
def test_a_connection_that_breaks_may_be_tried_again(
    server: OpenAIServer, streams: bool
) -> None:
    """R10."""
    whole, pieces = (
        openai_server.completion("hi"),
        openai_server.stream("hi", ends=False),
    )
    template = pieces if streams else whole
    server.answer = Answer(body=template.body, headers=template.headers, breaks=True)

    failure = failure_of(make_configuration(server), streams=streams)

    assert failure.is_retryable


@STREAMS
def test_a_refused_connection_may_be_tried_again(
    server: OpenAIServer, streams: bool
) -> None:
    """R10."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        configuration = make_configuration(server, base_url=f"http://127.0.0.1:{port}")

        failure = failure_of(configuration, streams=streams)

    assert failure.is_retryable
    assert server.asked == []


def test_an_error_within_a_stream_counts_like_the_same_status(
    server: OpenAIServer,
) -> None:
    server.answer = Answer(
        body=b'data: {"error": {"message": "no", "type": "server_error"}}\n\n',
        headers={"Content-Type": "text/event-stream"},
    )

    assert failure_of(make_configuration(server), streams=True).is_retryable


def test_the_summary_repeats_neither_key_nor_text(server: OpenAIServer) -> None:
    """Secrets and contents are never logged; status and code are what one looks for."""
    server.answer = refusal(
        401, message=f"wrong key {SECRET} for «hello»", code="bad_key"
    )

    failure = failure_of(make_configuration(server, api_key=SECRET), streams=False)

    assert failure.summary == "ModelAuthenticationError HTTP 401 bad_key"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("unknown"), EndReason.NOT_RETRYABLE),
        (exceptions.UserError("misuse"), EndReason.NOT_RETRYABLE),
        (exceptions.ContentFilterError("filtered", "body"), EndReason.PROVIDER_FAILED),
        (exceptions.ModelAPIError("m", "no category"), EndReason.PROVIDER_FAILED),
        (llm.LLMError("no URL"), EndReason.PRECONDITION_FAILED),
    ],
)
def test_what_is_not_known_to_pass_is_never_tried_again(
    error: Exception, reason: EndReason
) -> None:
    """R10."""
    failure = llm.classify(error)

    assert failure.reason is reason
    assert not failure.is_retryable


# --- Kinds and settings ---------------------------------------------------------------


def test_builds_the_offline_model_by_name() -> None:
    provider = Provider(kind=ProviderKind.OFFLINE, name="Demo")

    response = ask(LLMConfiguration(provider=provider, model_name="echo"), text="abc")

    assert response.text == "abc"
    assert response.model_name == "echo"


@pytest.mark.parametrize(
    ("provider", "model_name", "sentence"),
    [
        ({"kind": "offline"}, "gpt", "The offline model «gpt» does not exist."),
        ({"kind": "openai-compatible"}, "m", "The provider «P» has no base URL."),
        ({"kind": "quantum"}, "m", "«quantum» is not known"),
    ],
)
def test_a_record_that_makes_no_model_says_why(
    provider: dict[str, str], model_name: str, sentence: str
) -> None:
    configuration = LLMConfiguration(
        provider=Provider(name="P", **provider), model_name=model_name
    )

    with pytest.raises(llm.LLMError, match=sentence):
        ask(configuration)


def test_built_in_kinds_have_no_problem() -> None:
    """P1."""
    assert llm.kind_problem("openai-compatible") is None
    assert llm.kind_problem("offline") is None


@pytest.mark.parametrize(
    ("kind", "package"), [("anthropic", "anthropic"), ("google", "google.genai")]
)
def test_an_extra_is_usable_or_named(kind: str, package: str) -> None:
    """P1: where it is not installed, a sentence and never an ImportError."""
    provider = Provider(name="P", kind=kind, base_url="http://127.0.0.1:1", api_key="k")
    configuration = LLMConfiguration(provider=provider, model_name="m")

    failure = failure_of(configuration, streams=False)

    if _is_installed(package):
        assert llm.kind_problem(kind) is None
        assert failure.is_retryable  # nobody listens there
    else:
        assert f"a2a-gateway[{kind}]" in (llm.kind_problem(kind) or "")
        assert failure.reason is EndReason.PRECONDITION_FAILED
        assert f"a2a-gateway[{kind}]" in failure.summary


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def test_warming_up_imports_what_the_first_call_needs() -> None:
    llm.warm_up()

    assert OfflineModel("echo").system == "offline"


def test_the_whole_call_has_the_records_deadline() -> None:
    configuration = LLMConfiguration(provider=Provider(timeout_seconds=42))

    settings: ModelSettings = llm.model_settings(configuration)

    assert settings == {"request_timeout": 42.0, "timeout": 42.0, "max_retries": 0}
