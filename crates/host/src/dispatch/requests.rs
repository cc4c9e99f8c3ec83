//! [`OpenRequests`]: the unanswered requests of the agent, with their costs and deadlines.

use std::collections::{BTreeMap, HashMap, VecDeque};

use duologue_protocol::RequestId;
use duologue_protocol::control::AgentRequest;
use duologue_protocol::host_link::Answer;
use tokio::time::Instant;

use super::link::{Ask, Received};

/// What an open request costs beside its line: the task and the state of the handler that serves it.
const OVERHEAD: usize = 4 * 1024;

/// What the report of a withdrawn request costs while it is queued.
const NOTE: usize = 256;

/// The open requests of the agent, in memory up to a limit.
#[derive(Debug)]
pub(crate) struct OpenRequests {
    open: HashMap<RequestId, Open>,
    /// When open requests are due, and which.
    deadlines: BTreeMap<(Instant, u64), RequestId>,
    /// What the handlers have not taken yet, with its cost.
    queue: VecDeque<(Ask, usize)>,
    open_bytes: usize,
    queued_bytes: usize,
    limit: usize,
    serial: u64,
}

#[derive(Debug)]
struct Open {
    serial: u64,
    cost: usize,
    /// When it is due, and the answer that is sent then.
    due: Option<(Instant, Answer)>,
}

impl OpenRequests {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            open: HashMap::new(),
            deadlines: BTreeMap::new(),
            queue: VecDeque::new(),
            open_bytes: 0,
            queued_bytes: 0,
            limit,
            serial: 0,
        }
    }

    /// The agent asks, in a line of this length.
    pub(crate) fn asked(&mut self, id: RequestId, request: Box<AgentRequest>, length: usize) {
        self.serial += 1;
        let (serial, cost) = (self.serial, length + OVERHEAD);
        self.closed(&id);
        self.open.insert(id.clone(), Open { serial, cost, due: None });
        self.open_bytes += cost;
        let received = Received { at: Instant::now(), serial };
        self.enqueue(Ask::Asked { id, request, received }, cost);
    }

    /// The agent has withdrawn a request: the handlers get a report.
    pub(crate) fn withdrawn(&mut self, id: RequestId) {
        self.closed(&id);
        self.enqueue(Ask::Withdrawn { id }, NOTE);
    }

    fn enqueue(&mut self, ask: Ask, cost: usize) {
        self.queued_bytes += cost;
        self.queue.push_back((ask, cost));
    }

    /// The request was answered, or will not be.
    pub(crate) fn closed(&mut self, id: &RequestId) {
        if let Some(open) = self.open.remove(id) {
            self.open_bytes -= open.cost;
            if let Some((at, _)) = open.due {
                self.deadlines.remove(&(at, open.serial));
            }
        }
    }

    /// Whether this is still the request that was received then: the agent may use an id again.
    pub(crate) fn is_open(&self, id: &RequestId, received: Received) -> bool {
        self.open.get(id).is_some_and(|open| open.serial == received.serial)
    }

    /// Sets when a request is due, and the answer that is sent then.
    pub(crate) fn set_due(
        &mut self,
        id: &RequestId,
        received: Received,
        at: Instant,
        answer: Answer,
    ) {
        let Some(open) = self.open.get_mut(id).filter(|open| open.serial == received.serial) else {
            return;
        };
        if let Some((before, _)) = open.due.replace((at, answer)) {
            self.deadlines.remove(&(before, open.serial));
        }
        self.deadlines.insert((at, open.serial), id.clone());
    }

    /// When the next request is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first_key_value().map(|((at, _), _)| *at)
    }

    /// Closes a request whose deadline has passed, and returns its answer.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<(RequestId, Answer)> {
        let (_, id) = self.deadlines.first_key_value().filter(|((at, _), _)| *at <= now)?;
        let id = id.clone();
        let (_, answer) = self.open.get_mut(&id)?.due.clone()?;
        self.closed(&id);
        Some((id, answer))
    }

    /// What the handlers get next.
    pub(crate) fn pop(&mut self) -> Option<Ask> {
        let (ask, cost) = self.queue.pop_front()?;
        self.queued_bytes -= cost;
        Some(ask)
    }

    /// Puts back what the handlers had no room for.
    pub(crate) fn put_back(&mut self, ask: Ask) {
        let cost = match &ask {
            Ask::Asked { id, .. } => self.open.get(id).map_or(OVERHEAD, |open| open.cost),
            Ask::Withdrawn { .. } => NOTE,
        };
        self.queued_bytes += cost;
        self.queue.push_front((ask, cost));
    }

    /// Whether something waits for the handlers.
    pub(crate) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether so much is open that the agent should not be read for now.
    pub(crate) fn is_full(&self) -> bool {
        self.open_bytes > self.limit || self.queued_bytes > self.limit
    }

    /// Whether so much is open that the agent must not be read, whatever else is awaited from it.
    pub(crate) fn is_overfull(&self) -> bool {
        let most = self.limit.saturating_mul(2);
        self.open_bytes > most || self.queued_bytes > most
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::time::Duration;

    use duologue_protocol::legacy::SdkControlInterrupt;

    use super::*;

    fn ask(requests: &mut OpenRequests, id: &str) -> Received {
        requests.asked(
            id.into(),
            Box::new(AgentRequest::SdkControlInterrupt(Box::new(SdkControlInterrupt::new()))),
            100,
        );
        let Some(Ask::Asked { received, .. }) = requests.pop() else { panic!() };
        received
    }

    #[test]
    fn an_id_that_is_used_again_is_another_request() {
        let mut requests = OpenRequests::new(1 << 20);
        let id = RequestId::from("r");
        let first = ask(&mut requests, "r");
        requests.closed(&id);
        let second = ask(&mut requests, "r");
        assert!(!requests.is_open(&id, first));
        assert!(requests.is_open(&id, second));
        // The deadline of the first does not touch the second.
        requests.set_due(&id, first, first.at(), Answer::Ack);
        assert_eq!(requests.next_due(), None);
    }

    #[test]
    fn deadlines_come_in_order_and_go_with_their_requests() {
        let mut requests = OpenRequests::new(1 << 20);
        let now = Instant::now();
        for (id, seconds) in [("a", 3), ("b", 1), ("c", 2)] {
            let received = ask(&mut requests, id);
            requests.set_due(&id.into(), received, now + Duration::from_secs(seconds), Answer::Ack);
        }
        requests.closed(&"b".into());
        assert_eq!(requests.take_overdue(now + Duration::from_secs(1)), None);
        let late = now + Duration::from_secs(9);
        assert_eq!(requests.take_overdue(late).unwrap().0, RequestId::from("c"));
        assert_eq!(requests.take_overdue(late).unwrap().0, RequestId::from("a"));
        assert_eq!(requests.take_overdue(late), None);
        assert_eq!(requests.next_due(), None);
    }

    #[test]
    fn the_cost_goes_with_the_request() {
        let mut requests = OpenRequests::new(3 * (OVERHEAD + 100));
        for id in ["a", "b", "c"] {
            ask(&mut requests, id);
            assert!(!requests.is_full());
        }
        ask(&mut requests, "d");
        assert!(requests.is_full());
        requests.withdrawn("a".into());
        assert!(!requests.is_full());
        for number in 0..1_000 {
            requests.withdrawn(format!("never {number}").into());
        }
        assert!(requests.is_full(), "queued reports count, too");
    }
}
