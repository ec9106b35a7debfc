"""What was guessed about a file, with the arguments that override the guess."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """One guess.

    Parameters
    ----------
    text : str
        What was guessed, in a few words.
    arguments : tuple of str
        Names of the arguments that override it; none where the cells leave no doubt.
    """

    text: str
    arguments: tuple[str, ...]
