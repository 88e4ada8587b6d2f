"""The colours of pictures, on light and on dark ground."""

from ragmem.charts.charts import Tone

LIGHT = ("#0072b2", "#a83c00", "#12a37f", "#551a6b", "#b08f00", "#4d5359")
DARK = ("#56b4e9", "#f0883e", "#1b9e77", "#c04fb8", "#f0e442", "#8b949e")
"""After the palette of Okabe and Ito ("Color universal design", 2008).

Each has a contrast of 3 to 1 at least against its ground, and any two differ by 15 at least (CIE 1976) also
for people who do not see red, green or blue; a test measures it.
"""

LIGHT_GROUND, DARK_GROUND = "#ffffff", "#0d1117"

TONES = (Tone.PLAIN, Tone.FADING, Tone.FIRM, Tone.LASTING, Tone.FRESH, Tone.GONE)
"""What the colours stand for, in their order, where they stand for something."""
