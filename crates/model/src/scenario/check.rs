//! Checks of a well-formed scenario.

use super::{Chunk, Reply, Scenario, ScenarioError, Times, When, Who};
use crate::purpose::Purpose;

impl Scenario {
    /// Checks that the scenario is consistent. Scenarios from files have been checked already.
    ///
    /// # Errors
    ///
    /// If it is not: which part, and why.
    pub fn check(&self) -> Result<(), ScenarioError> {
        for (name, who) in &self.agents {
            self.check_agent(name, who)
                .map_err(|problem| senseless(format!("agents.{name}"), problem))?;
        }
        for (number, reply) in (1..).zip(&self.replies) {
            self.check_reply(reply)
                .map_err(|problem| senseless(format!("reply {number}"), problem))?;
        }
        Ok(())
    }

    fn check_agent(&self, name: &str, who: &Who) -> Result<(), String> {
        if Purpose::from_word(name).is_some() {
            return Err(format!("`{name}` is known without an entry: take another name"));
        }
        if *who == Who::default() {
            return Err("it has no condition: add `system`, `prompt`, `tool` or `model`".into());
        }
        Ok(())
    }

    fn check_reply(&self, reply: &Reply) -> Result<(), String> {
        if reply.say.is_empty() && reply.error.is_none() && reply.lines.is_empty() {
            return Err("the reply is empty: add `say`, `error` or `lines`".into());
        }
        if let Some(name) = &reply.agent
            && Purpose::from_word(name).is_none()
            && !self.agents.contains_key(name)
        {
            let words = Purpose::ALL.map(Purpose::as_str).join(", ");
            return Err(format!(
                "there is no agent `{name}`: describe it as [agents.{name}], or use one of {words}"
            ));
        }
        if reply.when == Some(When::default()) {
            return Err("`when` is empty: say what must hold, or leave it out".into());
        }
        if reply.times == Times::Only(0) {
            return Err(
                "`times` is 0, so it is never given: leave it out, or remove the reply".into()
            );
        }
        if reply.chunk == Chunk::Chars(0) {
            return Err("`chunk` is 0: a delta has at least 1 character".into());
        }
        if let Some(error) = &reply.error
            && !(400..600).contains(&error.status)
        {
            return Err("the status of an `error` lies between 400 and 599".into());
        }
        if reply.cut_after.is_some() && reply.stall_after.is_some() {
            return Err(
                "it can be cut or stall, not both: keep `cut_after` or `stall_after`".into()
            );
        }
        if reply.error.is_some()
            && reply.say.is_empty()
            && reply.cut_after.or(reply.stall_after).is_some()
        {
            return Err(
                "an `error` without `say` has no events after which it could be cut or stall"
                    .into(),
            );
        }
        for (name, value) in &reply.headers {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            let sound = !name.is_empty()
                && name.bytes().all(is_name)
                && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            if !sound {
                return Err(format!("`{name}: {value}` is not an HTTP header"));
            }
        }
        if reply.lines.iter().any(|line| line.contains('\n')) {
            return Err("one of `lines` has a line break: make it two lines".into());
        }
        Ok(())
    }
}

fn senseless(place: String, problem: String) -> ScenarioError {
    ScenarioError::Invalid { place, problem }
}
