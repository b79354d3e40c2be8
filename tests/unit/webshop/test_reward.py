"""The reward, with titles and unit cases of the original's tests (MIT licence)."""

from dataclasses import replace

import pytest

from langgraph_reflexion.envs.webshop import reward as rules
from langgraph_reflexion.envs.webshop.goals import Goal
from langgraph_reflexion.envs.webshop.products import read_product
from tests.support.webshop import STICK

BARE = read_product({**STICK, "full_description": "", "small_description": []}, [])
ADIDAS = "adidas Unisex-Adult D.o.n. Issue 2 Basketball Shoe"
SHORT_CORD = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
CORD = f"{SHORT_CORD} Home Theater System Subwoofer"
OTHER_CORD = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System"
)
KNOB = "Rusticware 921ORB Kitchen and Bath Cabinet Knob"
TWEEZERS = "Minkissy 2pcs Stainless Steel Eyebrow Tweezers Blackhead Acne Remover Portable Makeup Tweezers (Silver)"


def a(title="Name 1", query="query 1", categories="a \u203a b \u203a c", **other):
    return replace(BARE, title=title, query=query, product_category=categories, **other)


def goal(attributes=(), options=(), price_upper=40.0):
    return Goal(BARE.asin, "buy it", tuple(attributes), tuple(options), price_upper)


@pytest.mark.parametrize(
    ("bought", "wanted", "query", "categories", "factor"),
    [
        (OTHER_CORD, SHORT_CORD, "query 2", "b \u203a c \u203a a", 1.0),
        (OTHER_CORD, SHORT_CORD, "query 2", "a \u203a a \u203a d", 0.5),
        (OTHER_CORD, SHORT_CORD, "query 2", "", 0.5),
        (OTHER_CORD, SHORT_CORD, "query 1", "a \u203a b \u203a c", 1.0),
        (TWEEZERS, KNOB, "query 1", "a \u203a b \u203a c", 0.0),
    ],
)
def test_a_query_or_two_categories_in_common_make_up_for_some_nouns(bought, wanted, query, categories, factor):
    assert rules.match_type(a(bought, query, categories), a(wanted)) == factor


@pytest.mark.parametrize(
    ("bought", "wanted", "share", "factor"),
    [
        ("adidas Unisex-Adult D.o.n. Issue 2 Indoor Court Shoe", ADIDAS, 0.833, 1.0),
        (OTHER_CORD, CORD, 0.294, 1.0),
        (OTHER_CORD, SHORT_CORD, 0.154, 0.5),
        (TWEEZERS, KNOB, 0.0, 0.0),
        ("thinga", " ".join(f"thing{letter}" for letter in "abcdefghijkl"), 0.083, 0.1),
        ("anything", "2 x 4", 0.2, 0.5),  # no nouns
    ],
)
def test_shares_of_nouns_are_on_the_same_side_of_every_threshold_as_in_the_original(bought, wanted, share, factor):
    assert rules.shared_nouns(bought, wanted) == pytest.approx(share, abs=1e-3)
    assert rules.match_type(a(bought, "query 2", "x"), a(wanted)) == factor


OILS = ("tea tree", "essential oils", "natural ingredients")


@pytest.mark.parametrize(
    ("has", "bullets", "description", "found"),
    [
        (("tea tree", "essential oil", "natural ingredients"), (), "", 3),
        ((), ("Lemons and ESSENTIAL oils in it",), "All of it natural ingredients", 2),
        (("ingredients, natural!",), (), "", 1),
        # The original's own case has a text where a list should be, and looks at its letters one by one.
        ((), tuple("it has essential oils"), "and natural ingredients", 1),
    ],
)
def test_attributes_are_found_in_those_of_the_product_and_in_its_texts(has, bullets, description, found):
    product = a(attributes=has, bullets=bullets, description=description)
    assert rules.match_attributes(product, OILS) == found


@pytest.mark.parametrize(
    ("chosen", "wanted", "found"),
    [
        (["pack of 12", "grey", "XL"], ["grey", "XL", "pack of 12"], 3),
        (["navy blue"], ["color: sky blue"], 1),
        (["3 ounce (pack of 1)"], ["size: 3 ounce (pack of 1)"], 1),
        (["3 ounce (pack of 1)"], ["3 ounce (pack of 2)"], 1),
    ],
)
def test_options_are_found_in_those_that_were_chosen(chosen, wanted, found):
    assert rules.match_options(chosen, wanted) == found


def test_the_first_colour_of_the_list_stands_for_a_value():
    assert len(rules.COLOURS) == 102 == len(set(rules.COLOURS))
    assert list(rules.COLOURS) == sorted(rules.COLOURS)
    assert [rules.colour(value) for value in ("navy blue", "light red", "size 9")] == ["blue", "light", "size 9"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("XL", "xl", True),
        ("a-b c", "c, b; A", True),
        # 2 * 6 of 14 letters are 85.7 of 100, which is rounded up to 86; 2 * 17 of 40 are 85.
        ("abcdef", "abcdefgh", True),
        ("abcdefghijklmnopq", "abcdefghijklmnopqrstuvw", False),
    ],
)
def test_texts_are_alike_by_their_words(one, other, same):
    assert rules.alike(one, other) is same


def test_the_whole_reward_agrees_with_the_originals_cases():
    name = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
    wanted, asked = a(name), goal(OILS, ["grey", "XL"])

    def rewarded(bought, asked, wanted=wanted):
        return rules.reward(bought, 35, ["grey", "XL"], wanted, asked)

    whole = a(name, attributes=("tea tree", "essential oil", "natural ingredients"))
    assert rewarded(whole, asked).reward == 1.0
    less = a(name, bullets=tuple("it has essential oils"), description="and natural ingredients")
    assert rewarded(less, asked).reward == pytest.approx(2 / 3)
    more_asked = goal(OILS, ["grey", "XL", "pack of 12"])
    assert rewarded(less, more_asked).reward == pytest.approx(0.5714, abs=1e-4)
    other = replace(less, title=OTHER_CORD, query="query 2", product_category="a \u203a d \u203a e")
    assert rewarded(other, more_asked, a(SHORT_CORD)) == pytest.approx((0.2857, 0.5, 1 / 3, 2 / 3, 1.0), abs=1e-4)


def test_the_parts_are_measured_by_name():
    result = rules.reward(a(attributes=("soap",)), 50, ["grey"], a(), goal(["soap"], ["grey", "large"]))
    assert result._asdict() == {"reward": 0.5, "type": 1.0, "attributes": 1.0, "options": 0.5, "price": 0.0}
    assert rules.reward(a(), 5, [], a(), goal(["soap"])).options == 1.0
