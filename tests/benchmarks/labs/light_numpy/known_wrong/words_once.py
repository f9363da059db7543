"""Each word counts once."""

replaces = ["words"]
loses = {"words": 1}


def words(text):
    return dict.fromkeys(text.split(), 1)
