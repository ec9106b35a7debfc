"""Texts as features: words, n-grams, and embeddings, in which words of similar meaning are near."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.labels import is_missing
from labelkin._utils.optional import import_optional

Embed = Callable[[list[str]], Any]

STATIC_COLUMNS = 256
"""Numbers of a static embedding."""

_BATCH = 4_096
_PARTS = ("wordllama", "safetensors", "tokenizers")

# Thai, Lao, Burmese, Khmer, Japanese and Chinese letters, and sequences: capitals and letters of
# DNA, as no word has them, letters beyond the length of German words, and formulas with brackets
# inside (SMILES); a share of both from which texts have no spaces between words, and the number of
# texts that are looked at.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_SEQUENCE = re.compile(
    r"[A-Z*-]{15,}|[acgtun-]{15,}|[^\W\d_]{40,}"
    r"|(?=.*[A-Za-z0-9][(\[])(?=.*[)\]][A-Za-z(\[])[\w()\[\]=#@+/\\.%*$-]{10,}"
)
_UNSPACED_SHARE, _UNSPACED_TEXTS = 0.3, 1_000

# Parameters of the vectorizers of n-grams, the most of each kind (with twice as many, regressions
# are no better), and about how many of them different ones a text has per character.
_KINDS: dict[str, dict[str, Any]] = {
    "pairs": {"ngram_range": (2, 2)},
    "parts": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
_MOST_NGRAMS = 50_000
_PER_CHARACTER = {"words": 0.15, "pairs": 0.15, "parts": 2.0}
# With more n-grams than this in all texts, they would take more than about a gigabyte.
_MOST_VALUES = 4e7

# Letters of words, with the vowel signs of Indian scripts, and emojis and other pictures, which are
# words by themselves.
_LETTERS, _PICTURES = r"\w\u0900-\u0dff", r"\u2190-\u2bff\U0001f000-\U0001faff"
TOKENS = rf"[{_LETTERS}]+[+#]*|[{_PICTURES}]|[^\s{_LETTERS}{_PICTURES}]{{2,}}|[!?]"
"""What counts as a word: also a single letter, C++, an emoji, and marks such as :) and !"""


def can_embed() -> bool:
    """Return whether the packages of ``labelkin[text]`` are installed."""
    return all(find_spec(package) is not None for package in _PARTS)


@cache
def _static_embeddings() -> tuple[Any, np.ndarray]:
    """Return the tokenizer and the vectors of its tokens that come with the package wordllama."""
    # The files alone: its own loader looks for them elsewhere, or downloads them.
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        import_optional("wordllama", "text")
    folder = Path(spec.submodule_search_locations[0])  # type: ignore[union-attr,index]
    tokenizers = import_optional("tokenizers", "text")
    load = import_optional("safetensors.numpy", "text").load_file
    tokenizer = tokenizers.Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (vectors,) = load(folder / "weights" / "l2_supercat_256.safetensors").values()
    return tokenizer, vectors.astype(np.float32)


def static_embeddings(texts: list[str]) -> np.ndarray:
    """Return the mean of the vectors of each text's tokens, of shape (n_texts, 256)."""
    tokenizer, vectors = _static_embeddings()
    tokens = [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
    sizes = np.array([len(one) for one in tokens])
    indices = np.concatenate([np.empty(0, int), *tokens]).astype(np.intp)
    share = np.repeat(1 / np.maximum(sizes, 1), sizes).astype(np.float32)
    shape = len(texts), len(vectors)
    counts = sparse.csr_array((share, indices, np.append(0, np.cumsum(sizes))), shape=shape)
    return counts @ vectors


def _texts(X: Any) -> list[str]:
    """Return texts, given as a list or as one column, as a list; missing ones are empty."""
    if isinstance(X, str):
        raise ValueError("X must be a list of texts, not one text: pass [X].")
    return ["" if is_missing(text) else str(text) for text in np.asarray(X, dtype=object).ravel()]


class TextEmbedding(TransformerMixin, BaseEstimator):
    """Embeddings of texts, in rows of length 1.

    Parameters
    ----------
    embed : callable, default=None
        A function from a list of texts to an array with one row per text, such as one that calls
        the method ``encode`` of a model of sentence-transformers; it can be saved if it is one of
        a module. None: the mean of the static embeddings of a text's tokens, 256 numbers, which
        the package wordllama contains; nothing is downloaded (``pip install 'labelkin[text]'``).

    Attributes
    ----------
    n_columns_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin.tabular import TextEmbedding
    >>> def embed(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> TextEmbedding(embed).fit_transform(["a cat", "the dog barks"]).shape
    (2, 2)
    """

    def __init__(self, embed: Embed | None = None) -> None:
        self.embed = embed

    def fit(self, X: Any, y: Any = None) -> "TextEmbedding":
        """Learn the number of columns; nothing else is learned."""
        self.n_columns_ = self._embed(_texts(X)[:1] or [""]).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the embeddings of texts."""
        check_is_fitted(self)
        texts = _texts(X)
        parts = [self._embed(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)]
        return normalize(np.concatenate([np.empty((0, self.n_columns_), np.float32), *parts]))

    def _embed(self, texts: list[str]) -> np.ndarray:
        embed = static_embeddings if self.embed is None else self.embed
        if not callable(embed):
            raise ValueError(f"an embedding must be a function of texts or None, got {embed!r}.")
        found = np.asarray(embed(texts), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts):
            raise ValueError(
                f"embed must return one row per text, shape ({len(texts)}, n), got {found.shape}."
            )
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the numbered names of the columns."""
        name = self.explained_name(input_features)
        return np.array([f"{name} {i}" for i in range(self.n_columns_)], dtype=object)

    def explained_name(self, input_features: Any = None) -> str:
        """Return the name of all columns together: one alone means nothing."""
        return "meaning" if input_features is None else f"meaning of {input_features[0]}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def is_unspaced(texts: Iterable[str]) -> bool:
    """Return whether texts have no spaces between words, as in Chinese, DNA and formulas."""
    parts = [part for text in islice(texts, _UNSPACED_TEXTS) for part in text.split()]
    sizes = [len(part if _SEQUENCE.fullmatch(part) else _UNSPACED.findall(part)) for part in parts]
    return sum(sizes) > _UNSPACED_SHARE * sum(map(len, parts))


def has_words(text: str) -> bool:
    """Return whether a text has a word, or what counts as one, such as an emoji."""
    return re.search(TOKENS, text) is not None


def count_words(text: str) -> int:
    """Return the number of words of a text, estimated where there are no spaces between them."""
    parts = text.split()
    n_more = sum(len(part) // 15 for part in parts if _SEQUENCE.fullmatch(part))
    return len(parts) + n_more + len(re.findall(f"{_UNSPACED.pattern}{{4}}", text))


def affordable_ngrams(n_texts: int, n_characters: int, n_labels: int) -> tuple[str, ...]:
    """Return the kinds of n-grams that a logistic regression of all labels should have.

    They are those that improve its predictions and that Kin has time for.
    """
    from labelkin.kin import Limits  # only where it is used

    limits, found = Limits(), []
    n_values = n_texts * STATIC_COLUMNS + n_characters * _PER_CHARACTER["words"]
    for kind in _KINDS:
        n_values += n_characters * _PER_CHARACTER[kind]
        seconds = limits.linear_seconds(n_values, n_texts, n_labels, with_ngrams=True)
        if n_values <= _MOST_VALUES and seconds <= limits.linear_share * limits.seconds:
            found.append(kind)
    return tuple(found)


def make_vectorizer(unspaced: bool, max_features: int | None = None) -> TfidfVectorizer:
    """Return an unfitted vectorizer of words or, of unspaced texts, of one to three characters."""
    options: dict[str, Any] = {"sublinear_tf": True, "max_features": max_features}
    if unspaced:
        return TfidfVectorizer(analyzer="char", ngram_range=(1, 3), **options)
    return TfidfVectorizer(strip_accents="unicode", token_pattern=TOKENS, **options)


class NGrams(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """TF-IDF weights of pairs of words and of parts of words, of 2 to 5 characters.

    `kinds` are "pairs", "parts" or both, `most` the maximum number of each. Of a thousand texts and
    more, n-grams of single texts are left out. `vectorizers_` are those of kinds that occur.
    """

    def __init__(self, kinds: Iterable[str] = tuple(_KINDS), most: int = _MOST_NGRAMS) -> None:
        self.kinds = kinds
        self.most = most

    def fit(self, X: Any, y: Any = None) -> "NGrams":
        """Learn the n-grams and their weights from texts."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        """Learn from texts, and return their n-grams."""
        options: dict[str, Any] = {"sublinear_tf": True, "strip_accents": "unicode"}
        options |= {"max_features": self.most, "min_df": 2 if len(X) >= 1_000 else 1}
        self.vectorizers_, found = [], [sparse.csr_matrix((len(X), 0))]
        for kind in self.kinds:
            vectorizer = TfidfVectorizer(**options, **_KINDS[kind])
            try:
                found.append(vectorizer.fit_transform(X))
            except ValueError as error:
                if "vocabulary" not in str(error) and "no terms" not in str(error):
                    raise
                continue  # texts of single words have no pairs
            self.vectorizers_.append(vectorizer)
        return sparse.hstack(found, format="csr")

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the n-grams of texts."""
        check_is_fitted(self)
        found = [one.transform(X) for one in self.vectorizers_]
        return sparse.hstack([sparse.csr_matrix((len(X), 0)), *found], format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the n-grams."""
        names = [one.get_feature_names_out() for one in self.vectorizers_]
        return np.concatenate([np.empty(0, object), *names])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


class TextFeatures(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Words of texts, embeddings, and optionally n-grams, side by side in one sparse matrix.

    Words are weighted by TF-IDF. Words of similar meaning have similar embeddings, also if they
    never occur together in training; this helps most with few or short texts. In texts without
    spaces between words, such as Chinese ones and sequences of DNA, one to three characters take
    the place of words.

    Parameters
    ----------
    ngrams : bool, default=False
        Whether pairs of words and parts of words of 2 to 5 characters are features as well. They
        help logistic regression on 3,000 texts or more, and take three times its time or more.
        `TableClassifier` uses them by itself.
    embedding : {"auto"}, callable or None, default="auto"
        A function from texts to an array, as in `TextEmbedding`; None: no embeddings. "auto":
        static embeddings, where ``labelkin[text]`` is installed.
    max_features : int, default=None
        Maximum number of words, of pairs and of parts of words; None: all words, and 50,000 of each
        of the others.

    Attributes
    ----------
    words_ : TfidfVectorizer
        The fitted vectorizer of words.
    embedding_ : TextEmbedding or None
        The fitted embedding.
    ngrams_ : NGrams or None
        The fitted vectorizers of n-grams.
    n_embedding_, n_ngrams_ : int
        Numbers of columns of embeddings and, the last ones, of n-grams: parameters of
        `KinEnsembleClassifier`. Static embeddings have 256.

    Examples
    --------
    >>> from labelkin.tabular import TextFeatures
    >>> TextFeatures(embedding=None).fit_transform(["a cat sleeps", "the dog barks"]).shape
    (2, 6)
    """

    def __init__(
        self,
        ngrams: bool = False,
        *,
        embedding: str | Embed | None = "auto",
        max_features: int | None = None,
    ) -> None:
        self.ngrams = ngrams
        self.embedding = embedding
        self.max_features = max_features

    def fit(self, X: Any, y: Any = None) -> "TextFeatures":
        """Learn the words and their weights from texts."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        """Learn from texts, and return their features."""
        texts = _texts(X)
        self.words_ = make_vectorizer(is_unspaced(texts), self.max_features)
        self.embedding_ = None
        if self.embedding is not None and (self.embedding != "auto" or can_embed()):
            embed = None if self.embedding == "auto" else self.embedding
            self.embedding_ = TextEmbedding(embed)  # type: ignore[arg-type]
        self.ngrams_ = NGrams(most=self.max_features or _MOST_NGRAMS) if self.ngrams else None
        found = [sparse.csr_matrix(part.fit_transform(texts)) for part in self.parts]
        self.n_embedding_ = found[1].shape[1] if self.embedding_ is not None else 0
        self.n_ngrams_ = found[-1].shape[1] if self.ngrams_ is not None else 0
        return sparse.hstack(found, format="csr")

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the features of texts."""
        check_is_fitted(self)
        texts = _texts(X)
        found = [sparse.csr_matrix(part.transform(texts)) for part in self.parts]
        return sparse.hstack(found, format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the words, the numbered names of the embedding's columns, and the n-grams."""
        return np.concatenate([part.get_feature_names_out() for part in self.parts])

    @property
    def parts(self) -> list[Any]:
        """The fitted transformers, in the order of their columns."""
        return [part for part in (self.words_, self.embedding_, self.ngrams_) if part is not None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
