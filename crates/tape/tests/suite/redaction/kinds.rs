//! The kinds of secrets of the corpus. Each is put together from parts, so that no scanner takes this file for a leak.

/// A secret and the text around it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// What must be replaced.
    pub(super) secret: String,
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS: &str = "0123456789";

/// Random letters of this length, from a seed. The second is a digit, as real secrets of this length have digits.
fn body(alphabet: &str, length: usize, seed: &str) -> String {
    let mut state = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length)
        .map(|place| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match place {
                1 => char::from_digit(2 + (state >> 33) as u32 % 6, 10).unwrap(),
                // Never a dash at either end.
                _ => {
                    letters[(state >> 33) as usize
                        % if place == 0 || place + 1 == length {
                            32.min(letters.len())
                        } else {
                            letters.len()
                        }]
                }
            }
        })
        .collect()
}

/// Tokens with a known form: a prefix in two parts, an alphabet, a length, an ending.
#[rustfmt::skip]
const TOKENS: &[(&str, &str, &str, &str, usize, &str)] = &[
    ("Anthropic key", "sk-", "ant-api03-", URL, 93, "AA"),
    ("Anthropic admin key", "sk-", "ant-admin01-", URL, 93, "AA"),
    ("OpenAI key", "s", "k-", ALNUM, 48, ""),
    ("OpenAI project key", "sk-", "proj-", URL, 64, ""),
    ("OpenRouter key", "sk-", "or-v1-", HEX, 64, ""),
    ("GitHub personal token", "gh", "p_", ALNUM, 36, ""),
    ("GitHub OAuth token", "gh", "o_", ALNUM, 36, ""),
    ("GitHub user token", "gh", "u_", ALNUM, 36, ""),
    ("GitHub server token", "gh", "s_", ALNUM, 36, ""),
    ("GitHub refresh token", "gh", "r_", ALNUM, 36, ""),
    ("GitHub fine-grained token", "github", "_pat_", ALNUM, 82, ""),
    ("GitLab personal token", "gl", "pat-", URL, 20, ""),
    ("GitLab deploy token", "gl", "dt-", URL, 20, ""),
    ("GitLab runner token", "gl", "rt-", URL, 20, ""),
    ("Slack bot token", "xo", "xb-", DIGITS, 12, "-AbCdEfGhIjKl"),
    ("Slack user token", "xo", "xp-", DIGITS, 12, "-AbCdEfGhIjKl"),
    ("Slack app token", "xa", "pp-1-", ALNUM, 40, ""),
    ("Stripe live key", "sk", "_live_", ALNUM, 24, ""),
    ("Stripe restricted key", "rk", "_live_", ALNUM, 24, ""),
    ("Stripe webhook secret", "wh", "sec_", ALNUM, 32, ""),
    ("AWS access key", "AK", "IA", UPPER, 16, ""),
    ("AWS temporary key", "AS", "IA", UPPER, 16, ""),
    ("AWS session token", "FwoGZXIv", "YXdz", BASE64, 200, ""),
    ("Google API key", "AI", "za", URL, 35, ""),
    ("Google client secret", "GO", "CSPX-", URL, 28, ""),
    ("Google access token", "ya", "29.", URL, 60, ""),
    ("SendGrid key", "S", "G.", URL, 22, ".AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEf"),
    ("Twilio key", "S", "K", HEX, 32, ""),
    ("Mailgun key", "ke", "y-", HEX, 32, ""),
    ("Mailchimp key", "", "", HEX, 32, "-us14"),
    ("npm token", "np", "m_", ALNUM, 36, ""),
    ("PyPI token", "py", "pi-AgEIcHlwaS5vcmc", URL, 80, ""),
    ("Vault token", "hv", "s.", URL, 90, ""),
    ("DigitalOcean token", "do", "p_v1_", HEX, 64, ""),
    ("Heroku key", "HR", "KU-", URL, 58, ""),
    ("Databricks token", "da", "pi", HEX, 32, ""),
    ("Hugging Face token", "h", "f_", ALNUM, 34, ""),
    ("Docker token", "dckr", "_pat_", URL, 27, ""),
    ("Terraform token", "AbCdEf12345678.", "atlasv1.", ALNUM, 60, ""),
    ("Shopify token", "shp", "at_", HEX, 32, ""),
    ("Square token", "sq0", "csp-", URL, 43, ""),
    ("New Relic key", "NR", "AK-", UPPER, 27, ""),
    ("age key", "AGE-SECRET", "-KEY-1", UPPER, 58, ""),
    ("Linear key", "lin", "_api_", ALNUM, 40, ""),
    ("Notion token", "nt", "n_", ALNUM, 46, ""),
    ("Figma token", "fi", "gd_", URL, 40, ""),
    ("Postman key", "PM", "AK-", HEX, 24, "-0123456789abcdef0123456789abcdef01"),
    ("Grafana token", "gl", "sa_", ALNUM, 32, "_a1b2c3d4"),
    ("Sentry token", "snt", "rys_", ALNUM, 60, ""),
    ("Groq key", "gs", "k_", ALNUM, 52, ""),
    ("Tailscale key", "tsk", "ey-auth-", ALNUM, 30, ""),
    ("Atlassian token", "ATA", "TT3x", ALNUM, 60, ""),
    ("Doppler token", "dp.", "pt.", ALNUM, 43, ""),
    ("Telegram bot token", "123456", "7890:AA", URL, 33, ""),
    ("Discord bot token", "MTIzNDU2Nzg5", "MDEyMzQ1Njc4.", ALNUM, 6, ".AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("JSON web token", "eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.", URL, 43, ""),
    ("Azure client secret", "abc", "8Q~", ALNUM, 34, ""),
];

/// Texts with a secret `@` in them, and the secret.
#[rustfmt::skip]
const TEXTS: &[(&str, &str, &str)] = &[
    ("short password in a variable", "DB_PASSWORD=@", "hunter2"),
    ("password", "password=@", "hunter2"),
    ("token", "token=@", "tok3nz"),
    ("secret", "secret=@", "s3cr3t"),
    ("API key in a variable", "API_KEY=@", "k3yk3y"),
    ("PGPASSWORD", "PGPASSWORD=@ psql -h db", "hunter2"),
    ("password in quotes, with spaces", "PASSWORD=\"@\"", "correct horse battery"),
    ("password in quotes, with a dollar", "password: '@'", "pa$$w0rd!"),
    ("password with a dollar", "DB_PASSWORD=@", "pa$$w0rd"),
    ("password that is a word", "MYSQL_PASSWORD=@", "swordfish"),
    ("password in YAML", "password: @", "hunter2"),
    ("password in TOML", "password = \"@\"", "hunter2"),
    ("password in JSON", "{\"user\":\"x\",\"password\":\"@\"}", "hunter2"),
    ("password in XML", "<password>@</password>", "hunter2"),
    ("password flag", "tool --password @ --verbose", "hunter2"),
    ("token flag", "tool --token=@", "abcd1234"),
    ("AWS secret key", "aws_secret_access_key = @", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"),
    ("Azure account key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@;EndpointSuffix=core", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIzNA=="),
    ("Azure signature", "https://x.blob.core.windows.net/c?sv=2022&se=2030&sig=@&sp=r", "Zm9vYmFyMTIzNGZvb2JhcjEyMzQ%3D"),
    ("Postgres URL", "postgres://app:@@db.internal:5432/x", "hunter2pw"),
    ("Redis URL without a user", "redis://:@@cache:6379/0", "hunter2pw"),
    ("MongoDB URL", "mongodb+srv://root:@@c0.mongodb.net", "hunter2pw"),
    ("HTTPS URL", "git clone https://ann:@@git.corp/x.git", "hunter2pw"),
    ("bearer header", "Authorization: Bearer @", "abcd1234efgh5678"),
    ("basic header", "Authorization: Basic @", "YW5uOmh1bnRlcjI="),
    ("token header", "Authorization: token @", "abcd1234efgh5678"),
    ("API key header", "X-Api-Key: @", "abcd1234efgh5678"),
    ("cookie", "Cookie: theme=dark; sessionid=@", "abcd1234efgh5678"),
    ("set-cookie", "Set-Cookie: sid=@; Path=/; HttpOnly", "abcd1234efgh5678"),
    ("curl -u", "curl -sS -u ann:@ https://x.test/", "hunter2"),
    ("curl -H", "curl -H 'Authorization: token @' https://x.test/", "abcd1234efgh5678"),
    ("mysql -p", "mysql -u root -p@ shop", "hunter2"),
    ("netrc", "machine git.corp login ann password @", "hunter2"),
    ("pgpass", "db.internal:5432:shop:app:@", "hunter2"),
    ("npmrc", "//registry.npmjs.org/:_authToken=@", "abcd1234efgh5678"),
    ("Slack webhook", "https://hooks.slack.com/services/@", "T00AAAA11/B00BBBB22/abcd1234efgh5678ijkl"),
    ("Discord webhook", "https://discord.com/api/webhooks/123456789012345678/@", "abcd1234-efgh5678_ijklmnop"),
    ("query parameter", "GET /x?user=1&access_token=@&page=2", "abcd1234efgh5678"),
    ("client secret", "client_secret: @", "abcd1234efgh5678"),
    ("Datadog key", "DD_API_KEY=@", "0123456789abcdef0123456789abcdef"),
    ("Heroku key in a variable", "HEROKU_API_KEY=@", "01234567-89ab-cdef-0123-456789abcdef"),
    ("Rails secret", "SECRET_KEY_BASE=@", "0123456789abcdef0123456789abcdef0123456789abcdef"),
];

fn in_two(first: &str, second: &str) -> String {
    [first, second].concat()
}

/// All kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let tokens = TOKENS.iter().map(|(name, first, second, alphabet, length, end)| {
        let secret = in_two(first, second) + &body(alphabet, *length, name) + end;
        Kind { name, text: secret.clone(), secret }
    });
    // An @ in the text is replaced by the secret; of two, only the first.
    let texts = TEXTS.iter().map(|(name, text, secret)| Kind {
        name,
        text: text.replacen('@', secret, 1),
        secret: (*secret).to_owned(),
    });
    let line = || body(BASE64, 64, "a line of a key");
    let block = |title: &str, end: bool| {
        let mark = |word: &str| format!("-----{word} {title}-----");
        let body = format!("{}\n{}\n{}\n", mark("BEGIN"), line(), body(BASE64, 40, "another"));
        if end { body + &mark("END") } else { body }
    };
    let blocks = [
        ("private key", "PRIVATE KEY", true),
        ("RSA key", "RSA PRIVATE KEY", true),
        ("SSH key", "OPENSSH PRIVATE KEY", true),
        ("private key without an end", "EC PRIVATE KEY", false),
        ("PGP key", "PGP PRIVATE KEY BLOCK", true),
    ];
    let blocks =
        blocks.map(|(name, title, end)| Kind { name, text: block(title, end), secret: line() });
    tokens.chain(texts).chain(blocks).collect()
}
