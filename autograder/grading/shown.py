"""What a notebook showed, as the judge takes it: plain outputs of nbformat's kinds, and its own reports in their places."""

from typing import Any

REPORT = {"output_type": "report"}  # keeps a place


def clean(outputs: Any) -> list[dict]:
    """Outputs as nbformat wants them; what is none is left out."""
    if not isinstance(outputs, list):
        return []
    return [_whole(one) for output in outputs if (one := _output(output)) is not None]


def placed(outputs: list[dict], reports: list[dict]) -> list[dict]:
    """A cell's outputs with the judge's reports in the places that were kept for them; what has no place comes last."""
    waiting = map(_whole, reports)  # which say what an answer gave, in its own letters
    shown = [next(waiting, None) if output == REPORT else output for output in outputs]
    return [*(output for output in shown if output is not None), *waiting]


def whole(text: str) -> str:
    """A text that can be written: half of a surrogate pair, which JSON lets through, cannot."""
    return text.encode("utf-8", "replace").decode()


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(part) for key, part in value.items()}
    return [_whole(part) for part in value] if isinstance(value, list) else value


def _output(output: Any) -> dict | None:
    match output:
        case {"output_type": "report"}:
            return REPORT
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": str(text)}:
            return {"output_type": "stream", "name": name, "text": text}
        case {"output_type": "error", "ename": str(kind), "evalue": str(said), "traceback": list(lines)}:
            return {"output_type": "error", "ename": kind, "evalue": said, "traceback": [str(line) for line in lines]}
        case {"output_type": "display_data" | "execute_result" as kind, "data": dict(data), "metadata": dict(metadata)}:
            shown = {"output_type": kind, "data": _texts(data), "metadata": _texts(metadata)}
            return shown if kind == "display_data" else {**shown, "execution_count": None}
    return None


def _texts(data: dict) -> dict:
    return {key: value for key, value in data.items() if isinstance(key, str)}
