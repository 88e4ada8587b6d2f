"""Word lists for extraction: well-known names, file extensions, and words that are not names."""

from collections.abc import Mapping
from types import MappingProxyType

_KNOWN = {
    "language": """
        Python JavaScript TypeScript Rust Java Kotlin Swift Ruby PHP Elixir Erlang Haskell Scala Lua
        Perl Bash SQL HTML CSS Go C++ C# Clojure Dart Zig
    """,
    "library": """
        React Vue Angular Svelte Django Flask FastAPI Pydantic NumPy Pandas PyTorch TensorFlow
        SQLAlchemy LangChain LangGraph Express Tailwind Phoenix Typer Click Hypothesis Spring NetworkX
        Three.js Next.js Vue.js Nuxt Remix Astro Zod Zustand Redux Prisma Drizzle Celery Requests httpx
        aiohttp SciPy Matplotlib Jinja2 Rails Laravel Tokio Serde Axum Electron LlamaIndex OpenTelemetry
        jQuery Radix shadcn
    """,
    "tool": """
        Docker Kubernetes Terraform Ansible Git npm npx pip pnpm yarn uv ruff mypy pytest ESLint
        Prettier Vite Webpack Jest Vitest Playwright Redis PostgreSQL Postgres SQLite MySQL MongoDB
        Neo4j DuckDB Elasticsearch Kafka RabbitMQ Nginx Grafana Prometheus Ollama tmux Homebrew Cargo
        Gradle Maven curl kubectl Helm Obsidian Cursor Node.js Deno Bun Podman Copilot Claude Codex
        Aider Windsurf Cline ChromaDB Chroma Qdrant Pinecone Milvus Weaviate pgvector FAISS
        LiteLLM vLLM Jupyter Bazel CMake Poetry tox Pyright jq ripgrep Puppeteer Selenium
        Cypress Storybook Figma ClickHouse Cassandra MariaDB Memcached
        Caddy Traefik Istio Jenkins CircleCI Dependabot Renovate Turborepo Rollup esbuild Biome Babel
    """,
    "organization": """
        GitHub GitLab Anthropic OpenAI Google Microsoft Amazon Meta Apple Netflix Mozilla NVIDIA Intel
        AMD IBM Oracle Salesforce Uber Airbnb Spotify JetBrains HashiCorp HuggingFace DeepSeek
        Cohere Perplexity
    """,
    "service": """
        AWS Azure GCP Cloudflare Vercel Heroku Netlify Slack Discord Stripe Sentry Datadog Supabase
        Firebase PyPI Notion Linear Jira Confluence Zapier SendGrid Mailgun Auth0 Okta
        Clerk PlanetScale Neon Upstash Railway Render DigitalOcean S3 EC2 SQS DynamoDB BigQuery Snowflake
        LangSmith Langfuse OpenRouter Groq Bedrock Shopify PayPal Telegram
        WhatsApp Zoom Airtable Algolia PostHog Mixpanel PagerDuty
    """,
    "protocol": """
        HTTP HTTPS JSON JSONL YAML TOML XML CSV gRPC GraphQL REST WebSocket OAuth JWT SSH TLS SSE MCP
        OpenAPI Markdown LSP OTLP JSON-RPC TCP UDP DNS SMTP IMAP FTP SFTP CORS SAML OIDC TOTP UUID ASCII
        UTF-8 Unicode Base64 SHA-256 HMAC RSA AES BM25 HNSW WAL WSGI CRDT RBAC ACID POSIX WebRTC MQTT
        AMQP Protobuf Avro Parquet Arrow SVG PNG PDF HTML5 SSR CSP CSRF XSS
    """,
    "host": """
        Linux macOS iOS Android Windows Ubuntu Debian Fedora Alpine Raspberry WSL NixOS FreeBSD
    """,
    "dataset": """
        ImageNet MNIST SQuAD HotpotQA SWE-bench HumanEval MMLU GSM8K
    """,
    "file": """
        Makefile Dockerfile Procfile Gemfile Rakefile Justfile Vagrantfile Jenkinsfile CODEOWNERS
    """,
    "model": """
        GPT-4 GPT-4o Gemini Llama Mistral Qwen Opus Sonnet Haiku
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
"""Names known to all developers, by their lower-case form: canonical form and type."""

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
discord notion linear render railway neon remix astro requests copilot chroma bun just
aider cline arrow oracle intel uber zoom rails electron clerk drizzle serde radix rollup babel
raspberry cypress spotify biome caddy selenium alpine storybook poetry bedrock figma prisma wal shopify acid
perplexity confluence celery drizzle
puppeteer telegram cohere milvus jira opus sonnet haiku
"""
AMBIGUOUS_NAMES = frozenset(_AMBIGUOUS.split())
"""Known names that are also words: they count only with a capital within a sentence."""

_COMMON = """
red green shall goal goals eof feat chore core custom basic advanced global internal external manual automatic
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
friday saturday sunday english french german spanish italian portuguese russian ukrainian chinese japanese
korean arabic hindi polish dutch turkish mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept
uncaught oct nov dec todo
fixme warning tip am pm utc api apis cli sdk sdks llm llms ai ui ux id ids url urls uri pr prs ci cd prd os
db ide readme faq tdd ml gpu cpu ram io qa dev prod get post put patch delete success failed pending
"""
COMMON_WORDS = frozenset(_COMMON.split())
"""Words that alone are never names, even with a capital."""

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
"""Capitalized words at the beginning of sentences and items that are not names."""

_KINDS = {
    "tool": "cli tool plugin extension agent skill app desktop editor linter formatter compiler terminal",
    "library": "sdk library framework package crate module gem binding bindings",
    "service": "service server daemon worker api gateway hub dashboard cloud platform backend endpoint",
    "protocol": "protocol format standard specification transport",
    "model": "model embedding embeddings llm",
    "dataset": "dataset benchmark corpus",
    "config": "flag variable setting option key",
    "symbol": "function class method table route field struct trait interface decorator component column",
    "event": "hook event conference milestone sprint",
    "organization": "inc labs corp gmbh ltd university foundation team",
    "language": "language",
    "project": "project repo repository monorepo codebase",
    "tool ": "database db",
}
KIND_NOUNS: Mapping[str, str] = MappingProxyType(
    {noun: kind.strip() for kind, nouns in _KINDS.items() for noun in nouns.split()}
)
"""Nouns that show the type of the name before them."""

_GENERIC = """
configuration config setup interop integration implementation support usage guide overview example examples
architecture design tests testing code docs documentation settings details notes version installation commands
collaboration patterns conventions standards structure requirements projects files
workflow process issues notes summary reference tips tools features fixes updates changes improvements
"""
GENERIC_NOUNS = frozenset(_GENERIC.split())
"""Nouns for an activity, mostly in headings; they are not part of a name."""

MADE_IN = frozenset("cli sdk sdks client project".split())
"""Nouns for things written in a language; they are not part of the language's name."""
