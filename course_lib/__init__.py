"""Tokens per Second: how language models run. The mechanisms, the checks and the explorers behind the course.

Nothing is imported here, so that `import course_lib` costs nothing: take what you need by its own name, for example
`from course_lib.costs import kv_cache_bytes`.
"""

__version__ = "0.1.0"
