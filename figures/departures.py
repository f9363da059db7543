"""Draws departures.svg: how far sampling rules, fewer bits and speculation take the emitted token from the model's p.

See departures.md for what to look at.
"""

from pathlib import Path

import numpy as np

from course_lib.explore import style
from course_lib.explore.departures import departures_figure
from course_lib.speculation.departures import departures
from course_lib.speculation.words import Vocabulary, sample_text

N_PIECES = 256

if __name__ == "__main__":
    text = sample_text("prose")
    vocabulary = Vocabulary.train(text, N_PIECES)
    picture = departures_figure(departures(np.array(vocabulary.encode(text)), vocabulary.size))
    style.save_svg(picture, Path(__file__).with_suffix(".svg"), title="What departs from p", description=picture.alt)
