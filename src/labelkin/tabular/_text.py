"""Texts as features: words, n-grams, and embeddings, in which words of similar meaning are near."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.optional import import_optional

Embed = Callable[[list[str]], Any]

STATIC_COLUMNS = 256
"""Numbers of a static embedding."""

_BATCH = 4_096
_PARTS = ("wordllama", "safetensors", "tokenizers")


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
    """Return texts, given as a list or as one column, as a list."""
    return [str(text) for text in np.asarray(X, dtype=object).ravel()]


class TextEmbedding(TransformerMixin, BaseEstimator):
    """Embeddings of texts, in rows of length 1.

    Parameters
    ----------
    embed : callable, default=None
        A function from a list of texts to an array with one row per text, such as the method
        ``encode`` of a model of sentence-transformers. None: the mean of the static embeddings of
        a text's tokens, 256 numbers, which the package wordllama contains; nothing is downloaded
        (``pip install 'labelkin[text]'``).

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


class TextFeatures(TransformerMixin, BaseEstimator):
    """Words of texts, optionally n-grams, and embeddings, side by side in one sparse matrix.

    Words are weighted by TF-IDF. Words of similar meaning have similar embeddings, also if they
    never occur together in training; this helps most with few or short texts.

    Parameters
    ----------
    ngrams : bool, default=False
        Whether pairs of words and parts of words of 2 to 5 characters are features as well. They
        help logistic regression on a thousand texts or more, and take five times its time; kernels
        and `KinEnsembleClassifier` gain little.
    embedding : {"auto"}, callable or None, default="auto"
        A function from texts to an array, as in `TextEmbedding`; None: no embeddings. "auto":
        static embeddings, where ``labelkin[text]`` is installed.
    max_features : int, default=None
        Maximum number of words, of pairs and of parts of words; None: all words, and 100,000
        of each of the others.

    Attributes
    ----------
    vectorizers_ : list of TfidfVectorizer
        Of words and, with `ngrams`, of pairs and of parts of words.
    embedding_ : TextEmbedding or None
        The fitted embedding.
    n_embedding_ : int
        Number of columns of embeddings, the last ones: the parameter `n_embedding` of
        `KinEnsembleClassifier`; 256 for static embeddings.

    Examples
    --------
    >>> from labelkin.tabular import TextFeatures
    >>> TextFeatures(embedding=None).fit_transform(["a cat sleeps", "the dog barks"]).shape
    (2, 5)
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
        options: dict[str, Any] = {"sublinear_tf": True, "strip_accents": "unicode"}
        self.vectorizers_ = [TfidfVectorizer(max_features=self.max_features, **options)]
        if self.ngrams:
            most = self.max_features or 100_000
            kinds: list[dict[str, Any]] = [
                {"ngram_range": (2, 2)},
                {"analyzer": "char_wb", "ngram_range": (2, 5)},
            ]
            self.vectorizers_ += [TfidfVectorizer(max_features=most, **options, **k) for k in kinds]
        self.embedding_ = None
        if self.embedding is not None and (self.embedding != "auto" or can_embed()):
            embed = None if self.embedding == "auto" else self.embedding
            self.embedding_ = TextEmbedding(embed).fit(X)  # type: ignore[arg-type]
        self.n_embedding_ = 0 if self.embedding_ is None else self.embedding_.n_columns_
        return self._stack([one.fit_transform(X) for one in self.vectorizers_], X)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the features of texts."""
        check_is_fitted(self)
        return self._stack([one.transform(X) for one in self.vectorizers_], X)

    def _stack(self, parts: list[Any], X: Any) -> sparse.csr_matrix:
        if self.embedding_ is not None:
            parts = [*parts, sparse.csr_matrix(self.embedding_.transform(X))]
        return sparse.hstack(parts, format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the words, the n-grams, and the numbered names of the embedding's columns."""
        return np.concatenate([part.get_feature_names_out() for part in self.parts])

    @property
    def parts(self) -> list[Any]:
        """The vectorizers and the embedding, in the order of their columns."""
        return [*self.vectorizers_, *([] if self.embedding_ is None else [self.embedding_])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
