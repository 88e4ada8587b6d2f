"""The colours of plots: seen on their ground, and told apart by everybody."""

from itertools import combinations

import pytest

from ragmem.charts.svg_parts import DARK, DARK_GROUND, LIGHT, LIGHT_GROUND

# What people see who lack a sort of cones (Machado, Oliveira, Fernandes, "A physiologically-based model for
# simulation of color vision deficiency", 2009; severity 1), on linear RGB.
SEEN = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lab(colour, seen):
    rgb = [min(1, max(0, sum(map(lambda a, b: a * b, row, linear(colour))))) for row in SEEN[seen]]
    x, y, z = (
        sum(map(lambda a, b: a * b, row, rgb)) / white
        for row, white in (
            ((0.4124, 0.3576, 0.1805), 0.9505),
            ((0.2126, 0.7152, 0.0722), 1.0),
            ((0.0193, 0.1192, 0.9505), 1.089),
        )
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize(("colours", "ground"), [(LIGHT, LIGHT_GROUND), (DARK, DARK_GROUND)])
def test_every_colour_is_seen_on_its_ground(colours, ground):
    assert min(contrast(colour, ground) for colour in colours) >= 3


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_any_two_colours_are_told_apart_by_everybody(colours, seen):
    for one, other in combinations(colours, 2):
        away = sum((a - b) ** 2 for a, b in zip(lab(one, seen), lab(other, seen), strict=True)) ** 0.5
        assert away >= 15, (one, other)
