//! The cost of an answer.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The tokens of an answer, by price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, for any duration.
    pub cache_write: u64,
    /// Of these, tokens that are cached for an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// The tokens in the `usage` of a message. Missing fields count as 0.
    #[must_use]
    pub fn from_usage(usage: &Value) -> Self {
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        Self {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_read: count("cache_read_input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            cache_write_1h: usage["cache_creation"]["ephemeral_1h_input_tokens"]
                .as_u64()
                .unwrap_or(0),
        }
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

/// Prices of a model, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Reading from the cache. Default: a tenth of `input`.
    pub cache_read: Option<f64>,
    /// Writing to the cache. Default: a quarter more than `input`.
    pub cache_write: Option<f64>,
    /// Writing to the cache for an hour. Default: twice `input`.
    pub cache_write_1h: Option<f64>,
    /// Prompts of more tokens than this have the prices that follow.
    pub long_from: Option<u64>,
    /// Input of long prompts.
    pub long_input: Option<f64>,
    /// Output for long prompts.
    pub long_output: Option<f64>,
}

impl Price {
    /// A price for input and output; the prices of the cache follow from it.
    #[must_use]
    pub const fn new(input: f64, output: f64) -> Self {
        Self {
            input,
            output,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
            long_from: None,
            long_input: None,
            long_output: None,
        }
    }

    /// Sets the price of reading from the cache.
    #[must_use]
    pub const fn cache_read(mut self, price: f64) -> Self {
        self.cache_read = Some(price);
        self
    }

    /// Sets other prices for prompts of more tokens than this.
    #[must_use]
    pub const fn long(mut self, from: u64, input: f64, output: f64) -> Self {
        self.long_from = Some(from);
        self.long_input = Some(input);
        self.long_output = Some(output);
        self
    }

    /// The cost of these tokens in US dollars.
    #[must_use]
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
        if self.long_from.is_some_and(|from| prompt > from) {
            let long = Self::new(
                self.long_input.unwrap_or(self.input),
                self.long_output.unwrap_or(self.output),
            );
            return long.of(tokens);
        }
        let for_an_hour = tokens.cache_write_1h.min(tokens.cache_write);
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read.unwrap_or(self.input * 0.1)),
            (tokens.cache_write - for_an_hour, self.cache_write.unwrap_or(self.input * 1.25)),
            (for_an_hour, self.cache_write_1h.unwrap_or(self.input * 2.0)),
        ];
        parts.iter().map(|(count, price)| *count as f64 * price).sum::<f64>() / 1e6
    }
}

/// Known prices, by the prefix of the model's name. They are public list prices and may be outdated: a file
/// can override them.
const KNOWN: &[(&str, Price)] = &[
    ("claude-fable-5", Price::new(8.0, 40.0).cache_read(0.2)),
    ("claude-opus-5", Price::new(4.0, 20.0).cache_read(0.2)),
    ("claude-sonnet-5-5", Price::new(2.0, 10.0).cache_read(0.1)),
    ("claude-sonnet-5", Price::new(2.0, 10.0)),
    ("claude-haiku-5", Price::new(0.1, 0.5).long(100_000, 0.5, 2.5)),
    ("claude-opus-4-5", Price::new(5.0, 25.0)),
    ("claude-opus-4-6", Price::new(5.0, 25.0)),
    ("claude-opus-4-7", Price::new(5.0, 25.0)),
    ("claude-opus-4-8", Price::new(5.0, 25.0)),
    ("claude-opus-4", Price::new(15.0, 75.0)),
    ("claude-3-opus", Price::new(15.0, 75.0)),
    ("claude-sonnet-4", Price::new(3.0, 15.0)),
    ("claude-3-7-sonnet", Price::new(3.0, 15.0)),
    ("claude-3-5-sonnet", Price::new(3.0, 15.0)),
    ("claude-haiku-4", Price::new(1.0, 5.0)),
    ("claude-3-5-haiku", Price::new(0.8, 4.0)),
    ("claude-3-haiku", Price::new(0.25, 1.25)),
];

/// The variable that names a file of prices.
const VARIABLE: &str = "DUOLOGUE_PRICES";

/// The prices of models.
///
/// ```
/// use duologue_model::{Prices, Tokens};
/// use serde_json::json;
///
/// let mut prices = Prices::known();
/// let tokens = Tokens::from_usage(&json!({ "input_tokens": 12, "output_tokens": 34 }));
/// assert_eq!(prices.cost("claude-sonnet-4-20250514", &tokens), Some(0.000546));
/// assert_eq!(prices.cost("my-model", &tokens), None);
///
/// // Per million tokens, by the prefix of the name; the longest prefix counts.
/// prices.add_toml("[my-]\ninput = 1.0\noutput = 2.0")?;
/// assert_eq!(prices.cost("my-model", &tokens), Some(0.00008));
/// # Ok::<(), duologue_model::PricesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    by_beginning: BTreeMap<String, Price>,
}

/// Why prices cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
#[non_exhaustive]
pub struct PricesError {
    /// The file.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

impl Prices {
    /// No prices: every model is unknown.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The built-in prices.
    #[must_use]
    pub fn known() -> Self {
        let known = KNOWN.iter().map(|(beginning, price)| ((*beginning).to_owned(), *price));
        Self { by_beginning: known.collect() }
    }

    /// The built-in prices, overridden by those in the file that `DUOLOGUE_PRICES` names.
    ///
    /// # Errors
    ///
    /// If there is such a file, and it cannot be read.
    pub fn from_env() -> Result<Self, PricesError> {
        let mut prices = Self::known();
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            prices.add_file(Path::new(&path))?;
        }
        Ok(prices)
    }

    /// Adds the prices of a TOML file: a table for each prefix of a name, with `input`, `output` and, if they are not the
    /// defaults, `cache_read`, `cache_write`, `cache_write_1h`; `long_from`, `long_input` and `long_output` if long prompts
    /// cost more.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn add_file(&mut self, path: &Path) -> Result<(), PricesError> {
        let place = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| PricesError { place: place.clone(), problem: error.to_string() })?;
        self.add_toml(&text).map_err(|error| PricesError { place, ..error })
    }

    /// Adds the prices of a TOML text.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn add_toml(&mut self, text: &str) -> Result<(), PricesError> {
        let wrong = |problem| PricesError { place: "prices".to_owned(), problem };
        let added: BTreeMap<String, Price> =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        for (name, price) in &added {
            let all = [
                Some(price.input),
                Some(price.output),
                price.cache_read,
                price.cache_write,
                price.cache_write_1h,
                price.long_input,
                price.long_output,
            ];
            if !all.iter().flatten().all(|price| price.is_finite() && *price >= 0.0) {
                return Err(wrong(format!("{name}: a price is a number that is not negative")));
            }
        }
        self.by_beginning.extend(added);
        Ok(())
    }

    /// The price of a model, if it is known.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<&Price> {
        let fitting = self.by_beginning.iter().filter(|(beginning, _)| {
            // Some endpoints put a region or a vendor in front of the name.
            model.starts_with(beginning.as_str())
                || model
                    .rsplit(['.', '/'])
                    .next()
                    .is_some_and(|name| name.starts_with(beginning.as_str()))
        });
        fitting.max_by_key(|(beginning, _)| beginning.len()).map(|(_, price)| price)
    }

    /// The cost of an answer in US dollars. `None` if the model is unknown: count it as 0 and report that.
    #[must_use]
    pub fn cost(&self, model: &str, tokens: &Tokens) -> Option<f64> {
        self.price(model).map(|price| price.of(tokens))
    }
}
