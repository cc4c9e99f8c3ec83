#[cfg(unix)]
mod dying;
mod environment;
#[cfg(unix)]
mod faults_dying;
#[cfg(unix)]
mod faults_pipes;
#[cfg(unix)]
mod host;
mod live_fuzz;
mod pages;
#[cfg(unix)]
mod pains_asks;
#[cfg(unix)]
mod pains_life;
#[cfg(unix)]
mod pains_lines;
#[cfg(unix)]
mod pains_start;
#[cfg(unix)]
mod pains_turns;
#[cfg(unix)]
mod pipes;
#[cfg(unix)]
mod play;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod talking;
mod tidy;
