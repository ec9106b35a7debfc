"""Files as people have them, from evaluate to serve: a made table in many forms.

Each is evaluated with its page, fitted, predicted, explained and served; what was once a place to
stop (a second sheet, tags in JSON, no header, names twice) is in one of them.
"""

import csv
import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from labelkin.cli import main

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")

TOPICS = {
    "billing": "invoice refund payment charge",
    "shipping": "parcel late delivery courier",
    "login": "password account locked reset",
}
N = 45
RNG = np.random.default_rng(0)
SETS = [list(RNG.choice([*TOPICS], size=RNG.integers(1, 3), replace=False)) for _ in range(N)]
TEXTS = [
    " ".join(RNG.permutation(["please", "help", *(w for t in tags for w in TOPICS[t].split()[:3])]))
    for tags in SETS
]
NUMBERS = RNG.normal(size=(N, 4)).round(3)
DAYS = pd.date_range("2024-01-01", periods=N)


def joined(separator, form="{}"):
    return [separator.join(form.format(tag) for tag in tags) for tags in SETS]


def office(path):
    pytest.importorskip("openpyxl")
    marks = {t: ["x" if t in tags else None for tags in SETS] for t in TOPICS}
    columns = {"Ticket-Nr": range(1000, 1000 + N), "Betreff": TEXTS, "Eingang": DAYS, **marks}
    pd.DataFrame(columns).to_excel(path, index=False)


def merged_header(path):
    openpyxl = pytest.importorskip("openpyxl")
    sheet = (book := openpyxl.Workbook()).active
    sheet.append(["Meldungen, Stand März"])
    sheet.append(["Größe", "Straße", "Text", "Art der Störung"])
    sheet.append([None, None, None, *TOPICS])
    sheet.merge_cells("A1:F1")
    sheet.merge_cells("D2:F2")
    for i, tags in enumerate(SETS):
        answers = ["ja" if t in tags else "nein" for t in TOPICS]
        sheet.append([NUMBERS[i, 0], f"Weg {i % 3}", TEXTS[i], *answers])
    book.save(path)


def second_sheet(path):
    pytest.importorskip("odf")
    with pd.ExcelWriter(path, engine="odf") as book:
        pd.DataFrame({"about": ["this file"]}).to_excel(book, sheet_name="Info", index=False)
        data = {"subject": TEXTS, "price": NUMBERS[:, 0], "tags": joined(", ")}
        pd.DataFrame(data).to_excel(book, sheet_name="Data", index=False)


def json_lines(path):
    records = [
        {
            "id": i,
            "title": TEXTS[i],
            "user": {"karma": i % 7},
            "tags": [{"name": t} for t in SETS[i]],
        }
        for i in range(N)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def survey(path):
    answers = [{t: "yes" if t in tags else "no" for t in TOPICS} for tags in SETS]
    ages = [None if i % 9 == 0 else 20 + i % 50 for i in range(N)]
    records = [{"age": ages[i], "comment": TEXTS[i], **answers[i]} for i in range(N)]
    path.write_text(json.dumps(records))


def json_cells(path):
    cells = [json.dumps([{"id": 37, "name": t} for t in tags]) for tags in SETS]
    pd.DataFrame({"text": TEXTS, "tags": cells}).to_csv(path, index=False)


def typed_by_hand(path):
    cells = [(", " if i % 8 == 0 else ";").join(tags) for i, tags in enumerate(SETS)]
    pd.DataFrame({"text": TEXTS, "tags": cells}).to_csv(path, index=False)


def database(path):
    cells = [
        "{" + ",".join(f'"{tag}"' if i % 2 else tag for tag in tags) + "}"
        for i, tags in enumerate(SETS)
    ]
    pd.DataFrame({"text": TEXTS, "tags": cells}).to_csv(path, index=False)


def coded(path):
    lists = [[{"code": t.upper(), "severity": 1} for t in tags] for tags in SETS]
    rows = [{"text": text, "events": one} for text, one in zip(TEXTS, lists, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def annotated(path):
    """As annotation tools write them: the choices of each annotation deep in lists and objects."""
    results = [[{"value": {"choices": tags}, "from_name": "topic"}] for tags in SETS]
    rows = [
        {"id": i, "annotations": [{"id": 5, "result": results[i]}], "data": {"text": TEXTS[i]}}
        for i in range(N)
    ]
    path.write_text(json.dumps(rows))


def one_or_several(path):
    """A text for one choice, and an object for several."""
    cells = [tags[0] if len(tags) == 1 else {"choices": tags} for tags in SETS]
    pd.DataFrame({"text": TEXTS, "topic": cells}).to_json(path, orient="records")


def hashes(path):
    pd.DataFrame({"post": TEXTS, "tags": joined(" ", "#{}")}).to_csv(path, index=False, sep="\t")


def angles(path):
    data = {"Post Title": TEXTS, "Views": range(N), "tags": joined("", "<{}>")}
    pd.DataFrame(data).to_csv(path, index=False, encoding="utf-8-sig")


def no_header(path):
    Y = (NUMBERS[:, :3] > 0).astype(int)
    pd.DataFrame(np.hstack([NUMBERS, Y])).to_csv(path, index=False, header=False)


def twice(path):
    numbered = [";".join(str(3 + 7 * [*TOPICS].index(t)) for t in tags) for tags in SETS]
    frame = pd.DataFrame(np.column_stack([NUMBERS[:, :2], TEXTS, numbered]))
    frame.to_csv(path, index=False, header=["score", "score", "body", "tags"])


def texts_in_arrays(path):
    np.savez(path, X=NUMBERS, y=np.array(joined("; ")))


def images(path):
    pixels = RNG.integers(0, 60, (N, 4, 4, 3)).astype(np.uint8)
    np.savez(path, X=pixels, y=np.array([[t in tags for t in TOPICS] for tags in SETS]))


def messy(path):
    tags = [t.title() if i % 3 else t for i, t in enumerate(joined(" | "))]
    tags[5] = "none"
    columns = {"text": TEXTS, "when": DAYS.strftime("%d.%m.%Y"), "tags": tags}
    pd.DataFrame(columns).to_csv(path, index=False, sep=";", encoding="cp1252")


def one_month(path):
    stamps = [f"{1 + i // 6:02}/03/2024 10:{i:02}" for i in range(N)]
    columns = {"Timestamp": stamps, "comment": TEXTS, "tags": joined(";")}
    pd.DataFrame(columns).to_csv(path, index=False)


def report(path):
    """A title, regions in merged cells, percentages, totals, and a hidden sheet before it."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Region", "Share", "Comment", *TOPICS])
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet("Q1")
    sheet.append(["Cases, first quarter"])
    sheet.append([])
    sheet.append(["Region", "Share", "Comment", *TOPICS])
    for i, tags in enumerate(SETS):
        marks = ["x" if t in tags else None for t in TOPICS]
        sheet.append([None if i % 9 else f"Region {i}", i / 100, TEXTS[i], *marks])
        sheet.cell(i + 4, 2).number_format = "0%"
        if i % 9 == 0:
            sheet.merge_cells(f"A{i + 4}:A{i + 12}")
    sheet.append(["Total", None, None, 20, 20, 20])
    book.save(path)


def choices(path):
    words = {"billing": "Price, costs", "shipping": "Delivery", "login": "Account"}
    answers = {t: [words[t] if t in tags else "" for tags in SETS] for t in TOPICS}
    pd.DataFrame({"Respondent": [f"R_{i}" for i in range(N)], "Why": TEXTS, **answers}).to_csv(
        path, index=False
    )


def tag_columns(path):
    """As trackers write tags: in as many columns of one name as a row has tags at most."""
    rows = [[i, TEXTS[i], *tags, ""][:4] for i, tags in enumerate(SETS)]
    pd.DataFrame(rows).to_csv(path, index=False, header=["Key", "Summary", "tag", "tag"])


def helpdesk(path):
    mails = [f'<p>Hello,<br/>{text}</p>\r\n<div class="s">&nbsp;</div>' for text in TEXTS]
    frame = pd.DataFrame({"Ticket ID": range(N), "Body": mails, "tags": map(json.dumps, SETS)})
    frame.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n")


def firms(path):
    rows = ["Firmen, Stand Mai", "", "Umsatz\tMarge\tBranche\ttags"]
    rows += [f"{i}.250,50 €\t{i % 9},5 %\t{TEXTS[i]}\t{'; '.join(SETS[i])}" for i in range(N)]
    path.write_text("\n".join([*rows, "\t\t\t", "Quelle: Register\t\t\t"]) + "\n")


def events(path):
    records = [
        {"_id": {"$oid": f"{i:024x}"}, "load": {"message": TEXTS[i], "os": ["ios", None][i % 2]}}
        | ({"tags": SETS[i]} if i % 9 else {"tags": None})
        for i in range(N)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def inspection(path):
    marks = {
        t: ["n/a" if i % 7 == 3 else "Yes" if t in SETS[i] else "No" for i in range(N)]
        for t in TOPICS
    }
    pd.DataFrame({"Unit": range(N), "Finding": TEXTS, **marks}).to_csv(path, index=False)


def calls(path):
    columns = {
        "text": pd.array(TEXTS, dtype="string"),
        "channel": pd.Categorical(["mail", "chat", "phone"] * (N // 3)),
        "wait": pd.array([None if i % 7 == 0 else i % 40 for i in range(N)], dtype="Int64"),
        "vip": pd.array([None if i % 8 == 0 else i % 2 == 0 for i in range(N)], dtype="boolean"),
        "tags": SETS,
    }
    pd.DataFrame(columns).to_parquet(path)


def japanese(path):
    words = {
        "billing": "請求書が違います",
        "shipping": "荷物が届きません",
        "login": "ログインできません",
    }
    texts = ["。".join(words[t] for t in tags) for tags in SETS]
    frame = pd.DataFrame({"内容": texts, "tags": joined("、")})
    frame.to_csv(path, index=False, encoding="utf-16")


def form(path):
    """Options with commas, a code with a leading zero, and the time as the form writes it."""
    options = {"billing": "Money (bills, refunds)", "shipping": "Parcels", "login": "Sign-in"}
    stamps = pd.date_range("2025-03-01 08:05", periods=N, freq="7h")
    columns = {
        "Timestamp": stamps.strftime("%Y/%m/%d %I:%M:%S %p GMT+1"),
        "Zip": [f"0{1000 + i % 12}" for i in range(N)],
        "Tell us": TEXTS,
        "Topics?": [", ".join(options[t] for t in tags) for tags in SETS],
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def films(path):
    genres = ["(no genres listed)" if i % 9 == 4 else g for i, g in enumerate(joined("|"))]
    pd.DataFrame({"movieId": range(N), "title": TEXTS, "genres": genres}).to_csv(path, index=False)


def tweets(path):
    stamps = pd.date_range("2025-03-01", periods=N).strftime("%a %b %d %H:%M:%S +0000 %Y")
    cells = [str([np.str_(t) for t in tags]) for tags in SETS]
    pd.DataFrame({"created_at": stamps, "text": TEXTS, "tags": cells}).to_csv(path, index=False)


def museum(path):
    """What Excel calls Unicode text, with codes of unequal length and amounts in euros."""
    columns = {
        "Shelf": [("007", "7", "0012")[i % 3] for i in range(N)],
        "Value": [f"€ {i}.250,50" for i in range(N)],
        "Object": TEXTS,
        "tags": joined("; "),
    }
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False, sep="\t", encoding="utf-16", lineterminator="\r\n")


def clock(i):
    return datetime.time(i % 24, 15 * (i % 4))


def shifts(path):
    """Times of day and durations, below merged names, on the second sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Shifts per ward"])
    sheet = book.create_sheet("Data")
    sheet.append(["Shift", None, None, "Topics", None, None])
    sheet.append(["Start", "Length", "Handover", *TOPICS])
    for i, tags in enumerate(SETS):
        marks = ["✓" if t in tags else None for t in TOPICS]
        sheet.append([clock(i), datetime.timedelta(hours=i), TEXTS[i], *marks])
    book.save(path)


def visitors(path):
    """As Qualtrics writes them: names, questions, identifiers of the questions, answers."""
    names = ["ResponseId", "Q1", "Q2", *(f"Q5_{i + 1}" for i in range(3))]
    questions = ["Response ID", "How old are you?", "Why?", *(f"How? - {t}" for t in TOPICS)]
    rows = [names, questions, [json.dumps({"ImportId": name}) for name in names]]
    for i, tags in enumerate(SETS):
        chosen = [t if t in tags else "" for t in TOPICS]
        rows.append([f"R_{i}", str(20 + i % 50), TEXTS[i], *chosen])
    pd.DataFrame(rows).to_csv(path, index=False, header=False, encoding="utf-8-sig")


def choices_below(path):
    """As SurveyMonkey writes them: the choices below the question, and as answers."""
    openpyxl = pytest.importorskip("openpyxl")
    sheet = (book := openpyxl.Workbook()).active
    sheet.append(["Respondent ID", "How old are you?", "What for?", None, None, "Why?"])
    sheet.append([None, "Response", *TOPICS, "Response"])
    for i, tags in enumerate(SETS):
        chosen = [t if t in tags else None for t in TOPICS]
        sheet.append([7_000_000 + 13 * i, 20 + 7 * i % 50, *chosen, TEXTS[i]])
    book.save(path)


def answer_of_a_service(path):
    tickets = [
        {"created_at": f"{day:%Y-%m-%dT%H:%M:%SZ}", "subject": text, "via": {"channel": "web"}}
        | {"tags": [{"name": t, "meta": {"by": "agent"}} for t in tags]}
        for day, text, tags in zip(DAYS, TEXTS, SETS, strict=True)
    ]
    path.write_text(json.dumps({"tickets": tickets, "next_page": None, "count": N}))


def appels(path):
    """Line breaks in cells, names with a space at the end, times, and half of the labels."""
    columns = {
        "N° tél": [f"0{1 + i % 9} {10 + i} 23" for i in range(N)],
        "Heure ": [f"{clock(i):%H:%M}" for i in range(N)],
        "Durée": [f"{i // 9}:{i:02}:30" for i in range(N)],
        "Note": [f'"{text}"\r\nvoir dossier' for text in TEXTS],
    }
    for t in TOPICS:
        answers = ("oui " if t in tags else "non" for tags in SETS)
        columns[f"{t} "] = ["" if i % 2 else one for i, one in enumerate(answers)]
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False, sep=";", encoding="cp1252", lineterminator="\r\n")


def orders(path):
    columns = {
        "slot": [clock(i) for i in range(N)],
        "handling": pd.to_timedelta(range(N), unit="min"),
        "placed": DAYS.tz_localize("UTC"),
        "item": TEXTS,
        "tags": SETS,
    }
    pd.DataFrame(columns).to_parquet(path)


def library(path):
    """Texts of several scripts, dates in several forms, and emojis in the names of labels."""
    words = {"billing": "明代战争史研究", "shipping": "ต้มยำกุ้ง 🍜", "login": "ديوان الشعر العربي"}
    forms = ["%d.%m.%Y", "%Y-%m-%d", "%d %B %Y"]
    columns = {
        "Title": [" – ".join(words[t] for t in tags) for tags in SETS],
        "Added": [f"{day:{forms[i % 3]}}" for i, day in enumerate(DAYS)],
        "Subjects": joined(" / ", "{} 👓"),
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def zgloszenia(path):
    columns = {
        "Numer zgłoszenia": [f"ZGŁ/{1000 + i}" for i in range(N)],
        "Treść": [f"{text} – proszę o pomoc, nie działa" for text in TEXTS],
        "Miasto": [("Łódź", "Kraków", "Gdańsk", "Żory")[i % 4] for i in range(N)],
        "Kategorie": joined(", "),
    }
    pd.DataFrame(columns).to_csv(path, index=False, sep=";", encoding="cp1250")


def listings(path):
    """A title, words beside values, two rows of names with merged cells, and a total."""
    openpyxl = pytest.importorskip("openpyxl")
    sheet = (book := openpyxl.Workbook()).active
    for row in (["Inmuebles en venta", "marzo"], ["Agencia:", "Sol"], ["Fecha:", "3.3.2025"], []):
        sheet.append(row)
    sheet.append(["Ref.", "Descripción", "Precio", "Temas", None, None])
    sheet.append([None, None, None, *TOPICS])
    sheet.merge_cells("D5:F5")
    for column in "ABC":
        sheet.merge_cells(f"{column}5:{column}6")
    prices = [100_000 + 250 * (7 * i % 40) for i in range(N)]
    for i, tags in enumerate(SETS):
        price = f"{prices[i]:,} €".replace(",", ".")
        sheet.append(
            [f"R-{300 + i}", TEXTS[i], price, *("sí" if t in tags else "no" for t in TOPICS)]
        )
    sheet.append(["Total", None, f"{sum(prices):,} €".replace(",", "."), None, None, None])
    book.save(path)


def jira(path):
    lines = [["Issue key", "Summary", "Labels", "Labels", "Component/s", "Component/s", "Priority"]]
    for i, tags in enumerate(SETS):
        parts = [f"part{i % 3}", "core" if i % 2 else ""]
        summary = f"{TEXTS[i]}\nsteps:\n# none"
        lines.append(
            [f"AB-{i}", summary, *tags, *[""] * (2 - len(tags)), *parts, ["Low", "High"][i % 2]]
        )
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)


def pedidos(path):
    months = ["janeiro", "fevereiro", "março", "abril"]
    values = [f"R$ {1000 + 37 * i:,},{i:02}".replace(",", ".", 1) for i in range(N)]
    columns = {
        "Pedido": [f"Nº {5000 + i}" for i in range(N)],
        "Data": [f"{day.day} de {months[day.month - 1]} de {day.year}" for day in DAYS],
        "Valor total": values,
        "Mensagem": TEXTS,
        "Etiquetas": joined(" -- "),
    }
    pd.DataFrame(columns).to_csv(path, index=False, sep=";", encoding="utf-8-sig")


def proteins(path):
    rng = np.random.default_rng(1)
    motifs = dict(zip(TOPICS, ("WWCHW", "KKRKK", "PGPGP"), strict=True))
    sequences = [
        "".join(rng.choice([*"ADEFILMNQSTVY"], 40)) + "".join(motifs[t] * 3 for t in tags)
        for tags in SETS
    ]
    columns = {"Entry": [f"P{10_000 + 7 * i}" for i in range(N)], "Sequence": sequences}
    pd.DataFrame(columns | {"GO": joined("; ")}).to_csv(path, index=False, sep="\t")


def akhbar(path):
    frame = pd.DataFrame({"العنوان": TEXTS, "الوسوم": joined("، ")})
    frame.to_csv(path, index=False, encoding="utf-8-sig")


def issues(path):
    records = [
        {"number": i, "title": TEXTS[i], "milestone": {"title": "v1", "open": 3} if i % 3 else None}
        | {"labels": [{"name": t, "color": "red"} for t in SETS[i]]}
        for i in range(N)
    ]
    path.write_text(json.dumps(records))


def machine(path):
    """Sensors with marks for missing values, and a column that is known only with the labels."""
    marks = {t: [int(t in tags) for tags in SETS] for t in TOPICS}
    sensors = 300 + 3 * NUMBERS[:, 0] + 6 * np.array(marks["login"])
    sensors[::9] = -999
    columns = {"UDI": range(1, N + 1), "Temperature [K]": sensors.round(1), "log": TEXTS}
    pd.DataFrame(columns | {"any": [int(bool(tags)) for tags in SETS]} | marks).to_csv(
        path, index=False
    )


def sparse_arrays(path):
    from scipy import sparse

    words = sorted({word for text in TEXTS for word in text.split()})
    counts = [[text.split().count(word) for word in words] for text in TEXTS]
    sparse.save_npz(path, sparse.csr_matrix(counts))
    np.save(path.with_name("y.npy"), [[t in tags for t in TOPICS] for tags in SETS])


def projekte(path):
    """Amounts with points between thousands only, in a file with semicolons."""
    budgets = [f"{5 + 7 * i % 190}.000" for i in range(N)]
    columns = {"Budget EUR": budgets, "Beschreibung": TEXTS, "Themen": joined(", ")}
    pd.DataFrame(columns).to_csv(path, index=False, sep=";", encoding="cp1252")


def contracts(path):
    """Terms in months and years, and end dates of which many are open."""
    pytest.importorskip("openpyxl")
    ends = ["unbefristet" if i % 3 == 0 else f"{day:%d.%m.%Y}" for i, day in enumerate(DAYS)]
    terms = ["1 Monat", "6 Monate", "2 Jahre"] * (N // 3)
    columns = {"Frist": terms, "Ende": ends, "Text": TEXTS, "Klauseln": joined("\n")}
    pd.DataFrame(columns).to_excel(path, index=False)


def stock(path):
    """Weights in g and kg, and prices in thousands and millions."""
    weights = [f"{100 + 7 * i} g" if i % 3 else f"{1 + i / 100:.2f} kg" for i in range(N)]
    prices = [f"£{900 + i}k" if i % 2 else f"£{1 + i / 10:.1f}m" for i in range(N)]
    columns = {"Weight": weights, "Price": prices, "Name": TEXTS, "tags": joined(", ")}
    pd.DataFrame(columns).to_csv(path, index=False)


def assay(path):
    """Measurements in several units, with limits of detection, and labels that are unknown."""
    marks = {t: [[0, 1, None][i % 3 if t not in SETS[i] else 1] for i in range(N)] for t in TOPICS}
    doses = [f"<{0.05} µM" if i % 9 == 0 else f"{i + 1} nM" for i in range(N)]
    doses[1::2] = [f"{i / 10:.1f} μM" for i in range(1, N, 2)]
    pd.DataFrame({"IC50": doses, "note": TEXTS} | marks).to_csv(path, index=False)


def statistics_office(path):
    """Footnotes that are not padded with delimiters."""
    tags = joined("; ")
    rows = [f"{text}\t{i},5\t{tags[i]}" for i, text in enumerate(TEXTS)]
    notes = ["__________", "© Statistisches Amt, 2024", "Stand: 14.03.2025"]
    path.write_text("\n".join(["Text\tAnteil\tThemen", *rows, *notes]) + "\n", encoding="utf-16")


def row_names(path):
    """What R's write.table writes: spaces between columns, and no name for row names."""
    columns = {"text": TEXTS, "size": NUMBERS[:, 0]} | {
        t: [int(t in tags) for tags in SETS] for t in TOPICS
    }
    frame = pd.DataFrame(columns, index=[str(i) for i in range(1, N + 1)])
    written = frame.to_csv(sep=" ", quoting=csv.QUOTE_NONNUMERIC)
    path.write_text(written.removeprefix('"" '))


def embedded(path):
    """Objects and lists of numbers in the columns of a Parquet file, and durations."""
    vectors = [
        [float(t in tags) + NUMBERS[i, 0] / 9 for t in TOPICS] for i, tags in enumerate(SETS)
    ]
    columns = {
        "vector": vectors,
        "user": [{"karma": i % 7, "name": f"u{i}"} for i in range(N)],
        "wait": pd.to_timedelta(NUMBERS[:, 1] ** 2, unit="h").round("s"),
        "title": TEXTS,
        "tags": SETS,
    }
    pd.DataFrame(columns).to_parquet(path)


def board(path):
    """An export with the cards, their labels once more as numbers, and other lists."""
    numbers = {t: f"5f{i}" for i, t in enumerate(TOPICS)}
    cards = [
        {
            "id": f"c{i}",
            "name": TEXTS[i],
            "idMembers": [],
            "idLabels": [numbers[t] for t in SETS[i]],
        }
        | {"labels": [{"id": numbers[t], "name": t} for t in SETS[i]]}
        for i in range(N)
    ]
    labels = [{"id": number, "name": t} for t, number in numbers.items()]
    actions = [{"id": f"a{i}", "type": "createCard"} for i in range(5)]
    found = {"name": "Team", "labels": labels, "actions": actions, "cards": cards}
    path.write_text(json.dumps(found))


def analyser(path):
    """Values with limits and flags, and a row of means that are rounded."""
    values = [f"{8 + i / 10:.1f} +" if i % 3 else "<0.6" for i in range(N)]
    levels = np.round(100 + 10 * NUMBERS[:, 0], 2)
    marks = {t: [int(t in tags) for tags in SETS] for t in TOPICS}
    columns = {"WBC": values, "PLT": levels, "IgE": levels + 5, "Befund": TEXTS} | marks
    frame = pd.DataFrame(columns)
    means = [f"{frame[c].mean():.2f}" if c in ("PLT", "IgE") else "" for c in frame]
    text = frame.to_csv(index=False)
    path.write_text(text + ",".join(["Ø aller", *means[1:]]) + "\n")


NAMED = "billing,shipping,login"
# The file, how it is made, its options, the number of labels, and what is said of it.
FILES = [
    ("office.xlsx", office, ["--labels", NAMED], 3, "Eingang: dates"),
    ("merged.xlsx", merged_header, ["--labels", NAMED], 3, "two rows of names read as one"),
    ("sheets.ods", second_sheet, ["--labels", "tags"], 3, "sheet Data, one of 2 (--sheet)"),
    ("lines.jsonl", json_lines, ["--labels", "tags"], 3, "user.karma"),
    ("survey.json", survey, ["--labels", NAMED], 3, "missing values in age"),
    ("cells.csv", json_cells, ["--labels", "tags"], 3, "tags holds lists such as"),
    ("typed.csv", typed_by_hand, ["--labels=tags", "--separator=;", "--separator=,"], 3, "3 lab"),
    ("database.csv", database, ["--labels", "tags"], 3, "tags holds lists such as '{"),
    ("coded.jsonl", coded, ["--labels", "events.code"], 3, "LOGIN"),
    ("export.json", annotated, ["-l", "annotations.result.value.choices"], 3, "data.text: text"),
    ("min.json", one_or_several, ["--labels", "topic"], 3, "tags in topic, topic.choices"),
    ("hashes.tsv", hashes, ["--labels", "tags"], 3, "tags split at spaces (--separator)"),
    ("angles.csv", angles, ["--labels", "tags"], 3, "tags holds lists such as '<"),
    ("plain.csv", no_header, ["--labels", "-3", "--no-header"], 3, "c1, c2, c3, c4"),
    ("twice.csv", twice, ["--labels", "tags"], 3, "renamed: score_2"),
    ("texts.npz", texts_in_arrays, [], 3, "y split at ';' (--separator)"),
    ("images.npz", images, [], 3, "arrays of 4 × 4 × 3 flattened to 48 features"),
    ("month.csv", one_month, ["--labels", "tags"], 3, "Timestamp: dates, day first"),
    ("messy.csv", messy, ["--labels=tags", "--ignore-case", "--no-label=none"], 3, "day first"),
    ("report.xlsx", report, ["--labels", NAMED], 3, "1 row of totals or notes at the end left out"),
    ("choices.csv", choices, ["--labels", NAMED], 3, "read as yes: 'Price, costs' (billing)"),
    ("tracker.csv", tag_columns, ["--labels", "tag,tag_2"], 3, "tags in tag, tag_2"),
    ("helpdesk.csv", helpdesk, ["--labels", "tags"], 3, "Body: text with HTML tags"),
    ("firms.tsv", firms, ["--labels", "tags"], 3, "the lines above the names left out"),
    ("events.jsonl", events, ["--labels", "tags"], 3, "_id.$oid left out: an identifier"),
    ("inspection.csv", inspection, ["--labels", NAMED], 3, "are unknown labels"),
    ("calls.parquet", calls, ["--labels", "tags"], 3, "missing values in wait, vip"),
    ("japanese.csv", japanese, ["--labels", "tags"], 3, "内容: text"),
    ("form.csv", form, ["--labels", "Topics?"], 3, "category: Zip; date: Timestamp)"),
    ("films.csv", films, ["--labels=genres", "--no-label=no genres listed"], 3, "split at '|'"),
    ("tweets.csv", tweets, ["--labels", "tags"], 3, "created_at: dates (--category"),
    ("museum.txt", museum, ["--labels", "tags"], 3, "category: Shelf; numeric: Value)"),
    ("shifts.xlsx", shifts, ["--labels", NAMED], 3, "Start: times, in hours"),
    ("visitors.csv", visitors, ["--labels", "Q5_1,Q5_2,Q5_3"], 3, "the questions below the names"),
    ("choices.xlsx", choices_below, ["--labels", NAMED], 3, "numeric: How old are you?)"),
    ("tickets.json", answer_of_a_service, ["--labels", "tags"], 3, "the rows in tickets"),
    ("appels.csv", appels, ["--labels", NAMED], 3, "numeric: Heure, Durée)"),
    ("orders.parquet", orders, ["--labels", "tags"], 3, "numeric: slot, handling)"),
    ("library.csv", library, ["--labels", "Subjects"], 3, "Added: dates, day first"),
    ("zgloszenia.csv", zgloszenia, ["--labels", "Kategorie"], 3, "cp1250 (--encoding)"),
    ("inmuebles.xlsx", listings, ["--labels", NAMED], 3, "the names in row 5, the rows above"),
    ("jira.csv", jira, ["--labels", "Labels"], 3, "tags in Labels, Labels_2"),
    ("pedidos.csv", pedidos, ["--labels", "Etiquetas"], 3, "Valor total: numbers in R$"),
    ("proteins.tsv", proteins, ["--labels", "GO"], 3, "Sequence: text"),
    ("akhbar.csv", akhbar, ["--labels", "الوسوم"], 3, "split at '،'"),
    ("issues.json", issues, ["--labels", "labels"], 3, "milestone.open"),
    ("machine.csv", machine, ["--labels", NAMED], 3, "5 cells of Temperature [K] read as missing"),
    ("X.npz", sparse_arrays, [], 3, "labels from y.npy"),
    ("projekte.csv", projekte, ["--labels", "Themen"], 3, "thousands separated in Budget EUR"),
    ("contracts.xlsx", contracts, ["--labels", "Klauseln"], 3, "in Monate, converted from Jahre"),
    ("stock.csv", stock, ["--labels", "tags"], 3, "Weight: numbers in g, converted from kg"),
    ("assay.csv", assay, ["--labels", NAMED], 3, "'<0.05 µM' read as the number"),
    ("bezirke.tsv", statistics_office, ["--labels", "Themen"], 3, "3 lines below the table"),
    ("board.json", board, ["--labels", "labels"], 3, "idLabels lists the labels by other names"),
    ("analyser.csv", analyser, ["--labels", NAMED], 3, "1 row of totals or notes at the end"),
    ("rows.txt", row_names, ["--labels", "-3"], 3, "row names in the first column"),
    ("embedded.parquet", embedded, ["--labels", "tags"], 3, "vector: lists of 3 numbers"),
]  # fmt: skip


def run(capsys, *words):
    """Run a command that must not fail; return what it prints."""
    code = main([str(word) for word in words])
    found = capsys.readouterr()
    assert code == 0, found.err
    return found.out, found.err


@pytest.mark.parametrize(
    ("name", "make", "options", "n_labels", "said"), FILES, ids=[one[0] for one in FILES]
)
def test_from_evaluate_to_serve(name, make, options, n_labels, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / name)
    _, err = run(
        capsys, "evaluate", name, *options, "-m", "mlknn", "--folds", 2, "--report", "r.html"
    )
    assert said in err
    assert f"{N} rows" in err
    assert (tmp_path / "r.html").stat().st_size > 10_000
    out, _ = run(capsys, "fit", name, *options, "-m", "logistic", "--set", "C=1.0")
    assert "written: model.labelkin" in out
    run(capsys, "predict", "model.labelkin", name, "--out", "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(rows) == N
    assert sum(bool(row["labels"]) for row in rows) > N // 2
    out, _ = run(capsys, "explain", "model.labelkin", name, "--row", 2)
    assert out.startswith("row 2 (R_1)" if name == "choices.csv" else "row 2")
    out, _ = run(capsys, "evaluate", "model.labelkin", name, "--json")
    assert json.loads(out)["rows"] == N
    if name.endswith(("npz", "parquet")):
        return  # the page takes CSV, JSON and spreadsheets
    from labelkin.cli._data import load_saved_model
    from labelkin.cli.serve import make_service

    service = make_service(load_saved_model(tmp_path / "model.labelkin"), None)
    assert len(service.describe()["labels"]) == n_labels
    found = service.predict(service.read((tmp_path / name).read_bytes()))
    assert [row["labels"] for row in found] == [row["labels"] for row in rows]


def test_times_are_read_alike_in_all_files(tmp_path, monkeypatch, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    sheet = (book := openpyxl.Workbook()).active
    sheet.append(["start", "hours", "late", "long"])
    for i in range(96):
        hours, at = 1 + i * 7 % 30, clock(i)
        marks = [int(at.hour >= 17), int(hours > 9)]
        sheet.append([at, datetime.timedelta(hours=hours), *marks])
    book.save("old.xlsx")
    run(capsys, "fit", "old.xlsx", "--labels", "late,long", "-m", "logistic", "--set", "C=100.0")
    rows = ["hours,start", "2:30:00,08:30", "26:00:00,22:15", "1:00:00,9:45 PM", "20:00,7:45 AM"]
    Path("new.csv").write_text("\n".join(rows) + "\n")
    records = [dict(zip(("hours", "start"), row.split(","), strict=True)) for row in rows[1:]]
    Path("new.json").write_text(json.dumps(records))
    for name in ("new.csv", "new.json"):
        out, _ = run(capsys, "predict", "model.labelkin", name, "--json")
        found = [json.loads(line)["labels"] for line in out.splitlines()]
        assert found == [[], ["late", "long"], ["late"], ["long"]]


def test_a_file_without_a_header_is_asked_about(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    no_header(tmp_path / "plain.csv")
    assert main(["fit", "plain.csv", "--labels", "-3"]) == 2
    assert "pass --no-header if the table has no header" in capsys.readouterr().err
    assert not (tmp_path / "model.labelkin").exists()


def test_doubts_are_said_with_the_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    messy(tmp_path / "messy.csv")
    _, err = run(capsys, "fit", "messy.csv", "--labels", "tags", "-m", "mlknn")
    assert "(set --ignore-case)" in err
    assert "(set --no-label)" in err
    assert "labels: " in err


def test_what_is_found_in_labels_is_printed_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    appels(tmp_path / "appels.csv")
    run(capsys, "fit", "appels.csv", "--labels", ",".join(TOPICS), "-m", "mlknn")
    _, err = run(capsys, "evaluate", "model.labelkin", "appels.csv")
    assert err.count("reading appels.csv:") == 1
    assert "reading labels of appels.csv: empty cells of billing, shipping, login are" in err


def test_rows_later_than_training_are_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"text": TEXTS, "created": DAYS.astype(str), "tags": joined(";")})
    frame.to_csv("old.csv", index=False)
    frame["created"] = (DAYS + pd.Timedelta(days=40)).astype(str)
    frame.to_csv("new.csv", index=False)
    run(capsys, "fit", "old.csv", "--labels", "tags", "-m", "mlknn")
    for command in ("predict", "evaluate"):
        _, err = run(capsys, command, "model.labelkin", "new.csv")
        assert "40 of 45 rows have created later than any in training" in err
    for row, later in ((1, False), (45, True)):  # the notes of an explanation are on its row
        _, err = run(capsys, "explain", "model.labelkin", "new.csv", "--row", row)
        assert ("1 of 1 row has created later" in err) == later
        assert "of 45 rows" not in err


def test_a_spreadsheet_with_many_guesses_or_a_wrong_label(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report(Path("report.xlsx"))
    out, err = run(capsys, "fit", "report.xlsx", "--labels", NAMED, "-m", "mlknn")
    assert "NEW --out predictions.xlsx" in out
    assert "reading report.xlsx:\n  sheet Q1, one of 2 (--sheet)\n" in err
    assert main(["fit", "report.xlsx", "--labels", "nonsense", "--out", "m.labelkin"]) == 2
    assert "sheet Q1, one of 2 (--sheet)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("encoding", "text", "delimiter", "decimal"),
    [
        ("utf-8-sig", "Größe;n;text\n1,5;7;a\n", ";", ","),
        ("cp1252", "Größe;n;text\n1,5;7;a\n", ";", ","),
        ("utf-8", "Größe;n;text\n2;7;a\n", ";", ","),
        ("utf-8", "Größe;n;text\n1.5;7;a\n", ";", "."),
        ("utf-8", "Größe\tn\ttext\n1,5\t7\ta\n", ";", ","),
        ("utf-16", "Größe\tn\ttext\n1.5\t7\ta\n", ",", "."),
        ("utf-8", "Größe,n,text\n1.5,7,a\n", ",", "."),
    ],
)
def test_predictions_are_written_like_the_rows(
    encoding, text, delimiter, decimal, tmp_path, monkeypatch, capsys
):
    """So that the program from which the rows come can open them."""
    monkeypatch.chdir(tmp_path)
    sizes = [1 + i % 7 / 2 for i in range(N)]
    data = {"Größe": sizes, "n": [i % 9 for i in range(N)], "text": TEXTS, "tags": joined("|")}
    pd.DataFrame(data).to_csv("old.csv", index=False)
    run(capsys, "fit", "old.csv", "--labels", "tags", "-m", "mlknn")
    Path("new.csv").write_text(text, encoding=encoding)
    run(capsys, "predict", "model.labelkin", "new.csv", "--keep", "all", "--out", "p.csv")
    raw = Path("p.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") == (encoding != "utf-8")
    row = raw.decode("utf-8-sig").splitlines()[1].split(delimiter)
    assert row[1:4] == text.splitlines()[1].replace("\t", delimiter).split(delimiter)
    assert row[5][1] == decimal  # of the confidence


@pytest.mark.parametrize("keep", ["all", "price,weight,rate,balance,tags"])
def test_kept_columns_are_copied_as_they_are_written(keep, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i}.50 EUR;{i % 9},5 kg;{i % 4} %;({i},25);{joined('|')[i]}" for i in range(N)]
    text = "\n".join(["price;weight;rate;balance;tags", *rows, ""])
    Path("old.csv").write_text(text)
    run(capsys, "fit", "old.csv", "--labels", "tags", "-m", "mlknn")
    words = ["predict", "model.labelkin", "old.csv", "--keep", keep, "--out"]
    run(capsys, *words, "p.csv")
    found = [line.split(";") for line in Path("p.csv").read_text().splitlines()]
    start = len(found[0]) - 7  # a number before them
    assert [";".join(line[start : start + 5]) for line in found] == text.splitlines()
    run(capsys, "predict", "model.labelkin", "old.csv", "--keep", "none", "--out", "q.csv")
    last = [line.split(";")[-1] for line in Path("q.csv").read_text().splitlines()]
    assert [line[-1] for line in found] == last  # of one decimal mark
    run(capsys, *words, "p.jsonl")
    first = json.loads(Path("p.jsonl").read_text().splitlines()[0])
    assert [first[name] for name in ("price", "rate")] == ["0.50 EUR", "0 %"]


def test_lists_are_copied_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sizes = [[{"size": i}] for i in range(N)]
    records = [
        {"text": TEXTS[i], "tags": SETS[i], "sizes": None if i == 3 else sizes[i]} for i in range(N)
    ]
    Path("t.json").write_text(json.dumps(records))
    run(capsys, "fit", "t.json", "--labels", "tags", "-m", "mlknn")
    words = ["predict", "model.labelkin", "t.json", "--keep", "all", "--out"]
    for out in ("p.csv", "p.jsonl"):
        run(capsys, *words, out)
    column = pd.read_csv("p.csv", keep_default_na=False)["sizes"]
    assert column[2:5].tolist() == ['[{"size": 2}]', "", '[{"size": 4}]']
    rows = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert [row["sizes"] for row in rows[2:5]] == [sizes[2], None, sizes[4]]
    assert rows[0]["tags"] == SETS[0]


def test_numbers_and_dates_stay_such_in_a_workbook(tmp_path, monkeypatch, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    codes = [f"{i:03}" for i in range(N)]
    data = {"id": range(1000, 1000 + N), "code": codes, "day": DAYS, "size": NUMBERS[:, 0]}
    data |= {"late": DAYS + pd.Timedelta(hours=9), "tags": joined("; ")}
    frame = pd.DataFrame(data)
    frame.loc[1, ["day", "size"]] = None
    frame.to_excel("t.xlsx", index=False)
    run(capsys, "fit", "t.xlsx", "--labels", "tags", "-m", "mlknn")
    keep = ["--id", "id", "--keep", "code,day,size,late"]
    run(capsys, "predict", "model.labelkin", "t.xlsx", *keep, "--out", "p.xlsx")
    _, first, second, *_ = openpyxl.load_workbook("p.xlsx").active.iter_rows(max_col=5)
    day = datetime.datetime(2024, 1, 1)
    late = day + datetime.timedelta(hours=9)
    assert [cell.value for cell in first] == [1000, "000", day, NUMBERS[0, 0], late]
    assert [cell.value for cell in second][:4] == [1001, "001", None, None]


def test_words_beside_numbers_and_texts_of_digits_stay_such(tmp_path, monkeypatch, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    codes = [str(4_006_381_333_000 + 7 * i) for i in range(N)]
    costs = [f"ca. {i} €" if i % 9 == 5 else float(i) for i in range(N)]
    frame = pd.DataFrame({"ean": codes, "cost": costs, "size": NUMBERS[:, 0], "tags": joined(";")})
    frame.to_excel("t.xlsx", index=False)
    frame["cost"] = pd.array([None, *range(1, N)], "Int64")
    frame.assign(day=DAYS, parts=[[i % 5, 0.5] for i in range(N)]).to_parquet("t.parquet")
    keep = ["--id", "ean", "--keep", "all", "--out"]
    for name, out in (
        ("t.xlsx", "p.xlsx"),
        ("t.parquet", "q.xlsx"),
        ("t.parquet", "p.parquet"),
        ("t.parquet", "p.jsonl"),
    ):
        run(capsys, "fit", name, "--labels", "tags", "-m", "mlknn", "--overwrite")
        run(capsys, "predict", "model.labelkin", name, *keep, out)
    rows = [*openpyxl.load_workbook("p.xlsx").active.iter_rows(values_only=True, max_col=2)]
    assert [row[1] for row in rows[5:8]] == [4, "ca. 5 €", 6]
    second = next(openpyxl.load_workbook("q.xlsx").active.iter_rows(min_row=3, values_only=True))
    assert second[:3] == (codes[1], 1, NUMBERS[1, 0])
    assert second[4:6] == (DAYS[1].to_pydatetime(), "[1.0, 0.5]")
    found = pd.read_parquet("p.parquet")
    assert found["ean"].tolist() == codes
    assert str(found["cost"].dtype).lower() == "float64"  # pandas reads integers with gaps as such
    first, second = Path("p.jsonl").read_text().splitlines()[:2]
    assert (json.loads(first)["cost"], json.loads(first)["ean"]) == (None, codes[0])
    assert '"cost":1,' in second


@pytest.mark.parametrize(("mark", "decimal"), [(" ", ","), (".", ","), (",", ".")])
def test_numbers_of_thousands_are_such_in_a_workbook(mark, decimal, tmp_path, monkeypatch, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    cells = ["787", f"1{mark}270", f"12{mark}001{decimal}5", f"3{decimal}25-", "4 kg", "n/a"]
    frame = pd.DataFrame({"size": [cells[i % 6] for i in range(N)], "x": NUMBERS[:, 0]})
    frame.assign(tags=joined("/")).to_csv("t.csv", sep=";", decimal=decimal, index=False)
    run(capsys, "fit", "t.csv", "--labels", "tags", "--number", "size", "-m", "mlknn")
    run(capsys, "predict", "model.labelkin", "t.csv", "--keep", "size", "--out", "p.xlsx")
    rows = [*openpyxl.load_workbook("p.xlsx").active.iter_rows(values_only=True, min_row=2)]
    assert [row[1] for row in rows[:6]] == [787, 1270, 12001.5, -3.25, "4 kg", None]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_numbers_and_dates_stay_such_in_parquet_and_json(suffix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    size = np.where(np.arange(N) == 1, np.nan, NUMBERS[:, 0] / 1e9)
    data = {"id": range(1000, 1000 + N), "code": [f"{i:03}" for i in range(N)], "day": DAYS.date}
    frame = pd.DataFrame(data | {"size": size, "tags": joined("; ")})
    frame.loc[: N // 2, "day"] = None
    monkeypatch.setattr("labelkin.cli.predict._BLOCK", 10)  # in the first ones no row has a day
    if suffix == "jsonl":
        frame.assign(day=frame["day"].astype(str).replace("None", None)).to_json(
            "t.jsonl", orient="records", lines=True, double_precision=15
        )
    else:
        getattr(frame, f"to_{suffix}")(f"t.{suffix}", index=False)
    run(capsys, "fit", f"t.{suffix}", "--labels", "tags", "-m", "mlknn")
    keep = ["--id", "id", "--keep", "code,day,size"]
    for out in ("p.parquet", "p.jsonl"):
        run(capsys, "predict", "model.labelkin", f"t.{suffix}", *keep, "--out", out)
    found = pd.read_parquet("p.parquet")
    pd.testing.assert_frame_equal(found[["id", "code", "day"]], frame[["id", "code", "day"]])
    np.testing.assert_allclose(found["size"], size, atol=1e-15)
    rows = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [*data["id"]]
    assert (rows[1]["code"], rows[1]["size"]) == ("001", None)
    assert rows[-1]["day"] == str(DAYS[-1].date())
    np.testing.assert_allclose(rows[-1]["size"], size[-1], atol=1e-15)


def test_the_next_command_has_the_flags(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    no_header(tmp_path / "plain.csv")
    words = ["evaluate", "plain.csv", "--labels=-3", "--no-header", "-m", "mlknn", "--folds=2"]
    out, _ = run(capsys, *words, "--json")
    run(capsys, *json.loads(out)["next"].split()[1:])


def test_labels_given_one_by_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = {"size": NUMBERS[:, 0], "red, dark": NUMBERS[:, 0] > 0, "blue": NUMBERS[:, 1] > 0}
    pd.DataFrame(columns).to_csv("colours.csv", index=False)
    words = ["colours.csv", "--labels", "blue", "--labels", "red, dark"]
    out, _ = run(capsys, "fit", *words, "-m", "mlknn", "--json")
    assert json.loads(out)["labels"] == ["blue", "red, dark"]
    out, _ = run(capsys, "datasets", "describe", *words, "--json")
    assert json.loads(out)["labels"] == 2


def test_more_columns_of_the_name_of_a_label(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tag_columns(tmp_path / "t.csv")
    fit = "fit", "t.csv", "-m", "mlknn", "-f", "--labels"
    _, err = run(capsys, *fit, "tag")
    assert "tags in tag, tag_2 (--ignore)" in err
    assert "3 labels, 1.6 per row" in err
    _, err = run(capsys, *fit, "tag", "--ignore", "tag_2")
    assert "1 per row" in err
    _, err = run(capsys, *fit, "tag", "--category", "tag_2")
    assert "tag_2 kept as a feature, although the labels are in tag; if all of them hold" in err
    _, err = run(capsys, *fit, "tag,tag_2")
    assert "kept as a feature" not in err
    assert main([*fit, "tag,tag"]) == 2
    assert "named twice; name it once" in capsys.readouterr().err
    # New rows with one tag each, and with three at most.
    for header, tags in (("tag", 1), ("tag,tag,tag", 3)):
        cells = ",".join(["late parcel", *"abc"[:tags]])
        (tmp_path / "new.csv").write_text(f"Summary,{header}\n{cells}\n")
        _, err = run(capsys, "evaluate", "model.labelkin", "new.csv")
        assert f"unknown to the model are left out: {', '.join('abc'[:tags])}" in err


def test_dates_that_could_be_read_both_ways(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days = [f"{1 + i % 5:02}/{1 + i % 4:02}/2024" for i in range(N)]
    frame = pd.DataFrame({"text": TEXTS, "day": days, "tags": joined(";")})
    frame.to_csv("old.csv", index=False)
    frame.assign(day="13/02/2024").to_csv("new.csv", index=False)
    fit = ["fit", "old.csv", "--labels", "tags", "-m", "mlknn", "--overwrite"]
    _, err = run(capsys, *fit)
    assert "day: dates, month first (--day-first-date or" in err
    assert main(["predict", "model.labelkin", "new.csv"]) == 2
    assert "fit the model with --day-first-date day" in capsys.readouterr().err
    run(capsys, *fit, "--day-first-date", "day")
    run(capsys, "predict", "model.labelkin", "new.csv")


def test_a_dozen_short_texts_are_no_categories(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = [f"{word} case {i}" for i, word in enumerate(["phone", "violin"] * 6)]
    frame = pd.DataFrame({"product": texts, "tags": ["phone", "music"] * 6})
    frame.to_csv("dozen.csv", index=False)
    _, err = run(capsys, "fit", "dozen.csv", "--labels", "tags", "-m", "mlknn")
    assert "product: text (--category or --ignore)" in err


def test_new_images_alone_need_no_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    images(tmp_path / "images.npz")
    run(capsys, "fit", "images.npz", "-m", "mlknn")
    np.savez("new.npz", pixels=np.load("images.npz")["X"][:5])
    out, _ = run(capsys, "predict", "model.labelkin", "new.npz")
    assert len(out.splitlines()) == 6


def test_categories_that_no_training_row_has(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{'Trade' if i % 2 else 'Crafts'},{i % 7},{i % 2},{int(i % 3 == 0)}" for i in range(60)
    ]
    Path("t.csv").write_text("\n".join(["branch,size,a,b", *rows]) + "\n")
    Path("new.csv").write_text("branch,size\nTrade,3\nTrade ,3\nSpace,3\n,3\n")
    assert main(["fit", "t.csv", "--labels", "a,b", "--model", "mlknn"]) == 0
    capsys.readouterr()
    assert main(["predict", "model.labelkin", "new.csv", "--proba", "--out", "p.csv"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert (
        "1 of 4 rows has a value of branch that no training row has; it is not used there: 'Space'"
        in told
    )
    first, padded, *_ = Path("p.csv").read_text().splitlines()[1:]
    assert first.split(",")[1:] == padded.split(",")[1:]


def test_new_rows_without_some_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    marks = {t: [int(t in tags) for tags in SETS] for t in TOPICS}
    weights = [f"{i + 40} kg" for i in range(N)]
    pd.DataFrame({"text": TEXTS, "weight": weights, **marks}).to_csv("t.csv", index=False)
    pd.DataFrame({"text": TEXTS[:3], "id": [7, 8, 9]}).to_csv("new.csv", index=False)
    assert main(["fit", "t.csv", "--labels", "-3", "--model", "mlknn", "--out", "m.labelkin"]) == 0
    assert "weight: numbers in kg (--category)" in " ".join(capsys.readouterr().err.split())
    for command in ("predict", "explain"):
        assert main([command, "m.labelkin", "new.csv"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "note: new.csv: no column weight: its values are missing" in said
    Path("other.csv").write_text("text,weight\nabc,7 cm\n")
    assert main(["predict", "m.labelkin", "other.csv"]) == 2
    assert (
        "holds numbers in cm, and the model was fitted on numbers in kg" in capsys.readouterr().err
    )
