"""A support agent, and what learns from feedback on its answers, as a LangGraph server serves them.

The model is a script. It says noon until its prompt has a lesson that says five.
"""

from langchain.agents import create_agent

from langgraph_reflexion import Lessons, ReflexionMiddleware, create_reflexion, learning_graph
from langgraph_reflexion.testing import ScriptedChatModel


def reply(messages):
    prompt = " ".join(message.text for message in messages)
    if "You review" in prompt:
        said = "five" if "The office closes at five." in prompt else "some other hour"
        return f"I must say that the office closes at {said}."
    if "closes at five" in prompt:
        return "At five."
    return "At noon."


model = ScriptedChatModel(replies=reply)
lessons = Lessons(learn="never")
graph = create_reflexion(actor=create_agent(model, []), evaluator=lambda result: True, memory=lessons).compile()
feedback = learning_graph(graph)

middleware = ReflexionMiddleware(model, evaluator=lambda result: True, memory=Lessons(environment="chat"))
chat = create_agent(model, [], middleware=[middleware])
chat_feedback = learning_graph(middleware)

# What it finds out by itself is learned after the answer has been returned.
later = create_reflexion(
    actor=create_agent(model, []),
    evaluator=lambda result: ("five" in result, "The office closes at five."),
    max_trials=1,
    memory=Lessons(learn="later", environment="later"),
).compile()
