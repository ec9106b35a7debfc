"""What a user does first, with an installed wheel. Run by ``make release``, not by pytest.

``smoke.py core`` has only numpy, scipy and scikit-learn; ``smoke.py all`` has every extra.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier

import labelkin

CORE = sys.argv[1:] == ["core"]


def make(name):
    """Return an estimator that is quick, and needs no extra where there is none."""
    estimator = getattr(labelkin, name)()
    parameters = estimator.get_params()
    if "random_state" in parameters:
        estimator.set_params(random_state=0)
    if parameters.get("n_estimators") and "estimator" in parameters:
        estimator.set_params(n_estimators=3)
    if (
        CORE
        and not name.endswith(("VPCMEClassifier", "VPCPClassifier"))
        and ("estimator" in parameters)
    ):
        estimator.set_params(estimator=DecisionTreeClassifier(max_depth=5))
    return estimator


def check_estimators():
    """Fit everything public on digit scenes, predict or transform."""
    from labelkin.datasets import load_digit_scenes
    from labelkin.metrics import evaluate

    scenes = load_digit_scenes(n_samples=120)
    X, Y = scenes.data, scenes.target
    for name in labelkin.__all__:
        if not isinstance(getattr(labelkin, name), type):
            continue
        started = time.perf_counter()
        try:
            estimator = make(name)
        except TypeError:  # a wrapper: what it wraps has no default
            estimator = getattr(labelkin, name)(labelkin.MLkNNClassifier())
        single = name == "C45TreeClassifier"
        try:
            estimator.fit(X, Y[:, 0] if single else Y)
        except ImportError as error:
            if CORE and "pip install labelkin[" in str(error):
                print(f"  {name:34} wants an extra, and says which")
                continue
            raise
        if hasattr(estimator, "transform"):
            assert estimator.transform(X).shape[0] == len(X)
        elif single:
            assert estimator.predict(X).shape == (len(X),)
        else:
            proba = estimator.predict_proba(X)
            assert estimator.predict(X).shape == proba.shape == Y.shape
            assert np.isfinite(list(evaluate(Y, proba).values())).all()
        print(f"  {name:34} {time.perf_counter() - started:6.2f} s")


def check_command_line():
    """Run the command line as installed."""
    command = Path(sys.executable).with_name("labelkin")
    with tempfile.TemporaryDirectory() as folder:

        def run(*words):
            started = time.perf_counter()
            done = subprocess.run(
                [command, *words], cwd=folder, capture_output=True, text=True, check=False,
                env={**os.environ, "MPLBACKEND": "Agg"},
            )  # fmt: skip
            print(f"  labelkin {' '.join(words):25} {time.perf_counter() - started:6.2f} s")
            return done

        if CORE:
            done = run("--help")
            assert done.returncode == 2, done
            assert "labelkin[cli]" in done.stderr
            return
        assert "demo" in run("--help").stdout
        assert run("--version").stdout.split() == ["labelkin", labelkin.__version__]
        demo = run("demo", "--samples", "200")
        assert demo.returncode == 0, demo.stderr
        assert (Path(folder) / "labelkin-demo" / "scenes.png").exists()


def main():
    """Say where we are, then check."""
    where = Path(labelkin.__file__)
    assert "site-packages" in where.parts, f"not the installed wheel: {where}"
    assert (where.parent / "py.typed").exists(), "py.typed is not in the wheel"
    assert version("labelkin") == labelkin.__version__
    print(
        f"labelkin {labelkin.__version__}, Python {sys.version.split()[0]}, "
        f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, "
        f"{'core only' if CORE else 'all extras'}"
    )
    check_estimators()
    check_command_line()


if __name__ == "__main__":
    main()
