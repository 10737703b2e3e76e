"""Reports in a browser: what stands where, in which colours, and what the keyboard reaches."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

__all__ = ["browse", "measure"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str:
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"there is no browser: none of {', '.join(_BROWSERS)}")
    return found


def browse(page: Path, profile: Path, *options: str) -> str:
    command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def measure(page: str, folder: Path, width: int, *, dark: bool = False) -> dict[str, Any]:
    """Open a page with all that is folded in a frame of some width, and say what is seen.

    Returns
    -------
    dict
        ``width`` of the window and of what stands in it, ``dark`` whether the page is; ``overlaps``, ``outside``,
        ``faint`` and ``sizes`` of texts; ``unreached`` by the keyboard and ``unmarked`` where it is.
    """
    ruler = folder / "ruler.html"
    ruler.write_text(
        _RULER.replace("PAGE", escape(page)).replace("WIDTH", str(width)), encoding="utf-8"
    )
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    shown = browse(ruler, folder / "profile", "--window-size=1400,1000", scheme, "--dump-dom")
    found = re.search(r"<title>(\{.*?)</title>", shown, re.DOTALL)
    assert found is not None, "the page could not be measured"
    return json.loads(unescape(found[1]))


#: Texts are taken as the parallelograms that their letters fill, a sixth of the height less above and below.
_RULER = r"""<!doctype html><meta name="color-scheme" content="light dark"><title>ruler</title>
<iframe style="width:WIDTHpx;height:30000px;border:0" srcdoc="PAGE"></iframe>
<script>
const frame = document.querySelector("iframe");

function corners(text) {
  const r = text.getBBox(), m = text.getScreenCTM(), cut = r.height / 6;
  return [[r.x, r.y + cut], [r.x + r.width, r.y + cut], [r.x + r.width, r.y + r.height - cut], [r.x, r.y + r.height - cut]]
    .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
}

function lines(node, inside) {
  const range = inside.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()].filter(r => r.width > 0).map(r => {
    const cut = r.height / 6;
    return [[r.left, r.top + cut], [r.right, r.top + cut], [r.right, r.bottom - cut], [r.left, r.bottom - cut]];
  });
}

function apart(one, other) {
  for (const shape of [one, other])
    for (let k = 0; k < 4; k++) {
      const [x0, y0] = shape[k], [x1, y1] = shape[(k + 1) % 4], across = ([x, y]) => (y1 - y0) * x - (x1 - x0) * y;
      const a = one.map(across), b = other.map(across), near = 0.5 * Math.hypot(x1 - x0, y1 - y0);
      if (Math.max(...a) <= Math.min(...b) + near || Math.max(...b) <= Math.min(...a) + near) return true;
    }
  return false;
}

function channels(color) {
  const numbers = color.match(/[\d.]+/g).map(Number);
  return numbers.length > 3 ? numbers : [...numbers, 1];
}

function over(top, below) {
  return below.map((value, k) => top[3] * top[k] + (1 - top[3]) * value);
}

function light(rgb) {
  const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

/* What lies behind a point of a text: panels, and shapes that were drawn before it. */
function behind(x, y, text, inside) {
  const style = element => inside.defaultView.getComputedStyle(element);
  let seen = [255, 255, 255];
  for (const element of inside.elementsFromPoint(x, y).reverse()) {
    if (element === text || text.contains(element) || element.localName === "text") continue;
    const of = style(element), shape = element.ownerSVGElement && !["svg", "g"].includes(element.localName);
    if (shape && (of.fill === "none" || of.stroke !== "none")) continue;  // lines are thin
    const [r, g, b, a] = channels(shape ? of.fill : of.backgroundColor);
    seen = over([r, g, b, shape ? a * of.fillOpacity * of.opacity : a], seen);
  }
  return seen;
}

frame.onload = () => {
  const inside = frame.contentDocument, root = inside.documentElement, view = inside.defaultView;
  inside.querySelectorAll("details").forEach(folded => folded.open = true);
  const walker = inside.createTreeWalker(inside.body, NodeFilter.SHOW_TEXT), boxes = [], faint = [], sizes = new Set();
  const outside = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.parentElement;
    if (!node.data.trim() || text.closest("title, desc, [aria-hidden]") || !text.getClientRects().length) continue;
    const drawn = text.closest("svg"), shapes = drawn ? [corners(text)] : lines(node, inside);
    const color = view.getComputedStyle(text)[drawn ? "fill" : "color"];
    for (const shape of shapes) {
      boxes.push({words: node.data.trim(), shape, text, top: Math.min(...shape.map(c => c[1]))});
      const x = 0.5 * (shape[0][0] + shape[2][0]), y = 0.5 * (shape[0][1] + shape[2][1]);
      const halo = drawn && view.getComputedStyle(text).stroke;
      const paper = drawn && halo !== "none" ? channels(halo).slice(0, 3) : behind(x, y, text, inside), seen = contrast(over(channels(color), paper), paper);
      if (seen < 4.5 && x < root.clientWidth) faint.push([node.data.trim(), +seen.toFixed(2), color, paper.join()]);
    }
    if (drawn) {
      sizes.add(view.getComputedStyle(text).fontSize);
      const paper = text.closest("svg[role]").getBoundingClientRect();
      if (shapes[0].some(([x, y]) => x < paper.left - 1 || x > paper.right + 1 || y < paper.top - 1 || y > paper.bottom + 1))
        outside.push(node.data.trim());
    }
  }
  const overlaps = [];
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((one, k) => {
    const end = Math.max(...one.shape.map(c => c[1]));
    for (let j = k + 1; j < boxes.length && boxes[j].top < end; j++)
      if (one.text !== boxes[j].text && !apart(one.shape, boxes[j].shape))
        overlaps.push([one.words, boxes[j].words]);
  });
  const unreached = [], unmarked = [];
  for (const element of inside.querySelectorAll("summary, a")) {
    element.focus();
    if (inside.activeElement !== element) unreached.push(element.textContent);
    const ring = view.getComputedStyle(element);
    if (ring.outlineStyle === "none" || parseFloat(ring.outlineWidth) < 2) unmarked.push(element.textContent);
  }
  document.title = JSON.stringify({
    width: [root.clientWidth, root.scrollWidth], height: root.scrollHeight, texts: boxes.length,
    dark: light(channels(view.getComputedStyle(inside.body).backgroundColor)) < 0.2,
    overlaps, outside, faint, sizes: [...sizes], unreached, unmarked,
    charts: [...inside.querySelectorAll("figure svg[role]")].map(svg => [
      Math.round(svg.getBoundingClientRect().width), svg.closest("figure").clientWidth, svg.style.minWidth !== ""]),
  });
};
</script>
"""
