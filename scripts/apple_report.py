"""Write the report of scripts/apple_report.sh: what ragmem does on this machine, above all on a Mac.

Each section is a process of its own with a limit of time, in an empty home, so that a crash is a line of the
report. Names of the person, the machine and its folders are taken out of all that is written.
"""

import argparse
import getpass
import json
import os
import platform
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("ragmem", "mlx", "mlx-metal", "mlx-lm", "mlx-embeddings", "onnxruntime", "numpy", "lightrag-hku"),
    *("tokenizers", "safetensors", "llguidance"),
)
LABEL = "org.ragmem.serve"
TEXTS, QUICK_TEXTS = 256, 32
TEXT_CHARS = 1000
CALLS = 15
"""Times that a hook and a completion are run; the median counts."""

LONG_FOLDER = 130
"""Letters of a home whose socket has no room in the 104 bytes that macOS gives it."""

MOST_LINES = 60
"""Lines of a section, the last ones."""

LEAST_COSINE = 0.9
"""Lower means that an engine is wrong: int8 rounds otherwise in each, and these texts are no sentences."""

MATRIX, SMALL_MATRIX = 2048, 256
"""Rows of a matrix on Metal, and on a processor, which multiplies float16 slowly."""
PROMPT = "where do we keep the sessions of the billing service"


@dataclass(frozen=True)
class Section:
    """A section by its name, its title, its work and its limit in seconds."""

    name: str
    title: str
    work: Callable[[argparse.Namespace], None]
    limit_s: int


def main(words: Sequence[str]) -> int:
    """Write the report, or do the work of one section; return 1 if a check failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="apple_report.sh", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("ragmem-apple-report.md"), metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="fewer texts, and not the tests of MLX")
    parser.add_argument(
        "--only",
        action="append",
        choices=[one.name for one in SECTIONS],
        help="only this section; repeatable",
    )
    parser.add_argument(
        "--embedding", default="", metavar="HUB_ID", help="fetch and try this embedding model"
    )
    parser.add_argument("--language", default="", metavar="HUB_ID", help="fetch and try this language model")
    parser.add_argument("--environment", metavar="VENV", help="take this environment")
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--section", choices=[one.name for one in (*SECTIONS, *PARTS)], help=argparse.SUPPRESS
    )
    given = parser.parse_args(words)
    if given.section:
        next(one for one in (*SECTIONS, *PARTS) if one.name == given.section).work(given)
        return 0
    try:
        given.out.touch()
    except OSError as error:
        print(f'apple_report.sh: cannot write "{given.out}": {error.strerror}', file=sys.stderr)
        return 2
    home = given.work / "home"
    home.mkdir(parents=True, exist_ok=True)
    private = _private_words(given.work)
    parts, states = [], {}
    chosen = [one for one in SECTIONS if not given.only or one.name in given.only]
    for one in chosen:
        print(f"{one.title} ...", file=sys.stderr, flush=True)
        state, seconds, said = _run(one, home, words)
        states[one.name] = state
        body = _without_private("\n".join(said.splitlines()[-MOST_LINES:]), private)
        parts.append(f"## {one.title}\n\n{state}, {seconds:.1f} s\n\n```text\n{body}\n```\n")
    table = "\n".join(f"| {one.title} | {states[one.name]} |" for one in chosen)
    title = f"# ragmem on {platform.system()} {platform.machine()}"
    head = f"{title}\n\n| section | state |\n| --- | --- |\n{table}\n"
    given.out.write_text("\n".join((head, *parts)), encoding="utf-8")
    print(f"wrote {given.out}; look through it before you send it", file=sys.stderr)
    return int(any(state.startswith("failed") for state in states.values()))


def _run(section: Section, home: Path, words: Sequence[str]) -> tuple[str, float, str]:
    """Run a section in a process of its own; return its state, its seconds and what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGMEM_", "XDG_"))}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    environ = {
        **kept,
        "HOME": str(home),
        "RAGMEM_HOME": str(home / "ragmem"),
        "PATH": programs,
        "COLUMNS": "100",
    }
    if sys.platform != "darwin":
        # There MLX would start g++ for each kernel that it fuses, for seconds.
        environ["MLX_DISABLE_COMPILE"] = "1"
    line = [sys.executable, __file__, *words, "--section", section.name]
    began = time.monotonic()
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ, cwd=home, start_new_session=True
    )
    try:
        said = process.communicate(timeout=section.limit_s)[0]
        state = {0: "ok", SKIPPED: "skipped"}.get(process.returncode, f"failed with {process.returncode}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[0]
        state = f"failed: not done after {section.limit_s} s"
    except BaseException:  # an interrupt ends the section as well
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return state, time.monotonic() - began, said.decode("utf-8", "replace").strip()


SKIPPED = 77
"""Exit code of a section that has nothing to test here."""


def _skip(why: str) -> None:
    print(why)
    sys.exit(SKIPPED)


def _private_words(work: Path) -> list[tuple[str, str]]:
    """Return what is replaced by what, the longest first."""
    host = socket.gethostname()
    found = {
        str(work): "<work>",
        str(work.resolve()): "<work>",
        str(ROOT): "<repository>",
        str(Path.home()): "~",
        str(Path(sys.prefix)): "<environment>",
        host: "<host>",
        host.partition(".")[0]: "<host>",
        getpass.getuser(): "<user>",
    }
    return sorted(((old, new) for old, new in found.items() if len(old) > 2), key=lambda one: -len(one[0]))


def _without_private(text: str, private: Sequence[tuple[str, str]]) -> str:
    for old, new in private:
        # A name of the person or the machine is a word; "root" is also a part of others.
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)
    return re.sub(r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?<!127\.0\.0\.1)", "<address>", text)


def _ragmem(
    *arguments: str, stdin: str = "", check: bool = True, **environ: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "ragmem", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environ},
    )
    if check and done.returncode:
        print(f"$ ragmem {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        sys.exit(1)
    return done


def _output(*line: str) -> str:
    """Return what a program of the system prints; empty where there is none."""
    try:
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60).stdout.strip()
    except OSError:
        return ""


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def machine(_given: argparse.Namespace) -> None:
    """Print the chip, the memory, the system and the versions."""
    print(
        f"system     {platform.system()} {platform.mac_ver()[0] or platform.release()} {platform.machine()}"
    )
    for name in (
        "machdep.cpu.brand_string",
        "hw.memsize",
        "hw.perflevel0.physicalcpu",
        "hw.perflevel1.physicalcpu",
    ):
        if value := _output("sysctl", "-n", name):
            print(f"{name}  {value}")
    for line in _output("system_profiler", "SPDisplaysDataType").splitlines():
        if re.search(r"Chipset Model|Total Number of Cores|Metal", line):
            print(line.strip())
    print(f"python     {platform.python_version()}, {os.cpu_count()} cores")
    for name in PACKAGES:
        try:
            print(f"{name:14} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name:14} not installed")


def metal(_given: argparse.Namespace) -> None:
    """Multiply matrices on the device of MLX and compare the product with NumPy's."""
    import mlx.core as mx
    import numpy as np

    if sys.platform == "darwin" and not mx.metal.is_available():
        print("MLX finds no Metal")
        sys.exit(1)
    print(f"device {mx.default_device()}; Metal {mx.metal.is_available()}")
    if mx.metal.is_available():
        info = mx.device_info()
        print({name: info[name] for name in sorted(info) if "size" in name or "architecture" in name})
    random = np.random.default_rng(1)
    size = MATRIX if mx.metal.is_available() else SMALL_MATRIX
    one = random.normal(size=(size, size)).astype(np.float32)
    product = np.array(mx.array(one) @ mx.array(one))
    error = float(np.abs(product - one @ one).max())
    print(f"largest difference of a product from NumPy's: {error:.4f}")
    half = mx.array(one).astype(mx.float16)
    mx.eval(half @ half)
    began = time.monotonic()
    mx.eval([half @ half for _ in range(5)])
    print(f"{5 * 2 * size**3 / (time.monotonic() - began) / 1e12:.2f} TFLOPS in float16")
    if error > 1.0:
        sys.exit(1)


def engines(given: argparse.Namespace) -> None:
    """Embed the same texts by each engine of the bundled model, each in its own process, and compare them."""
    failed = False
    for engine in ("numpy", "onnx", "mlx"):
        line = [sys.executable, __file__, "--work", str(given.work), "--section", f"engine-{engine}"]
        done = subprocess.run(
            [*line, *["--quick"] * given.quick], capture_output=True, text=True, check=False
        )
        print(done.stdout.strip() or done.stderr.strip()[-500:])
        failed |= bool(done.returncode)
    if failed:
        sys.exit(1)


def engine(given: argparse.Namespace) -> None:
    """Measure one engine, and compare its vectors with those of the first one."""
    import numpy as np

    from ragmem.backends import minilm

    name = given.section.removeprefix("engine-")
    words = (
        "deploy cache token queue restart index vector socket billing session worker schema commit".split()
    )
    random = np.random.default_rng(7)
    count = QUICK_TEXTS if given.quick else TEXTS
    texts = [" ".join(random.choice(words, TEXT_CHARS // 7)) for _ in range(count)]
    models = minilm.open_models({"engine": name})
    began = time.monotonic()
    models.embedder.embed([PROMPT], role="query")
    first_s = time.monotonic() - began
    began = time.monotonic()
    vectors = np.asarray(models.embedder.embed(texts, role="document"), np.float32)
    rate = count / (time.monotonic() - began)
    models.close()
    kept = given.work / "vectors.npy"
    if not kept.exists():
        np.save(kept, vectors)
    least = float((vectors * np.load(kept)).sum(axis=1).min())
    print(
        f"{name:6} {rate:8.1f} texts of {TEXT_CHARS} letters a second, first vector {first_s * 1e3:.0f} ms,"
        f" peak {_peak_mb():.0f} MB, least cosine with the first engine {least:.4f}"
    )
    if least < LEAST_COSINE:
        sys.exit(1)


def tests(given: argparse.Namespace) -> None:
    """Run the tests of the MLX back end, which load and run tiny models on the device."""
    if given.quick:
        _skip("left out by --quick")
    line = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/backends/mlx"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    print("\n".join(done.stdout.splitlines()[-40:]))
    sys.exit(done.returncode)


def model(given: argparse.Namespace) -> None:
    """Fetch a model from the hub, and try its speed and its worth."""
    language = given.section == "language"
    name = given.language if language else given.embedding
    if not name:
        _skip(f"no model was named by --{given.section}")
    print(_ragmem("models", "pull", name).stdout)
    kind = ["--language"] if language else []
    print(_ragmem("models", "test", *kind, f"mlx:{name}", check=False).stdout)


def store(_given: argparse.Namespace) -> None:
    """Seed the example home, ask it, and let doctor look at the memory."""
    for arguments in (("demo",), ("ingest", "-"), ("query", "--all", PROMPT)):
        began = time.monotonic()
        said = _ragmem(*arguments, stdin="We keep the sessions of the billing service in PostgreSQL.").stdout
        print(f"$ ragmem {' '.join(arguments)}  ({time.monotonic() - began:.2f} s)\n{said.strip()[:900]}")
    examined = _ragmem("doctor", check=False)
    print(f"$ ragmem doctor  (exit code {examined.returncode})\n{examined.stdout.strip()}")


def sockets(given: argparse.Namespace) -> None:
    """Ask through the warm process: in a home with a short path, and in one beyond the room of a socket."""
    long = given.work / ("x" * LONG_FOLDER)
    for place in (given.work / "short", long):
        environ = {"RAGMEM_HOME": str(place)}
        note = "We keep the sessions of the billing service in PostgreSQL."
        _ragmem("ingest", "-", "--project", "user", stdin=note, RAGMEM_HOME=str(place))
        code, seconds = _hook("UserPromptSubmit", environ)
        time.sleep(3.0)
        warm_code, warm_s = _hook("UserPromptSubmit", environ)
        began = time.monotonic()
        found = _ragmem("query", "--all", "--ids", PROMPT, RAGMEM_HOME=str(place)).stdout.split()
        asked_s = time.monotonic() - began
        status = _ragmem("warm", "status", check=False, RAGMEM_HOME=str(place))
        print(
            f"path of {len(str(place))} letters: hook {code} in {seconds * 1e3:.0f} ms, then {warm_code} in"
            f" {warm_s * 1e3:.0f} ms; a question {asked_s * 1e3:.0f} ms, {len(found)} found\n"
            f"  {status.stdout.strip()[:200]}"
        )
        _ragmem("warm", "stop", check=False, RAGMEM_HOME=str(place))
        if code or warm_code or status.returncode or not found:
            sys.exit(1)


def _hook(event: str, environ: dict[str, str]) -> tuple[int, float]:
    """Return the exit code of a hook, and its seconds."""
    given = json.dumps(
        {"hook_event_name": event, "session_id": "report", "cwd": str(Path.cwd()), "prompt": PROMPT}
    )
    began = time.monotonic()
    done = _ragmem("hook", event, stdin=given, check=False, **environ)
    return done.returncode, time.monotonic() - began


def hooks(given: argparse.Namespace) -> None:
    """Call hooks as an assistant does: each must end with 0, in time, whatever it is given."""
    environ = {"RAGMEM_HOME": str(given.work / "hooks")}
    failed = False
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"):
        calls = [_hook(event, environ) for _ in range(CALLS)]
        took = [seconds * 1e3 for _, seconds in calls]
        failed |= any(code for code, _ in calls)
        print(f"{event:18} median {statistics.median(took):5.0f} ms, longest {max(took):5.0f} ms")
    garbage = _ragmem("hook", "UserPromptSubmit", stdin="{broken", check=False, **environ)
    print(f"broken JSON: exit code {garbage.returncode}")
    _ragmem("warm", "stop", check=False, **environ)
    if failed or garbage.returncode:
        sys.exit(1)


def launchd(given: argparse.Namespace) -> None:
    """Let launchd start the server, ask for its health, and take the agent out again."""
    if sys.platform != "darwin":
        _skip("there is no launchd here")
    domain = f"gui/{os.getuid()}"
    if (
        subprocess.run(
            ["launchctl", "print", f"{domain}/{LABEL}"], capture_output=True, check=False
        ).returncode
        == 0
    ):
        _skip("an agent of ragmem is installed here, and is left alone")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environ = {"RAGMEM_HOME": str(given.work / "served")}
    try:
        print(_ragmem("serve", "--port", port, "--install", check=False, **environ).stdout)
        answer = ""
        until = time.monotonic() + 30
        while not answer and time.monotonic() < until:
            time.sleep(0.5)
            answer = _output("curl", "-s", f"http://127.0.0.1:{port}/health")
        print(f"health: {answer[:300] or 'no answer within 30 s'}")
        shown = _output("launchctl", "print", f"{domain}/{LABEL}")
        print("\n".join(line for line in shown.splitlines() if re.search(r"state|last exit|runs", line)))
    finally:
        print(_ragmem("serve", "--uninstall", check=False, **environ).stdout)
    left = subprocess.run(
        ["launchctl", "print", f"{domain}/{LABEL}"], capture_output=True, check=False
    ).returncode
    if not answer or left == 0:
        sys.exit(1)


def completions(_given: argparse.Namespace) -> None:
    """Let each shell read its completion script, and complete a word."""
    failed = False
    for shell in ("bash", "zsh", "fish"):
        program = shutil.which(shell)
        script = _ragmem("completions", "show", shell).stdout
        if program is None:
            print(f"{shell:5} is not here")
            continue
        done = subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=False)
        failed |= bool(done.returncode)
        version = _output(program, "--version").partition("\n")[0]
        print(
            f"{shell:5} exit code {done.returncode}, {len(script)} letters ({version})"
            f" {done.stderr.strip()[:200]}"
        )
    took = []
    for _ in range(CALLS):
        began = time.monotonic()
        _ragmem("--version")
        took.append((time.monotonic() - began) * 1e3)
    print(f"ragmem --version: median {statistics.median(took):.0f} ms")
    if failed:
        sys.exit(1)


SECTIONS = (
    Section("machine", "Machine and versions", machine, 120),
    Section("metal", "MLX and Metal", metal, 300),
    Section("engines", "Engines of the bundled model", engines, 900),
    Section("tests", "Tests of MLX with tiny models", tests, 1200),
    Section("embedding", "An embedding model from the hub", model, 1800),
    Section("language", "A language model from the hub", model, 1800),
    Section("store", "A memory, a question, doctor", store, 300),
    Section("sockets", "Unix sockets and the warm process", sockets, 300),
    Section("hooks", "Hooks", hooks, 300),
    Section("launchd", "launchd agent", launchd, 180),
    Section("completions", "Completions and start", completions, 180),
)
PARTS = tuple(Section(f"engine-{name}", "", engine, 0) for name in ("numpy", "onnx", "mlx"))
"""What `engines` starts, one process each."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
