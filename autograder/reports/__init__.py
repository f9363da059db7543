"""What an instructor reads and hands on: a grade explained, a class in numbers, a change weighed, a sheet for each platform.

standing    where each student stands in a lab: receipt and gradebook, put together
export      grades for nbgrader, Gradescope, Canvas and Moodle (`filling`); a state never becomes a zero on the way
show        the evidence for one grade
stats       a class's scores, checks, known mistakes and states, as a table and as a picture
whatif      grades again beside the receipts: who would gain or lose, or whether a receipt is reproduced
gradescope  a receipt in Gradescope's form; `packing` makes the zip that grades there

What a student's process said is printed with its control characters made visible, so that no terminal obeys it.
"""
