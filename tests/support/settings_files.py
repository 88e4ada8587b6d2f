"""Settings of assistants as people keep them: in ten styles, with what others have put there."""

CLAUDE_LARGE = """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "cleanupPeriodDays": 99999,
  "env": {
    "DISABLE_TELEMETRY": "1",
    "BASH_DEFAULT_TIMEOUT_MS": "300000",
    "OTEL_RESOURCE_ATTRIBUTES": "team=platform,cost_center=42"
  },
  "permissions": {
    "allow": [
      "Bash(git status:*)",
      "Bash(git diff:*)",
      "Bash(pnpm run test:*)",
      "Bash(rg:*)",
      "WebFetch(domain:docs.python.org)",
      "Read(~/notes/**)",
      "mcp__linear__get_issue"
    ],
    "deny": ["Read(./.env)", "Read(./secrets/**)", "Bash(curl:*)"],
    "additionalDirectories": ["../shared"],
    "defaultMode": "acceptEdits"
  },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {
            "type": "command",
            "command": "\\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/guard.sh",
            "timeout": 10
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "terminal-notifier -message 'done' -title \\"Claude\\"" }
        ]
      }
    ],
    "Notification": [{ "matcher": "", "hooks": [{ "type": "command", "command": "afplay ping.aiff" }] }]
  },
  "statusLine": {
    "type": "command",
    "command": "~/.claude/statusline.sh",
    "padding": 0
  },
  "enabledPlugins": {
    "review@team-tools": true
  },
  "model": "opus"
}
"""

CLAUDE_TABS = (
    '{\n\t"model": "sonnet",\n\t"permissions": {\n'
    '\t\t"allow": [\n\t\t\t"Bash(make:*)"\n\t\t],\n\t\t"deny": []\n\t},\n'
    '\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{\n\t\t\t\t"matcher": "startup",\n\t\t\t\t"hooks": [\n'
    '\t\t\t\t\t{\n\t\t\t\t\t\t"type": "command",\n\t\t\t\t\t\t"command": "date +%F"\n\t\t\t\t\t}\n\t\t\t\t]\n'
    "\t\t\t}\n\t\t]\n\t}\n}"
)

CLAUDE_MINIFIED = (
    '{"permissions":{"allow":["Bash(ls:*)"],"deny":[]},"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command",'
    '"command":"cat ~/prompt-prefix.txt"}]}],"SessionEnd":[]},"model":"haiku"}'
)

CLAUDE_WINDOWS = (
    '\ufeff{\r\n    "includeCoAuthoredBy": false,\r\n    "outputStyle": "Knapp und höflich, bitte",\r\n'
    '    "permissions": {\r\n        "allow": [ "Bash(dotnet build:*)", "Bash(del:*)" ]\r\n    }\r\n}\r\n'
)

CLAUDE_COMMENTED = """// Settings of both laptops; the rest is in dotfiles/claude.
{
    /* ask me about everything that writes */
    "permissions": {
        "allow": ["Bash(git log:*)"], // read only
        "ask": ["Edit"],
    },
    "hooks": {
        // one day: a linter
        "PostToolUse": [
            { "matcher": "Write", "hooks": [{ "type": "command", "command": "ruff format -q" }] }, // quick
        ],
        "PreCompact": [
        ],
    }, // end of hooks
}

"""

CODEX_HOOKS = """{
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/notify-send codex", "timeout": 3}]}],
    "PreToolUse": [
      {
        "matcher": "^Bash$",
        "hooks": [{"type": "command", "command": "python3 ~/.codex/guard.py", "statusMessage": "looking"}]
      }
    ]
  }
}"""

CURSOR_HOOKS = """{
  "version": 1,
  "hooks": {
    "afterFileEdit": [
      { "command": "./hooks/format.sh" },
      { "command": "npx prettier --write" }
    ],
    "beforeShellExecution": [{ "command": "./hooks/audit.sh", "matcher": "rm" }]
  }
}
"""

CURSOR_WITHOUT_VERSION = '{ "hooks": { "stop": [ { "command": "say fertig" } ] } }\n'

GEMINI = """{
  "security": {"auth": {"selectedType": "oauth-personal"}},
  "ui": {
    "theme": "Ayu Light", // 日本語のコメント
    "hideTips": true
  },
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server-files", "/Users/zoë/Документы"]
    }
  },
  "hooks": {
    "AfterTool": [
      {
        "matcher": "write_file",
        "hooks": [
          {
            "name": "lint",
            "type": "command",
            "command": "$GEMINI_PROJECT_DIR/.gemini/lint.sh",
            "timeout": 30000
          }
        ]
      }
    ]
  },
  "hooksConfig": {"disabled": []}
}
"""

GEMINI_ALONE = '{\n  "general": {\n    "vimMode": true\n  }\n}\n'

SETTINGS: dict[str, tuple[str, bytes]] = {
    "a long one of Claude Code with hooks of others": ("claude-code", CLAUDE_LARGE.encode()),
    "tabs and no last line end": ("claude-code", CLAUDE_TABS.encode()),
    "all on one line": ("claude-code", CLAUDE_MINIFIED.encode()),
    "from Windows, with a byte order mark": ("claude-code", CLAUDE_WINDOWS.encode()),
    "comments and commas at the end": ("claude-code", CLAUDE_COMMENTED.encode()),
    "hooks of Codex": ("codex", CODEX_HOOKS.encode()),
    "hooks of Cursor": ("cursor", CURSOR_HOOKS.encode()),
    "hooks of Cursor without a version": ("cursor", CURSOR_WITHOUT_VERSION.encode()),
    "Gemini in many scripts": ("gemini", GEMINI.encode()),
    "Gemini without any hook": ("gemini", GEMINI_ALONE.encode()),
    "an empty object": ("claude-code", b"{}\n"),
    "an empty object over two lines": ("claude-code", b"{\n\n}"),
    "an empty file": ("claude-code", b""),
    "only white space": ("gemini", b"\n  \n"),
}

CODEX_CONFIGS: dict[str, bytes] = {
    "none": b"",
    "no features": b'# mine\nmodel = "gpt-5"\n\n[projects."/home/zo\xc3\xab/x"]\ntrust_level = "trusted"',
    "features with others": b'model = "x"\r\n[features]   # beta\r\nweb_search = true\r\n\r\n[tui]\r\n',
    "features last": b"[features]\nmulti_agent = true",
    "dotted": b"features.web_search = true\n",
    "on already": b"[features]\nhooks = true # yes\n",
    "on by the old name": b"[features]\ncodex_hooks = true\n",
    "off": b"[features]\nhooks = false\n",
}
