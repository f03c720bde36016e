"""How frameworks for agents keep what was said: the Vercel AI SDK, LangGraph, AutoGen."""
