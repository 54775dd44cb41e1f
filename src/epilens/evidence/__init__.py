"""Recordings → cubes: descriptors per window, channel and seizure, and their four views."""
