//! `duologue sessions export` and `import`.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use duologue_tape::{TapeFile, write_stored};
use duologue_terminal::print;

use super::args::{Export, Format, Import};
use crate::commands::inspect;
use crate::exit;
use crate::input::Input;
use crate::output_file::{Access, OutputFile};

pub(crate) fn export(args: &Export) -> anyhow::Result<u8> {
    let format = args.format.or_else(|| format_of(&args.output)).with_context(|| {
        format!(
            "the format of {} is not known: use .tape, .tape.zst, .html or .session, or add --format",
            args.output.display()
        )
    })?;
    let session = super::find(&args.place, &args.id)?;
    if format == Format::Html {
        let html = Some(args.output.clone());
        return inspect::run_stored(
            &session,
            &super::inspect_args(&session, false, html, args.force),
        );
    }
    let output = OutputFile::check(&args.output, args.force)?.create(Access::Owner)?;
    let context = || format!("session {} could not be exported", session.id());
    if format == Format::Tape {
        let file = TapeFile::new(output, &args.output)?;
        write_stored(&session, file).with_context(context)?.finish()?.finish()?;
    } else {
        let mut output = BufWriter::new(output);
        session.export(&mut output)?;
        output.flush().with_context(context)?;
        output.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?;
    }
    Ok(exit::OK)
}

fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    if name.ends_with(".tape") || name.ends_with(".tape.zst") {
        Some(Format::Tape)
    } else if name.ends_with(".html") || name.ends_with(".htm") {
        Some(Format::Html)
    } else {
        name.ends_with(".session").then_some(Format::Session)
    }
}

pub(crate) fn import(args: &Import) -> anyhow::Result<u8> {
    let sessions = super::sessions(&args.place)?;
    let session = sessions.import(&mut Input::open(&args.file)?)?;
    writeln!(print::data(), "{}", session.id())?;
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_format() {
        let of = |name: &str| format_of(Path::new(name));
        assert_eq!(of("a.tape"), Some(Format::Tape));
        assert_eq!(of("a.TAPE.zst"), Some(Format::Tape));
        assert_eq!(of("b/a.html"), Some(Format::Html));
        assert_eq!(of("a.session"), Some(Format::Session));
        assert_eq!([of("-"), of("a.txt"), of("tape")], [None, None, None]);
    }
}
