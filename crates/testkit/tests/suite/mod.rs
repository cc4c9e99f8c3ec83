#[cfg(unix)]
mod dying;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod pipes;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod talking;
mod tidy;
