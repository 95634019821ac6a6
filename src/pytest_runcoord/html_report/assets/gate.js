// --- the gate, and what was skipped ---

function gate() {
  const g = DATA.gate;
  if (!g) return "";
  const bad = all.filter((i) => BAD.has(VARIANTS[i].verdict)).length;
  const reasons = [...(bad ? [{ message: plural(bad, "test") + " failed", remedy: "", at: "" }] : []), ...g.reasons];
  const state = reasons.length ? ["failed", "red"] : g.notJudged ? ["skipped", "not judged"] : ["passed", "green"];
  const why = reasons.map((r) => `<li><b class="v-failed">${esc(r.message)}</b>${r.at ? ` <code>${esc(r.at)}</code>` : ""}`
    + `${r.remedy ? `<div class="small soft">${esc(r.remedy)}</div>` : ""}</li>`).join("");
  const count = (id) => {
    const k = DATA.invariants.findIndex((each) => each.id === id);
    return k < 0 ? 0 : VARIANTS.reduce((sum, v) => sum + ((v.exercised || [])[k] || 0), 0);
  };
  const required = g.required.map((id) => {
    const n = count(id);
    return `<span class="chip"><i class="v-${n ? "passed" : "failed"}" aria-hidden="true">${n ? "✓" : "✗"}</i> ${esc(id)} <span class="soft">${n ? n.toLocaleString("en") : "never"}</span></span>`;
  }).join("");
  return `<section class="gate"><h2>Gate: <span class="v-${state[0]}">${state[1]}</span></h2>
    ${why ? `<ul>${why}</ul>` : ""}
    ${g.notJudged ? `<p>What is required of everything was not looked at: ${esc(g.notJudged)}.</p>` : ""}
    ${g.asks.length ? `<p class="small">Required: ${g.asks.map(esc).join("; ")}.</p>` : ""}
    ${required ? `<p class="small">Required invariants, with how often they had occasion to fail:</p><div class="chips">${required}</div>` : ""}
    ${g.known.length ? knownTable(g.known) : ""}</section>`;
}

function knownTable(known) {
  const rows = known.map((k) => {
    const index = VARIANTS.findIndex((v) => v.node === k.node);
    const name = index < 0 ? esc(k.scenario) : `<a href="${link(index)}">${esc(k.scenario)}</a>`;
    const until = [k.until ? `until ${k.until}` : "", k.revision ? `for ${k.revision}` : ""].filter(Boolean).join(", ");
    return `<tr><td class="name">${name}<div class="small soft">${esc(k.state)}</div></td>
      <td>${esc(k.why)}<div class="small soft">by ${esc(k.by)}${until ? `, ${esc(until)}` : ""} · <code>${esc(k.at)}</code></div></td></tr>`;
  }).join("");
  return `<h3>Known failures</h3><div class="wrap"><table class="known"><thead><tr><th>Scenario</th><th>Why it is accepted</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function countedBy(pick) {
  const found = new Map();
  for (const v of VARIANTS) for (const key of pick(v)) found.set(key, (found.get(key) || 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]);
}

function skips() {
  const alone = new Map(countedBy((v) => ((v.missing || []).length === 1 ? v.missing : [])));
  const rows = [
    ...countedBy((v) => v.missing || []).map(([name, n]) =>
      [`the subject lacks <code>${esc(name)}</code>${alone.has(name) ? ` <span class="soft">(${alone.get(name)} lack nothing else)</span>` : ""}`, n]),
    ...countedBy((v) => (v.skipped ? [v.skipped] : [])).map(([why, n]) => [esc(why), n])];
  const body = rows.map(([why, n]) => `<tr><td>${why}</td><td class="num">${plural(n, "variant")}</td></tr>`).join("");
  return `<h2>Skipped</h2>${rows.length ? `<div class="wrap"><table><tbody>${body}</tbody></table></div>` : '<p class="soft">Nothing was skipped.</p>'}`
    + (DATA.leftOut ? `<p class="soft small">${esc(DATA.leftOut)}</p>` : "");
}
