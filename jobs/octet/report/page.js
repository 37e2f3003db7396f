// Builds the page from its data (src/report/page.cpp writes them). Texts go in as text, never as HTML.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const colors = 7;
  const dashes = [null, [8, 4], [2, 3]];
  const number = new Intl.NumberFormat('en', {maximumSignificantDigits: 5});
  const whole = new Intl.NumberFormat('en', {maximumFractionDigits: 0});  // steps and counts
  const seconds = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});
  const visible = data.runs.map(() => true);
  const charts = [];

  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colorOf = run => css(`--run-${run % colors}`);
  const dashOf = run => Math.floor(run / colors) % dashes.length;

  function element(name, attributes = {}, ...children) {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  }
  const swatch = run => element('span', {class: `swatch dash-${dashOf(run)}`, style: `--color: var(--run-${run % colors})`});

  function runName(run) {
    const label = element('span', {class: 'run'}, swatch(run), data.runs[run].name);
    if (data.runs[run].running) label.append(element('span', {class: 'live'}, 'running'));
    return label;
  }

  // --- tables ---

  function table(rows, corner) {
    const head = element('tr', {}, element('th', {scope: 'col'}, corner));
    data.runs.forEach((_, run) => head.append(element('th', {scope: 'col'}, runName(run))));
    const body = element('tbody');
    for (const row of rows) {
      const line = element('tr', {}, element('th', {scope: 'row'}, row.label));
      row.values.forEach((value, run) => {
        const name = element('span', {class: 'of'}, runName(run));  // on narrow pages, which have no columns
        line.append(element('td', value === '–' ? {class: 'nothing'} : {}, name, element('span', {}, value)));
      });
      body.append(line);
    }
    return element('div', {class: 'scroll'}, element('table', {class: 'facts'}, element('thead', {}, head), body));
  }

  // --- plots ---

  // The number of a line at the logged step nearest to x, as {step, value, error}.
  function nearest(line, x) {
    let low = 0, high = line.steps.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      line.steps[middle] < x ? low = middle + 1 : high = middle;
    }
    if (low > 0 && x - line.steps[low - 1] < line.steps[low] - x) --low;
    return {step: line.steps[low], value: line.values[low], error: line.errors ? 2 * line.errors[low] : null};
  }

  // dygraphs wants one row a step. A line that has no point there is joined across (null); a value that was not finite,
  // or has no logarithm, is a gap (NaN).
  function rowsOf(plot, logarithmic) {
    const rows = new Map();
    plot.lines.forEach((line, column) => line.steps.forEach((step, i) => {
      if (!rows.has(step)) rows.set(step, [step, ...plot.lines.map(() => null)]);
      const value = line.values[i];
      const drawn = value === null || (logarithmic && value <= 0) ? NaN : value;
      rows.get(step)[column + 1] = line.errors ? [drawn, 2 * line.errors[i]] : drawn;
    }));
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  }

  function drawRing(graph, name, context, x, y, color, size) {
    context.beginPath();
    context.fillStyle = css('--back');
    context.strokeStyle = color;
    context.lineWidth = 1.8;
    context.setLineDash([]);
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  // A dashed line with a triangle at each step at which a run was restarted.
  function drawRestarts(context, area, graph) {
    data.runs.forEach((run, index) => {
      if (!visible[index]) return;
      context.strokeStyle = context.fillStyle = colorOf(index);
      for (const step of run.restarts) {
        const x = graph.toDomXCoord(step);
        if (x < area.x || x > area.x + area.w) continue;
        context.save();
        context.globalAlpha = 0.75;
        context.setLineDash([3, 4]);
        context.beginPath();
        context.moveTo(x, area.y);
        context.lineTo(x, area.y + area.h);
        context.stroke();
        context.beginPath();
        context.moveTo(x - 5, area.y);
        context.lineTo(x + 5, area.y);
        context.lineTo(x, area.y + 8);
        context.fill();
        context.restore();
      }
    });
  }

  function readOut(chart, x) {
    chart.readout.replaceChildren();
    if (x === null) return;
    chart.readout.append(`step ${whole.format(x)}`);
    for (const line of chart.plot.lines) {
      if (!visible[line.run] || x < line.steps[0] || x > line.steps[line.steps.length - 1]) continue;
      const {step, value, error} = nearest(line, x);
      const where = step === x ? '' : ` (at ${step})`;
      const noise = error === null ? '' : ` ± ${seconds.format(error)}`;
      const what = value === null ? 'not finite' : number.format(value) + noise;
      chart.readout.append(element('span', {class: 'run', title: data.runs[line.run].name}, swatch(line.run),
                                   (line.name ? line.name + ' ' : '') + what + where));
    }
  }

  // Later runs are drawn over earlier ones, whose lines are wider: of curves that lie on each other all are seen.
  const widthOf = run => 1.4 + Math.min(1.2, 3.6 / Math.max(1, data.runs.length - 1)) * (data.runs.length - 1 - run);

  const looks = plot => ({
    colors: plot.lines.map(line => colorOf(line.run)),
    gridLineColor: css('--grid'),
    axisLineColor: css('--line'),
  });

  function chartOf(plot) {
    const readout = element('div', {class: 'readout'});
    const place = element('div', {class: 'plot', id: `plot-${plot.id}`});
    const caption = element('figcaption', {}, element('h3', {}, plot.title), element('span', {class: 'unit'}, plot.unit));
    const figure = element('figure', plot.id === 'loss' ? {class: 'wide'} : {}, caption, readout, place);
    document.getElementById('plots').append(figure);
    const chart = {plot, readout, place};
    const labels = plot.lines.map((line, i) => `${i} ${data.runs[line.run].name} ${line.name}`);
    const series = {};
    plot.lines.forEach((line, i) => {
      series[labels[i]] = {
        strokeWidth: line.dashed ? 1.4 : widthOf(line.run),
        strokePattern: line.dashed ? [4, 3] : dashes[dashOf(line.run)],
        drawPoints: (line.dashed && line.steps.length <= 100) || line.steps.length === 1,
        drawPointCallback: drawRing,
        pointSize: 3.5,
      };
    });
    chart.graph = new Dygraph(place, rowsOf(plot, false), {
      ...looks(plot), series, labels: ['step', ...labels], legend: 'never', errorBars: plot.lines.some(line => line.errors), sigma: 1, connectSeparatedPoints: true,
      drawGapEdgePoints: true, highlightCircleSize: 3.5, includeZero: plot.id !== 'loss', xRangePad: 6, yRangePad: 3,
      axes: {
        x: {drawGrid: false, axisLabelFormatter: x => whole.format(x)},
        y: {axisLabelWidth: 52, axisLabelFormatter: y => Math.abs(y) < 1e-12 ? '0' : number.format(y)},
      },
      underlayCallback: drawRestarts,
      highlightCallback: (event, x) => charts.forEach(other => readOut(other, x)),
      unhighlightCallback: () => charts.forEach(other => readOut(other, null)),
      zoomCallback: () => { document.getElementById('reset').hidden = !chart.graph.isZoomed(); },
    });
    if (plot.can_be_logarithmic) caption.append(logarithmChoice(chart));
    return chart;
  }

  function logarithmChoice(chart) {
    const box = element('input', {type: 'checkbox'});
    box.addEventListener('change', () => chart.graph.updateOptions({
      logscale: box.checked, includeZero: !box.checked && chart.plot.id !== 'loss', file: rowsOf(chart.plot, box.checked)
    }));
    return element('label', {}, box, ' logarithmic');
  }

  function show(run, shown) {
    visible[run] = shown;
    for (const chart of charts) {
      chart.plot.lines.forEach((line, i) => { if (line.run === run) chart.graph.setVisibility(i, shown); });
    }
  }

  function curves() {
    if (data.plots.length === 0) {
      document.getElementById('curves-note').textContent = 'No step has been logged yet.';
      return;
    }
    const notes = ['Drag to zoom, double-click for the whole run.'];
    if (data.runs.length > 1) notes.push('The lines of earlier runs are wider, so that they are seen under those of later ones.');
    if (data.runs.some(run => run.restarts.length > 0)) notes.push('A dashed line with a triangle marks a restart.');
    if (data.longest > data.points_of_a_line) {
      notes.push(`Long lines are thinned to about ${whole.format(data.points_of_a_line)} points (of up to ` +
                 `${whole.format(data.longest)}): the lowest and the highest of neighbouring steps.`);
    }
    document.getElementById('curves-note').textContent = notes.join(' ');
    for (const plot of data.plots) charts.push(chartOf(plot));
    if (charts.length > 1) Dygraph.synchronize(charts.map(chart => chart.graph), {zoom: true, selection: true, range: false});
    document.getElementById('reset').addEventListener('click', () => charts[0].graph.resetZoom());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const chart of charts) chart.graph.updateOptions(looks(chart.plot));
    });
    // Paper shows the pictures as they were drawn: page.css scales all of the page down from this width.
    const keepWidth = () => document.documentElement.style.setProperty('--width', document.querySelector('main').offsetWidth);
    window.addEventListener('beforeprint', keepWidth);
    window.addEventListener('resize', keepWidth);
    keepWidth();
  }

  // --- where the time goes ---

  const kindNames = {
    gemm: 'GEMM', attention: 'attention', memory_bound: 'memory-bound', exposed_communication: 'exposed communication',
    host: 'host', idle: 'idle', overlapped_communication: 'overlapped communication (beside the rest)',
  };
  const isDark = {gemm: true, exposed_communication: true};
  const colorOfKind = kind => `--color: var(--${kind === 'overlapped_communication' ? 'exposed_communication' : kind})`;

  function bar(rank, kinds, longest) {
    const parts = element('div', {class: 'bar', style: `width: ${100 * rank.wall / longest}%`});
    const beside = element('div', {class: 'beside'});
    kinds.forEach((kind, i) => {
      const share = rank.seconds[i] / rank.wall, percent = `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
      const title = `${kindNames[kind]}: ${seconds.format(rank.seconds[i])} s, ${percent}`;
      if (kind === 'overlapped_communication') {
        beside.className += ' hatched';
        beside.setAttribute('style', `${colorOfKind(kind)}; width: ${100 * rank.seconds[i] / longest}%`);
        beside.setAttribute('title', title);
      } else {
        const style = `flex: ${100 * share} 0 0; ${colorOfKind(kind)}; --on: var(--on-${isDark[kind] ? 'dark' : 'light'})`;
        parts.append(element('span', {style, title}, share < 0.06 ? '' : percent));
      }
    });
    return element('div', {}, parts, beside);
  }

  function kernelTable(kernels) {
    const shown = kernels.slice(0, 40), all = kernels.reduce((sum, k) => sum + k.seconds, 0);
    const head = element('tr');
    for (const title of ['Kernel', 'Kind', 'Phase']) head.append(element('th', {}, title));
    for (const title of ['Calls', 'Time, ms', 'Share', 'GB/s']) head.append(element('th', {class: 'number'}, title));
    const body = element('tbody');
    for (const k of shown) {
      const line = element('tr', {}, element('td', {}, element('code', {}, k.name)), element('td', {}, kindNames[k.kind] || k.kind),
                           element('td', {}, k.phase));
      const rate = k.bytes > 0 && k.seconds > 0 ? seconds.format(k.bytes / k.seconds / 1e9) : '';
      for (const text of [whole.format(k.calls), seconds.format(1e3 * k.seconds), `${(100 * k.seconds / all).toFixed(1)} %`, rate]) {
        line.append(element('td', {class: 'number'}, text));
      }
      body.append(line);
    }
    const out = element('div', {class: 'kernels scroll'}, element('table', {}, element('thead', {}, head), body));
    if (kernels.length > shown.length) {
      out.append(element('p', {class: 'note'}, `${kernels.length - shown.length} more with ` +
        `${seconds.format(1e3 * kernels.slice(40).reduce((sum, k) => sum + k.seconds, 0))} ms are not listed.`));
    }
    return out;
  }

  function profileOf(run) {
    const {steps, ranks, kinds, kernels} = data.runs[run].profile;
    const legend = element('div', {class: 'kinds'});
    for (const kind of kinds) {
      const hatched = kind === 'overlapped_communication' ? 'hatched' : '';
      legend.append(element('span', {}, element('i', {class: hatched, style: colorOfKind(kind)}), kindNames[kind]));
    }
    const longest = Math.max(...ranks.map(rank => rank.wall));
    const bars = element('div', {class: 'ranks'});
    for (const rank of ranks) {
      bars.append(element('span', {}, `rank ${rank.rank}, ${rank.node}`), bar(rank, kinds, longest),
                  element('span', {}, `${seconds.format(rank.wall)} s`));
    }
    const where = steps[0] === steps[1] ? `step ${steps[0]}` : `steps ${steps[0]} to ${steps[1]}`;
    return element('div', {class: 'profile'}, element('h3', {}, runName(run), ` ${where}`), legend, bars, kernelTable(kernels));
  }

  // --- the page ---

  document.title = `Octet report: ${data.runs.map(run => run.name).join(', ')}`;
  data.runs.forEach((_, run) => {
    const box = element('input', {type: 'checkbox', checked: ''});
    box.addEventListener('change', () => show(run, box.checked));
    document.getElementById('runs').append(element('label', {class: 'run'}, box, runName(run)));
  });
  document.getElementById('summary').append(table(data.summary, ''));
  if (data.runs.length > 1) {
    const section = document.getElementById('differences');
    section.hidden = false;
    section.append(data.differences.length > 0 ? table(data.differences, 'Option')
                                               : element('p', {class: 'note'}, 'None: the runs have the same configuration.'));
  }
  data.runs.forEach((run, index) => {
    if (!run.profile) return;
    document.getElementById('profile').hidden = false;
    document.getElementById('profile').append(profileOf(index));
  });
  curves();
})();
