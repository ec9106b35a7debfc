"""The elements and words of an HTML page."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """The elements of a page, their ids, and the words outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.inside = [], [], ""
        self.feed(text)

    @classmethod
    def of_file(cls, path):
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.words.append(data)

    @property
    def ids(self):
        return [attributes["id"] for _, attributes in self.tags if "id" in attributes]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())
