//! The commands beside a conversation: `auth status`, `mcp …`, `doctor`, `update`.

use std::path::PathBuf;

use duologue_agent::stdio::{StartError, say};
use duologue_agent::{Exit, VERSION};
use serde_json::{Map, Value, json};

use crate::mcp_config::{McpFiles, Scope};
use crate::models::choose;
use crate::setup_from_args::config;

/// Runs the command that the arguments name. `None` if they are not one: then they are flags and a prompt.
pub(super) async fn run(args: &[String]) -> Result<Option<Exit>, StartError> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        ["auth", rest @ ..] => Some(auth(rest)?),
        ["mcp", rest @ ..] => Some(mcp(rest).await?),
        ["doctor"] => Some(doctor()?),
        ["update" | "upgrade"] => {
            say(&format!(
                "Current version: {VERSION}\nThe embedded agent is updated with duologue itself.\n"
            ))?;
            Some(Exit::success())
        }
        _ => None,
    })
}

fn cwd() -> Result<PathBuf, StartError> {
    std::env::current_dir().map_err(|error| format!("Error: {error}").into())
}

const AUTH_HELP: &str = "\
Usage: claude auth [options] [command]

Manage authentication

Options:
  -h, --help        Display help for command

Commands:
  status [options]  Show authentication status
";

fn auth(args: &[&str]) -> Result<Exit, StartError> {
    match args {
        ["status", rest @ ..] => {
            let unknown = rest.iter().find(|flag| !["--json", "--text"].contains(flag));
            if let Some(flag) = unknown {
                return Err(format!("error: unknown option '{flag}'").into());
            }
            auth_status(rest.contains(&"--text"))
        }
        ["-h" | "--help", ..] => {
            say(AUTH_HELP)?;
            Ok(Exit::success())
        }
        ["login" | "logout", ..] => {
            Err("Error: the embedded agent has no login. Set ANTHROPIC_API_KEY.".into())
        }
        [] => Err(AUTH_HELP.trim_end().into()),
        [other, ..] => Err(format!("error: unknown command '{other}'").into()),
    }
}

/// As in the CLI: exit code 1 if requests would not be authenticated.
fn auth_status(is_text: bool) -> Result<Exit, StartError> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let folder = cwd()?;
    let config = config(&folder, &var);
    let key = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
    let source = key.into_iter().find(|name| var(name).is_some());
    // A scenario and the offline model need no key.
    let needs_key = var("ANTHROPIC_BASE_URL").is_some() && var("DUOLOGUE_SCENARIO").is_none();
    let is_ready = source.is_some() || !needs_key;
    if is_text {
        match source {
            Some("ANTHROPIC_AUTH_TOKEN") => say("Auth token: ANTHROPIC_AUTH_TOKEN\n")?,
            Some(name) => say(&format!("API key: {name}\n"))?,
            None => say("Not logged in\n")?,
        }
        if let Some(url) = var("ANTHROPIC_BASE_URL") {
            say(&format!("Anthropic base URL: {url}\n"))?;
        }
    } else {
        let method = match source {
            Some("ANTHROPIC_AUTH_TOKEN") => "oauth_token",
            Some(_) => "api_key",
            None => "none",
        };
        let mut status = json!({
            "loggedIn": is_ready, "authMethod": method, "apiProvider": "firstParty",
            "analyticsDisabled": true,
            "projectsDirectory": config.join("projects").to_string_lossy(),
            "configDirectory": config.to_string_lossy(), "loginExpiresAt": null,
            "consoleProfileSignInOffered": false,
        });
        if source == Some("ANTHROPIC_API_KEY") {
            status["apiKeySource"] = json!("ANTHROPIC_API_KEY");
        }
        let text = serde_json::to_string_pretty(&status).unwrap_or_default();
        say(&format!("{text}\n"))?;
    }
    Ok(if is_ready { Exit::success() } else { Exit::failure() })
}

fn doctor() -> Result<Exit, StartError> {
    let var = |name: &str| std::env::var(name).ok();
    let folder = cwd()?;
    let config = config(&folder, &var);
    let chosen = choose(None, &folder, &[], var);
    let model = match &chosen {
        Ok(chosen) => format!("{} (key: {})", chosen.name, chosen.key_source),
        Err(error) => format!("not available: {error}"),
    };
    say(&format!(
        "Embedded agent of duologue {}\n\nSpeaks as: Claude Code {VERSION}\nModel: {model}\nConfig directory: {}\n\n",
        env!("CARGO_PKG_VERSION"),
        config.display()
    ))?;
    match chosen {
        Ok(_) => {
            say("No installation issues found.\n")?;
            Ok(Exit::success())
        }
        Err(_) => Ok(Exit::failure()),
    }
}

const MCP_HELP: &str = "\
Usage: claude mcp [options] [command]

Configure and manage MCP servers

Options:
  -h, --help                                     Display help for command

Commands:
  add [options] <name> <commandOrUrl> [args...]  Add an MCP server
  add-json [options] <name> <json>               Add an MCP server with a JSON string
  get <name>                                     Get details about an MCP server
  list                                           List configured MCP servers
  remove [options] <name>                        Remove an MCP server
";

async fn mcp(args: &[&str]) -> Result<Exit, StartError> {
    let var = |name: &str| std::env::var(name).ok();
    let folder = cwd()?;
    let files = McpFiles::new(&config(&folder, &var), &folder, &folder);
    match args {
        ["list"] => list(&files).await,
        ["get", name] => get(&files, name).await,
        ["add", rest @ ..] => add(&files, rest),
        ["add-json", rest @ ..] => add_json(&files, rest),
        ["remove", rest @ ..] => remove(&files, rest),
        ["-h" | "--help", ..] => {
            say(MCP_HELP)?;
            Ok(Exit::success())
        }
        [] => Err(MCP_HELP.trim_end().into()),
        ["get"] => Err("error: missing required argument 'name'".into()),
        [other, ..] => Err(format!("error: unknown command '{other}'").into()),
    }
}

/// All servers, each with its scope. The nearest scope of a name counts.
fn all(files: &McpFiles) -> Vec<(String, Scope, Value)> {
    let mut found: Vec<(String, Scope, Value)> = Vec::new();
    for scope in Scope::ALL {
        for (name, server) in files.servers(scope) {
            if !found.iter().any(|(known, ..)| *known == name) {
                found.push((name, scope, server));
            }
        }
    }
    found
}

fn described(server: &Value) -> String {
    match (server["url"].as_str(), server["type"].as_str()) {
        (Some(url), kind) => format!("{url} ({})", kind.unwrap_or("http").to_uppercase()),
        (None, _) => {
            let args = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = server["command"].as_str().into_iter().chain(args).collect();
            words.join(" ")
        }
    }
}

async fn list(files: &McpFiles) -> Result<Exit, StartError> {
    let all = all(files);
    if all.is_empty() {
        say("No MCP servers configured. Use `claude mcp add` to add a server.\n")?;
        return Ok(Exit::success());
    }
    say("Checking MCP server health…\n\n")?;
    for (name, _, server) in all {
        let state = match crate::mcp::check(&name, &server, &files.cwd).await {
            Ok(()) => "✔ Connected".to_owned(),
            Err(error) => format!("✘ Failed to connect — {error}"),
        };
        say(&format!("{name}: {} - {state}\n", described(&server)))?;
    }
    Ok(Exit::success())
}

async fn get(files: &McpFiles, name: &str) -> Result<Exit, StartError> {
    let all = all(files);
    let Some((_, scope, server)) = all.iter().find(|(known, ..)| known == name) else {
        return Err(unknown(name, &all));
    };
    let state = crate::mcp::check(name, server, &files.cwd).await;
    let mut text = format!("{name}:\n  Scope: {}\n", scope.described());
    match state {
        Ok(()) => text.push_str("  Status: ✔ Connected\n"),
        Err(error) => text.push_str(&format!("  Status: ✘ Failed to connect\n  Issue: {error}\n")),
    }
    text.push_str(&format!("  Type: {}\n", server["type"].as_str().unwrap_or("stdio")));
    if let Some(url) = server["url"].as_str() {
        text.push_str(&format!("  URL: {url}\n"));
    } else {
        let args = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let args: Vec<&str> = args.collect();
        let command = server["command"].as_str().unwrap_or_default();
        text.push_str(&format!(
            "  Command: {command}\n  Args: {}\n  Environment:\n",
            args.join(" ")
        ));
        // The values may be secret.
        for (name, _) in server["env"].as_object().into_iter().flatten() {
            text.push_str(&format!("    {name}\n"));
        }
    }
    let scope = scope.as_str();
    text.push_str(&format!("\nTo remove this server, run: claude mcp remove {name} -s {scope}\n"));
    say(&text)?;
    Ok(Exit::success())
}

fn unknown(name: &str, all: &[(String, Scope, Value)]) -> StartError {
    let mut names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
    names.sort_unstable();
    let known = match names.is_empty() {
        true => "No MCP servers are configured.".to_owned(),
        false => format!("Configured servers: {}", names.join(", ")),
    };
    format!("No MCP server named \"{name}\". {known}").into()
}

/// The flags and words of `mcp add`.
#[derive(Default)]
struct Added {
    scope: Option<Scope>,
    transport: Option<String>,
    env: Map<String, Value>,
    headers: Map<String, Value>,
    words: Vec<String>,
}

impl Added {
    fn parse(args: &[&str]) -> Result<Self, StartError> {
        let mut added = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (flag, mut value) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with('-') => (flag, Some(value.to_owned())),
                _ => (*arg, None),
            };
            let mut take = || {
                let value = value.take().or_else(|| args.next().map(|value| (*value).to_owned()));
                value.ok_or_else(|| {
                    StartError::from(format!("error: option '{flag} <value>' argument missing"))
                })
            };
            match flag {
                "--" => {
                    added.words.extend(args.map(|word| (*word).to_owned()));
                    break;
                }
                "-s" | "--scope" => {
                    let name = take()?;
                    let scope = Scope::parse(&name).ok_or_else(|| {
                        format!("Invalid scope: {name}. Must be one of: local, user, project")
                    })?;
                    added.scope = Some(scope);
                }
                "-t" | "--transport" => added.transport = Some(take()?),
                "-e" | "--env" => {
                    let text = take()?;
                    let (name, value) = text.split_once('=').ok_or_else(|| {
                        format!("Invalid environment variable format: {text}, environment variables should be added as: -e KEY1=value1 -e KEY2=value2")
                    })?;
                    added.env.insert(name.to_owned(), json!(value));
                }
                "-H" | "--header" => {
                    let text = take()?;
                    let (name, value) = text.split_once(':').ok_or_else(|| {
                        format!("Invalid header format: \"{text}\". Expected format: \"Header-Name: value\"")
                    })?;
                    added.headers.insert(name.trim().to_owned(), json!(value.trim()));
                }
                // What follows the command belongs to it.
                flag if flag.starts_with('-') && added.words.len() < 2 => {
                    return Err(format!("error: unknown option '{arg}'").into());
                }
                _ => added.words.push((*arg).to_owned()),
            }
        }
        Ok(added)
    }
}

fn add(files: &McpFiles, args: &[&str]) -> Result<Exit, StartError> {
    let added = Added::parse(args)?;
    let [name, target, rest @ ..] = added.words.as_slice() else {
        let missing = if added.words.is_empty() { "name" } else { "commandOrUrl" };
        return Err(format!("error: missing required argument '{missing}'").into());
    };
    let scope = added.scope.unwrap_or(Scope::Local);
    let transport = added.transport.as_deref().unwrap_or("stdio");
    let (server, what) = match transport {
        "stdio" => {
            let server =
                json!({ "type": "stdio", "command": target, "args": rest, "env": added.env });
            (
                server,
                format!("stdio MCP server {name} with command: {} {}", target, rest.join(" "))
                    .trim_end()
                    .to_owned(),
            )
        }
        "http" | "sse" => {
            let mut server = json!({ "type": transport, "url": target });
            if !added.headers.is_empty() {
                server["headers"] = Value::Object(added.headers.clone());
            }
            let kind = transport.to_uppercase();
            (server, format!("{kind} MCP server {name} with URL: {target}"))
        }
        other => {
            return Err(format!(
                "Invalid transport type: {other}. Must be one of: stdio, sse, http"
            )
            .into());
        }
    };
    write(files, scope, name, server)?;
    say(&format!("Added {what} to {} config\n{}", scope.as_str(), modified(files, scope)))?;
    Ok(Exit::success())
}

fn add_json(files: &McpFiles, args: &[&str]) -> Result<Exit, StartError> {
    let added = Added::parse(args)?;
    let [name, json] = added.words.as_slice() else {
        return Err("error: missing required argument 'json'".into());
    };
    let server: Value =
        serde_json::from_str(json).map_err(|error| format!("Invalid JSON: {error}"))?;
    let is_server = server["command"].is_string() || server["url"].is_string();
    if !is_server {
        return Err("Invalid configuration: a server needs a command or a url".into());
    }
    let scope = added.scope.unwrap_or(Scope::Local);
    let kind = server["type"].as_str().unwrap_or("stdio").to_owned();
    write(files, scope, name, server)?;
    say(&format!("Added {kind} MCP server {name} to {} config\n", scope.as_str()))?;
    Ok(Exit::success())
}

fn write(files: &McpFiles, scope: Scope, name: &str, server: Value) -> Result<(), StartError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "Invalid name {name}. Names can only contain letters, numbers, hyphens, and underscores."
        )
        .into());
    }
    if files.servers(scope).contains_key(name) {
        return Err(format!("MCP server {name} already exists in {} config", scope.as_str()).into());
    }
    let change = |servers: &mut Map<String, Value>| drop(servers.insert(name.to_owned(), server));
    files.change(scope, change).map_err(|error| format!("Error: {error}").into())
}

fn remove(files: &McpFiles, args: &[&str]) -> Result<Exit, StartError> {
    let added = Added::parse(args)?;
    let [name] = added.words.as_slice() else {
        return Err("error: missing required argument 'name'".into());
    };
    let all = all(files);
    let scope = added
        .scope
        .or_else(|| all.iter().find(|(known, ..)| known == name).map(|(_, scope, _)| *scope));
    let scope = scope.filter(|scope| files.servers(*scope).contains_key(name));
    let Some(scope) = scope else { return Err(unknown(name, &all)) };
    let change = |servers: &mut Map<String, Value>| drop(servers.remove(name));
    files.change(scope, change).map_err(|error| format!("Error: {error}"))?;
    say(&format!(
        "Removed MCP server \"{name}\" from {} config\n{}",
        scope.as_str(),
        modified(files, scope)
    ))?;
    Ok(Exit::success())
}

fn modified(files: &McpFiles, scope: Scope) -> String {
    let file = files.file(scope).display();
    match scope {
        Scope::Local => format!("File modified: {file} [project: {}]\n", files.cwd.display()),
        Scope::Project | Scope::User => format!("File modified: {file}\n"),
    }
}
