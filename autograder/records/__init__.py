"""What is kept of a grading, so that a grade can be shown, explained, reproduced and corrected by a person.

receipts    the evidence of each submission as a file of its own; one grader at a time
identity    the course's key, the seed of a submission, and what decides whether it must be graded again
gradebook   nbgrader's gradebook, where formgrader and every export find the points; entry, marks and remarks are its parts
notebooks   the notebook as it ran, for formgrader and for feedback
showing     what of an output may be shown in an instructor's browser; markup is its part
lateness    due dates, extensions and penalties, as nbgrader has them
course      where an nbgrader course keeps all this

The order of writing is notebook, receipt, gradebook. What is cut short before the receipt is written is graded again, to the
same receipt; what is cut short after it is mended by `gradebook.reconcile`, which every grader runs before it grades.
"""
