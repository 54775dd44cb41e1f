"""The application in a real browser."""

from __future__ import annotations

from localized_patients import usual

from epilens.report.patient.page import write_report
from epilens.review.pages import make_view

SPY = """<!doctype html><title>waits</title><script>
(async () => {
  const found = [];
  const tries = ['./', 'sub-Usual.html', '../', 'static/app.css'];
  for (const place of tries) {
    try { found.push((await (await fetch(place)).text()).length); } catch { found.push('blocked'); }
    try {
      const frame = document.createElement('iframe');
      frame.src = place; document.body.append(frame);
      await new Promise((done) => { frame.onload = done; setTimeout(done, 1500); });
      found.push(frame.contentDocument ? 'read' : 'blocked');
    } catch { found.push('blocked'); }
  }
  try { localStorage.setItem('a', 'b'); found.push('kept'); } catch { found.push('blocked'); }
  document.title = found.join(' ');
})();
</script><body></body>"""


def test_a_page_from_elsewhere_cannot_read_its_neighbours(browser, tmp_path):
    write_report(usual(), tmp_path / "out")
    (tmp_path / "out" / "sub-Spy.html").write_text(SPY)
    with make_view(tmp_path / "out") as server:
        page = browser.new_page()
        page.set_default_timeout(600_000)
        page.goto(server.url + "sub-Spy.html")
        page.wait_for_function("() => document.title !== 'waits'")
        assert set(page.title().split()) == {"blocked"}
        page.close()


def test_a_localized_page_works_in_its_own_origin(browser, tmp_path):
    write_report(usual(), tmp_path / "out")
    with make_view(tmp_path / "out") as server:
        page = browser.new_page()
        page.set_default_timeout(600_000)
        problems = []
        page.on("console", lambda m: problems.append(m.text))
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.goto(server.url)
        page.get_by_text("sub-Usual").click()
        page.wait_for_selector("html[data-ready]")
        page.locator("#ranking tbody tr").nth(2).click()
        with page.expect_download() as download:
            page.locator("#export").click()
        assert download.value.suggested_filename == "sub-Usual_contacts.tsv"
        assert problems == []
        page.close()
