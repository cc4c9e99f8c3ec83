//! [`Claims`]: the parts of a text that are replaced.

use std::ops::Range;

/// A part of a text that is replaced.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) span: Range<usize>,
    pub(super) what: What,
}

/// What is replaced, and the value that names it: the same value gets the same words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Secret(Vec<u8>),
    Email(Vec<u8>),
    User(Vec<u8>),
}

impl What {
    const fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }
}

/// A part of a text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) span: Range<usize>,
    pub(super) new: String,
}

/// Claims in the order of the text, without overlaps. Overlapping claims are replaced as one, named after
/// the longest. A secret has precedence over a person: the end of a password is not half an address.
pub(super) fn settled(mut claims: Vec<Claim>) -> Vec<Claim> {
    claims.retain(|claim| !claim.span.is_empty());
    claims.sort_by_key(|claim| (claim.span.start, std::cmp::Reverse(claim.span.end)));
    let mut settled: Vec<Claim> = Vec::new();
    for claim in claims {
        let Some(last) = settled.last_mut().filter(|last| claim.span.start < last.span.end) else {
            settled.push(claim);
            continue;
        };
        match (last.what.is_secret(), claim.what.is_secret()) {
            (true, false) => {}
            (false, true) => *last = claim,
            _ => {
                if claim.span.len() > last.span.len() {
                    last.what = claim.what;
                }
                last.span.end = last.span.end.max(claim.span.end);
            }
        }
    }
    settled
}

/// The text with its edits, which are in order.
pub(super) fn edited(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        new.extend_from_slice(text.get(copied..edit.span.start).unwrap_or_default());
        new.extend_from_slice(edit.new.as_bytes());
        copied = edit.span.end;
    }
    new.extend_from_slice(text.get(copied..).unwrap_or_default());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(span: Range<usize>) -> Claim {
        Claim { what: What::Secret(format!("{span:?}").into_bytes()), span }
    }

    fn user(span: Range<usize>) -> Claim {
        Claim { what: What::User(format!("{span:?}").into_bytes()), span }
    }

    fn spans(claims: Vec<Claim>) -> Vec<(usize, usize)> {
        settled(claims).into_iter().map(|claim| (claim.span.start, claim.span.end)).collect()
    }

    #[test]
    fn overlapping_secrets_are_replaced_as_one() {
        assert_eq!(spans(vec![secret(4..8), secret(0..5), secret(9..9)]), [(0, 8)]);
        assert_eq!(spans(vec![secret(0..9), secret(2..3), secret(9..12)]), [(0, 9), (9, 12)]);
    }

    #[test]
    fn a_person_does_not_widen_a_secret() {
        assert_eq!(spans(vec![secret(4..8), user(2..6)]), [(4, 8)]);
        assert_eq!(spans(vec![secret(4..8), user(6..20)]), [(4, 8)]);
    }
}
