"""A notebook made with json and two images made with Pillow, which say in their files what they show."""

import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, PngImagePlugin
from sample import Sample


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    source = text.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "source": source,
        "outputs": list(outputs),
    }


def _html(rows: list[list[str]]) -> dict[str, Any]:
    head, *body = rows
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    html = f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    return {
        "output_type": "execute_result",
        "metadata": {},
        "execution_count": 1,
        "data": {"text/html": html},
    }


_CELLS = [
    _markdown("# Honey yields of the Linden apiary\n\nWhat three summers of hive weights say."),
    _markdown(
        "Each of the twelve hives stands on a scale that writes a line every ten minutes. The scales drift "
        "by some 40 g a day in the heat, so that each night is taken as the new zero."
    ),
    _code("import pandas as pd\n\nhives = pd.read_parquet('hives.parquet')\nhives.describe()"),
    _markdown("## Cleaning\n\nA hive that was opened jumps by kilograms: such lines are left out."),
    _code(
        "jumps = hives.weight.diff().abs() > 1.5\nprint(jumps.sum())",
        {"output_type": "stream", "name": "stdout", "text": ["dropped 318 lines of 472,100\n"]},
    ),
    _markdown("## Yield by hive\n\nKilograms from the first of May to the end of August."),
    _code(
        "yields.head(6)",
        _html(
            [
                ["hive", "queen", "2029", "2030", "2031"],
                ["H1", "Buckfast", "31.2", "27.8", "35.0"],
                ["H2", "Carnica", "24.6", "22.1", "29.4"],
                ["H3", "Carnica", "12.9", "swarmed on 4 June", "18.7"],
                ["H4", "Buckfast", "38.5", "33.0", "41.3"],
                ["H5", "local", "19.9", "20.4", "21.1"],
                ["H6", "local", "26.3", "25.7", "23.8"],
            ]
        ),
    ),
    _markdown("## Weather\n\nRain before noon costs more than rain in the afternoon."),
    _code(
        "model = fit(yields, weather)\nmodel.summary()",
        {
            "output_type": "execute_result",
            "metadata": {},
            "execution_count": 4,
            "data": {"text/plain": ["morning rain   -0.83 kg per day\n", "afternoon rain -0.21 kg per day"]},
        },
    ),
    _markdown("## Export"),
    _code(
        "hives.to_feather('/mnt/archive/hives.feather')",
        {
            "output_type": "error",
            "ename": "OSError",
            "evalue": "No space left on device: /mnt/archive is full",
            "traceback": ["OSError"],
        },
    ),
]


def make_notebook(path: Path) -> None:
    """Write a notebook with tables, printed text and an error among its outputs."""
    metadata = {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python 3"}}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": _CELLS}))


_XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Pump house of the Torv marsh</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">The steam pump was scrapped in 1958; the brick chimney
stands because storks nest on it.</rdf:li></rdf:Alt></dc:description>
<Iptc4xmpCore:AltTextAccessibility><rdf:Alt><rdf:li xml:lang="x-default">A low brick building beside a ditch,
with a bricked-up round window above its door.</rdf:li></rdf:Alt></Iptc4xmpCore:AltTextAccessibility>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def make_photograph(path: Path) -> None:
    """Write a photograph with EXIF and XMP, as a camera and an archive would."""
    image = Image.linear_gradient("L").resize((480, 320)).convert("RGB")
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x013B] = "Pentax", "Pentax K-3 Mark IV", "Liv Sandvik"
    exif.get_ifd(0x8769).update({0x9003: "2031:04:19 06:52:00", 0x9011: "+02:00"})
    exif.get_ifd(0x8825).update({1: "N", 2: (55.0, 41.0, 12.0), 3: "E", 4: (8.0, 52.0, 30.0)})
    image.save(path, exif=exif, xmp=_XMP.encode())


def make_drawing(path: Path) -> None:
    """Write a drawing whose text chunks say what it shows."""
    image = Image.new("RGB", (400, 240), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((40, 60, 160, 180), outline="black", width=3)
    draw.line((160, 120, 340, 120), fill="black", width=3)
    chunks = PngImagePlugin.PngInfo()
    chunks.add_text("Title", "Wiring of the greenhouse thermostat")
    chunks.add_itxt(
        "Description",
        "The relay of the heating mat hangs on pin 7; the two sensors share the orange wire. The fuse behind "
        "the door is rated 6.3 A, slow.",
    )
    chunks.add_text("Author", "Piet Brouwer")
    image.save(path, pnginfo=chunks)


SAMPLES = [
    Sample(
        "honey-yields.ipynb",
        make_notebook,
        (
            ("Which hive of the apiary swarmed on 4 June?", "hive: H3; queen: Carnica", "cell=6"),
            ("How much honey does morning rain cost per day?", "-0.83 kg per day", "cell=8"),
            ("Why did writing the hive weights to the archive fail?", "No space left on device", "cell=10"),
        ),
    ),
    Sample(
        "torv-pump-house.jpg",
        make_photograph,
        (
            (
                "Why is the chimney of the pump house on the Torv marsh still standing?",
                "storks nest on it",
                "",
            ),
            ("What is above the door of the brick building beside the ditch?", "bricked-up round window", ""),
            ("With which camera was the pump house photographed?", "Pentax K-3 Mark IV", ""),
        ),
    ),
    Sample(
        "thermostat-wiring.png",
        make_drawing,
        (
            ("On which pin is the relay of the heating mat?", "pin 7", ""),
            ("What fuse does the greenhouse thermostat have?", "6.3 A, slow", ""),
            ("Who drew the wiring of the greenhouse thermostat?", "Piet Brouwer", ""),
        ),
    ),
]
