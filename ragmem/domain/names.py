"""Small word lists that extraction leans on: well-known names, file endings and words that name nothing."""

from collections.abc import Mapping
from types import MappingProxyType

_KNOWN = {
    "language": """
        Python JavaScript TypeScript Rust Java Kotlin Swift Ruby PHP Elixir Erlang Haskell Scala Lua
        Perl Bash SQL HTML CSS Go C++ C# Clojure Dart Zig
    """,
    "library": """
        React Vue Angular Svelte Django Flask FastAPI Pydantic NumPy Pandas PyTorch TensorFlow
        SQLAlchemy LangChain Express Tailwind Phoenix Typer Click Hypothesis Spring NetworkX Three.js
        Next.js
    """,
    "tool": """
        Docker Kubernetes Terraform Ansible Git npm npx pip pnpm yarn uv ruff mypy pytest ESLint
        Prettier Vite Webpack Jest Vitest Playwright Redis PostgreSQL Postgres SQLite MySQL MongoDB
        Neo4j DuckDB Elasticsearch Kafka RabbitMQ Nginx Grafana Prometheus Ollama tmux Homebrew Cargo
        Gradle Maven curl kubectl Helm Obsidian Cursor
    """,
    "organization": """
        GitHub GitLab Anthropic OpenAI Google Microsoft Amazon Meta Apple Netflix Mozilla
    """,
    "service": """
        AWS Azure GCP Cloudflare Vercel Heroku Netlify Slack Discord Stripe Sentry Datadog Supabase
        Firebase PyPI
    """,
    "protocol": """
        HTTP HTTPS JSON JSONL YAML TOML XML CSV gRPC GraphQL REST WebSocket OAuth JWT SSH TLS SSE MCP
        OpenAPI Markdown LSP OTLP
    """,
    "host": """
        Linux macOS iOS Android Windows Ubuntu Debian
    """,
    "model": """
        GPT-4 GPT-4o Gemini Llama Mistral Qwen
    """,
}
_KNOWN_PHRASES = {
    "tool": (
        "Claude Code",
        "GitHub Actions",
        "VS Code",
        "Claude Desktop",
        "Gemini CLI",
        "Codex CLI",
        "Docker Compose",
    ),
    "protocol": ("Model Context Protocol",),
    "library": ("Tailwind CSS", "React Native"),
}
KNOWN_NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {name.lower(): (name, kind) for kind, names in _KNOWN.items() for name in names.split() if name != "Go"}
    | {name.lower(): (name, kind) for kind, names in _KNOWN_PHRASES.items() for name in names}
)
"""Names that developers of any field know, by their small letters: canonical form and type."""

_ENDINGS = """
py pyi ipynb js jsx ts tsx mjs cjs go rs java kt swift rb php ex exs erl hrl c h cc cpp hpp cs lua sh bash
zsh fish ps1 sql html css scss vue svelte md mdx rst txt json jsonl yaml yml toml ini cfg conf env lock xml
csv tsv db sqlite log pdf docx xlsx pptx png jpg jpeg svg gif webp wav mp3 mp4 so dylib dll exe wasm zip tar
gz plist service dockerfile proto tf bat cmd pem key crt patch diff parquet onnx safetensors gguf template
example
"""
FILE_ENDINGS = frozenset(_ENDINGS.split())

_AMBIGUOUS = """
click express spring swift ruby dart phoenix react angular jest hypothesis helm cursor cargo rest apple meta
amazon google slack stripe sentry windows flask vite express go c zig gemini llama playwright obsidian
discord
"""
AMBIGUOUS_NAMES = frozenset(_AMBIGUOUS.split())
"""Known names that are words too: names with a capital letter inside a sentence only."""

_COMMON = """
a about above after again all also always an and another any are as at back bad based be because before
being below best better between both but by can cannot case change check clear code common complete could
create critical current data date day default description details did different do does done down draft each
early either else end error errors even every example false features few file files final finally first fix
fixed for format from full further get given go good had has have he help her here high his how however i if
important in information initial input instead into is issue it item its just keep key know last late later
latest left less level like line list local long look low main make many may maybe me medium might minor
more most much must my name need never new next no none nope nor not note notes now null number of off ok
old on once one only open option or other our out output over overview own part pass per phase place plan
please point possible problem project purpose question quick rather read ready real really recommended
related required result results right run same save second section see several she should show simple simply
since small so some something soon source start state status step still stop such summary sure table take
task tasks test tests than that the their them then there these they thing things this those three through
time title to today together tool tools top total true try turn two type under unless until up update
updated us use used user users using value values version very via view want was way we well were what when
where whether which while who why will with within without work would yes yet you your january february
march april may june july august september october november december monday tuesday wednesday thursday
friday saturday sunday mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec todo
fixme warning tip am pm utc api apis cli sdk sdks llm llms ai ui ux id ids url urls uri pr prs ci cd prd os
db ide readme faq tdd ml gpu cpu ram io qa dev prod get post put patch delete success failed pending
"""
COMMON_WORDS = frozenset(_COMMON.split())
"""Words that name nothing on their own, whatever their capitals."""

_STARTERS = """
add added adds allow allows analyze apply ask avoid build building call check choose clean configure
consider copy define deploy describe document ensure every everything execute explain export extract find
follow generate handle identify implement implemented import include includes install introduce keep launch
let load maintain manage measure merge migrate move no nothing once parse people prefer prevent provide
provides put remove rename replace report require requires restart returns review select send set setup
shows split store supports switch these track trigger update use used uses validate verify write perhaps
currently previously initially eventually additionally similarly otherwise meanwhile furthermore moreover
therefore thus hence unlike although though despite during given regarding
"""
NAME_STARTERS = frozenset(_STARTERS.split())
"""Words that begin sentences and items with a capital letter and no name."""
