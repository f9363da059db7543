"""Running a submission where it can do no harm, and judging it where it has no say.

staging   what of the course's library a student's code may import
channel   frames between the two sides, capped and with deadlines
zygote    the process that has imported everything and forks one child a submission; knows no secret
student   the child: a notebook's cells in an IPython shell, check lines that hand over answers, sealed copies
judge     sends cells and steps, receives plain data, reaches the verdict
"""
