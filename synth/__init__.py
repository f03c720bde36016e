"""The engine room: ledger, rollout, branching, models, policies, importers, exporters, command line."""
