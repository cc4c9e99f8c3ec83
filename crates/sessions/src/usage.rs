//! What sessions used: responses of the model, their tokens and their cost.
//!
//! A response is in a transcript once for each of its blocks, and again in every fork and in every file that an old version
//! wrote when it resumed. It counts once: the id of the message and that of the request identify it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::error::{Error, Result};
use crate::index::text_of;
use crate::info::{Problem, SessionInfo};
use crate::project::project_key;
use crate::session::StoredSession;
use crate::sessions::{DamagedSession, Sessions};
use crate::transcript::Entries;
use crate::{js, json, parallel};

/// Tokens of responses of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Tokens {
    /// Input that was neither read from the cache nor written to it.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input that was read from the cache.
    pub cache_read: u64,
    /// Input that was written to the cache.
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// Reads the `usage` of a message. `None` if it is not an object.
    pub(crate) fn read(usage: &str) -> Option<Self> {
        let names = [
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "cache_creation",
        ];
        let [input, output, read, write, detail] = json::fields(usage, &names)?;
        let number = |value: Option<&str>| value.and_then(|it| it.parse().ok()).unwrap_or_default();
        let hour = detail.and_then(|it| json::fields(it, &["ephemeral_1h_input_tokens"]));
        Some(Self {
            input: number(input),
            output: number(output),
            cache_read: number(read),
            cache_write: number(write),
            cache_write_1h: hour.map(|[hour]| number(hour)).unwrap_or_default(),
        })
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cache_write_1h += other.cache_write_1h;
    }
}

/// Computes the cost of a response in US dollars. `None` if the price of the model is not known.
pub type Price = dyn Fn(&str, &Tokens) -> Option<f64> + Send + Sync;

type Day = dyn Fn(i64) -> String + Send + Sync;

/// What to count, and how.
///
/// ```
/// use duologue_sessions::UsageOptions;
///
/// let options = UsageOptions::default()
///     .price(|model, tokens| model.starts_with("my-").then(|| tokens.output as f64 * 2e-6));
/// # let _ = options;
/// ```
pub struct UsageOptions {
    since: i64,
    until: i64,
    price: Box<Price>,
    day: Box<Day>,
}

impl Default for UsageOptions {
    /// All responses, by days of UTC. No price is known.
    fn default() -> Self {
        let day = |time| js::format_time(time).get(..10).unwrap_or_default().to_owned();
        let price = |_: &str, _: &Tokens| None;
        Self { since: i64::MIN, until: i64::MAX, price: Box::new(price), day: Box::new(day) }
    }
}

impl std::fmt::Debug for UsageOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("UsageOptions");
        debug.field("since", &self.since).field("until", &self.until).finish_non_exhaustive()
    }
}

impl UsageOptions {
    /// Only responses from this time on, in milliseconds since 1970. Responses without a time are left out then.
    #[must_use]
    pub fn since(mut self, time: i64) -> Self {
        self.since = time;
        self
    }

    /// Only responses before this time, in milliseconds since 1970.
    #[must_use]
    pub fn until(mut self, time: i64) -> Self {
        self.until = time;
        self
    }

    /// How the cost of a response is computed.
    #[must_use]
    pub fn price(
        mut self,
        price: impl Fn(&str, &Tokens) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        self.price = Box::new(price);
        self
    }

    /// The day of a time in milliseconds since 1970. Without this it is the day of UTC.
    #[must_use]
    pub fn day(mut self, day: impl Fn(i64) -> String + Send + Sync + 'static) -> Self {
        self.day = Box::new(day);
        self
    }
}

/// What a number of responses used.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Spent {
    /// How many responses there are.
    pub responses: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// Their cost in US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// How many of the responses have no known price.
    pub unpriced: u64,
}

impl Spent {
    fn add(&mut self, model: &str, tokens: Tokens, price: &Price) {
        self.responses += 1;
        self.tokens += tokens;
        match price(model, &tokens) {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced += u64::from(tokens.total() > 0),
        }
    }

    /// Adds what others used.
    pub fn merge(&mut self, other: &Self) {
        self.responses += other.responses;
        self.tokens += other.tokens;
        self.cost_usd += other.cost_usd;
        self.unpriced += other.unpriced;
    }
}

/// What one session used.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionUsage {
    /// How many prompts the model answered.
    pub turns: u64,
    /// What the session and its sub-agents used.
    pub spent: Spent,
}

/// What sessions used, by day, model and project.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// One row for each day, model and project, in this order.
    pub rows: Vec<UsageRow>,
    /// Transcripts that could not be read. They are not counted.
    pub damaged: Vec<DamagedSession>,
}

/// What the sessions of one project used with one model on one day.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UsageRow {
    /// The day: `2026-11-16`. Empty if the responses have no time.
    pub day: String,
    /// The model.
    pub model: String,
    /// The working directory of the project, or the name of its folder if no transcript in it has one.
    pub project: String,
    /// What was used.
    pub spent: Spent,
}

/// One response in one transcript.
#[derive(Clone, Debug)]
struct Response {
    key: u128,
    time: Option<i64>,
    model: u32,
    tokens: Tokens,
}

/// What one transcript holds.
#[derive(Debug, Default)]
struct Scanned {
    responses: Vec<Response>,
    models: Vec<String>,
    turns: u64,
    cwd: Option<String>,
}

/// Finds the responses of a transcript.
struct Scanner {
    hashers: [RandomState; 2],
    usage: memmem::Finder<'static>,
    assistant: memmem::Finder<'static>,
    user: memmem::Finder<'static>,
    result: memmem::Finder<'static>,
}

impl Scanner {
    fn new() -> Self {
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            usage: memmem::Finder::new("\"usage\""),
            assistant: memmem::Finder::new("\"assistant\""),
            user: memmem::Finder::new("\"user\""),
            result: memmem::Finder::new("\"tool_result\""),
        }
    }

    fn key(&self, id: (&str, &str)) -> u128 {
        let [high, low] = &self.hashers;
        u128::from(high.hash_one(id)) << 64 | u128::from(low.hash_one(id))
    }

    fn scan(&self, path: &Path) -> Result<Scanned> {
        let mut entries = Entries::open(path)?;
        let mut found = Scanned::default();
        let mut places: HashMap<u128, usize> = HashMap::new();
        let mut line = Vec::new();
        let mut asked = false;
        while entries.read_into(&mut line).map_err(Error::io(path))?.is_some() {
            if found.cwd.is_none() && memmem::find(&line, b"\"cwd\":").is_some() {
                let text = text_of(&line);
                let cwd = json::fields(text.trim(), &["cwd"]).and_then(|[cwd]| cwd);
                found.cwd = cwd.and_then(json::string).map(|cwd| cwd.into_owned());
            }
            let is_response =
                self.usage.find(&line).is_some() && self.assistant.find(&line).is_some();
            if is_response {
                let text = text_of(&line);
                asked &= !self.response(text.trim(), &mut found, &mut places, asked);
            } else if self.user.find(&line).is_some() && self.result.find(&line).is_none() {
                asked |= is_prompt(text_of(&line).trim());
            }
        }
        Ok(found)
    }

    /// Adds a response. True if it is one of the main agent: it answers the prompt before it.
    fn response(
        &self,
        line: &str,
        found: &mut Scanned,
        places: &mut HashMap<u128, usize>,
        asked: bool,
    ) -> bool {
        let names = ["type", "message", "requestId", "uuid", "timestamp", "isSidechain"];
        let Some([Some("\"assistant\""), Some(message), request, uuid, time, side]) =
            json::fields(line, &names)
        else {
            return false;
        };
        let Some([id, model, Some(usage)]) = json::fields(message, &["id", "model", "usage"])
        else {
            return false;
        };
        let text = |value: Option<&str>| {
            value.and_then(json::string).map(|text| text.into_owned()).unwrap_or_default()
        };
        let model = text(model);
        let is_main = side != Some("true");
        // Claude Code writes its own error messages as those of this model.
        let Some(tokens) = Tokens::read(usage).filter(|_| model != "<synthetic>") else {
            return is_main;
        };
        found.turns += u64::from(is_main && asked);
        let id = text(id);
        let key = match id.is_empty() {
            true => self.key(("", &text(uuid))),
            false => self.key((&id, &text(request))),
        };
        if let Some(known) = places.get(&key).and_then(|at| found.responses.get_mut(*at)) {
            // The entries of a response have its tokens so far.
            if tokens.output >= known.tokens.output {
                known.tokens = tokens;
            }
            return is_main;
        }
        let place = found.models.iter().position(|known| *known == model);
        let place = place.unwrap_or_else(|| {
            found.models.push(model);
            found.models.len() - 1
        });
        places.insert(key, found.responses.len());
        let time = time.and_then(json::string).and_then(|time| js::parse_time(&time));
        let model = u32::try_from(place).unwrap_or(u32::MAX);
        found.responses.push(Response { key, time, model, tokens });
        is_main
    }
}

/// Whether an entry is a prompt of the main conversation.
fn is_prompt(line: &str) -> bool {
    let names = ["type", "isMeta", "isSidechain", "isCompactSummary"];
    matches!(
        json::fields(line, &names),
        Some([Some("\"user\""), meta, side, summary])
            if meta != Some("true") && side != Some("true") && summary != Some("true")
    )
}

impl StoredSession {
    /// What the session and its sub-agents used. This reads the whole session.
    ///
    /// ```
    /// use duologue_sessions::{Sessions, UsageOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(folder.path().join("projects/-my"))?;
    /// # let text = concat!(r#"{"type":"user","uuid":"a","message":{"role":"user","content":"Hello?"}}"#, "\n",
    /// #   r#"{"type":"assistant","uuid":"b","message":{"id":"m","model":"x","usage":{"input_tokens":3,"output_tokens":5}}}"#);
    /// # std::fs::write(folder.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let session = Sessions::in_config_dir(folder.path()).get(id)?;
    /// let usage = session.usage(&UsageOptions::default())?;
    /// assert_eq!((usage.turns, usage.spent.tokens.output), (1, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn usage(&self, options: &UsageOptions) -> Result<SessionUsage> {
        let scanner = Scanner::new();
        let mut usage = SessionUsage::default();
        let mut all = Count::default();
        let main = scanner.scan(self.path())?;
        usage.turns = main.turns;
        all.add(main, options);
        for agent in self.subagents()? {
            all.add(scanner.scan(&agent.path)?, options);
        }
        let mut responses: Vec<&(Response, usize)> = all.responses.values().collect();
        // The order of a sum of costs decides its last digit.
        responses
            .sort_unstable_by_key(|(response, model)| (response.time, *model, response.tokens));
        for (response, model) in responses {
            let model = all.models.get(*model).map_or("", String::as_str);
            usage.spent.add(model, response.tokens, &options.price);
        }
        Ok(usage)
    }
}

/// Responses of several transcripts, each once.
#[derive(Default)]
struct Count {
    responses: HashMap<u128, (Response, usize)>,
    models: Vec<String>,
}

impl Count {
    fn add(&mut self, scanned: Scanned, options: &UsageOptions) {
        let names = scanned.models.iter().map(|model| self.model(model)).collect::<Vec<_>>();
        for response in scanned.responses {
            if !options.includes(response.time) {
                continue;
            }
            let model = names.get(response.model as usize).copied().unwrap_or_default();
            self.responses
                .entry(response.key)
                .and_modify(|(known, _)| known.tokens = larger(known.tokens, response.tokens))
                .or_insert((response, model));
        }
    }

    fn model(&mut self, name: &str) -> usize {
        self.models.iter().position(|known| known == name).unwrap_or_else(|| {
            self.models.push(name.to_owned());
            self.models.len() - 1
        })
    }
}

fn larger(a: Tokens, b: Tokens) -> Tokens {
    if b.output > a.output { b } else { a }
}

impl UsageOptions {
    fn includes(&self, time: Option<i64>) -> bool {
        match time {
            Some(time) => self.since <= time && time < self.until,
            None => self.since == i64::MIN && self.until == i64::MAX,
        }
    }
}

impl Sessions {
    /// What each of these sessions used, as [`StoredSession::usage`] for each of them, on all cores.
    pub fn usage_of(
        &self,
        sessions: &[SessionInfo],
        options: &UsageOptions,
    ) -> Vec<Result<SessionUsage>> {
        parallel::map(sessions, |info| self.session_of(info).usage(options))
    }

    /// What all sessions and sub-agents used, by day, model and project. With a [project](Self::in_project), only its sessions
    /// and those of its worktrees.
    ///
    /// A response that is in several files counts once: on its earliest day, for the project where it was written first.
    ///
    /// # Errors
    /// If the projects folder exists and cannot be read.
    pub fn usage(&self, options: &UsageOptions) -> Result<Usage> {
        let folders = self.project_folders()?;
        let mut files: Vec<(usize, PathBuf)> = Vec::new();
        for (number, folder) in folders.iter().enumerate() {
            let mut found = Vec::new();
            collect(folder, 0, &mut found);
            found.sort();
            files.extend(found.into_iter().map(|path| (number, path)));
        }
        let scanner = Scanner::new();
        let scanned = parallel::map(&files, |(_, path)| scanner.scan(path));
        let mut usage = Usage::default();
        let mut labels: Vec<Option<String>> = vec![None; folders.len()];
        let mut models: Vec<String> = Vec::new();
        let mut all: HashMap<u128, (Response, usize, usize)> = HashMap::new();
        for ((number, path), scanned) in files.iter().zip(scanned) {
            let scanned = match scanned {
                Ok(scanned) => scanned,
                Err(error) => {
                    let problem = Problem::Unreadable(error.to_string());
                    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                    let (id, path) = (stem.into_owned(), path.clone());
                    usage.damaged.push(DamagedSession { id, path, problem });
                    continue;
                }
            };
            if let (Some(label), Some(cwd)) = (labels.get_mut(*number), scanned.cwd) {
                let is_home = folders.get(*number).and_then(|folder| folder.file_name())
                    == Some(project_key(Path::new(&cwd)).as_ref());
                if label.is_none() || is_home {
                    *label = Some(cwd);
                }
            }
            let mut names = Vec::new();
            for model in &scanned.models {
                let place = models.iter().position(|known| known == model);
                names.push(place.unwrap_or_else(|| {
                    models.push(model.clone());
                    models.len() - 1
                }));
            }
            for response in scanned.responses {
                let model = names.get(response.model as usize).copied().unwrap_or_default();
                let known = all.entry(response.key).or_insert((response.clone(), model, *number));
                let tokens = larger(known.0.tokens, response.tokens);
                let is_earlier = match (response.time, known.0.time) {
                    (Some(time), Some(first)) => time < first,
                    (time, first) => time.is_some() && first.is_none(),
                };
                if is_earlier {
                    *known = (response, model, *number);
                }
                known.0.tokens = tokens;
            }
        }
        let mut rows: BTreeMap<(String, &str, String), Spent> = BTreeMap::new();
        let mut responses: Vec<&(Response, usize, usize)> = all.values().collect();
        responses.sort_unstable_by_key(|(response, model, project)| {
            (response.time, *model, *project, response.tokens)
        });
        for (response, model, project) in responses {
            if !options.includes(response.time) {
                continue;
            }
            let model = models.get(*model).map_or("", String::as_str);
            let label = labels.get(*project).cloned().flatten().or_else(|| {
                let folder = folders.get(*project).and_then(|folder| folder.file_name());
                folder.map(|name| name.to_string_lossy().into_owned())
            });
            let day = response.time.map(&options.day).unwrap_or_default();
            let row = rows.entry((day, model, label.unwrap_or_default())).or_default();
            row.add(model, response.tokens, &options.price);
        }
        usage.rows.extend(rows.into_iter().map(|((day, model, project), spent)| UsageRow {
            day,
            model: model.to_owned(),
            project,
            spent,
        }));
        Ok(usage)
    }
}

/// How deep transcripts are searched for: Claude Code nests those of sub-agents three deep.
const MAX_DEPTH: usize = 8;

/// All transcripts in a folder and below. Links are not followed.
fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => collect(&path, depth + 1, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "jsonl") => {
                found.push(path);
            }
            _ => {}
        }
    }
}
