import numpy as np
import pytest

from labelkin.datasets import load_digit_scenes


def test_shapes_and_range():
    scenes = load_digit_scenes(200)
    assert scenes.data.shape == (200, 160)
    assert scenes.images.shape == (200, 8, 20)
    np.testing.assert_array_equal(scenes.images.reshape(200, -1), scenes.data)
    assert scenes.target.shape == (200, 10)
    assert scenes.data.min() >= 0
    assert scenes.data.max() <= 1
    assert len(scenes.feature_names) == 160
    assert scenes.label_names == list("0123456789")
    assert load_digit_scenes().data.shape[0] == 2000


def test_one_to_three_digits():
    sizes = load_digit_scenes(500).target.sum(axis=1)
    assert set(sizes) == {1, 2, 3}


def test_deterministic():
    one, same, other = (load_digit_scenes(60, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.data, same.data)
    np.testing.assert_array_equal(one.target, same.target)
    assert (one.data != other.data).any()


def test_the_digits_are_where_the_labels_say():
    """Without noise, an image of a single digit is that digit of load_digits, moved."""
    from sklearn.datasets import load_digits

    scenes = load_digit_scenes(300)
    digits = load_digits()
    templates = digits.images / 16
    alone = np.flatnonzero(scenes.target.sum(axis=1) == 1)[:20]
    for index in alone:
        windows = np.stack([scenes.images[index][:, c : c + 8] for c in range(13)])
        # An image with one label can hold that digit more than once; look at all windows.
        errors = np.abs(windows[:, None] - templates[None]).mean(axis=(2, 3))
        best = np.unravel_index(errors.argmin(), errors.shape)[1]
        assert scenes.target[index, digits.target[best]] == 1


def test_test_scenes_use_other_handwriting():
    """The glyphs of the two parts are disjoint: no test digit is near any training glyph."""
    from scipy.spatial.distance import cdist
    from sklearn.datasets import load_digits

    scenes = load_digit_scenes(400)
    templates = load_digits().images / 16
    used = []
    for part in (0, 1):
        images = scenes.images[(scenes.split == part) & (scenes.target.sum(axis=1) == 1)]
        windows = np.concatenate([images[:, :, c : c + 8] for c in range(13)])
        errors = cdist(windows.reshape(-1, 64), templates.reshape(-1, 64), "sqeuclidean") / 64
        used.append(set(errors.argmin(axis=1)[errors.min(axis=1) < 0.004]))
    assert len(used[0]) > 20
    assert len(used[1]) > 5
    assert not used[0] & used[1]


@pytest.mark.parametrize("n_samples", [0, -3, 2.5, "many"])
def test_bad_number_of_samples(n_samples):
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        load_digit_scenes(n_samples)


def test_data_and_target_alone():
    scenes = load_digit_scenes(20)
    X, y = load_digit_scenes(20, return_X_y=True)
    np.testing.assert_array_equal(X, scenes.data)
    np.testing.assert_array_equal(y, scenes.target)
    assert scenes.frame is None


def test_frames():
    pd = pytest.importorskip("pandas")
    plain, scenes = load_digit_scenes(20), load_digit_scenes(20, as_frame=True)
    pd.testing.assert_frame_equal(
        scenes.frame, pd.concat([scenes.data, scenes.target], axis=1), check_exact=True
    )
    assert list(scenes.data.columns) == plain.feature_names
    assert list(scenes.target.columns) == plain.label_names
    np.testing.assert_array_equal(scenes.data, plain.data)
    np.testing.assert_array_equal(scenes.target, plain.target)
    X, y = load_digit_scenes(20, return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, scenes.data)
    pd.testing.assert_frame_equal(y, scenes.target)
