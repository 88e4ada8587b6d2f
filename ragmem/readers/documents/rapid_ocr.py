"""Recognise the text in a picture with the models that the package rapidocr brings."""

import math
import os
import statistics
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ragmem.readers.documents.model import Recognition, TextLine

_LARGEST_SIDE = 2_400  # pixels of a picture; a larger one is scaled down
_SEARCHED_SIDE = 1_088  # pixels of the picture in which lines are searched, which takes the most memory
_MOST_ENLARGED = 2.0
_CANDIDATE = 0.35  # short numbers of charts score low as boxes, and high as text
_LOWEST_RANGE = 128  # grey levels between ink and paper; a paler picture is stretched
_MOST_THREADS = 4
_SAMPLE = 7  # lines that tell which way is up
_START = 4  # heights of a line that the model looks at; it squeezes a longer one
_KNOWN_SCRIPT = 0.89  # the median score of a page; Hebrew read as Latin has 0.84, Greek 0.87
_SURE = 0.6  # lower scores are drawings, or signs that the models do not know
_TALL = 1.5  # height of an upright line's box, relative to its width


def recognize(picture: Any, *, seconds: float) -> Recognition:
    """Return the lines in an image of Pillow, also if it is turned by a quarter or upside down.

    The models know the Latin alphabet, Chinese and Japanese. A line that they are unsure of is left out; if
    they are unsure of most, all are, because the script is another. After `seconds` the lines that are left
    are not read. Nothing is fetched or written.
    """
    import numpy as np  # noqa: PLC0415 - only pictures need it

    deadline = time.monotonic() + seconds
    engine = _engine()
    pixels = np.asarray(_prepare(picture))[:, :, ::-1]  # as OpenCV has it: blue first
    found = engine(pixels, use_det=True, use_cls=False, use_rec=False)
    height, width = pixels.shape[:2]
    if found.boxes is None or not len(found.boxes):
        return Recognition((), (width, height))
    crops, boxes = engine.crop_text_regions(pixels, found.boxes), np.array(found.boxes, dtype=float)
    crops, boxes, (width, height) = _upright(engine, crops, boxes, (width, height))
    boxes = _deskew(boxes)
    lines: list[TextLine] = []
    scores: list[float] = []
    cut = False
    for crop, box in zip(crops, boxes, strict=True):
        if cut := time.monotonic() > deadline:
            break
        told = engine.recognize_txt([np.ascontiguousarray(crop)])
        text, score = told.txts[0].strip(), told.scores[0]
        scores += [score] if text else []
        if text and score >= _SURE:
            lines.append(TextLine(text, *_bounds(box)))
    if scores and statistics.median(scores) < _KNOWN_SCRIPT:
        lines = []
    return Recognition(tuple(lines), (width, height), is_cut=cut)


@cache
def _engine() -> Any:
    import onnxruntime  # noqa: PLC0415 - only pictures need it
    import rapidocr  # noqa: PLC0415 - the same

    onnxruntime.disable_telemetry_events()
    models = Path(rapidocr.__file__).parent / "models"
    threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))
    # Models that are named by their paths are not fetched.
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_preprocess_img": False,  # done here
            "Global.use_vertical_padding": False,
            "Det.model_path": str(next(models.glob("*_det_*.onnx"))),
            "Rec.model_path": str(next(models.glob("*_rec_*.onnx"))),
            "Cls.model_path": str(next(models.glob("*_cls_*.onnx"))),
            "Det.box_thresh": _CANDIDATE,
            "Det.limit_type": "max",
            "Det.limit_side_len": _SEARCHED_SIDE,
            "Rec.rec_batch_num": 1,  # a batch is as wide as its longest line, and as slow
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _prepare(picture: Any) -> Any:
    """Return a picture in three colours, not too large, with ink and paper far enough apart."""
    from PIL import Image, ImageOps  # noqa: PLC0415 - only pictures need it

    picture = picture.convert("RGB")
    if max(picture.size) > _LARGEST_SIDE:
        picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE), Image.Resampling.LANCZOS)
    elif (scale := min(_MOST_ENLARGED, _SEARCHED_SIDE / max(picture.size))) > 1:
        # Lone numbers in a small chart are found only if they are larger.
        picture = picture.resize(tuple(max(1, round(scale * side)) for side in picture.size))
    grey = ImageOps.grayscale(picture)
    shades = [
        place for place, count in enumerate(grey.histogram()) if count > grey.width * grey.height / 5_000
    ]
    if shades and shades[-1] - shades[0] < _LOWEST_RANGE:
        picture = ImageOps.autocontrast(grey, cutoff=0.02).convert("RGB")
    return picture


def _upright(
    engine: Any, crops: Sequence[Any], boxes: Any, size: tuple[float, float]
) -> tuple[list[Any], Any, tuple[float, float]]:
    """Return the lines of a picture that was turned by quarters as if it were upright.

    The length of the lines decides between upright and a quarter, a model whether they stand on their heads.
    """
    import numpy as np  # noqa: PLC0415 - only pictures need it

    turned = list(crops)
    widths = np.linalg.norm(boxes[:, 1] - boxes[:, 0], axis=1)
    heights = np.linalg.norm(boxes[:, 3] - boxes[:, 0], axis=1)
    tall = heights >= _TALL * widths
    if heights[tall].sum() > widths[~tall].sum():
        # The crop of a tall box was turned to the left, so the others and all boxes are too.
        turned = [crop if is_tall else np.rot90(crop) for crop, is_tall in zip(turned, tall, strict=True)]
        boxes = np.stack([boxes[:, :, 1], size[0] - boxes[:, :, 0]], axis=2)[:, [1, 2, 3, 0]]
        size = size[1], size[0]
    longest = sorted(turned, key=lambda crop: crop.shape[1] / crop.shape[0], reverse=True)[:_SAMPLE]
    starts = [np.ascontiguousarray(crop[:, : _START * crop.shape[0]]) for crop in longest]
    told = engine.cls_and_rotate(starts)[1].cls_res
    if sum(score if label == "180" else -score for label, score in told) > 0:
        turned = [np.rot90(crop, 2) for crop in turned]
        boxes = (np.array(size) - boxes)[:, [2, 3, 0, 1]]
    return turned, boxes, size


def _deskew(boxes: Any) -> Any:
    """Return the corners turned by the median slope of the lines."""
    import numpy as np  # noqa: PLC0415 - only pictures need it

    edges = boxes[:, 1] - boxes[:, 0]
    wide = np.abs(edges[:, 0]) > 4 * np.abs(edges[:, 1])
    if not wide.any():
        return boxes
    slope = statistics.median(math.atan2(y, x) for x, y in edges[wide])
    cosine, sine = math.cos(slope), math.sin(slope)
    return boxes @ np.array([[cosine, -sine], [sine, cosine]])


def _bounds(box: Any) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom of four corners from the upper left one clockwise."""
    return (
        float(box[[0, 3], 0].mean()),
        float(box[[0, 1], 1].mean()),
        float(box[[1, 2], 0].mean()),
        float(box[[2, 3], 1].mean()),
    )
