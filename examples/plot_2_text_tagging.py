"""
Tagging short texts
===================

From raw text to tags. TF-IDF gives sparse features, which all classifiers of labelkin accept. The
corpus is generated, so that nothing is downloaded: messages to a help desk about one to three
topics, with some small talk and a few typing errors.
"""

# %%
# A small corpus
# --------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from labelkin import (
    BinaryRelevanceClassifier,
    KinEnsembleClassifier,
    MLkNNClassifier,
    VPCMEClassifier,
)
from labelkin.metrics import METRICS, evaluate
from labelkin.model_selection import train_test_split

TOPICS = {
    "billing": """the invoice for {month} is wrong|I was charged twice in {month}|please refund my
        card|the discount is missing from the bill|my payment was declined again""",
    "login": """I cannot sign in since {day}|the password reset mail never came|my account is locked
        after three attempts|two-factor code is rejected on {day}|it logs me out at once""",
    "mobile": """the app crashes on my phone|the android version freezes at start|on my tablet the
        screen stays white|after the update the app drains the battery|push messages never come""",
    "export": """the CSV export is empty|downloading the report fails|columns are missing in the
        spreadsheet|the PDF has broken characters|I need all data of {month} as a file""",
    "speed": """pages take a minute to load|search is very slow since {day}|the dashboard times out|
        everything lags in the afternoon|uploads are stuck at half""",
    "praise": """your support is wonderful|I love the new design|thanks for the quick help on {day}|
        best tool we ever had|the tutorial was great""",
}
SMALL_TALK = """hello team|hi|dear support|could you have a look|this is urgent|thanks in advance|
I am using the free plan|we are a team of five|regards""".replace("\n", "").split("|")
MONTHS, DAYS = ["march", "april", "may", "june"], ["monday", "tuesday", "friday", "yesterday"]

rng = np.random.default_rng(0)


def write_message(topics):
    """Return a message about the given topics, in random order, with noise."""
    parts = list(rng.choice(SMALL_TALK, size=rng.integers(1, 4), replace=False))
    for topic in topics:
        sentence = rng.choice([" ".join(s.split()) for s in TOPICS[topic].split("|")])
        parts.append(sentence.format(month=rng.choice(MONTHS), day=rng.choice(DAYS)))
    words = " . ".join(rng.permutation(parts)).split()
    kept = [w for w in words if rng.random() > 0.2]  # some words are left out
    return " ".join(w if rng.random() > 0.03 else w[::-1] for w in kept)  # and some mistyped


# Some topics often occur together, such as billing and login, or mobile and speed.
names = list(TOPICS)
likely = {"billing": ["login", "export"], "mobile": ["speed", "login"], "export": ["speed"]}
tags = []
for _ in range(900):
    first = rng.choice(names, p=[0.25, 0.2, 0.2, 0.15, 0.15, 0.05])
    chance = [0.35 if t in likely.get(first, []) else 0.05 for t in names]
    others = [t for t, p in zip(names, chance) if t != first and rng.random() < p]
    tags.append([first, *others])
texts = [write_message(t) for t in tags]
for text, tag in list(zip(texts, tags))[:3]:
    print(f"{', '.join(tag):24} {text}")

# %%
# Words to numbers, tags to a matrix
# ----------------------------------
# ``MultiLabelBinarizer`` turns lists of tags into columns of 0 and 1. The stratified split keeps
# rare tags in both parts.
binarizer = MultiLabelBinarizer(classes=names)
y = binarizer.fit_transform(tags)
train_texts, test_texts, y_train, y_test = train_test_split(np.array(texts), y, random_state=0)

models = {
    "Kin": KinEnsembleClassifier(random_state=0),
    "logistic regression per tag": BinaryRelevanceClassifier(LogisticRegression(C=10)),
    "ML-kNN": MLkNNClassifier(),
    "VPCME": VPCMEClassifier(n_estimators=10, random_state=0),
}
figures = {}
for name, model in models.items():
    pipeline = make_pipeline(TfidfVectorizer(min_df=2, sublinear_tf=True), model)
    models[name] = pipeline.fit(train_texts, y_train)
    scores = pipeline.predict_proba(test_texts)
    figures[name] = evaluate(y_test, scores, pipeline.predict(test_texts))

for name, found in figures.items():
    print(f"{name:32} average precision {found['average_precision']:.3f}  F1 {found['f1']:.3f}")

# %%
# Kin contains kernels that suit texts. Linear models work well on texts too, and labelkin's
# wrappers accept them as base classifiers.
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
shown = ["average_precision", "f1", "recall"]
colours = ("#0072B2", "#E69F00", "#8C8C8C", "#009E73")
for i, (name, colour) in enumerate(zip(figures, colours, strict=True)):
    values = [100 * figures[name][m] for m in shown]
    ax.bar(np.arange(len(shown)) + 0.21 * (i - 1.5), values, 0.19, color=colour, label=name)
ax.set_xticks(range(len(shown)), [METRICS[m].title for m in shown])
ax.set(ylabel="%", ylim=(60, 112), yticks=range(60, 101, 10))
ax.legend(frameon=False, ncols=2, loc="upper center", fontsize=10)
plt.show()

# %%
# Tags for new messages
# ---------------------
best = models["Kin"]
new = [
    "hello, the app freezes on my phone and it is so slow",
    "I was charged twice and the invoice export is empty",
    "thanks, great support!",
]
for text, proba in zip(new, best.predict_proba(new), strict=True):
    found = {names[i]: round(float(proba[i]), 2) for i in np.argsort(-proba) if proba[i] > 0.3}
    print(f"{text}\n    {found}")
