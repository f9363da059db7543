"""How a lab is proved: what is tried (rows.py), in which processes (apart.py), and how it is shown (table.py)."""
