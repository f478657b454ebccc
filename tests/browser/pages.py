"""What an administrator does on the admin's pages, and what they read there.

Everything goes by what is on the screen: links by their text, controls by the label that
stands beside them. What loads another page waits until the old page is gone. Every page
that was seen is kept as a picture, its source is searched for secrets at once, and nothing
of it may be cut off.
"""

from __future__ import annotations

import base64
import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

Value = str | bool
_SECONDS = 15
_LOOK_EVERY = 0.02
_RELOAD_EVERY = 0.3

_ROWS = "#result_list tbody tr"
_ROW = "./ancestor::div[contains(concat(' ', @class, ' '), ' form-row ')][1]"
_ERRORS = ".errorlist li"
# The page, where it is wider than the window, and whatever is cut off. A table may scroll
# in its frame, and controls scroll their text; what is for screen readers is a pixel wide.
# The admin itself cuts the texts of its icons, and long names among the recent actions.
_TOO_WIDE = """
const page = document.scrollingElement;
const isCut = (element) => element === page
    || ['hidden', 'clip'].includes(getComputedStyle(element).overflowX);
const isTooWide = (element) => element.clientWidth > 1
    && element.scrollWidth > element.clientWidth + 1
    && !element.matches('input, textarea, select, button, .actionlist li')
    && isCut(element);
return [page, ...document.body.querySelectorAll('*')].filter(isTooWide).map(
    (element) => `${element.tagName} ${element.className} ${element.scrollWidth}`);
"""


@dataclass(slots=True, kw_only=True)
class Browser:
    driver: WebDriver
    origin: str
    pictures: Path
    # What no page may hold.
    secrets: set[str] = field(default_factory=set)
    _taken: int = 0

    # --- Going places

    @property
    def path(self) -> str:
        """Where one can come back to with `visit`."""
        return self.driver.current_url.removeprefix(self.origin)

    def visit(self, path: str) -> None:
        self.driver.get(self.origin + path)
        self._look()

    def follow(self, text: str, *, inside: str = "body") -> None:
        """Click the link with exactly this text."""
        # As it is written: the style sheet shows some of them in capitals.
        path = f".//a[normalize-space()='{text}']"
        self._leave(self._first(inside).find_element(By.XPATH, path).click)

    def press(self, text: str) -> None:
        """Click the button that reads so."""
        self.picture("pressed")
        self._leave(self._button(text).click)

    def sign_in(self, name: str, password: str) -> None:
        self.visit("/admin/")
        self.fill({"Username": name, "Password": password})
        self.press("Log in")

    def open_list(self, title: str) -> None:
        self.visit("/admin/")
        self.follow(title, inside="#content-main")

    def start_adding(self, title: str) -> None:
        """From the index to the empty form of a new record."""
        self.open_list(title)
        self._leave(self._first(".object-tools .addlink").click)

    def add(self, title: str, values: Mapping[str, Value]) -> None:
        self.start_adding(title)
        self.fill(values)
        self.press("Save")

    def open_record(self, title: str, record: str) -> None:
        self.open_list(title)
        self.follow(record, inside="#result_list")

    def follow_first(self, selector: str) -> None:
        """The first link of those; for a link that is named by an id."""
        self._leave(self._first(selector).click)

    def reload_until(self, check: Callable[[], bool]) -> None:
        """For what a worker does meanwhile: a page says it when it is opened again."""
        wait = WebDriverWait(self.driver, 2 * _SECONDS, _RELOAD_EVERY)
        wait.until(lambda _: check() or self.driver.refresh())
        self._look()

    @contextlib.contextmanager
    def another_tab(self) -> Iterator[None]:
        """The page that is open stays so, as it is, and is there again afterwards."""
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            yield
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)

    # --- Forms

    def fill(self, values: Mapping[str, Value]) -> None:
        for label, value in values.items():
            _set(self.control(label), value)

    def leave_to_the_server(self, form: str) -> None:
        """Send what the browser itself would hold back, as others may."""
        self.driver.execute_script("arguments[0].noValidate = true", self._first(form))

    def choose(self, name: str, text: str) -> None:
        """In a table below the form; its controls have a name and no label."""
        _set(self.driver.find_element(By.NAME, name), text)

    def control(self, label: str) -> WebElement:
        """The control that the label belongs to; radio buttons have one each."""
        found = self._label(label)
        return self.driver.find_element(By.ID, found.get_attribute("for") or "")

    def chosen(self, name: str) -> str:
        control = Select(self.driver.find_element(By.NAME, name))
        return control.first_selected_option.text

    def value(self, label: str) -> Value:
        control = self.control(label)
        if control.tag_name == "select":
            return Select(control).first_selected_option.text
        if control.get_attribute("type") in {"checkbox", "radio"}:
            return control.is_selected()
        return control.get_attribute("value") or ""

    def refusal(self, label: str) -> str:
        """The sentence that stands in the label's own row; empty where it is content."""
        row = self._label(label).find_element(By.XPATH, _ROW)
        return "\n".join(e.text for e in row.find_elements(By.CSS_SELECTOR, _ERRORS))

    def refusals(self) -> str:
        """All sentences that stand beside controls, where a row has several of these."""
        return "\n".join(self.texts(_ERRORS))

    def choose_row(self, *texts: str) -> None:
        """Tick the row of a list that holds these texts."""
        for row in self.driver.find_elements(By.CSS_SELECTOR, _ROWS):
            if all(text in row.text for text in texts):
                row.find_element(By.CSS_SELECTOR, ".action-select").click()
                return
        raise AssertionError(f"no row holds {texts}: {self.text()}")

    def act(self, action: str) -> None:
        """Run the action on the rows that are ticked."""
        chooser = self.driver.find_element(By.NAME, "action")
        Select(chooser).select_by_visible_text(action)
        self.picture("action")
        self._leave(self.driver.find_element(By.NAME, "index").click)

    # --- Reading

    def column(self, heading: str, *, inside: str = "body") -> list[str]:
        """One column of the table that has it, from the first row to the last."""
        path = f".//table[thead//th[normalize-space()='{heading}']]"
        table = self._first(inside).find_element(By.XPATH, path)
        headings = table.find_elements(By.CSS_SELECTOR, "thead th")
        texts = [str(cell.get_property("textContent")).strip() for cell in headings]
        cells = f"tbody tr > :nth-child({texts.index(heading) + 1})"
        return [cell.text for cell in table.find_elements(By.CSS_SELECTOR, cells)]

    def has_button(self, text: str) -> bool:
        return bool(self.driver.find_elements(By.XPATH, _button_path(text)))

    def text(self, selector: str = "body") -> str:
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def texts(self, selector: str) -> list[str]:
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return [element.text.strip() for element in found]

    def messages(self) -> list[str]:
        return self.texts(".messagelist li")

    def shown(self, label: str) -> str:
        """What a page says beside a label that has no control."""
        row = self._label(label).find_element(By.XPATH, _ROW)
        return row.find_element(By.CSS_SELECTOR, ".readonly").text

    def follow_shown(self, label: str) -> None:
        """The link beside a label."""
        row = self._label(label).find_element(By.XPATH, _ROW)
        self._leave(row.find_element(By.CSS_SELECTOR, ".readonly a").click)

    def picture(self, name: str = "") -> None:
        """The whole page, also what does not fit the window."""
        self._taken += 1
        title = self.driver.title.partition(" | ")[0]
        name = re.sub(r"[^a-z0-9]+", "-", f"{title} {name}".lower()).strip("-")
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot",
            {"captureBeyondViewport": True, "optimizeForSpeed": True},
        )
        file = self.pictures / f"{self._taken:02}-{name[:60]}.png"
        file.write_bytes(base64.b64decode(shot["data"]))

    # --- Inside

    def _leave(self, action: Callable[[], None]) -> None:
        page = self.driver.find_element(By.TAG_NAME, "html")
        action()
        wait = WebDriverWait(self.driver, _SECONDS, _LOOK_EVERY)
        wait.until(lambda _: _is_gone(page))
        self._look()

    def _look(self) -> None:
        source = self.driver.page_source
        assert "Traceback" not in source, self.driver.current_url
        found = [secret for secret in self.secrets if secret in source]
        assert not found, f"{self.driver.current_url} shows a secret"
        self.picture()
        too_wide = self.driver.execute_script(_TOO_WIDE)
        assert not too_wide, f"{self.driver.current_url} is cut off: {too_wide}"

    def _label(self, text: str) -> WebElement:
        # As it is written: those of long things are there for screen readers only.
        words = f"normalize-space()='{text}' or normalize-space()='{text}:'"
        found = self.driver.find_elements(By.XPATH, f"//form//label[{words}]")
        if not found:
            where = self.driver.current_url
            raise NoSuchElementException(f"no label «{text}» on {where}")
        return found[0]

    def _button(self, text: str) -> WebElement:
        return self.driver.find_element(By.XPATH, _button_path(text))

    def _first(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)


def _is_gone(page: WebElement) -> bool:
    """Whether the browser shows another document by now."""
    try:
        page.is_enabled()
    except StaleElementReferenceException:
        return True
    except WebDriverException as error:
        # Asked at the very moment of the change, the driver has other words for it.
        if "does not belong to the document" in (error.msg or ""):
            return True
        raise
    return False


def _button_path(text: str) -> str:
    is_button = f"self::button[normalize-space()='{text}']"
    return f"//*[self::input[@type='submit' and @value='{text}'] or {is_button}]"


def _set(control: WebElement, value: Value) -> None:
    if isinstance(value, bool):
        if control.is_selected() != value:
            control.click()
    elif control.tag_name == "select":
        Select(control).select_by_visible_text(value)
    else:
        control.clear()
        control.send_keys(value.replace("\n", Keys.ENTER))
