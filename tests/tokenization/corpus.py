"""A mixed text of any length: code, prose, twenty languages, emoji, numbers, and blanks of all kinds, the same every time.

The languages' sentences are few, so their words are shuffled and their scripts mixed by a seed; code and prose are what every
Python has. What a tokenizer stumbles over is put in between: contractions in capitals, runs of marks, blanks and line ends.
"""

import random
from functools import lru_cache

from course_lib.speculation.words import real_text, sample_text
from course_lib.tokenization.costs import languages

EMOJI = ["🙂", "👩\u200d👩\u200d👧", "🇫🇷", "👍🏽", "🫠", "❤\ufe0f", "𝔘𝔫𝔦", "𐍈", "①②", "½", "٣٤", "१२३"]
ODD = [
    *("I'LL", "it's", "we've'", "'ſ", "don’t", "x\u0301y", "ﬁn", "İstanbul", "ǅ", "1234567.89", "0x1F", "a1b22c333"),
    *("  ", "\t", "\n", "\r\n", " \n \n", "\u00a0", "\u3000", "\u2028", "\x1c", "\x85", "    ", "\n\n\n"),
    *("...", "!?!?", " //", "</p>", "===>", "'", "''", '"', "_", "__init__", "\x00", "\u200b", "\ufeff", "\uffff"),
]


@lru_cache
def mixed_text(characters: int, seed: int = 0) -> str:
    """So many characters of everything."""
    rng = random.Random(seed)
    words = [word for text in languages().values() for word in text.split(" ")]
    letters = sorted(set("".join(languages().values())))
    sources = [real_text("code", characters) if characters > 60_000 else sample_text("code"), sample_text("prose")]
    parts, length = [], 0
    while length < characters:
        kind = rng.random()
        if kind < 0.45:
            source = rng.choice(sources)
            start = rng.randrange(len(source) - 400)
            part = source[start : start + 400]
        elif kind < 0.6:
            part = rng.choice([*languages().values()]) + "\n"
        elif kind < 0.8:
            part = " ".join(rng.choices(words, k=20)) + rng.choice(["", " ", "\n", ". "])
        elif kind < 0.9:
            part = "".join(rng.choices([*letters, *EMOJI, *ODD], k=30))
        else:
            part = rng.choice(["", " "]).join(rng.choices([*EMOJI, *ODD, str(rng.randrange(10**9))], k=8))
        parts.append(part)
        length += len(part)
    return "".join(parts)[:characters]
