"""HTML and Markdown by a student, with nothing left in it that could run in the reader's browser.

formgrader puts a notebook's outputs and texts into a page from which grades are changed: a script in either would run with the
instructor's rights, a tag that is not closed would swallow the page, and a style could lay a picture of points over the points.

What may stay is said once, by `is_plain`: listed tags, closed as they were opened, with listed attributes in quotes. Other HTML
is taken apart and put together again from those; what does not pass even then is shown as it was typed. Both take time in
proportion to the text, whatever it is: a parser that repairs HTML as browsers do (bleach, which nbconvert uses) took
minutes for 200 kB of tags inside tags.
"""

import re
from html import escape, unescape


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAGS = _words(
    "a abbr b blockquote br caption center circle code col colgroup dd del details div dl dt em figcaption figure g h1 h2 h3 "
    "h4 h5 h6 hr i img ins kbd li line ol p path polygon polyline pre rect s samp small span strong sub summary sup svg "
    "table tbody td text tfoot th thead title tr tt u ul var"
)
EMPTY = _words("br col hr img")
DRAWN = _words("circle line path polygon polyline rect")
ATTRIBUTES = _words(
    "align aria-label border colspan cx cy d dx dy fill fill-opacity font-size height open points r role rowspan rx ry scope "
    "start stroke stroke-dasharray stroke-opacity stroke-width style text-anchor title transform valign viewbox width x x1 "
    "x2 y y1 y2"
)
READ = _words("alt aria-label title")
STYLES = _words(
    "background background-color border border-bottom border-collapse border-color border-left border-radius border-right "
    "border-spacing border-style border-top color display fill font font-family font-size font-style font-variant-numeric "
    "font-weight line-height margin margin-bottom margin-top max-width opacity overflow-x padding padding-bottom "
    "padding-left padding-right padding-top stroke stroke-width text-align text-decoration vertical-align white-space width"
)
WRITTEN = _words(
    "b br code del details em i kbd s strong sub summary sup u"
)  # in an answer in words, without attributes
DEEPEST = 60

TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9-]*=(?:"[^"<>]*"|'[^'<>]*'))*)\s*(/?)>""")
ATTRIBUTE = re.compile(r"""([a-zA-Z][a-zA-Z0-9-]*)=(?:"([^"<>]*)"|'([^'<>]*)')""")
LOOSE_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>")
LOOSE_ATTRIBUTE = re.compile(r"""([a-zA-Z][\w:-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=]+)))?""")
UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\b[^<>]*>|\Z)", re.IGNORECASE | re.DOTALL)
# A style calls nothing but a colour; an attribute of a drawing calls nothing but a movement.
STYLE = re.compile(r"\s*([a-z-]+)\s*:(?:[\w\s.,%#+-]|\b(?:rgb|hsl)a?\([\d\s.,%]*\))*")
DRAWING = re.compile(r"(?:[\w\s.,%#+-]|\b(?:matrix|translate|scale|rotate|skew[XY])\([\d\s.,e+-]*\))*")
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*")
ADDRESS = re.compile(r"https?://[\w:/?#.,=%+~@!$;&-]*")
OPENS = re.compile(r"<(?=[a-zA-Z/!?])")
RUNS = re.compile(r"((?:j\s*a\s*v\s*a|v\s*b)\s*s\s*c\s*r\s*i\s*p\s*t)([\s\\]*:)", re.IGNORECASE)
# Between "<" and a letter it makes a text of what would be a tag, and is not seen.
APART = "\u200b"


def html(text: str) -> str:
    """HTML without whatever could run, fetch, or reach beyond its place."""
    if is_plain(text):
        return text
    rebuilt = _rebuilt(text)
    return rebuilt if is_plain(rebuilt) else f"<pre>{escape(text)}</pre>"


def markdown(text: str) -> str:
    """Markdown with its own marks and simple tags; other tags are shown as they were typed. Twice gives the same as once."""
    text = RUNS.sub(rf"\1{APART}\2", text)
    if RUNS.search(unescape(text)):
        text = text.replace("&", "&" + APART)
    return OPENS.sub(lambda found: found[0] if _is_written(text, found.start()) else "<" + APART, text)


def words(text: str) -> str:
    """Words that are no markup, such as a name: whatever would begin a tag is text."""
    return OPENS.sub("<" + APART, text)


def is_plain(text: str) -> bool:
    """Whether HTML is text and listed tags, properly nested, with listed and quoted attributes: then nothing in it can run."""
    rest, around = 0, list[str]()
    for tag in TAG.finditer(text):
        closes, name, closed = tag[1], tag[2].lower(), tag[4]
        attributes = [(key.lower(), double or single) for key, double, single in ATTRIBUTE.findall(tag[3])]
        if "<" in text[rest : tag.start()] or name not in TAGS:
            return False
        if not all(_is_harmless(name, key, value) for key, value in attributes):
            return False
        if closes:
            if not around or around.pop() != name:
                return False
        elif (name == "title" and "svg" not in around) or (closed and name not in EMPTY | DRAWN):
            return False
        elif name not in EMPTY and not closed:
            around.append(name)
            if len(around) > DEEPEST:
                return False
        rest = tag.end()
    return not around and "<" not in text[rest:]


def _is_harmless(tag: str, name: str, value: str) -> bool:
    """Whether an attribute is words to be read, or fetches and calls nothing."""
    if name == "style":
        return all(_is_style(part) for part in value.split(";") if part.strip())
    if name == "src":
        return tag == "img" and PICTURE.fullmatch(value) is not None
    if name == "href":
        return tag == "a" and ADDRESS.fullmatch(value) is not None
    return name in READ or (name in ATTRIBUTES and DRAWING.fullmatch(value) is not None)


def _is_style(text: str) -> bool:
    found = STYLE.fullmatch(text)
    return found is not None and found[1] in STYLES


def _is_written(text: str, start: int) -> bool:
    tag = TAG.match(text, start)
    return tag is not None and tag[2].lower() in WRITTEN and not tag[3]


def _rebuilt(text: str) -> str:
    """HTML of what is harmless in `text`: unknown tags go and leave what is in them, open ones are closed."""
    text = UNSEEN.sub("", text)
    rest, parts, around = 0, list[str](), list[str]()
    for tag in LOOSE_TAG.finditer(text):
        parts.append(_as_text(text[rest : tag.start()]))
        rest = tag.end()
        name = tag[2].lower()
        if tag[1]:
            while name in around:
                parts.append(f"</{around[-1]}>")
                if around.pop() == name:
                    break
        elif name in TAGS and name != "title" and len(around) < DEEPEST:
            parts.append(f"<{name}{_attributes(name, tag[3])}>")
            if name not in EMPTY:
                around.append(name)
                if tag[3].endswith("/"):
                    parts.append(f"</{around.pop()}>")
    parts.append(_as_text(text[rest:]))
    return "".join([*parts, *(f"</{name}>" for name in reversed(around))])


def _attributes(tag: str, text: str) -> str:
    kept = dict[str, str]()
    for name, *values in LOOSE_ATTRIBUTE.findall(text):
        name, value = name.lower(), "".join(values)
        if name == "style":
            value = ";".join(part for part in value.split(";") if _is_style(part))
        if _is_harmless(tag, name, value):
            kept.setdefault(name, value.replace('"', "&quot;"))
    return "".join(f' {name}="{value}"' for name, value in kept.items())


def _as_text(text: str) -> str:
    return text.replace("<", "&lt;")
