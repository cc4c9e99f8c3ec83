//! [`Dialog`]: what the agent asks the person, as menus one after another, and what was answered.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::tool::{Answers, Question};
use owo_colors::OwoColorize as _;

use super::menu::{Choice, Key, Menu, Step};
use super::render::dim;
use super::telling;
use crate::visible::visible;

/// What is longer stands above the menu, whose lines are cut at the width of the terminal.
const LONG: usize = 48;

/// What the agent asks.
#[derive(Debug)]
pub(super) enum Topic {
    Permission(Box<CanUseTool>),
    Questions(Vec<Question>),
    Plan(String),
}

/// What the person answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    AllowOnce,
    AllowAlways,
    /// With a reason, perhaps an empty one.
    Deny(String),
    Answers(Answers),
    Skip,
    Accept(PermissionMode),
    Revise(String),
    Reject,
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(super) enum Progress {
    Stay,
    /// The next question is there, with these lines above its menu.
    Next(Vec<String>),
    /// It is answered, and this is what is left of it on the screen.
    Done(Reply, Vec<String>),
}

#[derive(Debug)]
pub(super) struct Dialog {
    topic: Topic,
    menu: Menu,
    /// Which question it is.
    at: usize,
    answers: Answers,
}

impl Dialog {
    /// A dialog, and the lines above its first menu.
    pub(super) fn new(topic: Topic) -> (Self, Vec<String>) {
        let (menu, head) = match &topic {
            Topic::Permission(ask) => permission(ask),
            Topic::Questions(questions) => question(questions, 0),
            Topic::Plan(plan) => propose(plan),
        };
        (Self { topic, menu, at: 0, answers: Answers::new() }, head)
    }

    pub(super) fn lines(&self, columns: usize) -> Vec<String> {
        self.menu.lines(columns)
    }

    pub(super) fn key(&mut self, key: Key) -> Progress {
        let picked = match self.menu.key(key) {
            Step::Stay => return Progress::Stay,
            Step::Cancelled => None,
            Step::Picked(chosen, text) => Some((chosen, text)),
        };
        match &self.topic {
            Topic::Permission(ask) => {
                let always = telling::always(ask);
                let reply = match picked {
                    Some((chosen, _)) if chosen == [0] => Reply::AllowOnce,
                    Some((chosen, _)) if chosen == [1] && always.is_some() => Reply::AllowAlways,
                    Some((_, text)) => Reply::Deny(text),
                    None => Reply::Deny(String::new()),
                };
                // What stands above the menu is not told again.
                let always = always.unwrap_or_default().join("; ");
                done(reply, if always.len() > LONG { String::new() } else { always })
            }
            Topic::Plan(_) => {
                let reply = match picked {
                    Some((chosen, _)) if chosen == [0] => {
                        Reply::Accept(PermissionMode::AcceptEdits)
                    }
                    Some((chosen, _)) if chosen == [1] => Reply::Accept(PermissionMode::Default),
                    Some((chosen, text)) if chosen == [2] && !text.is_empty() => {
                        Reply::Revise(text)
                    }
                    _ => Reply::Reject,
                };
                done(reply, String::new())
            }
            Topic::Questions(_) => self.answered(picked),
        }
    }

    fn answered(&mut self, picked: Option<(Vec<usize>, String)>) -> Progress {
        let Topic::Questions(questions) = &self.topic else { return Progress::Stay };
        let Some(question) = questions.get(self.at) else {
            return done(Reply::Skip, String::new());
        };
        let Some((chosen, written)) = picked else { return done(Reply::Skip, String::new()) };
        let options = question.options.items();
        let mut labels: Vec<&str> = chosen
            .iter()
            .filter_map(|at| options.get(*at).and_then(|option| option.label.as_str()))
            .collect();
        // Behind the options stand "other" and "skip".
        if chosen.contains(&(options.len() + 1)) || (labels.is_empty() && written.is_empty()) {
            return done(Reply::Skip, String::new());
        }
        if !written.is_empty() {
            labels.push(&written);
        }
        let asked = question.question.as_str().unwrap_or_default();
        self.answers =
            std::mem::take(&mut self.answers).choose_several(asked, labels.iter().copied());
        let note = format!("  {} {}", "→".green(), visible(&labels.join(", ")));
        self.at += 1;
        if self.at < questions.len() {
            let (menu, head) = self::question(questions, self.at);
            self.menu = menu;
            return Progress::Next([vec![note], head].concat());
        }
        Progress::Done(Reply::Answers(self.answers.clone()), vec![note])
    }
}

/// The end of a dialog, and the line that is left of it.
fn done(reply: Reply, always: String) -> Progress {
    let because = |text: &str| {
        if text.is_empty() { String::new() } else { format!(": {}", visible(text)) }
    };
    let note = match &reply {
        Reply::AllowOnce => format!("  {} allowed once", "✓".green()),
        Reply::AllowAlways => {
            format!("  {} allowed, and from now on{}", "✓".green(), because(&always))
        }
        Reply::Deny(why) => format!("  {} not allowed{}", "✗".red(), because(why)),
        Reply::Answers(_) => String::new(),
        Reply::Skip => format!("  {} not answered", "✗".yellow()),
        Reply::Accept(mode) => format!("  {} accepted, mode {}", "✓".green(), mode.as_str()),
        Reply::Revise(text) => format!("  {} not yet{}", "↻".yellow(), because(text)),
        Reply::Reject => format!("  {} rejected", "✗".red()),
    };
    Progress::Done(reply, vec![note])
}

fn permission(ask: &CanUseTool) -> (Menu, Vec<String>) {
    let mut choices = vec![Choice::new("Yes, this once")];
    let mut head = telling::asked(ask);
    if let Some(always) = telling::always(ask) {
        let mut choice = Choice::new("Yes, and from now on");
        // Nobody can agree to what is cut off.
        let short = always.join("; ");
        if short.len() > LONG {
            head.push(dim("  from now on would be:"));
            head.extend(always.iter().map(|rule| dim(&format!("    {}", visible(rule)))));
        } else {
            choice = choice.detail(short);
        }
        choices.push(choice);
    }
    choices.push(Choice::new("No, because").writes());
    // Enter alone must not allow what the agent itself would rather not be allowed.
    let at = if ask.default_to_no.is_true() { choices.len() - 1 } else { 0 };
    (Menu::new(choices).begin_at(at), head)
}

fn question(questions: &[Question], at: usize) -> (Menu, Vec<String>) {
    let Some(question) = questions.get(at) else {
        return (Menu::new(vec![Choice::new("Other").writes()]), Vec::new());
    };
    let mut choices: Vec<Choice> = question
        .options
        .items()
        .iter()
        .map(|option| {
            Choice::new(option.label.as_str().unwrap_or_default())
                .detail(option.description.as_str().unwrap_or_default())
        })
        .collect();
    choices.push(Choice::new("Other").writes());
    choices.push(Choice::new("Skip").detail("the agent goes on without an answer").alone());
    let count = match questions.len() {
        1 => String::new(),
        many => format!(" ({} of {many})", at + 1),
    };
    let asked = visible(question.question.as_str().unwrap_or_default()).into_owned();
    let mut head = vec![format!("{} {}{}", "?".yellow().bold(), asked.bold(), count.dimmed())];
    for option in question.options.items() {
        if let (Some(label), Some(preview)) = (option.label.as_str(), option.preview.as_str()) {
            head.push(format!("  {}", visible(label)));
            head.extend(visible(preview).lines().map(|line| format!("    {}", line.dimmed())));
        }
    }
    (Menu::new(choices).several(question.multi_select.is_true()).escape("skips"), head)
}

fn propose(plan: &str) -> (Menu, Vec<String>) {
    let mut head = vec![format!("{} {}", "?".yellow().bold(), "The agent proposes a plan".bold())];
    if plan.trim().is_empty() {
        head.push(format!("  {}", dim("(it does not say which)")));
    }
    head.extend(visible(plan.trim()).lines().map(|line| format!("  {} {line}", "│".dimmed())));
    let menu = Menu::new(vec![
        Choice::new("Yes").detail("and edits need no permission (acceptEdits)"),
        Choice::new("Yes").detail("and ask before each change (default)"),
        Choice::new("Not yet, change this").writes(),
        Choice::new("No"),
    ]);
    (menu, head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;
    use duologue_protocol::tool::AskUserQuestion;

    use super::*;

    fn keys(dialog: &mut Dialog, keys: &str) -> Progress {
        let mut progress = Progress::Stay;
        for character in keys.chars() {
            progress = dialog.key(match character {
                '⏎' => Key::Enter,
                '↓' => Key::Down,
                '⎋' => Key::Escape,
                other => Key::Char(other),
            });
        }
        progress
    }

    fn reply(topic: Topic, typed: &str) -> Reply {
        match keys(&mut Dialog::new(topic).0, typed) {
            Progress::Done(reply, _) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn ask(more: &str) -> Topic {
        let json = format!(
            r#"{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"ls"}}{more}}}"#
        );
        Topic::Permission(Box::new(CanUseTool::from_json(&json).unwrap()))
    }

    const RULE: &str = r#","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash",
        "ruleContent":"ls"}],"behavior":"allow","destination":"session"}]"#;

    #[test]
    fn permissions() {
        assert_eq!(reply(ask(RULE), "⏎"), Reply::AllowOnce);
        assert_eq!(reply(ask(RULE), "2"), Reply::AllowAlways);
        assert_eq!(reply(ask(RULE), "3use find⏎"), Reply::Deny("use find".into()));
        assert_eq!(reply(ask(RULE), "⎋"), Reply::Deny(String::new()));
        // Without suggestions nothing can be allowed for good.
        assert_eq!(reply(ask(""), "2⏎"), Reply::Deny(String::new()));
        let careful = format!("{RULE},\"default_to_no\":true");
        assert_eq!(reply(ask(&careful), "⏎⏎"), Reply::Deny(String::new()));
        let no_rule = format!("{RULE},\"suppress_always_allow_rule\":true");
        assert_eq!(reply(ask(&no_rule), "2x⏎"), Reply::Deny("x".into()));
    }

    #[test]
    fn what_would_be_allowed_for_good_is_told_rule_by_rule() {
        let rules = r#","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash",
            "ruleContent":"touch a; touch b"}],"behavior":"allow","destination":"localSettings"},
            {"type":"setMode","mode":"acceptEdits","destination":"session"}]"#;
        let (mut dialog, head) = Dialog::new(ask(rules));
        let head: Vec<_> = head.iter().map(|line| console::strip_ansi_codes(line)).collect();
        assert_eq!(
            head[head.len() - 3..],
            [
                "  from now on would be:",
                "    allow Bash(touch a; touch b) (in the project's local settings)",
                "    mode acceptEdits (for this session)",
            ]
        );
        let Progress::Done(_, left) = keys(&mut dialog, "2") else { panic!("no end") };
        assert_eq!(console::strip_ansi_codes(&left[0]), "  ✓ allowed, and from now on");
        let Progress::Done(_, left) = keys(&mut Dialog::new(ask(RULE)).0, "2") else {
            panic!("no end")
        };
        assert_eq!(
            console::strip_ansi_codes(&left[0]),
            "  ✓ allowed, and from now on: allow Bash(ls) (for this session)"
        );
    }

    fn questions() -> Topic {
        let json = r#"{"questions":[
            {"question":"Colour?","header":"C","multiSelect":false,
             "options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]},
            {"question":"Toppings?","header":"T","multiSelect":true,
             "options":[{"label":"Olives"},{"label":"Basil"}]}]}"#;
        Topic::Questions(AskUserQuestion::from_json(json).unwrap().questions.items().to_vec())
    }

    #[test]
    fn questions_come_one_after_another() {
        let (mut dialog, head) = Dialog::new(questions());
        assert_eq!(console::strip_ansi_codes(&head[0]), "? Colour? (1 of 2)");
        let Progress::Next(lines) = keys(&mut dialog, "↓⏎") else {
            panic!("no second question")
        };
        let lines: Vec<_> = lines.iter().map(|line| console::strip_ansi_codes(line)).collect();
        assert_eq!(lines, ["  → Blue", "? Toppings? (2 of 2)"]);
        let Progress::Done(reply, _) = keys(&mut dialog, "123cheese⏎") else { panic!("no end") };
        let expected = Answers::new()
            .choose("Colour?", "Blue")
            .choose_several("Toppings?", ["Olives", "Basil", "cheese"]);
        assert_eq!(reply, Reply::Answers(expected));
    }

    #[test]
    fn questions_can_be_skipped() {
        assert_eq!(reply(questions(), "⎋"), Reply::Skip);
        assert_eq!(reply(questions(), "4"), Reply::Skip);
        assert_eq!(reply(questions(), "3⏎"), Reply::Skip);
    }

    #[test]
    fn plans() {
        let plan = || Topic::Plan("# Plan\n1. Look".into());
        assert_eq!(reply(plan(), "1"), Reply::Accept(PermissionMode::AcceptEdits));
        assert_eq!(reply(plan(), "2"), Reply::Accept(PermissionMode::Default));
        assert_eq!(reply(plan(), "3shorter⏎"), Reply::Revise("shorter".into()));
        assert_eq!(reply(plan(), "4"), Reply::Reject);
        assert_eq!(reply(plan(), "⎋"), Reply::Reject);
        let (_, head) = Dialog::new(plan());
        let head: Vec<_> = head.iter().map(|line| console::strip_ansi_codes(line)).collect();
        assert_eq!(head, ["? The agent proposes a plan", "  │ # Plan", "  │ 1. Look"]);
    }
}
