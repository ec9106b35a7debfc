"""The page for those who come from other libraries: complete, and its code runs."""

import importlib
import re
from pathlib import Path

import pytest

import labelkin

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
# Every public class of scikit-multilearn-ng 0.0.8.
SCIKIT_MULTILEARN = """
    BRkNNaClassifier BRkNNbClassifier MLkNN MLARAM MLTSVM BinaryRelevance ClassifierChain
    ProbabilisticClassifierChain ClassificationHeterogeneousFeature StructuredGridSearchCV
    LabelPowerset InstanceBasedLogisticRegression RakelD RakelO LabelSpacePartitioningClassifier
    MajorityVotingClassifier LabelCooccurrenceGraphBuilder FixedLabelSpaceClusterer
    MatrixLabelSpaceClusterer RandomLabelSpaceClusterer NetworkXLabelGraphClusterer
    IGraphLabelGraphClusterer GraphToolLabelGraphClusterer StochasticBlockModel
    BalancedKMeansClusterer CLEMS OpenNetworkEmbedder SKLearnEmbedder EmbeddingClassifier
    PredictiveClusteringTree GiniCriterion EntropyCriterion CorrelationCriterion SMiLE Keras Meka
    IterativeStratification iterative_train_test_split load_dataset load_from_arff save_to_arff
"""

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")


@pytest.fixture(scope="module")
def text():
    return PAGE.read_text(encoding="utf-8")


def test_the_code_runs(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 6
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "most similar training rows" in capsys.readouterr().out


def test_every_class_of_scikit_multilearn_is_there(text):
    missing = [name for name in SCIKIT_MULTILEARN.split() if name not in text]
    assert not missing


def test_every_counterpart_exists(text):
    """Names in the right column are ours, or scikit-learn's with their module."""
    right = " ".join(re.findall(r"^\|.*\|(.*)\|$", text, flags=re.MULTILINE))
    codes = " ".join(re.findall(r"`([^`]+)`", right))
    for module, name in re.findall(r"\b(sklearn(?:\.[a-z_]+)+)\.([A-Za-z_]\w*)", codes):
        assert hasattr(importlib.import_module(module), name), (module, name)
    for module, name in re.findall(r"(?<![.\w])(datasets|metrics|model_selection)\.(\w+)", codes):
        assert hasattr(importlib.import_module(f"labelkin.{module}"), name), (module, name)
    ours = set(re.findall(r"(?<![.\w])([A-Z]\w*Classifier|MDDM|Pairwise\w+)", codes))
    assert ours
    assert ours <= set(labelkin.__all__)
