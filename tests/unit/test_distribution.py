import pytest

from tests.docs.distribution import absolute, check_release
from tests.docs.pages import BY_NAME, Page

REPOSITORY = "https://host.example/owner/name"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](docs/a.md#part)", f"[a]({REPOSITORY}/blob/v1/docs/a.md#part)"),
        ("[a][b]\n\n[b]: LICENSE", f"[a][b]\n\n[b]: {REPOSITORY}/blob/v1/LICENSE"),
        ("![a](a.svg)", f"![a]({REPOSITORY}/raw/v1/a.svg)"),
        ('<img src="a.png">', f'<img src="{REPOSITORY}/raw/v1/a.png">'),
        ('<source srcset="a.gif">', f'<source srcset="{REPOSITORY}/raw/v1/a.gif">'),
    ],
)
def test_what_names_a_file_becomes_an_address(text, expected):
    assert absolute(text, REPOSITORY, "v1") == expected


@pytest.mark.parametrize("text", ["[a](https://host.example/a)", "[a](#part)", "```python\nf = [g](h)\n```"])
def test_addresses_anchors_and_code_stay(text):
    assert absolute(text, REPOSITORY, "v1") == text


def test_every_link_of_the_readme_is_an_address_in_a_release(tmp_path):
    released = tmp_path / "README.md"
    released.write_text(absolute(BY_NAME["README.md"].text, REPOSITORY, "v1"), encoding="utf-8")
    links = Page(released).links
    assert f"{REPOSITORY}/blob/v1/LICENSE" in links
    assert [link for link in links if not link.startswith("https://")] == []


def test_a_tag_that_is_not_the_version_is_refused():
    with pytest.raises(AssertionError, match=r"tag v0\.3\.0"):
        check_release("v0.3.0", "0.2.0")
