"""Ten pages with equations, which matplotlib draws with fonts that tell their glyphs."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sample import Sample


def drawn(*lines: str, face: str = "dejavusans") -> Callable[[Path], object]:
    """Return a function that draws lines on a page; equations stand between dollar signs."""

    def make(path: Path) -> None:
        import matplotlib as mpl
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.figure import Figure

        with mpl.rc_context({"mathtext.fontset": face}):
            figure = Figure(figsize=(8, 0.7 * len(lines) + 0.6))
            FigureCanvasPdf(figure)
            for number, line in enumerate(lines):
                figure.text(0.06, 1 - (0.7 * number + 0.6) / (0.7 * len(lines) + 0.6), line, fontsize=12)
            figure.savefig(path, format="pdf", metadata={"CreationDate": None})

    return make


def _sample(name: str, lines: Sequence[str], *questions: tuple[str, str], face: str = "dejavusans") -> Sample:
    return Sample(
        f"equations-{name}.pdf",
        drawn(*lines, face=face),
        tuple((asked, answer, "page=1") for asked, answer in questions),
    )


SAMPLES = [
    _sample(
        "drag",
        (
            "Drag of a buoy in a current",
            r"The drag force is $F_d = \frac{1}{2} \rho v^2 C_d A$ with the density $\rho$.",
            "The coefficient of the spar buoy was measured as 0.82 in the flume.",
        ),
        ("formula of the drag force of a buoy", r"F_{d} = \frac{1}{2}\rho v^{2}C_{d}A"),
        ("drag coefficient of the spar buoy", "0.82 in the flume"),
        ("drag of a buoy in a current", "Drag of a buoy"),
    ),
    _sample(
        "roots",
        (
            "Roots of a parabola for the mirror of the lighthouse",
            r"$x_{1,2} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$",
            "The mirror needs both roots to be real.",
        ),
        ("roots of the parabola of the mirror", r"\frac{-b \pm \sqrt{b^{2} - 4ac}}{2a}"),
        ("what does the mirror of the lighthouse need", "both roots to be real"),
        ("parabola for the mirror", "x_{1, 2}"),
        face="stix",
    ),
    _sample(
        "queue",
        (
            "Waiting time of the lock at Teddington",
            r"The mean queue is $L_q = \frac{\lambda^2}{\mu (\mu - \lambda)}$ for one chamber.",
            "Arrivals come at a rate of six barges an hour.",
        ),
        ("mean queue of the lock", r"L_{q} = \frac{\lambda^{2}}{\mu(\mu - \lambda)}"),
        ("arrival rate at the lock", "six barges an hour"),
        ("waiting time of which lock", "Teddington"),
    ),
    _sample(
        "yield",
        (
            "Present value of the pier bond",
            r"$P = \sum_{t=1}^{n} \frac{C}{(1 + r)^t}$",
            "The coupon C is 35 crowns, paid each Michaelmas.",
        ),
        ("present value of the pier bond", r"\sum_{t = 1}^{n}\frac{C}{(1 + r)^{t}}"),
        ("coupon of the pier bond", "35 crowns"),
        ("when is the coupon paid", "Michaelmas"),
    ),
    _sample(
        "normal",
        (
            "Scatter of the depth soundings",
            r"$f(x) = \frac{1}{\sqrt{2 \pi \sigma^2}} e^{-x^2}$",
            "The deviation of the echo sounder is 4 cm.",
        ),
        ("density of the scatter of soundings", r"\frac{1}{\sqrt{2\pi\sigma^{2}}}"),
        ("deviation of the echo sounder", "4 cm"),
        ("scatter of soundings", "depth soundings"),
    ),
    _sample(
        "tide",
        (
            "Area under the tide curve",
            r"$W = \int_{0}^{T} h(t)^2 \, dt \leq \alpha T$",
            "The station at Cuxhaven integrates over one lunar day.",
        ),
        ("integral of the tide curve", r"W = \int_{0}^{T}h(t)^{2}"),
        ("which station integrates over one lunar day", "Cuxhaven"),
        ("area under the tide curve", "tide curve"),
        face="stix",
    ),
    _sample(
        "chemistry",
        (
            "Rate of rust on the sluice gate",
            r"$k = k_0 e^{-\frac{E_a}{RT}}$ after Arrhenius",
            "The activation energy of the primer is 52 kJ per mole.",
        ),
        ("rate of rust after Arrhenius", r"k = k_{0}e^{-\frac{E_{a}}{RT}}"),
        ("activation energy of the primer", "52 kJ"),
        ("rust on which gate", "sluice gate"),
    ),
    _sample(
        "pendulum",
        (
            "Period of the bell pendulum",
            r"$T = 2 \pi \sqrt{\frac{l}{g}}$",
            "A rope of nine metres swings once in six seconds.",
        ),
        ("period of the pendulum", r"\sqrt{\frac{l}{g}}"),
        ("how long swings a rope of nine metres", "once in six seconds"),
        ("pendulum of a bell", "bell pendulum"),
    ),
    _sample(
        "learning",
        (
            "Step size of the autopilot",
            r"The weights follow $\theta_{k+1} = \theta_k - \eta \nabla J$ at each fix.",
            "The autopilot of the trawler learns at night only.",
        ),
        ("how do the weights of the autopilot follow", r"\theta_{k + 1} = \theta_{k} - \eta\nabla J"),
        ("when does the autopilot of the trawler learn", "at night only"),
        ("step size", "Step size of the autopilot"),
    ),
    _sample(
        "lens",
        (
            "Focus of the signal lens",
            r"$\frac{1}{f} = \frac{1}{a} + \frac{1}{b}$",
            "The lens was ground by Paulsen in Kiel.",
        ),
        ("equation of the focus of the signal lens", r"\frac{1}{f} = \frac{1}{a} + \frac{1}{b}"),
        ("who ground the lens", "Paulsen"),
        ("where was the lens ground", "Kiel"),
    ),
]
