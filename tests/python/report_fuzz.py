"""Pages of reports whose texts try to become mark-up: ids, names of responses and columns, levels, titles,
words. Every page is held against the one of harmless texts of the same lengths: the same elements, no other
attributes than ours, nothing that could run or load, valid UTF-8, no control characters. And what a page
promises of itself: its policy admits its own style and script, and no address leads out of it.
   report_fuzz.py report_page [seeds]"""
import base64
import hashlib
import html.parser
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HOSTILE = [
    b"<script>alert(1)</script>", b"</script><script>alert(1)</script>", b"</style><style>*{}</style>",
    b"\"><img src=x onerror=alert(1)>", b"' onmouseover='alert(1)", b"\" onfocus=\"alert(1)\" autofocus=\"",
    b"</svg></title><svg onload=alert(1)>", b"]]><![CDATA[<b>", b"<!-- ", b"--><img src=x>",
    b"&lt;b&gt; &amp;amp; &#60;i&#62; &#x3c;", b"javascript:alert(1)", b"data:text/html,<script>alert(1)</script>",
    b"a\xe2\x80\xaegpj.exe\xe2\x81\xa6\xe2\x80\x8f", b"line\nbreak\ttab\rreturn\x01\x1f\x7f\xc2\x85",
    b"\xe2\x80\xa8 and \xe2\x80\xa9 and \xef\xbb\xbf and \xef\xbf\xbf", b"broken \xff\xc3 \xf0\x9f\x92 \xed\xa0\x80",
    b"\xc0\xbcscript\xc0\xbe overlong", b"{{7*7}} ${x} %s %n %d %1000000f", b"../../etc/passwd\\..\\",
    b"x" * 400, b"<" * 300, b"\xcc\x81" * 200, "\U0001f9e0 Ünïcödé 脳".encode(), b"", b" ", b"-", b"=1+1", b"n/a",
    b"<base href=//evil.example>", b"<meta http-equiv=refresh content=0>", b"<a href=javascript:alert(1)>x</a>",
    b"<iframe srcdoc=x>", b"<form action=//evil.example><input>", b"<details open ontoggle=alert(1)>",
    b"<math><mi//xlink:href=\"data:x,<script>alert(1)</script>\">", b"\\u003cscript\\u003e", b"</textarea></select>",
]
KINDS = ["table", "change", "volume", "table"]
TAGS = set("""html head meta title style body header nav main section footer a ul li h1 h2 h3 h4 p div span b strong small
figure figcaption svg g path line rect circle polygon polyline text tspan desc defs use image img table caption thead
tbody tr th td dl dt dd details summary pre code script button label select option input canvas output
small""".split())
VOID = {"meta", "img", "input"}
ATTRIBUTES = set("""lang charset http-equiv content name class id href src alt title role scope tabindex hidden open
for type value placeholder autocomplete spellcheck width height viewbox xmlns d x y x1 x2 y1 y2 cx cy r points
transform text-anchor aria-label aria-labelledby aria-describedby aria-hidden aria-pressed aria-sort data-p data-figure
data-copy data-card data-axis min max step checked fill dx dy textlength lengthadjust rx""".split())
ID = re.compile(r"(h-)?(summary|cohort|model|curves|people|group|change|methods|reproduce)|(row|card|curve|z)\d+|"
                r"which-curve|find|find-next|found|fold|ids|less|ground|bar-z|bar-value|methods-text|"
                r"viewer-(space|mask|ground)|f\d+[td]")
HREF = re.compile(r"#[a-z]+(-[a-z]+)?\d*|data:image/png;base64,[A-Za-z0-9+/]*=*")
SCRIPT = {"application/json", "application/octet-stream", None}


class Page(html.parser.HTMLParser):
    """Tags in their order with their attributes' names; faults as sentences."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.faults, self.ids, self.links, self.data = [], [], [], [], [], {}
        self.texts, self.policy, self.kept = [], "", None
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.tags.append((tag, tuple(sorted(own))))
        if tag not in TAGS:
            self.faults.append(f"<{tag}> is not ours")
        if len(own) != len(attributes):
            self.faults.append(f"<{tag}> has an attribute twice")
        for name, value in own.items():
            if name not in ATTRIBUTES:
                self.faults.append(f"<{tag} {name}> is not ours")
            if name in ("href", "src") and not HREF.fullmatch(value or ""):
                self.faults.append(f"<{tag} {name}={value!r}> leads elsewhere")
            if name == "id":
                self.ids.append(value)
                if not ID.fullmatch(value or ""):
                    self.faults.append(f"id {value!r} is not ours")
            if name == "data-p" and not re.fullmatch(r"\d+", value or ""):
                self.faults.append(f"data-p {value!r}")
        if tag == "a" and "href" in own:
            self.links.append(own["href"][1:])
        if tag == "use":
            self.links.append(own["href"][1:])
        if own.get("http-equiv") == "Content-Security-Policy":
            self.policy = own["content"]
        if tag == "script" and own.get("type") not in SCRIPT:
            self.faults.append(f"a script of type {own.get('type')}")
        if tag in ("script", "style"):
            self.kept = (tag, own.get("type"), own.get("id"))
            self.data.setdefault(self.kept, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()
        self.kept = None

    def handle_data(self, data):
        if self.kept:
            self.data[self.kept][-1] += data
        elif data.strip():
            self.texts.append(data)

    def handle_comment(self, data):
        self.faults.append(f"a comment: {data[:40]!r}")

    def handle_pi(self, data):
        self.faults.append(f"an instruction: {data[:40]!r}")

    def unknown_decl(self, data):
        self.faults.append(f"a declaration: {data[:40]!r}")


def sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def promises(page, text):
    """What every page says of itself."""
    faults = list(page.faults)
    if len(set(page.ids)) != len(page.ids):
        faults.append(f"an id twice: {sorted(i for i in page.ids if page.ids.count(i) > 1)[:3]}")
    faults += [f"#{link} is nowhere" for link in page.links if link not in page.ids]
    control = re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]", text)
    if control:
        faults.append(f"a control character U+{ord(control[0]):04X}")
    inside = [d for (tag, kind, _), each in page.data.items() for d in each if kind is None]
    outward = [d[m.start() - 20:m.end() + 20] for d in inside for m in re.finditer(r"url\(|@import|https?:|import\(|fetch\(", d)]
    if outward:
        faults.append(f"style or script that leads out of the page: {outward[0]!r}")
    for d in inside:
        if f"'sha256-{sha256(d)}'" not in page.policy:
            faults.append("style or script that the policy does not admit")
    if page.policy.count("sha256-") != len(inside) or "unsafe" in page.policy:
        faults.append(f"the policy: {page.policy}")
    if not page.policy.startswith("default-src 'none'; img-src data:; "):
        faults.append(f"the policy begins with {page.policy[:60]}")
    for (tag, kind, name), each in page.data.items():
        if kind == "application/json":
            json.loads(each[0])
        if kind == "application/octet-stream" and not re.fullmatch(r"[A-Za-z0-9+/]*=*", each[0]):
            faults.append(f"{name} is not base64")
    if not text.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'):
        faults.append("it does not begin as it should")
    return faults


def draw(program, work, kind, texts):
    given, out = work / "texts", work / "page.html"
    given.write_bytes(b"".join(t + b"\0" for t in texts))
    ran = subprocess.run([program, kind, out, given], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{kind}: {ran.stderr}")
    text = out.read_bytes().decode("utf-8")  # strict: a page that is not UTF-8 ends the test
    return Page(text), text


def some(rng):
    """A text: hostile, random bytes, or some of each."""
    noise = bytes(rng.randrange(1, 256) for _ in range(rng.choice([1, 5, 30, 90])))
    sharp = bytes(rng.choice(b"<>&\"'/=! -;#xscript\xe2\x80\xaeon") for _ in range(rng.choice([3, 20, 80])))
    return rng.choice([noise, sharp, rng.choice(HOSTILE), rng.choice(HOSTILE) + noise, sharp + rng.choice(HOSTILE)])


def harmless(texts):
    """As many characters each, so that what is cut is cut alike, equal where they were equal, and letters only."""
    letters, numbers, out = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", {}, []
    for text in texts:
        number, word = numbers.setdefault(text, len(numbers)), ""
        for _ in text.decode("utf-8", "replace"):
            word, number = word + letters[number % 52], number // 52
        out.append(word.encode())
    return out


def main():
    program, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120
    if os.environ.get("KN_TEST_REPEAT") == "few":
        seeds = 24
    bad = pages = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        # the checks see what they should see
        for wrong in ["<p onclick=x>a</p>", "<p style=x>a</p>", "<img src=http://x/y.png>", "<b><i>a</b>", "<p>a", "<!-- x -->"]:
            assert Page(wrong).faults, wrong
        for seed in range(seeds):
            rng, kind = random.Random(seed), KINDS[seed % len(KINDS)]
            if seed < 16:  # each kind at many places; long ones are in an attribute too
                texts = [t + b"-long" * 14 * (seed // 4 % 2) for t in HOSTILE[3 * seed:] + HOSTILE[:3 * seed]]
            else:
                texts = [some(rng) for _ in range(97)]
            page, text = draw(program, work, kind, texts)
            plain, plain_text = draw(program, work, kind, harmless(texts))
            faults = promises(page, text) + promises(plain, plain_text)
            if page.tags != plain.tags:
                at = next((k for k, (a, b) in enumerate(zip(page.tags, plain.tags)) if a != b), -1)
                faults.append(f"{len(page.tags)} elements, {len(plain.tags)} of harmless texts; "
                              f"first other: {page.tags[at]}, {plain.tags[at]}")
            pages += 2
            for fault in faults[:5]:
                bad += 1
                print(f"seed {seed}, {kind}: {fault}")
    print(f"{pages} pages, {bad} faults")
    return bad > 0


sys.exit(main())
