from langgraph_reflexion.envs.load import environment_class as environment_class
from langgraph_reflexion.envs.load import load_environment as load_environment
from langgraph_reflexion.support.choices import ENVIRONMENTS as ENVIRONMENTS
