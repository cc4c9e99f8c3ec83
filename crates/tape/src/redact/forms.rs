//! The table of forms: secrets that are recognised by how they begin, or by the text before them.
//!
//! To add one, add a line: its name, its anchors, a short expression, and how far the secret continues after the match.
//! Every match contains one of the anchors. `<B>` is the beginning of a word. If the expression has a group, the secret
//! begins there, and what is before it is kept.
//!
//! One pass over a text finds all anchors. The expression of a form then searches only around its anchors: a match is at most
//! a few hundred bytes long (a test checks it). A form whose anchors are frequent has a cheap check of what is around
//! them ([`Form::near`]).

use std::sync::{LazyLock, OnceLock};

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::judge::{is_basic, is_private_key, is_web_token, looks_random};

/// Whether the anchor at this place of a text can be a part of a match.
type Near = fn(&[u8], Range<usize>) -> bool;

/// A form of secret.
#[derive(Debug)]
pub(super) struct Form {
    /// The name, for reports.
    name: &'static str,
    /// Words, one of which is in every match. Most texts have none of them.
    anchors: &'static str,
    /// A cheap check of the anchor.
    near: Option<Near>,
    pub(super) pattern: &'static str,
    pub(super) until: Until,
    /// Whether a match is really a secret.
    pub(super) check: Option<fn(&[u8]) -> bool>,
}

/// How far a secret continues after the match of its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Not at all.
    Here,
    /// As long as there are letters, digits and these.
    Not(&'static [u8]),
    /// A word of a shell: up to white space, or to the quote that ends it.
    Word,
    /// In quotes, or nothing.
    Quoted,
    /// To the end of the line, or of the quoted text around it.
    Line,
    /// The value after a name such as `password`: see [`super::value`].
    Value,
}

use Until::{Here, Line, Not, Quoted, Value, Word};

const fn form(
    name: &'static str,
    anchors: &'static str,
    pattern: &'static str,
    until: Until,
) -> Form {
    Form { name, anchors, near: None, pattern, until, check: None }
}

impl Form {
    /// Only if there are letters and digits in it: other things begin like this, too.
    const fn random(mut self) -> Self {
        self.check = Some(looks_random);
        self
    }

    const fn check(mut self, check: fn(&[u8]) -> bool) -> Self {
        self.check = Some(check);
        self
    }

    /// Searches only around anchors for which this holds. It must hold for at least one anchor of every match.
    const fn near(mut self, near: Near) -> Self {
        self.near = Some(near);
        self
    }
}

/// Letters and digits.
const PLAIN: Until = Not(b"");
const SNAKE: Until = Not(b"_");
const DASHED: Until = Not(b"_-");
const DOTTED: Until = Not(b"_-.");
const BASE64: Until = Not(b"_-+/=");
const ESCAPED: Until = Not(b"_-+/=%.~");

/// The beginning of a word: also after `_`, and after what colours a text.
pub(super) const BEGINNING: &str = r"(?:\b{start-half}|_|\[[0-9;]{0,16}[A-Za-z])";

/// Keys and tokens that are known by how they begin.
#[rustfmt::skip]
const KEYS: &[Form] = &[
    form("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{6}", DASHED),
    form("OpenAI key and others", "sk-", r"<B>sk-[A-Za-z0-9_-]{16}", DASHED).random(),
    form("OpenAI project key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{10}", DASHED),
    form("ElevenLabs key and others", "sk_", r"<B>sk_[A-Za-z0-9]{24}", SNAKE).random(),
    form("Stripe key", "k_live_ k_test_", r"<B>[rs]k_(?:live|test)_[A-Za-z0-9]{8}", SNAKE),
    form("Stripe webhook secret", "whsec_", r"<B>whsec_[A-Za-z0-9+/]{12}", BASE64),
    form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"<B>gh[opusr]_[A-Za-z0-9]{16}", SNAKE).random(),
    form("GitHub fine-grained token", "github_pat_", r"github_pat_[A-Za-z0-9_]{12}", SNAKE),
    form("GitLab token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-", r"<B>gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_-]{12}", DOTTED).random(),
    form("GitLab runner token", "GR1348941", r"<B>GR1348941[A-Za-z0-9_-]{16}", DASHED),
    form("Slack token", "xox", r"<B>xox[abcdeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{8}", DASHED),
    form("Slack app token", "xapp-", r"<B>xapp-[A-Za-z0-9-]{10}", DASHED),
    form("Slack webhook", "hooks.slack", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{8})", Not(b"_-/")),
    form("Discord webhook", "/webhooks/", r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{5,24}/([A-Za-z0-9_-]{10})", DASHED),
    form("Discord token", ".", r"<B>[MNO][A-Za-z0-9_-]{23,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}", DASHED).near(near_discord),
    form("Telegram bot token", ":AA", r"(?:<B>|bot)([0-9]{8,10}:[A-Za-z0-9_-]{35})", DASHED).random(),
    form("Teams webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{16})", Not(b"-/@")),
    form("other webhook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/([A-Za-z0-9/]{8})", Not(b"/")),
    form("AWS key", "AKIA ASIA ABIA ACCA", r"<B>(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b{end-half}", Here),
    form("AWS session token", "FwoGZXIvYXdz IQoJb3JpZ2lu", r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9+/]{12}", BASE64),
    form("AWS Bedrock key", "ABSK", r"<B>ABSK[A-Za-z0-9+/]{40}", BASE64).random(),
    form("AWS signature", "X-Amz- X-Goog-", r"(?i:X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential))(?:=|%3D)([A-Za-z0-9%/+_-]{8})", ESCAPED),
    form("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{26}", DASHED),
    form("Google client secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{10}", DASHED),
    form("Google access token", "ya29.", r"<B>ya29\.[A-Za-z0-9_-]{10}", DOTTED),
    form("Google refresh token", "1//0", r"<B>1//0[A-Za-z0-9_-]{20}", DASHED),
    form("Azure key", "accountkey accesskey sharedkey", r"(?i:(?:Account|SharedAccess|Shared)Key)\\{0,8}['\x22]?[ \t]{0,3}[=:][ \t]{0,3}\\{0,8}['\x22]?([A-Za-z0-9+/]{12})", BASE64),
    form("Azure signature", "sig= sig%3D", r"(?:[?&;\x22' ]|%3F|%26|\b{start-half})sig(?:=|%3D)([A-Za-z0-9%+/_-]{12})", ESCAPED).random(),
    form("Azure client secret", "Q~", r"<B>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31}", Not(b"_-.~")),
    form("Azure function key", "code=", r"[?&]code=([A-Za-z0-9_/+-]{40})", BASE64).random(),
    form("SendGrid key", "SG.", r"<B>SG\.[A-Za-z0-9_-]{12}", DOTTED).random(),
    form("Twilio key", "SK", r"<B>SK[0-9a-f]{32}\b{end-half}", Here).near(before_hex),
    form("Mailgun key", "key-", r"<B>key-[0-9a-f]{32}\b{end-half}", Here),
    form("Mailgun private key", "-", r"<B>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b{end-half}", Here).near(after_hex),
    form("Mailchimp key", "-us", r"<B>[0-9a-f]{32}-us[0-9]{1,2}\b{end-half}", Here),
    form("npm token", "npm_", r"<B>npm_[A-Za-z0-9]{16}", SNAKE).random(),
    form("PyPI token", "pypi-", r"<B>pypi-[A-Za-z0-9_-]{16}", DASHED).random(),
    form("Vault token", "hvs. hvb. hvr.", r"<B>hv[sbr]\.[A-Za-z0-9_-]{12}", DASHED),
    form("old Vault token", "s.", r"<B>s\.[A-Za-z0-9]{24}\b{end-half}", Here).random().near(before_letters),
    form("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"<B>do[opr]_v1_[a-f0-9]{12}", PLAIN),
    form("Heroku key", "HRKU-", r"<B>HRKU-[A-Za-z0-9_-]{12}", DASHED),
    form("Databricks token", "dapi", r"<B>dapi[a-f0-9]{32}(?:-[0-9])?", PLAIN),
    form("Hugging Face token", "hf_", r"<B>hf_[A-Za-z0-9]{16}", SNAKE).random(),
    form("Hugging Face organization token", "api_org_", r"<B>api_org_[A-Za-z0-9]{20}", PLAIN),
    form("Docker token", "dckr_", r"<B>dckr_(?:pat|oat)_[A-Za-z0-9_-]{12}", DASHED),
    form("Terraform token", ".atlasv1.", r"<B>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{12}", BASE64),
    form("Shopify token", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_", r"<B>shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{16}", PLAIN),
    form("Square token", "sq0", r"<B>sq0[a-z]{3}-[A-Za-z0-9_-]{16}", DASHED),
    form("Square access token", "EAAA", r"<B>EAAA[A-Za-z0-9_-]{56}", DASHED).random(),
    form("Facebook token", "EAA", r"<B>EAA[A-Za-z0-9]{60}", PLAIN).random(),
    form("New Relic key", "NRAK- NRAL- NRJS- NRII- NRIQ- NRRA- NRBR- NRSP- NRAA-", r"<B>NR(?:AK|AL|JS|II|IQ|RA|BR|SP|AA)-[A-Za-z0-9_-]{12}", DASHED),
    form("New Relic licence key", "NRAL", r"<B>[a-f0-9]{36}NRAL\b{end-half}", Here),
    form("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-[A-Za-z0-9-]{12}", DASHED),
    form("Linear key", "lin_api_ lin_oauth_", r"<B>lin_(?:api|oauth)_[A-Za-z0-9]{16}", SNAKE),
    form("Notion token", "ntn_ secret_", r"<B>(?:ntn_|secret_)[A-Za-z0-9]{32}", SNAKE).random(),
    form("Figma token", "figd_ figo_ figu_ figr_", r"<B>fig[dour]_[A-Za-z0-9_-]{16}", DASHED),
    form("Airtable token", "pat", r"<B>pat[A-Za-z0-9]{14}\.[a-f0-9]{32}", PLAIN).near(before_letters),
    form("Postman key", "PMAK-", r"<B>PMAK-[a-f0-9]{16}", DASHED),
    form("Grafana token", "glsa_ glc_", r"<B>(?:glsa|glc)_[A-Za-z0-9+/]{16}", BASE64).random(),
    form("Sentry token", "sntrys_ sntryu_", r"<B>sntry[su]_[A-Za-z0-9+/=_-]{16}", BASE64),
    form("Doppler token", "dp.", r"<B>dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{16}", DOTTED),
    form("PlanetScale token", "pscale_", r"<B>pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=_.-]{12}", DOTTED),
    form("Pulumi token", "pul-", r"<B>pul-[a-f0-9]{40}", PLAIN),
    form("RubyGems key", "rubygems_", r"<B>rubygems_[a-f0-9]{16}", PLAIN),
    form("crates.io token", "cio", r"<B>cio[A-Za-z0-9]{32}\b{end-half}", Here).random(),
    form("Groq key", "gsk_", r"<B>gsk_[A-Za-z0-9]{16}", PLAIN).random(),
    form("xAI key", "xai-", r"<B>xai-[A-Za-z0-9]{20}", PLAIN).random(),
    form("Perplexity key", "pplx-", r"<B>pplx-[A-Za-z0-9]{20}", PLAIN).random(),
    form("Replicate token", "r8_", r"<B>r8_[A-Za-z0-9]{20}", PLAIN).random(),
    form("Tailscale key", "tskey-", r"<B>tskey-(?:[a-z]{2,12}-)?[A-Za-z0-9-]{12}", DASHED),
    form("Supabase key", "sbp_ sb_secret_", r"<B>(?:sbp_[a-f0-9]{16}|sb_secret_[A-Za-z0-9_-]{12})", DASHED),
    form("Netlify token", "nfp_", r"<B>nfp_[A-Za-z0-9]{20}", SNAKE).random(),
    form("Cloudflare origin key", "v1.0-", r"<B>v1\.0-[a-f0-9]{24}-[a-f0-9]{32}", DASHED),
    form("Dynatrace token", "dt0", r"<B>dt0[a-z][0-9]{2}\.[A-Z0-9]{16}", DOTTED),
    form("Atlassian token", "ATATT3x ATCTT3x ATBB", r"<B>AT(?:ATT3x|CTT3x|BB)[A-Za-z0-9_=-]{16}", BASE64),
    form("Brevo key", "xkeysib-", r"<B>xkeysib-[a-f0-9]{16}", DASHED),
    form("Resend key", "re_", r"<B>re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16}", SNAKE).random(),
    form("Plaid token", "access-", r"<B>access-(?:sandbox|development|production)-[0-9a-f-]{16}", DASHED),
    form("LaunchDarkly key", "sdk- api- mob-", r"<B>(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b{end-half}", Here),
    form("1Password token", "ops_eyJ", r"<B>ops_eyJ[A-Za-z0-9+/=_-]{16}", BASE64),
    form("CircleCI token", "CCIPAT_ CCIPRJ_", r"<B>CCI(?:PAT|PRJ)_[A-Za-z0-9_]{16}", SNAKE),
    form("Buildkite token", "bkua_ bkat_", r"<B>bk(?:ua|at)_[a-f0-9]{16}", PLAIN),
    form("Fly token", "fm1_ fm2_ fm1a_ fm1r_ fm2a_ fm2r_ fo1_", r"<B>(?:fm[12][ar]?|fo1)_[A-Za-z0-9+/=_-]{16}", BASE64).random(),
    form("Contentful token", "CFPAT-", r"<B>CFPAT-[A-Za-z0-9_-]{16}", DASHED),
    form("PayPal token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{12}", Not(b"$")),
    form("Mapbox key", "sk.eyJ", r"<B>sk\.eyJ[A-Za-z0-9_-]{16}", DOTTED),
    form("Twitter token", "AAAAAAAAAAAAAAAAAAAA", r"<B>A{20}[A-Za-z0-9%]{24}", Not(b"%_-")).random(),
    form("JSON web token", "eyJ", r"<B>eyJ[A-Za-z0-9_-]{7}", DOTTED).check(is_web_token),
    form("encoded private key", "LS0tLS1CRUdJT", r"LS0tLS1CRUdJT[A-Za-z0-9+/]{24}", BASE64).check(is_private_key),
    form("password hash", "$", r"\$(?:apr1|[156y]|2[abxy]|argon2(?:id|i|d)|scrypt|7|gy)\$[A-Za-z0-9./$=,+-]{20}", Not(b"./$=,+-")).near(near_hash),
];

/// Secrets that are recognised by the text before them: headers, addresses, files.
#[rustfmt::skip]
const PLACES: &[Form] = &[
    form("URL with a password", "://", r"://[^\s/:@\x22'\\<>`]{0,128}:([^\s/\x22'\\<>`]{1,256})@", Here).near(before_at),
    form("URL with a token", "://", r"://([A-Za-z0-9_.~-]{16,256})@", Here).random().near(before_at),
    form("URL with a token as the user", "://", r"://([A-Za-z0-9_.~-]{16,256}):[^\s/@\x22']{0,64}@", Here).random().near(before_at),
    form("authorization", "authorization", r"(?i:authorization)(?:\\{0,8}['\x22`]?\]?[ \t]{0,4}(?:[:=]|=>)|\\{0,8}['\x22`][ \t]{0,4},)[ \t]{0,4}\\{0,8}[fbr]?['\x22`]?(?:[A-Za-z][A-Za-z0-9-]{1,24}[ \t]{1,4})()", Line),
    form("authorization without a scheme", "authorization", r"(?i:authorization)(?:\\{0,8}['\x22`]?\]?[ \t]{0,4}(?:[:=]|=>)|\\{0,8}['\x22`][ \t]{0,4},)[ \t]{0,4}\\{0,8}['\x22`]?([A-Za-z0-9._~+/=:-]{6})", ESCAPED).random(),
    form("bearer token", "bearer", r"<B>(?i:bearer)[ \t]{1,4}([A-Za-z0-9._~+/=-]{6})", Not(b"._~+/=-")).random(),
    form("cookie", "cookie", r"(?i:<B>(?:set-)?cookie2?)(?:\\{0,8}['\x22`]?\]?[ \t]{0,4}(?:[:=]|=>)|\\{0,8}['\x22`][ \t]{0,4},)[ \t]{0,4}\\{0,8}['\x22`]?([A-Za-z0-9_.%-]{1,128}=)", Line),
    form("XML property", "</", r"(?i:name|key|id)=\\{0,8}['\x22](?i:[A-Za-z0-9_:.-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key))\\{0,8}['\x22][^<>]{0,64}>\s{0,32}([^<>]{1,256})</", Here),
    form("Basic credentials", "Basic basic", r"<B>[Bb]asic[ \t]{1,4}([A-Za-z0-9+/_-]{6})", BASE64).check(is_basic),
    form("auth of a registry", "auth", r"\x22auth\\{0,8}\x22[ \t]{0,3}:[ \t]{0,3}\\{0,8}\x22([A-Za-z0-9+/_-]{6})", BASE64).check(is_basic),
    form("answer to a prompt", "password passphrase", r"<B>(?i:password|passphrase)[ \t](?i:for)[ \t][^\s:]{1,64}(?:[ \t][^\s:]{1,32}){0,3}:[ \t]{1,4}()", Word).random(),
    form("function of SQL", "password(", r"(?i:password)\([ \t]{0,4}()", Quoted),
    form("netrc", "password", r"(?:machine[ \t]{1,8}\S{1,128}|default)\s{1,32}(?:[0-9]{1,6}[\t:|]\s{0,8})?(?:(?:login|account)[ \t]{1,8}\S{1,128}\s{1,32}(?:[0-9]{1,6}[\t:|]\s{0,8})?){0,2}password[ \t]{1,8}()", Word),
    form("netrc, on a line of its own", "password", r"(?m:^)[ \t]{0,8}password[ \t]{1,4}([^\s:=\x22']{4,128})[ \t]{0,8}(?m:$)", Here).random(),
    form("pgpass", "*:*: :5432: :5433: :5439: :6432: :6543: :3306: :26257:", r"(?:^|[^A-Za-z0-9_.*:-])(?:[A-Za-z0-9_.-]{1,128}:(?:5432|5433|5439|6432|6543|3306|26257)|\*:\*):[A-Za-z0-9_*-]{1,64}:[A-Za-z0-9_*-]{1,64}:()", Word),
    form("XML", "</", r"<(?i:[A-Za-z0-9_:.-]{0,40}(?:password|passwd|passphrase|secret|token|api-?_?key|accesskey|privatekey|secretkey))(?:\s[^<>]{0,64})?>(?:\s{0,32}<!\[CDATA\[)?\s{0,32}([^<>\]]{1,256})(?:\]\]>\s{0,32})?</(?i:[A-Za-z0-9_:.-]{0,40}(?:password|passwd|passphrase|secret|token|key))", Here),
    form("name and value", "value", r"(?i)(?:name|key)\\{0,8}['\x22]?[ \t]{0,3}[:=][ \t]{0,3}\\{0,8}['\x22]?[A-Za-z0-9_.-]{0,64}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)\\{0,8}['\x22]?,?\s{1,48}\\{0,8}['\x22]?value\\{0,8}['\x22]?[ \t]{0,3}[:=][ \t]{0,3}()", Word),
    form("YAML block", "password passwd passphrase secret token api", r"(?i:password|passwd|passphrase|secret|token|api[_-]?key)['\x22]?:[ \t]{0,4}[|>][+-]?[ \t]{0,4}\n[ \t]{1,32}()", Line),
    form("said to be", "password passphrase passcode token secret api", r"<B>(?i:password|passphrase|passcode|token|secret|api[ -]key)[ \t](?i:is|was|to|of):?[ \t]{1,2}\(?()", Word).random(),
    form("SQL", "identified password passphrase", r"(?i:identified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,64}[ \t]{1,4})?by(?:[ \t]{1,4}password)?|<B>(?:password|passphrase))[ \t]{1,4}()", Quoted),
    form("define", "password passwd secret token api access auth logged_in nonce", r"(?i:[A-Za-z0-9_]{0,64}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|(?:AUTH|LOGGED_IN|NONCE|SECURE_AUTH)_(?:KEY|SALT)))\\{0,8}['\x22][ \t]{0,4},[ \t]{0,4}()", Quoted).random(),
];

/// Secrets in command lines.
#[rustfmt::skip]
const COMMANDS: &[Form] = &[
    form("flag", "pass pwd token secret api access private credential auth", r"(?:^|[\s\x22'`(=])--?(?i:[A-Za-z0-9_-]{0,48}(?:password|passwd|passphrase|token|secret|api-?_?key|access-?_?key|secret-?_?key|private-?_?key|credentials?|auth|pass|pwd))[ \t=]()", Word),
    form("curl -u", "curl wget http xh", r"<B>(?:curl|wget|http|https|xh)(?:\s[^|;]{0,240}?)?\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ \t=]?\\{0,8}['\x22]?[^\s:'\x22\\]{0,128}:()", Word).near(before_space),
    form("curl -b", "curl", r"<B>curl(?:\s[^|;]{0,240}?)?\s(?:-b|--cookie)[ \t=]?\\{0,8}['\x22]?([^\s'\x22\\=]{1,64}=[^\s'\x22\\]{1,256})", Here),
    form("mysql -p", "mysql mariadb", r"<B>(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|mysql_upgrade)(?:\s[^|;\n]{0,200}?)?\s-p([^\s-])", Word),
    form("sshpass", "sshpass", r"<B>sshpass[ \t]{1,4}-p[ \t]{0,4}()", Word),
    form("login -p", "login", r"<B>(?:docker|podman|buildah|skopeo|helm|oc|az|nerdctl|cf|tsh)\s[^|;\n]{0,120}?login\s[^|;\n]{0,160}?(?:\s-p[ \t=]?)()", Word),
    form("redis-cli -a", "redis-cli", r"<B>redis-cli(?:\s[^|;\n]{0,160}?)?\s(?:-a|--pass)[ \t=]()", Word),
    form("mongo -p", "mongo", r"<B>mongo(?:sh|dump|restore|export|import)?(?:\s[^|;\n]{0,200}?)?\s-p[ \t=]()", Word),
    form("sqlcmd -P", "sqlcmd bcp zip isql", r"<B>(?:sqlcmd|bcp|zip|unzip|isql)(?:\s[^|;\n]{0,200}?)?\s-P[ \t]{0,4}()", Word),
    form("ldapsearch -w", "ldap", r"<B>ldap[a-z]{3,10}(?:\s[^|;\n]{0,200}?)?\s-w[ \t]{0,4}()", Word),
    form("7z -p", "7z", r"<B>7z[a-z]?(?:\s[^|;\n]{0,160}?)?\s-p([^\s-])", Word),
    form("openssl pass:", "pass:", r"-(?:passin|passout|pass|password)[ \t]{1,4}\\{0,8}['\x22]?pass:()", Word),
    form("openssl -k", "openssl", r"<B>openssl[ \t]{1,4}enc(?:\s[^|;\n]{0,160}?)?\s-[kK][ \t]{1,4}()", Word),
    form("htpasswd", "htpasswd", r"<B>htpasswd[ \t]{1,4}-[A-Za-z]{0,6}b[A-Za-z]{0,6}[ \t]{1,4}(?:\S{1,128}[ \t]{1,4}){1,2}?([^\s/]{4,128})[ \t]{0,4}(?m:$)", Here),
    form("smbclient -U", "smbclient rpcclient net mount wmic", r"<B>(?:smbclient|rpcclient|net|mount|wmic)(?:\s[^|;\n]{0,160}?)?\s-U[ \t=]?\\{0,8}['\x22]?[^\s%'\x22]{1,64}%()", Word),
    form("ssh-keygen -N", "ssh-keygen", r"<B>ssh-keygen(?:\s[^|;\n]{0,160}?)?\s-[NP][ \t]()", Word),
    form("--from-literal", "--from-literal", r"--from-literal[= \t]\\{0,8}['\x22]?[^\s='\x22]{1,64}=()", Word),
    form("echo into a prompt", "echo printf", r"<B>(?:echo|printf)[ \t]{1,4}(?:-[neE]{1,3}[ \t]{1,4})?\\{0,8}['\x22]?([^\s'\x22|\\]{3,128})\\{0,8}[n'\x22]{0,2}[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}-S|[a-z /.-]{1,48}--password-stdin|(?:sudo[ \t])?chpasswd|[^|\n]{1,120}--password-stdin)", Here),
    form("set a variable", "setenv setx ENV ARG set", r"(?:<B>(?:setenv|setx|ENV|ARG|set[ \t]-[A-Za-z]{1,4})[ \t]{1,4})(?i:[A-Za-z0-9_]{0,64}(?:PASSWORD|PASSWD|PASS|PASSPHRASE|TOKEN|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY))[ \t]{1,4}()", Word),
    form("configure", "config secret", r"(?i:<B>(?:config|configure|secret)[ \t]{1,4}(?:--?[a-z]{1,16}[ \t]{1,4}){0,3}(?:set[ \t]{1,4})?[A-Za-z0-9_./:-]{0,96}(?:secret_access_key|session_token|token|password|secret|api_?key))[ \t]{1,4}()", Word),
    form("net user", "net", r"<B>net[ \t]{1,4}user[ \t]{1,4}\S{1,64}[ \t]{1,4}()", Word).random(),
    form("gh secret set", "gh", r"<B>gh[ \t]{1,4}secret[ \t]{1,4}set\s[^|;\n]{0,120}?(?:-b|--body)[ \t=]()", Word),
];

/// A value after a name such as `password`. [`super::value`] finds its extent.
#[rustfmt::skip]
const NAMED: &[Form] = &[
    form("value after a secret name", "pass pwd secret token credential key mnemonic seed recovery _auth", r#"(?xi)
        (?P<word> passwords? | passwd | passphrase | passcode | pwd | pass | secrets? | token | credentials?
          | key | mnemonic | seed_?phrase | recovery_?(?:code|phrase) | _auth )
        (?: [_-]? (?: base | value | prod | production | dev | test | staging | live | primary | secondary | plain
          | old | new | current | root | [0-9]{1,3} ) )?
        (?: \\{0,8}['"`\]] ){0,2}
        [\ \t]{0,24}
        (?: => | :=  | !?={1,3} | \?= | :[\ \t]{0,4}[&A-Za-z][A-Za-z0-9_.<>\[\]&'\ |]{0,40}?[\ \t]= | : )
        [\ \t]{0,24} ()"#, Value),
];

/// All forms, in the order in which they are searched.
fn all() -> impl Iterator<Item = &'static Form> {
    KEYS.iter().chain(PLACES).chain(COMMANDS).chain(NAMED)
}

/// The names of all forms: `GitHub token`, `curl -u`.
///
/// ```
/// assert!(duologue_tape::redact::forms().any(|form| form == "GitHub token"));
/// ```
pub fn forms() -> impl Iterator<Item = &'static str> {
    all().map(|form| form.name)
}

// What is around an anchor.

fn are_all(bytes: Option<&[u8]>, is_it: impl Fn(&u8) -> bool) -> bool {
    bytes.is_some_and(|bytes| bytes.iter().all(is_it))
}

const fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn before_hex(text: &[u8], anchor: Range<usize>) -> bool {
    are_all(text.get(anchor.end..anchor.end + 32), is_hex)
}

fn after_hex(text: &[u8], anchor: Range<usize>) -> bool {
    anchor.start >= 32 && are_all(text.get(anchor.start - 32..anchor.start), is_hex)
}

fn before_letters(text: &[u8], anchor: Range<usize>) -> bool {
    are_all(text.get(anchor.end..anchor.end + 14), u8::is_ascii_alphanumeric)
}

/// The first of the two dots.
fn near_discord(text: &[u8], anchor: Range<usize>) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.get(anchor.end + 6) == Some(&b'.')
        && are_all(text.get(anchor.end..anchor.end + 6), is_digit)
        && anchor.start >= 24
        && are_all(text.get(anchor.start - 23..anchor.start), is_digit)
}

/// The first of the two dollars.
fn near_hash(text: &[u8], anchor: Range<usize>) -> bool {
    let after = text.get(anchor.end..).unwrap_or_default();
    matches!(after.first(), Some(b'a' | b'1' | b'2' | b'5' | b'6' | b'7' | b'y' | b's' | b'g'))
        && after.iter().take(10).any(|byte| *byte == b'$')
}

fn before_at(text: &[u8], anchor: Range<usize>) -> bool {
    let after = text.get(anchor.end..).unwrap_or_default();
    memchr::memchr(b'@', after.get(..512).unwrap_or(after)).is_some()
}

/// A name of a program, not the beginning of a URL.
fn before_space(text: &[u8], anchor: Range<usize>) -> bool {
    let after = text.get(anchor.end..).unwrap_or_default();
    let after = after.strip_prefix(b"s").unwrap_or(after);
    matches!(after.first(), Some(b' ' | b'\t'..=b'\r'))
}

/// The forms, and one search for all of their anchors.
#[derive(Debug)]
struct Table {
    forms: Vec<(&'static Form, OnceLock<Option<Search>>)>,
    anchors: Option<AhoCorasick>,
    /// The anchor of each pattern of `anchors`.
    words: Vec<Anchor>,
}

/// A word of a form.
#[derive(Debug)]
struct Anchor {
    word: &'static str,
    is_any_case: bool,
    /// The number of the form.
    form: usize,
}

/// The expression of a form, and the length of its longest match.
#[derive(Debug)]
struct Search {
    regex: Regex,
    longest: usize,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let anchors = |(number, form): (usize, &'static Form)| {
        let is_any_case = form.is_any_case();
        form.anchors().map(move |word| Anchor { word, is_any_case, form: number })
    };
    let words: Vec<Anchor> = all().enumerate().flat_map(anchors).collect();
    let anchors = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words.iter().map(|anchor| anchor.word))
        .ok();
    Table { forms: all().map(|form| (form, OnceLock::new())).collect(), anchors, words }
});

impl Form {
    fn anchors(&self) -> impl Iterator<Item = &'static str> {
        self.anchors.split(' ')
    }

    fn is_any_case(&self) -> bool {
        self.pattern.contains("(?i") || self.pattern.contains("(?xi")
    }

    fn expression(&self) -> String {
        let pattern = match self.pattern.strip_prefix("<B>") {
            // What is before the word is kept.
            Some(rest) if !has_group(rest) => format!("<B>({rest})"),
            _ => self.pattern.to_owned(),
        };
        pattern.replace("<B>", BEGINNING)
    }

    fn compile(&self) -> Option<Search> {
        let expression = self.expression();
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
        let longest = parser.parse(&expression).ok()?.properties().maximum_len()?;
        let regex = RegexBuilder::new(&expression).unicode(false).build().ok()?;
        Some(Search { regex, longest })
    }
}

/// Whether an expression has a group that marks the beginning of the secret.
fn has_group(pattern: &str) -> bool {
    let (mut in_class, mut escaped) = (false, false);
    pattern.bytes().zip(pattern.bytes().skip(1)).any(|(byte, next)| {
        let is_group = !escaped && !in_class && byte == b'(' && next != b'?';
        match byte {
            b'[' if !escaped => in_class = true,
            b']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = !escaped && byte == b'\\';
        is_group
    })
}

/// A form that could be in a text.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) form: &'static Form,
    pub(super) regex: &'static Regex,
    /// The parts of the text that hold all matches, in order and apart. To find the matches in one, search the text up
    /// to its end, from its start on.
    pub(super) parts: Vec<Range<usize>>,
}

/// The forms that could be in this text, in the order of the table.
pub(super) fn candidates(text: &[u8]) -> Vec<Candidate> {
    let table: &'static Table = &TABLE;
    let Some(anchors) = &table.anchors else { return Vec::new() };
    let mut parts: Vec<Vec<Range<usize>>> = Vec::new();
    for found in anchors.find_overlapping_iter(text) {
        let Some(anchor) = table.words.get(found.pattern().as_usize()) else { continue };
        if !anchor.is_any_case && text.get(found.range()) != Some(anchor.word.as_bytes()) {
            continue;
        }
        let Some((form, search)) = table.forms.get(anchor.form) else { continue };
        if form.near.is_some_and(|near| !near(text, found.range())) {
            continue;
        }
        let Some(search) = search.get_or_init(|| form.compile()) else { continue };
        // A match contains the anchor. One byte more shows whether a word ends there.
        let start = found.end().saturating_sub(search.longest);
        let end = found.end().saturating_add(search.longest + 1).min(text.len());
        if parts.is_empty() {
            parts.resize_with(table.forms.len(), Vec::new);
        }
        let Some(parts) = parts.get_mut(anchor.form) else { continue };
        match parts.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => parts.push(start..end),
        }
    }
    let mut candidates = Vec::new();
    for ((form, search), parts) in table.forms.iter().zip(parts) {
        if let Some(Some(Search { regex, .. })) = search.get()
            && !parts.is_empty()
        {
            candidates.push(Candidate { form, regex, parts });
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No match may be longer than this: see [`candidates`].
    const FURTHEST: usize = 1100;

    /// The matches of each form, found in the whole text.
    fn in_whole(text: &[u8]) -> Vec<(&'static str, Range<usize>)> {
        let matches = all().flat_map(|form| {
            let regex = form.compile().unwrap().regex;
            let found: Vec<_> =
                regex.find_iter(text).map(|found| (form.name, found.range())).collect();
            found
        });
        matches.collect()
    }

    fn in_parts(text: &[u8]) -> Vec<(&'static str, Range<usize>)> {
        let mut all = Vec::new();
        for Candidate { form, regex, parts } in candidates(text) {
            let mut at = 0;
            for part in parts {
                at = at.max(part.start);
                while at <= part.end
                    && let Some(found) = regex.find_at(&text[..part.end], at)
                {
                    all.push((form.name, found.range()));
                    at = found.end().max(found.start() + 1);
                }
            }
        }
        all
    }

    #[test]
    fn a_search_around_anchors_finds_what_a_search_of_the_whole_text_finds() {
        let values = concat!(
            "curl -u ann:hunter2 https://x.org; https -a ann:pass x; AKIAABCDEFGHIJKLMNOP SKdeadbeefdeadbeefdeadbeefdeadbeef ",
            "https://ann:hunter2@x.org https://0123456789abcdef01@x.org/ postgres://u:p@h:5432/d MTA.x ",
            "MTExMTExMTExMTExMTExMTEx.GabcdE.abcdefghijklmnopqrstuvwxyz0 deadbeefdeadbeefdeadbeefdeadbeef-deadbeef-deadbeef ",
            "s.abcdefghijklmnopqrstuvw1 patAbCdEfGhIjKlM1.deadbeefdeadbeefdeadbeefdeadbeef echo hunter2 | sudo -S ls ",
            "$2b$12$abcdefghijklmnopqrstuv $apr1$abcdefgh$ijklmnopqrstuvwxyz <password>x</password> token: abc ",
            "PASSWORD=hunter2 --token abc 'Authorization: Bearer abcdef123' db.password = \"x\" ",
        );
        // The table itself has every anchor, and much that looks like a secret and is none.
        let table = include_str!("forms.rs");
        for text in [values.to_owned(), values.repeat(3), format!("{values}{table}{values}")] {
            let (whole, parts) = (in_whole(text.as_bytes()), in_parts(text.as_bytes()));
            assert!(whole.len() > 20, "{whole:?}");
            assert_eq!(whole, parts);
        }
    }

    #[test]
    fn every_form_is_short_and_has_an_anchor() {
        let mut names = std::collections::HashSet::new();
        for form in all() {
            assert!(names.insert(form.name), "two forms are called {}", form.name);
            assert!(
                !form.anchors.is_empty() && form.anchors().all(|word| !word.is_empty()),
                "{}",
                form.name
            );
            let search = form.compile();
            assert!(search.is_some(), "{} is too large, or matches any length", form.name);
            let longest = search.map_or(0, |search| search.longest);
            assert!(longest <= FURTHEST, "{}: {longest:?}", form.name);
            if form.until != Here {
                // The part after the match must begin in it.
                assert!(form.pattern.ends_with(')') || !has_group(form.pattern), "{}", form.name);
            }
        }
    }
}
