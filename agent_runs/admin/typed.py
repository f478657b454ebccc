"""Django's admin classes with their models as type arguments.

Django's own classes take none at run time; the stubs want them. Everything in this
project's admin derives from these three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from django import forms
from django.contrib import admin
from django.db.models import Model

M = TypeVar("M", bound=Model)
P = TypeVar("P", bound=Model)

if TYPE_CHECKING:

    class TypedAdmin(admin.ModelAdmin[M]): ...

    class TypedInline(admin.TabularInline[M, P]): ...

    class TypedForm(forms.ModelForm[M]): ...

else:

    class TypedAdmin(admin.ModelAdmin, Generic[M]):
        pass

    class TypedInline(admin.TabularInline, Generic[M, P]):
        pass

    class TypedForm(forms.ModelForm, Generic[M]):
        pass
