"""Repositories taken from where they are: pinned source distributions, folders of users."""
