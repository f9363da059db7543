"""Runs the target once for each row; one run gives them all."""

replaces = ["speculative_decode"]
loses = {"speculative_decode": 1.0}


def speculative_decode(draft, target, prompt, n_new, gamma, random):
    ids = list(prompt)
    while len(ids) < len(prompt) + n_new:
        ahead, rows = list(ids), []
        for _ in range(gamma):
            row = draft([ahead], 1)[:, 0]
            ahead.append(int(sample(row, random(1))[0]))
            rows.append(row)
        drafted = np.array([ahead[len(ids) :]])
        target_rows = np.concatenate([target([ahead[: len(ids) + i]], 1) for i in range(gamma + 1)], axis=1)
        tokens, accepted = verify(drafted, np.stack(rows, axis=1), target_rows, random(1, gamma + 1))
        ids += tokens[0, : accepted[0] + 1].tolist()
    return ids[len(prompt) : len(prompt) + n_new]
