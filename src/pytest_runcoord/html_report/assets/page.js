"use strict";
// Data first: the page is one file, and a scenario is drawn when it is opened.
const DATA = JSON.parse(document.getElementById("data").textContent);
const VARIANTS = DATA.variants;
const main = document.getElementById("main");
const BAD = new Set(["failed", "unknown", "invalid", "error"]);
const SIGN = { passed: "✓", failed: "✗", unknown: "?", skipped: "–", xfailed: "×", invalid: "✗", error: "✗" };

const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const badge = (verdict) => `<span class="badge v-${esc(verdict)}">${esc(verdict)}</span>`;
const link = (index) => `#/${index}/${encodeURIComponent(VARIANTS[index].scenario)}`;
const seconds = (s) => (s < 1 ? `${Math.round(s * 1000)} ms` : `${s.toFixed(1)} s`);

// --- overview ---

const scenarios = [];
{
  const known = new Map();
  VARIANTS.forEach((v, index) => {
    const key = `${v.file}::${v.scenario}`;
    if (!known.has(key)) { known.set(key, { ...v, variants: [] }); scenarios.push(known.get(key)); }
    known.get(key).variants.push(index);
  });
}
const counted = (indexes) => {
  const counts = {};
  for (const i of indexes) counts[VARIANTS[i].verdict] = (counts[VARIANTS[i].verdict] || 0) + 1;
  return counts;
};
const all = VARIANTS.map((_, i) => i);
const told = (counts) => Object.entries(counts)
  .map(([verdict, n]) => `<span class="v-${esc(verdict)}">${n} ${esc(verdict)}</span>`).join(", ");

function chip(index, current) {
  const v = VARIANTS[index];
  return `<a class="chip" href="${link(index)}"${index === current ? ' aria-current="page"' : ""} title="${esc(v.verdict)}">`
    + `<i class="v-${esc(v.verdict)}" aria-hidden="true">${SIGN[v.verdict] || "·"}</i> ${esc(v.variant)}</a>`;
}

const state = { text: "", verdict: "" };

function overview() {
  document.title = DATA.title;
  const counts = counted(all);
  const tiles = Object.entries(counts).map(([verdict, n]) =>
    `<div class="tile"><b class="v-${esc(verdict)}">${n}</b>${esc(verdict)}</div>`).join("");
  main.innerHTML = `<h1>${esc(DATA.title)}</h1>
    <p class="soft small">${DATA.facts.map(([name, value]) => `${esc(name)} ${esc(value)}`).join(" · ")}</p>
    <div class="tiles"><div class="tile"><b>${scenarios.length}</b>scenarios</div>
      <div class="tile"><b>${VARIANTS.length}</b>variants</div>${tiles}</div>
    ${gate()}
    <h2 id="list">Scenarios by area</h2>
    <div class="filters" role="search"><input type="search" id="q" aria-label="Filter scenarios" placeholder="Filter by name, sentence, tag  ( / )" value="${esc(state.text)}">
      ${Object.keys(counts).length > 1 ? Object.keys(counts).map((verdict) =>
        `<button type="button" data-verdict="${esc(verdict)}" aria-pressed="${state.verdict === verdict}">${esc(verdict)}</button>`).join("") : ""}
      <span class="soft small" id="shown" role="status"></span></div>
    <div id="areas"></div>
    ${invariants()}${skips()}${tiers()}`;
  areas();
  const q = document.getElementById("q");
  q.addEventListener("input", () => { state.text = q.value; areas(); });
  for (const button of main.querySelectorAll("button[data-verdict]")) {
    button.addEventListener("click", () => {
      state.verdict = state.verdict === button.dataset.verdict ? "" : button.dataset.verdict;
      for (const each of main.querySelectorAll("button[data-verdict]"))
        each.setAttribute("aria-pressed", String(each.dataset.verdict === state.verdict));
      areas();
    });
  }
}

function areas() {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (s) => words.every((w) =>
    `${s.scenario} ${s.says} ${s.file} ${(s.tags || []).join(" ")} ${(s.origin || []).join(" ")}`.toLowerCase().includes(w));
  const shown = scenarios.filter((s) => fits(s)
    && (!state.verdict || s.variants.some((i) => VARIANTS[i].verdict === state.verdict)));
  const by = new Map();
  for (const s of shown) by.set(s.area, [...(by.get(s.area) || []), s]);
  const narrowed = words.length > 0 || state.verdict !== "";
  const ran = (list) => list.some((s) => s.variants.some((i) => VARIANTS[i].verdict !== "skipped"));
  const own = [...by.values()].filter((list) => !list[0].shipped).length;
  const small = (list) => ran(list) && (by.size < 3 || (own < 3 && !list[0].shipped));
  document.getElementById("shown").textContent = narrowed ? `${plural(shown.length, "scenario")} shown` : "";
  document.getElementById("areas").innerHTML = [...by].map(([area, list]) => {
    const indexes = list.flatMap((s) => s.variants);
    const bad = indexes.some((i) => BAD.has(VARIANTS[i].verdict));
    return `<details class="area"${bad || narrowed || small(list) ? " open" : ""}><summary>${esc(area)}
      <span class="soft small">${plural(list.length, "scenario")}: ${told(counted(indexes))}</span></summary><ul class="list">`
      + list.map((s) => `<li><div class="name"><a href="${link(s.variants.find((i) => BAD.has(VARIANTS[i].verdict)) ?? s.variants[0])}">${esc(s.scenario)}</a></div>
        <div><div class="small">${esc(s.says)}</div><div class="chips">${s.variants.map((i) => chip(i)).join("")}</div></div></li>`).join("")
      + "</ul></details>";
  }).join("") || '<p class="soft">No scenario fits.</p>';
}

function invariants() {
  const totals = DATA.invariants.map((each, k) => ({
    ...each, count: VARIANTS.reduce((sum, v) => sum + ((v.exercised || [])[k] || 0), 0),
    in: VARIANTS.filter((v) => (v.exercised || [])[k] > 0).length,
  }));
  if (!totals.length) return "";
  const most = Math.max(1, ...totals.map((t) => t.count));
  const rows = totals.sort((a, b) => (a.count === 0) - (b.count === 0) || b.count - a.count).map((t) =>
    `<tr${t.count ? "" : ' class="never"'}><td><code>${esc(t.id)}</code>${t.required ? ' <span class="chip">required</span>' : ""}<span class="bar" style="width:${100 * Math.sqrt(t.count / most)}%"></span></td>
     <td>${esc(t.says)}</td><td class="num">${t.count ? t.count.toLocaleString("en") : "never"}</td><td class="num">${t.in || ""}</td></tr>`).join("");
  return `<h2>Invariants, and how often they had occasion to fail</h2>
    <p class="soft small">One that never had is not green: nothing is known about it.</p>
    <div class="wrap"><table><thead><tr><th>Invariant</th><th>Says</th><th>Occasions</th><th>Variants</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function tiers() {
  const names = [...new Set(VARIANTS.map((v) => v.tier || "sim"))];
  const rows = names.map((tier) => {
    const indexes = all.filter((i) => (VARIANTS[i].tier || "sim") === tier);
    const time = indexes.reduce((sum, i) => sum + (VARIANTS[i].seconds || 0), 0);
    return `<tr><td>${esc(tier)}</td><td>${told(counted(indexes))}</td><td class="num">${seconds(time)}</td></tr>`;
  }).join("");
  return `<h2>Tiers</h2><div class="wrap"><table><thead><tr><th>Tier</th><th>Verdicts</th><th>Time</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

// --- one variant ---

const ROW = 26;
let GUTTER = 54; // pixels for the time, fewer on narrow screens
const [MARK, LANE, TO, TEXT, STATUS, LINE, AT, AHEAD, DETAIL, MOMENTS, WRITES, COUNT] = Array(12).keys();
const EMPTY = [0, "", "", 0, 1];
const full = (row) => [...row, ...EMPTY.slice(row.length - AHEAD)];

function clockText(at) {
  const s = Math.abs(at), sign = at < 0 ? "−" : "", two = (n) => String(Math.floor(n)).padStart(2, "0");
  if (s < 60) return `${sign}${+s.toFixed(s < 10 ? 2 : 1)} s`;
  if (s < 3600) return `${sign}${Math.floor(s / 60)}:${two(s % 60)}`;
  if (s < 86400) return `${sign}${Math.floor(s / 3600)}h${two((s % 3600) / 60)}`;
  return `${sign}${Math.floor(s / 86400)}d ${two((s % 86400) / 3600)}h`;
}
const GOOD = new Set(["accepted", "sent"]);
const statusClass = (status) => (GOOD.has(status) ? "ok" : /^(gone|offered)/.test(status) ? "mid" : "bad");

function open(index) {
  const v = VARIANTS[index], siblings = scenarios.find((s) => s.variants.includes(index)).variants;
  document.title = `${v.scenario} (${v.variant}): ${v.verdict}`;
  const f = v.failure;
  const said = f ? [["step", f.step], ["expected", f.expected], ["seen", f.seen], ["remedy", f.remedy]].filter(([, t]) => t) : [];
  main.innerHTML = `<nav class="crumbs" aria-label="Where"><a href="#/">All scenarios</a><span class="soft">${esc(v.area)}</span>
      <code>${esc(v.file)}:${v.line}</code><span class="soft keys"><kbd>↑</kbd> <kbd>↓</kbd> rows <kbd>[</kbd> <kbd>]</kbd> scenarios <kbd>Esc</kbd> back</span></nav>
    <h1>${esc(v.scenario)} ${badge(v.verdict)}</h1><p class="says">${esc(v.says)}</p>
    ${siblings.length > 1 ? `<div class="chips" aria-label="Variants">${siblings.map((i) => chip(i, index)).join("")}</div>` : ""}
    ${f ? `<div class="failbox" role="alert"><b>${esc(f.message)}</b><div class="small soft">${esc(f.kind)} <code>${esc(f.name)}</code>, line ${f.line}</div>
      <dl>${said.map(([name, text]) => `<dt>${name}</dt><dd>${esc(text)}</dd>`).join("")}</dl></div>` : ""}
    ${v.known ? `<p class="v-xfailed">${esc(v.known)}</p>` : ""}
    ${v.skipped || (v.missing || []).length ? `<p class="v-skipped">Not run: ${esc(v.skipped || `the subject lacks ${v.missing.join(", ")}`)}</p>` : ""}
    <div class="scene"><div id="left"></div><div class="yaml" id="yaml" tabindex="-1" aria-label="The scenario"></div></div>
    ${v.text ? `<h2>As the terminal shows it</h2><pre class="text">${esc(v.text)}</pre>` : ""}`;
  const yaml = yamlOf(v);
  if (v.picture && v.picture.rows.length) draw(v, yaml);
  else document.getElementById("left").innerHTML = '<p class="soft">Nothing happened that could be drawn.</p>';
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
}

// The document of this scenario, each step a thing that can be chosen.
function yamlOf(v) {
  const box = document.getElementById("yaml"), text = DATA.files[v.file];
  if (text === undefined) { box.classList.add("hide"); return { lines: new Map(), of: () => [] }; }
  const all = text.split("\n");
  let first = v.line, last = v.line;
  while (first > 1 && all[first - 2] !== "---") first--;
  while (last < all.length && all[last] !== "---") last++;
  while (last > first && !all[last - 1].trim()) last--;
  const steps = new Set(((v.picture || {}).rows || []).map((row) => row[LINE]));
  const indent = (n) => all[n - 1].search(/\S|$/);
  const paint = (line) => {
    const comment = /^(\s*)(#.*)$/.exec(line);
    if (comment) return `${comment[1]}<span class="c">${esc(comment[2])}</span>`;
    return esc(line).replace(/^((?:\s|- )*)([\w-]+)(:)/, '$1<span class="k">$2</span>$3');
  };
  const bad = v.failure ? v.failure.line : 0;
  let html = "";
  for (let n = first; n <= last; n++) {
    const step = steps.has(n);
    html += `<li data-n="${n}" class="${step ? "step" : ""}${n === bad ? " bad" : ""}"${step ? ' tabindex="0" role="button"' : ""}><span class="n">${n}</span>${paint(all[n - 1]) || " "}</li>`;
  }
  box.innerHTML = `<ol>${html}</ol>`;
  const lines = new Map([...box.querySelectorAll("li")].map((li) => [+li.dataset.n, li]));
  const of = (n) => { // a step with what is indented below it
    if (!lines.has(n)) return [];
    const found = [lines.get(n)];
    for (let k = n + 1; k <= last && all[k - 1].trim() && indent(k) > indent(n) && !steps.has(k); k++) found.push(lines.get(k));
    return found;
  };
  return { lines, of, all };
}

function draw(v, yaml) {
  const p = v.picture, rows = p.rows.map(full), left = document.getElementById("left");
  const room = left.clientWidth, n = p.lanes.length;
  GUTTER = room < 600 ? 46 : 54;
  const width = Math.max(12, Math.min(70, Math.floor((room - GUTTER - (room < 600 ? 185 : 350)) / n)));
  const pad = GUTTER + n * width;
  const runs = [...new Set(p.leases.map((lease) => lease[1]))];
  const colour = (run) => `var(--r${runs.indexOf(run) % 6})`;
  const legend = runs.slice(0, 8).map((run) => `<span><b style="background:${colour(run)}"></b>lease of ${esc(run)}</span>`).join("")
    + (runs.length > 8 ? `<span>and ${runs.length - 8} more</span>` : "");
  const head = p.lanes.map(([name, kind]) => `<div class="lane k-${kind}" style="width:${width}px" title="${esc(name)} (${kind})">${esc(name)}</div>`).join("");
  let before = null;
  const list = rows.map((row, k) => {
    const moved = before === null || before !== row[AT];
    const mark = [row[MARK] === "fold" ? "fold" : row[MARK] === "time" ? "time" : row[MARK] === "fail" ? "fail" : "", moved && before !== null ? "later" : ""].join(" ");
    before = row[AT];
    const who = p.lanes[row[LANE]][0];
    const name = row[MARK] === "fold" ? "" : row[MARK] === "fail" ? '<span class="who">✗ failed here:</span> ' : row[MARK] === "time" ? "" : `<span class="who k-${p.lanes[row[LANE]][1]}">${esc(who)}</span> `;
    const status = row[STATUS] && row[MARK] !== "fail" ? `<span class="st ${statusClass(row[STATUS])}">${esc(row[STATUS])}</span>` : "";
    return `<li class="row ${mark}" role="option" id="row-${k}" data-k="${k}" tabindex="-1" aria-selected="false" style="padding-left:${pad + 8}px">`
      + (moved ? `<span class="t" style="width:${GUTTER - 8}px">${clockText(row[AT])}</span>` : "") + `${name}${esc(row[TEXT])}${status}</li>`;
  }).join("");
  left.innerHTML = `${legend ? `<div class="legend">${legend}<span>number: its epoch</span><span>notch: renewed</span><span>dashed: run out</span></div>` : ""}
    <div class="pic${width < 30 ? " narrow" : ""}"><div class="lanes${width < 52 ? " tight" : ""}"><div class="time" style="width:${GUTTER}px">time</div>${head}</div>
    <div class="body">${svg(p, rows, width, colour)}<ol class="rows" role="listbox" aria-label="What happened" tabindex="-1">${list}</ol></div>
    <div class="detail" aria-live="polite" hidden></div></div>
    <details class="signs soft small"><summary>What the signs mean</summary>○ an owner or a process begins · ● a call · <span class="v-failed">○</span> refused ·
      ■ in the store's lane: it took something durable · ◆ what a timer did: a named moment, or a change of the store · ⚡ a fault was met · <span class="v-failed">✕</span> crash ·
      □ closed, or ended · arrows: a message (green: accepted), a signal (red: sent, dashed: not), a process started · ⋮ repeated, not drawn again</details>
    ${p.leftOut || p.leasesLeftOut ? `<p class="soft small">${plural(p.entries, "entry").replace("entrys", "entries")} in the history; ${p.leftOut} rows and ${p.leasesLeftOut} leases are not drawn.</p>` : ""}`;
  wire(v, p, rows, yaml, left);
}

function svg(p, rows, width, colour) {
  const height = rows.length * ROW, w = GUTTER + p.lanes.length * width, wide = width >= 44;
  const line = wide ? 12 : Math.min(8, width / 2), x = (lane) => GUTTER + lane * width + line, y = (row) => row * ROW + ROW / 2;
  const kind = (lane) => `var(--${p.lanes[lane][1]})`;
  const out = [`<svg width="${w}" height="${height}" viewBox="0 0 ${w} ${height}" aria-hidden="true">
    <defs>${["pass", "fail", "skip", "soft"].map((c) => `<marker id="a-${c}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--${c})"/></marker>`).join("")}</defs>`];
  p.lanes.forEach((_, lane) => out.push(`<line x1="${x(lane)}" x2="${x(lane)}" y1="0" y2="${height}" stroke="var(--line)" stroke-dasharray="1 4"/>`));
  const alive = p.lanes.map(() => false);
  for (const [lane, first, last, ended] of p.lives) {
    alive[lane] = true;
    out.push(`<line x1="${x(lane)}" x2="${x(lane)}" y1="${y(first)}" y2="${y(last)}" stroke="${kind(lane)}" stroke-width="2"${ended === "" && p.lanes[lane][1] === "process" ? ' stroke-dasharray="5 3"' : ""}/>`);
  }
  p.lanes.forEach(([, k], lane) => { if (!alive[lane] && k !== "around") out.push(`<line x1="${x(lane)}" x2="${x(lane)}" y1="0" y2="${height}" stroke="${kind(lane)}" stroke-width="1.5" opacity=".55"/>`); });
  bars(out, p, width, wide, line, colour);
  rows.forEach((row, k) => mark(out, p, row, k, x, y, w, kind));
  return `${out.join("")}</svg>`;
}

function bars(out, p, width, wide, line, colour) {
  const free = p.lanes.map(() => []); // by lane: the row at which each place beside its line is free again
  const thick = wide ? 14 : Math.max(5, Math.min(12, width - line - 6)), places = wide ? Math.max(1, Math.floor((width - line - 10) / 16)) : 1;
  for (const [lane, run, epoch, first, last, expired, , renewals] of p.leases) {
    let place = free[lane].findIndex((row) => row <= first);
    if (place < 0) place = free[lane].length;
    free[lane][place] = last;
    const x = GUTTER + lane * width + line + 6 + (place < places ? place * (thick + 2) : (places - 1) * (thick + 2) + Math.min(6, (place - places + 1) * 2));
    const top = first * ROW + ROW / 2 - 6, bottom = last * ROW + ROW / 2 + 6, cut = expired < 0 ? bottom : Math.max(top + 12, expired * ROW);
    out.push(`<g><rect x="${x}" y="${top}" width="${thick}" height="${Math.max(12, Math.min(cut, bottom) - top)}" rx="3" fill="${colour(run)}"/>`);
    if (cut < bottom) out.push(`<rect x="${x + .5}" y="${cut}" width="${thick - 1}" height="${bottom - cut}" rx="3" fill="none" stroke="${colour(run)}" stroke-dasharray="3 2"/>`);
    const label = `${run} · epoch ${epoch}`, tall = Math.min(cut, bottom) - top;
    if (thick >= 12 && tall > label.length * 5.6 + 8)
      out.push(`<text transform="translate(${x + thick / 2 - 3.5} ${top + 5}) rotate(90)" style="font:10px system-ui" fill="var(--on-run)">${esc(label)}</text>`);
    else out.push(`<text x="${x + thick / 2}" y="${top + 10}" text-anchor="middle" style="font:bold ${thick < 10 ? 7 : 10}px system-ui" fill="var(--on-run)">${epoch}</text>`);
    for (const row of renewals) // a notch: made longer
      out.push(`<path d="M${x - 1} ${row * ROW + ROW / 2 + 4}h${thick + 2}" stroke="var(--panel)" stroke-width="2.5"/>`);
    out.push("</g>");
  }
}

function arrow(out, from, to, y, colour, dash) {
  const gap = to > from ? -5 : 5;
  out.push(`<line x1="${from}" x2="${to + gap}" y1="${y}" y2="${y}" stroke="var(--${colour})" stroke-width="1.6"${dash ? ' stroke-dasharray="4 3"' : ""} marker-end="url(#a-${colour})"/>`);
}

function mark(out, p, row, k, x, y, w, kind) {
  const [type, lane, to, , status] = row, cx = x(lane), cy = y(k), c = kind(lane);
  const store = p.lanes.findIndex((each) => each[1] === "store");
  if (type === "fail") {
    p.lanes.forEach((_, each) => out.push(`<circle cx="${x(each)}" cy="${cy}" r="2.5" fill="var(--fail)"/>`));
    out.push(`<line x1="${GUTTER}" x2="${w}" y1="${cy}" y2="${cy}" stroke="var(--fail)" stroke-width="2.5"/>`);
    return;
  }
  if (type === "time") { out.push(`<line x1="${GUTTER}" x2="${w}" y1="${cy}" y2="${cy}" stroke="var(--around)" stroke-dasharray="2 3"/>`); return; }
  if (type === "fold") { out.push(`<text x="${cx}" y="${cy + 4}" text-anchor="middle" style="font:bold 13px system-ui" fill="var(--soft)">⋮</text>`); return; }
  if (row[WRITES] && store >= 0) out.push(`<line x1="${cx}" x2="${x(store)}" y1="${cy}" y2="${cy}" stroke="var(--store)"/><rect x="${x(store) - 4}" y="${cy - 4}" width="8" height="8" rx="1.5" fill="var(--store)"/>`);
  if (to >= 0) {
    if (type === "signal") arrow(out, cx, x(to), cy, status === "sent" ? "fail" : "skip", status !== "sent");
    else if (type === "message") arrow(out, cx, x(to), cy, status === "accepted" ? "pass" : "fail", status !== "accepted");
    else arrow(out, cx, x(to), cy, "soft", true);
    if (type === "birth") out.push(`<circle cx="${x(to)}" cy="${cy}" r="4" fill="var(--panel)" stroke="${kind(to)}" stroke-width="2"/>`);
  }
  const bad = /^(refused|failed|crashed|unknown)/.test(status) && type === "verb";
  const cross = (r) => `<path d="M${cx - r} ${cy - r}L${cx + r} ${cy + r}M${cx - r} ${cy + r}L${cx + r} ${cy - r}" stroke="var(--fail)" stroke-width="2.6" fill="none"/>`;
  if (type === "crash") out.push(`<circle cx="${cx}" cy="${cy}" r="8" fill="var(--panel)"/>${cross(6)}`);
  else if (type === "open") out.push(`<circle cx="${cx}" cy="${cy}" r="5" fill="var(--panel)" stroke="${c}" stroke-width="2.2"/>`);
  else if (type === "close" || type === "end") out.push(`<rect x="${cx - 4.5}" y="${cy - 4.5}" width="9" height="9" fill="var(--panel)" stroke="${c}" stroke-width="2.2"/>`);
  else if (type === "pause") out.push(`<path d="M${cx - 3} ${cy - 5}v10M${cx + 3} ${cy - 5}v10" stroke="${c}" stroke-width="2.5"/>`);
  else if (type === "fault") out.push(`<path d="M${cx + 2} ${cy - 8}l-6 9h4l-2 7 6 -9h-4z" fill="var(--skip)" stroke="var(--panel)" stroke-width=".8"/>`);
  else if (type === "moment") out.push(`<path d="M${cx} ${cy - 5}l5 5 -5 5 -5 -5z" fill="${c}"/>`);
  else if (bad) out.push(`<circle cx="${cx}" cy="${cy}" r="5" fill="var(--panel)" stroke="var(--fail)" stroke-width="2.2"/>`);
  else if (type === "world" || type === "birth") out.push(`<rect x="${cx - 3.5}" y="${cy - 3.5}" width="7" height="7" fill="${c}"/>`);
  else out.push(`<circle cx="${cx}" cy="${cy}" r="4.5" fill="${c}"/>`);
}

// Rows and lines choose each other, by pointer, focus and keys.
function wire(v, p, rows, yaml, left) {
  const items = [...left.querySelectorAll(".row")], detail = left.querySelector(".detail");
  let chosen = -1;
  const light = (line) => {
    for (const each of document.querySelectorAll(".same")) each.classList.remove("same");
    if (!(line > 0)) return [];
    const found = items.filter((_, k) => rows[k][LINE] === line);
    for (const each of [...found, ...yaml.of(line)]) each.classList.add("same");
    return found;
  };
  const into = (element) => { // the YAML scrolls in its own box, never the page
    const box = document.getElementById("yaml");
    if (!element || getComputedStyle(box).position !== "sticky") return;
    const top = element.offsetTop - box.offsetTop;
    if (element.getBoundingClientRect().top < box.getBoundingClientRect().top || element.getBoundingClientRect().bottom > box.getBoundingClientRect().bottom) box.scrollTop = top - box.clientHeight / 3;
  };
  const choose = (k, focus) => {
    if (chosen >= 0) { items[chosen].setAttribute("aria-selected", "false"); items[chosen].tabIndex = -1; }
    chosen = k;
    items[k].setAttribute("aria-selected", "true");
    items[k].tabIndex = 0;
    const row = rows[k], line = row[LINE], held = p.leases.filter(([, , , first, last]) => first <= k && k <= last).slice(0, 6);
    const written = line > 0 && yaml.all ? yaml.all[line - 1].trim() : "";
    const who = p.lanes[row[LANE]][0];
    const ahead = row[AHEAD] ? `; the wall clock is ${clockText(Math.abs(row[AHEAD]))} ${row[AHEAD] > 0 ? "ahead" : "behind"}` : "";
    detail.hidden = false;
    detail.innerHTML = `<p><b>${row[MARK] === "fail" ? "Failed here" : esc(who)}</b>${row[TO] >= 0 ? ` → ${esc(p.lanes[row[TO]][0])}` : ""}: ${esc(row[TEXT])} ${row[STATUS] ? `<span class="st ${statusClass(row[STATUS])}">${esc(row[STATUS])}</span>` : ""}</p>
      <p class="soft">${clockText(row[AT])} since the start${ahead}; ${line > 0 ? `line ${line}` : "healing, after the last step"}${row[COUNT] > 1 ? `; ${row[COUNT]} entries of the history` : ""}</p>
      ${written ? `<p class="mono">${esc(written)}</p>` : ""}${row[MOMENTS] ? `<p>moments: <span class="mono">${esc(row[MOMENTS])}</span></p>` : ""}
      ${held.length ? `<p>leases: ${held.map(([lane, run, epoch, , , expired]) => `${esc(run)} epoch ${epoch} of ${esc(p.lanes[lane][0])}${expired >= 0 && k >= expired ? " (run out)" : ""}`).join("; ")}</p>` : ""}
      ${row[DETAIL] ? `<p class="mono">${esc(row[DETAIL])}</p>` : ""}`;
    light(line);
    into(yaml.lines.get(line));
    if (focus) { items[k].focus({ preventScroll: true }); show(items[k]); }
  };
  const show = (item) => {
    const head = left.querySelector(".lanes").getBoundingClientRect().height, box = item.getBoundingClientRect(), foot = detail.getBoundingClientRect().height;
    if (box.top < head + 8) scrollBy(0, box.top - head - 40);
    else if (box.bottom > innerHeight - foot - 8) scrollBy(0, box.bottom - innerHeight + foot + 40);
  };
  const over = (target) => target.closest && target.closest(".row");
  left.addEventListener("mouseover", (e) => { const row = over(e.target); if (row) { light(rows[+row.dataset.k][LINE]); into(yaml.lines.get(rows[+row.dataset.k][LINE])); } });
  left.addEventListener("mouseleave", () => light(chosen >= 0 ? rows[chosen][LINE] : 0));
  left.addEventListener("click", (e) => { const row = over(e.target); if (row) choose(+row.dataset.k, true); });
  left.addEventListener("focusin", (e) => { const row = over(e.target); if (row && +row.dataset.k !== chosen) choose(+row.dataset.k, false); });
  left.addEventListener("keydown", (e) => {
    const last = items.length - 1, at = Math.max(0, chosen);
    const to = { ArrowDown: Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last, PageDown: Math.min(last, at + 15), PageUp: Math.max(0, at - 15) }[e.key];
    if (to !== undefined) { choose(to, true); e.preventDefault(); }
  });
  for (const [n, li] of yaml.lines) {
    if (!li.classList.contains("step")) continue;
    li.addEventListener("mouseenter", () => light(n));
    li.addEventListener("mouseleave", () => light(chosen >= 0 ? rows[chosen][LINE] : 0));
    li.addEventListener("focus", () => light(n));
    const go = () => { const k = rows.findIndex((row) => row[LINE] === n); if (k >= 0) choose(k, true); };
    li.addEventListener("click", go);
    li.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { go(); e.preventDefault(); } });
  }
  items[Math.max(0, p.failed)].tabIndex = 0;
  if (p.failed >= 0) choose(p.failed, false);
}

// --- where we are ---

let current = -1;
function route() {
  const found = /^#\/(\d+)/.exec(location.hash);
  current = found && VARIANTS[+found[1]] ? +found[1] : -1;
  if (current >= 0) open(current); else overview();
}
addEventListener("hashchange", route);
let drawnAt = innerWidth;
addEventListener("resize", () => { if (current >= 0 && innerWidth !== drawnAt) { drawnAt = innerWidth; open(current); } });
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  if (e.key === "/" && current < 0) { document.getElementById("q").focus(); e.preventDefault(); }
  else if (e.key === "Escape" && current >= 0) location.hash = "#/";
  else if ((e.key === "[" || e.key === "]") && current >= 0) {
    const next = current + (e.key === "]" ? 1 : -1);
    if (VARIANTS[next]) location.hash = link(next);
  } else if ((e.key === "ArrowDown" || e.key === "ArrowUp") && current >= 0 && e.target === main) {
    const row = main.querySelector('.row[tabindex="0"]');
    if (row) { row.focus(); e.preventDefault(); }
  }
});
route();
document.documentElement.dataset.ready = "yes";
