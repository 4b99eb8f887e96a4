"""The dashboard in a real browser, against the real service: what a person sees and does.

One service and one browser serve all tests here. Each test waits for what it expects to see, never for a time. Whatever
a page does, the console must stay empty, and no request may go to another host.
"""

import importlib.resources
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

import budgetbandits as bb
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.store import Store
from budgetbandits.service.chronicle import Point
from budgetbandits.service.dashboard.contents import forecast_of
from budgetbandits.service.dashboard.forecast import Standing, ends
from budgetbandits.service.dashboard.rendering import FOLDER
from budgetbandits.testing.clock import HandClock
from budgetbandits.testing.service import ServiceServer
from over_http import signed_in
from prefix_proxy import proxied

SCRIPT: Final = "<script>alert(1)</script>"
PATIENCE: Final = (
    30_000  # milliseconds: a busy machine may take long, and a condition is waited for no longer than it takes
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with bb.open_store(f"sqlite:///{tmp_path_factory.mktemp('dashboard')}/ads.db") as store:
        yield store


@pytest.fixture(scope="module")
def service(store: Store) -> Iterator[ServiceServer]:
    with ServiceServer(store) as service:
        yield service


@pytest.fixture(scope="module")
def heard() -> list[str]:
    """Return where the page that most tests share notes what it has to complain about."""
    return []


@pytest.fixture(scope="module")
def window(browser: Browser, service: ServiceServer, heard: list[str]) -> Iterator[Page]:
    """Return that page, in which an administrator has signed in: to open one takes longer than most tests do."""
    context = new_context(browser, service)
    page = context.new_page()
    watch(page, service, heard)
    sign_in(page, service.token)
    page.goto("about:blank")
    yield page
    context.close()


@pytest.fixture
def complaints(heard: list[str]) -> Iterator[list[str]]:
    """Return what a page has to complain about; it must be nothing in the end."""
    heard.clear()
    yield heard
    assert heard == []


@pytest.fixture
def page(window: Page, complaints: list[str]) -> Iterator[Page]:
    """Return an empty page in which nothing may go wrong unnoticed."""
    window.set_viewport_size({"width": 1280, "height": 720})
    window.emulate_media(color_scheme="null", reduced_motion="null")
    yield window
    window.unroute_all()
    window.goto("about:blank")


def new_context(browser: Browser, service: ServiceServer, **options: Any) -> BrowserContext:
    context = browser.new_context(base_url=service.url, timezone_id="Europe/Paris", **options)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return context


def watch(page: Page, service: ServiceServer, complaints: list[str]) -> None:
    """Note all complaints of a page, and all its requests to other hosts."""
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"a dialog of a script's: {dialog.message}"))
    page.on("request", lambda asked: None if asked.url.startswith(service.url) else complaints.append(asked.url))


def forgive(complaints: list[str], reason: str) -> None:
    """Take back complaints that had to come: a browser says on the console which requests failed."""
    assert complaints
    assert all(reason in each for each in complaints), complaints
    complaints.clear()


def sign_in(page: Page, token: str) -> None:
    page.goto("/sign-in")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    page.wait_for_load_state()


def new_token(service: ServiceServer, name: str, scope: str, campaign: str | None = None) -> str:
    wanted = {"name": name, "scope": scope, "campaign": campaign}
    headers = {"Authorization": f"Bearer {service.token}"}
    return str(httpx.post(f"{service.url}/v1/tokens", json=wanted, headers=headers).json()["token"])


def new_campaign(store: Store, name: str, **given: Any) -> Campaign:
    usual: dict[str, Any] = {
        "policy": bb.recommended(),
        "costs": {"small": "0.02", "large": "0.40", SCRIPT: "0.10"},
        "budget": "1234.50",
        "reward_range": (0, 1),
        "lease": "10 minutes",
        "seed": 7,
    }
    return store.create(name, **(usual | given))


def play(campaign: Campaign, pulls: int) -> None:
    for number in range(pulls):
        pull = campaign.ask()
        assert pull
        campaign.tell(pull, reward=number % 2)


def address(campaign: Campaign) -> str:
    return f"/campaigns/{quote(campaign.name, safe='')}"


# Signing in


def test_whoever_has_no_token_sees_nothing(browser: Browser, service: ServiceServer, store: Store) -> None:
    campaign = new_campaign(store, "not for strangers")
    with httpx.Client(base_url=service.url) as stranger:
        for path in ("/", address(campaign), "/campaigns/nowhere", "/new-campaign", f"{address(campaign)}/pulls/1"):
            answer = stranger.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={quote(path, safe='')}")
        assert stranger.get("/sign-in").status_code == 200
        headers = {"X-Requested-With": "budgetbandits"}
        refused = stranger.post("/sign-in", json={"token": "bb_wrong"}, headers=headers)
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        assert stranger.post("/sign-in", json={"token": service.token}).status_code == 403  # from another site's page


def test_signing_in_and_out(browser: Browser, service: ServiceServer) -> None:
    context = new_context(browser, service)
    page = context.new_page()
    page.goto("/new-campaign")
    expect(page).to_have_url(re.compile("/sign-in"))
    page.get_by_label("Token").fill("bb_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("there is no such token")
    page.get_by_label("Token").fill(service.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="New campaign")).to_be_visible()  # where they wanted to go
    page.wait_for_load_state()  # a button that is there before its script is does nothing
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in"))
    page.goto("/")
    expect(page).to_have_url(re.compile("/sign-in"))
    context.close()


def test_signing_in_stays_at_the_service(browser: Browser, service: ServiceServer) -> None:
    context = new_context(browser, service)
    page = context.new_page()
    page.goto("/sign-in?next=/%09/evil.example")
    page.get_by_label("Token").fill(service.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
    expect(page).to_have_url(f"{service.url}/")
    context.close()


def test_a_link_from_elsewhere_finds_who_is_signed_in(
    window: Page, service: ServiceServer, store: Store, complaints: list[str]
) -> None:
    campaign = new_campaign(store, "linked")
    page, asked = window.context.new_page(), list[Request]()
    watch(page, service, complaints)
    page.on("request", lambda request: asked.append(request))
    page.set_content(f'<a href="{service.url}{address(campaign)}">Look</a>')  # of no site, so the cookie is not sent
    page.get_by_role("link", name="Look").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("linked")
    assert "cookie" not in asked[0].all_headers()
    page.close()


def test_a_token_of_one_campaign_shows_that_one(service: ServiceServer, store: Store) -> None:
    mine, other = new_campaign(store, "mine"), new_campaign(store, "another's")
    with signed_in(service, new_token(service, "worker of mine", "work", campaign="mine")) as client:
        glance = client.get("/").text
        assert ("mine" in glance, "another" in glance, "New campaign" in glance) == (True, False, False)
        page = client.get(address(mine)).text
        assert ("Verify now" in page, "Pause" in page) == (True, False)
        refused, unknown = client.get(address(other)), client.get("/campaigns/nowhere")
        assert (refused.status_code, unknown.status_code) == (403, 403)
        assert refused.text.split("<main")[1] == unknown.text.split("<main")[1]  # nothing is learned of others
        assert client.get("/new-campaign").status_code == 403


def test_odd_numbers_are_refused(service: ServiceServer, store: Store) -> None:
    campaign = new_campaign(store, "odd")
    with signed_in(service, service.token) as client:
        far = 10**30
        for path in (f"?after={far}", "?after=-1", f"/journal?before={far}", "/journal", "/pulls/first"):
            assert client.get(address(campaign) + path).status_code == 422, path
        assert client.get(f"{address(campaign)}/pulls/{far}").status_code == 404
        assert client.get(f"{address(campaign)}?after=7").status_code == 200


def test_a_campaign_that_hands_out_no_more_pulls_offers_no_pause(service: ServiceServer, store: Store) -> None:
    spent = new_campaign(store, "to be paused")
    with signed_in(service, service.token) as client:
        assert "Pause" in client.get(address(spent)).text
        spent.withdraw(spent.money.left, key="all")
        assert 'class="state spent"' in client.get(address(spent)).text
        assert "Pause" not in client.get(address(spent)).text
        spent.pause()
        assert "Resume" in client.get(address(spent)).text


def test_a_reader_sees_and_changes_nothing(browser: Browser, service: ServiceServer, store: Store) -> None:
    campaign = new_campaign(store, "to be read")
    campaign.ask()
    context = new_context(browser, service)
    page = context.new_page()
    sign_in(page, new_token(service, "reader", "read"))
    page.goto(address(campaign))
    expect(page.locator("#pending")).to_contain_text("small")
    for name in ("Pause", "Close", "Renew", "Expire"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    answer = page.goto("/new-campaign")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("main")).to_contain_text("scope admin")
    context.close()


# Looking


def test_campaigns_at_a_glance(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "spring/2027 <b>")
    play(campaign, 3)
    page.goto("/")
    row = page.get_by_role("row").filter(has_text="spring/2027 <b>")
    expect(row).to_contain_text("running")
    expect(row).to_contain_text("1,234.50")
    campaign.pause()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # sooner than in five seconds
    expect(row).to_contain_text("paused")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("spring/2027 <b>")


def test_many_campaigns_are_on_several_pages(page: Page, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    new_campaign(store, "the last but one")
    new_campaign(store, "the last")
    monkeypatch.setattr("budgetbandits.service.dashboard.contents._CAMPAIGNS", 1)
    page.goto("/")
    expect(page.get_by_role("link", name="the last", exact=True)).to_be_visible()
    page.get_by_role("link", name="Older campaigns").click()
    expect(page.locator("tbody")).to_contain_text("the last but one")
    expect(page.get_by_role("link", name="Newer campaigns")).to_be_visible()


def test_what_happens_is_shown_live(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "live")
    play(campaign, 5)
    page.goto(address(campaign))
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator(".chart canvas")).to_be_visible()
    height = page.evaluate("document.documentElement.scrollHeight")
    campaign.ask(arm=SCRIPT)
    expect(page.locator("#pending tbody tr")).to_have_count(1)
    play(campaign, 40)
    last = len(list(campaign.journal()))
    expect(page.locator("#entries tr").first).to_have_id(f"entry-{last}")
    numbers = page.locator("#entries tr").evaluate_all("rows => rows.map(row => Number(row.id.slice(6)))")
    assert numbers == list(range(last, 0, -1))  # none twice, none missed
    expect(page.locator("#money .big")).to_have_text(f"{campaign.money.left:,}")
    assert page.evaluate("document.documentElement.scrollHeight") == height


def test_an_arm_called_script_is_text(page: Page, store: Store) -> None:
    campaign = new_campaign(store, SCRIPT)
    pull = campaign.ask(arm=SCRIPT)
    assert pull
    page.goto(address(campaign))
    expect(page.locator("h1")).to_have_text(SCRIPT)
    for place in ("#arms", "#pending", "#entries"):
        expect(page.locator(place)).to_contain_text(SCRIPT)
    page.goto(f"{address(campaign)}/pulls/{pull.id}")
    expect(page.locator("h1")).to_contain_text(SCRIPT)
    page.goto("/")
    expect(page.get_by_role("link", name=SCRIPT)).to_be_visible()


def test_why_an_arm_was_chosen(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "why")
    play(campaign, 4)
    page.goto(address(campaign))
    page.get_by_role("link", name="Pull 4: why this arm").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row")).to_have_count(4)
    expect(dialog).to_contain_text("chosen")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_why_shows_exact_costs(page: Page, store: Store) -> None:
    costs = {"fine": {"usd": "0.0000000123456", "s": 1}, "random": {"usd": ["0.0000000001", "0.02"], "s": "1 to 2"}}
    campaign = new_campaign(store, "exact", costs=costs, budget={"usd": 1, "s": 60})
    pull = campaign.ask(arm="random")
    assert pull
    campaign.tell(pull, 0.5, {"usd": "0.01", "s": 1})
    campaign.ask()
    campaign.reprice("fine", {"usd": "0.5", "s": 1})
    page.goto(f"{address(campaign)}/pulls/2")
    expect(page.get_by_role("row", name="fine")).to_contain_text("0.0000000123456 usd, 1.00 s")
    random = page.get_by_role("row", name="random")
    expect(random).to_contain_text("0.0000000001 to 0.02 usd, 1.00 to 2.00 s")
    expect(random).to_contain_text("0.0100 on average")
    expect(page.locator("#why")).not_to_contain_text("…")


def test_a_long_journal_is_read_look_by_look(page: Page, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.service.dashboard.contents._READING", 0.0)  # one entry at a time
    campaign = new_campaign(store, "very long")
    play(campaign, 1)
    answer = page.goto(address(campaign))
    assert answer is not None
    assert "The journal is being read: 50.0%" in answer.text()
    expect(page.locator(".chart canvas")).to_be_visible()
    expect(page.locator("#arms")).to_contain_text("100.0%")


def test_the_journal_pages_backwards(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "long")
    play(campaign, 80)
    page.goto(address(campaign))
    older = page.get_by_role("button", name="Older entries")
    rows = page.locator("#entries tr")
    while older.is_visible():
        before = rows.count()
        older.click()
        expect(rows.nth(before)).to_be_attached()
    assert rows.evaluate_all("rows => rows.map(row => Number(row.id.slice(6)))") == list(range(160, 0, -1))


def test_what_is_being_read_stays_in_place(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "reading")
    play(campaign, 30)
    page.goto(address(campaign))
    expect(page.locator("#live")).to_have_text("Live")
    scroll = page.locator("#journal-scroll")
    scroll.evaluate("place => { place.scrollTop = 300; }")
    read = page.locator("#entry-40")
    place = read.evaluate("row => row.getBoundingClientRect().top")
    play(campaign, 3)
    expect(page.locator("#entry-66")).to_be_attached()
    assert read.evaluate("row => row.getBoundingClientRect().top") == pytest.approx(place, abs=1)
    page.get_by_role("button", name="New entries").click()
    assert scroll.evaluate("place => place.scrollTop") == 0


def test_several_resources_each_have_a_chart(page: Page, store: Store) -> None:
    campaign = new_campaign(
        store,
        "jobs",
        costs={"small": {"usd": "0.02", "gpu_s": 1}, "large": {"usd": "0.30", "gpu_s": (5, 20)}},
        budget={"usd": "10.00", "gpu_s": 1200},
        requests=200,
    )
    for _ in range(8):
        pull = campaign.ask()
        assert pull
        campaign.tell(pull, 1.0, cost={"gpu_s": 1 if pull.arm == "small" else 12})
    page.goto(address(campaign))
    expect(page.locator(".chart canvas")).to_have_count(2)
    expect(page.locator("#money")).to_contain_text("gpu_s left of 1,200")
    expect(page.locator("#forecast li")).to_have_count(3)  # both resources, and the requests
    expect(page.locator("#forecast .first")).to_contain_text("first")


def told_all(store: Store, name: str, **given: Any) -> Campaign:
    """Return a campaign that was asked until it handed out nothing more."""
    campaign = new_campaign(store, name, **given)
    while pull := campaign.ask():
        campaign.tell(pull, 0.5)
    return campaign


def test_a_campaign_that_is_over_says_why_and_forecasts_nothing(service: ServiceServer, store: Store) -> None:
    names = ("used up", "spent", "given out", "shut", "halted", "going on")
    told_all(store, "used up", requests=8)
    told_all(store, "spent", budget="0.30")
    new_campaign(store, "given out", requests=1).ask()
    new_campaign(store, "shut").close()
    new_campaign(store, "halted").pause()
    play(new_campaign(store, "going on"), 8)
    with signed_in(service, service.token) as client:
        glance = client.get("/").text
        pages = {name: client.get(f"/campaigns/{quote(name)}").text for name in names}
    shown = {name: re.findall(r'class="state (\w+)"', page) for name, page in pages.items()}
    states = {"used up": "finished", "spent": "spent", "given out": "waiting", "shut": "closed", "halted": "paused"}
    assert shown == {name: [states.get(name, "running")] for name in names}
    for name, state in states.items():
        assert f'class="state {state}"' in glance.split(f">{name}</a>")[1].split("</tr>")[0]
    assert {name for name, page in pages.items() if "Money ends" in page} == {"going on"}
    assert {name for name, page in pages.items() if "data-over" in page} == {"used up", "spent", "shut"}


def test_an_ended_campaign_is_not_running(tmp_path: Path) -> None:
    clock = HandClock()
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db", clock=clock) as store:
        ads = new_campaign(store, "rated", requests_rate="9 per day", until="2026-02-01T00:00:00Z")
        with ServiceServer(store, no_token=True) as service:
            page = httpx.get(f"{service.url}{address(ads)}").text
    assert re.findall(r'class="state (\w+)"', page) == ["ended"]


NOTE_CHARTS: Final = """
let made;
Object.defineProperty(window, "uPlot", {
  get: () => made,
  set: (given) => {
    made = new Proxy(given, { construct: (target, args) => (window.chart = new target(...args)) });
  },
});
"""


def test_the_chart_of_a_finished_campaign_ends_with_its_last_entry(window: Page, store: Store) -> None:
    campaign = told_all(store, "to the end", requests=8)
    page = window.context.new_page()
    page.add_init_script(NOTE_CHARTS)
    page.goto(address(campaign))
    expect(page.locator(".chart canvas")).to_be_visible()
    last = list(campaign.history())[-1].time
    assert page.evaluate("window.chart.data[0].at(-1)") == pytest.approx(last.timestamp(), abs=0.001)
    page.close()


# Doing


def test_verify_now(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "trusted")
    play(campaign, 3)
    page.goto(address(campaign))
    expect(page.locator("#trust")).to_contain_text("not verified")
    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("#trust .badge")).to_have_text("✓ verified")
    expect(page.locator("#trust")).to_contain_text("6 entries")
    expect(page.locator("#trust code")).to_have_text(campaign.head[:16])


def test_leases_are_renewed_and_pulls_expire(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "leased")
    campaign.ask(n=2)
    page.goto(address(campaign))
    page.get_by_role("button", name="Renew the lease of pull 1").click()
    expect(page.locator("#entries tr").first).to_contain_text("extended")
    page.get_by_role("button", name="Expire pull 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Let it expire").click()
    expect(page.locator("#pending tbody tr")).to_have_count(1)
    assert [pull.id for pull in campaign.pending] == [2]
    assert campaign.money.spent > 0


def test_keyboard_alone_creates_pauses_and_closes(page: Page, store: Store) -> None:
    page.goto("/")
    press_until(page, "New campaign")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    typed = ["keyboard only", "a", "0.10", "", None, SCRIPT, "0.05 to 0.25", "100", None, None, "20.00"]
    for text in typed:  # None: a button on the way
        page.keyboard.type(text or "")
        page.keyboard.press("Tab")
    press_until(page, "Create the campaign")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("keyboard only")
    page.wait_for_load_state()
    campaign = store.open("keyboard only")
    assert [str(row.name) for row in campaign.arms] == ["a", SCRIPT]
    press_until(page, "Pause")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()  # the focus stays where it was
    assert campaign.is_paused
    press_until(page, "Close this campaign…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Close keyboard only for good?")).to_be_visible()
    expect(page.get_by_role("button", name="Go back")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".state")).to_have_text("closed")
    assert campaign.is_closed


def test_closing_stands_apart_and_names_the_campaign(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "not by mistake")
    page.goto(address(campaign))
    close = page.get_by_role("button", name="Close this campaign")
    expect(close).to_have_class("danger")
    assert page.locator("#head").get_by_role("button").all_text_contents() == ["Pause"]
    close.click()
    dialog = page.get_by_role("dialog", name="Close not by mistake for good?")
    expect(dialog.get_by_role("button", name="Close it for good")).to_have_class("danger")
    dialog.get_by_role("button", name="Go back").click()
    expect(close).to_be_focused()
    assert not campaign.is_closed
    close.click()
    dialog.get_by_role("button", name="Close it for good").click()
    expect(close).to_be_hidden()
    expect(page.get_by_role("main")).to_be_focused()
    assert campaign.is_closed


def press_until(page: Page, label: str) -> None:
    """Press Tab until something of that name has the focus."""
    for _ in range(60):
        if page.evaluate("(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()") == label:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {label!r}")


def fill_form(page: Page, name: str, arms: dict[str, str], budget: str, root: str = "") -> None:
    page.goto(f"{root}/new-campaign")
    page.get_by_label("Name", exact=True).fill(name)
    for place, (arm, cost) in enumerate(arms.items()):
        page.get_by_label("Name of the arm").nth(place).fill(arm)
        page.get_by_label("Cost of a pull").nth(place).fill(cost)
    page.get_by_label("Budget", exact=True).fill(budget)


def test_a_form_says_what_is_wrong(page: Page, store: Store, complaints: list[str]) -> None:
    fill_form(page, "mistaken", {"a": "0.10", "b": "-2"}, "twenty")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("twenty")
    page.get_by_label("Budget", exact=True).fill("20")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("-2")
    forgive(complaints, "status of 422")
    assert "mistaken" not in [row.name for row in store.list()]


def test_a_form_takes_all_that_a_campaign_can_have(page: Page, store: Store) -> None:
    fill_form(page, "everything", {"a": "usd 0.02, gpu_s 5 to 20", "b": "usd 0.10, gpu_s 1"}, "usd 10.00, gpu_s 3600")
    page.get_by_label("At most so many pulls").nth(1).fill("7")
    page.get_by_label("Requests optional").fill("50")
    page.get_by_label("Lease").first.fill("10 minutes")
    page.get_by_label("After the lease").select_option("is given back")
    page.get_by_label("Policy", exact=True).select_option("kube")
    page.get_by_label("Parameters").fill("width = 0.5")
    page.get_by_text("More settings").click()
    page.get_by_label("Seed").fill("11")
    page.get_by_label("A request may be declined").check()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("everything")
    campaign = store.open("everything")
    assert campaign.policy == bb.kube(width=0.5)
    assert (campaign.seed, campaign.requests, campaign.skip, campaign.on_expire) == (11, 50, True, "release")
    assert (campaign.lease, list(campaign.resources)) == (timedelta(minutes=10), ["usd", "gpu_s"])


# When things go wrong


def test_a_lost_answer_can_be_asked_for_again(page: Page, store: Store, complaints: list[str]) -> None:
    campaign = new_campaign(store, "lost answers")
    page.goto(address(campaign))
    keys: list[str | None] = []

    def lose_first(route: Route) -> None:
        keys.append(route.request.header_value("Idempotency-Key"))
        if len(keys) == 1:
            route.fetch()  # it arrives, and its answer gets lost
            route.abort()
        else:
            route.continue_()

    page.route("**/pause", lose_first)
    page.get_by_role("button", name="Pause").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("cannot be reached")
    alert.get_by_role("button", name="Try again").click()
    expect(page.locator(".state")).to_have_text("paused")
    expect(alert).to_have_count(0)
    assert len(keys) == 2
    assert keys[0] == keys[1]
    forgive(complaints, "ERR_FAILED")


def test_the_stream_is_resumed_after_a_break(page: Page, store: Store, complaints: list[str]) -> None:
    campaign = new_campaign(store, "broken line")
    play(campaign, 2)
    page.goto(address(campaign))
    expect(page.locator("#live")).to_have_text("Live")
    page.context.set_offline(True)
    play(campaign, 2)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks, and finds nobody
    expect(page.locator("#live")).to_have_text(re.compile("Offline|Reconnecting"))
    page.context.set_offline(False)
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("#entries tr").first).to_have_id("entry-8")
    assert page.locator("#entries tr").count() == 8
    forgive(complaints, "ERR_INTERNET_DISCONNECTED")


def test_a_journal_that_was_replaced_by_an_older_copy_is_to_be_loaded_anew(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "restored")
    play(campaign, 2)

    def show_older(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('data-all="4"', 'data-all="3"'))

    page.goto(address(campaign))
    expect(page.locator("#live")).to_have_text("Live")
    page.route("**/campaigns/restored?after=4", show_older)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # it looks
    expect(page.get_by_role("alert")).to_contain_text("The journal was replaced by an older copy")
    expect(page.locator("#live")).to_have_text("Replaced")
    page.get_by_role("alert").get_by_role("button", name="Reload").click()
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_is_not_there_is_said_on_a_page(page: Page, complaints: list[str]) -> None:
    answer = page.goto("/campaigns/nowhere")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("main")).to_contain_text("nowhere")
    forgive(complaints, "status of 404")


# For everybody


@pytest.mark.parametrize(("scheme", "width"), [("dark", 360), ("light", 1400)])
def test_nothing_keeps_people_out(page: Page, store: Store, scheme: Literal["dark", "light"], width: int) -> None:
    name = f"axe {scheme} {width}"
    campaign = new_campaign(store, name, requests=100)
    play(campaign, 6)
    campaign.ask(n=2)
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    pages = {"/": "table", "/new-campaign": "#arm-rows input", address(campaign): ".chart canvas", "/sign-in": "#token"}
    for path, loaded in (pages | {f"{address(campaign)}/pulls/1": "#why"}).items():
        page.goto(path)
        expect(page.locator(loaded).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (
            path
        )  # nothing but tables scrolls sideways
        page.evaluate(axe)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert serious == [], json.dumps(serious, indent=1)


def test_dialogs_keep_the_focus(page: Page, store: Store) -> None:
    campaign = new_campaign(store, "focus")
    campaign.ask()
    page.goto(address(campaign))
    opener = page.get_by_role("button", name="Expire pull 1")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    for _ in range(5):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    assert len(campaign.pending) == 1


# Behind a proxy


def test_all_pages_work_behind_a_path_prefix(browser: Browser, store: Store, complaints: list[str]) -> None:
    campaign = new_campaign(store, "behind a proxy")
    play(campaign, 5)
    with ServiceServer(store, root_path="/bandits") as service, proxied(service.url, "/bandits") as url:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("request", lambda asked: None if asked.url.startswith(f"{url}/") else complaints.append(asked.url))
        page.goto(f"{url}{address(campaign)}")
        page.get_by_label("Token").fill(service.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("behind a proxy")
        assert [cookie.get("path") for cookie in context.cookies()] == ["/bandits"]
        expect(page.locator(".chart canvas")).to_be_visible()
        expect(page.locator("#live")).to_have_text("Live")
        play(campaign, 1)
        expect(page.locator("#entries tr").first).to_have_id("entry-12")  # by the stream of events
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".state")).to_have_text("paused")
        page.get_by_role("link", name="Pull 4: why this arm").first.click()
        expect(page.get_by_role("dialog").locator("#why")).to_be_visible()
        page.keyboard.press("Escape")
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        assert download.value.url.startswith(url)
        page.get_by_role("link", name="Campaigns").first.click()
        page.get_by_role("link", name="behind a proxy").click()
        page.get_by_role("link", name="New campaign").click()
        fill_form(page, "made behind a proxy", {"a": "1", "b": "1 to 2"}, "9", root=url)
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("made behind a proxy")
        page.wait_for_load_state()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.url == f"{url}/sign-in"
        assert context.cookies() == []
        context.close()


# Without a browser


def test_what_a_browser_loads_is_small_and_ours() -> None:
    files = [path for path in (FOLDER / "static").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 150_000
    assert "MIT" in (FOLDER / "static" / "uPlot.LICENSE.txt").read_text("utf-8")
    for path in [*files, *(FOLDER / "templates").iterdir()]:
        text = path.read_text("utf-8")
        addresses = set(re.findall(r"https?://[\w./-]+", text)) - {"http://www.w3.org/2000/svg"}
        assert all("uPlot" in each for each in addresses), (path, addresses)  # where it comes from
        if path.suffix == ".html":
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), path


BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def standings(*pulls: int) -> list[Standing]:
    """Return how a campaign stood day by day, with pulls that cost 2 each."""
    return [Standing(BEGIN + timedelta(days=day), count, {"": 2.0 * count}) for day, count in enumerate(pulls)]


def test_forecasts_follow_the_last_pulls() -> None:
    steady = ends(standings(0, 10, 20, 30, 40), BEGIN + timedelta(days=4), {"": 40.0})
    assert [end.time for end in steady] == [BEGIN + timedelta(days=6)]
    idle = ends(standings(0, 10, 20, 30, 40), BEGIN + timedelta(days=8), {"": 40.0})  # four days without a pull
    assert idle[0].time == BEGIN + timedelta(days=18)
    assert ends(standings(0, 1, 2), BEGIN + timedelta(days=2), {"": 40.0}) == []  # too few pulls
    assert ends([], BEGIN, {"": 40.0}) == []
    assert ends(standings(0, 10, 20), BEGIN + timedelta(days=2), {"": 0.0}) == []  # it has ended
    both = ends(standings(0, 10, 20), BEGIN + timedelta(days=2), {"": 40.0}, 10, BEGIN + timedelta(days=30))
    assert [end.what for end in both] == ["requests", "money", "time"]


def test_what_cannot_be_forecast_is_said() -> None:
    money = {"budget": "10", "spent": "0", "reserved": "0", "left": "10", "overrun": "0"}
    shown: dict[str, Any] = {"money": money, "resources": {}, "requests_left": None, "requests_rate": None}
    begun = Point(0, 0, (10,), (0,), (0,), 0, 0.0)
    for state, said in (
        ("running", "Too little has been spent"),
        ("paused", "It is paused"),
        ("waiting", "outstanding pull"),
        ("finished", "All requests were handed out"),
        ("spent", "The money left pays for no arm"),
        ("ended", "Its end has come"),
        ("closed", "It is closed"),
    ):
        forecast = forecast_of(shown, state, [begun], BEGIN)
        assert forecast["ends"] == []
        assert said in forecast["silence"]
