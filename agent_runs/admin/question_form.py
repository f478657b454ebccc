"""The form of a question: a control for each of its fields (T7, T8, S74).

Here a text is only taken from its control. `questions.parse` judges it, as it judges what
a client answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.html import escape

from agent_runs import questions
from agent_runs.questions import ANSWER, BadAnswer, Question, ValueType

if TYPE_CHECKING:
    from agent_runs.contents import JSONValue
    from agent_runs.questions import Field

_YES_OR_NO = [("yes", "Yes"), ("no", "No")]
_LEFT_OUT = [("", "No answer")]


class QuestionForm(forms.Form):
    """`values` holds a valid form's answer, a member for each field that has one."""

    def __init__(self, question: Question, data: Any = None) -> None:
        super().__init__(data)
        self.question = question
        self.values: dict[str, JSONValue] = {}
        for number, field in enumerate(question.fields):
            self.fields[_name(number)] = _control(field, self._may_be_left_out(field))
            if field.options and field.allow_free_text:
                self.fields[_other_name(number)] = forms.CharField(
                    required=False,
                    label="Or another text",
                    help_text="Counts instead of the choice above.",
                    widget=forms.Textarea(attrs={"rows": 2, "cols": 60}),
                )

    def clean(self) -> dict[str, Any]:
        for number, field in enumerate(self.question.fields):
            try:
                self._take(field, self._typed(number))
            except BadAnswer as error:
                self.add_error(_name(number), str(error))
        return self.cleaned_data

    def _take(self, field: Field, text: str) -> None:
        if text:
            alone = Question(text=self.question.text, fields=(field,))
            self.values[field.name] = questions.parse(alone, text)
        elif not self._may_be_left_out(field):
            raise BadAnswer(f"It is missing. {field.expected()}")

    def _typed(self, number: int) -> str:
        other = self.cleaned_data.get(_other_name(number))
        text = other or self.cleaned_data.get(_name(number)) or ""
        return str(text).replace("\r\n", "\n")

    def _may_be_left_out(self, field: Field) -> bool:
        return not field.is_required and self.question.only_field is None


def _name(number: int) -> str:
    """No field's own name: two of them would differ by case only, or be taken here."""
    return f"answer-{number}"


def _other_name(number: int) -> str:
    return f"other-{number}"


def _control(field: Field, may_be_left_out: bool) -> forms.CharField:
    label = field.label or ("Answer" if field.name == ANSWER else field.name)
    return forms.CharField(
        required=False,
        label=f"{label} (may be left out)" if may_be_left_out else label,
        # Django shows it unescaped, and it holds the model's options.
        help_text=escape(field.expected()),
        widget=_widget(field, may_be_left_out),
    )


def _widget(field: Field, may_be_left_out: bool) -> forms.Widget:
    left_out = _LEFT_OUT if may_be_left_out else []
    if field.options:
        choices = [(option, option) for option in field.options]
        return _radios(choices + left_out)
    if field.type is ValueType.BOOLEAN:
        return _radios(_YES_OR_NO + left_out)
    if field.type is ValueType.TEXT:
        return forms.Textarea(attrs={"rows": 3, "cols": 60})
    return forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})


def _radios(choices: list[tuple[str, str]]) -> forms.Widget:
    # The name that the admin's own style sheet knows.
    return forms.RadioSelect(choices=choices, attrs={"class": "radiolist"})
