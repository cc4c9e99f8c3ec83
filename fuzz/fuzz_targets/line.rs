//! Any bytes as a line: this crate's reader against `serde_json`.

#![no_main]

use std::fmt::Debug;

use duologue_fuzz::{Types, is_json, is_syntax, meaning};
use duologue_protocol::{Decoded, FaultKind, Line, RawJson, Survey, Wire};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let line = Line::from(data.to_vec());
    assert_eq!(line.raw(), data);
    let (head, host, agent) = (line.head(), line.to_host(), line.to_agent());
    let faults = [head.as_ref().err(), host.malformed(), agent.malformed()]
        .map(|fault| fault.map(|f| f.kind()));
    let Ok(text) = std::str::from_utf8(data) else {
        assert_eq!(faults, [Some(&FaultKind::NotUtf8); 3]);
        return;
    };
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);

    // The grammar is the same.
    let valid = is_json(json);
    match RawJson::parse(json) {
        Ok(_) => assert!(valid),
        Err(fault) if valid => assert_eq!(fault.kind(), &FaultKind::TooDeep),
        Err(_) => {}
    }
    for fault in faults {
        match fault {
            Some(kind) => assert!(!(valid && is_syntax(kind)), "{kind:?}"),
            None => assert!(valid),
        }
    }

    // The type is the same. One that stands twice and differs is none.
    if let Ok(Types(types)) = serde_json::from_str(json)
        && let Some(last) = types.last()
    {
        let agree = types.iter().all(|kind| kind == last) && last.is_string();
        match &head {
            Ok(head) => assert!(agree && last.as_str() == Some(&*head.kind)),
            Err(fault) => assert!(!agree, "{fault}"),
        }
        assert!(agree || (host.message().is_none() && agent.message().is_none()));
    }

    check(&host, json, |line| line.to_host());
    check(&agent, json, |line| line.to_agent());
});

/// A message says what its line says, and is read again as the same message.
fn check<M: Wire + PartialEq + Debug>(
    decoded: &Decoded<M>,
    json: &str,
    read: impl Fn(&Line) -> Decoded<M>,
) {
    let Some(message) = decoded.message() else { return };
    Survey::of(message, |path, finding| drop((path.len(), finding)));
    let written = message.to_json();
    assert_eq!(meaning(json), meaning(&written), "\n   read {json}\nwritten {written}");
    let again = read(&Line::from(written.as_str()));
    assert_eq!(again.message().map(Wire::to_json).as_ref(), Some(&written));
    // Raw values lose white space where it holds newlines, which no line has.
    if !json.contains('\n') {
        assert_eq!(&again, decoded);
    }
}
