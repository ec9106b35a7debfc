"""Pages in a real browser: headless Chromium, where it is installed."""

import json
import shutil

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip


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


def resize(browser, width, height=900):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def set_theme(browser, theme):
    """Let the system prefer ``light`` or ``dark`` pages; None: neither."""
    features = [{"name": "prefers-color-scheme", "value": theme}] if theme else []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


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
