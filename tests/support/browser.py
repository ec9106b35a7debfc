"""Pages in a real browser: headless Chromium, where it is installed.

A machine with other work to do may take seconds to lay out a page or to handle a click. Hence
every function here returns when the page has reached the state that it names, and tests read what a
click changes through `wait_for` or `wait_until_equal`.
"""

import json
import shutil

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
TIMEOUT = 120  # seconds, for one state of a page


def start_browser(profile):
    """Return a driver with its profile in a folder; skip the test where there is no browser."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def open_page(browser, url, ready, *, theme=None):
    """Open a page in a wide window, with empty logs, and wait until its script has run.

    Parameters
    ----------
    ready : str
        A JavaScript expression that is true when the page's own script has run.
    theme : {"light", "dark"}, optional
        What the system prefers.
    """
    _load(browser, "about:blank", "true")  # the state of an earlier page cannot pass for this one's
    _set_theme(browser, theme)
    resize(browser, 1280)
    for log in ("browser", "performance"):
        browser.get_log(log)
    _load(browser, url, ready)


def _load(browser, url, ready):
    browser.get(url)
    wait_for(
        browser,
        "const here = location.href.replace(/[/]$/, '');"
        "return here === arguments[0].replace(/[/]$/, '')"
        f" && document.readyState === 'complete' && ({ready})",
        url,
    )


def wait_for(browser, code, *arguments):
    """Return the first true value of a script."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    # A document that is being replaced cannot run scripts.
    wait = WebDriverWait(browser, TIMEOUT, 0.05, ignored_exceptions=[WebDriverException])
    return wait.until(lambda page: js(page, code, *arguments), f"never true: {code}")


def wait_until_equal(browser, read, expected):
    """Wait until a function without arguments returns a value, and fail with what it returns."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    try:
        WebDriverWait(browser, TIMEOUT, 0.05).until(lambda _: read() == expected)
    except TimeoutException:
        assert read() == expected


def resize(browser, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wait_for(browser, "return matchMedia(`(width: ${arguments[0]}px)`).matches", width)


def _set_theme(browser, theme):
    features = [{"name": "prefers-color-scheme", "value": theme}] if theme else []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    query = f"(prefers-color-scheme: {theme or 'light'})"
    wait_for(browser, "return matchMedia(arguments[0]).matches", query)


def js(browser, code, *arguments):
    return browser.execute_script(code, *arguments)


def requested_urls(browser, origin):
    """Return what pages from `origin` requested since the log was last read.

    Requests of the browser's own pages are left out.
    """
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
        and message["params"]["documentURL"].startswith(origin)
    ]


def too_wide(browser):
    """Return what reaches over the right edge of the window, outside of what scrolls."""
    return js(
        browser,
        "return [...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll *, .skip')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))",
    )
