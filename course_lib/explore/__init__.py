"""Explorers: pictures that move with sliders, predictions locked before a measurement, reference runs, the plot style.

Everything here works without a notebook too: an explorer then gives its still picture and its reading in words.
"""

from course_lib.explore import reference, style
from course_lib.explore.controls import Choice, Slider
from course_lib.explore.frame import Explorer, animated
from course_lib.explore.prediction import Prediction

__all__ = ["Choice", "Explorer", "Prediction", "Slider", "animated", "reference", "style"]
