"""The tables of the catalog in SQLite, as steps from version to version."""

from ragmem.errors import StoreDamagedError
from ragmem.storage.fulltext.lexicon import build, index_other_languages
from ragmem.storage.memories import edits
from ragmem.storage.names.names import shorten_types
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import Migration, Schema, statements_of
from ragmem.storage.sql.rows import place_headings

APPLICATION_ID = 0x7261676D
"""Marks the file as ours in its header, for `file` and for whoever finds it: "ragm" in ASCII."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE memories (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  uri TEXT NOT NULL,
  project TEXT NOT NULL,
  spec TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  summary TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,
  category TEXT NOT NULL,
  tier TEXT NOT NULL,
  state TEXT NOT NULL,
  protected INTEGER NOT NULL DEFAULT 0,
  tags TEXT NOT NULL DEFAULT '[]',
  metadata TEXT NOT NULL DEFAULT '{}',
  content_hash TEXT NOT NULL,
  recalls INTEGER NOT NULL DEFAULT 0,
  event_at INTEGER NOT NULL,   -- microseconds since 1970, UTC
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX memories_by_source ON memories (source, uri);
CREATE INDEX memories_by_project ON memories (project, event_at);
CREATE INDEX memories_by_hash ON memories (content_hash);
CREATE INDEX memories_by_state ON memories (state);

CREATE TABLE chunks (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  heading TEXT NOT NULL,
  begin_at INTEGER NOT NULL,   -- characters into the indexed text
  end_at INTEGER NOT NULL
);
CREATE INDEX chunks_by_memory ON chunks (memory, position);

-- rowid = chunks.n; the text is kept here once more, because FTS5 needs it to delete a row.
CREATE VIRTUAL TABLE chunks_text USING fts5 (
  title, heading, text, tags, tokenize = "porter unicode61 remove_diacritics 2"
);

-- What seed saw of each file, so that an unchanged one is not even opened again.
CREATE TABLE files (
  source TEXT NOT NULL,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  rules TEXT NOT NULL,         -- hash of the source's settings and of the classifier's version
  tally TEXT NOT NULL,         -- JSON: memories of each tier
  PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  root TEXT NOT NULL,
  root_commit TEXT NOT NULL DEFAULT '',
  remote TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX projects_by_commit ON projects (root_commit) WHERE root_commit <> '';
CREATE TABLE project_paths (path TEXT PRIMARY KEY, project TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE trash (
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  rule TEXT NOT NULL,
  memory TEXT NOT NULL,        -- JSON of the whole row
  trashed_at INTEGER NOT NULL,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;

CREATE TABLE log (
  n INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  operation TEXT NOT NULL,
  detail TEXT NOT NULL         -- JSON
);
"""

# What the models did. Everything here but `usage` can be made again.
MODELS = """
-- Requests to providers by day (UTC, 2026-11-22); cost in the currency of the configured prices.
CREATE TABLE IF NOT EXISTS usage (
  day TEXT NOT NULL,
  backend TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  calls INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  invalid INTEGER NOT NULL DEFAULT 0,
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  milliseconds INTEGER NOT NULL DEFAULT 0,
  cost FLOAT NOT NULL DEFAULT 0,
  PRIMARY KEY (day, backend, model, purpose)
) WITHOUT ROWID;

-- Files of counted requests that are in `usage` already: a kill between commit and removal counts none twice.
CREATE TABLE IF NOT EXISTS usage_files (name TEXT PRIMARY KEY, absorbed_at INTEGER NOT NULL) WITHOUT ROWID;

-- What a language model found in a text: paid for once. An invalid answer is kept as such, with the reason.
CREATE TABLE IF NOT EXISTS extractions (
  text_hash TEXT NOT NULL,     -- of what the model was shown
  model TEXT NOT NULL,         -- with the version of the prompt
  valid INTEGER NOT NULL,
  data TEXT NOT NULL,          -- JSON
  made_at INTEGER NOT NULL,
  PRIMARY KEY (text_hash, model)
) WITHOUT ROWID;
"""

# The index of full text, which takes the place of FTS5's.
_LEXICON = """
-- Some memories with their postings: those whose versions follow the segment before, up to `last`.
CREATE TABLE lexicon_segments (
  last INTEGER PRIMARY KEY,
  token INTEGER NOT NULL,      -- random; stands in the segment's blocks too
  chunks INTEGER NOT NULL,
  dead_chunks INTEGER NOT NULL,
  block INTEGER NOT NULL,      -- its header; the blocks with its postings follow
  blocks INTEGER NOT NULL,
  dead BLOB NOT NULL           -- a bit for each memory; empty: none is gone
);
CREATE TABLE lexicon_blocks (n INTEGER PRIMARY KEY, data BLOB NOT NULL);

-- Which version of a memory is in the index, and how many chunks of it.
CREATE TABLE lexicon_memories (
  memory INTEGER PRIMARY KEY,  -- memories.n
  version INTEGER NOT NULL,
  chunks INTEGER NOT NULL
);
DROP TABLE IF EXISTS chunks_text;
"""

_EDITS = """
-- Which files a memory tells of having edited: what `files` in its metadata says.
CREATE TABLE edited_files (
  name TEXT NOT NULL,          -- without the folders
  path TEXT NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  edits INTEGER NOT NULL,
  PRIMARY KEY (name, path, memory)
) WITHOUT ROWID;
CREATE INDEX edited_files_by_memory ON edited_files (memory);
"""

# Code as a graph. All of it can be made again from the files on disk.
CODE = """
CREATE TABLE IF NOT EXISTS code_roots (
  n INTEGER PRIMARY KEY,
  project TEXT NOT NULL UNIQUE,
  root TEXT NOT NULL,          -- the folder that was read last
  head TEXT NOT NULL,          -- the commit up to which renames are known; empty without git
  rules TEXT NOT NULL,         -- version of the parsers and of the linking
  run TEXT NOT NULL,           -- random; who wrote last
  complete INTEGER NOT NULL    -- 0 while a run writes, and after one that was killed
);
CREATE TABLE IF NOT EXISTS code_files (
  n INTEGER PRIMARY KEY,
  root INTEGER NOT NULL REFERENCES code_roots (n) ON DELETE CASCADE,
  path TEXT NOT NULL,          -- relative to the root
  name TEXT NOT NULL,          -- without the folders
  language TEXT NOT NULL,
  module TEXT NOT NULL,
  purpose TEXT NOT NULL,
  problem TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  links TEXT NOT NULL,         -- hash of the file's edges
  UNIQUE (root, path)
);
CREATE INDEX IF NOT EXISTS code_files_by_name ON code_files (root, name);
-- Beside the files, so that a list of these reads none of it.
CREATE TABLE IF NOT EXISTS code_facts (
  file INTEGER PRIMARY KEY REFERENCES code_files (n) ON DELETE CASCADE,
  data BLOB NOT NULL           -- JSON, deflated
);
CREATE TABLE IF NOT EXISTS code_symbols (
  n INTEGER PRIMARY KEY,
  file INTEGER NOT NULL REFERENCES code_files (n) ON DELETE CASCADE,
  root INTEGER NOT NULL,
  qualified TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  doc TEXT NOT NULL,
  is_test INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS code_symbols_by_file ON code_symbols (file);
CREATE INDEX IF NOT EXISTS code_symbols_by_qualified ON code_symbols (root, qualified);
CREATE INDEX IF NOT EXISTS code_symbols_by_name ON code_symbols (root, name, qualified);
CREATE TABLE IF NOT EXISTS code_edges (
  n INTEGER PRIMARY KEY,
  file INTEGER NOT NULL REFERENCES code_files (n) ON DELETE CASCADE,
  root INTEGER NOT NULL,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  line INTEGER NOT NULL,
  internal INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS code_edges_by_file ON code_edges (file);
CREATE INDEX IF NOT EXISTS code_edges_by_source ON code_edges (root, source);
CREATE INDEX IF NOT EXISTS code_edges_by_target ON code_edges (root, target);
-- From what git tells, or two files of one content; kept when the files have gone.
CREATE TABLE IF NOT EXISTS code_renames (
  root INTEGER NOT NULL REFERENCES code_roots (n) ON DELETE CASCADE,
  old TEXT NOT NULL,
  new TEXT NOT NULL,
  revision TEXT NOT NULL,      -- the commit; empty for a rename that git does not know
  renamed_at INTEGER NOT NULL,
  PRIMARY KEY (root, old, new)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS code_renames_by_new ON code_renames (root, new);
"""

CODE_WORDS = """
-- What ranks code for a question: arrays of numbers, no text; see domain.code.words.
CREATE TABLE IF NOT EXISTS code_words (
  file INTEGER PRIMARY KEY REFERENCES code_files (n) ON DELETE CASCADE,
  data BLOB NOT NULL
);
"""

# Which names mean one thing. What people set apart is kept; the rest can be learnt again.
NAMES = """
-- A name in a project, and the name of its node. late: memories up to this one are in the store under it.
CREATE TABLE IF NOT EXISTS entity_names (
  n INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  types TEXT NOT NULL,         -- all that it was seen with, sorted
  form TEXT NOT NULL,          -- what its spellings share; empty: it has only one
  head TEXT NOT NULL,          -- the spelling that stands for it
  canonical TEXT NOT NULL,
  rule TEXT NOT NULL,          -- why it is not its own node; empty: it is
  made_at INTEGER NOT NULL,
  late INTEGER,
  UNIQUE (project, name)
);
CREATE INDEX IF NOT EXISTS entity_names_by_form ON entity_names (project, form);
CREATE INDEX IF NOT EXISTS entity_names_by_node ON entity_names (project, canonical) WHERE canonical <> name;
CREATE INDEX IF NOT EXISTS entity_names_late ON entity_names (n) WHERE late IS NOT NULL;

CREATE TABLE IF NOT EXISTS entity_mentions (
  name INTEGER NOT NULL REFERENCES entity_names (n) ON DELETE CASCADE,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  PRIMARY KEY (name, memory)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entity_mentions_by_memory ON entity_mentions (memory);

-- Which memories state that two names are one.
CREATE TABLE IF NOT EXISTS entity_aliases (
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  project TEXT NOT NULL,
  short TEXT NOT NULL,
  long TEXT NOT NULL,
  short_form TEXT NOT NULL,
  long_form TEXT NOT NULL,
  rule TEXT NOT NULL,
  PRIMARY KEY (memory, short, long)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entity_aliases_by_short ON entity_aliases (project, short_form, long_form, rule);
CREATE INDEX IF NOT EXISTS entity_aliases_by_long ON entity_aliases (project, long_form, short_form, rule);

-- Names that are not another's by this rule, because somebody said so.
CREATE TABLE IF NOT EXISTS entity_apart (
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  rule TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  PRIMARY KEY (project, name, rule)
) WITHOUT ROWID;
"""

# Each name once. spelling, node: of `head` and `canonical`, where these are not the name itself.
NAMES_ONCE = """
DROP INDEX IF EXISTS entity_names_by_node;
DROP INDEX IF EXISTS entity_names_by_form;
ALTER TABLE entity_names ADD COLUMN spelling TEXT;
ALTER TABLE entity_names ADD COLUMN node TEXT;
UPDATE entity_names SET spelling = nullif(head, name), node = nullif(canonical, name)
  WHERE head <> name OR canonical <> name;
ALTER TABLE entity_names DROP COLUMN head;
ALTER TABLE entity_names DROP COLUMN canonical;
ALTER TABLE entity_names ADD COLUMN head TEXT GENERATED ALWAYS AS (coalesce(spelling, name)) VIRTUAL;
ALTER TABLE entity_names ADD COLUMN canonical TEXT GENERATED ALWAYS AS (coalesce(node, name)) VIRTUAL;
CREATE INDEX entity_names_by_form ON entity_names (project, form) WHERE form <> '';
CREATE INDEX entity_names_by_node ON entity_names (project, canonical) WHERE canonical <> name;
"""

# Only merges have a moment, and a 0 takes no space. made_at: when a name was merged, or set apart again.
MOMENTS_OF_MERGES = """
UPDATE entity_names SET made_at = 0 WHERE rule = '' AND node IS NULL AND spelling IS NULL;
"""

CLEAN_HASHES = """
ALTER TABLE memories ADD COLUMN clean_hash INTEGER NOT NULL DEFAULT 0;  -- Redactor.clean_hash; 0: not known
"""

# By place, where a memory's chunks are read; nothing refers to their numbers.
CHUNKS_BY_PLACE = """
CREATE TABLE chunks_anew (
  id TEXT NOT NULL UNIQUE,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  heading TEXT NOT NULL,       -- places in the text (storage/sql/rows.py), or the heading itself
  begin_at INTEGER NOT NULL,   -- characters into the indexed text
  end_at INTEGER NOT NULL,
  PRIMARY KEY (memory, position)
) WITHOUT ROWID;
INSERT INTO chunks_anew (id, memory, position, heading, begin_at, end_at)
  SELECT id, memory, position, heading, begin_at, end_at FROM chunks ORDER BY memory, position;
DROP TABLE chunks;
ALTER TABLE chunks_anew RENAME TO chunks;
"""

# Found by the name or form alone, because few projects have the same; a write makes sure that each is there
# once. Mentions wait in a table that refers to none: they would go with the names.
NAMES_OF_ALL_PROJECTS = """
CREATE TABLE entity_names_anew (
  n INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  types TEXT NOT NULL,         -- all that it was seen with, as letters (domain/entities/type_letters.py)
  form TEXT NOT NULL,
  rule TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  late INTEGER,
  spelling TEXT,
  node TEXT,
  head TEXT GENERATED ALWAYS AS (coalesce(spelling, name)) VIRTUAL,
  canonical TEXT GENERATED ALWAYS AS (coalesce(node, name)) VIRTUAL
);
INSERT INTO entity_names_anew (n, project, name, types, form, rule, made_at, late, spelling, node)
  SELECT n, project, name, types, form, rule, made_at, late, spelling, node FROM entity_names ORDER BY n;
CREATE TABLE entity_mentions_before AS SELECT name, memory FROM entity_mentions ORDER BY name, memory;
DROP TABLE entity_mentions;
DROP TABLE entity_names;
ALTER TABLE entity_names_anew RENAME TO entity_names;
CREATE TABLE entity_mentions (
  name INTEGER NOT NULL REFERENCES entity_names (n) ON DELETE CASCADE,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  PRIMARY KEY (name, memory)
) WITHOUT ROWID;
INSERT INTO entity_mentions (name, memory) SELECT name, memory FROM entity_mentions_before;
DROP TABLE entity_mentions_before;
CREATE INDEX entity_mentions_by_memory ON entity_mentions (memory);
CREATE INDEX entity_names_by_name ON entity_names (name);
CREATE INDEX entity_names_by_form ON entity_names (form) WHERE form <> '';
CREATE INDEX entity_names_by_node ON entity_names (project, canonical) WHERE canonical <> name;
CREATE INDEX entity_names_late ON entity_names (n) WHERE late IS NOT NULL;
"""

# What the lifecycle knows. By id where it outlasts a memory's time in the archive, by number where it can be
# made again.
LIFECYCLE = """
ALTER TABLE trash RENAME TO archive;
ALTER TABLE archive RENAME COLUMN trashed_at TO archived_at;
-- Why it is there in words, and the id of the memory that took its place, if one did.
ALTER TABLE archive ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE archive ADD COLUMN successor TEXT NOT NULL DEFAULT '';
CREATE INDEX archive_by_id ON archive (id);

CREATE TABLE IF NOT EXISTS lives (
  id TEXT PRIMARY KEY,         -- of a memory
  life TEXT NOT NULL DEFAULT '',
  pinned INTEGER NOT NULL DEFAULT 0,
  reprieves INTEGER NOT NULL DEFAULT 0,
  checked_age INTEGER NOT NULL DEFAULT 0,  -- newer memories there were at the last reprieve
  feedback INTEGER NOT NULL DEFAULT 0,     -- good less bad
  reason TEXT NOT NULL DEFAULT '',
  changed_at INTEGER NOT NULL
) WITHOUT ROWID;

-- In which sessions a memory was recalled above the floor.
CREATE TABLE IF NOT EXISTS recalled_in (
  id TEXT NOT NULL,            -- of a memory
  session TEXT NOT NULL,
  recalled_at INTEGER NOT NULL,
  PRIMARY KEY (id, session)
) WITHOUT ROWID;

-- Links between memories of one project; low < high.
CREATE TABLE IF NOT EXISTS connections (
  low INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  high INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  cosine FLOAT NOT NULL,
  shared FLOAT NOT NULL,       -- 0 to 1: names and rare words that both have
  strength FLOAT NOT NULL,
  PRIMARY KEY (low, high)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS connections_by_high ON connections (high);

-- Which memories were compared with all others of their project, and by which model's vectors.
CREATE TABLE IF NOT EXISTS compared (
  memory INTEGER PRIMARY KEY REFERENCES memories (n) ON DELETE CASCADE,
  content_hash TEXT NOT NULL,
  model TEXT NOT NULL
);

-- What a newer memory has made untrue.
CREATE TABLE IF NOT EXISTS supersessions (
  older TEXT PRIMARY KEY,      -- ids of memories
  newer TEXT NOT NULL,
  older_at INTEGER NOT NULL,
  newer_at INTEGER NOT NULL,
  rule TEXT NOT NULL,
  reason TEXT NOT NULL,
  made_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS supersessions_by_newer ON supersessions (newer);

-- From which memories a merged one was made.
CREATE TABLE IF NOT EXISTS merged_from (
  merged TEXT NOT NULL,        -- ids of memories
  original TEXT NOT NULL,
  run TEXT NOT NULL,
  PRIMARY KEY (merged, original)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS merged_from_by_original ON merged_from (original);

-- What each run of gc did.
CREATE TABLE IF NOT EXISTS gc_runs (
  run TEXT PRIMARY KEY,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,            -- empty while it runs, and after a kill
  undone_at INTEGER,
  caller TEXT NOT NULL,       -- who wanted it: gc, idle, forget
  archived INTEGER NOT NULL DEFAULT 0,  -- memories of it that lie in the archive
  counts TEXT NOT NULL         -- JSON: action and rule -> memories
) WITHOUT ROWID;

-- What a run of gc changed beside the archive, so that it can be taken back: lives, supersessions.
CREATE TABLE IF NOT EXISTS gc_changes (
  run TEXT NOT NULL,
  what TEXT NOT NULL,         -- life, superseded, made
  id TEXT NOT NULL,           -- of a memory
  before TEXT NOT NULL,       -- JSON; empty: there was nothing
  after TEXT NOT NULL,        -- JSON
  PRIMARY KEY (run, what, id)
) WITHOUT ROWID;

-- What is known of a running session of an assistant.
CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  topic TEXT NOT NULL,         -- JSON
  shown TEXT NOT NULL,         -- JSON: ids of the memories that it was given
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;
"""

# What sessions of assistants leave, and what they are given.
CONTINUITY = """
-- How far each transcript was read.
CREATE TABLE IF NOT EXISTS transcripts (
  path TEXT PRIMARY KEY,
  assistant TEXT NOT NULL,     -- claude, codex, gemini, cursor
  session TEXT NOT NULL,
  project TEXT NOT NULL,
  head TEXT NOT NULL,          -- hash of how the file begins: another one of this name is read anew
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  position INTEGER NOT NULL,   -- bytes that were read, up to the end of a line
  exchanges INTEGER NOT NULL,
  carried TEXT NOT NULL,       -- JSON: what the reader needs to go on from there
  rules TEXT NOT NULL,         -- hash of what decides how it is read
  read_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS transcripts_by_session ON transcripts (session);

-- What was injected into which session, when and why.
CREATE TABLE IF NOT EXISTS injections (
  n INTEGER PRIMARY KEY,
  injected_at INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,         -- within the session; empty: the session itself
  assistant TEXT NOT NULL,
  event TEXT NOT NULL,         -- start, prompt, research
  project TEXT NOT NULL,
  memory TEXT NOT NULL,        -- id
  score FLOAT,                 -- of the ranking; empty: it was not searched for
  tokens INTEGER NOT NULL,
  question TEXT NOT NULL,      -- its beginning, without secrets
  reason TEXT NOT NULL,
  detail TEXT NOT NULL         -- JSON: place, terms, floor, what else was found
);
CREATE INDEX IF NOT EXISTS injections_by_time ON injections (injected_at);
CREATE INDEX IF NOT EXISTS injections_by_session ON injections (session, injected_at);
CREATE INDEX IF NOT EXISTS injections_by_memory ON injections (memory, injected_at);

-- Where an assistant broke a rule, until its session was told of it and some time after.
CREATE TABLE IF NOT EXISTS violations (
  n INTEGER PRIMARY KEY,
  found_at INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  assistant TEXT NOT NULL,
  project TEXT NOT NULL,
  rule TEXT NOT NULL,          -- its name
  statement TEXT NOT NULL,     -- what it demands
  excerpt TEXT NOT NULL,       -- what broke it, without secrets
  told_at INTEGER,
  UNIQUE (session, rule, excerpt)
);
CREATE INDEX IF NOT EXISTS violations_untold ON violations (session) WHERE told_at IS NULL;
"""

# By what a project is known: its first commits, the remotes and folders that were seen, its former ids.
PROJECTS = """
ALTER TABLE projects ADD COLUMN named INTEGER NOT NULL DEFAULT 0;  -- 1: a person gave it
-- What was seen at a path: its first commit, its remote, and a stamp that tells when to look again.
ALTER TABLE project_paths ADD COLUMN root_commit TEXT NOT NULL DEFAULT '';
ALTER TABLE project_paths ADD COLUMN remote TEXT NOT NULL DEFAULT '';
ALTER TABLE project_paths ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
UPDATE project_paths SET
  root_commit = coalesce((SELECT p.root_commit FROM projects p WHERE p.id = project_paths.project), ''),
  remote = coalesce((SELECT p.remote FROM projects p WHERE p.id = project_paths.project), '');

-- Whose first commit it is; of several projects that have it, the one that was founded first.
CREATE TABLE IF NOT EXISTS project_commits (
  root_commit TEXT PRIMARY KEY,
  project TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO project_commits (root_commit, project)
  SELECT p.root_commit, p.id FROM projects p WHERE p.root_commit <> ''
  ORDER BY coalesce((SELECT min(m.created_at) FROM memories m WHERE m.project = p.id), 9000000000000000000),
    p.id
  ON CONFLICT (root_commit) DO NOTHING;

-- All remotes that a project was seen with. pinned: a person gave this one to the project.
CREATE TABLE IF NOT EXISTS project_remotes (
  remote TEXT NOT NULL,
  project TEXT NOT NULL,
  pinned INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (remote, project)
) WITHOUT ROWID;
INSERT INTO project_remotes (remote, project) SELECT p.remote, p.id FROM projects p WHERE p.remote <> ''
  ON CONFLICT (remote, project) DO NOTHING;

-- What a project was called before it was joined with another.
CREATE TABLE IF NOT EXISTS project_aliases (
  alias TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  detail TEXT NOT NULL  -- JSON: what led to it, so that it can be split off again
) WITHOUT ROWID;

-- Memories that were moved: the id that a text of the same place would get by itself now, the id that the
-- memory has, and its project before.
CREATE TABLE IF NOT EXISTS project_moves (
  place TEXT PRIMARY KEY,
  memory TEXT NOT NULL,
  former TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS project_moves_by_memory ON project_moves (memory);
"""

# What a person has to accept before it counts: memories, and drafts of skills.
APPROVAL = """
ALTER TABLE lives ADD COLUMN approval TEXT NOT NULL DEFAULT '';  -- '': none needed
CREATE INDEX IF NOT EXISTS lives_by_approval ON lives (approval) WHERE approval <> '';

CREATE TABLE IF NOT EXISTS skill_drafts (
  id TEXT PRIMARY KEY,         -- of its project and the shapes of its steps
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,       -- of SKILL.md
  sessions TEXT NOT NULL,      -- JSON: those it comes from
  approval TEXT NOT NULL,
  path TEXT NOT NULL DEFAULT '',  -- of the file that was written when it was accepted
  made_at INTEGER NOT NULL
) WITHOUT ROWID;
"""

# Records of a team, as members have shared them over git. They outlast the memories that are made of them.
SHARING = """
CREATE TABLE IF NOT EXISTS shared_records (
  n INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  id TEXT NOT NULL,            -- sha256 of its bytes as they came
  member TEXT NOT NULL,
  kind TEXT NOT NULL,          -- memory, withdrawal, supersession, opaque
  target TEXT NOT NULL,        -- the record that it withdraws, or says is replaced; empty for none
  memory TEXT NOT NULL,        -- id of the memory that it was made of or became; empty for none
  text_hash TEXT NOT NULL,     -- of the memory in it
  verdict TEXT NOT NULL,       -- verified, unsigned, unknown
  approval TEXT NOT NULL,      -- as that of memories
  withdrawn INTEGER NOT NULL DEFAULT 0,
  pushed INTEGER NOT NULL DEFAULT 0,  -- 1: it was seen on the remote
  seen_at INTEGER NOT NULL,
  body TEXT NOT NULL,          -- JSON, without what was removed from it on its way in, or since
  body_hash TEXT NOT NULL,     -- of the body as it was written; it differs once a scrub has changed it
  UNIQUE (project, id)
);
CREATE INDEX IF NOT EXISTS shared_records_by_member ON shared_records (project, member, kind);
CREATE INDEX IF NOT EXISTS shared_records_by_target ON shared_records (target) WHERE target <> '';
CREATE INDEX IF NOT EXISTS shared_records_by_memory ON shared_records (memory) WHERE memory <> '';

-- Which shared memory replaces which, by ids of records; statement: the record that says so.
CREATE TABLE IF NOT EXISTS shared_supersessions (
  project TEXT NOT NULL,
  older TEXT NOT NULL,
  newer TEXT NOT NULL,
  statement TEXT NOT NULL,
  PRIMARY KEY (project, older, newer, statement)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS shared_supersessions_by_newer ON shared_supersessions (project, newer);

CREATE TABLE IF NOT EXISTS share_members (
  project TEXT NOT NULL,
  member TEXT NOT NULL,
  keys TEXT NOT NULL,          -- JSON: the keys that count as theirs, the first one was seen first
  muted INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project, member)
) WITHOUT ROWID;

-- Up to which commit a member's history was taken in.
CREATE TABLE IF NOT EXISTS share_heads (
  project TEXT NOT NULL,
  member TEXT NOT NULL,
  head TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (project, member)
) WITHOUT ROWID;
"""

_OF_FIRST_RELEASE = frozenset({"meta", "memories", "chunks", "files", "projects", "log"})
"""Tables that a home without an application id must have to be known as one; they were never renamed."""

_OF_OTHER_COMPONENTS = ("sqlite_", "store_", "storage_", "fake_", "migrations")
"""Beginnings of the names of tables that may be there before the catalog's."""


def _read_version(database: Database, connection: Connection) -> int:
    """Return the file's version; raises StoreDamagedError when it is another program's."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        return int(version)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    ours = tables >= _OF_FIRST_RELEASE
    strangers = sorted(name for name in tables if not name.startswith(_OF_OTHER_COMPONENTS))
    if application or (not ours and (version or strangers)):
        named = ", ".join(strangers[:3]) or "none of ours"
        raise StoreDamagedError(
            f'the database "{database.place}" is not a ragmem database; its tables: {named}',
            hint="move the file aside, or set RAGMEM_HOME to the right folder",
        )
    return int(version)


def _write_version(connection: Connection, version: int) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")


CATALOG = Schema(
    "catalog",
    (
        Migration(1, "tables", statements_of(TABLES)),
        Migration(2, "mark the file", (f"PRAGMA application_id = {APPLICATION_ID}",), reads_without=True),
        Migration(3, "models", statements_of(MODELS), reads_without=True),
        Migration(4, "lexicon", statements_of(_LEXICON), build),
        Migration(5, "edits", statements_of(_EDITS), edits.build),
        Migration(6, "code", statements_of(CODE), reads_without=True),
        Migration(7, "names", statements_of(NAMES), reads_without=True),
        Migration(8, "lifecycle", statements_of(LIFECYCLE)),
        Migration(9, "continuity", statements_of(CONTINUITY), reads_without=True),
        Migration(10, "projects", statements_of(PROJECTS)),
        Migration(11, "approval", statements_of(APPROVAL)),
        Migration(12, "languages", (), index_other_languages, reads_without=True),
        Migration(13, "code words", statements_of(CODE_WORDS), reads_without=True),
        Migration(14, "names once", statements_of(NAMES_ONCE), reads_without=True),
        Migration(15, "sharing", statements_of(SHARING), reads_without=True),
        Migration(16, "postings as codes", (), build),
        Migration(17, "moments of merges", statements_of(MOMENTS_OF_MERGES), reads_without=True),
        Migration(
            18, "headings as places", statements_of(CHUNKS_BY_PLACE), place_headings, reads_without=True
        ),
        Migration(
            19, "types as letters", statements_of(NAMES_OF_ALL_PROJECTS), shorten_types, reads_without=True
        ),
        Migration(20, "clean hashes", statements_of(CLEAN_HASHES)),
    ),
    stamped=_read_version,
    stamp=_write_version,
)
"""The catalog in SQLite; PRAGMA user_version is its version."""
