//! The messages of the model, their usage and their origin.

use crate::content::{ContentBlock, text_of};
use crate::id::{MessageId, SessionId};
use crate::json::{Number, RawJson};
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// A message of the model, as the Messages API has it.
    ///
    /// On an `assistant` line it holds one finished block; the lines of one message share its `id`.
    Message {
        /// Names the message.
        id: MessageId,
        /// Always `message`.
        kind "type": Text,
        /// Always `assistant`.
        role: Text,
        /// The model that wrote it, or `<synthetic>` where the CLI did.
        model: Text,
        /// Its blocks.
        content: Vec<ContentBlock>,
        /// Why it ended. Null on streamed lines: trust the result.
        stop_reason: StopReason,
        /// The sequence that ended it.
        stop_sequence: Text,
        /// More about why it ended.
        stop_details: RawJson,
        /// What it used. On streamed lines this is the count at its start: trust the result.
        usage: Usage,
        /// What the server did to the context.
        context_management: RawJson,
        /// The server's container.
        container: RawJson,
        /// Diagnostics of the API.
        diagnostics: RawJson,
    }
}

impl Message {
    /// The texts of its text blocks, put together.
    pub fn text(&self) -> String {
        text_of(self.content.items())
    }
}

words! {
    /// Why a message ended.
    StopReason {
        /// The model was done.
        EndTurn = "end_turn",
        /// It reached the limit of output tokens.
        MaxTokens = "max_tokens",
        /// It wrote a stop sequence.
        StopSequence = "stop_sequence",
        /// It calls a tool.
        ToolUse = "tool_use",
        /// A long turn was paused.
        PauseTurn = "pause_turn",
        /// The context was compacted.
        Compaction = "compaction",
        /// It refused.
        Refusal = "refusal",
        /// The context window is full.
        ModelContextWindowExceeded = "model_context_window_exceeded",
        /// A hook deferred the tool call. Set by the CLI.
        ToolDeferred = "tool_deferred",
    }
}

record! {
    /// Tokens used.
    Usage {
        /// Tokens read that were not in the cache.
        input_tokens: Number,
        /// Tokens written.
        output_tokens: Number,
        /// Tokens put into the cache.
        cache_creation_input_tokens: Number,
        /// Tokens read from the cache.
        cache_read_input_tokens: Number,
        /// Tokens put into the cache, by how long they stay.
        cache_creation: CacheCreation,
        /// Uses of the server's tools.
        server_tool_use: ServerToolUsage,
        /// The service tier that answered.
        service_tier: Text,
        /// Where the model ran.
        inference_geo: Text,
        /// The speed that was asked for.
        speed: Text,
        /// The same, for each step of a longer answer.
        iterations: RawJson,
        /// What the output tokens were spent on.
        output_tokens_details: OutputTokensDetails,
        /// Credit for an answer by another model.
        fallback_credit: RawJson,
    }
}

record! {
    /// Tokens put into the cache, by how long they stay.
    CacheCreation {
        /// For an hour.
        ephemeral_1h_input_tokens: Number,
        /// For five minutes.
        ephemeral_5m_input_tokens: Number,
    }
}

record! {
    /// Uses of the server's tools.
    ServerToolUsage {
        /// Web searches.
        web_search_requests: Number,
        /// Pages fetched.
        web_fetch_requests: Number,
    }
}

record! {
    /// What output tokens were spent on.
    OutputTokensDetails {
        /// Thinking.
        thinking_tokens: Number,
    }
}

record! {
    /// Tokens and cost of one model, totals of the session.
    ModelUsage {
        /// Tokens read that were not in the cache.
        input_tokens "inputTokens": Number,
        /// Tokens written.
        output_tokens "outputTokens": Number,
        /// Tokens read from the cache.
        cache_read_input_tokens "cacheReadInputTokens": Number,
        /// Tokens put into the cache.
        cache_creation_input_tokens "cacheCreationInputTokens": Number,
        /// Web searches.
        web_search_requests "webSearchRequests": Number,
        /// Cost in USD.
        cost_usd "costUSD": Number,
        /// How many tokens the model can read.
        context_window "contextWindow": Number,
        /// How many tokens it can write.
        max_output_tokens "maxOutputTokens": Number,
        /// Tokens spent on thinking.
        thinking_tokens "thinkingTokens": Number,
        /// Tokens put into the cache for five minutes.
        cache_creation_ephemeral_5m_input_tokens "cacheCreationEphemeral5mInputTokens": Number,
        /// Tokens put into the cache for an hour.
        cache_creation_ephemeral_1h_input_tokens "cacheCreationEphemeral1hInputTokens": Number,
        /// The model's full name.
        canonical_model "canonicalModel": Text,
        /// Who runs it.
        provider: Text,
        /// How the cost was computed.
        cost_basis "costBasis": CostBasis,
    }
}

words! {
    /// How a cost was computed.
    CostBasis {
        /// By the public price list.
        List = "list",
        /// By prices that an organisation set.
        Managed = "managed",
        /// It was not.
        Unknown = "unknown",
    }
}

words! {
    /// Why the API gave no answer.
    ApiErrorKind {
        /// The key was refused.
        AuthenticationFailed = "authentication_failed",
        /// The organisation may not log in this way.
        OauthOrgNotAllowed = "oauth_org_not_allowed",
        /// The account is on hold.
        AccountOnHold = "account_on_hold",
        /// The account must be verified.
        VerificationRequired = "verification_required",
        /// There is no credit.
        BillingError = "billing_error",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The API is overloaded.
        Overloaded = "overloaded",
        /// The request was refused.
        InvalidRequest = "invalid_request",
        /// There is no such model.
        ModelNotFound = "model_not_found",
        /// The API failed.
        ServerError = "server_error",
        /// Unknown.
        Unknown = "unknown",
        /// The answer was too long.
        MaxOutputTokens = "max_output_tokens",
        /// The credentials of the cloud were refused.
        CloudCredentialError = "cloud_credential_error",
    }
}

words! {
    /// Whether fast mode is on.
    FastModeState {
        /// It is off.
        Off = "off",
        /// Cooldown.
        Cooldown = "cooldown",
        /// It is on.
        On = "on",
    }
}

record! {
    /// Where a prompt, and so a turn, came from.
    Origin {
        /// The kind of origin.
        kind: OriginKind,
        /// The channel's MCP server.
        server: Text,
        /// The peer or observer that sent it.
        from: Text,
        /// How the peer handles permissions.
        from_mode "fromMode": Text,
        /// The peer's name.
        name: Text,
        /// The peer's session.
        from_session "fromSession": SessionId,
        /// The task of the sender.
        sender_task_id "senderTaskId": Text,
        /// What the peer wrote.
        body: Text,
        /// The peer's process, if it was verified.
        verified_peer_pid "verifiedPeerPid": Number,
        /// The kind of notification.
        subkind: Text,
        /// Why a trigger fired.
        fire_reason "fireReason": Text,
        /// Who made the notification.
        producer: Text,
        /// The run it belongs to.
        run_id "runId": Text,
    }
}

words! {
    /// The kinds of [`Origin`]. An unknown kind is not a human.
    OriginKind {
        /// The user.
        Human = "human",
        /// A message from a channel.
        Channel = "channel",
        /// Another agent.
        Peer = "peer",
        /// A background task sent a notification.
        TaskNotification = "task-notification",
        /// The coordinator of a team.
        Coordinator = "coordinator",
        /// Not classified.
        Unclassified = "unclassified",
        /// An observer.
        Observer = "observer",
        /// The conversation continues without input.
        AutoContinuation = "auto-continuation",
        /// What an observer saw.
        ObserverActivity = "observer-activity",
        /// A call by voice.
        VoiceCall = "voice-call",
    }
}
