"""Chats in whatever dialect: who said what, which tools were called, what they answered."""
