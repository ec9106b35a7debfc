"""What the tests of the experiments share: methods of a user, and results without times."""

import os
import sys
import time

from labelkin.experiments.run.store import Store

LABELKIN = [sys.executable, "-c", "import sys; from labelkin.cli import main; sys.exit(main())"]

_OWN_METHODS = '''
import os
import time

from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

ready = LogisticRegression(C=2.0)


class Waits(KNeighborsClassifier):
    """Each fit takes one of the permits and waits for one, where there is a folder of them."""

    def fit(self, X, Y):
        while not self._may_go_on():
            time.sleep(0.01)
        return super().fit(X, Y)

    def _may_go_on(self):
        try:
            os.remove(os.path.join(FOLDER, "permits", min(os.listdir(f"{FOLDER}/permits"))))
        except ValueError:  # none is left
            return False
        except FileNotFoundError:  # no folder, or another process took the same permit
            return not os.path.exists(f"{FOLDER}/permits")
        return True


class Fails(KNeighborsClassifier):
    def predict(self, X):
        raise RuntimeError("cannot\\npredict")


class Dies(KNeighborsClassifier):
    """Takes its process along, on some folds."""

    def fit(self, X, Y):
        if Y[:, 0].sum() % 4 == 1:
            os._exit(1)
        return super().fit(X, Y)
'''


def write_own_methods(folder):
    """Write the module ``own_methods`` into a folder."""
    (folder / "own_methods.py").write_text(f"FOLDER = {str(folder)!r}\n{_OWN_METHODS}")


def give_permits(folder, count):
    """Let `count` fits of ``Waits`` go on; further ones wait, until the folder is gone."""
    (folder / "permits").mkdir(exist_ok=True)
    for number in range(count):
        (folder / "permits" / str(number)).touch()


def wait_for_cells(process, count, path):
    """Wait until a running process has stored as many cells.

    The order of cells is not promised, so as many permits as cells are needed.
    """
    end = time.monotonic() + 600
    while (stored := _count_cells(path)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"{stored} of {count} cells after ten minutes"
        time.sleep(0.1)
    return stored


def _count_cells(path):
    if not os.path.exists(path):
        return 0
    try:
        with Store(path) as store:
            return len(store.cells())
    except (OSError, ValueError):  # the process is creating it
        return 0


_TIMES = {"fit_s", "predict_s", "run"}


def figures(path):
    """Return all rows of a store but for times, memory and run."""
    with Store(path) as store:
        return [{k: v for k, v in row.items() if k not in _TIMES} for row in store.rows()]
