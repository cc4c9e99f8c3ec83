//! Any JSON as any typed body: what is read says the same when it is written.

#![no_main]

use duologue_fuzz::typed::KINDS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&number, json)) = data.split_first() else { return };
    let Ok(json) = std::str::from_utf8(json) else { return };
    let Some(kind) = KINDS.get(usize::from(number) % KINDS.len()) else { return };
    kind.check(json);
});
