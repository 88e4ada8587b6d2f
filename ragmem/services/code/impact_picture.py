"""Draw an impact: the target at the left, its dependents in layers to the right."""

from ragmem.charts.layered_diagram import Arrow, Box, Layers, Tint
from ragmem.services.code.impact import Impact, ImpactedSymbol

MOST = 150
"""Maximum readable number of boxes."""

_TARGET = "\x00target"


def picture(found: Impact, *, most: int = MOST) -> Layers:
    """Return a picture with the target and its nearest dependents, at most `most` boxes."""
    inside = {one.symbol.qualified for one in found.target.symbols}
    beside = (*found.tests, *found.helpers)
    every = [*found.reached, *(one for one in beside if one.depth <= found.depth)]
    every.sort(key=lambda one: (one.depth, -one.score, one.located.path, one.located.symbol.line))
    testing = set(beside)
    boxes = [_target(found)]
    arrows: list[Arrow] = []
    drawn = dict.fromkeys(inside, _TARGET)
    for one in every:
        ways: dict[str, dict[str, None]] = {}
        for edge in one.references:
            if edge.target in drawn:
                ways.setdefault(drawn[edge.target], {})[edge.kind.value] = None
        if len(boxes) < most and ways:
            boxes.append(_box(one, is_test=one in testing))
            drawn[one.located.symbol.qualified] = one.located.symbol.qualified
            key = one.located.symbol.qualified
            arrows += [Arrow(key, target, ", ".join(kinds)) for target, kinds in ways.items()]
    deepest = max((box.layer for box in boxes), default=0)
    counts = [sum(box.layer == layer for box in boxes) for layer in range(deepest + 1)]
    names = ["target", *(f"depth {layer} ({counts[layer]})" for layer in range(1, deepest + 1))]
    total, drawn_boxes = sum(found.depths.values()) + len(beside), len(boxes) - 1
    told = "1 symbol depends" if total == 1 else f"{total:,} symbols depend"
    more = "" if total == drawn_boxes else f", {drawn_boxes:,} are drawn"
    return Layers(f"{found.target.name}: {told} on it{more}", boxes, arrows, names)


def _target(found: Impact) -> Box:
    target = found.target
    first = target.symbols[0].symbol if target.symbols else None
    if target.is_file or first is None:
        detail = f"{len(target.symbols):,} symbols"
        return Box(_TARGET, 0, target.name, detail, target.name, Tint.TARGET)
    detail = f"{target.paths[0]}:{first.line}"
    return Box(_TARGET, 0, first.qualified, detail, f"{first.qualified}\n{first.doc}".strip(), Tint.TARGET)


def _box(reached: ImpactedSymbol, *, is_test: bool) -> Box:
    symbol = reached.located.symbol
    place = f"{reached.located.path}:{symbol.line}"
    how = "\n".join(
        f"{edge.kind.value} {edge.target}, {edge.path}:{edge.line}" for edge in reached.references[:8]
    )
    tint = Tint.TEST if is_test else Tint.PLAIN
    tooltip = f"{symbol.qualified}\nscore {reached.score:.3g}\n{how}"
    return Box(symbol.qualified, reached.depth, symbol.qualified, place, tooltip, tint)
