"""What a page must never do, seen by the browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Dialog, Page, Request, Response


def watch(page: Page, site: str, faults: list[str]) -> None:
    """Collect errors in the console, violations of the policy, dialogs, what is asked of others."""
    host = urlsplit(site).netloc

    def said(message: ConsoleMessage) -> None:
        # Chromium asks every site for its icon; this one has none.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            faults.append(f"{page.url}: {message.text}")

    def asked(request: Request) -> None:
        if urlsplit(request.url).netloc not in ("", host):
            faults.append(f"{page.url} asks {request.url}")

    def answered(response: Response) -> None:
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            faults.append(f"{response.status} {response.url}")

    def interrupted(dialog: Dialog) -> None:
        faults.append(f"{page.url} says {dialog.message}")
        dialog.dismiss()

    page.on("console", said)
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("request", asked)
    page.on("response", answered)
    page.on("dialog", interrupted)
