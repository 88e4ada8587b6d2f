"""What the keys and tokens of services look like: a table of shapes that no other text has."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape: what stands in place of the secret, what it begins with, the pattern of the rest.

    What is not sure must also hold digits or capitals among its letters: sk-folding-cube is no key.
    """

    kind: str
    begins: tuple[str, ...]
    rest: str
    sure: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The whole shape; made when a text holds its beginning, since most texts hold none."""
        return _compiled(self.begins, self.rest)


@cache
def _compiled(begins: tuple[str, ...], rest: str) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, begins))}){rest}")


def _shape(kind: str, begins: str, rest: str, *, sure: bool = False) -> Shape:
    return Shape(kind, tuple(begins.split()), rest, sure)


_WEB = r"[A-Za-z0-9_-]"
"""The alphabet of base64 in addresses."""

_END = r"(?![A-Za-z0-9])"
_TAIL = rf"{_WEB}*+"
"""What else hangs on, so that nothing that follows comes to stand alone."""

# A part of a shape is possessive or of bounded length, so that each is linear on any text.
SHAPES = (
    _shape("Anthropic key", "sk-ant-", rf"{_WEB}{{20,}}+"),
    _shape("OpenRouter key", "sk-or-v1-", rf"[0-9a-f]{{32,}}+{_TAIL}"),
    _shape("OpenAI key", "sk-", rf"{_WEB}{{20,}}+"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}+"),
    _shape("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}+"),
    _shape(
        "GitLab token",
        "glpat- glrt- gldt- glptt- glcbt- glft- glsoat- glimt- glagent- gloas-",
        r"[A-Za-z0-9_.-]{20,}+",
    ),
    _shape("Slack token", "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}+"),
    _shape("Slack webhook", "https://hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,}+"),
    _shape(
        "Discord webhook",
        "https://discord.com/api/webhooks/ https://discordapp.com/api/webhooks/",
        rf"\d{{10,20}}/{_WEB}{{20,}}+",
    ),
    _shape("Discord token", "M N O", rf"{_WEB}{{22,27}}\.{_WEB}{{6}}\.{_WEB}{{27,}}+"),
    # The secret often stands right behind the id, and has no shape of its own.
    _shape(
        "AWS key",
        "AKIA ASIA ABIA ACCA",
        rf"[A-Z0-9]{{16}}{_END}(?:[\s,;:|\"']{{1,6}}[A-Za-z0-9/+]{{40}}{_END})?",
        sure=True,
    ),
    _shape("Google key", "AIza", rf"{_WEB}{{35,}}+"),
    _shape("Google token", "ya29.", r"[A-Za-z0-9_.-]{20,}+"),
    _shape("Google secret", "GOCSPX-", rf"{_WEB}{{20,}}+"),
    _shape("Google token", "1//0", rf"{_WEB}{{40,}}+"),
    _shape("JWT", "eyJ", rf"{_WEB}{{8,1024}}+\.eyJ{_WEB}{{8,}}+\.{_WEB}{{10,}}+"),
    _shape("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{16,}+"),
    _shape("Stripe key", "whsec_", r"[A-Za-z0-9+/=]{24,}+"),
    _shape("Twilio key", "SK", rf"[0-9a-f]{{32}}{_END}", sure=True),
    _shape("SendGrid key", "SG.", rf"{_WEB}{{16,32}}+\.{_WEB}{{30,64}}+"),
    _shape("npm token", "npm_", r"[A-Za-z0-9]{36,}+"),
    _shape("PyPI token", "pypi-", rf"{_WEB}{{40,}}+"),
    _shape("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}+"),
    _shape("Groq key", "gsk_", r"[A-Za-z0-9]{40,}+"),
    _shape("xAI key", "xai-", r"[A-Za-z0-9]{40,}+"),
    _shape("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,}+"),
    _shape("Replicate token", "r8_", r"[A-Za-z0-9]{30,}+"),
    _shape("NVIDIA key", "nvapi-", rf"{_WEB}{{40,}}+"),
    _shape("LangSmith key", "lsv2_pt_ lsv2_sk_", rf"[0-9a-f_]{{32,}}+{_TAIL}"),
    _shape("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", rf"[0-9a-f]{{40,}}+{_TAIL}"),
    _shape("Docker token", "dckr_pat_", rf"{_WEB}{{20,}}+"),
    _shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", rf"[0-9A-Fa-f]{{32,}}+{_TAIL}"),
    _shape("Square token", "sq0atp- sq0csp-", rf"{_WEB}{{22,}}+"),
    _shape("Mailgun key", "key-", rf"[0-9a-f]{{32}}{_END}"),
    _shape("Telegram token", ":AA", rf"(?<=\d{{8}}:AA){_WEB}{{32,}}+"),
    _shape("Databricks token", "dapi", rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    _shape("Vault token", "hvs. hvb. hvr.", rf"{_WEB}{{24,}}+"),
    _shape("Postman key", "PMAK-", rf"[0-9a-f]{{24}}-[0-9a-f]{{34}}{_TAIL}"),
    _shape("Notion token", "ntn_", r"[A-Za-z0-9]{40,}+"),
    _shape("Notion token", "secret_", rf"[A-Za-z0-9]{{43}}{_END}"),
    _shape("Figma token", "figd_", rf"{_WEB}{{36,}}+"),
    _shape("Linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}+"),
    _shape("Supabase key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{20,}+"),
    _shape("Sentry token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{40,}+"),
    _shape("Grafana token", "glsa_ glc_", r"[A-Za-z0-9+/=_]{32,}+"),
    _shape("Tailscale key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9-]{16,}+"),
    _shape("Atlassian token", "ATATT3", r"[A-Za-z0-9_=-]{40,}+"),
    _shape("RubyGems key", "rubygems_", rf"[0-9a-f]{{40,}}+{_TAIL}"),
    _shape("age key", "AGE-SECRET-KEY-1", rf"[A-Z0-9]{{50,}}+{_TAIL}", sure=True),
)
