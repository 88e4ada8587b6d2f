"""The dark and the light theme: few, calm, readable colours."""

from textual.theme import Theme

DARK = Theme(
    name="ragmem-dark",
    dark=True,
    primary="#8fb8de",
    secondary="#9aa5b1",
    accent="#c4a7e7",
    success="#9ccf9c",
    warning="#e0bd7d",
    error="#e09a9a",
    foreground="#d8dce3",
    background="#14171c",
    surface="#181c22",
    panel="#222831",
    variables={"footer-key-foreground": "#8fb8de", "block-cursor-background": "#33485f"}
    | {"block-cursor-foreground": "#f2f5f9", "block-cursor-blurred-background": "#262e38"},
)
LIGHT = Theme(
    name="ragmem-light",
    dark=False,
    primary="#245c8a",
    secondary="#5a6570",
    accent="#6b4a9e",
    success="#2f6f3e",
    warning="#85600f",
    error="#a13c3c",
    foreground="#20252b",
    background="#fbfaf7",
    surface="#f6f4ef",
    panel="#e9e6de",
    variables={"footer-key-foreground": "#245c8a", "block-cursor-background": "#cfe0ee"}
    | {"block-cursor-foreground": "#12181f", "block-cursor-blurred-background": "#e3e8ec"},
)
