"""The parts of `accept.py`; its first lines are the map."""
