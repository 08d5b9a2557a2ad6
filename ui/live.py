"""The live view's skeleton: plain HTML that `assets/js/live.js` fills from a run's stream. Holds no run's data.

The skeleton reads in English without scripts; elements marked `data-w` get the words of the visitor's language.
"""

from html import escape

from ui.words import words

LEGEND = (("met", "●"), ("unmet", "○"), ("unread", "◇"), ("penalty", "▲"), ("avoided", "▽"), ("waiting", "·"))
LAYERS = ("task", "consensus", "universal")


def w(key: str, tag: str = "span", classes: str = "", more: str = "") -> str:
    """One element that holds the words under `key`."""
    kind = f' class="{classes}"' if classes else ""
    return f'<{tag}{kind} data-w="{key}"{more}>{escape(words()[key])}</{tag}>'


def _head() -> str:
    return f"""
<header class="live-head">
  <div class="live-title"><h1 data-model></h1><p class="quiet" data-about></p></div>
  <div class="row live-actions">
    <span class="chip" data-status></span>
    <button type="button" class="stop" data-stop aria-describedby="stop-help" hidden>{w("stop")}</button>
    <a class="button" data-open hidden>{w("open_result")}</a>
    <button type="button" class="primary" data-resume aria-describedby="resume-help" hidden>{w("resume")}</button>
    <button type="button" data-more aria-describedby="more-help" hidden>{w("more")}</button>
  </div>
  {w("stop_help", "p", "help wide", ' id="stop-help" data-stop-help hidden')}
</header>
<form class="panel resume" data-resume-form hidden>
  {w("resume_help", "p", "help", ' id="resume-help"')}
  <div data-more-part hidden>
    {w("more_help", "p", "help", ' id="more-help"')}
    <div class="row"><label for="more-tasks">{w("more_tasks")}</label>
    <input id="more-tasks" data-more-tasks type="number" step="1" inputmode="numeric" aria-describedby="more-price">
    <label for="more-epochs">{w("more_epochs")}</label>
    <input id="more-epochs" data-more-epochs type="number" step="1" max="20" inputmode="numeric"
      aria-describedby="more-price"></div>
    <p role="status" id="more-price" data-more-price></p>
  </div>
  <div class="row"><label for="resume-cap">{w("resume_cap")}</label>
  <input id="resume-cap" data-resume-cap type="number" min="0" step="0.01" inputmode="decimal" aria-describedby="resume-cap-help">
  <button type="submit" class="primary">{w("resume")}</button></div>
  {w("resume_cap_help", "p", "help", ' id="resume-cap-help"')}
  <div data-resume-keys></div>
</form>
<p class="note bad" role="alert" data-problem hidden></p>
<p class="note" data-reason hidden></p>
<p class="note warn" role="status" data-waiting hidden></p>"""


def _score() -> str:
    return f"""
<section class="panel score">
  <div class="score-line">
    <div>{w("live_score", "h2")}<p class="big"><span data-mean>–</span></p>
      <p class="quiet" data-mean-more></p></div>
    <div>{w("live_attempted", "h2")}<p class="big second"><span data-attempted>–</span></p>
      <p class="quiet" data-attempted-more></p></div>
    <details class="compare-line" data-differences><summary data-differences-line></summary>
      <ul data-differences-list></ul></details>
  </div>
  <div class="progress" role="progressbar" aria-valuemin="0" aria-valuemax="100" aria-valuenow="0" data-progress
       aria-label="{escape(words()["nav_live"])}" data-w-label="nav_live"><i data-progress-bar></i></div>
  <p class="quiet" data-done></p>
</section>"""


def _map() -> str:
    layers = "".join(f"<li>{w(f'layer_{name}')}</li>" for name in LAYERS)
    legend = "".join(
        f'<li><i class="key {name}" aria-hidden="true">{shape}</i>{w(f"verdict_{name}")}</li>' for name, shape in LEGEND
    )
    return f"""
<section class="panel map">
  {w("live_map", "h2")}{w("live_map_help", "p", "help")}
  <ul class="legend">{legend}</ul>
  <ol class="layers" aria-hidden="true" data-layers>{layers}</ol>
  <div class="map-box"><div><canvas data-map tabindex="0" role="application" aria-describedby="map-tip"></canvas></div></div>
  <p class="tip" id="map-tip" role="status" data-tip>&nbsp;</p>
</section>"""


def _bars() -> str:
    return f"""
<section class="panel bars">
  {w("live_bars", "h2")}{w("live_bars_help", "p", "help")}
  <div data-bars></div>
  <details><summary>{w("live_bars_table")}</summary><div class="table-wrap" data-bars-table></div></details>
</section>"""


def _feed() -> str:
    heads = "".join(
        w(key, "th", cls, ' scope="col"')
        for key, cls in (("col_task", ""), ("col_competency", "wide-only"), ("col_outcome", ""), ("col_score", "num"))
    )
    return f"""
<section class="panel feed">
  {w("live_feed", "h2")}{w("live_feed_help", "p", "help")}
  <div class="table-wrap"><table><thead><tr><td></td>{heads}</tr></thead><tbody data-feed></tbody></table></div>
</section>"""


def _money() -> str:
    return f"""
<section class="panel spend">
  {w("live_spend", "h2")}
  <div class="meter" aria-hidden="true"><i data-meter-spent></i><i data-meter-reserved></i></div>
  <dl class="pairs" data-spend></dl>
  <p class="quiet"><span data-connections></span></p>{w("live_connections_help", "p", "help", " data-connections-help hidden")}
</section>
<section class="panel outcomes">{w("live_outcomes", "h2")}<dl class="pairs" data-outcomes></dl></section>"""


def _below() -> str:
    return f"""
<section class="panel first" data-estimate-box hidden>{w("live_estimate", "h2")}
  <div class="table-wrap" data-estimate></div></section>
<section class="panel link">
  {w("link", "h2")}
  <p><a data-link></a></p>
  <div class="row"><button type="button" data-copy>{w("copy")}</button></div>
  {w("link_help", "p", "help")}
</section>"""


def live_fragment() -> str:
    """The whole skeleton, for one `gr.HTML`."""
    return f"""
<div class="l2 live" data-live>
  <p class="note" data-empty>{w("live_none")}</p>
  <p class="sr" role="status" data-summary></p>
  <div data-run hidden>
    {_head()}
    {_score()}
    <div class="live-grid"><div class="live-main">{_map()}{_feed()}{_below()}</div>
    <div class="live-side">{_bars()}{_money()}</div></div>
  </div>
</div>"""


def mine_fragment() -> str:
    """The list of this browser's runs, filled by `assets/js/mine.js`."""
    heads = "".join(
        w(key, "th", cls, ' scope="col"')
        for key, cls in (
            ("col_run", ""),
            ("col_state", ""),
            ("col_score", "num wide-only"),
            ("col_started", "wide-only"),
        )
    )
    return f"""
<div class="l2 mine" data-mine>
  {w("nav_mine", "h1")}
  {w("mine_help", "p", "help")}
  <p class="note" data-none>{w("mine_none")}</p>
  <div class="table-wrap" data-table hidden><table><thead><tr><td></td>{heads}
    <th scope="col"><span class="sr" data-w="mine_open">Open</span></th></tr></thead>
  <tbody data-rows></tbody></table></div>
  <p class="row" data-compare hidden><button type="button" data-compare-go disabled>{w("mine_compare")}</button>
    {w("mine_compare_help", "span", "help")}</p>
  {w("mine_forget_help", "p", "help", " data-forget-help hidden")}
</div>"""
