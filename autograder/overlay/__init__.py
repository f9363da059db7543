"""A private overlay: what an instructor adds to a public lab, from a folder outside the repository whose answers are public.

    DIR/<lab>/overlay.py                      loaded after checks.py and hidden.py, in the same package: `from .checks import lab`
    DIR/<lab>/*.py                            what it imports, where one file would be too long
    DIR/<lab>/variants/<item>/<variant>.py    the section of an exercise in another form, in percent format

In `overlay.py`, `@lab.hidden("softmax")` adds cases that only grading runs, `@lab.personal` draws numbers for each student, which
cases find in `draw.mine`, and `@lab.variant("softmax", "masked", target="…")` gives the visible cases of a variant, with
`@lab.hidden("softmax", variant="masked")` for more. In the text and code of a variant, `{{n}}` stands for the number n. Which
variant a student gets is drawn as their numbers are: from the course's key, the lab and the student. So all of it stays
theirs from one hand-in to the next.
"""
