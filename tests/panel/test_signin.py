"""Getting into the panel: the token of the link, the token by hand, no token, and out again."""

from __future__ import annotations

from collections.abc import Callable

from tests.panel.hubs import HubProcess
from tests.panel.stage import Visitor, becomes, expect, picture


def test_the_token_of_the_link_signs_in_and_leaves_the_address_at_once(
    hub: HubProcess, visitor: Visitor
) -> None:
    page = visitor.page()
    page.goto(f"{hub.url}/#token={hub.token}")
    expect(page.locator(".connection")).to_contain_text("Live")
    assert hub.token not in page.url
    becomes(page, "() => history.length", 2)
    (cookie,) = visitor.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("tidings", True, "Strict")
    assert hub.token not in cookie["value"]
    assert page.evaluate("() => document.cookie + JSON.stringify(localStorage)") == "{}"
    assert [url for url in visitor.requests if hub.token in url and "#token=" not in url] == []


def test_who_has_no_cookie_is_told_how_to_get_in_and_may_paste_the_token(
    hub: HubProcess, visitor: Visitor
) -> None:
    visitor.expect_trouble("401")
    page = visitor.page()
    page.goto(hub.url)
    expect(page.locator(".signin")).to_contain_text("tidings panel")
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#token-problem")).to_contain_text("does not know this token")
    picture(page, "signin")
    page.get_by_label("Token").fill(hub.token)
    page.keyboard.press("Enter")
    expect(page.locator(".connection")).to_contain_text("Live")
    expect(page.locator(".signin")).to_be_hidden()
    page.reload()
    expect(page.locator(".connection")).to_contain_text("Live")


def test_signing_out_ends_the_feeds_and_shows_how_to_come_back(hub: HubProcess, visitor: Visitor) -> None:
    visitor.expect_trouble("401")
    page = visitor.open()
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".signin")).to_be_visible()
    assert visitor.context.cookies() == []
    page.reload()
    expect(page.locator(".signin")).to_be_visible()


def test_two_people_with_two_browsers_do_not_share_a_sign_in(
    hub: HubProcess, visit: Callable[..., Visitor]
) -> None:
    visit(hub).open()
    other = visit(hub)
    other.expect_trouble("401")
    page = other.page()
    page.goto(hub.url)
    expect(page.locator(".signin")).to_be_visible()
