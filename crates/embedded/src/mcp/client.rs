//! A server that this process talks to: a program, or one behind HTTP.

use std::path::Path;
use std::process::Stdio;

use duologue_protocol::RawObject;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::elicitation::{Elicitor, Handler};
use crate::tools::Group;

/// A server. A program ends when this is dropped.
#[derive(Debug)]
pub(super) struct Client {
    service: RunningService<RoleClient, Handler>,
    _program: Option<Group>,
}

impl Client {
    /// Connects, and asks for its tools. Returns what it reports about itself, too.
    pub(super) async fn connect(
        name: &str,
        config: &Value,
        cwd: &Path,
        elicitor: &Elicitor,
    ) -> Result<(Self, Value, Vec<Value>), String> {
        let handler = elicitor.handler(name);
        let client = match config["type"].as_str() {
            None | Some("stdio") => Self::start(config, cwd, handler).await?,
            Some("http") => Self::reach(config, handler).await?,
            Some(other) => return Err(format!("servers of type {other} cannot be reached")),
        };
        let info = client.service.peer_info().map(|info| serde_json::to_value(&info.server_info));
        let info = info.transpose().map_err(to_text)?.unwrap_or_default();
        let info = json!({ "name": info["name"], "version": info["version"] });
        let tools = client.service.list_all_tools().await.map_err(to_text)?;
        let tools = tools.iter().map(serde_json::to_value).collect::<Result<_, _>>();
        Ok((client, info, tools.map_err(to_text)?))
    }

    async fn start(config: &Value, cwd: &Path, handler: Handler) -> Result<Self, String> {
        let program = config["command"].as_str().ok_or("the server has no command")?;
        let texts = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let mut command = Command::new(program);
        command.args(texts(&config["args"])).current_dir(cwd);
        for (name, value) in config["env"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap_or_default());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut group = Group::spawn(&mut command).map_err(to_text)?;
        let (Some(stdout), Some(stdin)) = (group.stdout(), group.stdin()) else {
            return Err("the server has no stdin and stdout".to_owned());
        };
        let service = handler.serve((stdout, stdin)).await.map_err(to_text)?;
        Ok(Self { service, _program: Some(group) })
    }

    async fn reach(config: &Value, handler: Handler) -> Result<Self, String> {
        let url = config["url"].as_str().ok_or("the server has no url")?;
        let headers = config["headers"].as_object().into_iter().flatten();
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let client = duologue_model::http_client(url, &headers).map_err(to_text)?;
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = handler.serve(transport).await.map_err(to_text)?;
        Ok(Self { service, _program: None })
    }

    /// Calls a tool; the result is that of MCP.
    pub(super) async fn call(&self, tool: &str, input: &RawObject) -> Result<Value, String> {
        let arguments = match input.to_value_lossy() {
            Ok(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.service.call_tool(params).await.map_err(to_text)?;
        serde_json::to_value(result).map_err(to_text)
    }
}

fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
