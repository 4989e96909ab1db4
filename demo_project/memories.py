"""What the demo's agents remember: two workspaces, written the way agents write them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from django_agent_memory import Drop, Memory, Save
from django_agent_memory.models import Workspace


@dataclass(frozen=True, slots=True)
class Write:
    """One change, who makes it and why."""

    actor: str
    change: Save | Drop
    reason: str = ""


def seed() -> list[str]:
    """Fill the workspaces that do not exist yet, leave the others alone, return what was filled."""
    missing = [path for path in WORKSPACES if not Workspace.objects.filter(path=path).exists()]
    for path in missing:
        title, description, writes = WORKSPACES[path]
        with transaction.atomic():
            Memory(path).configure(title=title, description=description)
            for write in writes:
                Memory(path, actor=write.actor).apply([write.change], reason=write.reason)
    return missing


def _readings() -> Iterator[str]:
    """Yield the log of a greenhouse, a line a day: a long body of a real shape."""
    for day in range(120):
        date = datetime.date(2026, 2, 1) + datetime.timedelta(days=day)
        night = 4 + day * 0.09 + (day * 7 % 11) * 0.3
        noon = night + 9 + (day * 5 % 13) * 0.4
        water = "watered 12 l" if day % 3 == 0 else "not watered"
        yield f"{date}: night {night:.1f} °C, noon {noon:.1f} °C, {water}"


_CORE = [
    Write(
        "assistant",
        Save(
            key="user/name",
            summary="Her name is Maya Okafor; she likes to be called Maya",
            body="Maya Okafor, lives in Lisbon (Europe/Lisbon).\nCall her Maya, not Ms Okafor.",
        ),
    ),
    Write(
        "assistant",
        Save(
            key="user/preferences",
            summary="Prefers short answers; metric units",
            body="Short answers first, details on request.\nMetric units.",
        ),
    ),
    Write(
        "assistant",
        Save(
            key="user/preferences",
            summary="Prefers short answers; metric units; no calls before 10:00",
            body="Short answers first, details on request.\nMetric units.\n"
            "No calls before 10:00, said on 2026-03-02.",
        ),
        "She said so in the chat of 2026-03-02.",
    ),
    Write(
        "night-tidy",
        Save(
            key="user/preferences",
            summary="Short answers, metric units, no calls before 10:00 Lisbon time",
            body="- Short answers first, details on request.\n- Metric units.\n"
            "- No calls before 10:00 Lisbon time (since 2026-03-02).",
        ),
        "Made the time zone explicit.",
    ),
    Write(
        "assistant",
        Save(
            key="user/notifications",
            summary="Weekly digest by e-mail; silent from 22:00 to 07:00",
            body={
                "email": {"digest": "weekly", "weekday": "monday"},
                "quiet_hours": ["22:00", "07:00"],
                "calls": False,
                "channels": ["e-mail", "signal"],
            },
        ),
    ),
    Write(
        "assistant",
        Save(
            key="people/inês",
            summary="Inês Carvalho, contabilista; fala-se com ela em português",
            body="Inês Carvalho trata da contabilidade da Maya desde 2024.\n"
            "Prefere receber as faturas até ao dia 10, num único ficheiro PDF.\n"
            "Não trabalha às sextas-feiras.",
        ),
    ),
    Write(
        "assistant",
        Save(
            key="people/tanaka",
            summary="田中さん: 苗の仕入れ先。返事は日本語で",
            body="田中武さんは種苗店の担当者です。\n注文は毎月5日までにメールで送ります。\n"
            "トマトの苗は4月に届きます。",
        ),
    ),
    Write(
        "assistant",
        Save(
            key="projects/greenhouse",
            summary="Greenhouse on the roof: planned for April 2026",
            body="The greenhouse goes on the roof terrace, 2.4 m × 3.6 m. Start: April 2026.",
        ),
    ),
    Write(
        "garden-agent",
        Save(
            key="projects/greenhouse",
            summary="Greenhouse on the roof: built on 2026-04-18, tomatoes and basil",
            body="The greenhouse stands on the roof terrace, 2.4 m × 3.6 m, built on 2026-04-18.\n"
            "Planted: 14 tomatoes (from Tanaka), 6 basil.\n"
            "Rule: below 5 °C at night the heater goes on; above 32 °C open both vents.",
        ),
        "It is built; the plan is history.",
    ),
    Write(
        "garden-agent",
        Save(
            key="projects/greenhouse/readings",
            summary="Daily temperatures and watering, February to May 2026",
            body="\n".join(_readings()),
        ),
    ),
    Write(
        "assistant",
        Save(
            key="trips/porto",
            summary="Train to Porto on 2026-03-20, seat 41, back on the 22nd",
            body="Out: 2026-03-20 08:39 from Santa Apolónia, coach 4, seat 41.\n"
            "Back: 2026-03-22 17:52. Hotel near São Bento, booked and paid.",
        ),
    ),
    Write("night-tidy", Drop(key="trips/porto"), "The trip is over."),
    Write(
        "assistant",
        Save(
            key="decisions/2026-05-bank",
            summary="Decided on 2026-05-06: the savings stay where they are until 2027",
            body="Maya compared three offers and keeps the account until 2027-01.\n"
            "Reason: the notice period is 90 days and the gain under 40 € a year.\n"
            "Do not bring it up again before December 2026.",
        ),
    ),
]

_DESK = [
    Write(
        "desk",
        Save(
            key="policy/returns",
            summary="Returns within 14 days, unopened",
            body="Goods can come back within 14 days, unopened, with the receipt.",
        ),
    ),
    Write(
        "policy-sync",
        Save(
            key="policy/returns",
            summary="Returns within 30 days, opened or not, since 2026-05-01",
            body="Since 2026-05-01: 30 days, opened or not, with the order number.\n"
            "Seeds and living plants are excluded.\nRefund to the card that paid.",
        ),
        "New terms of 2026-05-01.",
    ),
    Write(
        "desk",
        Save(
            key="known-issues/invoice-pdf",
            summary="Invoice PDF is empty for orders with more than 40 lines; fix due 2026-06-15",
            body="Symptom: the invoice opens as one blank page.\n"
            "Cause: orders with more than 40 lines. Ticket 4127, fix due on 2026-06-15.\n"
            "Until then: send the CSV from the order page instead.",
        ),
    ),
    Write(
        "desk",
        Save(
            key="customers/4711",
            summary="Hôtel des Alpes: écrire en français, livraison côté cour",
            body="Contact : Mme Favre. Toujours écrire en français.\n"
            "Livraison par la cour, entre 6 h et 9 h ; le quai ferme à 9 h 15.",
        ),
    ),
    Write(
        "desk",
        Save(
            key="shifts/june",
            summary="Who answers in June 2026, by weekday",
            body={"mon": ["Ada", "Joon"], "tue": ["Ada"], "wed": ["Joon"], "sat": [], "sun": None},
        ),
    ),
    Write(
        "desk",
        Save(
            key="wording/apology",
            summary=None,
            body="We are sorry that this went wrong. Here is what happens next: …",
        ),
        "Found by search when needed; costs no line of the index.",
    ),
]

WORKSPACES = {
    "core": ("Maya's assistant", "What several agents of one person know about her.", _CORE),
    "support/desk": ("Support desk", "What the agents of a shop's support desk share.", _DESK),
}
