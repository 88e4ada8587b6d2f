"""What sessions of a small harbour software recorded, of every type, and questions about it."""

RECORDS = {
    "tide-cache": (
        "session_insight",
        {
            "summary": "Cached the tide tables so that the departures board asks for none of them.",
            "session": "12",
            "subtasks_completed": ["Add TideCache", "Warm it at start-up", "Measure the board"],
            "files_changed": ["src/tides/cache.py", "src/board/departures.py"],
            "what_worked": ["Warming the cache before the HTTP server accepts connections"],
            "what_failed": ["An lru_cache on the method kept every instance alive"],
            "recommendations": ["Expire entries at the next high water rather than after a fixed hour"],
        },
    ),
    "auth": (
        "session_insight",
        {
            "summary": "Moved the login from session cookies to short-lived JSON web tokens.",
            "session": "13",
            "subtasks_completed": ["Issue tokens", "Refresh them silently"],
            "what_worked": ["Keeping the refresh token in an HttpOnly cookie"],
            "what_failed": ["Storing the token in localStorage: the security review refused it"],
        },
    ),
    "migration": (
        "session_insight",
        {
            "summary": "Split the vessels table and migrated eleven million rows in batches overnight.",
            "session": "14",
            "what_worked": ["Batches of 5,000 rows with a pause between them"],
            "what_failed": ["One transaction for everything filled the write-ahead log"],
            "recommendations": ["Drop the old column in the release after the next"],
        },
    ),
    "docker": (
        "session_insight",
        {
            "summary": "Shrank the container image from 1.9 GB to 240 MB.",
            "what_worked": ["A second build stage that copies only the virtual environment"],
            "recommendations": ["Pin the base image by its digest"],
        },
    ),
    "flaky": (
        "session_insight",
        {
            "summary": "Hunted down the tests that failed at random in continuous integration.",
            "discoveries": ["Three tests shared one port", "One test depended on the order of a set"],
            "recommendations": ["Run the suite in random order every night"],
        },
    ),
    "path-pool": (
        "codebase_discovery",
        {
            "path": "src/db/pool.py",
            "purpose": "Opens and recycles connections to PostgreSQL; one pool a process.",
        },
    ),
    "path-board": (
        "codebase_discovery",
        {
            "path": "src/board/departures.py",
            "purpose": "Renders the departures board that hangs in the terminal.",
        },
    ),
    "path-tides": (
        "codebase_discovery",
        {
            "path": "src/tides/reader.py",
            "purpose": "Parses the hydrographic office's tide tables from fixed-width text.",
        },
    ),
    "path-queue": (
        "codebase_discovery",
        {
            "path": "src/jobs/queue.py",
            "purpose": "Keeps background work in a table and retries it with growing pauses.",
        },
    ),
    "path-billing": (
        "codebase_discovery",
        {
            "path": "src/billing/invoice.py",
            "purpose": "Computes berth fees by length, nights and season and makes the PDF.",
        },
    ),
    "path-ais": (
        "codebase_discovery",
        {
            "path": "src/ais/decoder.py",
            "purpose": "Turns radio messages of passing ships into positions and courses.",
        },
    ),
    "path-settings": (
        "codebase_discovery",
        {
            "path": "src/settings.py",
            "purpose": "Merges environment variables over the configuration file and checks them.",
        },
    ),
    "repository": (
        "pattern",
        {
            "pattern": "Database access goes through repository classes; views never build SQL.",
            "when": "Any new endpoint that reads or writes vessels.",
            "example": "VesselRepository(session).by_call_sign(sign)",
        },
    ),
    "result": (
        "pattern",
        {
            "pattern": "Services return a Result instead of raising for what a user can cause.",
            "example": "return Err('berth is taken')",
        },
    ),
    "hooks": (
        "pattern",
        {
            "pattern": "Use React hooks for state; class components are only left in the legacy map.",
        },
    ),
    "factory": (
        "pattern",
        {
            "pattern": "Tests build their data with factories, never with fixtures loaded from JSON.",
            "example": "VesselFactory(length=12)",
        },
    ),
    "flags": (
        "pattern",
        {
            "pattern": "A risky change ships behind a feature flag that defaults to off.",
            "when": "Anything that touches billing or the locks.",
        },
    ),
    "idempotent": (
        "pattern",
        {
            "pattern": "Every webhook handler stores the event id first and skips one it has seen.",
        },
    ),
    "timezone": (
        "gotcha",
        {
            "gotcha": "Tide tables are in local standard time all year, even in summer.",
            "trigger": "Comparing a table's time with datetime.now().",
            "solution": "Read them with a fixed offset of one hour and convert to UTC at once.",
        },
    ),
    "sqlite-lock": (
        "gotcha",
        {
            "gotcha": "SQLite on the network share reports 'database is locked' although nobody writes.",
            "trigger": "The home folder lies on NFS.",
            "solution": "Move the file to a local disk.",
        },
    ),
    "celery": (
        "gotcha",
        {
            "gotcha": "A retried Celery task runs twice when it takes longer than the visibility timeout.",
            "trigger": "Nightly exports of more than an hour.",
            "solution": "Raise visibility_timeout above the longest task.",
        },
    ),
    "leap": (
        "gotcha",
        {
            "gotcha": "The AIS decoder gives 181 degrees for 'unknown', which the map draws in the Pacific.",
            "solution": "Drop positions beyond 180 degrees before they are stored.",
        },
    ),
    "npm": (
        "gotcha",
        {
            "gotcha": "npm install rewrites package-lock.json when the registry answers slowly.",
            "solution": "Use npm ci in scripts.",
        },
    ),
    "enum": (
        "gotcha",
        {
            "gotcha": "Alembic does not notice new members of a PostgreSQL enum.",
            "trigger": "Adding a berth category.",
            "solution": "Write ALTER TYPE by hand, outside the transaction.",
        },
    ),
    "decimal": (
        "gotcha",
        {
            "gotcha": "JSON turns a Decimal fee into a float and loses the last cent.",
            "solution": "Send amounts as whole cents.",
        },
    ),
    "search-done": (
        "task_outcome",
        {
            "task": "Add full-text search over the harbour log",
            "success": True,
            "outcome": "tsvector column with a GIN index; 30 ms for two million entries.",
            "metadata": {"duration": "3 h", "attempts": 1},
        },
    ),
    "offline-failed": (
        "task_outcome",
        {
            "task": "Make the pilot app work without a connection",
            "success": False,
            "outcome": "The service worker cached the login page too; rolled back.",
        },
    ),
    "csv": (
        "task_outcome",
        {
            "task": "Export invoices as CSV for the accountant",
            "success": True,
            "outcome": "Semicolons and a byte order mark, or Excel garbles the umlauts.",
        },
    ),
    "graphql-failed": (
        "task_outcome",
        {
            "task": "Replace the REST interface by GraphQL",
            "success": False,
            "outcome": "N+1 queries made the mobile client four times slower; abandoned.",
        },
    ),
    "dark": (
        "task_outcome",
        {
            "task": "Dark theme for the control room",
            "success": True,
            "outcome": "CSS variables; no component changed.",
        },
    ),
    "rate": (
        "task_outcome",
        {
            "task": "Limit requests per partner to the position feed",
            "success": True,
            "outcome": "Token bucket in Redis, 60 a minute, answers 429 with Retry-After.",
        },
    ),
    "pool-exhausted": (
        "root_cause",
        {
            "error": "Departures time out every day shortly after lunch.",
            "cause": "The importer opens a cursor for each vessel and never closes it, so the pool runs dry.",
            "fix": "Close the cursor with a context manager.",
            "files": ["src/importer/vessels.py"],
        },
    ),
    "memory-leak": (
        "root_cause",
        {
            "error": "The worker's memory grows by 200 MB a day until it is killed.",
            "cause": "A debug handler keeps every log record in a list.",
            "fix": "Remove the handler in production.",
            "files": ["src/logging_setup.py"],
        },
    ),
    "wrong-fee": (
        "root_cause",
        {
            "error": "Catamarans were billed as if they had one hull.",
            "cause": "The surcharge looked up the type in lower case while the table has capitals.",
            "fix": "Compare case-folded.",
            "files": ["src/billing/invoice.py"],
        },
    ),
    "deadlock": (
        "root_cause",
        {
            "error": "Deadlock detected when two lock-keepers open a lock at once.",
            "cause": "The two transactions take the rows of gate and basin in opposite order.",
            "fix": "Always lock the basin first.",
        },
    ),
    "tls": (
        "root_cause",
        {
            "error": "The feed of the coast guard stopped with CERTIFICATE_VERIFY_FAILED.",
            "cause": "The image carried an outdated bundle of certificate authorities.",
            "fix": "Install ca-certificates in the final stage.",
            "files": ["Dockerfile"],
        },
    ),
    "knots": (
        "user_correction",
        {
            "right": "Speeds are in knots everywhere, never in km/h.",
            "said": "The label showed kilometres per hour.",
            "rule": "Convert at the edge and name variables speed_knots.",
        },
    ),
    "commits": (
        "user_correction",
        {
            "right": "Commit messages are in the imperative, without a prefix such as feat: or fix:.",
            "said": "The commit began with 'feat:'.",
        },
    ),
    "no-mocks": (
        "user_correction",
        {
            "right": "Do not mock the database in tests; use the throw-away PostgreSQL.",
            "said": "The test patched Session.execute.",
            "rule": "Integration tests run against the real server.",
        },
    ),
    "deploy-friday": (
        "user_correction",
        {
            "right": "No deployment on Fridays or before a bank holiday.",
            "said": "Proposed to release on Friday afternoon.",
        },
    ),
    "names": (
        "user_correction",
        {
            "right": "It is called a berth; 'slot' and 'parking space' are wrong.",
            "rule": "Use berth in code, texts and documentation.",
        },
    ),
    "pnpm": (
        "user_correction",
        {
            "right": "This project uses pnpm.",
            "said": "Ran npm install in the frontend folder.",
            "rule": "Call pnpm for everything in frontend/.",
        },
    ),
}

QUESTIONS = {
    "what did we learn when we cached the tides": "tide-cache",
    "what went wrong with storing login tokens in the browser": "auth",
    "how was the big table migrated without filling the log": "migration",
    "how did the image get smaller": "docker",
    "why were tests failing at random": "flaky",
    "which file manages database connections": "path-pool",
    "where is the departures screen rendered": "path-board",
    "what parses the tables of the hydrographic office": "path-tides",
    "where are berth fees calculated": "path-billing",
    "which module retries background jobs": "path-queue",
    "where are ship radio messages decoded": "path-ais",
    "how should an endpoint talk to the database": "repository",
    "how do we report errors that users cause": "result",
    "how should test data be created": "factory",
    "how do we roll out something dangerous": "flags",
    "what to do about duplicate webhook deliveries": "idempotent",
    "component state in the frontend": "hooks",
    "are tide times given in daylight saving time": "timezone",
    "database is locked on a shared drive": "sqlite-lock",
    "nightly export ran two times": "celery",
    "ships appear in the Pacific on the map": "leap",
    "adding a value to a PostgreSQL enum with Alembic": "enum",
    "rounding errors in prices sent to the client": "decimal",
    "has anybody tried an offline mode before": "offline-failed",
    "did we ever try GraphQL": "graphql-failed",
    "spreadsheet export with broken umlauts": "csv",
    "throttling a partner's API calls": "rate",
    "searching the log of the harbour": "search-done",
    "requests hang after lunch": "pool-exhausted",
    "process is killed because it uses more and more RAM": "memory-leak",
    "two transactions wait for each other at the lock gates": "deadlock",
    "SSL verification error from the coast guard": "tls",
    "multihull boats paid the wrong price": "wrong-fee",
    "which unit of speed does the user want": "knots",
    "how should commit messages be written": "commits",
    "may I mock the database in a test": "no-mocks",
    "can we release at the end of the week": "deploy-friday",
    "npm or pnpm": "pnpm",
}

UNRELATED = (
    "best recipe for sourdough bread",
    "who won the football world cup in 1974",
    "how do I prune an apple tree",
    "symptoms of vitamin D deficiency",
    "who painted the ceiling of the Sistine Chapel",
    "cheap flights to Lisbon in October",
    "how many moons does Jupiter have",
    "train a puppy not to bite",
    "plot of the second act of Hamlet",
    "what is the boiling point of ethanol",
)
