"""Folders of data sets: how they are written, named and compared with what was written."""
