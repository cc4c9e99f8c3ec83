//! Any order of clients, agent and crashes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::id::{AskId, SessionId};
use crate::log::{Body, NewEntry};
use crate::state::{
    About, AgentExited, AgentStarted, Answer, AskChange, AskOpened, AskRefusal, AskState,
    PromptAccepted, PromptRefusal, TurnStarted,
};

#[derive(Clone, Debug)]
enum Step {
    Submit,
    Withdraw(usize),
    /// Commits `delivering`; then writes the prompt, unless the hub dies in between.
    Deliver {
        dies: bool,
    },
    /// The agent begins or ends its turn.
    Turn,
    /// The agent asks.
    Ask,
    /// A client answers some ask.
    Answer {
        ask: usize,
        allow: bool,
    },
    /// The hub delivers answers, unless it dies in between.
    DeliverAnswers {
        dies: bool,
    },
    /// The agent withdraws what it asked.
    WithdrawAsks,
    /// Everything dies; the hub comes back.
    Crash {
        unreadable: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Submit),
        1 => (0..8_usize).prop_map(Step::Withdraw),
        4 => prop::bool::weighted(0.2).prop_map(|dies| Step::Deliver { dies }),
        6 => Just(Step::Turn),
        4 => Just(Step::Ask),
        5 => (0..8_usize, any::<bool>()).prop_map(|(ask, allow)| Step::Answer { ask, allow }),
        4 => prop::bool::weighted(0.2).prop_map(|dies| Step::DeliverAnswers { dies }),
        1 => Just(Step::WithdrawAsks),
        1 => any::<bool>().prop_map(|unreadable| Step::Crash { unreadable }),
    ]
}

/// A hub, its log and an agent.
#[derive(Default)]
struct World {
    state: SessionState,
    entries: Vec<Entry>,
    submitted: Vec<PromptId>,
    asked: Vec<(AskId, String)>,
    /// What the transcript of the agent has.
    received: Vec<PromptId>,
    /// Calls that ran, of all agents.
    ran: Vec<String>,
    /// Wire requests that got an answer, of all agents.
    answered_on_wire: Vec<String>,
    /// What each late answer learned.
    outcomes: Vec<(AskId, AskState)>,
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

impl World {
    fn write(&mut self, record: &Record) {
        let entry = match record {
            Record::Owner => NewEntry::owner(Body::parse("{}").unwrap()),
            record => record.entry().unwrap(),
        };
        let generation = self.state.generation() + u64::from(matches!(record, Record::Owner));
        let seq = self.entries.len() as u64 + 1;
        let session = "00000000-0000-4000-8000-000000000000".parse::<SessionId>().unwrap();
        let entry = Entry::new(session, generation, seq, 0, entry);
        self.state.apply(&entry).unwrap();
        self.entries.push(entry);
    }

    fn begin(&mut self) {
        self.write(&Record::Owner);
        self.write(&Record::AgentStarted(AgentStarted::default()));
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Submit => {
                let id = PromptId::random();
                self.submitted.push(id);
                self.write(&Record::PromptAccepted(PromptAccepted::new(id, raw("\"Hello.\""))));
            }
            Step::Withdraw(index) => {
                let Some(id) = self.submitted.get(index).copied() else { return };
                match self.state.prompts().withdraw(id) {
                    Ok(record) => {
                        assert!(!self.received.contains(&id), "the agent has it");
                        record.iter().for_each(|record| self.write(record));
                    }
                    Err(refusal) => assert!(matches!(refusal, PromptRefusal::Started(_))),
                }
            }
            Step::Deliver { dies } => {
                let Some(id) = self.state.next_prompt() else { return };
                self.write(&Record::Prompt(PromptState::Delivering, PromptChange::new(id)));
                if dies {
                    self.crash(false);
                } else {
                    self.received.push(id);
                }
            }
            Step::Turn => self.turn(),
            Step::Ask => {
                if self.state.turn().is_none() {
                    return;
                }
                let (id, call) = (AskId::random(), format!("call-{}", self.asked.len()));
                let opened = AskOpened::new(id, About::Permission, call.clone(), raw("{}"));
                self.write(&Record::AskOpened(opened.tool_use(Some(call.clone()))));
                self.asked.push((id, call));
            }
            Step::Answer { ask, allow } => {
                let Some((id, _)) = self.asked.get(ask).cloned() else { return };
                let answer = if allow {
                    Answer::Allow { input: None, always: false }
                } else {
                    Answer::Deny { message: "no".to_owned(), interrupt: false }
                };
                match self.state.asks().answer(id, answer) {
                    Ok(record) => self.write(&record),
                    Err(AskRefusal::NotOpen(state)) => self.outcomes.push((id, state)),
                    Err(refusal) => panic!("{refusal}"),
                }
            }
            Step::DeliverAnswers { dies } => self.deliver_answers(dies),
            Step::WithdrawAsks => {
                let asks: Vec<_> = self.state.asks().unfinished().map(|(id, _)| id).collect();
                for id in asks {
                    self.write(&Record::AskEnded(AskState::Withdrawn, AskChange::new(id)));
                }
            }
            Step::Crash { unreadable } => self.crash(unreadable),
        }
    }

    fn turn(&mut self) {
        let with = |state| {
            let open = self.state.prompts().open();
            open.filter(move |(_, p)| p.state == state).map(|(id, _)| id).collect::<Vec<_>>()
        };
        let (delivering, running) = (with(PromptState::Delivering), with(PromptState::Running));
        if let Some(turn) = self.state.turn() {
            if self.state.asks().unfinished().next().is_some() {
                return;
            }
            for id in running {
                self.write(&Record::Prompt(PromptState::Finished, PromptChange::new(id)));
            }
            self.write(&Record::TurnEnded(TurnEnd::Completed, TurnEnded::new(turn)));
        } else if !delivering.is_empty() {
            let turn = self.state.next_turn();
            self.write(&Record::TurnStarted(TurnStarted::new(turn, delivering.clone())));
            for id in delivering {
                self.write(&Record::Prompt(PromptState::Running, PromptChange::new(id)));
            }
        }
    }

    fn deliver_answers(&mut self, dies: bool) {
        let waiting: Vec<_> = {
            let asks = self.state.asks().unfinished();
            asks.filter(|(_, ask)| ask.wants_delivery())
                .map(|(id, ask)| (id, ask.clone()))
                .collect()
        };
        for (id, ask) in waiting {
            self.write(&Record::AskDelivering(AskChange::new(id)));
            self.answered_on_wire.push(ask.request.clone());
            if ask.answer.as_ref().is_some_and(Answer::allows) {
                self.ran.push(ask.tool_use.clone().unwrap());
            }
            if dies {
                return self.crash(true);
            }
            self.write(&Record::AskDelivered(AskChange::new(id)));
        }
    }

    fn crash(&mut self, unreadable: bool) {
        // All that is left is the log.
        let mut state = SessionState::new();
        for entry in &self.entries {
            state.apply(entry).unwrap();
        }
        assert_eq!(format!("{state:?}"), format!("{:?}", self.state));
        self.state = state;
        self.write(&Record::Owner);
        self.write(&Record::AgentExited(AgentExited::default()));
        let received: BTreeSet<PromptId> = self.received.iter().copied().collect();
        let evidence = |id: PromptId| match (unreadable, received.contains(&id)) {
            (true, _) => Evidence::Unreadable,
            (false, true) => Evidence::Present,
            (false, false) => Evidence::Absent,
        };
        let records = self.state.recover(evidence, |_| false);
        records.iter().for_each(|record| self.write(record));
        assert!(!self.state.prompts().is_busy() && self.state.turn().is_none());
        assert_eq!(self.state.asks().unfinished().count(), 0);
        self.write(&Record::AgentStarted(AgentStarted::default()));
    }

    /// Invariants 3, 4, 5, 6 and 7 of a session, from the log and from what the agent did.
    fn check(&self) {
        let (mut accepted, mut ended) = (BTreeMap::new(), BTreeMap::new());
        let (mut opened, mut won, mut closed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut generation = 0;
        for entry in &self.entries {
            assert!(entry.generation >= generation);
            generation = entry.generation;
            match Record::read(entry).unwrap() {
                Record::PromptAccepted(prompt) => {
                    assert_eq!(accepted.insert(prompt.prompt, entry.seq), None);
                }
                Record::Prompt(state, change) => {
                    assert!(accepted[&change.prompt] < entry.seq);
                    if state.is_final() {
                        assert_eq!(ended.insert(change.prompt, state), None);
                    }
                }
                Record::AskOpened(ask) => assert_eq!(opened.insert(ask.ask, entry.seq), None),
                Record::AskAnswered(answered) => {
                    assert!(opened[&answered.ask] < entry.seq);
                    assert!(won.insert(answered.ask, answered.answer.allows()).is_none());
                }
                Record::AskDelivered(change) => {
                    assert_eq!(closed.insert(change.ask, AskState::Answered), None);
                }
                Record::AskEnded(state, change) => {
                    assert_eq!(closed.insert(change.ask, state), None);
                }
                _ => {}
            }
        }
        for (id, outcome) in &self.outcomes {
            let state = self.state.asks().get(*id).unwrap().state;
            // A client can learn of the answer before what became of it.
            assert!(*outcome == state || *outcome == AskState::Answered, "{outcome:?} {state:?}");
        }
        let once = |calls: &[String]| {
            assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len(), "{calls:?}");
        };
        once(&self.ran);
        once(&self.answered_on_wire);
        for call in &self.ran {
            let (ask, _) = self.asked.iter().find(|(_, asked)| asked == call).unwrap();
            assert_eq!(won.get(ask), Some(&true), "{call} ran and was not allowed");
        }
        let received: BTreeSet<_> = self.received.iter().collect();
        assert_eq!(received.len(), self.received.len(), "a prompt was sent twice");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_order_of_events_and_crashes_breaks_the_invariants(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let mut world = World::default();
        world.begin();
        for step in &steps {
            world.step(step);
        }
        world.check();
    }
}

#[test]
fn an_allow_that_may_have_been_read_is_unknown_and_one_that_was_not_sent_is_lost() {
    for (delivered, expected) in [(true, AskState::Unknown), (false, AskState::Lost)] {
        let mut world = World::default();
        world.begin();
        for step in [
            Step::Submit,
            Step::Deliver { dies: false },
            Step::Turn,
            Step::Ask,
            Step::Answer { ask: 0, allow: true },
            if delivered {
                Step::DeliverAnswers { dies: true }
            } else {
                Step::Crash { unreadable: true }
            },
        ] {
            world.step(&step);
        }
        assert_eq!(world.state.asks().get(world.asked[0].0).unwrap().state, expected);
        assert_eq!(world.ran.len(), usize::from(delivered));
        // The next answer learns it.
        world.step(&Step::Answer { ask: 0, allow: false });
        assert_eq!(world.outcomes, [(world.asked[0].0, expected)]);
    }
}

#[test]
fn a_prompt_is_sent_again_only_if_the_agent_provably_does_not_have_it() {
    let delivering = |evidence| {
        let mut world = World::default();
        world.begin();
        world.step(&Step::Submit);
        let id = world.submitted[0];
        world.write(&Record::Prompt(PromptState::Delivering, PromptChange::new(id)));
        let records = world.state.recover(|_| evidence, |_| false);
        records.iter().for_each(|record| world.write(record));
        (world.state.prompts().get(id).unwrap().state, world.state.next_prompt() == Some(id))
    };
    assert_eq!(delivering(Evidence::Absent), (PromptState::Accepted, true));
    assert_eq!(delivering(Evidence::Present), (PromptState::Interrupted, false));
    assert_eq!(delivering(Evidence::Unreadable), (PromptState::Unknown, false));
}

#[test]
fn states_follow_what_happens() {
    let mut world = World::default();
    assert_eq!(world.state.state(), State::Idle);
    world.write(&Record::Owner);
    world.step(&Step::Submit);
    assert_eq!(world.state.state(), State::Starting);
    world.write(&Record::AgentStarted(AgentStarted::default()));
    for (step, state) in [
        (Step::Deliver { dies: false }, State::Running),
        (Step::Turn, State::Running),
        (Step::Ask, State::Waiting),
        (Step::Ask, State::Waiting),
        (Step::Answer { ask: 0, allow: true }, State::Waiting),
        (Step::Answer { ask: 1, allow: false }, State::Running),
        (Step::DeliverAnswers { dies: false }, State::Running),
        (Step::Turn, State::Idle),
    ] {
        world.step(&step);
        assert_eq!(world.state.state(), state, "{step:?}");
    }
    world.step(&Step::Submit);
    for record in world.state.close() {
        world.write(&record);
    }
    assert_eq!(world.state.state(), State::Closed);
    assert_eq!(world.state.next_prompt(), None);
    world.check();
}

#[test]
fn a_log_that_no_hub_has_written_is_an_error_and_changes_nothing() {
    let mut world = World::default();
    world.begin();
    let before = format!("{:?}", world.state);
    let refuse = |world: &mut World, kind: &str, body: &str, seq: u64| {
        let body = Body::parse(body).unwrap();
        let new = NewEntry::new(kind, crate::log::Origin::Hub, body).unwrap();
        let entry = Entry::new(SessionId::random(), 1, seq, 0, new);
        world.state.apply(&entry).unwrap_err()
    };
    let id = PromptId::random();
    for (kind, body) in [
        ("prompts.running", format!("{{\"prompt\":\"{id}\"}}")),
        ("prompts.running", "{}".to_owned()),
        ("turns.completed", "{\"turn\":1}".to_owned()),
        ("asks.delivered", format!("{{\"ask\":\"{id}\"}}")),
    ] {
        let error = refuse(&mut world, kind, &body, 3);
        assert_eq!(error.seq, 3, "{error}");
    }
    let gap = refuse(&mut world, "x.other", "{}", 5);
    assert!(gap.to_string().contains("follows entry 2"), "{gap}");
    assert_eq!(format!("{:?}", world.state), before);
}
