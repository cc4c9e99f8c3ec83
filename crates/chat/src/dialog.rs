//! [`Dialog`]: a request of the agent as a series of menus, and the answer.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::tool::{Answers, Question, QuestionOption};
use duologue_terminal::{Foreign, Shown, line, ours, shown};
use serde_json::Value;

use crate::describe;
use crate::form::{Form, Next};
use crate::menu::{Choice, Key, Menu, Step};
use crate::subject::{Kind, Subject};

/// A longer rule is shown above the choices, which are cut at the width of the terminal.
const LONG: usize = 48;

/// The kind of a request.
#[derive(Debug)]
pub(super) enum Topic {
    Permission(Box<CanUseTool>),
    Questions(Vec<Question>),
    Plan(Foreign<'static>),
    Form(Box<Form>),
}

/// The answer of the user.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    AllowOnce,
    AllowAlways,
    /// With a reason, which may be empty.
    Deny(String),
    Answers(Answers),
    Skip,
    Accept(PermissionMode),
    Revise(String),
    Reject,
    /// The content of a form.
    Submit(Value),
    Decline,
    Cancel,
}

/// The effect of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Progress {
    Stay,
    /// The next question. These lines of the last one stay on the screen.
    Next(Vec<Shown>),
    /// The answer. These lines stay on the screen.
    Done(Reply, Vec<Shown>),
}

#[derive(Debug)]
pub(super) struct Dialog {
    topic: Topic,
    head: Subject,
    menu: Menu,
    /// The index of the question.
    at: usize,
    answers: Answers,
}

impl Dialog {
    pub(super) fn new(topic: Topic) -> Self {
        let (menu, head) = match &topic {
            Topic::Permission(ask) => permission(ask),
            Topic::Questions(questions) => question(questions, 0),
            Topic::Plan(plan) => propose(plan),
            Topic::Form(form) => form.menu(),
        };
        Self { topic, head, menu, at: 0, answers: Answers::new() }
    }

    /// The question and the choices, in at most as many lines as the terminal has.
    pub(super) fn lines(&mut self, rows: usize, columns: usize) -> Vec<Shown> {
        self.head.lines(&self.menu, rows, columns)
    }

    /// The lines that stay on the screen after the answer.
    pub(super) fn left(&self, columns: usize) -> Vec<Shown> {
        self.head.left(columns)
    }

    pub(super) fn key(&mut self, key: Key) -> Progress {
        if key == Key::More {
            self.head.turn_page();
            return Progress::Stay;
        }
        let picked = match self.menu.key(key) {
            Step::Stay => return Progress::Stay,
            Step::Cancelled => None,
            Step::Picked(chosen, text) => Some((chosen, text)),
        };
        match &mut self.topic {
            Topic::Permission(ask) => {
                let always = describe::always(ask);
                let reply = match picked {
                    Some((chosen, _)) if chosen == [0] => Reply::AllowOnce,
                    Some((chosen, _)) if chosen == [1] && always.is_some() => Reply::AllowAlways,
                    Some((_, text)) => Reply::Deny(text),
                    None => Reply::Deny(String::new()),
                };
                // Do not repeat what is above the menu.
                let always = Shown::join(always.unwrap_or_default(), "; ");
                done(reply, if always.width() > LONG { Shown::default() } else { always })
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
                done(reply, Shown::default())
            }
            Topic::Questions(_) => self.answered(picked),
            Topic::Form(form) => {
                let Some((chosen, text)) = picked else {
                    return done(Reply::Cancel, Shown::default());
                };
                match form.answer(&chosen, &text) {
                    Next::Accept(content) => done(Reply::Submit(content), Shown::default()),
                    Next::Decline => done(Reply::Decline, Shown::default()),
                    Next::Ask => {
                        (self.menu, self.head) = form.menu();
                        Progress::Next(Vec::new())
                    }
                }
            }
        }
    }

    fn answered(&mut self, picked: Option<(Vec<usize>, String)>) -> Progress {
        let Topic::Questions(questions) = &self.topic else { return Progress::Stay };
        let Some(question) = questions.get(self.at) else {
            return done(Reply::Skip, Shown::default());
        };
        let Some((chosen, written)) = picked else { return done(Reply::Skip, Shown::default()) };
        let options = question.options.items();
        let mut labels: Vec<&str> = chosen
            .iter()
            .filter_map(|at| options.get(*at).and_then(|option| option.label.as_str()))
            .collect();
        // "Other" and "skip" follow the options.
        if chosen.contains(&(options.len() + 1)) || (labels.is_empty() && written.is_empty()) {
            return done(Reply::Skip, Shown::default());
        }
        if !written.is_empty() {
            labels.push(&written);
        }
        let asked = question.question.as_str().unwrap_or_default();
        self.answers =
            std::mem::take(&mut self.answers).choose_several(asked, labels.iter().copied());
        let note = shown!("  {} {}", ours("→").green(), line(labels.join(", ")));
        self.at += 1;
        if self.at < questions.len() {
            let (menu, head) = self::question(questions, self.at);
            (self.menu, self.head) = (menu, head);
            return Progress::Next(vec![note]);
        }
        Progress::Done(Reply::Answers(self.answers.clone()), vec![note])
    }
}

/// The end of a dialog, and the line that stays on the screen.
fn done(reply: Reply, always: Shown) -> Progress {
    let because =
        |text: Shown| if text.is_empty() { Shown::default() } else { shown!(": {}", text) };
    let note = match &reply {
        Reply::AllowOnce => shown!("  {} allowed once", ours("✓").green()),
        Reply::AllowAlways => {
            shown!("  {} allowed, and from now on{}", ours("✓").green(), because(always))
        }
        Reply::Deny(why) => shown!("  {} not allowed{}", ours("✗").red(), because(line(why))),
        Reply::Answers(_) => Shown::default(),
        Reply::Skip => shown!("  {} not answered", ours("✗").yellow()),
        Reply::Accept(mode) => {
            shown!("  {} accepted, mode {}", ours("✓").green(), line(mode.as_str()))
        }
        Reply::Revise(text) => shown!("  {} not yet{}", ours("↻").yellow(), because(line(text))),
        Reply::Reject => shown!("  {} rejected", ours("✗").red()),
        Reply::Submit(_) => shown!("  {} sent", ours("✓").green()),
        Reply::Decline => shown!("  {} declined", ours("✗").red()),
        Reply::Cancel => shown!("  {} cancelled", ours("✗").yellow()),
    };
    Progress::Done(reply, vec![note])
}

fn permission(ask: &CanUseTool) -> (Menu, Subject) {
    let mut choices = vec![Choice::new(ours("Yes, this once"))];
    let mut head = describe::permission(ask);
    if let Some(always) = describe::always(ask) {
        let mut choice = Choice::new(ours("Yes, and from now on"));
        // A rule must be shown in full before the user can agree to it.
        let short = Shown::join(always.iter().cloned(), "; ");
        if short.width() > LONG {
            head = head.note(ours("  from now on would be:").dimmed());
            head =
                always.iter().fold(head, |head, rule| head.note(shown!("    - {}", rule).dimmed()));
        } else {
            choice = choice.detail(short);
        }
        choices.push(choice);
    }
    choices.push(Choice::new(ours("No, because")).writes());
    // The agent can ask for "no" as the default.
    let at = if ask.default_to_no.is_true() { choices.len() - 1 } else { 0 };
    (Menu::new(choices).begin_at(at), head)
}

fn question(questions: &[Question], at: usize) -> (Menu, Subject) {
    let other = || Choice::new(ours("Other")).writes();
    let Some(question) = questions.get(at) else {
        return (Menu::new(vec![other()]), Subject::default());
    };
    let option = |option: &QuestionOption| {
        Choice::new(line(&option.label)).detail(line(&option.description))
    };
    let mut choices: Vec<Choice> = question.options.items().iter().map(option).collect();
    choices.push(other());
    let skip = ours("the agent continues without an answer");
    choices.push(Choice::new(ours("Skip")).detail(skip).alone());
    let count = match questions.len() {
        1 => Shown::default(),
        many => shown!(" ({} of {})", at + 1, many),
    };
    let asked = question.question.as_str().unwrap_or_default();
    // Show a long question as a text.
    let mut head = if asked.trim().contains('\n') || line(asked).width() > LONG {
        Subject::new(shown!("The agent asks{}", count)).text(Kind::Plain, asked)
    } else {
        Subject::new(shown!("{}{}", line(asked.trim()), count))
    };
    for option in question.options.items() {
        if let (Some(label), Some(preview)) = (option.label.as_str(), option.preview.as_str()) {
            head = head.text(Kind::Plain, &label.replace('\n', "⏎")).text(Kind::Plain, preview);
        }
    }
    (Menu::new(choices).several(question.multi_select.is_true()).escape("skips"), head)
}

fn propose(plan: &Foreign<'_>) -> (Menu, Subject) {
    let mut head = Subject::new(ours("The agent proposes a plan"));
    if plan.raw().trim().is_empty() {
        head = head.note(ours("  (the plan is empty)").dimmed());
    }
    let menu = Menu::new(vec![
        Choice::new(ours("Yes")).detail(ours("and edits need no permission (acceptEdits)")),
        Choice::new(ours("Yes")).detail(ours("and ask before each change (default)")),
        Choice::new(ours("Not yet, change this")).writes(),
        Choice::new(ours("No")),
    ])
    .escape("rejects");
    (menu, head.text(Kind::Plain, plan.raw().trim()))
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

    fn plain(lines: &[Shown]) -> Vec<String> {
        lines.iter().map(|line| line.plain().to_string()).collect()
    }

    fn reply(topic: Topic, typed: &str) -> Reply {
        match keys(&mut Dialog::new(topic), typed) {
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
        // Without suggestions, there is no "from now on".
        assert_eq!(reply(ask(""), "2⏎"), Reply::Deny(String::new()));
        let careful = format!("{RULE},\"default_to_no\":true");
        assert_eq!(reply(ask(&careful), "⏎⏎"), Reply::Deny(String::new()));
        let no_rule = format!("{RULE},\"suppress_always_allow_rule\":true");
        assert_eq!(reply(ask(&no_rule), "2x⏎"), Reply::Deny("x".into()));
    }

    #[test]
    fn the_rules_that_would_be_added_are_listed() {
        let rules = r#","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash",
            "ruleContent":"touch a; touch b"}],"behavior":"allow","destination":"localSettings"},
            {"type":"setMode","mode":"acceptEdits","destination":"session"}]"#;
        let mut dialog = Dialog::new(ask(rules));
        assert_eq!(
            plain(&dialog.lines(24, 80))[2..5],
            [
                "  from now on would be:",
                "    - allow Bash(touch a; touch b) (in the project's local settings)",
                "    - mode acceptEdits (for this session)",
            ]
        );
        let Progress::Done(_, left) = keys(&mut dialog, "2") else { panic!("no end") };
        assert_eq!(left[0].plain().as_str(), "  ✓ allowed, and from now on");
        let Progress::Done(_, left) = keys(&mut Dialog::new(ask(RULE)), "2") else {
            panic!("no end")
        };
        assert_eq!(
            left[0].plain().as_str(),
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
        let mut dialog = Dialog::new(questions());
        assert_eq!(plain(&dialog.lines(24, 80))[0], "? Colour? (1 of 2)");
        let Progress::Next(lines) = keys(&mut dialog, "↓⏎") else {
            panic!("no second question")
        };
        assert_eq!(plain(&lines), ["  → Blue"]);
        assert_eq!(plain(&dialog.lines(24, 80))[0], "? Toppings? (2 of 2)");
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
        assert_eq!(
            plain(&Dialog::new(plan()).lines(24, 80))[..3],
            ["? The agent proposes a plan", "  │ # Plan", "  │ 1. Look"]
        );
    }
}
