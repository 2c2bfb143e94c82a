"""The site: it is built without a warning, every link leads somewhere, nothing comes from a network."""

import importlib.util
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import loa

ROOT = Path(__file__).parent.parent
LINKED = re.compile(r'<(\w+)[^>]*?\s(?:href|src)="?([^"\s>]+)')


def test_an_output_is_shown_until_what_printed_it_changes(tmp_path, monkeypatch):
    specification = importlib.util.spec_from_file_location("outputs", ROOT / "website" / "outputs.py")
    outputs = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(outputs)
    page, other = "```python\nx = 7\n```\nand\n```python\nprint(6 * x)\n```\n", tmp_path / "page.md"
    other.write_text(page)
    monkeypatch.setattr(outputs, "KEPT", tmp_path / "outputs.json")
    outputs.KEPT.write_text(json.dumps(outputs.printed(other)))
    assert "print(6 * x)\n```\n\n```{.text .printed}\n42\n```" in outputs.on_page_markdown(page)
    assert outputs.on_page_markdown(page).count("printed") == 1
    assert outputs.on_page_markdown(page.replace("7", "8")) == page.replace("7", "8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    directory = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}


def pages(site):
    return {name: path.read_text() for name, path in site.items() if name.endswith(".html") and name != "404.html"}


@pytest.mark.slow
def test_every_link_leads_to_a_file_and_to_a_place_in_it(site):
    texts, root = pages(site), next(iter(site.values())).parents[len(Path(next(iter(site))).parts) - 1]
    for name, text in texts.items():
        for _, link in LINKED.findall(text):
            address = urlsplit(unescape(link))
            if address.scheme or link.startswith("//"):
                continue
            path = unquote(address.path)
            target = (root / name).parent / path if path else root / name
            assert target.exists(), f"{name} links to {link}"
            place = unquote(address.fragment)
            if place and target.suffix == ".html" and place != "__skip":
                found = target.resolve().relative_to(root.resolve()).as_posix()
                assert f'id="{place}"' in texts[found] or f"id={place}" in texts[found], f"{name} links to {link}"


@pytest.mark.slow
def test_nothing_is_loaded_from_a_network(site):
    for name, text in pages(site).items():
        loaded = [link for tag, link in LINKED.findall(text) if tag in ("script", "link", "img", "iframe")]
        assert not [link for link in loaded if link.startswith(("http", "//"))], name


@pytest.mark.slow
def test_every_public_name_has_its_place_in_the_reference(site):
    reference = "".join(text for name, text in pages(site).items() if name.startswith("reference/"))
    for name in loa.__all__:
        if callable(getattr(loa, name)):
            assert re.search(rf"<h2[^>]*>\s*(<[^>]*>)*\s*loa\.{name}\b", reference), name


@pytest.mark.slow
def test_formulas_are_rendered_and_families_drawn(site):
    texts = pages(site)
    assert "<math" in texts["reference/certificates.html"]
    assert not [name for name, text in texts.items() if "arithmatex" in text]
    families = len(re.findall(r"^### ", (ROOT / "docs" / "gallery.md").read_text(), flags=re.M))
    assert texts["gallery.html"].count("<svg viewBox") >= families
