"""The browser of the tests sees what a page does: a test that finds nothing wrong must be able to find it."""

from __future__ import annotations

from browser import console_errors, requested_urls


def test_a_page_that_complains_and_calls_out_is_noticed(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><title>Page</title><script>console.error('oh no')</script>"
        "<img src='http://foreign.invalid/picture.png'>"
    )
    browser.get(page.as_uri())
    assert browser.title == "Page"
    assert set(requested_urls(browser)) == {page.as_uri(), "http://foreign.invalid/picture.png"}
    assert any("oh no" in message for message in console_errors(browser))


def test_a_page_without_requests_is_reported_as_such(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><title>Quiet</title><link rel=icon href='data:,'>")
    browser.get(page.as_uri())
    assert [url for url in requested_urls(browser) if not url.startswith("data:")] == [page.as_uri()]
    assert console_errors(browser) == []
