//! [`Case`]: one test with a peer, and its result.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::stage::Stage;

/// The result of a case.
pub(crate) type Verdict = Result<(), Trouble>;

/// Why a case did not pass.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The peer does not have this feature.
    Lacks(String),
    /// The case failed.
    Fails(String),
}

impl Trouble {
    pub(crate) fn fails(what: impl fmt::Display) -> Self {
        Self::Fails(what.to_string())
    }
}

impl<E: std::error::Error> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Fails(error.to_string())
    }
}

type Run = for<'s> fn(&'s Stage) -> Pin<Box<dyn Future<Output = Verdict> + Send + 's>>;

/// One test with a peer.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
}

/// Lists functions as cases, under their own names.
macro_rules! cases {
    ($($room:ident: $($case:ident)*;)*) => {
        &[$($(
            $crate::case::Case {
                name: concat!(stringify!($room), "/", stringify!($case)),
                run: |stage| Box::pin($room::$case(stage)),
            },
        )*)*]
    };
}
pub(crate) use cases;

/// Fails the case unless this holds.
macro_rules! holds {
    ($condition:expr, $($what:tt)+) => {
        let it_holds: bool = $condition;
        if !it_holds {
            return Err($crate::case::Trouble::Fails(format!($($what)+)));
        }
    };
}
pub(crate) use holds;

/// Fails the case unless both are the same.
macro_rules! same {
    ($got:expr, $wanted:expr, $what:literal) => {
        match (&$got, &$wanted) {
            (got, wanted) => {
                if *got != *wanted {
                    return Err($crate::case::Trouble::Fails(format!(
                        "{}: wanted {wanted:?}, got {got:?}",
                        $what
                    )));
                }
            }
        }
    };
}
pub(crate) use same;
