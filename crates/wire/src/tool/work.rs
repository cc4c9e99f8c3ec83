//! Tools that run, delegate, note and look up.

use crate::json::Number;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// Run a command.
    Bash {
        /// The command.
        command: Text,
        /// What it does, for people.
        description: Text,
        /// How long it may take, in milliseconds.
        timeout: Number,
        /// Do not wait for it.
        run_in_background: bool,
        /// Leave the sandbox.
        dangerously_disable_sandbox "dangerouslyDisableSandbox": bool,
    }
}

record! {
    /// Start a sub-agent.
    Agent {
        /// What it does, in a few words.
        description: Text,
        /// What it is told.
        prompt: Text,
        /// What kind of sub-agent.
        subagent_type: Text,
        /// Its model.
        model: Text,
        /// Do not wait for it.
        run_in_background: bool,
        /// Its name in a team.
        name: Text,
        /// Its team.
        team_name: Text,
        /// Its permission mode.
        mode: Text,
        /// Where it works: `worktree`.
        isolation: Text,
        /// How many steps it may take.
        max_turns: Number,
        /// The sub-agent to go on with.
        resume: Text,
    }
}

record! {
    /// Write down what is to be done.
    TodoWrite {
        /// The list.
        todos: Vec<Todo>,
    }
}

record! {
    /// One thing to be done.
    Todo {
        /// What.
        content: Text,
        /// How it stands.
        status: TodoStatus,
        /// What is being done, while it is.
        active_form "activeForm": Text,
    }
}

words! {
    /// How a thing to be done stands.
    TodoStatus {
        /// Not begun.
        Pending = "pending",
        /// Begun.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
    }
}

record! {
    /// Fetch a page.
    WebFetch {
        /// Its address.
        url: Text,
        /// What to look for in it.
        prompt: Text,
    }
}

record! {
    /// Search the web.
    WebSearch {
        /// What for.
        query: Text,
        /// Only there.
        allowed_domains: Vec<Text>,
        /// Not there.
        blocked_domains: Vec<Text>,
    }
}
