"""Tables for the command line's tests: films with plots, posts with tags."""

import csv
import random

VOCABULARY = {
    "drama": "family loss love memory tears marriage hospital mother letter winter",
    "comedy": "joke wedding prank awkward roommate dog vacation laugh party mistaken",
    "crime": "detective murder heist gang police witness robbery evidence prison revenge",
}
_OTHERS = "a the man woman finds city returns young old friend story day must when"
FILM_COLUMNS = ["id", "plot", "country", "runtime", *VOCABULARY]


def films(n, seed=0, first=0):
    """Return rows of identifier, plot, country, runtime (some missing) and three labels."""
    rng = random.Random(seed)
    rows = []
    for i in range(first, first + n):
        tags = [tag for tag in VOCABULARY if rng.random() < 0.4] or [rng.choice(list(VOCABULARY))]
        words = [rng.choice(_OTHERS.split()) for _ in range(8)]
        words += [rng.choice(VOCABULARY[tag].split()) for tag in tags for _ in range(5)]
        rng.shuffle(words)
        runtime = "" if i % 11 == 5 else rng.randint(80, 150)
        country = rng.choice(["us", "fr", "in", "uk"])
        marks = [int(tag in tags) for tag in VOCABULARY]
        rows.append([f"tt{i:04}", " ".join(words) + ".", country, runtime, *marks])
    return rows


def write_films(path, n, seed=0, first=0, labels=True, **options):
    """Write such rows as CSV."""
    columns = FILM_COLUMNS if labels else FILM_COLUMNS[:4]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **options)
        writer.writerow(columns)
        writer.writerows(row[: len(columns)] for row in films(n, seed, first))
    return path


def write_posts(path, n, seed=0):
    """Write texts with one column of tags."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "tags"])
        for row in films(n, seed):
            tags = [tag for tag, mark in zip(VOCABULARY, row[4:], strict=True) if mark]
            writer.writerow([row[1], "; ".join(tags)])
    return path


def write_numbers(path, n=30, seed=0):
    """Write two numeric columns and two labels that depend on them."""
    rng = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "z", "a", "b"])
        for _ in range(n):
            x, z = rng.gauss(0, 1), rng.gauss(0, 1)
            writer.writerow([x, z, int(x > 0), int(z > 0.3)])
    return path
