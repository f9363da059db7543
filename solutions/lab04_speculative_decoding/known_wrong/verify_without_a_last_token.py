"""Exact under sampling, but when every drafted token stands it returns no token more."""

replaces = ["verify_draft"]
loses = {"verify_draft": 3.0}

right_verify = verify_draft


def verify_draft(draft_tokens, draft_probs, target_probs, random):
    return right_verify(draft_tokens, draft_probs, target_probs, random)[: len(draft_tokens)]
