"""Find the content of a web page, without hidden elements, navigation and other surroundings."""

import re
from collections.abc import Iterator
from typing import Any

_NEVER_SHOWN = frozenset(
    "script style noscript template iframe object embed canvas link meta base button select "
    "option textarea mjx-math datalist audio video map area progress meter frame frameset "
    "applet title".split()
)
_NOT_TAKEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AROUND = frozenset({"nav", "dialog", "menu"})
_ROLES_AROUND = frozenset(
    "navigation search banner contentinfo complementary dialog alertdialog menu menubar toolbar".split()
)
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:px|pt|em|rem|%)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_FONT_SIZE = re.compile(r"font-size\s*:\s*(?!0)|font\s*:\s*\S", re.IGNORECASE)
_FOR_READERS_ALOUD = frozenset({"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text"})
_CONSENT = re.compile(
    r"(?:cookie|consent|gdpr|ccpa)[-_]?(?:banner|bar|box|notice|popup|pop-up|modal|dialog|overlay|consent|law|"
    r"message|wall|prompt|layer|warning|container)|^onetrust|cookiebot|^cc-window$|^truste|^didomi|"
    r"^usercentrics|^qc-cmp|^sp_message|^osano",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"^(?:skip-?(?:link|nav|to-content)s?|breadcrumbs?|share-?(?:buttons?|bar|links)|social-?(?:share|links|icons)|"
    r"newsletter(?:-signup)?|adsbygoogle|advert(?:isement)?s?|ad-(?:banner|slot|container)|"
    r"related-(?:posts|articles)|mw-editsection|mw-jump-link|navbox|noprint|headerlink|anchor-?link|toc|table-of-contents|"
    r"site-(?:header|footer)|pagination|linenos|line-?numbers?-rows|gutter|mathjax(?:_preview|_svg|_display)?|mjx-chtml|katex-html)$",
    re.IGNORECASE,
)
# HTML does not allow declarations in a document type; the parser would read them as text.
_DECLARATIONS = re.compile(r"(<!DOCTYPE[^\[>]{0,500})\[.{0,20000}?\]\s*>", re.IGNORECASE | re.DOTALL)
# Mail servers put a page of their own in front of one; the parser ends with the first.
_SEVERAL = re.compile(r"</body>\s*</html>\s*(?:<!DOCTYPE[^<>]{0,500}>\s*)?(?=<html)", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SIMPLE = re.compile(r"[a-z0-9]*([.#][A-Za-z_][\w-]*)")
_NAMES = re.compile(r"[.#][A-Za-z_][\w-]*")
_DISPLAY = re.compile(r"display\s*:\s*([a-z-]+)", re.IGNORECASE)
_MOST_CSS = 400_000
_SHARE_OF_MAIN = 0.1
_SHARE_OF_ARTICLE = 0.4
_TOO_MUCH_TO_DROP = 0.6


def parse_page(text: str) -> Any:
    """Return the root element of a page; None for an empty one. Never raises for any text."""
    from lxml import etree

    # `huge_tree` raises the maximum depth of elements from 256 to 2,048; deeper ones are lost.
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    whole = _SEVERAL.sub("", text.replace("\x00", ""))
    data = _DECLARATIONS.sub(r"\1>", whole, count=1).encode("utf-8", "replace")
    try:
        return etree.fromstring(data, parser) if data.strip() else None
    except etree.LxmlError:
        # There is only a comment or a broken tag.
        return None


def local(node: Any) -> str:
    """Return the name of an element in lower case, without namespace or prefix; empty for comments."""
    tag = node.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def elements(root: Any, *names: str) -> Iterator[Any]:
    """Yield the elements with one of these names at any depth, in order; none without a root."""
    return (each for each in (() if root is None else root.iter()) if local(each) in names)


def contains(root: Any, *names: str) -> bool:
    """Return whether there is an element with one of these names."""
    return next(elements(root, *names), None) is not None


def tokens(node: Any) -> set[str]:
    """Return the classes of an element, in lower case."""
    return set((node.get("class") or "").lower().split())


def roles(node: Any) -> set[str]:
    """Return the roles of an element: its `role` and its `epub:type`."""
    types = node.get("{http://www.idpf.org/2007/ops}type") or node.get("epub:type") or ""
    return set(f"{node.get('role') or ''} {types}".lower().split())


def length(node: Any) -> int:
    """Return the number of characters in an element, without blanks at the ends of its texts."""
    return sum(len(each.strip()) for each in node.itertext() if isinstance(each, str))


def content(root: Any) -> Any:
    """Return the element with the content of the page, after removing hidden elements from the tree."""
    # The search begins at the root: without a `body` tag the parser puts elements of HTML 5 into the head.
    hidden = _find_hidden_names(root)
    _remove_elements(root, lambda each: local(each) in _NEVER_SHOWN and not _is_formula(each))
    _remove_elements(root, lambda each: _is_hidden(each, hidden) and not _is_only_math(each))
    whole = max(length(root), 1)
    _remove_elements(
        root,
        lambda each: _is_around(each) or (_is_furniture(each) and length(each) < _TOO_MUCH_TO_DROP * whole),
    )
    return _find_main(root)


def _is_formula(node: Any) -> bool:
    return local(node) == "script" and (node.get("type") or "").lower().startswith("math/")


def _find_main(body: Any) -> Any:
    whole = max(length(body), 1)
    mains = [each for each in body.iter() if local(each) == "main" or "main" in roles(each)]
    best = max(mains, key=length, default=None)
    if best is not None and length(best) >= _SHARE_OF_MAIN * whole:
        return best
    articles = [each for each in elements(body, "article") if not _is_inside(each, {"article"})]
    if len(articles) == 1 and length(articles[0]) >= _SHARE_OF_ARTICLE * whole:
        return articles[0]
    return body


def _remove_elements(top: Any, unwanted: Any) -> None:
    """Remove the elements for which `unwanted` holds; the text after them stays."""
    for node in [each for each in top.iter() if each is not top and local(each) and unwanted(each)]:
        parent = node.getparent()
        if parent is None:
            continue
        before = node.getprevious()
        if node.tail:
            if before is not None:
                before.tail = _join_texts(before.tail, node.tail)
            else:
                parent.text = _join_texts(parent.text, node.tail)
        node.tail = None
        parent.remove(node)


def _join_texts(one: str | None, other: str) -> str:
    """Return two texts as one, without characters (&#8;) that a page may contain but a tree may not."""
    return _NOT_TAKEN.sub("", (one or "") + other)


def _is_hidden(node: Any, names: set[str]) -> bool:
    if local(node) in {"html", "body"}:
        # Scripts show the whole page after loading.
        return False
    if "hidden" in node.attrib and node.get("hidden") != "until-found":
        return True
    if (node.get("aria-hidden") or "").lower() == "true":
        return True
    if found := _HIDING.search(node.get("style") or ""):
        # Mails close the gaps between columns with a size of zero, which the text within does not keep.
        return not (
            _is_size(found) and any(_FONT_SIZE.search(each.get("style") or "") for each in node.iter("*"))
        )
    own = {f".{each}" for each in (node.get("class") or "").split()} | {f"#{node.get('id') or ''}"}
    return bool(own & names or tokens(node) & _FOR_READERS_ALOUD)


def _is_size(found: re.Match[str]) -> bool:
    return found[0].lower().startswith("font-size")


def _is_only_math(node: Any) -> bool:
    """Return whether an element contains only a formula, as an accessible version of its picture."""
    found = list(elements(node, "math"))
    return bool(found) and length(node) == sum(length(each) for each in found)


def _is_around(node: Any) -> bool:
    """Return whether an element is outside of the content: navigation, a dialog, the header and footer."""
    name = local(node)
    if name in {"main", "article", "body"} or {"doc-endnotes", "doc-footnotes"} & roles(node):
        return False
    if name in _AROUND or _ROLES_AROUND & roles(node):
        return True
    if name not in {"header", "footer", "aside"} or _is_inside(
        node, {"main", "article", "section", "blockquote"}
    ):
        return False
    notes = any(
        {"doc-endnotes", "doc-footnote", "footnotes"} & (roles(each) | tokens(each)) for each in node.iter()
    )
    return not notes and not (name == "header" and contains(node, "h1"))


def _is_furniture(node: Any) -> bool:
    names = [*tokens(node), (node.get("id") or "").lower()]
    is_named = any(_FURNITURE.match(each) or _CONSENT.search(each) for each in names if each)
    return is_named and local(node) not in {"body", "main", "article", "html", "mjx-container"}


def _is_inside(node: Any, names: set[str]) -> bool:
    return any(local(each) in names for each in node.iterancestors())


def _find_hidden_names(root: Any) -> set[str]:
    """Return the classes and ids (".name", "#name") that the page's own style sheets hide.

    A class that any rule shows (`.tab.active { display: block }`) is not included: content that appears after
    a click belongs to the page.
    """
    hidden: set[str] = set()
    shown: set[str] = set()
    for selectors, rules in _rules(root):
        display = _DISPLAY.search(rules)
        for selector in selectors.split(","):
            simple = _SIMPLE.fullmatch(selector.strip())
            if simple and (found := _HIDING.search(rules)) and not _is_size(found):
                hidden.add(simple[1])
            elif display and display[1].lower() != "none":
                shown.update(_NAMES.findall(selector))
    return hidden - shown


def _rules(root: Any) -> Iterator[tuple[str, str]]:
    for each in elements(root, "style"):
        css = _COMMENT.sub("", "".join(each.itertext())[:_MOST_CSS])
        for rule in _without_conditions(css).split("}"):
            selectors, _, rules = rule.partition("{")
            yield selectors, rules


def _without_conditions(css: str) -> str:
    """Return style rules without conditional ones, such as those for print and small screens."""
    kept, depth, start = [], 0, 0
    at = css.find("@")
    while at >= 0:
        kept.append(css[start:at])
        depth, end = 0, at
        for end in range(at, len(css)):
            depth += (css[end] == "{") - (css[end] == "}")
            if (css[end] == "}" and depth <= 0) or (css[end] == ";" and depth == 0):
                break
        start = end + 1
        at = css.find("@", start)
    return "".join(kept) + css[start:]
