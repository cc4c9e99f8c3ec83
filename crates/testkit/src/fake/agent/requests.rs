//! Answers to the requests of the host.

use serde_json::{Value, json};

use super::{Agent, Stop, complain};
use crate::fake::step::Answer;

impl Agent {
    pub(super) fn take_request(&mut self, line: Value) -> Result<(), Stop> {
        if !line["request"].is_object() {
            complain("Error: Missing request on control_request");
            return Err(Stop::Exit(1));
        }
        let subtype = line["request"]["subtype"].as_str().unwrap_or_default();
        let Some(steps) = self.script.on.get(subtype).cloned() else {
            return self.answer_usual(&line);
        };
        self.current.push(line);
        let done = self.perform(&steps);
        self.current.pop();
        done
    }

    /// Answers the request of the current steps.
    pub(super) fn answer(&mut self, answer: &Answer) -> Result<(), Stop> {
        let Some(line) = self.current.last().cloned() else {
            complain("fake-agent: there is nothing to reply to");
            return Err(Stop::Exit(70));
        };
        match answer {
            Answer::Usual => return self.answer_usual(&line),
            Answer::Success(payload) => self.succeed(&line, Some(payload)),
            Answer::Error(error) => self.refuse(&line, error, None),
        }
        Ok(())
    }

    fn answer_usual(&mut self, line: &Value) -> Result<(), Stop> {
        let request = &line["request"];
        match request["subtype"].as_str().unwrap_or("undefined") {
            "initialize" => {
                let payload = self.lines.initialized();
                let mut reply = success(line, Some(&payload));
                reply["response"]["pending_permission_requests"] = json!([]);
                self.output.line(reply.to_string());
            }
            "interrupt" => self.interrupt(line),
            "set_permission_mode" => {
                let mode = request["mode"].as_str().unwrap_or("default").to_owned();
                self.succeed(line, Some(&json!({ "mode": mode })));
                let status = json!({
                    "type": "system", "subtype": "status", "status": null, "permissionMode": mode,
                });
                self.lines.mode = mode;
                let status = self.lines.stamped(status);
                self.output.line(status.to_string());
            }
            "set_model" => {
                if let Some(model) = request["model"].as_str() {
                    self.lines.model = model.to_owned();
                }
                self.succeed(line, Some(&json!({ "model": self.lines.model })));
            }
            "cancel_async_message" => {
                let uuid = request["message_uuid"].as_str().unwrap_or_default();
                let cancelled = self.cancel(|queued| queued == uuid);
                self.succeed(line, Some(&json!({ "cancelled": !cancelled.is_empty() })));
                for uuid in cancelled {
                    self.lifecycle(&uuid, "cancelled");
                }
            }
            "mcp_status" => self.succeed(line, Some(&json!({ "mcpServers": [] }))),
            "get_context_usage" => {
                let usage = json!({
                    "totalTokens": 12, "maxTokens": 200_000, "rawMaxTokens": 200_000,
                    "percentage": 0, "model": self.lines.model, "categories": [],
                });
                self.succeed(line, Some(&usage));
            }
            "set_max_thinking_tokens"
            | "mcp_message"
            | "seed_read_state"
            | "rename_session"
            | "apply_flag_settings"
            | "end_session" => self.succeed(line, None),
            other => {
                let error = format!("Unsupported control request subtype: {other}");
                self.refuse(line, &error, Some("unsupported_request"));
            }
        }
        Ok(())
    }

    /// Removes prompts from the queue.
    fn cancel(&mut self, which: impl Fn(&str) -> bool) -> Vec<String> {
        let mut cancelled = Vec::new();
        self.queue.retain(|prompt| match &prompt.uuid {
            Some(uuid) if which(uuid) => {
                cancelled.push(uuid.clone());
                false
            }
            _ => true,
        });
        cancelled
    }

    /// Withdraws open requests, reports queued prompts, and ends the turn.
    fn interrupt(&mut self, line: &Value) {
        let running = self.turn.as_ref().is_some_and(|turn| !turn.over && !turn.aborted);
        if running {
            for (id, subtype) in std::mem::take(&mut self.asks) {
                // An MCP server gets a notification of MCP.
                if subtype != "mcp_message" {
                    self.withdraw(&id);
                }
            }
        }
        let mut reply = json!({});
        if line["request"]["cancel_queued"] == true {
            let cancelled = self.cancel(|_| true);
            for uuid in &cancelled {
                self.lifecycle(uuid, "cancelled");
            }
            reply["cancelled"] = cancelled.into();
        }
        let queued: Vec<&str> =
            self.queue.iter().filter_map(|prompt| prompt.uuid.as_deref()).collect();
        reply["still_queued"] = queued.into();
        self.succeed(line, Some(&reply));
        if running && let Some(turn) = &mut self.turn {
            turn.aborted = true;
        }
    }

    pub(super) fn withdraw(&mut self, id: &str) {
        let line = json!({ "type": "control_cancel_request", "request_id": id });
        self.output.line(line.to_string());
    }

    fn succeed(&mut self, line: &Value, payload: Option<&Value>) {
        self.output.line(success(line, payload).to_string());
    }

    fn refuse(&mut self, line: &Value, error: &str, code: Option<&str>) {
        let mut response = json!({ "subtype": "error", "error": error });
        if let Some(code) = code {
            response["error_code"] = code.into();
        }
        name(&mut response, line);
        let reply = json!({ "type": "control_response", "response": response });
        self.output.line(reply.to_string());
    }
}

fn success(line: &Value, payload: Option<&Value>) -> Value {
    let mut response = json!({ "subtype": "success" });
    name(&mut response, line);
    if let Some(payload) = payload {
        response["response"] = payload.clone();
    }
    json!({ "type": "control_response", "response": response })
}

/// A request without an id is answered without one.
fn name(response: &mut Value, line: &Value) {
    if let Some(id) = line.get("request_id") {
        response["request_id"] = id.clone();
    }
}
