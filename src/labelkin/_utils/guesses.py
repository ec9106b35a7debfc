"""What was guessed about a file, with the arguments that override the guess."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """What was guessed, in a few words, and the arguments that override it, if any can."""

    text: str
    arguments: tuple[str, ...]
