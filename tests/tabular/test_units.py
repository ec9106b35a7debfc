"""Units after numbers, words for unknown numbers, and points between thousands of amounts."""

import warnings

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.datasets import read, read_table
from labelkin.tabular import find_training_data, table_of_records

N = 60


def write(path, header, *columns):
    rows = [";".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return read_table(path)


def texts(found):
    return [guess.text for guess in found.guesses]


@pytest.mark.parametrize(
    ("form", "unit"),
    [
        ("{} Jahre", "Jahre"),
        ("{}kg", "kg"),
        ("{}V", "V"),
        ("{},5 °C", "°C"),
        ("{} km/h", "km/h"),
        ("{}/90", "/90"),
        ("{}円", "円"),
        ("{} m2", "m²"),
        ("£{}k", "k£"),
        ("{} Mio. €", "M€"),
        ("{} zł", "zł"),
        ("R$ {},5", "R$"),
        ("R$\u00a0{},50", "R$"),
        ("US$ {}", "$"),
        ("CHF {}", "CHF"),
        ("kr {}", "kr"),
        ("Rs. {}", "Rs"),
        ("A${}", "A$"),
    ],
)
def test_numbers_with_one_unit_are_numbers(form, unit, tmp_path):
    cells = [form.format(i) for i in range(10, 10 + N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert found.data["a"].tolist() == [i + 0.5 * ("," in form) for i in range(10, 10 + N)]
    assert found.units == {"a": unit}
    words = f"numbers out of {unit[1:]}" if unit[0] == "/" else f"numbers in {unit}"
    assert f"a: {words}" in texts(found)


@pytest.mark.parametrize(
    "cells",
    [
        ["5 kg", "6 m"] * 30,
        [f"{i}{'ABC'[i % 3]}" for i in range(N)],
        [f"{i:03} x" for i in range(N)],
        [f"INV {i}" for i in range(N)],
        [f"Rs{i:03}" for i in range(N)],
        [f"{i}-{i + 2} kg" for i in range(N)],
    ],
)
def test_other_cells_are_no_numbers(cells, tmp_path):
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert (found.data["a"].tolist(), found.units) == (cells, {})


@pytest.mark.parametrize(
    ("form", "others"),
    [
        ("{} m²", ["7 m2", "7m²", "7"]),
        ("kr {}", ["7 kr", "7kr.", "kr. 7"]),
        ("{} EUR", ["7 €", "EUR 7", "€7"]),
        ("{} EUR/kg", ["7 EUR/kg", "7"]),
        ("R$ {},00", ["R$7,00", "BRL 7"]),
    ],
)
def test_one_unit_is_written_in_several_ways(form, others, tmp_path):
    cells = [form.format(i) for i in range(N)]
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    schema = find_training_data(table, "y", columns={"a": "number"}).schema
    for number, cell in enumerate(others):
        new = write(tmp_path / f"{number}.csv", "a;b", [cell], [1])
        assert schema.read(new)["a"].tolist() == [7]
        assert schema.read(table_of_records([{"a": cell}], schema))["a"].tolist() == [7]


@pytest.mark.parametrize("word", ["day", "an"])
def test_one_day_and_many_days(word, tmp_path):
    cells = [f"{i} {word}{'s' if i > 1 else ''}" for i in range(1, 1 + N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert found.data["a"].tolist() == list(range(1, 1 + N))


def test_words_for_unknown_numbers_are_missing_values(tmp_path):
    cells = [f"{i} kg" for i in range(N - 3)] + ["k.A.", "Unbekannt", "Error"]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert np.isnan(found.data["a"][-3:]).all()
    assert "'Error', 'Unbekannt', 'k.A.' read as missing in a" in texts(found)
    few = write(tmp_path / "t.csv", "a;y", ["1", "2", "unknown"] * 20, [0, 1] * (N // 2))
    assert few.data["a"].tolist() == ["1", "2", "unknown"] * 20  # one of three categories


def test_a_decimal_comma_among_a_few_words(tmp_path):
    cells = [f"{i},5" for i in range(N - 2)] + ["auf Anfrage"] * 2
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    schema = find_training_data(found, ["y"]).schema
    assert schema.columns == {"a": "number"}
    assert schema.read(found)["a"].tolist()[:2] == [0.5, 1.5]


def test_points_in_amounts_are_between_thousands(tmp_path):
    cells = [f"{i}.250 €" for i in range(1, N)] + ["165 €"]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert found.data["a"].tolist() == [1000 * i + 250 for i in range(1, N)] + [165]


@pytest.fixture
def model():
    ages = [f"{i} Jahre" for i in range(20, 20 + N)]
    data = pd.DataFrame({"Alter": ages, "n": range(N), "y": [int(i > 30) for i in range(N)]})
    data["z"] = 1 - data["y"]
    return TableClassifier(MLkNNClassifier(n_neighbors=3), labels=["y", "z"]).fit(data)


def test_new_rows_with_the_unit_or_without_any(model):
    kept = model.schema_.read(pd.DataFrame({"Alter": ["30 Jahre", "k.A.", "31"], "n": 1}))
    np.testing.assert_array_equal(kept["Alter"], [30, np.nan, 31])
    assert model.schema_.read(pd.DataFrame({"Alter": [30, 31], "n": 1}))["Alter"].tolist() == [
        30,
        31,
    ]


def test_new_rows_in_another_unit_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="'Alter' holds '30 kg' in row 1, not a number in Jahre"):
        model.predict(pd.DataFrame({"Alter": ["30 kg"], "n": 1}))
    weights = write(tmp_path / "t.csv", "Alter;n", [f"{i} kg" for i in range(N)], range(N))
    with pytest.raises(ValueError, match="holds numbers in kg, and the model was fitted on num"):
        model.predict(weights)


def test_texts_of_a_spreadsheet_with_a_decimal_comma(tmp_path):
    pytest.importorskip("openpyxl")
    prices = [f"{i}.546,22" for i in range(1, 1 + N)]
    data = pd.DataFrame({"price": prices, "n": np.arange(N) + 0.125, "y": [0, 1] * (N // 2)})
    data.to_excel(tmp_path / "t.xlsx", index=False)
    found = read_table(tmp_path / "t.xlsx")
    np.testing.assert_allclose(found.data["price"], [1000 * i + 546.22 for i in range(1, 1 + N)])
    assert found.data["n"].tolist() == data["n"].tolist()
    schema = find_training_data(found, ["y"]).schema
    assert schema.columns == {"price": "number", "n": "number"}
    # Of a few new rows alone, one could not tell.
    pd.DataFrame({"price": ["1,234"], "n": [0.125]}).to_excel(tmp_path / "new.xlsx", index=False)
    new = schema.read(read_table(tmp_path / "new.xlsx", **schema.reading))
    assert new.to_dict("list") == {"price": [1.234], "n": [0.125]}
    new = schema.read(table_of_records([{"price": "1,234", "n": 0.125}], schema))
    assert new.to_dict("list") == {"price": [1.234], "n": [0.125]}


@pytest.mark.parametrize("suffix", ["xlsx", "ods"])
def test_numbers_and_texts_of_a_spreadsheet_in_one_column(tmp_path, suffix):
    pytest.importorskip({"xlsx": "openpyxl", "ods": "odf"}[suffix])
    cells = {
        "price": [402.75, "402,75", "4.733,18 €", 2.125, None] * 5,
        "grade": [2.3, "2,3", 1, 4.0, "3,7"] * 5,
        "whole": ["950", "1.026", "3.400", "17", "1.000"] * 5,
        "tags": [3, "3,10", "10", "4,3", 4] * 5,
        "cost": [3, "402,75 €", "ca. 1008 €", 2.5, 4] * 5,
    }
    pd.DataFrame(cells).to_excel(tmp_path / f"t.{suffix}", index=False)
    found = read_table(tmp_path / f"t.{suffix}", as_strings=["tags"])
    np.testing.assert_array_equal(found.data["price"][:5], [402.75, 402.75, 4733.18, 2.125, np.nan])
    assert found.data["grade"].tolist()[:5] == [2.3, 2.3, 1, 4, 3.7]
    assert found.data["whole"].tolist()[:5] == [950, 1026, 3400, 17, 1000]
    assert found.data["tags"].tolist()[:5] == ["3", "3,10", "10", "4,3", "4"]
    assert "',' decimal in texts of price, grade, whole, cost" in texts(found)
    assert "cost: numbers in €, 'ca. 1008 €' read as the number" in texts(found)
    # The mark of the model decides on a few new rows.
    pd.DataFrame({"price": ["1.026"]}).to_excel(tmp_path / f"new.{suffix}", index=False)
    assert read_table(tmp_path / f"new.{suffix}", decimal=",").data["price"].tolist() == [1026]


def test_amounts_in_another_currency_are_refused(tmp_path):
    cells = [f"{i},50 €" for i in range(N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    schema = find_training_data(found, ["y"]).schema  # in ascending order, but no identifiers
    assert (schema.columns, schema.measured["a"].unit) == ({"a": "number"}, "€")
    for cell, value in (("3,50 EUR", 3.5), ("€ 3,50", 3.5), ("3,50", 3.5)):
        rows = table_of_records([{"a": cell}], schema)
        assert schema.read(rows)["a"].tolist() == [value]
    with pytest.raises(ValueError, match=r"'a' holds '\$ 3,50' in row 1, not a number in €"):
        schema.read(table_of_records([{"a": "$ 3,50"}], schema))
    dollars = write(tmp_path / "new.csv", "a;b", [f"{i},50 $" for i in range(N)], range(N))
    with pytest.raises(
        ValueError, match=r"numbers in \$, and the model was fitted on numbers in €"
    ):
        schema.read(dollars)
    bare = write(tmp_path / "bare.csv", "a;y", [f"{i},50" for i in range(N)], [0, 1] * (N // 2))
    assert find_training_data(bare, ["y"]).schema.read(dollars)["a"].tolist()[:2] == [0.5, 1.5]


def test_one_column_with_points_in_a_file_of_decimal_commas(tmp_path):
    found = write(
        tmp_path / "t.csv", "a;b;c", ["1,5", "2,5"], ["1,234.5 m", "2,000.5 m"], ["1,234", "x"]
    )
    assert found.data["b"].tolist() == [1234.5, 2000.5]
    assert found.decimal == ","


@pytest.mark.parametrize("form", ["{}", "{} €", "{} %", "{} kg"])
def test_a_decimal_comma_in_a_frame(tmp_path, form):
    numbers = np.arange(60) * 37.5 + 1000.25
    written = [form.format(f"{x:,.2f}".translate(str.maketrans(",.", ".,"))) for x in numbers]
    frame = pd.DataFrame({"price": written, "tags": ["1,2", "3"] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    expected = numbers / 100 if "%" in form else numbers
    for data in (frame, read_table(tmp_path / "t.parquet")):
        training = find_training_data(data, "tags")
        assert training.schema.columns == {"price": "number"}
        np.testing.assert_allclose(training.X["price"], expected)
        assert "',' decimal" in [guess.text for guess in training.guesses]
        # One row may look like a number with a point.
        one = training.schema.read(pd.DataFrame({"price": [form.format("1.500")]}))
        np.testing.assert_allclose(one["price"], 15 if "%" in form else 1500)


@pytest.mark.parametrize(
    ("form", "others"),
    [
        ("{} kg", {"977 g": 0.977, "2,81 kg": 2.81, "1 lb": 0.45359237, "2 lbs": 0.90718474}),
        ("{} µM", {"50 nM": 0.05, "3 μM": 3, "0,2 mM": 200}),
        ("{} mg/l", {"7 µg/l": 0.007}),
        ("{} m²", {"1000 sq ft": 92.90304, "100 ft²": 9.290304, "50 sqm": 50}),
        ("{} GB", {"4 gb": 4, "2 TB": 2000, "500 mb": 0.5}),
        ("{} kg", {"5 KG": 5, "5 Kg": 5, "ca. 7 kg": 7}),
        ("{} €", {"7 Euro": 7, "ab 95 €": 95, "(5,50 €)": -5.5}),
        ("{},25 H", {"7,50 S": -7.5, "7,50 H": 7.5, "7,50-": -7.5}),
        ("{},250", {"7,250-": -7.25, "13-": -13, "1.234-": -1234, "9,500": 9.5}),
        ("{},25 DR", {"7,50 CR": 7.5, "-7,50 DR": -7.5, "12,5": 12.5}),
        (
            "{}:30",
            {"15:45 Uhr": 15.75, "13 Uhr": 13, "8.30 Uhr": 8.5, "1 h 15 min": 1.25, "8h30": 8.5},
        ),
        ("{} min", {"1h03": 63, "25 Minuten 30 Sekunden": 25.5, "2 hours and 5 mins": 125}),
        ("{} min", {"1h 31m": 91, "2h 5m 30s": 125.5}),
        ("{} mg/dL", {"180 mg/dL *": 180, "70 mg/dL (L)": 70, "9 mg/dL H": 9}),
        ("{} Std./Woche", {"20 Std/Woche": 20, "um 30 Std./Woche": 30}),
        ("{} min", {"61'": 61, "90′": 90}),
        ("{} ft", {"5'3\"": 5.25, "6’ 0”": 6}),
        ("{}:30", {"7 AM": 7, "12 p.m.": 12, "6 PM": 18}),
        ("{}.5", {"10.5 L": 10.5, "52 H": 52, "58*": 58, "9 HH": 9, "7 ↓": 7}),
        ("{} mg/l", {"10 L": 10, "52 H": 52}),
        ("{} ml", {"1 L": 1000, "2 ml": 2}),
        ("{} days", {"2 days 12:00:00": 2.5, "36 h": 1.5, "P7DT12H0M0S": 7.5, "1 week": 7}),
        ("{} Monate", {"1 Monat": 1, "2 Jahre": 24, "3 J. 6 M.": 42, "1 J.": 12, "9 mo": 9}),
        ("{} years", {"6m": 0.5, "2y 3m": 2.25, "1 yr 6 mths": 1.5}),
        ("{} h", {"1w 4h": 172, "2d 30m": 48.5, "3 wks": 504, "40m": 2 / 3, "PT90M": 1.5}),
        ("{},5 g/dl", {"128 g/L": 12.8, "5 mg/ml": 0.5}),
        ("{} mmol/l", {"7 µmol/L": 0.007, "7 µmol/ml": 7, "0,7 mmol/dl": 7}),
        ("{} kg", {"450 gr": 0.45, "3 ton": 3000, "2 Tonnen": 2000, "7 Gramm": 0.007}),
        ("{} uur 15", {"2 uur": 2, "2u45": 2.75, "± 3 uur": 3}),
        ("{} m", {"3 Meter": 3, "2 kilometers": 2000}),
        ("{} km/h", {"10 m/s": 36, "1 mph": 1.609344}),
        ("{} V", {"230V": 230, "1,5kV": 1500, "12,5V": 12.5}),
        ("{} bar", {"503 kPa": 5.03, "1 MPa": 10, "20 mbar": 0.02, "1 psi": 0.06894757}),
        ("{} obr/min", {"900 rpm": 900, "10 obr/s": 600}),
        ("{} Nm", {"3 kNm": 3000, "7Nm": 7}),
        ("{} l/min", {"3 m³/h": 50, "300 ml/min": 0.3}),
        ("{} min", {"2 godz.": 120, "1 godz. 30 min": 90}),
        ("{} mol", {"7 mmol": 0.007}),
        ("{} days", {"PT216000S": 2.5, "PT864000000S": 10_000, "P-2DT12H0M0S": -1.5}),
        ("{}:30", {"90 min": 1.5, "1 day": 24}),
        ("{} mW", {"3 MW": 3e9, "3 mW": 3}),
    ],
)
def test_units_of_one_kind_are_converted(form, others, tmp_path):
    """In the same column, in new rows of a file, and in a request."""
    first = [form.format(i) for i in range(10, 10 + N - len(others))]
    found = write(tmp_path / "t.csv", "a;y", [*first, *others], [0, 1] * (N // 2))
    np.testing.assert_allclose(found.data["a"][len(first) :], [*others.values()], rtol=1e-7)
    n = len(first)
    alone = write(tmp_path / "alone.csv", "a;y;d", first, [i % 2 for i in range(n)], ["1,5"] * n)
    schema = find_training_data(alone, "y", columns={"a": "number", "d": "ignore"}).schema
    for cell, value in others.items():
        new = write(tmp_path / "new.csv", "a;b", [cell], [1])
        for table in (new, table_of_records([{"a": cell}], schema)):
            np.testing.assert_allclose(schema.read(table)["a"], [value], rtol=1e-7)


@pytest.mark.parametrize(
    ("cells", "expected", "new"),
    [
        (["1h 13m", "53m", "2h", "5m"], [73 / 60, 53 / 60, 2, 5 / 60], ("45m", 0.75)),
        (["3.1K", "814", "1.2M", "20k"], [3100, 814, 1.2e6, 20_000], ("7K", 7000)),
    ],
)
def test_minutes_beside_hours_and_thousands_beside_units(cells, expected, new, tmp_path):
    column, y = cells * (N // 4), [0, 1] * (N // 2)
    for found in (
        write(tmp_path / "t.csv", "a;y", column, y),
        pd.DataFrame({"a": column, "y": y}),
    ):
        schema = find_training_data(found, "y", columns={"a": "number"}).schema
        rows = table_of_records([{"a": cell} for cell in (*cells, new[0])], schema)
        assert schema.read(rows)["a"].tolist() == pytest.approx([*expected, new[1]])


@pytest.mark.parametrize(
    ("cells", "expected", "unit", "new"),
    [
        (["30m", "2d 4h", "1w", "1h"], [0.5, 52, 168, 1], "times, in hours", ("2d 3h", 51)),
        (["30m", "1d", "2d", "1h"], [0.5, 24, 48, 1], "times, in hours", ("3d", 72)),
        (["6 mo", "2 J.", "3 J. 6 M.", "9 M."], [6, 24, 42, 9], "numbers in months", ("1 J.", 12)),
        (["10 d", "6m", "2y", "3y"], [10 / 365.25, 0.5, 2, 3], "numbers in y", ("1y 6m", 1.5)),
        (["90ms", "1.5s", "150 ms"], [90, 1500, 150], "numbers in ms", ("0.1 sec", 100)),
        (["2 lb 8 oz", "8 oz", "1.5 lb"], [2.5, 0.5, 1.5], "numbers in lb", ("1 lb 4 oz", 1.25)),
        (["18 mois", "4a", "2 ans 6 mois"], [18, 48, 30], "numbers in months", ("3 ans", 36)),
        (["12.8 g/dl", "135 g/L"], [12.8, 13.5], "numbers in g/dl", ("130 g/L", 13)),
        (["2500", "€2,500", "2.5k", "900"], [2500] * 3 + [900], "numbers in €", ("€3.1k", 3100)),
        (["$1.3M", "199159", "$2M"], [1.3e6, 199159, 2e6], "numbers in $", ("$5.5M", 5.5e6)),
        (["£503/week", "£2,191.50 pcm"], [503, 504], "numbers in £/week", ("£52 p.w.", 52)),
        (["12.50 €/m²", "13 EUR/m2", "0.5 k€/m²"], [12.5, 13, 500], "numbers in €/m²", ("9", 9)),
        (["£1.2m", "£350k", "£5000"], [1.2e6, 3.5e5, 5e3], "numbers in £", ("£7k", 7000)),
    ],
)
def test_few_durations_and_concentrations_in_several_units(cells, expected, unit, new, tmp_path):
    column, y = cells * (N // len(cells)), [0, 1] * (N // 2)
    frame = pd.DataFrame({"a": column, "y": y})
    frame.to_json(tmp_path / "t.json", orient="records")
    tables = frame, read_table(tmp_path / "t.json"), write(tmp_path / "t.csv", "a;y", column, y)
    for found in tables:
        training = find_training_data(found, "y")
        assert training.X["a"].tolist()[: len(cells)] == pytest.approx(expected)
        assert any(guess.text.startswith(f"a: {unit}, converted") for guess in training.guesses)
        rows = table_of_records([{"a": new[0]}], training.schema)
        assert training.schema.read(rows)["a"].tolist() == pytest.approx([new[1]])


@pytest.mark.parametrize("cells", [["5 m", "2 kg"], ["5 M", "2 J"], ["30m", "2d"], ["5 m", "3 l"]])
def test_letters_that_may_be_other_units_are_no_times(cells, tmp_path):
    column = cells * (N // 2)
    found = write(tmp_path / "t.csv", "a;y", column, [0, 1] * (N // 2))
    assert found.data["a"].tolist() == column
    lengths = [f"{i} m" for i in range(N - 1)] + ["3 s"]
    found = write(tmp_path / "t.csv", "a;y", lengths, [0, 1] * (N // 2))
    assert find_training_data(found, "y").X["a"].isna().sum() == 1


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("hours_run", ["8731 u", "1595"], [8731, 1595]),
        ("distanceInMeters", ["1 km", "120"], [1000, 120]),
        ("weight_g", ["1.5 kg", "120"], [1500, 120]),
        ("visits", ["12x", "7", "5 mal"], [12, 7, 5]),
        ("pieces", ["12 Stück", "7"], [12, 7]),
        ("Hours per week", ["7 h", "8"], [7, 8]),
        ("Work", ["9 hours", "8"], [9, 8]),
        ("Waiting time on day 1", ["9 min", "8"], [9, 8]),
        ("Tenure (years)", ["6 months", "8"], [0.5, 8]),
        ("Horas por semana", ["30 min", "8"], [0.5, 8]),
        ("rent", ["£1,250 pcm", "£1,100 per month", "90"], [1250, 1100, 90]),
        ("area", ["80 mq", "82.5 m²", "7 qm"], [80, 82.5, 7]),
    ],
)
def test_numbers_with_and_without_a_unit(name, cells, expected, tmp_path):
    column = [*cells, *cells, *cells, *map(str, range(20, 80 - 3 * len(cells)))]
    found = write(tmp_path / "t.csv", f"{name};y", column, [0, 1] * 30)
    for columns in ({}, {name: "number"}):
        training = find_training_data(found, "y", columns=columns)
        assert training.X[name].tolist()[: len(cells)] == expected
        rows = table_of_records([{name: cell} for cell in cells], training.schema)
        assert training.schema.read(rows)[name].tolist() == expected


def test_units_of_another_kind_are_missing_or_refused(tmp_path):
    cells = [f"{i},50 zł" for i in range(N - 5)] + [f"{i},10 €" for i in range(5)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    training = find_training_data(found, "y")
    assert training.X["a"].tolist()[:2] == [0.5, 1.5]
    assert training.X["a"].isna().sum() == 5
    assert "5 cells of a read as missing: '0,10 €', '1,10 €', '2,10 €' and 2 more" in texts(found)
    for cell in ("12,50 €", "12 kg"):
        new = write(tmp_path / "new.csv", "a;b", ["3 zł", cell, "5 zł"], range(3))
        with pytest.raises(ValueError, match=f"'{cell}' in row 2, not a number in zł"):
            training.schema.read(new, [])


def test_limits_are_read_as_numbers(tmp_path):
    cells = ["<0,5", "> 190", "≤3", "~ 7", *(f"{i},5" for i in range(N - 4))]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert found.data["a"].tolist()[:5] == [0.5, 190, 3, 7, 0.5]
    assert "a: numbers, '<0,5' read as the number" in texts(found)
    schema = find_training_data(found, "y").schema
    assert schema.read(table_of_records([{"a": ">14,2"}], schema))["a"].tolist() == [14.2]
    years = ["c1974", "[2019]", "[1950?]", *map(str, range(1960, 1960 + N - 3))]
    found = write(tmp_path / "t.csv", "a;y", years, [0, 1] * (N // 2))
    assert found.data["a"].tolist()[:4] == [1974, 2019, 1950, 1960]
    groups = write(tmp_path / "t.csv", "a;y", ["<18", "18-65", ">65"] * 20, [0, 1] * (N // 2))
    assert groups.data["a"].tolist()[:2] == ["<18", "18-65"]


@pytest.mark.parametrize(
    "cells", [["<6m", ">6m"], ["<= 3 cm", "> 3 cm"], ["1", "2", "3", ">3"], ["1", "1-", "2"]]
)
def test_limits_that_are_categories_stay_apart(cells, tmp_path):
    column, y = cells * (N // len(cells)), [0, 1] * (N // 2)
    for found in (
        write(tmp_path / "t.csv", "a;y", column, y),
        pd.DataFrame({"a": column, "y": y}),
    ):
        training = find_training_data(found, "y")
        assert training.schema.columns == {"a": "category"}
        assert {*training.X["a"]} == {*cells}


@pytest.mark.parametrize("form", ["{}A", "c{}"])
def test_numbers_with_a_letter_among_numbers_are_codes(form, tmp_path):
    column = [str(i // 3) for i in range(300)]
    column[40:42] = column[90:92] = [form.format(7)] * 2
    y = [0, 1] * 150
    for found in (
        write(tmp_path / "t.csv", "family;y", column, y),
        pd.DataFrame({"family": column, "y": y}),
    ):
        assert find_training_data(found, "y").schema.columns == {"family": "category"}


def test_columns_of_several_numbers_are_doubted(tmp_path):
    cells = [f"{i + 80} x {i} x {2 * i} cm" for i in range(N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert find_training_data(found, "y").schema.columns == {"a": "text"}
    words = "a: text, though it holds numbers; write one number in each cell, in one unit"
    assert words in texts(found)


def test_a_mark_that_may_stand_between_thousands_is_refused(tmp_path):
    """Where the training rows did not show the decimal mark, as in a spreadsheet of numbers."""
    data = pd.DataFrame({"a": [1000.0 * (i % 30) for i in range(N)], "y": [0, 1] * (N // 2)})
    schema = find_training_data(data, "y").schema
    with pytest.raises(ValueError, match=r"'18\.000' in row 1, which may be 18000 or 18; write it"):
        schema.read(table_of_records([{"a": "18.000"}], schema))
    both = table_of_records([{"a": "18.000"}, {"a": "25.000,50"}], schema)
    assert schema.read(both)["a"].tolist() == [18_000, 25_000.5]
    data["b"] = [f"{i}.5 kg" for i in range(N)]  # which has a decimal point
    schema = find_training_data(data, "y").schema
    assert schema.read(table_of_records([{"a": "18.125", "b": 1}], schema))["a"].tolist() == [
        18.125
    ]


@pytest.mark.parametrize("form", ["${:,}", "{:,}", "{:,} EUR"])
def test_commas_between_thousands_stay_such(form, tmp_path):
    """In DataFrames, files with a word among the numbers, and requests."""
    numbers = [20_500 + 1250 * (i % 40) for i in range(N)]
    frame = pd.DataFrame({"a": [form.format(n) for n in numbers], "y": [0, 1] * (N // 2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, read_table(tmp_path / "t.csv")):
        schema = find_training_data(data, "y").schema
        words = frame.assign(a=[*frame["a"][:-2], "negotiable", None])
        words.to_csv(tmp_path / "new.csv", index=False)
        for new in (words, read_table(tmp_path / "new.csv", **schema.reading)):
            assert schema.read(new, [])["a"].tolist()[:-2] == numbers[:-2]
        one = table_of_records([{"a": form.format(95_000)}], schema)
        assert schema.read(one)["a"].tolist() == [95_000]


def test_few_numbers_with_a_unit_are_numbers_in_a_frame_as_in_a_file(tmp_path):
    frame = pd.DataFrame({"stars": [f"{1 + i % 5}/5" for i in range(N)], "y": [0, 1] * (N // 2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, read_table(tmp_path / "t.csv")):
        schema = find_training_data(data, "y").schema
        assert schema.columns == {"stars": "number"}
        assert schema.read(pd.DataFrame({"stars": ["3/5", "4"]}))["stars"].tolist() == [3, 4]


def test_a_percent_sign_among_units_is_no_number(tmp_path):
    cells = ["12 %", *(f"{i} kg" for i in range(N - 1))]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert found.data["a"].tolist() == cells


@pytest.mark.parametrize("form", ["{} - {}", "{} / {}"])
def test_pairs_of_numbers_are_no_phone_numbers(form, tmp_path):
    cells = [form.format(105_000 + 500 * i, 120_000 + 700 * i) for i in range(N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    assert find_training_data(found, "y").schema.columns == {"a": "text"}


def test_a_new_number_among_times_may_be_either(tmp_path):
    found = write(tmp_path / "t.csv", "a;y", [f"{i % 24}:30" for i in range(N)], [0, 1] * (N // 2))
    schema = find_training_data(found, "y").schema
    with pytest.raises(
        ValueError, match=r"'09\.05' in row 1, which may be 09:05 or 9.05 hours; wr"
    ):
        schema.read(table_of_records([{"a": "09.05"}], schema))
    rows = table_of_records([{"a": "9.5"}, {"a": 9.05}, {"a": "9"}], schema)
    assert schema.read(rows)["a"].tolist() == [9.5, 9.05, 9]


def test_ages_are_in_years(tmp_path):
    found = write(tmp_path / "t.csv", "Alter;y", range(N), [0, 1] * (N // 2))
    schema = find_training_data(found, "y", columns={"Alter": "number"}).schema
    rows = table_of_records([{"Alter": "40 Jahre"}, {"Alter": "6 Monate"}], schema)
    assert schema.read(rows)["Alter"].tolist() == [40, 0.5]


@pytest.mark.parametrize("name", ["Fläche m²", "Fläche (m²)"])
def test_new_numbers_in_the_unit_of_the_name_are_read(name, tmp_path):
    found = write(tmp_path / "t.csv", f"{name};y", [f"{i},8" for i in range(N)], [0, 1] * (N // 2))
    schema = find_training_data(found, "y").schema
    new = write(tmp_path / "new.csv", f"{name};b", ["37,8 m²", "20 qm", "9000 cm²"], [1, 2, 3])
    np.testing.assert_allclose(schema.read(new)[name], [37.8, 20, 0.9])
    other = write(tmp_path / "new.csv", f"{name};b", ["37,8 kg", "20 kg"], [1, 2])
    with pytest.raises(
        ValueError, match="holds numbers in kg, and the model was fitted on numbers"
    ):
        schema.read(other)


def test_names_that_differ_in_their_unit(tmp_path):
    n, y = [i % 37 for i in range(N)], [0, 1, 1] * 20
    table = write(tmp_path / "t.csv", "P (mg/L);wait_min;size_h;y", n, n, n, y)
    model = TableClassifier(MLkNNClassifier(), labels="y").fit(table)
    new = write(tmp_path / "new.csv", "P (µg/L);wait_hours;size_h", [4000, 500], [1, 0.5], [1, 2])
    notes = []
    found = model.schema_.read(new, notes)
    np.testing.assert_allclose(found["P (mg/L)"], [4, 0.5])
    np.testing.assert_allclose(found["wait_min"], [60, 30])
    assert [note.partition(": ")[2] for note in sorted(notes)] == [
        "P (mg/L) is P (µg/L) times 0.001",
        "wait_min is wait_hours times 60",
    ]
    with pytest.warns(UserWarning, match="times"):
        model.predict(new.data)
    sent = [{"P (µg/L)": 4000, "wait_hours": 1, "size_h": 1}]
    found = model.schema_.read(table_of_records(sent, model.schema_), notes)
    assert found[["P (mg/L)", "wait_min"]].to_numpy().tolist() == [[4, 60]]
    for name in ("size_d", "P (m)"):  # another quantity, or not surely the same
        other = write(tmp_path / "new.csv", f"{name};wait_min", [1, 2], [1, 2])
        with pytest.raises(ValueError, match="no column"):
            model.schema_.read(other)


@pytest.mark.parametrize(
    ("name", "form", "new", "expected"),
    [
        ("Poids", "{} kg", "Poids (kg);12;40", [12, 40]),
        ("Poids", "{} kg", "Poids [g];12000;40000", [12, 40]),
        ("Poids", "{} kg", "Poids (kg);12 kg;40 kg", [12, 40]),
        ("Poids", "{} kg", "Poids [g];12 kg;40 kg", [12, 40]),
        ("Poids", "{}", "Poids (kg);12;40", [12, 40]),
        ("Taux", "{}", "Taux (%);12;40", [12, 40]),
        ("Poids [g]", "{}", "Poids;0.5 kg;40 g", [500, 40]),
    ],
)
def test_names_with_and_without_a_unit(name, form, new, expected, tmp_path):
    cells = [form.format(1 + i % 37) for i in range(N)]
    table = write(tmp_path / "t.csv", f"{name};y", cells, [0, 1, 1] * 20)
    schema = find_training_data(table, "y").schema
    header, *cells = new.split(";")
    notes = []
    found = schema.read(write(tmp_path / "new.csv", f"{header};b", cells, [1, 2]), notes)
    np.testing.assert_allclose(found[name], expected)
    assert f"{name} is {header}" in notes[0]


def test_names_that_differ_in_what_is_no_unit(tmp_path):
    n = [i % 37 for i in range(N)]
    table = write(tmp_path / "t.csv", "Week 1 (9/28);size;y", n, n, [0, 1, 1] * 20)
    schema = find_training_data(table, "y").schema
    with pytest.raises(ValueError, match=r"could be meant: Week 1 \(1/4\)\. Where"):
        schema.read(write(tmp_path / "new.csv", "Week 1 (1/4);size", [1, 2], [1, 2]), [])
    table = write(tmp_path / "t.csv", "size (kr.);n;y", n, n, [0, 1, 1] * 20)
    schema = find_training_data(table, "y").schema
    new = write(tmp_path / "new.csv", "size (t.kr.);n", [1, 2], [1, 2])
    with pytest.raises(ValueError, match=r"of size \(t\.kr\.\) are in another unit: convert"):
        schema.read(new, [])


def test_words_for_truth_values_of_training(tmp_path):
    found = write(tmp_path / "t.csv", "open;x;y", ["TRUE", "FALSE"] * 30, range(N), [0, 1, 1] * 20)
    schema = find_training_data(found, "y").schema
    assert schema.columns["open"] == "number"
    expected = [1, 0, np.nan]
    for cells in (["TRUE", "FALSE", "unknown"], ["yes", "no", None], [True, False, None]):
        rows = table_of_records([{"open": cell, "x": 1} for cell in cells], schema)
        np.testing.assert_array_equal(schema.read(rows, [])["open"], expected)
    new = write(tmp_path / "new.csv", "open;x", ["TRUE", "unknown"], [1, 2])
    np.testing.assert_array_equal(schema.read(new, [])["open"], [1, np.nan])
    with pytest.raises(ValueError, match="'open' holds 'half' in row 1, not a number"):
        schema.read(table_of_records([{"open": "half", "x": 1}], schema))


def test_strings_with_points_where_commas_were_learned(tmp_path):
    """A column of 55.125 and 49.5 has decimal points, all of it."""
    cells = [f"{i},{i % 10}" for i in range(N)]
    schema = find_training_data(write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30), "y").schema
    assert schema.read(pd.DataFrame({"a": ["55.125", "49.5"]}))["a"].tolist() == [55.125, 49.5]
    assert schema.read(pd.DataFrame({"a": ["1.055,5", "49,5"]}))["a"].tolist() == [1055.5, 49.5]


def test_values_outside_of_training_are_warned_of():
    table = pd.DataFrame({"a": np.arange(N) % 7, "y": [0, 1] * 30, "z": [1, 1, 0] * 20})
    model = TableClassifier(MLkNNClassifier(3)).fit(table[["a"]], table[["y", "z"]])
    with pytest.warns(UserWarning, match="1 of 1 row has a above any in training"):
        model.predict(pd.DataFrame({"a": [7000]}))
    model.predict(pd.DataFrame({"a": [3]}))
    model.explain(pd.DataFrame({"a": [7000]}))


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_points_and_commas_in_one_column(form, tmp_path):
    cells = [f"{30 + i % 9}{'.,'[i % 2]}{i % 10}" for i in range(N)]
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1, 1] * 20)
    table = table if form == "csv" else pd.DataFrame({"a": cells, "y": [0, 1, 1] * 20})
    training = find_training_data(table, "y")
    expected = [float(cell.replace(",", ".")) for cell in cells]
    assert training.X["a"].tolist() == expected
    new = write(tmp_path / "new.csv", "a;b", ["36,7", "36.7"], [1, 2])
    for rows in (new, table_of_records([{"a": "36,7"}, {"a": "36.7"}], training.schema)):
        assert training.schema.read(rows)["a"].tolist() == [36.7, 36.7]


def test_amounts_that_are_missing_are_not_missing_in_another_currency(tmp_path):
    cells = ["£500.00"] * 20 + [f"£{i}.50" for i in range(37)] + ["€500.00", "€36.50", "€1.00"]
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1, 1] * 20)
    schema = find_training_data(table, "y", columns={"a": "number"}).schema
    new = write(tmp_path / "new.csv", "a;b", ["£500.00", "£36.50", "500"], [1, 2, 3])
    assert schema.read(new, [])["a"].tolist() == [500, 36.5, 500]


def test_a_rare_word_beside_numbers_is_no_unit(tmp_path):
    cells = ["1OT" if i % 9 == 0 else str(1 + i % 4) for i in range(N)]
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30)
    assert find_training_data(table, "y").schema.columns["a"] == "category"


def test_minutes_and_seconds_beside_hours_are_doubted(tmp_path):
    cells = [f"1:{i:02}:10" if i % 3 == 0 else f"{25 + i % 30}:00" for i in range(N)]
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30)
    for found in (table, pd.DataFrame({"a": cells, "y": [0, 1] * 30})):
        doubts = [g.text for g in find_training_data(found, "y").guesses if g.doubtful]
        assert doubts == [
            "a: 26:00 is read as hours and minutes beside 1:00:10; write 0:26:00 if it is not"
        ]


def test_numbers_with_a_word_at_the_ends_of_a_scale(tmp_path):
    cells = ["1 - Poor", "2", "3", "4", "5 - Excellent"] * 12
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30)
    training = find_training_data(table, "y", columns={"a": "number"})
    assert training.X["a"].tolist() == [1, 2, 3, 4, 5] * 12
    levels = write(tmp_path / "t.csv", "a;y", ["1 - low", "2 - high"] * 30, [0, 1] * 30)
    assert find_training_data(levels, "y").schema.columns["a"] == "category"


def test_names_of_a_frame_that_differ_by_spaces(tmp_path):
    n = [i % 37 for i in range(N)]
    frame = pd.DataFrame({"Age": n, "size": n, "y": [0, 1] * 30})
    model = TableClassifier(MLkNNClassifier(), labels="y").fit(frame)
    expected = model.predict_proba(frame)
    with pytest.warns(UserWarning, match="X: column 'Age ' read as Age"):
        found = model.predict_proba(frame.rename(columns={"Age": "Age "}))
    np.testing.assert_array_equal(found, expected)


def test_the_unit_of_most_rows_is_that_of_the_column(tmp_path):
    cells = ["50 kg"] * 40 + [f"{i} lb" for i in range(100, 120)]  # fewer rows, of more values
    table = write(tmp_path / "t.csv", "a;y", cells, [0, 1, 1] * 20)
    for found in (table, table.data.assign(a=cells)):
        assert find_training_data(found, "y").schema.measured["a"].unit == "kg"


def test_commas_in_prices_are_between_thousands(tmp_path):
    cells = [f"£{1 + i % 7},{100 + i} pcm" for i in range(N)]
    schema = find_training_data(write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30), "y").schema
    new = write(tmp_path / "new.csv", "a;y", ["£2,933 pcm"], [1])
    assert schema.read(new)["a"].tolist() == [2933]


def test_bare_amounts_of_new_rows_are_no_millions(tmp_path):
    """Whatever amounts stand beside them."""
    amounts = ["$762,170", "$5.5M", "$300K"] * 10
    schema = find_training_data(
        write(tmp_path / "t.csv", "a;y", amounts, [0, 1, 1] * 10), "y"
    ).schema
    for cells in (["$5.5M", "950000"], ["950000", "$1,200,000"], ["950000", "$300K"], ["950000"]):
        new = write(tmp_path / "new.csv", "a;b", cells, [1] * len(cells))
        rows = table_of_records([{"a": cell} for cell in cells], schema)
        for table in (new, rows):
            assert schema.read(table)["a"][cells.index("950000")] == 950_000


def test_bare_numbers_beside_durations_are_noted():
    since = pd.to_timedelta(range(N), unit="h")
    model = TableClassifier(MLkNNClassifier()).fit(pd.DataFrame({"since": since}), [[0, 1]] * N)
    assert model.guesses_ == ["since: times, in hours"]
    sent, notes = (
        [{"since": 12.5}, {"since": "12"}, {"since": "PT7H"}, {"since": None}],
        list[str](),
    )
    features = model.read_rows(table_of_records(sent, model.schema_), notes)
    np.testing.assert_array_equal(features["since"], [12.5, 12, 7, np.nan])
    assert notes[0].startswith("rows: 2 of 4 rows have a bare number for since, read as hours")
    with pytest.warns(UserWarning, match="1 of 1 row has a bare number for since"):
        model.predict(pd.DataFrame({"since": [12.5]}))
    with warnings.catch_warnings(action="error"):
        model.predict(pd.DataFrame({"since": since}))
        model.explain(pd.DataFrame({"since": since[5:6]}))
    seniority = pd.DataFrame({"seniority": ["7y 3m", "8 mos", "2 years"] * 20})
    model = TableClassifier(MLkNNClassifier()).fit(seniority, [[0, 1]] * N)
    with pytest.warns(UserWarning, match="1 of 2 rows has a bare number for seniority"):
        model.predict(pd.DataFrame({"seniority": ["7", "9 mos"]}))


def test_units_below_names_of_columns_with_words(tmp_path):
    cells = ["n.b." if i % 9 == 4 else f"{i},{i % 10}" for i in range(N)]
    path = write(tmp_path / "t.csv", "a;y", [" mg/l", *cells], ["", *[0, 1] * 30])
    schema = find_training_data(path, "y").schema
    assert schema.measured["a"].unit == "mg/l"
    (tmp_path / "new.csv").write_text("a;y\n µg/l;\n4500,5;0\nn.b.;1\n9800,5;0\n8000,5;1\n")
    new = read_table(tmp_path / "new.csv", expected=["a"])
    np.testing.assert_allclose(schema.read(new, [])["a"], [4.5005, np.nan, 9.8005, 8.0005])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n12.408,6.4\n3.500,5.2\n", [12.408, 3.5]),
        ("a;b\n12.408;6.4\n3.500;5.2\n", [12.408, 3.5]),
        ("a,b\n12.408,6\n", [12.408]),
        ("a;b\n12.408;6,4\n3.500;5,2\n", [12408, 3500]),
        ("a;b\n12.408;6\n", [12408]),
    ],
)
def test_decimal_points_of_new_files_where_commas_were_learned(text, expected, tmp_path):
    cells = [f"{i},{i % 10}" for i in range(N)]
    table = write(tmp_path / "t.csv", "a;b;y", cells, cells, [0, 1] * 30)
    schema = find_training_data(table, "y").schema
    (tmp_path / "new.csv").write_text(text)
    new = read_table(tmp_path / "new.csv", **schema.reading)
    assert schema.read(new, [])["a"].tolist() == expected


@pytest.mark.parametrize("mark", [",", ";"])
def test_points_of_new_files_where_decimal_points_were_learned(mark, tmp_path):
    cells = [f"{i % 5}.{i:03}" for i in range(N)]  # also 0.005
    schema = find_training_data(write(tmp_path / "t.csv", "a;y", cells, [0, 1] * 30), "y").schema
    (tmp_path / "new.csv").write_text(f"a{mark}b\n3.969{mark}1\n229{mark}2\n")
    new = read_table(tmp_path / "new.csv", **schema.reading)
    for table in (new, table_of_records([{"a": "3.969"}, {"a": "229"}], schema)):
        assert schema.read(table, [])["a"].tolist() == [3.969, 229]


@pytest.mark.parametrize("form", ["csv", "xlsx", "frame"])
def test_cells_without_the_unit_of_others_and_commas_beside_words(form, tmp_path):
    table = pd.DataFrame(
        {
            "area": [f"{60 + i % 37} m²" if i % 15 == 0 else str(60 + i % 37) for i in range(N)],
            "age": [f"{11 + i % 6} años" if i % 2 else str(11 + i % 6) for i in range(N)],
            "late": [f"{i % 4}u {1 + i % 5}0m" if i % 3 else "2u" for i in range(N)],
            "pure": ["94%", "97%", ">98%", "99%"] * 15,
            "mark": ["NP" if i == 5 else f"{i % 9},{i % 7}" if i % 5 else i / 4 for i in range(N)],
            "y": [0, 1] * (N // 2),
        }
    )
    found = table
    if form == "csv":
        table["mark"] = table["mark"].astype(str).str.replace(".", ",")
        table.to_csv(tmp_path / "t.csv", sep=";", index=False)
        found = read_table(tmp_path / "t.csv")
    if form == "xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel(tmp_path / "t.xlsx", index=False)
        found = read_table(tmp_path / "t.xlsx")
    training = find_training_data(found, "y")
    assert {*training.schema.columns.values()} == {"number"}
    expected = [[61, 12, 4 / 3, 0.97, 1.1], [65, 16, 7 / 6, 0.97, np.nan]]
    np.testing.assert_allclose(training.X.iloc[[1, 5]], expected)
    assert training.X.iloc[15, :3].tolist() == [75, 14, 2]


def test_numbers_that_all_end_in_a_minus_are_not_negative(tmp_path):
    cells = [f"{1935 + 5 * (i % 9)}-" for i in range(N)]
    found = write(tmp_path / "t.csv", "a;y", cells, [0, 1] * (N // 2))
    frame = pd.DataFrame({"a": cells, "y": [0, 1] * (N // 2)})
    for table in (found, frame):
        assert find_training_data(table, "y").schema.columns == {"a": "category"}


@pytest.mark.parametrize(
    ("name", "form", "cells", "expected"),
    [
        ("a", "{},5 kg", ["30", "12.0 lb"], [30, 5.4431]),
        ("a", "{} months", ["11", "11 yrs"], [11, 132]),
        ("hours per week", "{}", ["6", "30m", "12"], [6, 0.5, 12]),
        ("age", "{}", ["60", "8 months", "50"], [60, 2 / 3, 50]),
    ],
)
def test_numbers_without_a_unit_are_in_that_of_training(name, form, cells, expected, tmp_path):
    """Whatever unit other cells of the new rows have."""
    old = [form.format(1 + i % 40) for i in range(N)]
    found = write(tmp_path / "t.csv", f"{name};y", old, [0, 1] * (N // 2))
    schema = find_training_data(found, "y").schema
    path = tmp_path / "new.csv"
    path.write_text("\n".join([f"{name};b", *(f"{cell};1" for cell in cells)]) + "\n")
    rows = [{name: cell} for cell in cells]
    mixed = [{name: float(c) if c.isdecimal() else c} for c in cells]
    for table in (
        read_table(path),
        read_table(path, **schema.reading),
        pd.DataFrame(rows),
        pd.DataFrame(mixed),
        table_of_records(rows, schema),
        table_of_records(mixed, schema),
    ):
        np.testing.assert_allclose(schema.read(table, [])[name], expected, rtol=1e-4)


def test_seconds_are_no_ages_and_numbers_with_units_are_read(tmp_path):
    found = write(tmp_path / "t.csv", "age;y", [18 + i % 30 for i in range(N)], [0, 1] * (N // 2))
    schema = find_training_data(found, "y").schema
    with pytest.raises(ValueError, match="'60s' in row 2, not a number"):
        schema.read(pd.DataFrame({"age": ["60", "60s"]}), [])
    (tmp_path / "t.csv").write_text("a,y\n5 kg,1\n6,0\n7 kg,1\n")
    assert read(tmp_path / "t.csv", labels="y").data.tolist() == [[5], [6], [7]]
