"""A browser without a window, for the tests of pages."""

from __future__ import annotations

import shutil

import pytest

try:
    import selenium.webdriver as selenium
except ImportError:
    selenium = None


@pytest.fixture(scope="session")
def browser():
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None or selenium is None:
        pytest.skip("needs chromium, chromium-driver and pip install 'jaxvjp[test]'")
    options = selenium.ChromeOptions()
    options.binary_location = binary
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1300,1000"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture
def schemes(browser):
    """Shows the page that is open in a width, in light and in dark."""

    def shown(width):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 700}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for scheme in ("light", "dark"):
            emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
            yield browser

    yield shown
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
