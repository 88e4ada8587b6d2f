"""The formats of keys and tokens of known services."""

import re
from collections.abc import Iterator
from functools import cache

from ragmem.domain.secrets.values import Secret, has_mixed_characters, is_placeholder, is_random
from ragmem.domain.secrets.words import Names, letters, names_in, places, word_set
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

_WEB = r"[A-Za-z0-9_-]"
"""The alphabet of URL-safe base64."""

_END = r"(?![A-Za-z0-9])"
_TAIL = rf"{_WEB}*+"
"""Any further characters of the token, so that no part of it remains."""


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One format: its kind, its prefixes, and the pattern of the rest.

    Unless `sure`, a match must also contain digits or capitals among its letters: sk-folding-cube is not a
    key. Unless `wide`, it has RUN token characters in a row, including its prefix; `dotted`: a dot ends them.
    """

    kind: str
    begins: tuple[str, ...]
    rest: str
    sure: bool = False
    wide: bool = False
    dotted: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The whole pattern; compiled on demand, because most texts have none of its prefixes."""
        return _compile(self.begins, self.rest)


@cache
def _compile(begins: tuple[str, ...], rest: str) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(re.escape, begins))}){rest}{_TAIL}")


def _format(
    kind: str, begins: str, rest: str, *, sure: bool = False, wide: bool = False, dotted: bool = False
) -> TokenFormat:
    return TokenFormat(kind, tuple(begins.split()), rest, sure, wide, dotted)


def _hash(begins: str, rest: str) -> TokenFormat:
    return _format("password hash", begins, rest, sure=True, wide=True)


RUN = 16
"""Minimum characters in a row of every format that is not wide."""

# Every part is possessive or has a bounded length, so that each pattern is linear on any text.
TOKEN_FORMATS = (
    _format("Anthropic key", "sk-ant-", rf"{_WEB}{{20,}}+"),
    _format("Letta key", "sk-let-", r"[A-Za-z0-9+/=]{40,}+"),
    _format("OpenRouter key", "sk-or-v1-", r"[0-9a-f]{32,}+"),
    _format("OpenAI key", "sk-", rf"{_WEB}{{20,}}+"),
    # That of an app may have its id and a JWT.
    _format(
        "GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{1,12}(?:[A-Za-z0-9]{18,}+|_[\w.-]{60,}+)"
    ),
    _format("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}+"),
    _format(
        "GitLab token",
        "glpat- glrt- gldt- glptt- glcbt- glft- glsoat- glimt- glagent- gloas- GR1348941 glwt- glffct-",
        rf"(?={_WEB}{{14}})[A-Za-z0-9_.-]{{20,}}+",
    ),
    _format(
        "Slack token", "xox xapp-", r"(?:(?<=xox)[a-eoprs][-.]|(?<=xapp-))[A-Za-z0-9.%-]{8,}+", wide=True
    ),
    _format("Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/-]{20,}+", wide=True),
    _format("Teams webhook", ".webhook.office.com/webhookb2/", r"[\w@/-]{60,}+", wide=True),
    _format(
        "Zapier webhook", "hooks.zapier.com/hooks/", r"catch/\d{4,12}/[\w/-]{5,40}+", wide=True, sure=True
    ),
    _format("Make webhook", ".make.com/", r"(?<=hook\.\w\w\d\.make\.com/)[a-z0-9]{30,40}", wide=True),
    _format("Discord webhook", "/api/webhooks/", rf"\d{{10,20}}/{_WEB}{{20,}}+", wide=True),
    _format("Discord token", "M N O", rf"{_WEB}{{22,27}}\.{_WEB}{{6}}\.{_WEB}{{27,}}+", dotted=True),
    # The secret often follows the id directly, without a format of its own.
    _format(
        "AWS key",
        "AKIA ASIA ABIA ACCA",
        rf"[A-Z0-9]{{16}}{_END}(?:[\s,;:|\"']{{1,6}}[A-Za-z0-9/+]{{40}}{_END})?",
        sure=True,
    ),
    _format("AWS Bedrock key", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/=]{60,}+", wide=True),
    _format("Google key", "AIza", rf"{_WEB}{{35,}}+"),
    _format("Google key", "AQ.", rf"{_WEB}{{40,}}+", wide=True),
    _format("Google token", "ya29.", r"[A-Za-z0-9_.-]{20,}+", wide=True),
    # What a person pastes after a login in the browser.
    _format("Google code", "4/0A 4%2F0A", rf"{_WEB}{{40,}}+", wide=True),
    _format("Google secret", "GOCSPX-", rf"{_WEB}{{20,}}+"),
    _format("Google token", "1//0", rf"{_WEB}{{40,}}+", wide=True),
    _format("JWT", "eyJ", rf"{_WEB}{{13,1024}}+\.eyJ{_WEB}{{8,}}+\.{_WEB}{{10,}}+", dotted=True),
    _format("Stripe key", "sk_org_live_ sk_org_test_", r"[A-Za-z0-9]{20,}+"),
    _format("Stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", r"[A-Za-z0-9]{10,}+"),
    _format("Stripe key", "whsec_", r"[A-Za-z0-9+/=]{24,}+", wide=True),
    _format("Twilio key", "SK", rf"[0-9a-fA-F]{{32}}{_END}", sure=True),
    _format(
        "Twilio key",
        "AC",
        rf"[0-9a-f]{{32}}(?:\\{{0,3}}[\"']?[,:/ ]{{1,3}}\\{{0,3}}[\"']?[0-9a-f]{{32}}){_END}",
        sure=True,
    ),
    _format("SendGrid key", "SG.", rf"{_WEB}{{16,32}}+\.{_WEB}{{30,64}}+", wide=True),
    _format("Brevo key", "xkeysib- xsmtpsib-", r"[0-9a-f]{40,}+"),
    _format("Mailchimp key", "-us", r"(?<=[0-9a-f]{32}-us)\d{1,2}(?![\w-])", wide=True, sure=True),
    _format("npm token", "npm_", r"[A-Za-z0-9]{36,}+"),
    _format("PyPI token", "pypi-", rf"{_WEB}{{40,}}+"),
    # Of a member of a team's server; longer ones are names in code.
    _format("ragmem token", "ragmem_", rf"{_WEB}{{43}}(?!{_WEB})"),
    _format("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}+"),
    _format("Groq key", "gsk_", r"[A-Za-z0-9]{40,}+"),
    _format("xAI key", "xai-", r"[A-Za-z0-9]{40,}+"),
    _format("Perplexity key", "pplx-", r"[A-Za-z0-9]{40,}+"),
    _format("Replicate token", "r8_", r"[A-Za-z0-9]{30,}+"),
    _format("NVIDIA key", "nvapi-", rf"{_WEB}{{40,}}+"),
    _format("LangSmith key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f_]{32,}+"),
    _format("Langfuse key", "sk-lf- pk-lf-", r"[0-9a-f-]{36}"),
    _format("Pinecone key", "pcsk_", r"[A-Za-z0-9_]{40,}+"),
    _format("Tavily key", "tvly-", rf"{_WEB}{{24,}}+"),
    _format("Voyage key", "pa-", rf"{_WEB}{{43}}{_END}"),
    _format("Firecrawl key", "fc-", rf"[0-9a-f]{{32}}{_END}"),
    _format("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{40,}+"),
    _format("Docker token", "dckr_pat_ dckr_oat_", rf"{_WEB}{{20,}}+"),
    _format("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9A-Fa-f]{32,}+"),
    _format("Square token", "sq0atp- sq0csp- sq0idb-", rf"{_WEB}{{22,}}+"),
    _format("Square token", "EAAA", rf"{_WEB}{{60}}{_END}"),
    _format("Meta token", "EAA", r"[A-Za-z0-9]{90,}+"),
    _format("PayPal token", "access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}", wide=True, sure=True),
    _format("Mailgun key", "key-", rf"[0-9a-f]{{32}}{_END}"),
    _format("Telegram token", ":AA", rf"(?<=\d{{8}}:AA){_WEB}{{32,}}+", wide=True),
    _format("Databricks token", "dapi dkea dose", rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    _format("Vault token", "hvs. hvb. hvr.", rf"{_WEB}{{24,}}+", wide=True),
    _format(
        "Vault token",
        "s.",
        rf"(?=[A-Za-z]*\d[A-Za-z]*\d)[A-Za-z0-9]{{24}}(?:\.[A-Za-z0-9]{{5}})?{_END}",
        wide=True,
    ),
    _format("Terraform token", ".atlasv1.", rf"(?<=[A-Za-z0-9]{{14}}.atlasv1.){_WEB}{{60,}}+", wide=True),
    _format("Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _format("Notion token", "ntn_", r"[A-Za-z0-9]{40,}+"),
    _format("Notion token", "secret_", rf"[A-Za-z0-9]{{43}}{_END}"),
    _format("Figma token", "figd_ figu_ figo_", rf"{_WEB}{{36,}}+"),
    _format("Linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}+"),
    _format("Supabase key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{20,}+"),
    _format("Sentry token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{40,}+", wide=True),
    _format("Grafana token", "glsa_ glc_", r"[A-Za-z0-9+/=_]{32,}+", wide=True),
    _format("Grafana key", "eyJrIjoi", r"[A-Za-z0-9+/=]{60,}+", wide=True),
    _format("Cloudflare tunnel token", "eyJhIjoi", r"[A-Za-z0-9+/=]{100,}+", wide=True),
    _format("Datadog key", "ddapp_ ddpat_ ddsat_", rf"{_WEB}{{30,}}+"),
    _format("New Relic key", "NRAK- NRJS- NRII- NRIQ- NRRA-", rf"{_WEB}{{16,}}+"),
    _format("Cloudflare token", "cfut_ cfat_ cfk_", rf"{_WEB}{{30,}}+"),
    _format("Cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{60,}+", wide=True),
    _format("Heroku key", "HRKU-", rf"{_WEB}{{30,}}+"),
    _format("Fly token", "fm1 fm2", r"[ar]?_[A-Za-z0-9+/=_]{40,}+", wide=True),
    _format("Fly token", "fo1_", rf"{_WEB}{{40,}}+"),
    _format("Render key", "rnd_", r"[A-Za-z0-9]{28,}+"),
    _format("Netlify token", "nfp_ nfc_ nfo_", r"[A-Za-z0-9]{30,}+"),
    _format("Vercel token", "vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9]{24,}+"),
    _format("PlanetScale token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,}+", wide=True),
    _format("Neon key", "napi_", r"[a-z0-9]{60,}+"),
    _format("Doppler token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}+", wide=True),
    _format("Pulumi token", "pul-", r"[0-9a-f]{40}"),
    _format("Okta token", "SSWS", rf" {_WEB}{{40,}}+", wide=True),
    _format("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{60,}+"),
    _format("Asana token", "/1", r"\d{15}:[0-9a-f]{32}", wide=True),
    _format("Tailscale key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9-]{16,}+"),
    _format("Atlassian token", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{24,}+"),
    _format("Azure DevOps token", "AZDO", r"(?<=[A-Za-z0-9]{20}AZDO)[A-Za-z0-9]{4,}+", wide=True, sure=True),
    _format("Azure secret", "Q~", r"(?<=[\w.~-]{3}\dQ~)[\w.~-]{31,}+", wide=True),
    _format("RubyGems key", "rubygems_", r"[0-9a-f]{40,}+"),
    _format("Clojars token", "CLOJARS_", r"[a-z0-9]{60}"),
    _format("crates.io token", "cio", rf"[A-Za-z0-9]{{32}}{_END}"),
    _format("1Password token", "ops_eyJ", r"[A-Za-z0-9+/=_-]{60,}+", wide=True),
    _format("EasyPost key", "EZAK EZTK", r"[A-Za-z0-9]{54,}+"),
    _format("Flutterwave key", "FLWSECK- FLWSECK_TEST-", rf"{_WEB}{{12,}}+", sure=True),
    # The data keys of KMS begin with AQECAH.
    _format("Adyen key", "AQE", r"(?!CAH)[A-Za-z0-9+/=<>{}()&\"']{80,200}+", wide=True),
    # Base64 of the first line: OPENSSH, RSA, DSA, EC, ENCRYPTED, or nothing before PRIVATE
    _format(
        "private key",
        "LS0tLS1CRUdJTiB",
        r"(?:PUEVOU1NI|SU0Eg|EU0Eg|FQyBQ|FTkNSWVBU|QUklWQVRF)[A-Za-z0-9+/=]{40,}+",
        sure=True,
    ),
    _format("kubeadm token", "--token", r"[ =][a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9])", wide=True),
    _format("age key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", r"[A-Z0-9-]{40,}+", sure=True),
    _format(
        "1Password key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
        sure=True,
    ),
    _format("AWS key", "A3T", rf"[A-Z0-9]{{17}}{_END}"),
    _format("AWS token", "amzn.mws. amzn1.oa2-cs.v1.", r"[0-9a-f-]{36,}+", wide=True),
    _format("Adobe key", "p8e-", r"[A-Za-z0-9]{32}"),
    _format("Alibaba key", "LTAI", rf"[A-Za-z0-9]{{12,24}}{_END}"),
    _format("Tencent key", "AKID", rf"[A-Za-z0-9]{{32}}{_END}"),
    _format("Volcengine key", "AKLT", r"[A-Za-z0-9=]{40,}+"),
    _format("Artifactory key", "AKCp cmVmd", r"[A-Za-z0-9]{59,}+"),
    _format(
        "Authress key",
        "sc_ ext_ scauth_ authress_",
        r"[A-Za-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
        wide=True,
    ),
    _format("Bitbucket token", "BBDC-", r"[A-Za-z0-9+/@_-]{40,50}"),
    _format("Buildkite token", "bkua_", r"[0-9a-f]{40}"),
    _format("Cerebras key", "csk-", r"[a-z0-9]{40,}+"),
    _format("CircleCI token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    _format("ClickHouse key", "4b1d", rf"[A-Za-z0-9]{{38}}{_END}"),
    _format("Contentful token", "CFPAT-", rf"{_WEB}{{40,}}+"),
    _format(
        "DeepL key",
        ":fx",
        r"(?<=[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:fx)",
        wide=True,
        sure=True,
    ),
    _format("Defined token", "dnkey-", r"[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    _format("DingTalk key", "SEC", rf"[0-9a-f]{{64}}{_END}"),
    _format("Dropbox token", "sl.", rf"(?:u\.)?{_WEB}{{130,}}+", wide=True),
    _format("Duffel token", "duffel_test_ duffel_live_", r"[A-Za-z0-9_=-]{43}"),
    _format(
        "Dynatrace token",
        "dt0c01. dt0s01. dt0s02. dt0s08. dt0s16.",
        r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}",
        wide=True,
    ),
    _format("Facebook token", "|", r"(?<=[0-9]{15}\|)[A-Za-z0-9_-]{27,40}(?![\w-])", wide=True),
    _format("Fireworks key", "fw_", rf"[A-Za-z0-9]{{22,}}+{_END}"),
    _format("Flutterwave key", "FLWPUBK_TEST- FLWPUBK-", r"[A-Za-z0-9]{32}-X"),
    _format("Frame.io token", "fio-u-", r"[A-Za-z0-9_=-]{64}"),
    _format("Freemius key", "sk_", r"(?=[A-Za-z0-9_+/-]{0,40}\d)[A-Za-z0-9]{29,64}(?![\w-])"),
    _format("Harness token", "pat. sat.", rf"{_WEB}{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}", wide=True),
    _format("HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", r"[0-9a-fA-F-]{36}", sure=True),
    _format("Infracost token", "ico-", rf"[A-Za-z0-9]{{32}}{_END}"),
    _format("Intra42 secret", "s-s4t2ud- s-s4t2af-", r"[0-9a-f]{64}"),
    _format("Jina key", "jina_", rf"{_WEB}{{40,}}+"),
    _format("Lob key", "live_ test_", rf"[0-9a-f]{{35}}{_END}"),
    _format("MailerSend token", "mlsn.", r"[0-9a-f]{64}", wide=True),
    _format("Mailgun key", "pubkey-", rf"[0-9a-f]{{32}}{_END}"),
    _format("Mapbox token", "pk.eyJ sk.eyJ tk.eyJ", rf"{_WEB}{{30,}}+\.{_WEB}{{20,}}+", wide=True),
    _format("Mapbox token", "pk.", r"[a-z0-9]{60}\.[a-z0-9]{22}", wide=True),
    _format("MaxMind key", "_mmk", r"(?<=[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)", wide=True, sure=True),
    _format("MongoDB key", "mdb_sa_sk_", rf"{_WEB}{{30,}}+"),
    _format("Nostr key", "nsec1", r"[a-z0-9]{58}"),
    _format("NuGet key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    _format("Octopus key", "API-", rf"[A-Z0-9]{{26,32}}{_END}"),
    _format("OpenShift token", "sha256~", rf"{_WEB}{{43}}", wide=True),
    _format("Plaid token", "access-sandbox- access-development- access-production-", r"[0-9a-f-]{36}"),
    _format("PostHog key", "phx_", r"[A-Za-z0-9]{40,}+"),
    _format("Prefect key", "pnu_ pnb_", r"[A-Za-z0-9]{36}"),
    _format("PubNub key", "sec-c-", r"[A-Za-z0-9+/=-]{36,}+"),
    _format("ReadMe token", "rdme_", r"[a-z0-9]{70}"),
    _format("Resend key", "re_", r"(?=[A-Za-z0-9]{8}_)[A-Za-z0-9_]{30,}+"),
    _format("Scalingo token", "tk-us- tk-eu-", rf"{_WEB}{{48}}"),
    _format("SettleMint token", "sm_aat_ sm_pat_ sm_sat_", r"[A-Za-z0-9]{16}"),
    _format("Shippo token", "shippo_live_ shippo_test_", r"[0-9a-fA-F]{40}"),
    _format("SonarQube token", "squ_ sqp_ sqa_", r"[A-Za-z0-9]{40}"),
    _format("Sourcegraph token", "sgp_", r"(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}"),
    _format("Stytch secret", "secret-live- secret-test-", rf"{_WEB}{{30,}}+"),
    _format("OpenWeather key", "appid= APPID=", rf"[0-9a-f]{{32}}{_END}", wide=True),
    _format("Apify token", "apify_api_", r"[A-Za-z0-9]{34,}+"),
    _format("Axiom token", "xaat- xapt-", r"[0-9a-f-]{36}"),
    _format("Brave key", "BSA", rf"{_WEB}{{28}}(?!{_WEB})"),
    _format("Browserbase key", "bb_live_ bb_test_", rf"{_WEB}{{24,}}+"),
    _format("Composio key", "ak_", rf"[A-Za-z0-9]{{20}}{_END}"),
    _format(
        "Convex key", "prod: dev: preview: project:", r"[a-z0-9:-]{3,80}\|[A-Za-z0-9+/=]{40,}+", wide=True
    ),
    _format("Cursor key", "crsr_", r"[0-9a-f]{64}"),
    _format("E2B key", "e2b_ sk_e2b_", r"[0-9a-f]{40}"),
    _format("Honeycomb key", "hcaik_ hcbik_ hccik_ hcdik_ hcxik_ hcalk_ hcamk_", r"[a-z0-9]{50,}+"),
    _format("Infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}", wide=True),
    _format("Kaggle token", "KGAT_", r"[0-9a-f]{32}"),
    _format(
        "Laravel key", "base64:", r"(?:(?<=KEY=base64:)|(?<=KEY=[\"']base64:))[A-Za-z0-9+/]{43}=", wide=True
    ),
    _format("Mem0 key", "m0-", rf"[A-Za-z0-9]{{40}}{_END}"),
    _format("Modal token", "ak- as-", rf"[A-Za-z0-9]{{22}}{_END}"),
    _format("Paddle key", "pdl_live_ pdl_sdbx_ pdl_ntfset_", r"[A-Za-z0-9_]{40,}+"),
    _format("Polar token", "polar_oat_ polar_pat_ polar_rst_ polar_whs_", r"[A-Za-z0-9]{32,}+"),
    _format("RunPod key", "rpa_", r"[A-Za-z0-9]{32,}+"),
    _format("Weights & Biases key", "wandb_v1_", rf"{_WEB}{{40,}}+"),
    _format("Telnyx key", "KEY0", r"[0-9A-F]{30}_[A-Za-z0-9]{22}"),
    _format("Together key", "tgp_v1_", rf"{_WEB}{{40,}}+"),
    _format(
        "Twitter token", "AAAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9]{4,90}+(?:%[0-9A-F]{2}[A-Za-z0-9]{1,90}+)+"
    ),
    _format("Typeform token", "tfp_", r"[A-Za-z0-9_.=-]{44,59}", wide=True),
    _format("Yandex key", "AQVN", rf"{_WEB}{{35,38}}"),
    _format("Yandex key", "YC", rf"{_WEB}{{38}}{_END}"),
    _format("Yandex token", "t1.", rf"[A-Za-z0-9_-]{{3,}}+=*\.{_WEB}{{86}}", wide=True),
    _format("Zoho token", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}", wide=True),
    _format("Firebase key", ":APA91b", rf"(?<={_WEB}{{11}}:APA91b){_WEB}{{80,}}+", wide=True),
    _format("GitLab session", "_gitlab_session=", r"[0-9a-z]{32}", wide=True),
    # Wallets: BIP-32, and the secret keys of Cardano and Tezos
    _format("wallet key", "xprv yprv zprv tprv uprv vprv Ltpv", r"[1-9A-HJ-NP-Za-km-z]{100,112}"),
    _format(
        "wallet key", "ed25519_sk1 ed25519e_sk1 root_xsk1 acct_xsk1 addr_xsk1 addr_sk1", r"[a-z0-9]{50,}+"
    ),
    _format("wallet key", "edsk", rf"[1-9A-HJ-NP-Za-km-z]{{50,94}}{_END}"),
    # Bitcoin's import format, of a compressed and of an uncompressed key
    _format("wallet key", "K L", rf"[1-9A-HJ-NP-Za-km-z]{{51}}{_END}"),
    _format("wallet key", "5H 5J 5K", rf"[1-9A-HJ-NP-Za-km-z]{{49}}{_END}"),
    # Stored password hashes: crypt(5), passlib, Django, Werkzeug, RFC 2307, PostgreSQL
    _hash("$2a$ $2b$ $2y$ $2x$", r"\d\d\$[./A-Za-z0-9]{40,53}"),
    _hash(
        "$argon2",
        r"(?:id|i|d)\$(?:v=\d{1,3}\$)?+(?:[mtp]=\d{1,9},?){0,3}+\$?+[A-Za-z0-9+/=,$.-]{20,400}",
    ),
    _hash(
        "$1$ $5$ $6$ $7$ $y$ $gy$ $apr1$ $md5$ $sha1$ $8$ $9$ $14$ $sm3$ $md5, $DCC2$ $ml$",
        r"(?:rounds=\d{1,9}\$)?[./A-Za-z0-9*_#-]{1,64}\$(?:[./A-Za-z0-9]{1,64}\$)?[./A-Za-z0-9]{16,}+=*",
    ),
    _hash("$P$ $H$ $S$", r"[./A-Za-z0-9]{31,60}"),
    _hash(
        "$scrypt$ $pbkdf2 $bcrypt-sha256$ $krb5 $bitcoin$ $keepass$ $rar5$ $zip2$ $office$",
        r"[\w+/=,$.*:@-]{20,}+",
    ),
    _hash(
        "pbkdf2_sha pbkdf2: scrypt: argon2$ bcrypt$$ bcrypt_sha256$", r"[\w+/=,.:-]{0,40}\$[\w+/=,.$:-]{20,}+"
    ),
    _hash(
        "{SSHA {SHA {SMD5 {MD5 {CRYPT {bcrypt {PBKDF2 {ARGON2 {argon2 {pbkdf2 {scrypt",
        r"[\w-]{0,16}\}[\w+/=,.$:-]{16,}+",
    ),
    _hash(
        "SCRAM-SHA-", r"(?:256|1|512)\$\d{1,7}:[A-Za-z0-9+/=]{8,64}\$[A-Za-z0-9+/=]{16,}:[A-Za-z0-9+/=]{16,}+"
    ),
    _format("password hash", "md5", rf"[0-9a-f]{{32}}{_END}"),
    _hash("sha1$ md5$ sha256$ sha512$", r"[A-Za-z0-9]{0,24}\$[0-9a-f]{32,128}"),
    _hash(":::", r"(?<=[0-9a-fA-F]{32}:[0-9a-fA-F]{32}:::)"),
)

_BEFORE = frozenset({":AA", "-us", ".atlasv1.", "AZDO", "Q~", "/1", ":fx", "_mmk", ":APA91b", ":::", "|"})
"""Prefixes with a part of the secret before them, which belongs to the match."""

_WIDE = Names(
    (letters(lead.encode(), is_begun=lead[0].isalnum() and lead not in _BEFORE), (shape, lead, lead.encode()))
    for shape in TOKEN_FORMATS
    if shape.wide
    for lead in shape.begins
    if lead[0] not in "${"
)

MOST_BEFORE = 72
_HEAD = lazy(rf"[\w.~:-]{{1,{MOST_BEFORE}}}\Z")

LONG = 1_024
"""No other match is searched within a longer one, so that the time stays linear."""

_BLANK = ord(" ")
_TOKEN = bytes(
    ord("x") if (chr(code).isascii() and chr(code).isalnum()) or chr(code) in "_-" else _BLANK
    for code in range(256)
)

_CAPITALS = bytes(ord("x") if 48 <= code <= 57 or 65 <= code <= 90 else _BLANK for code in range(256))

_BY_FIRST: dict[str, list[tuple[str, TokenFormat]]] = {}
for _one in TOKEN_FORMATS:
    for _begin in () if _one.wide else _one.begins:
        _BY_FIRST.setdefault(_begin[0], []).append((_begin, _one))
_LEADS = {first.encode(): tuple(begin.encode() for begin, _ in some) for first, some in _BY_FIRST.items()}
_MARKED = [(shape, lead) for shape in TOKEN_FORMATS if shape.wide for lead in shape.begins if lead[0] in "${"]
_MARKS = tuple(
    lazy(
        (
            re.escape(mark)
            + "(?="
            + "|".join(re.escape(lead[1:]) for _, lead in _MARKED if lead[0] == mark)
            + ")"
        ).encode()
    )
    for mark in "${"
)
"""The prefixes of password hashes: many with the same first character are searched at once."""


def find_known_formats(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the secrets with a known format; `raw` is the text with ? for non-ASCII characters.

    Prefixes are searched only in runs of RUN token characters, except those of the few wide formats.
    """
    yield from _in_runs(text, raw)
    yield from _with_wide_pattern(text, raw, small)


def _in_runs(text: str, raw: bytes) -> Iterator[Secret]:
    telling = raw.translate(_CAPITALS)
    for start, end in runs(raw.translate(_TOKEN), RUN):
        # A run without digits and capitals is a name.
        if telling.find(b"x", start, end) < 0:
            continue
        at = start
        ends_in_dot = raw[end : end + 1] == b"."
        for place in _leads(raw, start, end):
            if place < at:
                continue
            for begin, shape in _BY_FIRST[text[place]]:
                if shape.dotted and not ends_in_dot:
                    continue
                if text.startswith(begin, place) and (found := shape.pattern.match(text, place)):
                    at = max(at, _search_position(found))
                    if secret := _secret(shape, found):
                        yield secret


def _leads(raw: bytes, at: int, end: int) -> Iterator[int]:
    """Yield the places of the prefixes in a run that no letter or digit precedes."""
    for part in raw[at:end].replace(b"-", b"_").split(b"_"):
        if raw.startswith(_LEADS.get(raw[at : at + 1], ()), at, end):
            yield at
        at += len(part) + 1


def _with_prefix(text: str, raw: bytes) -> Iterator[Secret]:
    behind: dict[str, int] = {}
    for lead in _MARKS:
        for place in (one.start() for one in lead.finditer(raw)):
            for shape, begin in _MARKED:
                if not text.startswith(begin, place) or place < behind.get(begin, 0):
                    continue
                if found := shape.pattern.match(text, place):
                    behind[begin] = _search_position(found)
                    if secret := _secret(shape, found, begin):
                        yield secret


def _with_wide_pattern(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    yield from _with_prefix(text, raw)
    for shape, begin, sought in names_in(small, _WIDE):
        place = raw.find(sought)
        while place >= 0:
            following = place + 1
            inside = begin[0].isalnum() and begin not in _BEFORE and raw[place - 1 : place].isalnum()
            if not inside and (found := shape.pattern.match(text, place)):
                following = _search_position(found)
                if secret := _secret(shape, found, begin):
                    yield secret
            place = raw.find(sought, following)


def find_vendor_keys(text: str, small: bytes) -> Iterator[Secret]:
    """Yield keys without a format of their own after the name of a service: `Algolia admin ...`."""
    for name in sorted(word_set(small) & _VENDORS):
        for at in places(small, name, step=len(name)):
            found = None if small[at - 1 : at].isalpha() else _OF_VENDOR.match(text, at + len(name))
            if found and _is_key(found["value"], found["told"] or ""):
                yield Secret(*found.span("value"), "secret")


_VENDORS = frozenset(
    name.encode()
    for name in (
        "adyen airtable algolia alchemy amplitude anthropic asana auth aws azure binance bitbucket brevo "
        "bugsnag buildkite cerebras circleci cloudflare cloudinary codecov coinbase cohere contentful "
        "datadog deepgram deepl deepseek digitalocean discord docker doppler dropbox elevenlabs etherscan "
        "fastly figma firebase fireworks freshdesk gemini ghost gitea github gitlab giphy google grafana "
        "groq helicone heroku hetzner honeycomb hubspot infura intercom jenkins jira kaggle klaviyo kraken "
        "langfuse linear linode lokalise mailchimp mailgun mailjet mapbox mistral mixpanel mongodb netlify "
        "newrelic ngrok notion okta openai openrouter openweathermap ovh pagerduty perplexity pinecone plaid "
        "postmark pusher quicknode razorpay replicate resend rollbar scaleway segment sendgrid sendinblue "
        "sentry shodan shopify slack snyk sonarqube sparkpost spotify square stripe supabase telegram tiingo "
        "trello twilio twitch twitter typeform unsplash vercel vonage vultr weatherapi yandex zapier zendesk "
        "zoom"
    ).split()
)
_OF_VENDOR = lazy(
    r"(?i:'s|\.io|\.com|\.ai)?(?P<told>(?:[ \t_-]{1,2}(?:(?i:admin|api|key|token|secret|access|auth|live"
    r"|prod|test"
    r"|production|staging|write|read|master|personal|private|client|service|account|app|bot|pat|value|is|for"
    r"|the|new|old)\b)){0,5})(?P<mark>[ \t]{0,2}(?:[:=]|->|\u2192|is\b)|(?=[ \t]))[ \t]{1,2}[\"'`]?"
    r"(?P<value>[A-Za-z0-9_-]{20,128}+)(?![\w./:@-])"
)
_KEY_WORD = lazy(r"(?i)key|token|secret|admin|\bpat\b|auth|bot")


def _is_key(value: str, told: str) -> bool:
    """Return whether a value is a random key; a possible hash or id needs a word such as "key" before it."""
    plain = value.isalnum() and value != value.lower() and sum(map(str.isdigit, value)) > 1
    sure = bool(_KEY_WORD.search(told)) and "-" not in value
    return not is_placeholder(value) and is_random(value) and has_mixed_characters(value) and (plain or sure)


def _search_position(found: re.Match[str]) -> int:
    """Return the next search position after a match; nothing is searched within a long one."""
    return found.end() if found.end() - found.start() > LONG else found.start() + 1


def runs(marked: bytes, least: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of `least` or more letters x in a row, between blanks."""
    sought = b"x" * least
    at = marked.find(sought)
    while at >= 0:
        end = marked.find(b" ", at + least)
        end = len(marked) if end < 0 else end
        yield marked.rfind(b" ", 0, at) + 1, end
        at = marked.find(sought, end)


def _secret(shape: TokenFormat, found: re.Match[str], begin: str = "") -> Secret | None:
    start = found.start()
    if begin in _BEFORE and (head := _HEAD.search(found.string, max(0, start - MOST_BEFORE), start)):
        start = head.start()
    value = found.string[start : found.end()]
    if is_placeholder(value) or not (shape.sure or has_mixed_characters(found.group())):
        return None
    return Secret(start, found.end(), shape.kind)
