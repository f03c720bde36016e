"""Stages of a flow run on a ledger, one after the other, by one worker of many."""
