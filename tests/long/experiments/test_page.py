import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.page import write_page
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.support.run_folders import folder, row, steps

pytestmark = pytest.mark.needs("Chromium")
widths = pytest.mark.parametrize("width", [400, 1400])


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work as root, nor in most containers.
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def opened(browser):
    """Open a file. Requests, errors, messages and dialogs of the page fail the test."""
    contexts, trouble = [], []

    def open_page(file, width=1400, part=""):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        tab = context.new_page()
        tab.on("request", lambda request: request.url.startswith("file:") or trouble.append(request.url))
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("console", lambda message: trouble.append(message.text))
        tab.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        tab.goto(file.as_uri() + part)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, "no horizontal scrolling"
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Write the page of two runs of the demo model."""
    home = tmp_path_factory.mktemp("runs")
    for strategy in ("retry", "reflexion"):
        run(RunSettings(environment="alfworld", limit=6, max_trials=4, strategy=strategy), home / strategy)
    file = home / "page.html"
    write_page(compare([home / "retry", home / "reflexion"]), file)
    return file


def names(tab):
    return tab.locator("#list tbody tr:visible .open").all_inner_texts()


def focused(tab):
    return str(tab.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"))


def only_b_solved(tab):
    """Choose the tasks that only reflexion solved; return the first."""
    tab.select_option("#tag", "only B solved")
    return names(tab)[0]


def test_tasks_are_found_and_sorted_with_the_keyboard(real, opened):
    tab = opened(real, 400)
    everything = names(tab)
    assert len(everything) == 6
    # Find in goals and in contents.
    tab.keyboard.press("/")
    tab.keyboard.type("fridge")
    kitchens = [name for name in everything if "kitchen" in name]
    assert names(tab) == kitchens
    assert 0 < len(kitchens) < 6
    assert tab.inner_text("#count") == f"{len(kitchens)} of 6 tasks"
    tab.keyboard.type(' "go to fridge" watch')
    assert names(tab) == []
    tab.keyboard.press("ControlOrMeta+a")
    tab.keyboard.press("Delete")
    tab.select_option("#tag", "solved by some")
    retry = tab.locator("#list tbody tr:visible td:nth-child(2)").all_inner_texts()
    assert 0 < len(retry) < 6
    assert all(text.startswith("✗") for text in retry)
    tab.select_option("#tag", "")
    # Sort by the trial in which reflexion solved a task, and reverse.
    ranks = "[...document.querySelectorAll('#list tbody tr')].map(row => Number(row.cells[3].dataset.key))"
    tab.locator("#list thead button", has_text="B").click()
    up = tab.evaluate(ranks)
    tab.keyboard.press("Enter")
    assert up == sorted(up)
    assert tab.evaluate(ranks) == sorted(up, reverse=True)
    assert tab.locator("#list th[aria-sort]").get_attribute("aria-sort") == "descending"


@widths
def test_trials_of_a_task_are_read_with_the_keyboard(real, opened, width):
    tab = opened(real, width)
    # The task with most trials of reflexion first.
    tab.locator("#list thead button", has_text="B").click()
    tab.keyboard.press("Enter")
    tab.locator("#words").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    expect(tab.locator("#name")).to_have_text(names(tab)[0])
    tab.keyboard.press("r")
    assert tab.locator("#runs [aria-pressed=true]").inner_text() == "B reflexion"
    articles = tab.locator("#trials article")
    trials = articles.count()
    assert trials > 1, "something was learned"
    for number in range(1, trials + 1):
        assert focused(tab) == f"Trial {number}"
        box = articles.nth(number - 1).bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width, "fully visible"
        tab.keyboard.press("ArrowRight")
    assert focused(tab) == f"Trial {trials}"
    assert "verdict: accepted · truth: solved" in articles.last.inner_text()
    assert articles.last.locator("li.differs").count() == 1
    assert f"first difference from trial {trials - 1}" in articles.last.locator("li.differs").inner_text()
    tab.keyboard.press("Home")
    first = articles.first
    assert "verdict: not accepted · truth: not solved" in first.inner_text()
    lesson = first.locator(".lesson").inner_text()
    remembered = articles.nth(1).locator("details", has_text="In the prompt: reflections on trial 1")
    remembered.locator("summary").press("Enter")
    assert lesson in remembered.inner_text()
    goal = tab.inner_text("#goal")
    for prompt in ("step 1", "the reflection"):
        details = first.locator("details", has=tab.locator("summary", has_text=f"Prompt for {prompt}"))
        details.locator("summary").press("Enter")
        expect(details).to_contain_text(goal)
    # The next task, and back to the table.
    tab.keyboard.press("n")
    expect(tab.locator("#name")).to_have_text(names(tab)[1])
    tab.keyboard.press("Escape")
    expect(tab.locator("dialog")).not_to_be_visible()
    # The browser moves the focus first, and the page moves it on.
    expect(tab.locator(":focus")).to_have_text(names(tab)[1])


def test_a_permalink_names_run_trial_and_step(real, opened):
    tab = opened(real)
    name = only_b_solved(tab)
    tab.locator("#list .open:visible").first.click()
    tab.keyboard.press("r")
    trial, differs = tab.locator("#trials article").count(), tab.locator("#trials article li.differs").last
    step = differs.get_attribute("data-step")
    differs.locator("a.number").click()
    expect(tab.locator("#trials li.asked")).to_have_count(1)
    address = tab.url
    assert {"run=B", f"trial={trial}", f"step={step}"} < set(address.partition("#")[2].split("&"))

    again = opened(real)
    again.evaluate("address => { location.href = address; }", address)  # a link within the open page
    expect(again.locator("#name")).to_have_text(name)
    assert focused(again) == f"Trial {trial}"
    assert again.locator("#trials li.asked").get_attribute("data-step") == step
    again.go_back()
    expect(again.locator("dialog")).not_to_be_visible()
    again.goto(address)
    again.reload()
    expect(again.locator("#name")).to_have_text(name)
    assert again.url == address


def test_the_address_keeps_what_is_searched_for_and_shown(real, opened):
    tab = opened(real)
    assert "#" not in tab.url
    only_b_solved(tab)
    tab.fill("#words", '"go to" fridge')
    found = names(tab)
    assert 0 < len(found) < 6
    address = tab.url
    assert address.partition("#")[2] == "find=%22go+to%22+fridge&show=only+B+solved"

    # Opened by somebody else.
    again = opened(real, part=f"#{address.partition('#')[2]}")
    assert names(again) == found
    assert again.input_value("#words") == '"go to" fridge'
    assert again.input_value("#tag") == "only B solved"
    expect(again.locator("#tasks h2")).to_be_in_viewport()
    # A link to a task keeps it, and closing the task leads back to it.
    again.locator("#list .open:visible").first.click()
    assert again.url.startswith(f"{address}&task=")
    again.reload()
    expect(again.locator("#name")).to_have_text(found[0])
    again.keyboard.press("Escape")
    expect(again.locator("dialog")).not_to_be_visible()
    assert again.url == address
    # So does a link to a part of the page.
    again.locator("nav a", has_text="Tables").click()
    assert names(again) == found
    again.go_back()
    assert names(again) == found
    again.fill("#words", "")
    again.select_option("#tag", "")
    assert again.url.partition("#")[2] == "tasks"


def test_what_an_address_asks_for_and_the_page_lacks_filters_nothing(real, opened):
    tab = opened(real)
    tab.evaluate("location.href = '#show=only+Z+solved&task=none'")
    expect(tab.locator("#count")).to_have_text("6 of 6 tasks")
    assert tab.input_value("#tag") == ""
    expect(tab.locator("dialog")).not_to_be_visible()


@widths
def test_a_single_trial_is_as_wide_as_the_window(real, opened, width):
    tab = opened(real, width)
    tab.select_option("#tag", "solved by all")
    tab.locator("#list .open:visible").first.click()
    [article] = tab.locator("#trials article").all()
    assert article.bounding_box()["width"] > 0.9 * width
    step = article.locator("li").first
    action, seen = step.locator(".action").bounding_box(), step.locator(".observation").bounding_box()
    beside = seen["x"] >= action["x"] + action["width"]
    assert beside == (width == 1400), "the observation is beside its action where there is room"


def test_a_page_says_what_was_played_and_by_which_program(real, opened):
    tab = opened(real)
    assert tab.title() == "alfworld generated-134: A retry, B reflexion · langgraph-reflexion"
    assert tab.inner_text("h1") == "alfworld generated-134: A retry, B reflexion"


@widths
def test_two_runs_of_a_task_side_by_side(real, opened, width):
    tab = opened(real, width)
    only_b_solved(tab)
    tab.locator("#list .open:visible").first.click()
    tab.keyboard.press("b")
    labels = [each.get_attribute("aria-label") for each in tab.locator("#trials article").all()]
    assert labels[:4] == ["A: trial 1", "B: trial 1", "A: trial 2", "B: trial 2"]
    assert len(labels) > 5, "A has all its trials"
    for label in labels[:4]:
        assert focused(tab) == label
        tab.keyboard.press("ArrowRight")
    solved = tab.locator("#trials article", has_text="truth: solved")
    assert str(solved.get_attribute("aria-label")).startswith("B: ")
    assert "first difference from A" in solved.inner_text()
    assert "beside=" in tab.url
    tab.reload()
    expect(tab.locator("#trials article")).to_have_count(len(labels))
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_map_and_figures_say_what_is_under_the_pointer(real, opened):
    tab = opened(real)
    tab.locator("figure [id='success_by_trial-points-1'] use").nth(1).hover()
    assert tab.locator("#tip").inner_text().startswith("B reflexion, trial 2: ")
    name = only_b_solved(tab)
    retry = tab.locator("#map svg").first
    retry.hover(position={"x": 3, "y": 13})  # the first task, the second trial
    text = tab.locator("#tip").inner_text()
    for shown in (name, tab.locator("#list .goal:visible").first.inner_text(), "trial 2: verdict: not accepted"):
        assert shown in text
    retry.click(position={"x": 3, "y": 13})
    expect(tab.locator("#name")).to_have_text(name)
    assert focused(tab) == "Trial 2"


def test_where_nobody_knows_the_truth_the_map_shows_verdicts(tmp_path, opened):
    unknown = {"success": None}
    trials = [row("a", 1, True) | unknown, row("b", 1, False) | unknown, row("b", 2, True) | unknown]
    made = folder(tmp_path / "run", trials, ["a", "b"])
    file = tmp_path / "page.html"
    write_page(compare([made]), file)
    kinds = opened(file).locator("#map path").evaluate_all("paths => paths.map(path => path.getAttribute('class'))")
    assert sorted(kinds) == ["done", "failed", "solved"]


HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--<script>"
    "\x00\x1b[31m\x07\u202e\u2028\ud800 {{ 7 * 7 }} "
)


@widths
def test_hostile_text_does_no_harm(tmp_path, opened, width):
    task, huge = f"a{HOSTILE.encode('utf-8', 'replace').decode()}", HOSTILE + "x" * 1_000_000
    made = folder(
        tmp_path / "<img src=x onerror=alert(3)>",
        [row(task, 1, False, reflection=HOSTILE, notes=[HOSTILE], stop_reason=HOSTILE), row(task, 2, True)],
        [task],
        goals={task: HOSTILE},
        trajectories=[
            steps(task, n, (HOSTILE, say, huge), observation=HOSTILE) for n, say in ((1, HOSTILE), (2, "go"))
        ],
        model=f"openai:{task}",
        options={"x": task},
    )
    file = tmp_path / "page.html"
    write_page(compare([made]), file)
    tab = opened(file, width)
    assert tab.locator("#list .goal").inner_text().startswith("</script><script>alert(1)")
    tab.locator("figure [id='failures_by_trial-points-0'] use").first.hover()
    assert tab.locator("#tip").inner_text().startswith("</script><script>alert(1)")
    tab.locator("#map svg").hover(position={"x": 3, "y": 3})
    assert "onerror=alert(2)" in tab.locator("#tip").inner_text()
    tab.fill("#words", "<img src=x onerror=alert(2)>")
    tab.locator("#list .open").click()
    assert tab.locator("#trials article").count() == 2
    tab.reload()  # the address names the task
    assert tab.locator("#trials article").count() == 2
    assert tab.locator("img").count() == 0
    seen = tab.locator("#trials li .observation").first.inner_text()
    assert seen.startswith("</script><script>alert(1)</script><img src=x onerror=alert(2)><!--<script>␀␛[31m␇\\u202e")
    assert "{{ 7 * 7 }}" in seen
    assert len(seen) < 2000
    tab.locator("button", has_text="show all 1,000,").first.click()
    assert len(tab.locator("#trials li .observation").first.inner_text()) > 1_000_000
    assert tab.locator("#trials article").first.bounding_box()["width"] <= width
