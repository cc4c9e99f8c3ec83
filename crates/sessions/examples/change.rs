//! Changes a stored session, for comparisons with the official SDKs.
//!
//! `change CONFIG ID rename TITLE | tag TAG | untag | archive | unarchive | fork [MESSAGE] | delete | move CONFIG`

use duologue_sessions::store::FolderStore;
use duologue_sessions::{ForkOptions, Sessions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [config, id, change @ ..] = words.as_slice() else {
        return Err("usage: change CONFIG ID CHANGE".into());
    };
    let session = Sessions::in_config_dir(*config).get(id)?;
    match change {
        ["rename", title] => session.rename(title)?,
        ["tag", tag] => session.tag(Some(tag))?,
        ["untag"] => session.tag(None)?,
        ["archive"] => session.archive()?,
        ["unarchive"] => session.unarchive()?,
        ["fork"] => print(session.fork(&ForkOptions::default())?.id())?,
        ["fork", message] => print(session.fork(&ForkOptions::default().up_to(*message))?.id())?,
        ["delete"] => session.delete()?,
        // Through a store, to a config directory that never had the session.
        ["move", to] => {
            let folder = std::path::Path::new(to).join("store");
            let store = FolderStore::new(&folder);
            let key = session.copy_to(&store)?;
            print(Sessions::in_config_dir(*to).restore(&store, &key)?.id())?;
        }
        _ => return Err("unknown change".into()),
    }
    Ok(())
}

fn print(text: &str) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::io::stdout(), format!("\"{text}\"\n").as_bytes())
}
