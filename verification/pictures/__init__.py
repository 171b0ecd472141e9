"""The pictures of the documentation: SVG files, drawn from the RTL, from simulations of it, and from the source.

``python -m nectar.verification.pictures`` writes all of them into ``docs/pictures``. ``catalogue`` lists them;
``timing``, ``sequence`` and ``blocks`` are the three kinds; ``drawing`` writes SVG.
"""
