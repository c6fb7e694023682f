"""Decide what could be examined, in Python, on the rows of other views: without it, "no split brain found" would claim too much.

examined  the view `examined`: what was examined for split brain, or why nothing was
"""
