from __future__ import annotations

from tests import growth


def test_tells_linear_from_quadratic_work() -> None:
    def quadratic(text: str) -> int:
        return sum(text.count("b") for _ in text[::20])

    def linear(text: str) -> int:
        return sum(character == "b" for character in text)

    text = "a" * 20_000

    assert growth.is_linear(linear, text)
    assert not growth.is_linear(quadratic, text)
