//! Words in and after names such as `password`.

/// Words, with a space between two.
pub(super) struct Words(&'static str);

impl Words {
    pub(super) fn any(&self, is_it: impl FnMut(&&'static str) -> bool) -> bool {
        self.0.split_ascii_whitespace().find(is_it).is_some()
    }

    pub(super) fn has(&self, word: &[u8]) -> bool {
        !word.is_empty() && self.any(|other| other.as_bytes() == word)
    }
}

/// Values that mean "none", types, and words of code and prose that follow a name.
pub(super) const NO_SECRET: Words = Words(
    "\
    - -- none null nil undefined true false yes no on off empty unset required optional missing invalid \
    valid expired disabled enabled default hidden string str text char bytes byte bool boolean int \
    integer number float any object array list dict map void never unknown symbol self this super class \
    interface enum struct type const let var await async new return function input value values data \
    args arg options opts params param props config env request req response res result user name field \
    the a an is are was of to for in and or not with from if must when which that your flag option \
    requires cannot can will should has have base64 utf8 utf-8 sha256 sha1 sha512 md5 oauth2 hex i8 i16 \
    i32 i64 i128 u8 u16 u32 u64 u128 usize isize f32 f64 int32 int64 uint32 uint64 float32 float64 rs256 \
    hs256 es256 ed25519 x509 p256 aes256 http2 ipv4 ipv6 oauth basic bearer jwt eof redacted masked \
    omitted secret password token key credentials prompt ask stdin",
);

/// Words that mark a name as secret, anywhere in it.
pub(super) const SECRET_WORDS: Words =
    Words("password passwd passphrase passcode secret token credential apikey api_key api-key");

/// Kinds of tokens and keys that are not secret.
pub(super) const NOT_TELLING: Words = Words(
    "\
    progresstoken inputtoken outputtoken paginationtoken clienttoken requesttoken changetoken resumetoken pagetoken nexttoken continuationtoken cancellationtoken canceltoken maxtoken stoptoken \
    eostoken bostoken padtoken unktoken starttoken endtoken septoken specialtoken masktoken clstoken \
    synctoken lasttoken currenttoken prevtoken peektoken publickey primarykey foreignkey sortkey \
    cachekey partitionkey hotkey objectkey idempotencykey publishablekey routingkey rowkey groupkey \
    dedupekey parentkey hostkey storagekey i18nkey querykey compass bypass renderpass firstpass \
    secondpass",
);

/// Words before `key` that make it a secret.
pub(super) const KEYS: Words = Words(
    "\
    api access secret private encryption signing master account shared auth service license licence \
    subscription admin deploy application app consumer cipher crypt decryption webhook hmac jwt session \
    vault wallet recovery preshared psk",
);
