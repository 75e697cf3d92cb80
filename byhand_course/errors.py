"""The one kind of error that a person's input may cause: a sentence, never a traceback."""


class Refused(Exception):
    """What was found and what to do, in one clear sentence; the commands print it and stop."""
