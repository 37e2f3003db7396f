#!/usr/bin/env python3
"""Opens the page of `octet report` in headless Chromium and looks at it: every plot has pixels of every run's colour, the
restart is drawn, texts are texts, no script failed and nothing was fetched.

Usage: tests/checks/report_page.py OCTET [--keep FILE]      OCTET: the program; FILE: where the page stays to be looked at
       tests/checks/report_page.py --find                   prints the browser
Exit 0 when all is as it should be, 1 with a line a problem or where there is no Chromium.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report_runs  # noqa: E402

PLOTS = ["loss", "loss_difference", "grad_norm", "throughput", "mfu", "tflops", "lr", "step_time", "data_time", "memory", "non_finite"]
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]

# First in the page: notes what goes wrong.
WATCH = """<script>
window.troubles = [];
window.addEventListener('error', e => troubles.push('error: ' + (e.message || 'cannot load ' + (e.target.src || e.target.href))), true);
window.addEventListener('unhandledrejection', e => troubles.push('rejection: ' + e.reason));
document.addEventListener('securitypolicyviolation', e => troubles.push('fetch refused: ' + e.blockedURI));
window.alert = text => troubles.push('alert: ' + text);
</script>"""

# Last in the page: shows every run alone and counts pixels of its colour in each plot, then writes what it found.
LOOK = """<pre id="found"></pre><script>
addEventListener('load', () => setTimeout(() => {
  const boxes = [...document.querySelectorAll('#runs input')];
  const rgb = run => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = `var(--run-${run})`;
    const numbers = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    return numbers;
  };
  const count = (canvas, [r, g, b], top) => {
    const at = canvas.getContext('2d').getImageData(0, 0, canvas.width, top ? 2 : canvas.height).data;
    let n = 0;
    for (let i = 0; i < at.length; i += 4) {
      n += at[i + 3] > 100 && Math.abs(at[i] - r) + Math.abs(at[i + 1] - g) + Math.abs(at[i + 2] - b) < 40;
    }
    return n;
  };
  // The top two rows have room for a restart's triangle and no curve. All canvases of a plot: dygraphs has one for the lines and one for what the mouse points at.
  const pixels = (plot, run, top) =>
      [...plot.querySelectorAll('canvas')].reduce((n, canvas) => n + count(canvas, rgb(run), top), 0);
  const found = {plots: {}, alone: {}, hidden: {}, restart: {}};
  const plots = [...document.querySelectorAll('.plot')];
  for (const plot of plots) found.plots[plot.id] = [plot.clientWidth, plot.clientHeight];
  // The mouse over the first plot, at step 100 of 300: all plots say what their runs had there. Then it draws a zoom.
  const top = [...plots[0].querySelectorAll('canvas')].pop(), frame = top.getBoundingClientRect();
  const mouse = (name, x) => top.dispatchEvent(new MouseEvent(name, {
    bubbles: true, view: window, clientX: frame.left + 58 + x * (frame.width - 58), clientY: frame.top + 60}));
  mouse('mousemove', 1 / 3);
  found.readouts = [...document.querySelectorAll('.readout')].map(readout => readout.innerText);
  found.zoomed = ['mousedown', 'mousemove', 'mouseup'].map((name, i) => {
    mouse(name, i ? 0.6 : 0.3);
    return !document.getElementById('reset').hidden;
  });
  document.getElementById('reset').click();
  found.zoomed.push(!document.getElementById('reset').hidden);
  found.together = plots.filter(plot => plot.id === 'plot-loss').map(plot => boxes.map((_, run) => pixels(plot, run, false)))[0];
  boxes.forEach((box, run) => {
    boxes.forEach(other => { if (other.checked !== (other === box)) other.click(); });
    for (const plot of plots) {
      (found.alone[plot.id] ||= []).push(pixels(plot, run, false));
      (found.hidden[plot.id] ||= []).push(boxes.reduce((n, _, i) => i === run ? n : n + pixels(plot, i, false), 0));
      (found.restart[plot.id] ||= []).push(pixels(plot, run, true));
    }
  });
  boxes.forEach(box => { if (!box.checked) box.click(); });
  for (const choice of document.querySelectorAll('figcaption input')) choice.click();  // logarithmic
  found.logarithmic = plots.filter(plot => plot.parentNode.querySelector('figcaption input')).map(
      plot => [plot.id, pixels(plot, 0, false)]);
  found.live = document.querySelectorAll('header .live').length;
  found.summary = document.getElementById('summary').innerText;
  found.differences = document.getElementById('differences').innerText;
  found.bars = document.querySelectorAll('.bar').length;
  found.segments = [...document.querySelectorAll('.bar')].map(bar => [...bar.children].map(part => part.clientWidth));
  found.kernels = document.querySelectorAll('.kernels tbody tr').length;
  found.fetched = performance.getEntriesByType('resource').map(entry => entry.name);
  found.images = document.images.length;
  found.tables_sideways = [...document.querySelectorAll('#summary .scroll, #differences .scroll')].some(
      box => box.scrollWidth > box.clientWidth);
  found.names_at_values = [...document.querySelectorAll('#summary .of')].filter(name => name.clientWidth > 0).length;
  found.sideways = document.documentElement.scrollWidth > innerWidth;
  found.troubles = troubles;
  document.getElementById('found').textContent = JSON.stringify(found);
}, 200));
</script>"""


def browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def open_page(program, page, width):
    """What LOOK found, or a text that says why it did not run."""
    with tempfile.TemporaryDirectory() as profile:
        result = subprocess.run(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
             f"--user-data-dir={profile}", f"--window-size={width},900", "--force-device-scale-factor=1",
             "--virtual-time-budget=5000", "--dump-dom", "file://" + os.path.abspath(page)],
            capture_output=True, text=True, timeout=150, check=False)
    match = re.search(r'<pre id="found">(\{.*?\})</pre>', result.stdout, re.DOTALL)
    if not match:
        return f"the page was not looked at: exit code {result.returncode}\n{result.stderr[-2000:]}"
    text = match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


def check_plots(found):
    """The page's runs are report_runs.make_runs: four, of which the first was restarted and two have a profile."""
    if list(found["plots"]) != [f"plot-{name}" for name in PLOTS]:
        yield f"plots {list(found['plots'])}, expected {PLOTS}"
    for plot, counts in found["alone"].items():
        for run, pixels in enumerate(counts):
            if plot == "plot-loss_difference" and run == 0:
                continue  # the others' losses minus that of this one
            if pixels < 100:
                yield f"{plot}: {pixels} pixels in the colour of run {run}, expected at least 100"
            if found["hidden"][plot][run] > 0:
                yield f"{plot}: runs that are not shown have {found['hidden'][plot][run]} pixels beside run {run}"
        top = found["restart"][plot]
        if top[0] < 10:
            yield f"{plot}: the restart of run 0 has no triangle at the top ({top[0]} pixels)"
    if len(found["logarithmic"]) != 5:
        yield f"{len(found['logarithmic'])} plots can be logarithmic, expected 5"
    for plot, pixels in found["logarithmic"]:
        if pixels < 100:
            yield f"{plot}: {pixels} pixels of run 0 with logarithmic axes, expected at least 100"
    for plot, (width, height) in found["plots"].items():
        if width < 300 or height < 200:
            yield f"{plot}: {width} x {height} pixels"


def check_mouse(found):
    if len(found["readouts"]) != len(PLOTS):
        yield f"{len(found['readouts'])} plots can be read"
    for name, text in zip(PLOTS, found["readouts"]):
        if name == "loss_difference" and text.count("±") != 3:
            yield f"{name}: under the mouse stands \"{text}\", expected three values with their noise"
        if not re.search(r"step (9\d|10\d)\b", text) or len(re.findall(r"[\d.]+", text)) < 5:
            yield f"{name}: under the mouse stands \"{text}\", expected a step near 100 and values of four runs"
    if found["zoomed"] != [False, False, True, False]:
        yield f"zoomed while the mouse is pressed, moved, let go, and the button is pressed: {found['zoomed']}"


def check_rest(found):
    for trouble in found["troubles"]:
        yield trouble
    for name in found["fetched"]:
        yield f"fetched {name}"
    expected = {"live": 1, "bars": 8, "kernels": 80, "images": 0, "sideways": False}
    for key, value in expected.items():
        if found[key] != value:
            yield f"{key}: {found[key]}, expected {value}"
    for widths in found["segments"]:
        if len(widths) != 6 or min(widths) < 3:
            yield f"a bar of time by kind has parts of {widths} pixels, expected six that can be seen"
    for text in ["failed, exit code 77", "onerror=alert(1)", "1; 7 logged steps done again", "150 of 300", "float8, tensorwise", "40.8 %"]:
        if text not in found["summary"]:
            yield f"the table of runs has no \"{text}\""
    for text in ["precision", "optimizer.lr"]:
        if text not in found["differences"]:
            yield f"the options that differ have no \"{text}\""
    if "train.seq_len" in found["differences"]:
        yield "train.seq_len is the same in all runs and stands in the options that differ"


def check_phone(found):
    """The tables of runs are read from top to bottom, and say whose each value is."""
    if found["tables_sideways"] or found["sideways"]:
        yield f"tables scroll sideways: {found['tables_sideways']}, the page: {found['sideways']}"
    if found["names_at_values"] < 20:
        yield f"{found['names_at_values']} values have the name of their run beside them"


def check_twins(found):
    """Two runs with the same losses: each colour is seen."""
    if min(found["together"]) < 300:
        yield f"of two curves that lie on each other {found['together']} pixels are seen, expected at least 300 of each"


def watched_page(octet, runs, page, folder):
    """The report of the runs, and its copy that looks at itself."""
    subprocess.run([octet, "report", *runs, "--output", page], check=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    watched = os.path.join(folder, os.path.basename(page) + ".watched.html")
    with open(watched, "w", encoding="utf-8") as file:
        file.write(text.replace("<title>", WATCH + "<title>", 1).replace("</body>", LOOK + "</body>", 1))
    return watched


def look(program, octet, folder, keep):
    page = keep or os.path.join(folder, "report.html")
    watched = watched_page(octet, report_runs.make_runs(folder), page, folder)
    with open(page, encoding="utf-8") as file:
        if re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", file.read()):
            yield "the page names another one"
    for width in (390, 1200, 1440):
        found = open_page(program, watched, width)
        if isinstance(found, str):
            yield found
            return
        if width < 700:
            yield from (f"{width} pixels wide: {problem}" for problem in check_phone(found))
            continue
        yield from (f"{width} pixels wide: {problem}" for problem in [*check_plots(found), *check_mouse(found), *check_rest(found)])
    twins = watched_page(octet, report_runs.make_twins(folder), os.path.join(folder, "twins.html"), folder)
    found = open_page(program, twins, 1200)
    yield from [found] if isinstance(found, str) else check_twins(found)


def main():
    program = browser()
    if not program:
        sys.exit("report_page.py: no Chromium (Debian: chromium-headless-shell)")
    octet = sys.argv[1]
    if octet == "--find":
        print(program)
        return
    keep = sys.argv[3] if sys.argv[2:3] == ["--keep"] else None
    with tempfile.TemporaryDirectory() as folder:
        problems = list(look(program, octet, folder, keep))
    print("\n".join(problems) if problems else f"report: {len(PLOTS)} plots are there")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
