from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client as Browser
from django.urls import reverse

from a2a_project.newsroom.models import Article, Section
from tests import html_forms

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from django.contrib.auth.models import User

LIST = reverse("admin:newsroom_article_changelist")


@pytest.fixture
def browser(superuser: User) -> Browser:
    logged_in = Browser()
    logged_in.force_login(superuser)
    return logged_in


def _make_articles(number: int) -> None:
    section, _ = Section.objects.get_or_create(name="Culture")
    Article.objects.bulk_create(
        Article(title=f"Title {n}", section=section, text="A text.")
        for n in range(number)
    )


def test_the_list_takes_the_same_queries_for_many_articles(
    browser: Browser, django_assert_num_queries: Callable[[int], Any]
) -> None:
    _make_articles(1)
    browser.get(LIST)

    with django_assert_num_queries(6):
        browser.get(LIST)
    _make_articles(20)
    with django_assert_num_queries(6):
        page = browser.get(LIST)

    assert page.content.decode().count('class="field-section') == 21


def test_an_article_is_written_by_hand_too(browser: Browser) -> None:
    section = Section.objects.create(name="Culture")
    url = reverse("admin:newsroom_article_add")

    html_forms.save(
        browser, url, "article_form", title="T", text="x", section=str(section.pk)
    )

    assert Article.objects.get().section == section


def test_a_section_that_articles_stand_in_is_not_deleted(browser: Browser) -> None:
    _make_articles(2)
    section = Section.objects.get()
    url = reverse("admin:newsroom_section_delete", args=[section.pk])

    page = browser.post(url, {"post": "yes"}, follow=True)

    assert html_forms.sentences(page) == [
        "«Culture» is not deleted: it is still used by 2 articles. "
        "Move its articles to another section first."
    ]
