//! The table of forms: what gives a secret away by how it begins, or by what stands before it.
//!
//! To add one, add a line: its name, words one of which every text with it contains, a short expression, and how
//! far the secret goes on after that. `<B>` stands for the beginning of a word. If the expression has a group, the secret begins there, and what is before it is
//! kept. Expressions match at most a few hundred bytes (a test checks it), so that no text takes long.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::judge::{is_basic, is_private_key, is_web_token, looks_random};

/// What gives a secret away.
#[derive(Debug)]
pub(super) struct Form {
    /// What it is, for people.
    name: &'static str,
    /// Words, one of which is in every text that it is in: most texts have none of them.
    anchors: &'static str,
    pub(super) pattern: &'static str,
    pub(super) until: Until,
    /// Whether something of this form is a secret indeed.
    pub(super) check: Option<fn(&[u8]) -> bool>,
}

/// How far a secret goes on after what its expression matches.
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
    /// To the end of the line, or of the text in quotes that it stands in.
    Line,
    /// The value of a name that gives it away: see [`super::value`].
    Value,
}

use Until::{Here, Line, Not, Quoted, Value, Word};

const fn form(
    name: &'static str,
    anchors: &'static str,
    pattern: &'static str,
    until: Until,
) -> Form {
    Form { name, anchors, pattern, until, check: None }
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
    form("Discord token", ".", r"<B>[MNO][A-Za-z0-9_-]{23,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}", DASHED),
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
    form("Twilio key", "SK", r"<B>SK[0-9a-f]{32}\b{end-half}", Here),
    form("Mailgun key", "key-", r"<B>key-[0-9a-f]{32}\b{end-half}", Here),
    form("Mailgun private key", "-", r"<B>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b{end-half}", Here),
    form("Mailchimp key", "-us", r"<B>[0-9a-f]{32}-us[0-9]{1,2}\b{end-half}", Here),
    form("npm token", "npm_", r"<B>npm_[A-Za-z0-9]{16}", SNAKE).random(),
    form("PyPI token", "pypi-", r"<B>pypi-[A-Za-z0-9_-]{16}", DASHED).random(),
    form("Vault token", "hvs. hvb. hvr.", r"<B>hv[sbr]\.[A-Za-z0-9_-]{12}", DASHED),
    form("old Vault token", "s.", r"<B>s\.[A-Za-z0-9]{24}\b{end-half}", Here).random(),
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
    form("Airtable token", "pat", r"<B>pat[A-Za-z0-9]{14}\.[a-f0-9]{32}", PLAIN),
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
    form("password hash", "$", r"\$(?:apr1|[156y]|2[abxy]|argon2(?:id|i|d)|scrypt|7|gy)\$[A-Za-z0-9./$=,+-]{20}", Not(b"./$=,+-")),
];

/// Secrets that are known by what stands before them: headers, addresses, files.
#[rustfmt::skip]
const PLACES: &[Form] = &[
    form("URL with a password", "://", r"://[^\s/:@\x22'\\<>`]{0,128}:([^\s/\x22'\\<>`]{1,256})@", Here),
    form("URL with a token", "://", r"://([A-Za-z0-9_.~-]{16,256})@", Here).random(),
    form("URL with a token as the user", "://", r"://([A-Za-z0-9_.~-]{16,256}):[^\s/@\x22']{0,64}@", Here).random(),
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
    form("curl -u", "curl wget http xh", r"<B>(?:curl|wget|http|https|xh)(?:\s[^|;]{0,240}?)?\s(?:-u|--user|--proxy-user|-U|-a|--auth)[ \t=]?\\{0,8}['\x22]?[^\s:'\x22\\]{0,128}:()", Word),
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
    form("echo into a prompt", "|", r"<B>(?:echo|printf)[ \t]{1,4}(?:-[neE]{1,3}[ \t]{1,4})?\\{0,8}['\x22]?([^\s'\x22|\\]{3,128})\\{0,8}[n'\x22]{0,2}[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}-S|[a-z /.-]{1,48}--password-stdin|(?:sudo[ \t])?chpasswd|[^|\n]{1,120}--password-stdin)", Here),
    form("set a variable", "setenv setx ENV ARG set", r"(?:<B>(?:setenv|setx|ENV|ARG|set[ \t]-[A-Za-z]{1,4})[ \t]{1,4})(?i:[A-Za-z0-9_]{0,64}(?:PASSWORD|PASSWD|PASS|PASSPHRASE|TOKEN|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY))[ \t]{1,4}()", Word),
    form("configure", "config secret", r"(?i:<B>(?:config|configure|secret)[ \t]{1,4}(?:--?[a-z]{1,16}[ \t]{1,4}){0,3}(?:set[ \t]{1,4})?[A-Za-z0-9_./:-]{0,96}(?:secret_access_key|session_token|token|password|secret|api_?key))[ \t]{1,4}()", Word),
    form("net user", "net", r"<B>net[ \t]{1,4}user[ \t]{1,4}\S{1,64}[ \t]{1,4}()", Word).random(),
    form("gh secret set", "gh", r"<B>gh[ \t]{1,4}secret[ \t]{1,4}set\s[^|;\n]{0,120}?(?:-b|--body)[ \t=]()", Word),
];

/// A value after a name that gives it away. What the value is, is found out in [`super::value`].
#[rustfmt::skip]
const NAMED: &[Form] = &[
    form("value of a telling name", "pass pwd secret token credential key mnemonic seed recovery _auth", r#"(?xi)
        (?P<word> passwords? | passwd | passphrase | passcode | pwd | pass | secrets? | token | credentials?
          | key | mnemonic | seed_?phrase | recovery_?(?:code|phrase) | _auth )
        (?: [_-]? (?: base | value | prod | production | dev | test | staging | live | primary | secondary | plain
          | old | new | current | root | [0-9]{1,3} ) )?
        (?: \\{0,8}['"`\]] ){0,2}
        [\ \t]{0,24}
        (?: => | :=  | !?={1,3} | \?= | :[\ \t]{0,4}[&A-Za-z][A-Za-z0-9_.<>\[\]&'\ |]{0,40}?[\ \t]= | : )
        [\ \t]{0,24} ()"#, Value),
];

/// All of them, in the order in which they are looked for.
fn all() -> impl Iterator<Item = &'static Form> {
    KEYS.iter().chain(PLACES).chain(COMMANDS).chain(NAMED)
}

/// The names of all forms that are looked for, for people: `GitHub token`, `curl -u`.
///
/// ```
/// assert!(duologue_tape::redact::forms().any(|form| form == "GitHub token"));
/// ```
pub fn forms() -> impl Iterator<Item = &'static str> {
    all().map(|form| form.name)
}

/// The forms, and what finds those that could be in a text.
#[derive(Debug)]
struct Table {
    forms: Vec<(&'static Form, OnceLock<Option<Regex>>)>,
    anchors: Vec<Anchors>,
}

/// Words, and the numbers of the forms that need one of them.
#[derive(Debug)]
struct Anchors {
    any: AhoCorasick,
    forms: Vec<usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let forms: Vec<&'static Form> = all().collect();
    let anchors = [false, true].into_iter().filter_map(|any_case| {
        let of_case = forms.iter().enumerate().filter(|(_, form)| form.is_any_case() == any_case);
        let (words, numbers): (Vec<&str>, Vec<usize>) = of_case
            .flat_map(|(number, form)| form.anchors().map(move |word| (word, number)))
            .unzip();
        let any = AhoCorasick::builder().ascii_case_insensitive(any_case).build(words).ok()?;
        Some(Anchors { any, forms: numbers })
    });
    let anchors = anchors.collect();
    Table { forms: forms.into_iter().map(|form| (form, OnceLock::new())).collect(), anchors }
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

    fn compile(&self) -> Option<Regex> {
        RegexBuilder::new(&self.expression()).unicode(false).build().ok()
    }
}

/// Whether an expression has a group that tells where the secret begins.
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

/// The forms that could be in this text, each with its expression.
pub(super) fn forms_in(text: &[u8]) -> Vec<(&'static Form, &'static Regex)> {
    let table = &*TABLE;
    let mut wanted = vec![false; table.forms.len()];
    for anchors in &table.anchors {
        for found in anchors.any.find_overlapping_iter(text) {
            let form = anchors.forms.get(found.pattern().as_usize());
            if let Some(wanted) = form.and_then(|form| wanted.get_mut(*form)) {
                *wanted = true;
            }
        }
    }
    let wanted = table.forms.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    wanted
        .filter_map(|((form, regex), _)| {
            Some((*form, regex.get_or_init(|| form.compile()).as_ref()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No form may look further than this: see [`forms_in`].
    const FURTHEST: usize = 1100;

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
            let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
            let parsed = parser.parse(&form.expression()).unwrap();
            let longest = parsed.properties().maximum_len();
            assert!(
                longest.is_some_and(|longest| longest <= FURTHEST),
                "{}: {longest:?}",
                form.name
            );
            assert!(form.compile().is_some(), "{} is too large", form.name);
            if form.until != Here {
                // What goes on after the match must begin in it.
                assert!(form.pattern.ends_with(')') || !has_group(form.pattern), "{}", form.name);
            }
        }
    }
}
