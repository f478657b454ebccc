from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db.models import ProtectedError

from a2a_project.newsroom.models import Article, Section

pytestmark = pytest.mark.django_db


def test_a_section_with_articles_stays() -> None:
    section = Section.objects.create(name="Culture")
    Article.objects.create(title="A title", section=section, text="A text.")

    with pytest.raises(ProtectedError):
        section.delete()


def test_a_title_is_short() -> None:
    section = Section.objects.create(name="Culture")
    article = Article(title="t" * 121, section=section, text="A text.")

    with pytest.raises(ValidationError) as refused:
        article.full_clean()

    assert list(refused.value.message_dict) == ["title"]
