import pytest

from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.webshop.rendering import RENDERINGS
from langgraph_reflexion.testing import CHECKS, Case
from tests.support.webshop import CATALOGUE, solution


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("rendering", RENDERINGS)
def test_webshop_conforms(check, rendering):
    environment = WebShop(rendering=rendering)
    search, item, *rest = solution(CATALOGUE, CATALOGUE.goals[0])
    about = ["click[Description]", "click[< Prev]", "click[< Prev]", "click[Next >]", "click[Back to Search]"]
    actions = [search, "click[nothing]", item, "search[no]", *about, search, item, *rest, "click[Buy Now]"]
    check(Case.of(environment, actions=actions))
    environment.close()
