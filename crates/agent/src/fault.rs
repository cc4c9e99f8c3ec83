//! Injected faults, for testing hosts.

use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// A fault that is injected.
///
/// ```
/// use duologue_agent::Fault;
///
/// assert_eq!("die@3".parse::<Fault>()?, Fault::DieAt(3));
/// assert_eq!("flood=1000".parse::<Fault>()?, Fault::Flood(1000));
/// # Ok::<(), duologue_agent::UnknownFault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// `die@N`: the process ends instead of writing its line N, in the middle of it.
    DieAt(u64),
    /// `hang@N`: nothing is written from line N on, and the process stays.
    HangAt(u64),
    /// `garbage@N`: a line that is not a message comes before line N.
    GarbageAt(u64),
    /// `split`: every byte is written by itself.
    Split,
    /// `delay=MS`: every line waits this long.
    Delay(Duration),
    /// `flood=N`: that many lines come before the first.
    Flood(u64),
    /// `stderr=N`: that many bytes are written to stderr first.
    FillStderr(u64),
    /// `answer-twice`: every answer comes twice.
    AnswerTwice,
    /// `never-answer`: no answer comes.
    NeverAnswer,
    /// `grandchild`: a child of the process stays behind and holds its pipes.
    Grandchild,
}

/// An unknown fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no such fault: {0}; there are die@N, hang@N, garbage@N, split, delay=MS, flood=N, stderr=N, answer-twice, never-answer, grandchild"
)]
pub struct UnknownFault(String);

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let unknown = || UnknownFault(text.to_owned());
        let (name, number) = match text.split_once(['@', '=']) {
            Some((name, number)) => (name, number.parse::<u64>().map_err(|_| unknown())?),
            None => (text, 1),
        };
        Ok(match name {
            "die" => Self::DieAt(number),
            "hang" => Self::HangAt(number),
            "garbage" => Self::GarbageAt(number),
            "split" => Self::Split,
            "delay" => Self::Delay(Duration::from_millis(number)),
            "flood" => Self::Flood(number),
            "stderr" => Self::FillStderr(number),
            "answer-twice" => Self::AnswerTwice,
            "never-answer" => Self::NeverAnswer,
            "grandchild" => Self::Grandchild,
            _ => return Err(unknown()),
        })
    }
}

/// What becomes of the writer after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    Line,
    /// The process is to end now.
    Dead,
}

/// Writes lines with a fault.
#[derive(Debug)]
pub(crate) struct Faulty<W> {
    writer: W,
    fault: Option<Fault>,
    line: u64,
}

impl<W: AsyncWrite + Unpin> Faulty<W> {
    pub(crate) const fn new(writer: W, fault: Option<Fault>) -> Self {
        Self { writer, fault, line: 0 }
    }

    pub(crate) async fn begin(&mut self) -> std::io::Result<()> {
        match self.fault {
            Some(Fault::FillStderr(bytes)) => {
                let mut stderr = tokio::io::stderr();
                let chunk = [b'x'; 1024];
                let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
                while left > 0 {
                    let now = left.min(chunk.len());
                    stderr.write_all(chunk.get(..now).unwrap_or_default()).await?;
                    left -= now;
                }
                stderr.flush().await
            }
            Some(Fault::Flood(lines)) => {
                for _ in 0..lines {
                    self.writer.write_all(b"{\"type\":\"keep_alive\"}\n").await?;
                }
                self.writer.flush().await
            }
            Some(Fault::Grandchild) => leave_behind(),
            _ => Ok(()),
        }
    }

    pub(crate) async fn write(&mut self, line: &str) -> std::io::Result<Wrote> {
        self.line += 1;
        let is_answer = line.starts_with("{\"type\":\"control_response\"");
        match self.fault {
            Some(Fault::DieAt(at)) if self.line >= at => {
                let half = line.as_bytes().get(..line.len() / 2).unwrap_or_default();
                self.writer.write_all(half).await?;
                self.writer.flush().await?;
                return Ok(Wrote::Dead);
            }
            Some(Fault::HangAt(at)) if self.line >= at => {
                std::future::pending::<()>().await;
            }
            Some(Fault::GarbageAt(at)) if self.line == at => {
                self.writer.write_all(b"\x1b[31mthis is {no message\xFF\n").await?;
                self.writer.write_all(line.as_bytes()).await?;
            }
            Some(Fault::Split) => {
                for byte in line.as_bytes() {
                    self.writer.write_all(&[*byte]).await?;
                    self.writer.flush().await?;
                }
            }
            Some(Fault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                self.writer.write_all(line.as_bytes()).await?;
            }
            Some(Fault::AnswerTwice) if is_answer => {
                self.writer.write_all(line.as_bytes()).await?;
                self.writer.write_all(line.as_bytes()).await?;
            }
            Some(Fault::NeverAnswer) if is_answer => {}
            _ => self.writer.write_all(line.as_bytes()).await?,
        }
        Ok(Wrote::Line)
    }

    pub(crate) async fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush().await
    }

    pub(crate) async fn end(&mut self) {
        // The host may have closed its end already.
        let _ = self.writer.shutdown().await;
    }
}

/// A child that inherits stdin, stdout and stderr and outlives this process by far.
fn leave_behind() -> std::io::Result<()> {
    tokio::process::Command::new("sleep").arg("600").kill_on_drop(false).spawn().map(drop)
}
