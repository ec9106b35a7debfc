"""Links from estimators to the documentation."""

import labelkin
from labelkin import VPCMEClassifier
from labelkin._utils.doc_link import DocLinkMixin, documentation_url


def test_the_address_is_that_of_the_package_metadata(tmp_path, monkeypatch):
    for name, urls in {
        "documented": "Project-URL: Source, https://a.test\n"
        "Project-URL: Documentation, https://b.test/\n",
        "silent": "",
    }.items():
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{urls}"
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert documentation_url("documented") == "https://b.test"
    assert documentation_url("silent") == documentation_url("not-installed") == ""


def test_links_lead_to_the_api_reference():
    for name in labelkin.__all__:
        model = getattr(labelkin, name)()
        assert isinstance(model, DocLinkMixin)
        page = f"/api/generated/labelkin.{name}.html"
        assert model._get_doc_link() == (documentation_url() and documentation_url() + page)


def test_a_users_subclass_has_no_page():
    class Mine(VPCMEClassifier):
        pass

    assert Mine()._get_doc_link() == ""
