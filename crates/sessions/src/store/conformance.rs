//! A test suite for stores: the cases of the Python SDK's `run_session_store_conformance`, and what this crate adds.
//!
//! ```
//! use duologue_sessions::store::{MemoryStore, conformance};
//!
//! let report = conformance::run(|| Ok(Box::new(MemoryStore::new())));
//! assert!(report.iter().all(|case| case.passed()), "{report:#?}");
//! ```

use serde_json::{Value, json};

use super::{SessionKey, SessionStore, SessionSummary};
use crate::error::{Error, Result};
use crate::transcript::Entry;

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// What the store must do.
    pub name: &'static str,
    /// Whether it does.
    pub verdict: Verdict,
}

/// Whether a store does what a case asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It does.
    Passed,
    /// It lacks an optional operation that the case needs.
    Skipped(&'static str),
    /// It does not.
    Failed(String),
}

impl Case {
    /// Whether the case did not fail. Cases for optional operations that are missing count as passed.
    pub fn passed(&self) -> bool {
        !matches!(self.verdict, Verdict::Failed(_))
    }
}

type Make<'a> = dyn FnMut() -> Result<Box<dyn SessionStore>> + 'a;
type Run = fn(&dyn SessionStore) -> Result<(), Problem>;

/// Why a case did not pass.
enum Problem {
    Wrong(String),
    Store(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Runs all cases. `make` is called once for each, and gives an empty store.
pub fn run(mut make: impl FnMut() -> Result<Box<dyn SessionStore>>) -> Vec<Case> {
    CASES.iter().map(|(name, case)| Case { name, verdict: judge(&mut make, *case) }).collect()
}

fn judge(make: &mut Make<'_>, case: Run) -> Verdict {
    let store = match make() {
        Ok(store) => store,
        Err(error) => return Verdict::Failed(format!("the store could not be made: {error}")),
    };
    match case(&*store) {
        Ok(()) => Verdict::Passed,
        Err(Problem::Store(Error::Unsupported(what))) => Verdict::Skipped(what),
        Err(Problem::Store(error)) => Verdict::Failed(error.to_string()),
        Err(Problem::Wrong(what)) => Verdict::Failed(what),
    }
}

const CASES: [(&str, Run); 18] = [
    ("append then load returns the same entries in the same order", append_load),
    ("load of an unknown key returns none", load_unknown),
    ("several appends keep their order", appends_keep_order),
    ("append of nothing does nothing", append_nothing),
    ("subpaths are independent of the session", subpaths_are_independent),
    ("projects are independent of each other", projects_are_independent),
    ("list_sessions returns the sessions of a project", list_sessions),
    ("list_sessions leaves out subpaths", list_without_subpaths),
    ("list_summaries returns what was folded", list_summaries),
    ("delete removes a session", delete_session),
    ("delete removes the subpaths of a session", delete_cascades),
    ("delete with a subpath removes only that", delete_subpath),
    ("list_subkeys returns subpaths", list_subkeys),
    ("list_subkeys leaves out the session itself", list_subkeys_without_main),
    ("an entry with a known uuid is not added again", repeated_append),
    ("entries without a uuid are added each time", repeated_without_uuid),
    ("entries keep every field and every character", odd_entries),
    ("keys that lead elsewhere are refused or kept apart", odd_keys),
];

fn entry(value: &Value) -> Entry {
    Entry::new(value.to_string().into_bytes())
}

fn x(mut fields: Value) -> Value {
    fields["type"] = json!("x");
    fields
}

fn entries(values: &[Value]) -> Vec<Entry> {
    values.iter().map(|value| entry(&x(value.clone()))).collect()
}

fn key() -> SessionKey {
    SessionKey::new("proj", "sess")
}

fn agent(number: u32) -> SessionKey {
    key().with_subpath(format!("subagents/agent-{number}"))
}

/// Compares values: a store may change the order of fields.
fn expect(store: &dyn SessionStore, key: &SessionKey, values: &[Value]) -> Result<(), Problem> {
    let expected: Vec<Value> = values.iter().cloned().map(x).collect();
    let found = store.load(key)?.map(|entries| {
        entries
            .iter()
            .map(|entry| serde_json::from_slice(entry.bytes()).unwrap_or(Value::Null))
            .collect::<Vec<Value>>()
    });
    same(&format!("load of {key:?}"), &found, &Some(expected))
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), Problem> {
    if found == expected {
        Ok(())
    } else {
        Err(Problem::Wrong(format!("{what}: found {found:?}, expected {expected:?}")))
    }
}

fn nothing(store: &dyn SessionStore, key: &SessionKey) -> Result<(), Problem> {
    same(&format!("load of {key:?}"), &store.load(key)?.map(|entries| entries.len()), &None)
}

fn append_load(store: &dyn SessionStore) -> Result<(), Problem> {
    let values = [json!({ "uuid": "b", "n": 1 }), json!({ "uuid": "a", "n": 2 })];
    store.append(&key(), &entries(&values))?;
    expect(store, &key(), &values)
}

fn load_unknown(store: &dyn SessionStore) -> Result<(), Problem> {
    nothing(store, &SessionKey::new("proj", "nope"))?;
    store.append(&key(), &entries(&[json!({ "uuid": "x", "n": 1 })]))?;
    nothing(store, &key().with_subpath("nope"))
}

fn appends_keep_order(store: &dyn SessionStore) -> Result<(), Problem> {
    let values = ["z", "a", "m", "b"].map(|uuid| json!({ "uuid": uuid }));
    let [z, a, m, b] = &values;
    store.append(&key(), &entries(std::slice::from_ref(z)))?;
    store.append(&key(), &entries(&[a.clone(), m.clone()]))?;
    store.append(&key(), &entries(std::slice::from_ref(b)))?;
    expect(store, &key(), &values)
}

fn append_nothing(store: &dyn SessionStore) -> Result<(), Problem> {
    let values = [json!({ "uuid": "a", "n": 1 })];
    store.append(&key(), &entries(&values))?;
    store.append(&key(), &[])?;
    expect(store, &key(), &values)?;
    store.append(&SessionKey::new("proj", "empty"), &[])?;
    nothing(store, &SessionKey::new("proj", "empty"))
}

fn subpaths_are_independent(store: &dyn SessionStore) -> Result<(), Problem> {
    store.append(&key(), &entries(&[json!({ "uuid": "m" })]))?;
    store.append(&agent(1), &entries(&[json!({ "uuid": "s" })]))?;
    expect(store, &key(), &[json!({ "uuid": "m" })])?;
    expect(store, &agent(1), &[json!({ "uuid": "s" })])
}

fn projects_are_independent(store: &dyn SessionStore) -> Result<(), Problem> {
    for project in ["A", "B"] {
        store.append(&SessionKey::new(project, "s1"), &entries(&[json!({ "from": project })]))?;
    }
    for project in ["A", "B"] {
        expect(store, &SessionKey::new(project, "s1"), &[json!({ "from": project })])?;
        match store.list_sessions(project) {
            Err(Error::Unsupported(_)) => {}
            listed => same("sessions of a project", &listed?.len(), &1)?,
        }
    }
    Ok(())
}

/// Times are in milliseconds: in seconds they would be in 1970.
fn in_milliseconds(time: i64) -> Result<(), Problem> {
    same("a time in milliseconds since 1970", &(time > 1_000_000_000_000), &true)
}

fn list_sessions(store: &dyn SessionStore) -> Result<(), Problem> {
    for (project, session) in [("proj", "a"), ("proj", "b"), ("other", "c")] {
        store.append(&SessionKey::new(project, session), &entries(&[json!({ "n": 1 })]))?;
    }
    let listed = store.list_sessions("proj")?;
    let mut ids: Vec<&str> = listed.iter().map(|session| session.session_id.as_str()).collect();
    ids.sort_unstable();
    same("sessions", &ids, &vec!["a", "b"])?;
    listed.iter().try_for_each(|session| in_milliseconds(session.modified))?;
    same("sessions of an unknown project", &store.list_sessions("never")?.len(), &0)
}

fn list_without_subpaths(store: &dyn SessionStore) -> Result<(), Problem> {
    store.append(&key(), &entries(&[json!({ "n": 1 })]))?;
    store.append(&agent(1), &entries(&[json!({ "n": 1 })]))?;
    let listed: Vec<String> =
        store.list_sessions("proj")?.into_iter().map(|session| session.session_id).collect();
    same("sessions", &listed, &vec!["sess".to_owned()])
}

fn list_summaries(store: &dyn SessionStore) -> Result<(), Problem> {
    let at = |second: u32| format!("2024-01-01T00:00:0{second}.000Z");
    store.append(
        &key(),
        &entries(&[
            json!({ "timestamp": at(0), "customTitle": "first" }),
            json!({ "timestamp": at(1) }),
        ]),
    )?;
    store.append(&key(), &entries(&[json!({ "timestamp": at(2), "customTitle": "second" })]))?;
    store.append(
        &SessionKey::new("other", "elsewhere"),
        &entries(&[json!({ "timestamp": at(0) })]),
    )?;
    let one = |store: &dyn SessionStore| -> Result<SessionSummary, Problem> {
        let found = store.list_summaries("proj")?;
        match <[SessionSummary; 1]>::try_from(found) {
            Ok([summary]) => Ok(summary),
            Err(found) => Err(Problem::Wrong(format!("one summary was expected: {found:?}"))),
        }
    };
    let summary = one(store)?;
    same("the session", &summary.session_id.as_str(), &"sess")?;
    same("the last title", &summary.data.get("customTitle"), &Some(&json!("second")))?;
    in_milliseconds(summary.modified)?;
    let listed = match store.list_sessions("proj") {
        Err(Error::Unsupported(_)) => Vec::new(),
        listed => listed?,
    };
    for session in listed {
        same("a summary as new as its session", &(summary.modified >= session.modified), &true)?;
    }
    let again = SessionSummary::fold(
        Some(summary.clone()),
        &key(),
        &entries(&[json!({ "timestamp": at(3) })]),
    );
    same("folding keeps the time", &again.modified, &summary.modified)?;
    store.append(&agent(1), &entries(&[json!({ "timestamp": at(9), "customTitle": "agent" })]))?;
    same("a sub-agent changes nothing", &one(store)?.data, &summary.data)?;
    same("summaries of an unknown project", &store.list_summaries("never")?.len(), &0)?;
    match store.delete(&key()) {
        Err(Error::Unsupported(_)) => Ok(()),
        deleted => {
            deleted?;
            same("summaries after a delete", &store.list_summaries("proj")?.len(), &0)
        }
    }
}

fn delete_session(store: &dyn SessionStore) -> Result<(), Problem> {
    store.delete(&SessionKey::new("proj", "never-written"))?;
    store.append(&key(), &entries(&[json!({ "n": 1 })]))?;
    store.delete(&key())?;
    nothing(store, &key())?;
    store.append(&key(), &entries(&[json!({ "uuid": "again" })]))?;
    expect(store, &key(), &[json!({ "uuid": "again" })])
}

fn delete_cascades(store: &dyn SessionStore) -> Result<(), Problem> {
    let others = [SessionKey::new("proj", "sess2"), SessionKey::new("other-proj", "sess")];
    for place in [key(), agent(1), agent(2)].iter().chain(&others) {
        store.append(place, &entries(&[json!({ "n": 1 })]))?;
    }
    store.delete(&key())?;
    for place in [key(), agent(1), agent(2)] {
        nothing(store, &place)?;
    }
    for place in &others {
        expect(store, place, &[json!({ "n": 1 })])?;
    }
    match store.list_subkeys("proj", "sess") {
        Err(Error::Unsupported(_)) => {}
        listed => same("subpaths", &listed?.len(), &0)?,
    }
    match store.list_sessions("proj") {
        Err(Error::Unsupported(_)) => Ok(()),
        listed => {
            same("sessions", &listed?.iter().any(|session| session.session_id == "sess"), &false)
        }
    }
}

fn delete_subpath(store: &dyn SessionStore) -> Result<(), Problem> {
    for place in [key(), agent(1), agent(2)] {
        store.append(&place, &entries(&[json!({ "n": 1 })]))?;
    }
    store.delete(&agent(1))?;
    nothing(store, &agent(1))?;
    expect(store, &agent(2), &[json!({ "n": 1 })])?;
    expect(store, &key(), &[json!({ "n": 1 })])?;
    match store.list_subkeys("proj", "sess") {
        Err(Error::Unsupported(_)) => Ok(()),
        listed => same("subpaths", &listed?, &vec!["subagents/agent-2".to_owned()]),
    }
}

fn list_subkeys(store: &dyn SessionStore) -> Result<(), Problem> {
    for place in [
        key(),
        agent(1),
        agent(2),
        SessionKey::new("proj", "other").with_subpath("subagents/agent-x"),
    ] {
        store.append(&place, &entries(&[json!({ "n": 1 })]))?;
    }
    let mut listed = store.list_subkeys("proj", "sess")?;
    listed.sort_unstable();
    same("subpaths", &listed, &vec!["subagents/agent-1".to_owned(), "subagents/agent-2".to_owned()])
}

fn list_subkeys_without_main(store: &dyn SessionStore) -> Result<(), Problem> {
    store.append(&key(), &entries(&[json!({ "n": 1 })]))?;
    same("subpaths", &store.list_subkeys("proj", "sess")?.len(), &0)?;
    same("subpaths of an unknown session", &store.list_subkeys("proj", "never")?.len(), &0)
}

fn repeated_append(store: &dyn SessionStore) -> Result<(), Problem> {
    let values = [json!({ "uuid": "a", "n": 1 }), json!({ "uuid": "b", "n": 2 })];
    store.append(&key(), &entries(&values[..1]))?;
    store.append(&key(), &entries(&values))?;
    expect(store, &key(), &values)
}

fn repeated_without_uuid(store: &dyn SessionStore) -> Result<(), Problem> {
    let value = json!({ "tag": "t" });
    store.append(&key(), &entries(std::slice::from_ref(&value)))?;
    store.append(&key(), &entries(std::slice::from_ref(&value)))?;
    expect(store, &key(), &[value.clone(), value])
}

fn odd_entries(store: &dyn SessionStore) -> Result<(), Problem> {
    let values = [
        json!({ "uuid": "", "text": "line\nbreak \u{0} \u{2028} 🦀 é" }),
        json!({ "uuid": 5, "nested": { "deep": [[], {}, null, true, -1.5e10] } }),
        json!({ "long": "x".repeat(100_000) }),
    ];
    store.append(&key(), &entries(&values))?;
    expect(store, &key(), &values)
}

fn odd_keys(store: &dyn SessionStore) -> Result<(), Problem> {
    let plain = [json!({ "n": 1 })];
    store.append(&key(), &entries(&plain))?;
    for odd in [
        SessionKey::new("..", "sess"),
        SessionKey::new("proj", "../sess"),
        SessionKey::new("other", "../proj/sess"),
        key().with_subpath("../sess"),
        key().with_subpath("/etc/passwd"),
    ] {
        // Refusing is fine, and so is keeping it under a name of its own.
        let _ = store.append(&odd, &entries(&[json!({ "odd": true })]));
        expect(store, &key(), &plain)?;
    }
    Ok(())
}
