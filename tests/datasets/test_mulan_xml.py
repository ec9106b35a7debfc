import contextlib
import socket
import threading

import pytest

from labelkin.datasets import FormatError, write
from labelkin.datasets.formats._arff import find_labels_xml, read_labels_xml

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
OPEN = '<labels xmlns="http://mulan.sourceforge.net/labels">'


def read(tmp_path, text):
    path = tmp_path / "labels.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_labels_xml(path)


def test_nested_labels_are_flattened(tmp_path):
    text = (
        HEAD + OPEN + '<label name="a"><label name="b"/>\n</label><label name="c"></label></labels>'
    )
    assert read(tmp_path, text) == ["a", "b", "c"]


def test_prefixed_names_and_other_encodings(tmp_path):
    text = '<?xml version="1.0" encoding="iso-8859-1"?>'
    text += '<m:labels xmlns:m="u"><m:label name="é"/></m:labels>'
    assert read(tmp_path, text.encode("latin-1")) == ["é"]


def test_written_names_come_back(tmp_path):
    names = ["a&b", '"<q>"', "it's", "tab\t", "line\nbreak\r", " spaced ", "日本", ""]
    write(tmp_path / "l.arff", [[1.0]], [[1] * len(names)], label_names=names)
    assert read_labels_xml(tmp_path / "l.xml") == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not well-formed XML"),
        (OPEN, "line 1: not well-formed XML"),
        (HEAD + OPEN + "</labels>", "the XML lists no label"),
        (HEAD + "<html/>", "line 2: not a Mulan list of labels: <labels> expected, found <html>"),
        (HEAD + OPEN + "\n<b/></labels>", "line 3: not a Mulan list"),
        (HEAD + OPEN + "<label/></labels>", "a <label> has no name"),
        (OPEN + '<label name="a"/><label name="a"/></labels>', "two labels are named 'a'"),
        (OPEN + '<label name="&x;"/></labels>', "line 1: not well-formed XML"),
        (b'<?xml version="1.0" encoding="nonsense"?><labels/>', "labels.xml"),
        (b'<?xml version="1.0" encoding="utf-8"?><labels a="\xff"/>', "not well-formed"),
        (b"\x00\x01\x02", "labels.xml"),
    ],
)
def test_bad_lists(tmp_path, text, message):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert str(tmp_path / "labels.xml") in str(caught.value)


LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(30))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE labels [<!ENTITY l0 "ha">{LAUGHS}]>',
        '<!DOCTYPE labels [<!ENTITY l30 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE labels SYSTEM "http://127.0.0.1:{port}/evil.dtd">',
        '<!DOCTYPE labels [<!ENTITY % p SYSTEM "http://127.0.0.1:{port}/evil.dtd"> %p;]>',
        "<!DOCTYPE labels>",
    ],
    ids=["laughs", "file", "dtd", "parameter", "plain"],
)
def test_declarations_are_refused_and_nothing_is_fetched(tmp_path, doctype):
    contacts = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)

        def listen():
            with contextlib.suppress(TimeoutError):
                contacts.append(server.accept())

        listener = threading.Thread(target=listen)
        listener.start()
        doctype = doctype.replace("{port}", str(server.getsockname()[1]))
        text = HEAD + doctype + OPEN + '<label name="&l30;"/>&l30;</labels>'
        with pytest.raises(FormatError, match=r"labels\.xml, line 2: the XML declares a document"):
            read(tmp_path, text)
        listener.join()
    assert not contacts


def test_deep_nesting_is_no_problem(tmp_path):
    depth = 20_000
    inner = "".join(f'<label name="{i}">' for i in range(depth)) + "</label>" * depth
    assert len(read(tmp_path, OPEN + inner + "</labels>")) == depth


def test_which_xml_is_found(tmp_path):
    (tmp_path / "set.xml").touch()
    (tmp_path / "set-test.xml.bz2").touch()
    assert find_labels_xml(tmp_path / "set-train.arff.gz") == tmp_path / "set.xml"
    assert find_labels_xml(tmp_path / "set-test.arff") == tmp_path / "set-test.xml.bz2"
    assert find_labels_xml(tmp_path / "set.v2.arff") is None
